import { DateTime, Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { Idempotency, IdempotencyKeyInUse, IdempotencyKeyMismatch } from "../../services/Idempotency.ts"
import type { StoredAnswer, IdempotentRequest } from "../../services/Idempotency.ts"
import { Settings } from "../../services/Settings.ts"
import { encryption } from "../crypto/encryption.ts"
import { boundTime, execute, findOne, findOption, timestamp, transaction } from "./sql.ts"

const StoredRow = Schema.Struct({
  fingerprint: Schema.Uint8Array,
  status: Schema.Int,
  answer: Schema.Uint8Array
})

const Lock = Schema.Struct({ locked: Schema.Boolean })

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { decrypt, encrypt } = encryption((yield* Settings).tokenSecret, "idempotency")
  const storedRow = findOption(StoredRow)
  const lock = findOne(Lock)

  const keptAnswer = (agentId: string | null, key: string, now: DateTime.Utc) =>
    storedRow(sql`
      select fingerprint, status::int, answer from idempotency_keys
       where ${agentId === null ? sql`agent_id is null` : sql`agent_id = ${agentId}::uuid`} and key = ${key}
         and expires_at > ${boundTime(sql, now)}`)

  const isKept: Idempotency["Service"]["isKept"] = Effect.fn("Idempotency.isKept")(function* (agentId, key) {
    return Option.isSome(yield* keptAnswer(agentId, key, yield* DateTime.now))
  })

  /** Runs within a transaction, which holds the key until the request's work is committed. */
  const answered = Effect.fnUntraced(function* <E, R>(
    { agentId, fingerprint, key, retention }: IdempotentRequest,
    answer: Effect.Effect<StoredAnswer, E, R>
  ) {
    const now = yield* DateTime.now
    // Two keys with one hash only wait for each other: the primary key decides.
    const { locked } = yield* lock(sql`
      select pg_try_advisory_xact_lock(hashtextextended(${`idempotency ${agentId ?? "administrators"} ${key}`}, 0)) as locked`)
    if (!locked) {
      return yield* new IdempotencyKeyInUse({
        detail: "A request with this Idempotency-Key is under way: send it again when that has ended."
      })
    }
    const stored = yield* keptAnswer(agentId, key, now)
    if (Option.isSome(stored)) {
      if (Buffer.compare(stored.value.fingerprint, fingerprint) !== 0) {
        return yield* new IdempotencyKeyMismatch({
          detail: "This Idempotency-Key was used for another request: take a new key for a new request."
        })
      }
      const body = decrypt(stored.value.answer)
      if (Option.isNone(body)) {
        return yield* new IdempotencyKeyMismatch({
          detail:
            "The request of this Idempotency-Key was carried out, but its answer cannot be read any more."
        })
      }
      return { status: stored.value.status, body: body.value, replayed: true }
    }
    const given = yield* answer
    yield* execute(sql`
      insert into idempotency_keys (agent_id, key, fingerprint, status, answer, expires_at)
      values (${agentId}::uuid, ${key}, ${fingerprint}, ${given.status}, ${encrypt(given.body)},
              ${timestamp(DateTime.addDuration(now, retention))})
      on conflict (agent_id, key) do update
         set fingerprint = excluded.fingerprint, status = excluded.status, answer = excluded.answer,
             expires_at = excluded.expires_at`)
    return { ...given, replayed: false }
  })

  const once: Idempotency["Service"]["once"] = (request, answer) =>
    Effect.withSpan(transaction(sql)(answered(request, answer)), "Idempotency.once")

  const trim = DateTime.now.pipe(
    Effect.flatMap((now) =>
      execute(sql`delete from idempotency_keys where expires_at <= ${boundTime(sql, now)}`)
    ),
    Effect.withSpan("Idempotency.trim")
  )

  return Idempotency.of({ once, isKept, trim })
})

export const layer = Layer.effect(Idempotency, make)
