/** Ends a macro challenge or a price event without a value: nobody is scored, and all stakes return. */
import { DateTime, Effect } from "effect"
import type { Statement } from "effect/sql"
import { inUtc } from "../../../scoring/wording.ts"
import { SqlClient } from "effect/sql"
import { voided } from "../log/entries.ts"
import { voidedChallenges } from "../log/settlementEntries.ts"
import { boundNow, boundTime, execute, orDie, timestamp } from "../sql.ts"
import { makeSettlePool } from "./poolSettlement.ts"
import { makeSettlementTransaction } from "./settlementTransaction.ts"
import { closeChallenges, insertVoidNotices } from "../challenges/lifecycle.ts"

export const makeVoidChallenge = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const inSettlement = yield* makeSettlementTransaction
  const { returnRest, settlePool } = yield* makeSettlePool

  /**
   * Returns false if the challenge has ended, or `from` has not come. As in a settlement, only closing holds the lock
   * that submissions wait for.
   */
  const voidChallenge = Effect.fn("Scoring.voidChallenge")(function* (
    type: "macro" | "price_event",
    challengeId: string,
    reason: string,
    from: Statement.Fragment
  ) {
    const now = yield* boundNow(sql)
    yield* closeChallenges(sql, sql`c.id = ${challengeId}::uuid`, now)
    const ended = yield* inSettlement(
      Effect.gen(function* () {
        const changed = yield* sql`
          update challenges set cancelled_at = ${timestamp(now)}, cancel_reason = ${reason}
           where id = ${challengeId}::uuid and type = ${type} and closed_at is not null and resolved_at is null
             and cancelled_at is null and ${from} <= ${boundTime(sql, now)}
          returning 1`.pipe(orDie)
        if (changed.length === 0) return false
        if (type === "macro") yield* settlePool(challengeId, null, now)
        for (const challenge of yield* voidedChallenges(sql, [challengeId])) {
          yield* execute(sql`
            with inserted_notices as (${insertVoidNotices(sql, sql`challenges c where c.id = ${challengeId}::uuid`)})
            insert into log_pending (type, challenge_id, version, entry)
            values ('void', ${challengeId}::uuid, 1, ${voided(challenge)})`)
        }
        if (type === "macro") yield* returnRest(challengeId)
        return true
      })
    )
    if (ended) {
      yield* Effect.logInfo(`a ${type === "macro" ? "macro challenge" : "price event"} was voided`).pipe(
        Effect.annotateLogs({ challenge_id: challengeId })
      )
    }
    return ended
  })

  /** Voids a challenge for an administrator, once its deadline has passed. */
  const voidByHand = (type: "macro" | "price_event", challengeId: string, reason: string) =>
    voidChallenge(type, challengeId, reason, sql`deadline`)

  /** Voids a macro challenge that has waited for its value too long. */
  const voidWithoutValue = (challenge: { readonly id: string; readonly cancel_at: DateTime.Utc }) =>
    voidChallenge(
      "macro",
      challenge.id,
      `No value was recorded by ${inUtc(DateTime.toEpochMillis(challenge.cancel_at))}.`,
      sql`cancel_at`
    )

  /** Voids a price event that has waited for its candles too long. */
  const voidWithoutCandles = (challenge: { readonly id: string; readonly cancel_at: DateTime.Utc }) =>
    voidChallenge(
      "price_event",
      challenge.id,
      `The candles that decide it were not all known and undisputed by ${inUtc(DateTime.toEpochMillis(challenge.cancel_at))}.`,
      sql`cancel_at`
    )

  return { voidByHand, voidWithoutValue, voidWithoutCandles }
})
