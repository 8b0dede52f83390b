/** Amendments: a new version with new scores, which all statistics follow exactly, and which moves no credit. */
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Schema } from "effect"
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
  predict
} from "../support/challenges.ts"
import { credits, creditFor, stakeOn } from "../support/credit.ts"
import { firstPage } from "../support/paging.ts"
import { revealAll } from "../support/loggedFixture.ts"
import { testServices } from "../support/services.ts"
import { asOwner, countOf, rowsOf } from "../support/database.ts"

const settleDue = Scoring.use((scoring) => scoring.settleDue)
const resolve = (challenge: { readonly id: string }, value: number) =>
  Scoring.use((scoring) => scoring.resolveMacro(challenge.id, value))
const amend = (challenge: { readonly id: string }, amendment: Amendment) =>
  Amendments.use((amendments) => amendments.amend(challenge.id, amendment))
const results = (challenge: { readonly id: string }) =>
  Arenas.use((arenas) => arenas.results(challenge.id, firstPage))

const statsDifferences = Audit.use(({ verifyStats }) =>
  Effect.map(verifyStats, (report) => report.differences)
)
const audited = Effect.gen(function* () {
  assert.deepStrictEqual(yield* statsDifferences, [])
  yield* revealAll
  assert.deepStrictEqual((yield* Audit.use(({ verifyLog }) => verifyLog)).differences, [])
})

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

layer(testServices())("An amendment of a directional challenge", (it) => {
  it.effect("An amendment is a new version that scores every prediction again; the earlier one stays", () =>
    Effect.gen(function* () {
      const { bear, bull, challenge } = yield* settledGold
      const before = yield* results(challenge)
      const answer = yield* amend(challenge, { close_price: 98, reason: "The exchange corrected it." })
      assert.deepInclude(answer, {
        type: "directional",
        status: "resolved",
        result: "bearish",
        close_price: 98
      })
      const shown = yield* results(challenge)
      assert.deepStrictEqual(shown.settlement, answer.settlement)
      assert.deepStrictEqual(shown.versions, answer.versions)
      const now = DateTime.formatIso(yield* DateTime.now)
      assert.deepStrictEqual(shown.settlement, {
        version: 2,
        settled_at: now,
        source: "admin",
        amended: true,
        void_reason: null
      })
      assert.deepStrictEqual(shown.versions, [
        {
          version: 1,
          settled_at: before.settlement?.settled_at ?? "none",
          source: before.resolution_source ?? "none",
          result: "bullish",
          close_price: 102,
          actual_value: null,
          reason: null,
          leaf_index: null
        },
        {
          version: 2,
          settled_at: now,
          source: "admin",
          result: "bearish",
          close_price: 98,
          actual_value: null,
          reason: "The exchange corrected it.",
          leaf_index: null
        }
      ])
      // The challenge keeps its time of resolution.
      assert.strictEqual(shown.resolved_at, before.resolved_at)
      const scores = new Map(shown.predictions.map((each) => [each.agent_id, [each.is_correct, each.score]]))
      assert.deepStrictEqual(
        [scores.get(bull), scores.get(bear)],
        [
          [false, 10],
          [true, 65]
        ]
      )
      const card = yield* Scoring.use((scoring) => scoring.scorecard(bear, firstPage))
      assert.deepInclude(card.predictions[0], {
        result: "bearish",
        score: 65,
        amended: true,
        settled_at: now
      })
      assert.deepInclude(card.overall, { avg_score: 65, correct_count: 1, prediction_count: 1 })
      const kept = yield* rowsOf(
        Schema.Struct({ version: Schema.Int, score: Schema.Finite }),
        (sql) => sql`
          select version, score::float8 as score from prediction_scores
           where challenge_id = ${challenge.id}::uuid and agent_id = ${bull}::uuid order by version`
      )
      assert.deepStrictEqual(kept, [
        { version: 1, score: 90 },
        { version: 2, score: 10 }
      ])
      yield* audited
    })
  )

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
      yield* audited
    })
  )

  it.effect("An amendment that leaves the result as it is still is a version, and scores the same", () =>
    Effect.gen(function* () {
      const { bull, challenge } = yield* settledGold
      const answer = yield* amend(challenge, { close_price: 103, reason: "A digit." })
      assert.deepStrictEqual([answer.result, answer.settlement.version], ["bullish", 2])
      const card = yield* Scoring.use((scoring) => scoring.scorecard(bull, firstPage))
      assert.strictEqual(card.overall.avg_score, 90)
      yield* audited
    })
  )
})

layer(testServices())("An amendment of a macro challenge", (it) => {
  it.effect("An amendment scores every forecast again on the same scale, and calibration with it", () =>
    Effect.gen(function* () {
      const { challenge, far } = yield* settledMacro
      const answer = yield* amend(challenge, { actual_value: 3.05, reason: "The office's own correction." })
      assert.deepInclude(answer, { type: "macro", result: null, actual_value: 3.05, reference_scale: 0.12 })
      const shown = yield* results(challenge)
      assert.deepInclude(shown, { actual_value: 3.05, bin: 1 })
      for (const { crps: stored, predicted_std, predicted_value, score, skill } of shown.predictions) {
        const value = crps({ mean: predicted_value ?? 0, sd: predicted_std ?? 0 }, 3.05)
        assert.deepStrictEqual({ crps: stored, score, skill }, { crps: value, ...crpsScore(value, 0.12) })
      }
      const { count, pit } = yield* Scoring.use((scoring) => scoring.calibrationOf(far))
      // Phi(0.5) = 0.69, and it was Phi(2) = 0.98.
      assert.deepStrictEqual(
        [count, pit.buckets.map((bucket) => bucket.count)],
        [1, [0, 0, 0, 0, 0, 0, 1, 0, 0, 0]]
      )
      const [found] = (yield* Arenas.use((arenas) => arenas.list("macro", { status: "resolved" }, firstPage)))
        .items
      assert.strictEqual(found?.actual_value, 3.05)
      yield* audited
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
      const [shown] = (yield* results(challenge)).predictions
      assert.strictEqual(shown?.score, crpsScore(crps({ mean: 3.1, sd: 0.1 }, 3.3), 0.1).score)
      assert.strictEqual((yield* Scoring.use((scoring) => scoring.calibrationOf(agent))).count, 0)
      yield* audited
    })
  )
})

layer(testServices())("An amendment", (it) => {
  const versionsOf = (challenge: { readonly id: string }) =>
    countOf(
      (sql) => sql`select count(*)::int as count from settlements where challenge_id = ${challenge.id}::uuid`
    )

  it.effect("An amendment sent again changes nothing and has the same answer", () =>
    Effect.gen(function* () {
      const { challenge } = yield* settledMacro
      const amendment = { actual_value: 3.1, reason: "The office's own correction." }
      const first = yield* amend(challenge, amendment)
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(yield* amend(challenge, amendment), first)
      assert.strictEqual(yield* versionsOf(challenge), 2)
      yield* audited
    })
  )

  it.effect("An amendment to the value that counts already is rejected", () =>
    Effect.gen(function* () {
      const { challenge } = yield* settledGold
      for (const version of [1, 2]) {
        const close_price = version === 1 ? 102 : 98
        const rejected = yield* Effect.flip(amend(challenge, { close_price, reason: `again ${version}` }))
        assert.deepInclude(rejected, {
          code: "challenge_state",
          detail: `The challenge is settled by ${close_price} already, in version ${version}.`
        })
        if (version === 1) yield* amend(challenge, { close_price: 98, reason: "The exchange corrected it." })
      }
      assert.strictEqual(yield* versionsOf(challenge), 2)
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
      yield* audited
    })
  )

  it.effect("An amendment takes the one field that fits the type, and names the other", () =>
    Effect.gen(function* () {
      const gold = (yield* settledGold).challenge
      const macro = (yield* settledMacro).challenge
      const reason = "why"
      for (const [challenge, amendment, field] of [
        [gold, { reason }, "close_price"],
        [gold, { actual_value: 98, reason }, "actual_value"],
        [gold, { actual_value: 98, close_price: 98, reason }, "actual_value"],
        [macro, { reason }, "actual_value"],
        [macro, { close_price: 3, reason }, "close_price"],
        [macro, { actual_value: 3, close_price: 3, reason }, "close_price"]
      ] as const) {
        const rejected = yield* Effect.flip(amend(challenge, amendment))
        assert(rejected._tag === "InvalidRequest")
        assert.deepStrictEqual(
          rejected.errors.map(({ path }) => path),
          [field]
        )
      }
      assert.deepStrictEqual([yield* versionsOf(gold), yield* versionsOf(macro)], [1, 1])
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

  it.effect("Only a resolved challenge can be amended", () =>
    Effect.gen(function* () {
      const deadline = plus(yield* freshWeek, "1 hour")
      const macro = yield* newMacro({ deadline })
      const gold = yield* newChallenge({ deadline })
      const cancelled = yield* newChallenge({ deadline })
      yield* Scoring.use((scoring) => scoring.void("directional", cancelled.id, "why"))
      const rejection = (challenge: { readonly id: string }, amendment: Amendment) =>
        Effect.map(Effect.flip(amend(challenge, amendment)), ({ code, detail }) => [code, detail])
      const state = (status: string) => [
        "challenge_state",
        `The challenge is ${status}; only one that is resolved can be amended.`
      ]
      const price = { close_price: 98, reason: "why" }
      const value = { actual_value: 3, reason: "why" }
      assert.deepStrictEqual(yield* rejection(gold, price), state("open"))
      assert.deepStrictEqual(yield* rejection(cancelled, price), state("cancelled"))
      yield* moveTo(deadline)
      assert.deepStrictEqual(yield* rejection(gold, price), state("closed"))
      assert.deepStrictEqual(yield* rejection(macro, value), state("closed"))
      yield* Scoring.use((scoring) => scoring.void("macro", macro.id, "not published"))
      assert.deepStrictEqual(yield* rejection(macro, value), state("void"))
      for (const id of ["nothing", "0190f000-0000-7000-8000-000000000000"]) {
        assert.deepStrictEqual((yield* rejection({ id }, price))[0], "not_found")
      }
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
      const paid = yield* results(macro)
      assert.deepInclude(paid.pool, { outcome: "paid", winning_bin: 3 })
      yield* amend(gold, { close_price: 98, reason: "why" })
      // The value moves to the bin of the agent that lost, to an empty bin, and back.
      for (const [actual_value, bin] of [
        [3.05, 1],
        [2, 0],
        [3.2, 3]
      ] as const) {
        yield* amend(macro, { actual_value, reason: `because of ${actual_value}` })
        const shown = yield* results(macro)
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

  it.effect("Equal amendments at once are made once, and different ones follow each other", () =>
    Effect.gen(function* () {
      const same = (yield* settledGold).challenge
      const amendment = { close_price: 98, reason: "why" }
      const answers = yield* Effect.all(
        Array.from({ length: 8 }, () => amend(same, amendment)),
        {
          concurrency: "unbounded"
        }
      )
      for (const answer of answers) assert.deepStrictEqual(answer, answers[0])
      assert.strictEqual(yield* versionsOf(same), 2)

      const { challenge } = yield* settledMacro
      yield* Effect.forEach(
        [2.9, 3, 3.1, 3.3],
        (actual_value) => amend(challenge, { actual_value, reason: `${actual_value}` }),
        { concurrency: "unbounded" }
      )
      const { actual_value, versions } = yield* results(challenge)
      assert.deepStrictEqual(
        versions.map(({ version }) => version),
        [1, 2, 3, 4, 5]
      )
      assert.sameMembers(
        versions.map((each) => each.reason),
        [null, "2.9", "3", "3.1", "3.3"]
      )
      assert.strictEqual(actual_value, versions.at(-1)?.actual_value)
      yield* audited
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
      const before = yield* results(challenge)
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
        assert.deepStrictEqual(yield* results(challenge), before)
        assert.deepStrictEqual(yield* statsDifferences, [], table)
      }
      assert.strictEqual((yield* amend(challenge, amendment)).settlement.version, 2)
      yield* audited
    })
  )
})
