/** Stamps the receipt of a request, which decides if a prediction or stake is in time. */
import { Context, Effect, Layer } from "effect"
import { HttpIncomingMessage, HttpServerRequest } from "effect/http"
import { Health } from "../../services/Health.ts"
import { MaxBody, ReceiptTime, ReceivedAt } from "../api/middleware.ts"

/** The stamp is taken before any statement, so a slow database makes nothing late. An unreadable body is rejected later. */
export const layer = Layer.effect(
  ReceiptTime,
  Effect.map(Health, ({ receiptTime }) =>
    ReceiptTime.of((httpEffect, { endpoint }) =>
      Effect.gen(function* () {
        const request = yield* HttpServerRequest.HttpServerRequest
        if (endpoint.payload.size > 0 && request.headers["authorization"] !== undefined) {
          yield* request.arrayBuffer.pipe(
            Effect.provideService(
              HttpIncomingMessage.MaxBodySize,
              Context.get(endpoint.annotations, MaxBody)
            ),
            Effect.ignore
          )
        }
        return yield* Effect.provideService(httpEffect, ReceivedAt, yield* receiptTime)
      })
    )
  )
)
