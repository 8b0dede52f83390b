/**
 * Errors of the token endpoint as OAuth clients read them (RFC 6749 5.2): `error` and `error_description` beside `detail`
 * and `code`, whoever made the error, the edge included.
 */
import { Option, Schema } from "effect"
import { HttpBody, HttpServerResponse } from "effect/http"
import type { HttpServerRequest } from "effect/http"
import { usesBasic } from "../clientAuthentication.ts"

const Body = Schema.fromJsonString(
  Schema.StructWithRest(
    Schema.Struct({ detail: Schema.String, code: Schema.String, error: Schema.optionalKey(Schema.String) }),
    [Schema.Record(Schema.String, Schema.Json)]
  )
)
const decode = Schema.decodeUnknownOption(Body)

/** Our codes that are OAuth's too. */
const shared: ReadonlySet<string> = new Set(["invalid_client", "unsupported_grant_type"])

const errorOf = (code: string, status: number): string => {
  if (shared.has(code)) return code
  if (status === 429 || status === 503) return "temporarily_unavailable"
  return status >= 500 ? "server_error" : "invalid_request"
}

/** What RFC 6749 5.2 lets stand in an error_description. */
const described = (detail: string): string =>
  detail.replaceAll('"', "'").replaceAll(/[^\x20-\x21\x23-\x5b\x5d-\x7e]+/g, " ")

const withMembers = (
  response: HttpServerResponse.HttpServerResponse
): HttpServerResponse.HttpServerResponse => {
  const { body, status } = response
  if (status < 400 || body._tag !== "Uint8Array") return response
  return Option.match(decode(new TextDecoder().decode(body.body)), {
    onNone: () => response,
    onSome: (json) =>
      HttpServerResponse.setBody(
        response,
        HttpBody.jsonUnsafe({
          ...json,
          error: json.error ?? errorOf(json.code, status),
          error_description: described(json.detail)
        })
      )
  })
}

/** The token endpoint's answer. Only who came by HTTP Basic is asked to do so again (RFC 6749 5.2). */
export const asOAuth = (
  response: HttpServerResponse.HttpServerResponse,
  { headers }: HttpServerRequest.HttpServerRequest
): HttpServerResponse.HttpServerResponse => {
  const answer = HttpServerResponse.setHeader(withMembers(response), "pragma", "no-cache")
  return response.status === 401 && usesBasic(headers["authorization"])
    ? HttpServerResponse.setHeader(answer, "www-authenticate", 'Basic realm="auspex", charset="UTF-8"')
    : answer
}
