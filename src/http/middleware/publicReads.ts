/** Public reads: kept for a moment where everybody asks the same, with an ETag, and 304 for whoever has it already. */
import { hash } from "node:crypto"
import { Context, Duration, Effect, Layer } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { Settings } from "../../services/Settings.ts"
import { PublicCache } from "../PublicCache.ts"
import { KeptForAll } from "./annotations.ts"
import { PublicRead } from "./definitions.ts"

const etagOf = (body: Uint8Array): string => `"${hash("sha256", body, "base64url").slice(0, 22)}"`

/** RFC 9110 13.1.2: any of a list, compared weakly, or `*`. */
const hasAlready = (ifNoneMatch: string | undefined, etag: string): boolean =>
  ifNoneMatch !== undefined &&
  ifNoneMatch
    .split(",")
    .map((tag) => tag.trim())
    .some((tag) => tag === "*" || tag.replace(/^W\//, "") === etag)

const usualParameters: ReadonlySet<string> = new Set(["limit", "category", "space", "asset"])

/** What many ask alike. Later pages, and parameters that mean nothing, would only fill the memory. */
const isUsual = (url: string): boolean =>
  [...new URLSearchParams(url.split("?")[1] ?? "")].every(
    ([name, value]) => usualParameters.has(name) && value.length <= 20
  )

export const layer = Layer.effect(
  PublicRead,
  Effect.gen(function* () {
    const { publicCache } = yield* Settings
    const cache = yield* PublicCache
    const seconds = Math.floor(Duration.toSeconds(publicCache))
    const cacheControl = seconds > 0 ? `public, max-age=${seconds}` : "no-cache"

    const tagged = (response: HttpServerResponse.HttpServerResponse) =>
      response.status === 200 && response.body._tag === "Uint8Array"
        ? HttpServerResponse.setHeaders(response, {
            etag: etagOf(response.body.body),
            "cache-control": cacheControl,
            // Whoever asks: a cache in between keeps one answer for all.
            "access-control-allow-origin": "*"
          })
        : response

    return PublicRead.of(
      Effect.fnUntraced(function* (httpEffect, { endpoint }) {
        const request = yield* HttpServerRequest.HttpServerRequest
        const made = Effect.map(httpEffect, tagged)
        const response = yield* Context.get(endpoint.annotations, KeptForAll) && isUsual(request.url)
          ? cache.get(
              request.url,
              Effect.contextWith((context) => Effect.provideContext(made, context))
            )
          : made
        const { etag } = response.headers
        return etag !== undefined && hasAlready(request.headers["if-none-match"], etag)
          ? HttpServerResponse.empty({
              status: 304,
              headers: { etag, "cache-control": cacheControl, "access-control-allow-origin": "*" }
            })
          : response
      })
    )
  })
)
