/** Errors of the gateway as clients of either style read them. */
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import type { CallError, ErrorAnswer, Gateway, Style } from "../../services/Gateway.ts"
import { CurrentRequest } from "../CurrentRequest.ts"

export const errorResponse = ({ body, headers, status }: ErrorAnswer) =>
  HttpServerResponse.text(body, { status, headers, contentType: headers["content-type"] })

/** Answers what a call fails with in this style. */
export const errorsIn =
  (style: Style, { refusal }: Gateway["Service"]) =>
  <R>(response: Effect.Effect<HttpServerResponse.HttpServerResponse, CallError, R>) =>
    response.pipe(
      Effect.catch((error) =>
        Effect.map(CurrentRequest, ({ requestId }) => errorResponse(refusal(style, error, requestId)))
      )
    )
