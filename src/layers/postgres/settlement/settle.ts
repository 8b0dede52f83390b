/**
 * Settles a challenge of any kind: one path for a price, candles, an administrator's value and an amendment. Closing is a short
 * transaction that locks the challenge against submissions. Settling is a longer one, which no submission waits for, since a
 * closed challenge takes none.
 */
import { BigDecimal, Effect, Option, Schema } from "effect"
import type { DateTime } from "effect"
import { SqlClient } from "effect/sql"
import { closeChallenges } from "../challenges/lifecycle.ts"
import { makeReferences } from "../challenges/reference.ts"
import { questionColumns, questionOf, QuestionRow } from "../challenges/rows.ts"
import { latestSettlement } from "../latestSettlement.ts"
import { levelColumns, levelValues } from "../levels.ts"
import { logSettlement } from "../log/settlementEntries.ts"
import { boundNow, boundTime, execute, findOption, timestamp } from "../sql.ts"
import { addScores, amendStats } from "./agentStats.ts"
import { makeSettlePool } from "./poolSettlement.ts"
import { makeScoreForecasts, scoreDirections } from "./scores.ts"
import { makeSettlementTransaction, settlementDay } from "./settlementTransaction.ts"

/** An observation (a price, a close, a count, a published value, or the price nearest to a level) and its source. */
export interface Observed {
  readonly observation: BigDecimal.BigDecimal
  readonly source: string
  readonly observedAt: DateTime.Utc
  readonly fetchedAt: DateTime.Utc
  /** SHA-256 of the source's answers, if they are kept. */
  readonly payloadHash: Uint8Array | null
}

/** The version that an amendment replaces. */
interface Amended {
  readonly version: number
  readonly observation: string
  readonly reason: string
}

const ChallengeRow = Schema.Struct({
  ...QuestionRow.fields,
  type: Schema.String,
  category: Schema.String,
  /** The dead zone of a challenge without one of its own: that of its settlement, or of its target. */
  usual_dead_zone: Schema.NullOr(Schema.String)
})

export const makeSettle = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const row = findOption(ChallengeRow)
  const inSettlement = yield* makeSettlementTransaction
  const scoreForecasts = yield* makeScoreForecasts
  const references = yield* makeReferences
  const { returnRest, settlePool } = yield* makeSettlePool

  const locked = (id: string, condition: ReturnType<typeof sql.and>) =>
    row(sql`
      select ${questionColumns(sql)}, c.type, t.category, trim_scale(coalesce(s.dead_zone_pct, t.dead_zone_pct))::text as usual_dead_zone
        from challenges c
        join targets t on t.key = c.target
        left join ${latestSettlement(sql)} s on true
       where c.id = ${id}::uuid and ${condition}
         for no key update of c`)

  /** Writes a version of the settlement, and scores the last answers by it. */
  const write = Effect.fnUntraced(function* (
    id: string,
    { category, type, usual_dead_zone, ...terms }: typeof ChallengeRow.Type,
    observed: Observed,
    now: DateTime.Utc,
    amended: Amended | null
  ) {
    const version = (amended?.version ?? 0) + 1
    const dead_zone_pct = type === "directional" ? (terms.dead_zone_pct ?? usual_dead_zone) : null
    const question = questionOf({ ...terms, dead_zone_pct })
    const { scale } = terms
    const observation = BigDecimal.format(observed.observation)
    if (question === undefined)
      return yield* Effect.die(new Error(`challenge ${id} has the terms of no kind`))
    const result = question.resultOf(observed.observation)
    const day =
      amended === null
        ? settlementDay(sql, now)
        : sql`(select day from settlements where challenge_id = ${id}::uuid and version = 1)`
    yield* execute(sql`
      insert into settlements
        (challenge_id, version, previous_version, result, open_price, close_price, dead_zone_pct, ${levelColumns(sql)}, actual_value,
         reference_scale, source, observed_at, fetched_at, raw_sha256, settled_at, day, reason)
      values (${id}::uuid, ${version}, ${amended?.version ?? null}::int, ${result}, ${terms.open_price}::numeric,
              ${result === null ? null : observation}::numeric, ${dead_zone_pct}::numeric, ${levelValues(sql, terms)},
              ${result === null ? observation : null}::numeric, ${result === null ? scale : null}::numeric, ${observed.source},
              ${timestamp(observed.observedAt)}, ${timestamp(observed.fetchedAt)}, ${observed.payloadHash}::bytea,
              ${timestamp(now)}, ${day}, ${amended?.reason ?? null})`)
    const reference = question.walk === undefined ? null : yield* references.settled(id, now)
    if (result !== null) {
      yield* scoreDirections(sql, { challengeId: id, version }, result, reference)
    } else if (scale !== null) {
      const outcome = (actual_value: string) => ({
        actual_value,
        reference_scale: scale,
        categories: terms.categories
      })
      yield* scoreForecasts({
        challengeId: id,
        version,
        outcome: outcome(observation),
        replaced: amended === null ? null : outcome(amended.observation),
        isCalibrated: terms.reference_scale !== null && terms.categories === null,
        decimalStep: terms.decimal_step,
        reference
      })
    }
    const boards = ["global", category, terms.target]
    if (amended !== null) {
      yield* amendStats(sql, { challengeId: id, version, boards, now })
      return yield* logSettlement(sql, { challenge_id: id, version })
    }
    yield* addScores(sql, { challengeId: id, version, boards, now })
    yield* execute(sql`update challenges set resolved_at = ${timestamp(now)} where id = ${id}::uuid`)
    if (type !== "macro") return yield* logSettlement(sql, { challenge_id: id, version })
    // A value on the edge of two bins belongs to the bin above it.
    const bin = (terms.bin_edges ?? []).filter((edge) =>
      BigDecimal.isLessThanOrEqualTo(BigDecimal.fromStringUnsafe(edge), observed.observation)
    ).length
    yield* settlePool(id, bin, now)
    yield* logSettlement(sql, { challenge_id: id, version })
    yield* returnRest(id)
  })

  /**
   * Closes the challenge and settles it by an observation that is read in the transaction. Returns false if the
   * challenge has ended or is not closed yet.
   */
  const settle = Effect.fn("Scoring.settle")(function* (
    id: string,
    observed: (now: DateTime.Utc) => Effect.Effect<Observed>
  ) {
    const now = yield* boundNow(sql)
    yield* Effect.annotateCurrentSpan({ "challenge.id": id })
    yield* closeChallenges(sql, sql`c.id = ${id}::uuid`, now)
    return yield* inSettlement(
      Effect.gen(function* () {
        const found = yield* locked(
          id,
          sql`c.closed_at is not null and c.resolved_at is null and c.cancelled_at is null
              and (c.type <> 'directional' or c.resolve_at <= ${boundTime(sql, now)})`
        )
        if (Option.isNone(found)) return false
        yield* write(id, found.value, yield* observed(now), now, null)
        return true
      })
    )
  })

  /** Settles by an observation that is known already. */
  const settleBy = (id: string, observed: Observed) => settle(id, () => Effect.succeed(observed))

  /**
   * Writes another version of a settlement and returns its number. `decide` runs under the lock of the challenge; null
   * writes nothing.
   */
  const amend = <E>(
    id: string,
    decide: Effect.Effect<{ readonly observed: Observed; readonly amended: Amended } | null, E>
  ): Effect.Effect<number | null, E> =>
    inSettlement(
      Effect.result(
        Effect.gen(function* () {
          const found = yield* locked(id, sql`true`)
          const decided = yield* decide
          if (decided === null) return null
          const { amended, observed } = decided
          yield* write(id, Option.getOrThrow(found), observed, observed.fetchedAt, amended)
          return amended.version + 1
        })
      )
    ).pipe(Effect.flatMap(Effect.fromResult))

  return { settle, settleBy, amend }
})
