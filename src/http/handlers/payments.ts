/** The payment provider's webhook, signed over the bytes of the body; 404 without a provider. The published API does not have it. */
import { Effect } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { Payments } from "../../services/Payments.ts"
import { RateLimiter } from "../../services/RateLimiter.ts"
import { countedRequest } from "../CurrentRequest.ts"
import { errorResponse } from "../errors.ts"
import { MaxBody } from "../api/middleware.ts"
import { bodyText } from "../bodyText.ts"
import { webhookPath } from "../routes.ts"

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
      }).pipe(Effect.catch((error) => Effect.succeed(errorResponse(error))))
    )
  })
)
