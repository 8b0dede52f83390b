/**
 * Forms that other sites post at us. Three things must agree: what the browser says of where the form came from, the
 * cookie (which SameSite=Lax keeps from other sites' posts), and a token in the form that is derived from the cookie.
 */
import { createHash, timingSafeEqual } from "node:crypto"
import type { HttpServerRequest } from "effect/http"

/**
 * Whether the browser says that the request comes from elsewhere. Sec-Fetch-Site says so where the address is one to be
 * trusted (https, loopback); elsewhere there is Origin, which is `null` from pages that send no referrer, as ours do.
 * What says nothing is left to the token.
 */
export const isForeign = (request: HttpServerRequest.HttpServerRequest, baseUrl: string): boolean => {
  const site = request.headers["sec-fetch-site"]
  if (site !== undefined) return site !== "same-origin"
  const origin = request.headers["origin"]
  return origin !== undefined && origin !== "null" && origin !== new URL(baseUrl).origin
}

const digest = (text: string) => createHash("sha256").update(text).digest()

/** What the forms of whoever holds this secret send along; the secret cannot be found from it. */
export const formTokenOf = (secret: string): string => digest(`auspex/form\0${secret}`).toString("base64url")

export const isFormToken = (sent: string, secret: string): boolean =>
  timingSafeEqual(digest(sent), digest(formTokenOf(secret)))
