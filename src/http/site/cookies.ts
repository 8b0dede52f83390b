/** What the browser keeps for us: host-only, out of reach of scripts, and not sent along by other sites' forms. */
import { DateTime, Duration } from "effect"
import { HttpServerResponse } from "effect/http"
import type { HttpServerRequest } from "effect/http"

export type CookieName = "session" | "form" | "provider"

export interface Cookies {
  readonly read: (request: HttpServerRequest.HttpServerRequest, name: CookieName) => string | undefined
  /** Until an instant, or for as long as the browser runs. */
  readonly set: (
    name: CookieName,
    value: string,
    lasting: { readonly from: DateTime.Utc; readonly until: DateTime.Utc } | "browser"
  ) => (response: HttpServerResponse.HttpServerResponse) => HttpServerResponse.HttpServerResponse
  readonly forget: (
    name: CookieName
  ) => (response: HttpServerResponse.HttpServerResponse) => HttpServerResponse.HttpServerResponse
}

/** The prefix makes browsers hold us to Secure, Path=/ and no Domain; without TLS they would drop such a cookie. */
export const cookiesOf = (baseUrl: string): Cookies => {
  const secure = baseUrl.startsWith("https:")
  const nameOf = (name: CookieName) => `${secure ? "__Host-" : ""}auspex_${name}`
  const options = { path: "/", httpOnly: true, secure, sameSite: "lax" } as const
  return {
    read: (request, name) => request.cookies[nameOf(name)],
    set: (name, value, lasting) =>
      HttpServerResponse.setCookieUnsafe(nameOf(name), value, {
        ...options,
        ...(lasting !== "browser" && { maxAge: DateTime.distance(lasting.from, lasting.until) })
      }),
    forget: (name) =>
      HttpServerResponse.setCookieUnsafe(nameOf(name), "", { ...options, maxAge: Duration.zero })
  }
}
