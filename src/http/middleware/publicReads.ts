/** Public reads: kept for a moment where everybody asks the same, with an ETag, and 304 for whoever has it already. */
import { Context, Effect, Layer, SchemaAST } from "effect"
import type { Schema } from "effect"
import { HttpServerRequest } from "effect/http"
import { Settings } from "../../services/Settings.ts"
import { keptFor, keptUnder, tagged, unlessKnown } from "../conditional.ts"
import { PublicCache } from "../PublicCache.ts"
import { KeptForAll } from "./annotations.ts"
import { PublicRead } from "./definitions.ts"

/** The parameters that an endpoint's answer depends on. */
const parametersOf = (query: Schema.Top | undefined): ReadonlyArray<string> =>
  query !== undefined && SchemaAST.isObjects(query.ast)
    ? query.ast.propertySignatures.map(({ name }) => String(name))
    : []

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
        const key = Context.get(endpoint.annotations, KeptForAll)
          ? keptUnder(request.url, parametersOf(endpoint.query))
          : undefined
        const response =
          key === undefined
            ? yield* made
            : yield* cache.get(
                key,
                Effect.contextWith((context) => Effect.provideContext(made, context))
              )
        return unlessKnown(request, response)
      })
    )
  })
)
