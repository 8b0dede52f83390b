/** What everybody may keep for a moment: how long, by which tag it is known, and 304 for whoever has it already. */
import { hash } from "node:crypto"
import { Duration } from "effect"
import { HttpServerResponse } from "effect/http"
import type { HttpServerRequest } from "effect/http"

const etagOf = (body: Uint8Array): string => `"${hash("sha256", body, "base64url").slice(0, 22)}"`

/** RFC 9110 13.1.2: any of a list, compared weakly, or `*`. */
const hasAlready = (ifNoneMatch: string | undefined, etag: string): boolean =>
  ifNoneMatch !== undefined &&
  ifNoneMatch
    .split(",")
    .map((tag) => tag.trim())
    .some((tag) => tag === "*" || tag.replace(/^W\//, "") === etag)

/** The `cache-control` of what is made anew after so long. */
export const keptFor = (publicCache: Duration.Duration): string => {
  const seconds = Math.floor(Duration.toSeconds(publicCache))
  return seconds > 0 ? `public, max-age=${seconds}` : "no-cache"
}

/** A whole answer with its tag. */
export const tagged = (
  response: HttpServerResponse.HttpServerResponse,
  headers: Readonly<Record<string, string>>
): HttpServerResponse.HttpServerResponse =>
  response.status === 200 && response.body._tag === "Uint8Array"
    ? HttpServerResponse.setHeaders(response, { ...headers, etag: etagOf(response.body.body) })
    : response

/** They tell of a body, and there is none. */
const ofBodies: ReadonlySet<string> = new Set(["content-type", "content-length"])

/**
 * The tagged response, or that whoever asks has it already: with all its headers, for those of a 304 take the place of
 * those that a browser has kept (RFC 9111 3.2). A page is read by the rules of the last answer.
 */
export const unlessKnown = (
  request: HttpServerRequest.HttpServerRequest,
  response: HttpServerResponse.HttpServerResponse
): HttpServerResponse.HttpServerResponse => {
  const { etag } = response.headers
  if (etag === undefined || !hasAlready(request.headers["if-none-match"], etag)) return response
  const headers = Object.entries(response.headers).filter(([name]) => !ofBodies.has(name))
  return HttpServerResponse.empty({ status: 304, headers: Object.fromEntries(headers) })
}

/** What many ask alike. Later pages, and parameters that mean nothing, would only fill the memory. */
export const isUsual = (url: string, parameters: ReadonlySet<string>): boolean =>
  [...new URLSearchParams(url.split("?")[1] ?? "")].every(
    ([name, value]) => parameters.has(name) && value.length <= 20
  )
