/** Public reads: kept for a moment where everybody asks the same, with an ETag, and 304 for whoever has it already. */
import { Context, Effect, Layer } from "effect"
import { HttpServerRequest } from "effect/http"
import { Settings } from "../../services/Settings.ts"
import { isUsual, keptFor, tagged, unlessKnown } from "../conditional.ts"
import { PublicCache } from "../PublicCache.ts"
import { KeptForAll } from "./annotations.ts"
import { PublicRead } from "./definitions.ts"

const usualParameters: ReadonlySet<string> = new Set(["limit", "category", "space", "asset"])

export const layer = Layer.effect(
  PublicRead,
  Effect.gen(function* () {
    const { publicCache } = yield* Settings
    const cache = yield* PublicCache
    const headers = {
      "cache-control": keptFor(publicCache),
      // Whoever asks: a cache in between keeps one answer for all.
      "access-control-allow-origin": "*"
    }

    return PublicRead.of(
      Effect.fnUntraced(function* (httpEffect, { endpoint }) {
        const request = yield* HttpServerRequest.HttpServerRequest
        const made = Effect.map(httpEffect, (response) => tagged(response, headers))
        const response = yield* Context.get(endpoint.annotations, KeptForAll) &&
        isUsual(request.url, usualParameters)
          ? cache.get(
              request.url,
              Effect.contextWith((context) => Effect.provideContext(made, context))
            )
          : made
        return unlessKnown(request, response)
      })
    )
  })
)
