/**
 * `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header-07): a request that is sent again, because its answer was
 * lost on the way, does nothing again and is answered as it was. The key commits with what the request did, so neither is
 * there without the other.
 */
import { Context, Schema } from "effect"
import type { Duration, Effect } from "effect"
import { apiError } from "./domain/errors.ts"

/** 409: the first request with this key has not ended yet. */
export class IdempotencyKeyInUse extends apiError("IdempotencyKeyInUse", 409, "idempotency_key_in_use") {}

/** 422: the key has been used for another request. */
export class IdempotencyKeyMismatch extends apiError(
  "IdempotencyKeyMismatch",
  422,
  "idempotency_key_mismatch"
) {}

export const keyFormat = 'Expected 1 to 255 visible ASCII characters without " and \\, in quotes or bare'

/** One to 255 visible ASCII characters, as a structured field's string (in quotes) or bare, as many clients send it. */
export const IdempotencyKey = Schema.String.check(
  Schema.isPattern(/^(?:"[!#-[\]-~]{1,255}"|[!#-[\]-~]{1,255})$/, {
    message: keyFormat
  })
)

/** An answer that is kept: JSON, or nothing. */
export interface StoredAnswer {
  readonly status: number
  readonly body: string
}

export interface IdempotentRequest {
  /** Null: of the administrators, or of whoever the key itself names. */
  readonly agentId: string | null
  readonly key: string
  /** How long its answer is kept. */
  readonly retention: Duration.Duration
  /** Of all that makes the request what it is: the same key with another one is a mistake. */
  readonly fingerprint: Uint8Array
}

export class Idempotency extends Context.Service<
  Idempotency,
  {
    /**
     * Runs `answer` in a transaction that also keeps what it answered, or answers what was kept. What fails
     * is not kept: it did nothing, and may be tried again with the same key.
     */
    readonly once: <E, R>(
      request: IdempotentRequest,
      answer: Effect.Effect<StoredAnswer, E, R>
    ) => Effect.Effect<
      StoredAnswer & { readonly replayed: boolean },
      E | IdempotencyKeyInUse | IdempotencyKeyMismatch,
      R
    >
    /** Whether an answer is kept under this key: then `once` carries nothing out. */
    readonly isKept: (agentId: IdempotentRequest["agentId"], key: string) => Effect.Effect<boolean>
    /** Removes what has been kept for long enough. */
    readonly trim: Effect.Effect<void>
  }
>()("auspex/services/Idempotency") {}
