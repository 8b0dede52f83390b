/**
 * What the payment provider tells, signed over the very bytes of the body. Without a provider there is nothing at this
 * path. It is no part of the published API, since nobody else can call it.
 */
import { Effect } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { RateLimiter } from "../../services/RateLimiter.ts"
import { Payments } from "../../services/Payments.ts"
import { countedRequest } from "../CurrentRequest.ts"
import { errorStatus } from "../errorStatus.ts"
import { MaxBody } from "../middleware/annotations.ts"
import { bodyText } from "../middleware/requestBody.ts"
import { webhookPath } from "../routes.ts"

const refused = (error: { readonly detail: string; readonly code: string }) =>
  HttpServerResponse.jsonUnsafe({ detail: error.detail, code: error.code }, { status: errorStatus(error) })

const nothingThere = HttpServerResponse.jsonUnsafe(
  { detail: "There is nothing at this path: see /docs.", code: "not_found" },
  { status: 404 }
)

export const layer = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const limits = yield* RateLimiter
    const payments = yield* Payments
    if (payments.packages.length === 0) {
      yield* router.add("POST", webhookPath, nothingThere)
      return
    }
    yield* router.add(
      "POST",
      webhookPath,
      Effect.gen(function* () {
        const request = yield* HttpServerRequest.HttpServerRequest
        const { address } = yield* countedRequest
        yield* limits.consume("reads", address)
        const body = yield* bodyText(request, ["application/json"], yield* MaxBody)
        yield* payments.receive({ body, signature: request.headers["stripe-signature"] })
        return HttpServerResponse.jsonUnsafe({ received: true })
      }).pipe(
        Effect.catchTag("TooManyRequests", (error) =>
          Effect.succeed(
            HttpServerResponse.jsonUnsafe(
              { detail: error.detail, code: error.code, retry_after: error.retry_after },
              { status: 429, headers: { "retry-after": String(error.retry_after) } }
            )
          )
        ),
        Effect.catch((error) => Effect.succeed(refused(error)))
      )
    )
  })
)
