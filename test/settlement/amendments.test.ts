/** Amendments: a new version with new scores, which all statistics follow exactly, and which moves no credit. */
import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { crps, crpsScore } from "../../src/scoring/crps.ts"
import { Amendments } from "../../src/services/Amendments.ts"
import type { Amendment } from "../../src/services/Amendments.ts"
import { Arenas } from "../../src/services/Arenas.ts"
import { Audit } from "../../src/services/Audit.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import { claimedAgent } from "../support/agents.ts"
import {
  forecast,
  freshWeek,
  importQuotes,
  moveTo,
  newChallenge,
  newMacro,
  plus,
  predict,
  resultsOf,
  settleDue
} from "../support/challenges.ts"
import { credits, creditFor, stakeOn } from "../support/credit.ts"
import { firstPage } from "../support/paging.ts"
import { audited } from "../support/loggedFixture.ts"
import { testServices } from "../support/services.ts"
import { asOwner, rowsOf } from "../support/database.ts"

const resolve = (challenge: { readonly id: string }, value: number) =>
  Scoring.use((scoring) => scoring.resolveMacro(challenge.id, value))
const amend = (challenge: { readonly id: string }, amendment: Amendment) =>
  Amendments.use((amendments) => amendments.amend(challenge.id, amendment))

const statsDifferences = Audit.use(({ verifyStats }) =>
  Effect.map(verifyStats, (report) => report.differences)
)

/** A challenge on an asset, settled as bullish, that two agents have predicted. */
const settledOn = Effect.fnUntraced(function* (asset: string) {
  const deadline = plus(yield* freshWeek, "1 hour")
  const challenge = yield* newChallenge({ asset, deadline })
  const [bull, bear] = [yield* claimedAgent(), yield* claimedAgent()]
  yield* predict(bull, challenge, { confidence: 0.8 })
  yield* predict(bear, challenge, { direction: "bearish", confidence: 0.3 })
  yield* moveTo(deadline)
  yield* importQuotes(asset, [[deadline, 102]])
  yield* settleDue
  yield* TestClock.adjust("1 hour")
  return { challenge, bull, bear, deadline }
})
const settledGold = settledOn("GC")

/** A challenge on CPI, resolved with 3.2, that two agents have forecast. */
const settledMacro = Effect.gen(function* () {
  const deadline = plus(yield* freshWeek, "1 hour")
  const challenge = yield* newMacro({ deadline })
  const [close, far] = [yield* claimedAgent(), yield* claimedAgent()]
  yield* forecast(close, challenge, { predicted_value: 3.2, predicted_std: 0.05 })
  yield* forecast(far, challenge, { predicted_value: 3, predicted_std: 0.1 })
  yield* moveTo(deadline)
  yield* resolve(challenge, 3.2)
  yield* TestClock.adjust("1 hour")
  return { challenge, close, far, deadline }
})

/** A macro challenge with a credit pool, which paid the agent that staked on the bin of 3.2. */
const settledPool = Effect.gen(function* () {
  const deadline = plus(yield* freshWeek, "1 hour")
  const challenge = yield* newMacro({ deadline, reward_pool: 1000 })
  const [close, far] = [yield* claimedAgent(), yield* claimedAgent()]
  yield* creditFor([close, far])
  yield* forecast(close, challenge, { predicted_value: 3.2, predicted_std: 0.05 })
  yield* forecast(far, challenge, { predicted_value: 3, predicted_std: 0.1 })
  yield* stakeOn(challenge, [
    { agentId: close, bin: 3, amount: credits(100) },
    { agentId: far, bin: 1, amount: credits(50) }
  ])
  yield* moveTo(deadline)
  yield* resolve(challenge, 3.2)
  return { challenge, close, far }
})

layer(testServices())("An amendment", (it) => {
  it.effect("An amendment keeps the open price and the dead zone of the settlement, also a live one", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const deadline = plus(yield* freshWeek, "1 hour")
      const challenge = yield* newChallenge({ asset: "ES", deadline, dead_zone_pct: null })
      yield* predict(yield* claimedAgent(), challenge, { direction: "neutral" })
      yield* moveTo(deadline)
      yield* importQuotes("ES", [[deadline, 102]])
      yield* settleDue
      // The target's live dead zone was 0.3 %.
      yield* sql`update targets set dead_zone_pct = 5 where key = 'ES'`
      const answer = yield* amend(challenge, { close_price: 100.3, reason: "A typing error." })
      assert.deepInclude(answer, { result: "neutral", dead_zone_pct: 0.3, open_price: 100 })
      const again = yield* amend(challenge, { close_price: 100.300001, reason: "Another one." })
      assert.strictEqual(again.result, "bullish")
    })
  )

  it.effect("An amendment that leaves the result as it is still is a version, and scores the same", () =>
    Effect.gen(function* () {
      const { bull, challenge } = yield* settledGold
      const answer = yield* amend(challenge, { close_price: 103, reason: "A digit." })
      assert.deepStrictEqual([answer.result, answer.settlement.version], ["bullish", 2])
      const card = yield* Scoring.use((scoring) => scoring.scorecard(bull, firstPage))
      assert.strictEqual(card.overall.avg_score, 90)
    })
  )

  it.effect("An amendment moves the bin of the value, its list and the calibration with it", () =>
    Effect.gen(function* () {
      const { challenge, far } = yield* settledMacro
      yield* amend(challenge, { actual_value: 3.05, reason: "The office's own correction." })
      assert.deepInclude(yield* resultsOf(challenge), { actual_value: 3.05, bin: 1, reference_scale: 0.12 })
      const { count, pit } = yield* Scoring.use((scoring) => scoring.calibrationOf(far))
      // Phi(0.5) = 0.69, and it was Phi(2) = 0.98.
      assert.deepStrictEqual(
        [count, pit.buckets.map((bucket) => bucket.count)],
        [1, [0, 0, 0, 0, 0, 0, 1, 0, 0, 0]]
      )
      const [found] = (yield* Arenas.use((arenas) => arenas.list("macro", { status: "resolved" }, firstPage)))
        .items
      assert.strictEqual(found?.actual_value, 3.05)
    })
  )

  it.effect("An amendment leaves a challenge without a frozen scale out of calibration", () =>
    Effect.gen(function* () {
      const deadline = plus(yield* freshWeek, "1 hour")
      const challenge = yield* newMacro({ deadline, reference_scale: null, bin_edges: [2.8, 3, 3.2] })
      const agent = yield* claimedAgent()
      yield* forecast(agent, challenge)
      yield* moveTo(deadline)
      yield* resolve(challenge, 3.1)
      yield* amend(challenge, { actual_value: 3.3, reason: "A digit." })
      const [shown] = (yield* resultsOf(challenge)).predictions
      assert.strictEqual(shown?.score, crpsScore(crps({ mean: 3.1, sd: 0.1 }, 3.3), 0.1).score)
      assert.strictEqual((yield* Scoring.use((scoring) => scoring.calibrationOf(agent))).count, 0)
    })
  )

  it.effect("An amendment sent again after a later one undoes that one only with a new reason", () =>
    Effect.gen(function* () {
      const { challenge } = yield* settledGold
      yield* amend(challenge, { close_price: 98, reason: "first" })
      yield* amend(challenge, { close_price: 99.5, reason: "second" })
      const rejected = yield* Effect.flip(amend(challenge, { close_price: 98, reason: "first" }))
      assert.strictEqual(rejected.code, "challenge_state")
      assert.include(
        rejected.detail,
        "Version 2 had this value for this reason, and version 3 has amended it to 99.5"
      )
      const answer = yield* amend(challenge, { close_price: 98, reason: "the first was right" })
      assert.deepStrictEqual(
        answer.versions.map(({ close_price, reason, result }) => [close_price, result, reason]),
        [
          [102, "bullish", null],
          [98, "bearish", "first"],
          [99.5, "neutral", "second"],
          [98, "bearish", "the first was right"]
        ]
      )
    })
  )

  it.effect.each([0, -1, -37.63])(
    "An amendment by a price of %s is refused for gold, whose prices are above 0, and taken for oil",
    (close_price) =>
      Effect.gen(function* () {
        const { challenge: gold } = yield* settledGold
        const refused = yield* Effect.flip(amend(gold, { close_price, reason: "A bad tick." }))
        assert(refused._tag === "InvalidRequest")
        assert.include(refused.detail, "Expected a price above 0: GC has no other")
        const { challenge: oil } = yield* settledOn("CL")
        const amended = yield* amend(oil, { close_price, reason: "April 2020." })
        assert.strictEqual(amended.close_price, close_price)
      })
  )

  it.effect("An amendment never touches credit", () =>
    Effect.gen(function* () {
      const tables = ["transfers", "accounts", "stakes", "pool_bins", "pool_settlements", "pool_rewards"]
      const credit = Effect.forEach(tables, (table) =>
        Effect.map(
          rowsOf(
            Schema.Struct({ rows: Schema.Array(Schema.String) }),
            (sql) => sql`
              select coalesce(array_agg(t::text order by t::text), '{}') as rows from ${sql(table)} t`
          ),
          ([found]) => [table, found?.rows ?? []] as const
        )
      )
      const gold = (yield* settledGold).challenge
      const { challenge: macro, close, far } = yield* settledPool
      const before = yield* credit
      for (const [table, rows] of before) assert.isNotEmpty(rows, table)
      const paid = yield* resultsOf(macro)
      assert.deepInclude(paid.pool, { outcome: "paid", winning_bin: 3 })
      yield* amend(gold, { close_price: 98, reason: "why" })
      // The value moves to the bin of the agent that lost, to an empty bin, and back.
      for (const [actual_value, bin] of [
        [3.05, 1],
        [2, 0],
        [3.2, 3]
      ] as const) {
        yield* amend(macro, { actual_value, reason: `because of ${actual_value}` })
        const shown = yield* resultsOf(macro)
        assert.deepInclude(shown, { actual_value, bin })
        assert.deepStrictEqual(shown.pool, paid.pool)
        const rewards = new Map(shown.predictions.map((each) => [each.agent_id, each.reward]))
        assert.isAbove(Number(rewards.get(close)), 0)
        assert.strictEqual(rewards.get(far), 0n)
        assert.deepStrictEqual(yield* credit, before)
      }
      assert.deepStrictEqual((yield* Audit.use(({ verifyLedger }) => verifyLedger)).differences, [])
      yield* audited
      // The settlement's entry has the result of the pool, and no amendment's entry has it.
      const entries = yield* rowsOf(
        Schema.Struct({ type: Schema.String, has_pool: Schema.Boolean }),
        (sql) => sql`
          select type, convert_from(entry, 'UTF8')::jsonb ? 'pool' as has_pool from log_entries
           where challenge_id = ${macro.id}::uuid and type in ('settlement', 'amendment') order by index`
      )
      assert.deepStrictEqual(entries, [
        { type: "settlement", has_pool: true },
        ...[2, 3, 4].map(() => ({ type: "amendment", has_pool: false }))
      ])
    })
  )

  it.effect("Different amendments at once follow each other", () =>
    Effect.gen(function* () {
      const { challenge } = yield* settledMacro
      yield* Effect.forEach(
        [2.9, 3, 3.1, 3.3],
        (actual_value) => amend(challenge, { actual_value, reason: `${actual_value}` }),
        { concurrency: "unbounded" }
      )
      const { actual_value, versions } = yield* resultsOf(challenge)
      assert.deepStrictEqual(
        versions.map(({ version }) => version),
        [1, 2, 3, 4, 5]
      )
      assert.sameMembers(
        versions.map((each) => each.reason),
        [null, "2.9", "3", "3.1", "3.3"]
      )
      assert.strictEqual(actual_value, versions.at(-1)?.actual_value)
    })
  )

  it.effect("An amendment that is cut off in the middle leaves nothing behind, and can be made again", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* asOwner(sql`
        create function cut_off() returns trigger language plpgsql as $$
        begin
          perform pg_terminate_backend(pg_backend_pid());
          return null;
        end
        $$`)
      const { challenge } = yield* settledMacro
      const amendment = { actual_value: 3.05, reason: "The office's own correction." }
      const before = yield* resultsOf(challenge)
      for (const table of [
        "settlements",
        "prediction_scores",
        "calibration_stats",
        "agent_stats",
        "boards",
        "log_pending"
      ]) {
        yield* asOwner(sql`
          create trigger cut_off after insert or update on ${sql(table)} for each statement execute function cut_off()`)
        const exit = yield* Effect.exit(amend(challenge, amendment))
        yield* asOwner(sql`drop trigger cut_off on ${sql(table)}`)
        assert.strictEqual(exit._tag, "Failure", table)
        assert.deepStrictEqual(yield* resultsOf(challenge), before)
        assert.deepStrictEqual(yield* statsDifferences, [], table)
      }
      assert.strictEqual((yield* amend(challenge, amendment)).settlement.version, 2)
    })
  )

  it.effect("The audits find nothing after amendments", () => audited)
})
