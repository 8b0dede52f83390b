/** Macro challenges from their creation to their scores, on a real database. */
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Exit } from "effect"
import { SqlClient } from "effect/sql"
import { Arenas } from "../../src/services/Arenas.ts"
import type { NewMacroChallenge } from "../../src/services/domain/Challenge.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import { claimedAgent, claimedAgents, provisionalAgent } from "../support/agents.ts"
import {
  forecast,
  freshWeek,
  millisBefore,
  moveTo,
  newChallenge,
  newMacro,
  plus,
  predict
} from "../support/challenges.ts"
import { countOf } from "../support/database.ts"
import { firstPage } from "../support/paging.ts"
import { testServices } from "../support/services.ts"

const results = (challenge: { readonly id: string }) =>
  Arenas.use((arenas) => arenas.results(challenge.id, firstPage))

const resolve = (challenge: { readonly id: string }, value: number) =>
  Scoring.use((scoring) => scoring.resolveMacro(challenge.id, value))

const settleDue = Scoring.use((scoring) => scoring.settleDue)

layer(testServices())("Macro challenges", (it) => {
  it.effect("Macro challenges are created on every macro series, FOMC among them, and on nothing else", () =>
    Effect.gen(function* () {
      yield* freshWeek
      for (const asset of ["CPI", "CORE_CPI", "PPI", "NFP", "UNRATE", "PCE", "GDP", "FOMC"]) {
        assert.strictEqual((yield* newMacro({ asset })).asset, asset)
      }
      for (const asset of ["GC", "BTC", "XX"]) {
        const error = yield* Effect.flip(newMacro({ asset }))
        assert.strictEqual(error.errors[0]?.path, "asset")
      }
    })
  )

  it.effect("A macro challenge shows its bins, whose first low and last high are open", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const challenge = yield* newMacro({ bin_edges: [-0.5, 0.1], reward_pool: 1000.000001, unit: "%" })
      assert.deepStrictEqual(challenge.bins, [
        { index: 0, low: null, high: -0.5 },
        { index: 1, low: -0.5, high: 0.1 },
        { index: 2, low: 0.1, high: null }
      ])
      assert.deepInclude(challenge, {
        status: "open",
        reward_pool: 1000.000001,
        reference_scale: 0.12,
        unit: "%",
        release_at: challenge.deadline,
        prediction_count: 0
      })
    })
  )

  it.effect("A macro challenge is not released before its deadline", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const error = yield* Effect.flip(
        newMacro({ deadline: plus(now, "2 hours"), release_at: plus(now, "1 hour") })
      )
      assert.strictEqual(error.errors[0]?.path, "release_at")
    })
  )

  it.effect("A macro challenge is in no other type's list, and no other arena takes it", () =>
    Effect.gen(function* () {
      const arenas = yield* Arenas
      const scoring = yield* Scoring
      const now = yield* freshWeek
      const challenge = yield* newMacro()
      const directional = yield* newChallenge()
      const agent = yield* claimedAgent()
      const listed = yield* arenas.list("macro", { status: "open" }, firstPage)
      assert.isTrue(listed.items.some(({ id }) => id === challenge.id))
      assert.isFalse(listed.items.some(({ id }) => id === directional.id))
      const others = yield* arenas.list("directional", {}, firstPage)
      assert.isFalse(others.items.some(({ id }) => id === challenge.id))
      assert.deepStrictEqual(yield* arenas.list("directional", { asset: "CPI" }, firstPage), {
        items: [],
        next_cursor: null
      })
      for (const refused of [
        yield* Effect.flip(arenas.getOf("directional", challenge.id)),
        yield* Effect.flip(scoring.void("directional", challenge.id, "no")),
        yield* Effect.flip(predict(agent, challenge)),
        yield* Effect.flip(forecast(agent, directional)),
        yield* Effect.flip(arenas.getOf("macro", directional.id)),
        yield* Effect.flip(scoring.resolveMacro(directional.id, 3)),
        yield* Effect.flip(scoring.void("macro", directional.id, "no")),
        yield* Effect.flip(arenas.getOf("macro", "nothing"))
      ]) {
        assert.strictEqual(refused._tag, "NotFound")
      }
      yield* moveTo(plus(now, "1 day"))
      yield* settleDue
      assert.strictEqual((yield* arenas.getOf("macro", challenge.id)).status, "closed")
    })
  )

  it.effect("A scale that puts scores beyond doubles is refused: given, computed, or of bins", () =>
    Effect.gen(function* () {
      const pathsOf = (terms: Partial<NewMacroChallenge>) =>
        Effect.map(Effect.flip(newMacro(terms)), ({ errors }) => errors.map(({ path }) => path))
      for (const far of [1e-300, 5e-324, 3.9e-12]) {
        assert.deepStrictEqual(yield* pathsOf({ reference_scale: null, bin_edges: [0, far] }), ["bin_edges"])
      }
      yield* newMacro({ reference_scale: null, bin_edges: [0, 4e-12] })
      const series = { asset: "GDP", unit: "tiny" }
      for (let quarter = 0; quarter < 25; quarter++) {
        const now = yield* freshWeek
        const challenge = yield* newMacro({ ...series, deadline: plus(now, "1 hour") })
        yield* moveTo(plus(now, "2 hours"))
        yield* resolve(challenge, quarter % 2 === 0 ? 0 : 1e-300)
      }
      const { bin_edges, deadline, period } = {
        bin_edges: [0],
        deadline: plus(yield* freshWeek, "1 hour"),
        period: "next"
      }
      const computed = Arenas.use((arenas) =>
        arenas.create("macro", { ...series, bin_edges, deadline, period, reward_pool: 0 })
      )
      const refused = yield* Effect.flip(computed)
      assert.deepStrictEqual(
        refused.errors.map(({ path }) => path),
        ["reference_scale"]
      )
    })
  )

  it.effect("A challenge without a scale waits for 25 prints, and then has the computed scale", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      let now = yield* freshWeek
      const asset = "PPI"
      const { reference_scale: _, ...unscaled } = { reference_scale: 0, unit: "% m/m", asset }
      const without = () =>
        Effect.flatMap(Arenas, (arenas) =>
          arenas.create("macro", {
            ...unscaled,
            period: "next",
            deadline: plus(now, "1 hour"),
            bin_edges: [0],
            reward_pool: 0
          })
        )
      // Surprises of 0.1, -0.2, 0.3 in turn: their median is 0.1, their median absolute deviation 0.2.
      let print = 0
      for (let month = 0; month < 25; month++) {
        assert.strictEqual((yield* Effect.flip(without())).errors[0]?.path, "reference_scale")
        const challenge = yield* newMacro({ ...unscaled, reference_scale: 1, period: `${month}` })
        now = plus(now, "2 hours")
        yield* moveTo(now)
        yield* resolve(challenge, print / 10)
        print += [1, -2, 3][month % 3] ?? 0
      }
      const scaled = yield* without()
      assert.strictEqual(scaled.reference_scale, 0.29652)
      assert.strictEqual(scaled.decimal_step, 0.1)
      assert.include(scaled.resolution_criteria, "reference scale 0.29652")
      // Another unit is another series.
      const other = Effect.flatMap(Arenas, (arenas) =>
        arenas.create("macro", {
          asset,
          period: "next",
          deadline: plus(now, "1 hour"),
          bin_edges: [0],
          reward_pool: 0
        })
      )
      assert.strictEqual((yield* Effect.flip(other)).errors[0]?.path, "reference_scale")
      assert.strictEqual(
        yield* countOf(
          () =>
            sql`select count(*)::int as count from challenges where target = ${asset} and unit is not null`
        ),
        26
      )
    })
  )
})

layer(testServices())("Macro forecasts", (it) => {
  it.effect("A forecast is replaced by the next one, and the last before the deadline counts", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const challenge = yield* newMacro()
      const agent = yield* claimedAgent()
      const first = yield* forecast(agent, challenge, { rationale: "Rents." })
      assert.deepStrictEqual([first.replaced, first.answer.revision_count], [false, 0])
      const second = yield* forecast(agent, challenge, { predicted_value: 3.2, predicted_std: 0.05 })
      assert.deepStrictEqual([second.replaced, second.answer.revision_count], [true, 1])
      assert.strictEqual(
        second.answer.receipt?.body,
        `{"agent_id":"${agent}","challenge_id":"${challenge.id}","kind":"macro","reasoning_sha256":null,` +
          `"received_at":"${DateTime.formatIso(now)}","revision":1,"values":{"predicted_std":0.05,"predicted_value":3.2}}`
      )
      assert.strictEqual(
        (yield* Arenas.use((arenas) => arenas.getOf("macro", challenge.id))).prediction_count,
        1
      )
      assert.deepStrictEqual((yield* results(challenge)).predictions, [])
      const own = yield* Arenas.use((arenas) => arenas.ownPredictions(agent, firstPage))
      assert.deepInclude(own.items[0], {
        type: "macro",
        challenge_status: "open",
        direction: null,
        predicted_value: 3.2,
        predicted_std: 0.05,
        revision_count: 1,
        score: null
      })
      yield* moveTo(plus(now, "2 hours"))
      yield* resolve(challenge, 3.2)
      const [shown] = (yield* results(challenge)).predictions
      assert.deepInclude(shown, { predicted_value: 3.2, predicted_std: 0.05, is_correct: null })
    })
  )

  it.effect("A forecast counts strictly before the deadline, and a later one is refused", () =>
    Effect.gen(function* () {
      const deadline = plus(yield* freshWeek, "1 hour")
      const challenge = yield* newMacro({ deadline })
      const [agent, late] = [yield* claimedAgent(), yield* claimedAgent()]
      yield* forecast(agent, challenge, {}, millisBefore(deadline, 1))
      for (const moment of [deadline, plus(deadline, "1 hour")]) {
        assert.strictEqual(
          (yield* Effect.flip(forecast(late, challenge, {}, moment))).code,
          "challenge_closed"
        )
      }
      yield* moveTo(deadline)
      assert.strictEqual((yield* results(challenge)).status, "closed")
      assert.strictEqual((yield* results(challenge)).predictions.length, 1)
    })
  )

  it.effect("A forecast is at most 1e12 reference scales wide, exactly", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const challenge = yield* newMacro()
      const agent = yield* claimedAgent()
      const error = yield* Effect.flip(forecast(agent, challenge, { predicted_std: 120000000000.00002 }))
      assert(error._tag === "InvalidRequest")
      assert.strictEqual(error.errors[0]?.path, "predicted_std")
      assert.isFalse((yield* forecast(agent, challenge, { predicted_std: 120000000000 })).replaced)
    })
  )

  it.effect("A provisional agent's forecasts count towards its cap, and replacements do not", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const agent = yield* provisionalAgent()
      for (let made = 0; made < 5; made++) {
        yield* predict(agent, yield* newChallenge())
        const challenge = yield* newMacro()
        yield* forecast(agent, challenge)
        yield* forecast(agent, challenge)
      }
      for (const refused of [
        yield* Effect.flip(forecast(agent, yield* newMacro({ asset: "FOMC" }))),
        yield* Effect.flip(predict(agent, yield* newChallenge()))
      ]) {
        assert.strictEqual(refused._tag, "ProvisionalLimit")
      }
    })
  )

  it.effect("Concurrent forecasts of a provisional agent never exceed its cap", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const agent = yield* provisionalAgent()
      const challenges = yield* Effect.forEach(Array.from({ length: 16 }), () => newMacro())
      const exits = yield* Effect.forEach(challenges, (each) => Effect.exit(forecast(agent, each)), {
        concurrency: 16
      })
      assert.strictEqual(exits.filter(Exit.isSuccess).length, 10)
    })
  )

  it.effect("Concurrent forecasts of one agent are each recorded once, as one revision after the other", () =>
    Effect.gen(function* () {
      const deadline = plus(yield* freshWeek, "1 hour")
      const challenge = yield* newMacro({ deadline })
      const agent = yield* claimedAgent()
      const sent = yield* Effect.forEach(
        Array.from({ length: 8 }, (_, index) => index),
        (index) => forecast(agent, challenge, { predicted_value: index }),
        { concurrency: 8 }
      )
      assert.deepStrictEqual(
        sent.map(({ answer }) => answer.revision_count).sort((a, b) => a - b),
        [0, 1, 2, 3, 4, 5, 6, 7]
      )
      assert.strictEqual(
        (yield* Arenas.use((arenas) => arenas.getOf("macro", challenge.id))).prediction_count,
        1
      )
    })
  )

  it.effect("A forecast that races the settlement is scored or refused", () =>
    Effect.gen(function* () {
      const deadline = plus(yield* freshWeek, "1 hour")
      const agents = yield* claimedAgents(12)
      const challenge = yield* newMacro({ deadline })
      yield* moveTo(deadline)
      const stamp = millisBefore(deadline, 1)
      const [exits] = yield* Effect.all(
        [
          Effect.forEach(agents, (agent) => Effect.exit(forecast(agent, challenge, {}, stamp)), {
            concurrency: 12
          }),
          Effect.forEach([1, 2, 3], () => resolve(challenge, 3.2), { concurrency: 3 })
        ],
        { concurrency: 2 }
      )
      const { predictions } = yield* results(challenge)
      assert.strictEqual(predictions.length, exits.filter(Exit.isSuccess).length)
      assert.isTrue(predictions.every(({ score }) => score !== null))
    })
  )
})
