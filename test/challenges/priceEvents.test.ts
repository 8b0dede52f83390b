/** Price-event questions from their creation to their answers, on a real database. */
import { Scoring } from "../../src/services/Scoring.ts"
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Exit } from "effect"
import { Arenas } from "../../src/services/Arenas.ts"
import { Audit } from "../../src/services/Audit.ts"
import type { NewAnswer } from "../../src/services/domain/Answer.ts"
import type { AnyStatus, NewPriceEvent } from "../../src/services/domain/Challenge.ts"
import { Prices } from "../../src/services/Prices.ts"
import { Targets } from "../../src/services/Targets.ts"
import { claimedAgent, provisionalAgent } from "../support/agents.ts"
import {
  answerPriceEvent,
  forecast,
  freshWeek,
  importCandles,
  importQuotes,
  millisBefore,
  moveTo,
  newChallenge,
  submit,
  newMacro,
  newPriceEvent,
  plus,
  predict
} from "../support/challenges.ts"
import { firstPage } from "../support/paging.ts"
import { testServices } from "../support/services.ts"

const results = (challenge: { readonly id: string }) =>
  Arenas.use((arenas) => arenas.results(challenge.id, firstPage))

const pathsOf = (error: {
  readonly errors: ReadonlyArray<{ readonly path: string }>
}): ReadonlyArray<string> => error.errors.map(({ path }) => path)

layer(testServices())("Price-event questions", (it) => {
  it.effect("Questions of each kind have their own terms and texts, and nothing of the others", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const midnight = DateTime.formatIso(plus(monday, "1 day"))
      const threshold = yield* newPriceEvent({ kind: "threshold", level: 2000.5 })
      assert.deepInclude(threshold, {
        asset: "ETH",
        kind: "threshold",
        level: 2000.5,
        status: "open",
        resolve_at: midnight,
        window_from: null,
        reference_scale: null,
        prediction_count: 0,
        result: null,
        actual_value: null,
        void_reason: null
      })
      const barrier = yield* newPriceEvent({ kind: "barrier" })
      assert.deepInclude(barrier, { level: 100, window_from: DateTime.formatIso(monday) })
      const close = yield* newPriceEvent({ kind: "numeric_close" })
      assert.deepInclude(close, { level: null, reference_scale: 10 })
      const count = yield* newPriceEvent({ kind: "count_days" })
      assert.deepInclude(count, { level: null, reference_scale: 10 })
      for (const [made, english, chinese] of [
        [threshold, "at or above 2000.5", "大于或等于 2000.5"],
        [barrier, "touches 100", "触及 100"],
        [close, "with the reference scale 10", "参考尺度为 10"],
        [count, "an equal close is not up", "持平不算"]
      ] as const) {
        assert.include(made.resolution_criteria, english)
        assert.include(made.resolution_criteria_zh, chinese)
        const shown = yield* results(made)
        assert.deepInclude(shown, { type: "price_event", kind: made.kind, level: made.level })
      }
    })
  )

  it.effect("Price-event questions are on crypto assets, also on one paused for other challenges", () =>
    Effect.gen(function* () {
      yield* freshWeek
      assert.isTrue((yield* Targets.use((targets) => targets.get("BTC"))).paused)
      assert.strictEqual((yield* newPriceEvent({ kind: "barrier", asset: "BTC" })).asset, "BTC")
      for (const asset of ["GC", "CPI", "XX"]) {
        const error = yield* Effect.flip(newPriceEvent({ kind: "barrier", asset }))
        assert.deepStrictEqual(pathsOf(error), ["asset"])
      }
    })
  )

  it.effect("A range is asked on every asset with daily closes, and decided by them", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const onGold = newPriceEvent({ kind: "range", asset: "GC", low: 4700.5, high: 4712.25 })
      const unknown = yield* Effect.flip(onGold)
      assert.deepStrictEqual(unknown.errors, [{ path: "asset", message: "No daily closes of GC are known" }])
      const day = (time: DateTime.Utc, close: number) =>
        Prices.use((prices) =>
          prices.import({
            asset: "GC",
            interval: "1d",
            candles: [{ time, open: close, high: close, low: close, close }]
          })
        )
      yield* day(plus(monday, "-3 days"), 4690)
      const question = yield* onGold
      assert.deepInclude(question, { low: 4700.5, high: 4712.25, level: null, reference_scale: null })
      const agent = yield* claimedAgent()
      yield* answerPriceEvent(agent, question)
      yield* moveTo(plus(monday, "1 day"))
      yield* day(monday, 4712.25)
      yield* Scoring.use((scoring) => scoring.settleDue)
      assert.deepStrictEqual((yield* Audit.use((audit) => audit.verifyStats)).differences, [])
      assert.deepInclude(yield* results(question), {
        result: "bullish",
        close_price: 4712.25,
        low: 4700.5,
        high: 4712.25
      })
    })
  )

  it.effect("Price-event questions end where candles do: at midnight, on a Monday, or at any hour", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const refused = [
        { kind: "threshold", resolve_at: plus(monday, "25 hours") },
        { kind: "numeric_close", resolve_at: plus(monday, "23 hours") },
        { kind: "count_days", resolve_at: plus(monday, "8 days") },
        { kind: "count_days", resolve_at: plus(monday, { hours: 169 }) },
        { kind: "barrier", resolve_at: plus(monday, "90 minutes") }
      ] as const
      for (const terms of refused) {
        assert.deepStrictEqual(pathsOf(yield* Effect.flip(newPriceEvent(terms))), ["resolve_at"])
      }
      yield* newPriceEvent({ kind: "barrier", resolve_at: plus(monday, "25 hours") })
    })
  )

  it.effect("A question takes a level or a scale, by its kind, and every misfit field is named", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const make = (terms: Omit<NewPriceEvent, "asset" | "deadline">) =>
        Arenas.use((arenas) =>
          arenas.create("price_event", { asset: "ETH", deadline: plus(monday, "1 hour"), ...terms })
        )
      const resolve_at = plus(monday, "7 days")
      const window_from = plus(monday, "1 hour")
      for (const [terms, paths] of [
        [{ kind: "barrier", resolve_at }, ["level"]],
        [
          { kind: "threshold", resolve_at, reference_scale: 1, window_from },
          ["level", "reference_scale", "window_from"]
        ],
        [{ kind: "numeric_close", resolve_at, level: 1, reference_scale: 1 }, ["level"]],
        [{ kind: "range", resolve_at, level: 1 }, ["level", "low", "high"]],
        [{ kind: "range", resolve_at, low: 2 }, ["high"]],
        [{ kind: "range", resolve_at, low: 2, high: 2 }, ["high"]],
        [{ kind: "range", resolve_at, low: 0.1, high: 0.1 + 2 ** -56 }, ["high"]],
        [{ kind: "range", resolve_at, low: 1, high: 2, reference_scale: 1 }, ["reference_scale"]],
        [{ kind: "threshold", resolve_at, level: 1, low: 1 }, ["low"]],
        [{ kind: "count_days", resolve_at: window_from, level: 1 }, ["level", "resolve_at"]],
        [{ kind: "barrier", resolve_at, level: 1, window_from: resolve_at }, ["window_from"]],
        [{ kind: "barrier", resolve_at, level: 1, window_from: plus(monday, "1 minute") }, ["window_from"]]
      ] as const) {
        assert.deepStrictEqual(pathsOf(yield* Effect.flip(make(terms))), paths)
      }
    })
  )

  it.effect("A question may be about a past window: a barrier's is then the last seven days of it", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const past = plus(monday, "-30 days")
      const barrier = yield* newPriceEvent({ kind: "barrier", resolve_at: past })
      assert.strictEqual(barrier.window_from, DateTime.formatIso(plus(past, "-7 days")))
      const given = yield* newPriceEvent({
        kind: "barrier",
        resolve_at: past,
        window_from: plus(past, "-1 hour")
      })
      assert.strictEqual(given.window_from, DateTime.formatIso(plus(past, "-1 hour")))
      assert.strictEqual(given.status, "open")
      yield* moveTo(plus(monday, "1 minute"))
      const later = yield* newPriceEvent({ kind: "barrier", resolve_at: plus(monday, "1 day") })
      assert.strictEqual(later.window_from, DateTime.formatIso(plus(monday, "1 hour")))
    })
  )

  it.effect("A barrier needs a whole hour that is still to come, unless its window is given or past", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      yield* moveTo(plus(monday, "90 minutes"))
      const end = plus(monday, "2 hours")
      // A part of the current hour is known.
      const error = yield* Effect.flip(newPriceEvent({ kind: "barrier", resolve_at: end }))
      assert.deepStrictEqual(pathsOf(error), ["resolve_at"])
      const given = yield* newPriceEvent({
        kind: "barrier",
        resolve_at: end,
        window_from: plus(monday, "1 hour")
      })
      assert.strictEqual(given.window_from, DateTime.formatIso(plus(monday, "1 hour")))
      yield* moveTo(end)
      const past = yield* newPriceEvent({ kind: "barrier", resolve_at: end })
      assert.strictEqual(past.window_from, DateTime.formatIso(plus(end, "-7 days")))
    })
  )

  it.effect("A question looks at 100 000 hours at most", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const longest = plus(monday, { hours: 100_000 })
      const beyond = plus(longest, "1 hour")
      const ahead = yield* Effect.flip(newPriceEvent({ kind: "barrier", resolve_at: beyond }))
      assert.deepStrictEqual(pathsOf(ahead), ["resolve_at"])
      const past = yield* Effect.flip(
        newPriceEvent({ kind: "barrier", window_from: DateTime.makeUnsafe(0), resolve_at: longest })
      )
      assert.deepStrictEqual(pathsOf(past), ["window_from"])
      yield* newPriceEvent({ kind: "barrier", resolve_at: longest })
    })
  )

  it.effect("A question without a scale gets that of the last 60 daily returns, if they are known", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const resolve_at = plus(monday, "4 days")
      const unscaled = (asset: string, until = resolve_at) =>
        Arenas.use((arenas) =>
          arenas.create("price_event", {
            kind: "numeric_close",
            asset,
            deadline: plus(monday, "1 hour"),
            resolve_at: until
          })
        )
      const close = (daysAgo: number) =>
        [plus(monday, { hours: -1 - 24 * daysAgo }), daysAgo % 2 ? 100 : 110] as const
      const closes = Array.from({ length: 61 }, (_, daysAgo) => close(daysAgo))
      yield* importCandles("ETH", "1h", closes.slice(0, 60))
      const error = yield* Effect.flip(unscaled("ETH"))
      assert.deepStrictEqual(pathsOf(error), ["reference_scale"])
      assert.include(error.detail, "of which 60 are known")
      yield* importCandles("ETH", "1h", closes.slice(60))
      const daily = Math.log(1.1) * Math.sqrt(60 / 59)
      const sixDigits = (scale: number) => Number(scale.toPrecision(6))
      assert.strictEqual((yield* unscaled("ETH")).reference_scale, sixDigits(110 * daily * 2))
      // The open price is the latest known one.
      yield* importQuotes("ETH", [[monday, 220]])
      assert.strictEqual((yield* unscaled("ETH")).reference_scale, sixDigits(220 * daily * 2))
      // A question about a past day takes the price a day before: the close of the day that ended at midnight, 110.
      yield* moveTo(plus(monday, "30 days"))
      const past = yield* unscaled("ETH", plus(monday, "1 day"))
      assert.strictEqual(past.reference_scale, sixDigits(110 * daily))
      assert.deepStrictEqual(pathsOf(yield* Effect.flip(unscaled("BTC"))), ["reference_scale"])
      const count = yield* Arenas.use((arenas) =>
        arenas.create("price_event", {
          kind: "count_days",
          asset: "BTC",
          deadline: resolve_at,
          resolve_at: plus(monday, "35 days")
        })
      )
      assert.strictEqual(count.reference_scale, 1.32288)
    })
  )

  it.effect("Price-event questions are listed by status, newest first, and are in no other arena", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const arenas = yield* Arenas
      const scoring = yield* Scoring
      const agent = yield* claimedAgent()
      const directional = yield* newChallenge()
      const macro = yield* newMacro()
      const [one, other] = [
        yield* newPriceEvent({ kind: "threshold" }),
        yield* newPriceEvent({ kind: "barrier", deadline: plus(monday, "2 hours") })
      ]
      const ids = (status: AnyStatus | undefined) =>
        Effect.map(arenas.list("price_event", { status }, firstPage), ({ items }) =>
          items.map(({ id }) => id).filter((id) => id === one.id || id === other.id)
        )
      assert.deepStrictEqual(yield* ids("open"), [other.id, one.id])
      yield* moveTo(plus(monday, "1 hour"))
      assert.deepStrictEqual(yield* ids("open"), [other.id])
      assert.deepStrictEqual(yield* ids("closed"), [one.id])
      yield* moveTo(plus(monday, "3 hours"))
      yield* scoring.void("price_event", one.id, "a mistake")
      assert.deepStrictEqual([yield* ids("void"), yield* ids("closed")], [[one.id], [other.id]])
      assert.deepStrictEqual(yield* ids(undefined), [other.id, one.id])
      const page = yield* arenas.list("price_event", {}, { limit: 1, cursor: undefined })
      const next = yield* arenas.list("price_event", {}, { limit: 1, cursor: page.next_cursor ?? undefined })
      assert.deepStrictEqual([page.items[0]?.id, next.items[0]?.id], [other.id, one.id])
      for (const refused of [
        yield* Effect.flip(Arenas.use((arenas) => arenas.getOf("directional", one.id))),
        yield* Effect.flip(predict(agent, one)),
        yield* Effect.flip(forecast(agent, one)),
        yield* Effect.flip(arenas.getOf("price_event", directional.id)),
        yield* Effect.flip(scoring.void("price_event", macro.id, "no")),
        yield* Effect.flip(answerPriceEvent(agent, { ...one, id: macro.id })),
        yield* Effect.flip(answerPriceEvent(agent, { ...one, id: "nothing" }))
      ]) {
        assert.strictEqual(refused._tag, "NotFound")
      }
    })
  )
})

layer(testServices())("An answer to a price event", (it) => {
  it.effect("An answer of yes or no is changed with is_revision, and is a duplicate without it", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const challenge = yield* newPriceEvent({ kind: "threshold" })
      const agent = yield* claimedAgent()
      const first = yield* answerPriceEvent(agent, challenge, { confidence: 0.7, reasoning: "Flows." })
      assert.deepInclude(first, { replaced: false })
      assert.deepInclude(first.answer, {
        direction: "bullish",
        confidence: 0.7,
        predicted_value: null,
        predicted_std: null,
        revision_count: 0
      })
      assert.strictEqual(
        (yield* Effect.flip(answerPriceEvent(agent, challenge))).code,
        "duplicate_prediction"
      )
      const revised = yield* answerPriceEvent(agent, challenge, {
        direction: "bearish",
        confidence: 0.2,
        is_revision: true
      })
      assert.deepStrictEqual([revised.replaced, revised.answer.revision_count], [true, 1])
      assert.strictEqual(
        revised.answer.receipt?.body,
        `{"agent_id":"${agent}","challenge_id":"${challenge.id}","kind":"price_event","reasoning_sha256":null,` +
          `"received_at":"${DateTime.formatIso(now)}","revision":1,"values":{"confidence":0.2,"direction":"bearish"}}`
      )
      assert.strictEqual(
        (yield* Arenas.use((arenas) => arenas.getOf("price_event", challenge.id))).prediction_count,
        1
      )
      // A revision without an earlier prediction is taken as the first one.
      const other = yield* answerPriceEvent(yield* claimedAgent(), challenge, { is_revision: true })
      assert.deepStrictEqual([other.replaced, other.answer.revision_count], [false, 0])
      assert.deepStrictEqual((yield* results(challenge)).predictions, [])
    })
  )

  it.effect("An answer in numbers is replaced by the next one, and its revision number goes up", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const challenge = yield* newPriceEvent({ kind: "numeric_close" })
      const agent = yield* claimedAgent()
      const sent = [
        yield* answerPriceEvent(agent, challenge),
        yield* answerPriceEvent(agent, challenge, { predicted_value: 110 }),
        yield* answerPriceEvent(agent, challenge, { predicted_value: 120, is_revision: true })
      ]
      assert.deepStrictEqual(
        sent.map(({ answer: { revision_count }, replaced }) => [revision_count, replaced]),
        [
          [0, false],
          [1, true],
          [2, true]
        ]
      )
      assert.deepInclude(sent[2]?.answer, { direction: null, confidence: null, predicted_value: 120 })
      assert.strictEqual(
        (yield* Arenas.use((arenas) => arenas.getOf("price_event", challenge.id))).prediction_count,
        1
      )
      const own = yield* Arenas.use((arenas) => arenas.ownPredictions(agent, firstPage))
      assert.deepInclude(own.items[0], { type: "price_event", predicted_value: 120, revision_count: 2 })
    })
  )

  it.effect("An answer has the form of its kind: a missing member is named, and others are ignored", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const agent = yield* claimedAgent()
      const [barrier, count] = [
        yield* newPriceEvent({ kind: "barrier" }),
        yield* newPriceEvent({ kind: "count_days" })
      ]
      const send = (challenge: { readonly id: string }, prediction: NewAnswer) =>
        Effect.flip(
          submit({
            agentId: agent,
            challengeId: challenge.id,
            type: "price_event",
            answer: prediction,
            receivedAt: now
          })
        )
      for (const [challenge, body, paths] of [
        [barrier, {}, ["direction", "confidence"]],
        [barrier, { direction: "bullish", predicted_value: 1, predicted_std: 1 }, ["confidence"]],
        [count, {}, ["predicted_value", "predicted_std"]],
        [count, { direction: "bullish", confidence: 1, predicted_value: 1 }, ["predicted_std"]],
        [count, { predicted_value: -0.1, predicted_std: 1 }, ["predicted_value"]],
        [count, { predicted_value: 7.1, predicted_std: 1.1e13 }, ["predicted_value", "predicted_std"]]
      ] as const) {
        const error = yield* send(challenge, body)
        assert.deepStrictEqual(error._tag === "InvalidRequest" ? pathsOf(error) : [error._tag], paths)
      }
      yield* answerPriceEvent(agent, barrier, { predicted_value: 1, predicted_std: 1 })
      for (const predicted_value of [0, 7, 3.5]) yield* answerPriceEvent(agent, count, { predicted_value })
    })
  )

  it.effect("An answer to a price event needs the asset's scope", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const targets = yield* Targets
      const agent = yield* claimedAgent()
      const challenge = yield* newPriceEvent({ kind: "threshold", asset: "BTC" })
      const send = submit({
        agentId: agent,
        challengeId: challenge.id,
        answer: { direction: "bullish", confidence: 1 },
        receivedAt: now
      })
      yield* targets.subscribe(agent, "ETH")
      assert.deepInclude(yield* Effect.flip(send), {
        _tag: "ScopeNotSubscribed",
        code: "scope_not_subscribed"
      })
      yield* targets.subscribe(agent, "BTC")
      yield* send
    })
  )

  it.effect("An answer counts before the deadline and is refused from then on, without any job", () =>
    Effect.gen(function* () {
      const deadline = plus(yield* freshWeek, "1 hour")
      const challenge = yield* newPriceEvent({ kind: "barrier", deadline })
      const [early, late] = [yield* claimedAgent(), yield* claimedAgent()]
      yield* answerPriceEvent(early, challenge, {}, millisBefore(deadline, 1))
      assert.strictEqual(
        (yield* Effect.flip(answerPriceEvent(late, challenge, {}, deadline))).code,
        "challenge_closed"
      )
      const revision = { is_revision: true }
      assert.strictEqual(
        (yield* Effect.flip(answerPriceEvent(early, challenge, revision, deadline))).code,
        "challenge_closed"
      )
      yield* moveTo(deadline)
      yield* Scoring.use((scoring) => scoring.void("price_event", challenge.id, "a mistake"))
      const refused = yield* Effect.flip(answerPriceEvent(late, challenge, {}, millisBefore(deadline, 1)))
      assert.strictEqual(refused.code, "challenge_cancelled")
    })
  )

  it.effect("Answers to price events count towards the provisional cap once each, also at once", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const agent = yield* provisionalAgent()
      yield* predict(agent, yield* newChallenge())
      yield* forecast(agent, yield* newMacro())
      const challenges = yield* Effect.forEach(Array.from({ length: 14 }), (_, index) =>
        newPriceEvent({ kind: index % 2 ? "barrier" : "numeric_close" })
      )
      const sent = yield* Effect.forEach(
        challenges,
        (challenge) =>
          Effect.map(Effect.exit(answerPriceEvent(agent, challenge)), (exit) => ({ challenge, exit })),
        { concurrency: 14 }
      )
      const taken = sent.filter(({ exit }) => Exit.isSuccess(exit))
      const refused = sent.filter(({ exit }) => Exit.isFailure(exit))
      assert.deepStrictEqual([taken.length, refused.length], [8, 6])
      for (const { challenge } of taken) {
        assert.isTrue((yield* answerPriceEvent(agent, challenge, { is_revision: true })).replaced)
      }
      for (const { challenge } of refused) {
        assert.strictEqual((yield* Effect.flip(answerPriceEvent(agent, challenge))).code, "provisional_limit")
      }
    })
  )

  it.effect("Concurrent answers of one agent are recorded once each, or refused as duplicates", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const [close, barrier] = [
        yield* newPriceEvent({ kind: "numeric_close" }),
        yield* newPriceEvent({ kind: "barrier" })
      ]
      const agent = yield* claimedAgent()
      const eight = Array.from({ length: 8 }, (_, index) => index)
      const sent = yield* Effect.forEach(
        eight,
        (index) => answerPriceEvent(agent, close, { predicted_value: index }),
        {
          concurrency: 8
        }
      )
      assert.deepStrictEqual(
        sent.map(({ answer: { revision_count } }) => revision_count).sort((a, b) => a - b),
        eight
      )
      const exits = yield* Effect.forEach(eight, () => Effect.exit(answerPriceEvent(agent, barrier)), {
        concurrency: 8
      })
      assert.strictEqual(exits.filter(Exit.isSuccess).length, 1)
    })
  )
})
