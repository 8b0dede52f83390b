/** The data of charts: never more than a chart shows, however much there is, and nothing that is still sealed. */
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Amendments } from "../../src/services/Amendments.ts"
import { emptyAnswer } from "../../src/services/domain/Prediction.ts"
import { Charts } from "../../src/services/Charts.ts"
import { claimedAgent } from "../support/agents.ts"
import {
  forecast,
  freshWeek,
  importCandles,
  importQuotes,
  moveTo,
  newChallenge,
  newMacro,
  plus,
  predict,
  settleDue
} from "../support/challenges.ts"
import { manyAgents, predictionsOn } from "../support/manyPredictions.ts"
import { testServices } from "../support/services.ts"

const pricesOf = (asset: string, from: DateTime.Utc, until: DateTime.Utc) =>
  Charts.use((charts) => charts.prices(asset, from, until))

layer(testServices())("Prices of a chart", (it) => {
  it.effect("Prices of a chart are the closes of ended candles, each with its range", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      yield* importCandles("GC", "1h", [
        [plus(monday, "-1 hour"), 99],
        [monday, 100],
        [plus(monday, "1 hour"), 102],
        [plus(monday, "2 hours"), 104]
      ])
      yield* moveTo(plus(monday, "2 hours"))
      const { from, points } = yield* pricesOf("GC", monday, plus(monday, "1 day"))
      // The last candle is not over. The first one ended when the window begins, and is shown since there are few.
      assert.isBelow(DateTime.toEpochMillis(from), DateTime.toEpochMillis(monday))
      assert.deepStrictEqual(points, [
        { time: DateTime.formatIso(monday), price: 99, high: 99, low: 99 },
        { time: DateTime.formatIso(plus(monday, "1 hour")), price: 100, high: 100, low: 100 },
        { time: DateTime.formatIso(plus(monday, "2 hours")), price: 102, high: 102, low: 102 }
      ])
      assert.deepStrictEqual((yield* pricesOf("ES", monday, plus(monday, "1 day"))).points, [])
      // A question about future days shows past ones.
      assert.deepStrictEqual(
        (yield* pricesOf("GC", plus(monday, "3 days"), plus(monday, "4 days"))).points,
        points
      )
      assert.deepStrictEqual(
        (yield* pricesOf("GC", plus(monday, "80 days"), plus(monday, "81 days"))).points,
        []
      )
    })
  )

  it.effect("A chart has at most 240 prices, the last of each stretch of time", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const monday = yield* freshWeek
      const end = plus(monday, "5 days")
      yield* sql`
        insert into price_points (source, asset, interval, time, close, observed_at, fetched_at)
        select 'test', 'NG', 'quote', at, n, at, at
          from generate_series(1, 7200) as n
         cross join lateral (select ${DateTime.toDateUtc(monday)}::timestamptz + n * interval '1 minute' as at) as m`
      yield* moveTo(plus(end, "1 day"))
      const { points, stretch } = yield* pricesOf("NG", monday, end)
      assert.lengthOf(points, 240)
      assert.strictEqual(stretch, 30 * 60_000)
      assert.deepStrictEqual(
        points.map(({ price }) => price),
        Array.from({ length: 240 }, (_, index) => 30 * (index + 1))
      )
    })
  )

  it.effect("A corrected point has its current value, and one of several sources the first by name", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const monday = yield* freshWeek
      const at = DateTime.toDateUtc(monday)
      yield* sql`
        insert into price_points (source, asset, interval, time, revision, open, high, low, close, observed_at, fetched_at)
        select source, 'CL', '1h', ${at}, revision, close, close, close, close, ${at}::timestamptz + interval '1 hour', ${at}
          from (values ('b', 0, 70), ('a', 0, 60), ('a', 1, 61)) as v (source, revision, close)`
      yield* moveTo(plus(monday, "1 day"))
      const { points } = yield* pricesOf("CL", monday, plus(monday, "1 day"))
      assert.deepStrictEqual(
        points.map(({ price }) => price),
        [61]
      )
    })
  )
})

const answersTo = ({ id }: { readonly id: string }) => Charts.use((charts) => charts.answers(id))

layer(testServices())("Answers of a chart", (it) => {
  it.effect("A chart shows each agent's latest answer, from the deadline on", () =>
    Effect.gen(function* () {
      const deadline = plus(yield* freshWeek, "1 hour")
      const challenge = yield* newChallenge({ deadline })
      const macro = yield* newMacro({ deadline })
      const [ada, grace] = [yield* claimedAgent("Ada"), yield* claimedAgent("Grace")]
      yield* predict(ada, challenge, { confidence: 0.25 })
      yield* predict(ada, challenge, { direction: "neutral", confidence: 0.75, is_revision: true })
      yield* predict(grace, challenge, { direction: "bearish" })
      yield* forecast(ada, macro, { predicted_value: 3.05, predicted_std: 0.2 })
      for (const sealed of [challenge, macro]) {
        assert.deepStrictEqual(yield* answersTo(sealed), { values: [], isAll: true })
      }
      yield* moveTo(deadline)
      assert.deepStrictEqual(yield* answersTo(challenge), {
        values: [
          { ...emptyAnswer, direction: "neutral", confidence: 0.75 },
          { ...emptyAnswer, direction: "bearish", confidence: 0.5 }
        ],
        isAll: true
      })
      assert.deepStrictEqual((yield* answersTo(macro)).values, [
        { ...emptyAnswer, predicted_value: 3.05, predicted_std: 0.2 }
      ])
      for (const id of ["nothing", "0190f000-0000-7000-8000-000000000000"]) {
        assert.deepStrictEqual((yield* answersTo({ id })).values, [])
      }
    })
  )

  it.effect("A chart has at most 400 answers, and says so when there are more", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      yield* manyAgents(401)
      const challenge = yield* newChallenge({ deadline: plus(now, "1 hour") })
      yield* predictionsOn(challenge.id, { from: 0, to: 399 }, now)
      yield* moveTo(plus(now, "1 hour"))
      const all = yield* answersTo(challenge)
      assert.lengthOf(all.values, 400)
      assert.isTrue(all.isAll)

      const larger = yield* newChallenge({ deadline: plus(now, "2 hours") })
      yield* predictionsOn(larger.id, { from: 0, to: 400 }, plus(now, "1 hour"))
      yield* moveTo(plus(now, "2 hours"))
      const some = yield* answersTo(larger)
      assert.lengthOf(some.values, 400)
      assert.isFalse(some.isAll)
    })
  )
})

const recordOf = (id: string) => Charts.use((charts) => charts.trackRecord(id))

layer(testServices())("An agent's record", (it) => {
  it.effect("An agent's record has its scores by the day of settlement, and its answers by confidence", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const ada = yield* claimedAgent("Ada")
      // Right with 0.5 and 0.9, wrong with 0.5, and one that is not settled.
      for (const [day, confidence, price] of [
        [0, 0.5, 110],
        [0, 0.9, 110],
        [1, 0.5, 90]
      ] as const) {
        const deadline = plus(monday, { days: day, hours: 1 + confidence * 10 })
        yield* moveTo(plus(monday, { days: day }))
        const challenge = yield* newChallenge({ deadline })
        yield* predict(ada, challenge, { direction: "bearish", confidence: 0.1 })
        yield* predict(ada, challenge, { confidence, is_revision: true })
        yield* moveTo(deadline)
        yield* importQuotes("GC", [[deadline, price]])
        yield* settleDue
      }
      const open = yield* newChallenge({ deadline: plus(monday, "6 days") })
      yield* predict(ada, open, { confidence: 1 })

      const day = (days: number) => DateTime.formatIsoDateUtc(plus(monday, { days }))
      assert.deepStrictEqual(yield* recordOf(ada), {
        days: [
          { day: day(0), count: 2, mean_score: 85 },
          { day: day(1), count: 1, mean_score: 25 }
        ],
        confidence: [
          { tenth: 7, count: 2, right: 1, mean_probability: 0.75 },
          { tenth: 9, count: 1, right: 1, mean_probability: 0.95 }
        ],
        isAll: true
      })
    })
  )

  it.effect("An agent's record skips unsettled predictions, however many were made since", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const ada = yield* claimedAgent("Ada")
      const deadline = plus(monday, "1 hour")
      const settled = yield* newChallenge({ deadline })
      yield* predict(ada, settled)
      const open = yield* Effect.replicateEffect(newChallenge({ deadline: plus(monday, "6 days") }), 301, {
        concurrency: 8
      })
      yield* Effect.forEach(open, (challenge) => predict(ada, challenge), { concurrency: 8, discard: true })
      yield* moveTo(deadline)
      yield* importQuotes("GC", [[deadline, 110]])
      yield* settleDue
      const { days, isAll } = yield* recordOf(ada)
      assert.deepStrictEqual(
        days.map(({ count }) => count),
        [1]
      )
      assert.isTrue(isAll)
    })
  )

  it.effect("An agent's record covers the newest 3 000 submissions, and says when there are more", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const monday = yield* freshWeek
      const ada = yield* claimedAgent("Ada")
      const deadline = plus(monday, "1 hour")
      const settled = yield* newChallenge({ deadline })
      const open = yield* newChallenge({ deadline: plus(monday, "6 days") })
      yield* predict(ada, settled)
      yield* predict(ada, open)
      const revised = (from: number, to: number) => sql`
        insert into predictions
          (challenge_id, agent_id, revision, id, direction, confidence, received_at, deadline, salt, body, commit)
        select challenge_id, agent_id, n, uuidv7(), direction, confidence, received_at, deadline, salt, body, commit
          from predictions cross join generate_series(${from}::int, ${to}::int) as n
         where challenge_id = ${open.id}::uuid and revision = 0`
      yield* moveTo(deadline)
      yield* importQuotes("GC", [[deadline, 110]])
      yield* settleDue
      // The first answer to the open challenge makes 2 999 that are newer than the settled one.
      yield* revised(1, 2998)
      const last = yield* recordOf(ada)
      assert.deepStrictEqual(
        last.days.map(({ count }) => count),
        [1]
      )
      assert.isTrue(last.isAll)
      yield* revised(2999, 2999)
      assert.deepStrictEqual(yield* recordOf(ada), { days: [], confidence: [], isAll: false })
    })
  )

  it.effect("An amended challenge has its current score in the record, on the day it was first settled", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const deadline = plus(monday, "1 hour")
      const ada = yield* claimedAgent("Ada")
      const challenge = yield* newChallenge({ deadline })
      yield* predict(ada, challenge)
      yield* moveTo(deadline)
      yield* importQuotes("GC", [[deadline, 110]])
      yield* settleDue
      yield* moveTo(plus(monday, "3 days"))
      yield* Amendments.use((amendments) =>
        amendments.amend(challenge.id, { close_price: 90, reason: "A wrong quote." })
      )
      const { days } = yield* recordOf(ada)
      assert.deepStrictEqual(days, [{ day: DateTime.formatIsoDateUtc(monday), count: 1, mean_score: 25 }])
    })
  )

  it.effect("A record of numeric forecasts has no confidences, and one without predictions is empty", () =>
    Effect.gen(function* () {
      const deadline = plus(yield* freshWeek, "1 hour")
      const [ada, newcomer] = [yield* claimedAgent("Ada"), yield* claimedAgent("Newcomer")]
      const macro = yield* newMacro({ deadline })
      yield* forecast(ada, macro)
      assert.deepStrictEqual(yield* recordOf(ada), { days: [], confidence: [], isAll: true })
      for (const id of [newcomer, "nothing", "0190f000-0000-7000-8000-000000000000"]) {
        assert.deepStrictEqual((yield* recordOf(id)).days, [])
      }
    })
  )
})
