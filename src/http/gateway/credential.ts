/** Where clients put the key of the gateway: those of one style in Authorization, older ones of the other in x-api-key. */
import { Effect } from "effect"
import type { HttpServerRequest } from "effect/http"
import { InvalidGatewayKey } from "../../services/GatewayKeys.ts"

/** The one credential that was sent; undefined: none was. */
export const gatewayCredential = Effect.fnUntraced(function* ({
  headers
}: Pick<HttpServerRequest.HttpServerRequest, "headers">) {
  const bearer = /^bearer +(\S+)$/i.exec(headers["authorization"] ?? "")?.[1]
  const named = headers["x-api-key"]
  if (bearer !== undefined && named !== undefined && bearer !== named) {
    return yield* new InvalidGatewayKey({
      detail: "Authorization and x-api-key hold two different keys: send one of them."
    })
  }
  return bearer ?? named
})

/** The same where one has to be sent. */
export const requiredCredential = Effect.fnUntraced(function* (
  request: Pick<HttpServerRequest.HttpServerRequest, "headers">
) {
  const credential = yield* gatewayCredential(request)
  if (credential !== undefined) return credential
  return yield* new InvalidGatewayKey({
    detail: "Send a gateway key: Authorization: Bearer <API_KEY>, or x-api-key."
  })
})

const keyPrefix = "aus_gw_"

/** Where an access token serves as well. */
export const isGatewayKey = (credential: string): boolean => credential.startsWith(keyPrefix)

/** Of a credential that is no gateway key, and was refused as an access token: it may have been meant as either. */
export const neitherDetail = (refusal: string): string =>
  `Expected a gateway key (${keyPrefix}...) or an access token. ${refusal}`
