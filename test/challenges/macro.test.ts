/** Macro challenges from their creation to their scores, on a real database. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Arenas } from "../../src/services/Arenas.ts"
import type { NewMacroChallenge } from "../../src/services/domain/Challenge.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import { claimedAgent } from "../support/agents.ts"
import { forecast, freshWeek, moveTo, newMacro, plus } from "../support/challenges.ts"
import { countOf } from "../support/database.ts"
import { testServices } from "../support/services.ts"

const resolve = (challenge: { readonly id: string }, value: number) =>
  Scoring.use((scoring) => scoring.resolveMacro(challenge.id, value))

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
})
