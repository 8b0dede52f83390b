/** Settlement through the whole path: the price that closes a challenge, the result, and that it happens once. */
import { assert, layer } from "@effect/vitest"
import { BigDecimal, DateTime, Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { directionalResult, directionalScore } from "../../src/scoring/directional.ts"
import { Audit } from "../../src/services/Audit.ts"
import { Direction } from "../../src/services/domain/Challenge.ts"
import { Prices } from "../../src/services/Prices.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import { Targets } from "../../src/services/Targets.ts"
import { breadth } from "../support/breadth.ts"
import { claimedAgent, claimedAgents } from "../support/agents.ts"
import {
  freshWeek,
  importCandles,
  importQuotes,
  millisBefore,
  moveTo,
  newChallenge,
  plus,
  predict,
  resultsOf,
  settleDue
} from "../support/challenges.ts"
import { firstPage } from "../support/paging.ts"
import { testServices } from "../support/services.ts"
import { asOwner, countOf, rowsOf } from "../support/database.ts"

/** The result, the closing price and its source. */
const closing = (challenge: { readonly id: string }) =>
  Effect.map(resultsOf(challenge), ({ result, close_price, resolution_source }) => [
    result,
    close_price,
    resolution_source
  ])

const statusOf = (challenge: { readonly id: string }) =>
  Effect.map(resultsOf(challenge), ({ status }) => status)

const thrice = Effect.all([settleDue, settleDue, settleDue], { concurrency: "unbounded" })

const tables = ["settlements", "prediction_scores", "agent_stats", "boards", "challenges"]

/** A hash of every row that a settlement writes. */
const fingerprints = Effect.forEach(tables, (table) =>
  rowsOf(
    Schema.Struct({ hash: Schema.NullOr(Schema.String) }),
    (sql) => sql`select md5(string_agg(t::text, '|' order by t::text)) as hash from ${sql(table)} t`
  )
)

layer(testServices())("The result", (it) => {
  it.effect.each([
    ["+0.3 % of 100 exactly", 100, 0.3, 100.3, "neutral"],
    ["-0.3 % of 100 exactly", 100, 0.3, 99.7, "neutral"],
    ["a hair above +0.3 % of 100", 100, 0.3, 100.30000000000001, "bullish"],
    ["a hair below -0.3 % of 100", 100, 0.3, 99.69999999999999, "bearish"],
    ["+1 % of 0.1 exactly", 0.1, 1, 0.101, "neutral"],
    ["-1.2 % of 1234.5 exactly", 1234.5, 1.2, 1219.686, "neutral"],
    ["more than -1.2 % of 1234.5", 1234.5, 1.2, 1219.685, "bearish"],
    ["no move, with a dead zone of 0", 1234.56, 0, 1234.56, "neutral"],
    ["the smallest move, with a dead zone of 0", 1234.56, 0, 1234.57, "bullish"],
    ["a price that fell below zero", 18.27, 0.6, -37.63, "bearish"]
  ] as const)(
    "The result of a directional challenge is exact: %s",
    ([, open_price, dead_zone_pct, close, expected]) =>
      Effect.gen(function* () {
        const now = yield* freshWeek
        const challenge = yield* newChallenge({ asset: "CL", open_price, dead_zone_pct, deadline: now })
        yield* importQuotes("CL", [[now, close]])
        yield* settleDue
        assert.deepStrictEqual(yield* closing(challenge), [expected, close, "admin quote"])
      })
  )

  it.effect("The result takes the live dead zone where the challenge has none, and else its own", () =>
    Effect.gen(function* () {
      const deadline = plus(yield* freshWeek, "1 hour")
      const older = yield* newChallenge({ asset: "NG", dead_zone_pct: null, deadline })
      const frozen = yield* newChallenge({ asset: "NG", dead_zone_pct: 1, deadline })
      yield* Targets.use((targets) => targets.change("NG", { dead_zone_pct: 2.5 }))
      yield* moveTo(deadline)
      yield* importQuotes("NG", [[deadline, 102]])
      yield* settleDue
      assert.strictEqual((yield* resultsOf(older)).result, "neutral")
      assert.strictEqual((yield* resultsOf(older)).dead_zone_pct, 2.5)
      assert.strictEqual((yield* resultsOf(frozen)).result, "bullish")
      // A settlement is final: the configuration of later days changes no result.
      yield* Targets.use((targets) => targets.change("NG", { dead_zone_pct: 0 }))
      yield* settleDue
      assert.strictEqual((yield* resultsOf(older)).result, "neutral")
      assert.strictEqual((yield* resultsOf(older)).dead_zone_pct, 2.5)
    })
  )

  const Bet = Schema.Struct({
    direction: Direction,
    confidence: Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))
  })
  const cents = (minimum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum: 100_000 }))

  it.effect.prop(
    "The result and every score equal the reference exactly for any confidences and prices",
    [
      Schema.Array(Bet).check(Schema.isBetweenLength(1, 6)),
      Schema.Struct({
        open: cents(1),
        move: Schema.Int.check(Schema.isBetween({ minimum: -300, maximum: 300 }))
      }),
      Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 250 }))
    ],
    ([bets, price, deadZone]) =>
      Effect.gen(function* () {
        const deadline = plus(yield* freshWeek, "1 hour")
        const [open, close, zone] = [price.open / 100, (price.open + price.move) / 100, deadZone / 100]
        const challenge = yield* newChallenge({
          asset: "CL",
          open_price: open,
          dead_zone_pct: zone,
          deadline
        })
        const agents = yield* claimedAgents(bets.length)
        for (const [index, agent] of agents.entries()) yield* predict(agent, challenge, bets[index])
        yield* moveTo(deadline)
        yield* importQuotes("CL", [[deadline, close]])
        yield* settleDue
        const result = directionalResult(
          BigDecimal.make(BigInt(price.open), 2),
          BigDecimal.make(BigInt(price.open + price.move), 2),
          BigDecimal.make(BigInt(deadZone), 2)
        )
        assert.strictEqual((yield* resultsOf(challenge)).result, result)
        const stored = yield* rowsOf(
          Schema.Struct({ agent_id: Schema.String, is_correct: Schema.Boolean, score: Schema.String }),
          (sql) => sql`
            select agent_id::text, is_correct, trim_scale(score)::text as score
              from prediction_scores where challenge_id = ${challenge.id}::uuid`
        )
        assert.sameDeepMembers(
          stored.map(({ agent_id, is_correct, score }) => [
            agent_id,
            is_correct,
            BigDecimal.format(BigDecimal.fromStringUnsafe(score))
          ]),
          agents.map((agent, index) => {
            const bet = bets[index]
            assert(bet !== undefined)
            const correct = bet.direction === result
            const confidence = BigDecimal.fromStringUnsafe(String(bet.confidence))
            return [agent, correct, BigDecimal.format(directionalScore(correct, confidence))]
          })
        )
      }),
    { arbitrary: { runs: breadth(10, 30) } }
  )
})

layer(testServices())("The closing price", (it) => {
  const due = Effect.gen(function* () {
    const now = yield* freshWeek
    const resolveAt = plus(now, "2 hours")
    const challenge = yield* newChallenge({ deadline: plus(now, "1 hour"), resolve_at: resolveAt })
    yield* predict(yield* claimedAgent(), challenge)
    return { challenge, resolveAt }
  })

  it.effect("The closing price is the first price observed at or after resolve_at", () =>
    Effect.gen(function* () {
      const { challenge, resolveAt } = yield* due
      yield* importQuotes("GC", [
        [plus(resolveAt, "30 minutes"), 99],
        [plus(resolveAt, "10 minutes"), 102],
        [millisBefore(resolveAt, 1), 50]
      ])
      yield* moveTo(plus(resolveAt, "1 hour"))
      yield* settleDue
      assert.deepStrictEqual(yield* closing(challenge), ["bullish", 102, "admin quote"])
    })
  )

  it.effect("The closing price is given exactly by the hour that ends at resolve_at", () =>
    Effect.gen(function* () {
      const { challenge, resolveAt } = yield* due
      yield* importCandles("GC", "1h", [
        [plus(resolveAt, "-2 hours"), 50],
        [plus(resolveAt, "-1 hours"), 98],
        [resolveAt, 150]
      ])
      yield* moveTo(plus(resolveAt, "3 hours"))
      yield* settleDue
      assert.deepStrictEqual(yield* closing(challenge), ["bearish", 98, "admin 1h candle"])
    })
  )

  it.effect("A quote before the end of the candle that opens at resolve_at is the closing price", () =>
    Effect.gen(function* () {
      const { challenge, resolveAt } = yield* due
      yield* importCandles("GC", "1h", [[resolveAt, 150]])
      yield* importQuotes("GC", [[plus(resolveAt, "59 minutes"), 98]])
      yield* moveTo(plus(resolveAt, "3 hours"))
      yield* settleDue
      assert.deepStrictEqual(yield* closing(challenge), ["bearish", 98, "admin quote"])
    })
  )

  it.effect("The closing price may be that of a day that ends after resolve_at", () =>
    Effect.gen(function* () {
      const { challenge, resolveAt } = yield* due
      yield* importCandles("GC", "1d", [[DateTime.startOf(resolveAt, "day"), 103]])
      yield* moveTo(plus(resolveAt, "1 day"))
      yield* settleDue
      assert.deepStrictEqual(yield* closing(challenge), ["bullish", 103, "admin 1d candle"])
    })
  )

  it.effect("Of several prices at one moment the quote closes, then the hour, then the day", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const midnight = plus(monday, "1 day")
      const make = newChallenge({ deadline: midnight })
      const [byDay, byHour, byQuote] = [yield* make, yield* make, yield* make]
      yield* moveTo(midnight)
      yield* importCandles("GC", "1d", [[monday, 102]])
      yield* settleDue
      assert.strictEqual((yield* resultsOf(byDay)).close_price, 102)
      for (const each of [byHour, byQuote]) assert.strictEqual(yield* statusOf(each), "resolved")
      // The same moment a week later, with all three known.
      const next = yield* newChallenge({ deadline: plus(midnight, "7 days") })
      yield* moveTo(plus(midnight, "7 days"))
      yield* importCandles("GC", "1d", [[plus(monday, "7 days"), 102]])
      yield* importCandles("GC", "1h", [[plus(midnight, "167 hours"), 103]])
      yield* importQuotes("GC", [[plus(midnight, "7 days"), 104]])
      yield* settleDue
      assert.deepStrictEqual(yield* closing(next), ["bullish", 104, "admin quote"])
    })
  )

  it.effect("The closing price may be observed 24 h after resolve_at, and no later", () =>
    Effect.gen(function* () {
      const { challenge, resolveAt } = yield* due
      const last = plus(resolveAt, "24 hours")
      yield* importQuotes("GC", [[plus(last, "1 millis"), 102]])
      yield* moveTo(plus(resolveAt, "2 days"))
      assert.strictEqual((yield* settleDue).waiting, 1)
      assert.strictEqual(yield* statusOf(challenge), "closed")
      yield* importQuotes("GC", [[last, 98]])
      yield* settleDue
      assert.deepStrictEqual(yield* closing(challenge), ["bearish", 98, "admin quote"])
    })
  )

  it.effect("A price whose time has not come closes nothing", () =>
    Effect.gen(function* () {
      const { challenge, resolveAt } = yield* due
      const future = plus(resolveAt, "1 hour")
      yield* importQuotes("GC", [[future, 102]])
      yield* importCandles("GC", "1h", [[resolveAt, 102]])
      yield* moveTo(millisBefore(future, 1))
      yield* settleDue
      assert.strictEqual(yield* statusOf(challenge), "closed")
      yield* moveTo(future)
      yield* settleDue
      assert.strictEqual(yield* statusOf(challenge), "resolved")
    })
  )

  it.effect("The closing price does not depend on when the resolver runs", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const resolveAt = plus(monday, "1 hour")
      const make = newChallenge({ deadline: resolveAt })
      const prompt = yield* make
      yield* importQuotes("GC", [
        [plus(resolveAt, "1 minute"), 102],
        [plus(resolveAt, "2 minutes"), 97],
        [plus(resolveAt, "2 days"), 100]
      ])
      yield* moveTo(plus(resolveAt, "1 minute"))
      yield* settleDue
      const late = yield* make
      yield* moveTo(plus(resolveAt, "5 days"))
      yield* settleDue
      assert.deepStrictEqual(yield* closing(prompt), ["bullish", 102, "admin quote"])
      assert.deepStrictEqual(yield* closing(late), ["bullish", 102, "admin quote"])
    })
  )

  it.effect(
    "A price in quarantine closes nothing until accepted, and a corrected price settles nothing",
    () =>
      Effect.gen(function* () {
        const prices = yield* Prices
        const { challenge, resolveAt } = yield* due
        yield* importQuotes("GC", [[resolveAt, 102]])
        const { quarantined } = yield* importQuotes("GC", [[resolveAt, 98]])
        yield* moveTo(resolveAt)
        yield* settleDue
        assert.deepStrictEqual(yield* closing(challenge), ["bullish", 102, "admin quote"])
        const before = yield* fingerprints
        const [aside] = quarantined
        assert(aside !== undefined)
        yield* prices.decide(aside.id, { accept: true, reason: "A typing error." })
        yield* settleDue
        assert.deepStrictEqual(yield* fingerprints, before)
        // Later settlements take the accepted value.
        const next = yield* newChallenge({ deadline: resolveAt })
        yield* settleDue
        assert.deepStrictEqual(yield* closing(next), ["bearish", 98, "admin quote"])
      })
  )
})

layer(testServices())("Settling", (it) => {
  it.effect("A challenge that cannot be settled stops no other, and settles once it can", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const deadline = plus(yield* freshWeek, "1 hour")
      const stuck = yield* newChallenge({ deadline })
      const other = yield* newChallenge({ deadline })
      yield* asOwner(sql`
        create function reject_settlement() returns trigger language plpgsql as $$
        begin
          raise exception 'refused by a test';
        end
        $$`)
      yield* asOwner(sql`
        create trigger reject_settlement before insert on settlements
          for each row when (new.challenge_id = ${sql.literal(`'${stuck.id}'`)}) execute function reject_settlement()`)
      yield* moveTo(deadline)
      yield* importQuotes("GC", [[deadline, 102]])
      const report = yield* settleDue
      assert.deepStrictEqual([report.resolved, report.failed], [[other.id], [stuck.id]])
      yield* asOwner(sql`drop trigger reject_settlement on settlements`)
      assert.deepStrictEqual((yield* settleDue).resolved, [stuck.id])
    })
  )

  it.effect("Three resolvers at once settle each challenge once", () =>
    Effect.gen(function* () {
      const deadline = plus(yield* freshWeek, "1 hour")
      const agents = yield* claimedAgents(6)
      const challenges = yield* Effect.replicateEffect(newChallenge({ deadline }), 8)
      for (const challenge of challenges) {
        for (const agent of agents) yield* predict(agent, challenge)
      }
      yield* moveTo(deadline)
      yield* importQuotes("GC", [[deadline, 102]])
      const reports = yield* thrice
      assert.sameMembers(
        reports.flatMap((report) => report.resolved),
        challenges.map((challenge) => challenge.id)
      )
      assert.strictEqual(reports.reduce((sum, report) => sum + report.closed, 0) <= challenges.length, true)
      const before = yield* fingerprints
      yield* thrice
      assert.deepStrictEqual(yield* fingerprints, before)
      assert.strictEqual(
        yield* countOf(
          (sql) => sql`
            select count(*)::int as count from prediction_scores s
              join challenges c on c.id = s.challenge_id where c.deadline = ${DateTime.toDateUtc(deadline)}`
        ),
        48
      )
      const card = yield* Scoring.use((scoring) => scoring.scorecard(agents[0] ?? "none", firstPage))
      assert.deepStrictEqual([card.overall.prediction_count, card.overall.avg_score], [8, 75])
      assert.deepStrictEqual((yield* Audit.use(({ verifyStats }) => verifyStats)).differences, [])
    })
  )

  it.effect("A settlement reaches all due challenges, more than one query takes", () =>
    Effect.gen(function* () {
      const deadline = plus(yield* freshWeek, "1 hour")
      yield* Effect.replicateEffect(newChallenge({ deadline }), 205, { concurrency: 8 })
      const unpriced = yield* newChallenge({ asset: "ETH", deadline })
      yield* moveTo(deadline)
      yield* importQuotes("GC", [[deadline, 102]])
      const report = yield* settleDue
      assert.strictEqual(report.resolved.length, 205)
      assert.strictEqual(report.waiting, 1)
      assert.strictEqual(yield* statusOf(unpriced), "closed")
    })
  )
})
