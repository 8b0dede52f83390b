/** The files that pages refer to, kept by browsers for ever, since another content has another name. */
import { Effect } from "effect"
import { HttpRouter } from "effect/http"
import { assets } from "../assets/assets.ts"
import { staticDocument } from "../../staticDocument.ts"

const headers = { "cache-control": "public, max-age=31536000, immutable" }

export const layer = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    for (const { bytes, contentType, path } of assets) {
      yield* router.add("GET", path, yield* staticDocument(Effect.succeed({ bytes, contentType, headers })))
    }
  })
)
