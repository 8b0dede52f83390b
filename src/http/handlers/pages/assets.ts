/** The files that pages refer to, kept by browsers for ever, since another content has another name. */
import { HttpRouter, HttpServerResponse } from "effect/http"
import { assets } from "../../pages/assets.ts"

export const layer = HttpRouter.addAll(
  assets.map(({ bytes, contentType, path }) =>
    HttpRouter.route(
      "GET",
      path,
      HttpServerResponse.uint8Array(bytes, {
        contentType,
        headers: { "cache-control": "public, max-age=31536000, immutable" }
      })
    )
  )
)
