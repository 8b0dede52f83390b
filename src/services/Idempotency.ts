/**
 * `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header-07): a request that is sent again, because its answer
 * was lost on the way, does nothing again and gets the same answer. The key commits with the request's work, so neither
 * is there without the other.
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

/** A stored answer: JSON, or nothing. */
export interface StoredAnswer {
  readonly status: number
  readonly body: string
}

export interface IdempotentRequest {
  /** The agent is null for administrators, and for keys that name their own caller. */
  readonly agentId: string | null
  readonly key: string
  /** The time for which its answer is kept. */
  readonly retention: Duration.Duration
  /** Hash of the whole request. Reusing a key with another hash is an error. */
  readonly fingerprint: Uint8Array
}

export class Idempotency extends Context.Service<
  Idempotency,
  {
    /**
     * Runs `answer` in a transaction that also stores its result, or returns the stored one. A failure is not stored: it changed
     * nothing, and may be tried again with the same key.
     */
    readonly once: <E, R>(
      request: IdempotentRequest,
      answer: Effect.Effect<StoredAnswer, E, R>
    ) => Effect.Effect<
      StoredAnswer & { readonly replayed: boolean },
      E | IdempotencyKeyInUse | IdempotencyKeyMismatch,
      R
    >
    /** True if an answer is stored under this key: then `once` does nothing. */
    readonly isKept: (agentId: IdempotentRequest["agentId"], key: string) => Effect.Effect<boolean>
    /** Removes answers whose time is over. */
    readonly trim: Effect.Effect<void>
  }
>()("auspex/services/Idempotency") {}
