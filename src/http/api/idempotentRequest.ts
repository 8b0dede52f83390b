import { Schema } from "effect"
import { IdempotencyKey } from "../../services/Idempotency.ts"

/** Of endpoints with the middleware `IdempotentRequest` or `AdminIdempotentRequest`. */
export const idempotentRequestHeaders = {
  "idempotency-key": Schema.optionalKey(
    IdempotencyKey.annotate({
      description:
        "a request with the same key and body, within 24 hours, does nothing again and is answered as the first one was"
    })
  )
}
