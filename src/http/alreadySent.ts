import { HttpServerResponse } from "effect/http"

/** What a handler answers that has written to the connection itself, headers included: all that is left is to count it. */
export const alreadySent = HttpServerResponse.empty({ status: 200 })
