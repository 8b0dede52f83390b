/** What everybody may keep for a moment: how long, by which tag it is known, and 304 for whoever has it already. */
import { hash } from "node:crypto"
import { Duration } from "effect"
import { HttpServerResponse } from "effect/http"
import type { HttpServerRequest } from "effect/http"
import { isUuid } from "../services/identifiers.ts"

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
const ofBodies: ReadonlySet<string> = new Set(["content-type", "content-length", "content-encoding"])

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

/** Longer values, of parameters that are known, would be no cursor of ours either. */
const longestValue = 1000

/** A segment of a path in one spelling, of many that are percent-encoded or in capitals. */
const plainSegment = (segment: string): string => {
  const text = decodeURIComponent(segment)
  return encodeURIComponent(isUuid(text) ? text.toLowerCase() : text)
}

/**
 * What an answer is kept under: its path and the parameters that it depends on, in one order and one spelling, so that what
 * is added to an address does not have it made anew. Those who vary what it does depend on (`limit`, `cursor`, an id) ask for
 * other answers; the limit on reads and the size of a page bound what these cost, and the cache what is kept of them.
 * Undefined: not to be kept.
 */
export const keptUnder = (url: string, parameters: ReadonlyArray<string>): string | undefined => {
  const [path = "", ...rest] = url.split("?")
  const given = new URLSearchParams(rest.join("?"))
  const known = parameters.flatMap((name) =>
    given.getAll(name).map((value): [string, string] => [name, value])
  )
  if (known.some(([, value]) => value.length > longestValue)) return undefined
  try {
    return `${path.split("/").map(plainSegment).join("/")}?${new URLSearchParams(known)}`
  } catch {
    return undefined
  }
}
