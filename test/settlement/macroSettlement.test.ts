/** Macro challenges: settlement, void, and the scores that are kept. */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { crps, crpsScore } from "../../src/scoring/crps.ts"
import { Audit } from "../../src/services/Audit.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import { claimedAgent } from "../support/agents.ts"
import {
  forecast,
  freshWeek,
  importQuotes,
  millisBefore,
  moveTo,
  newChallenge,
  newMacro,
  plus,
  predict,
  resultsOf,
  settleDue
} from "../support/challenges.ts"
import { firstPage } from "../support/paging.ts"
import { audited } from "../support/loggedFixture.ts"
import { telemetryRecorder, TelemetryRecorder } from "../support/telemetryRecorder.ts"
import { testServices } from "../support/services.ts"

const resolve = (challenge: { readonly id: string }, value: number) =>
  Scoring.use((scoring) => scoring.resolveMacro(challenge.id, value))

layer(testServices())("The settlement of a macro challenge", (it) => {
  it.effect("A macro settlement scores every forecast by CRPS on the frozen scale", () =>
    Effect.gen(function* () {
      const deadline = plus(yield* freshWeek, "1 hour")
      const challenge = yield* newMacro({ deadline })
      const sent = [
        [3.1, 0.1],
        [3.1, 0.05],
        [3.2, 0.02],
        [3.9, 0.01],
        [3.2, 2.3e-308],
        [-1e15, 1e11]
      ] as const
      for (const [predicted_value, predicted_std] of sent) {
        yield* forecast(yield* claimedAgent(), challenge, { predicted_value, predicted_std })
      }
      yield* moveTo(deadline)
      yield* resolve(challenge, 3.2)
      const { bin, predictions, reference_scale } = yield* resultsOf(challenge)
      assert.deepStrictEqual([bin, reference_scale, predictions.length], [3, 0.12, sent.length])
      for (const { crps: stored, predicted_std, predicted_value, score, skill } of predictions) {
        const value = crps({ mean: predicted_value ?? 0, sd: predicted_std ?? 0 }, 3.2)
        assert.deepStrictEqual({ crps: stored, score, skill }, { crps: value, ...crpsScore(value, 0.12) })
      }
    })
  )

  it.effect("A value on an edge falls into the bin above it, and values beyond into the outer ones", () =>
    Effect.gen(function* () {
      const deadline = plus(yield* freshWeek, "1 hour")
      for (const [value, bin] of [
        [2.9, 0],
        [3, 1],
        [3.0999, 1],
        [3.1, 2],
        [3.2, 3],
        [-1e15, 0],
        [1e15, 3]
      ] as const) {
        const challenge = yield* newMacro({ deadline })
        yield* moveTo(deadline)
        yield* resolve(challenge, value)
        assert.strictEqual((yield* resultsOf(challenge)).bin, bin, `${value}`)
        yield* moveTo(plus(deadline, "-1 hour"))
      }
    })
  )

  it.effect("A macro settlement does not take a value that looks mistyped, unless it is confirmed", () =>
    Effect.gen(function* () {
      const deadline = plus(yield* freshWeek, "1 hour")
      const scoring = yield* Scoring
      const challenge = yield* newMacro({ deadline, decimal_step: 0.1 })
      const empty = yield* newMacro({ deadline, decimal_step: 0.1 })
      yield* forecast(yield* claimedAgent(), challenge)
      yield* moveTo(deadline)
      // Edges at 3.0, 3.1 and 3.2, and a reference scale of 0.12.
      for (const value of [3.15, 31, -9.1, 15.3]) {
        const rejected = yield* Effect.flip(resolve(challenge, value))
        assert(rejected._tag === "InvalidRequest")
        assert.strictEqual(rejected.errors[0]?.path, "actual_value")
      }
      // Nothing depends on a challenge without forecasts.
      assert.strictEqual((yield* resolve(empty, 327.15)).status, "resolved")
      const confirmed = yield* scoring.resolveMacro(challenge.id, 31, { confirm: true })
      assert.strictEqual(confirmed.actual_value, 31)
      assert.strictEqual((yield* resolve(challenge, 31)).actual_value, 31)
      assert.strictEqual((yield* Effect.flip(resolve(challenge, 3.15))).code, "challenge_state")
    })
  )

  it.effect("A resolved challenge takes its value again, and one that is void takes none", () =>
    Effect.gen(function* () {
      const deadline = plus(yield* freshWeek, "1 hour")
      const [one, other] = [yield* newMacro({ deadline }), yield* newMacro({ deadline })]
      yield* moveTo(deadline)
      yield* resolve(one, 3.2)
      assert.strictEqual((yield* resolve(one, 3.2)).actual_value, 3.2)
      assert.strictEqual((yield* Effect.flip(resolve(one, 3.3))).code, "challenge_state")
      // The wait is over, though no job has run.
      yield* moveTo(plus(deadline, "60 days"))
      assert.strictEqual((yield* Effect.flip(resolve(other, 3.2))).code, "challenge_state")
      assert.strictEqual((yield* resultsOf(other)).status, "void")
    })
  )

  it.effect("An older challenge is scored by the spread of its bins, and left out of calibration", () =>
    Effect.gen(function* () {
      const deadline = plus(yield* freshWeek, "1 hour")
      const scoring = yield* Scoring
      const before = yield* Scoring.use((scoring) => scoring.calibration)
      const older = { deadline, reference_scale: null }
      assert.strictEqual(
        (yield* Effect.flip(newMacro({ ...older, bin_edges: [3] }))).errors[0]?.path,
        "bin_edges"
      )
      const challenge = yield* newMacro({ ...older, bin_edges: [2.8, 3, 3.2] })
      assert.isNull(challenge.reference_scale)
      const agent = yield* claimedAgent()
      yield* forecast(agent, challenge)
      yield* moveTo(deadline)
      yield* scoring.resolveMacro(challenge.id, 3.1)
      const shown = yield* resultsOf(challenge)
      assert.strictEqual(shown.reference_scale, 0.1)
      const value = crps({ mean: 3.1, sd: 0.1 }, 3.1)
      assert.strictEqual(shown.predictions[0]?.score, crpsScore(value, 0.1).score)
      assert.deepStrictEqual(yield* Scoring.use((scoring) => scoring.calibration), before)
    })
  )

  it.effect("A macro settlement counts for the board of economics, with mean_skill, without accuracy", () =>
    Effect.gen(function* () {
      const scoring = yield* Scoring
      const deadline = plus(yield* freshWeek, "1 hour")
      const agent = yield* claimedAgent("both arenas")
      const challenge = yield* newMacro({ deadline })
      const gold = yield* newChallenge({ deadline })
      yield* forecast(agent, challenge)
      yield* predict(agent, gold, { confidence: 1 })
      yield* moveTo(deadline)
      yield* resolve(challenge, 3.2)
      yield* importQuotes("GC", [[deadline, 102]])
      yield* settleDue
      const { score, skill } = crpsScore(crps({ mean: 3.1, sd: 0.1 }, 3.2), 0.12)
      const economics = (yield* scoring.leaderboard({ category: "economics" }, firstPage)).items.find(
        ({ agent_id }) => agent_id === agent
      )
      assert.deepInclude(economics, {
        avg_score: score,
        accuracy_rate: null,
        correct_count: 0,
        prediction_count: 1,
        brier_index: null,
        mean_skill: skill
      })
      const card = yield* scoring.scorecard(agent, firstPage)
      assert.deepInclude(card.overall, {
        accuracy_rate: 1,
        prediction_count: 2,
        brier_index: 100,
        mean_skill: skill
      })
      assert.closeTo(card.overall.avg_score ?? 0, (100 + score) / 2, 1e-12)
      const settled = card.predictions.find(({ type }) => type === "macro")
      assert.deepInclude(settled, { predicted_value: 3.1, actual_value: 3.2, result: null, score, skill })
    })
  )

  it.effect("The audits find nothing after the settlements of macro challenges", () => audited)
})

layer(testServices())("Calibration", (it) => {
  it.effect("An agent's calibration tells its share of each interval, from 20 forecasts on", () =>
    Effect.gen(function* () {
      const scoring = yield* Scoring
      const deadline = plus(yield* freshWeek, "1 hour")
      const agent = yield* claimedAgent()
      const other = yield* claimedAgent()
      assert.strictEqual((yield* scoring.calibrationOf(agent)).count, 0)
      for (let n = 0; n < 20; n++) {
        yield* moveTo(millisBefore(deadline, 1000))
        const challenge = yield* newMacro({ deadline })
        yield* forecast(agent, challenge, { predicted_value: 3, predicted_std: 0.06 })
        if (n === 0) yield* forecast(other, challenge, { predicted_value: 3, predicted_std: 0.1 })
        yield* moveTo(deadline)
        // Ten outcomes at z = 0.5, five at -1, five at 3.
        yield* resolve(challenge, [3.03, 3.03, 2.94, 3.18][n % 4] ?? 0)
        if (n === 18) {
          const young = yield* scoring.calibrationOf(agent)
          assert.deepStrictEqual([young.count, young.mean_abs_z, young.coverage[0]?.share], [19, null, null])
        }
      }
      const shown = yield* scoring.calibrationOf(agent)
      assert.deepStrictEqual(
        shown.pit.buckets.map(({ count }) => count),
        [0, 5, 0, 0, 0, 0, 10, 0, 0, 5]
      )
      assert.deepStrictEqual(
        shown.coverage.map(({ level, share }) => [level, share]),
        [
          [0.5, 0.5],
          [0.8, 0.75],
          [0.95, 0.75]
        ]
      )
      assert.closeTo(shown.mean_abs_z ?? 0, (10 * 0.5 + 5 * 1 + 5 * 3) / 20, 1e-9)
      assert.closeTo(shown.sharpness ?? 0, 0.5, 1e-12)
      assert.strictEqual((yield* scoring.calibration).count, 21)
    })
  )

  it.effect("Calibration spreads an outcome that comes in steps over the buckets it covers", () =>
    Effect.gen(function* () {
      const scoring = yield* Scoring
      const deadline = plus(yield* freshWeek, "1 hour")
      const agent = yield* claimedAgent()
      const challenge = yield* newMacro({ deadline, decimal_step: 0.1 })
      yield* forecast(agent, challenge, { predicted_value: 3.1, predicted_std: 0.1 })
      yield* moveTo(deadline)
      yield* resolve(challenge, 3.1)
      const { buckets } = (yield* scoring.calibrationOf(agent)).pit
      // From Phi(-0.5) = 0.3085 to Phi(0.5) = 0.6915.
      const width = 0.38292492254802624
      for (const [index, share] of [
        [3, 0.0914625],
        [4, 0.1],
        [5, 0.1],
        [6, 0.0914625]
      ] as const) {
        assert.closeTo(buckets[index]?.count ?? 0, share / width, 1e-6)
      }
      assert.closeTo(
        buckets.reduce((sum, { count }) => sum + count, 0),
        1,
        1e-12
      )
    })
  )

  it.effect("The calibration of an unknown agent is not found", () =>
    Effect.gen(function* () {
      const scoring = yield* Scoring
      for (const id of ["nobody", "019c6d20-1c00-7e4a-8b1c-5a2f3c4d5e6f"]) {
        assert.strictEqual((yield* Effect.flip(scoring.calibrationOf(id)))._tag, "NotFound")
      }
    })
  )

  it.effect("The audits find nothing after settlements that calibration counts", () => audited)

  it.effect("Calibration changed behind the service's back is found by the check of kept sums", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`update calibration_stats set within_50 = within_50 + 1 where agent_id is null`
      assert.deepStrictEqual((yield* Audit.use(({ verifyStats }) => verifyStats)).differences, [
        "calibration: over all"
      ])
      yield* sql`update calibration_stats set within_50 = within_50 - 1 where agent_id is null`
    })
  )
})

layer(testServices().pipe(Layer.provideMerge(telemetryRecorder)))("Operators of a macro challenge", (it) => {
  it.effect("The server's log has each settlement and each void of a macro challenge once", () =>
    Effect.gen(function* () {
      const deadline = plus(yield* freshWeek, "1 hour")
      const [settled, ended] = [yield* newMacro({ deadline }), yield* newMacro({ deadline })]
      yield* moveTo(deadline)
      yield* resolve(settled, 3.1)
      yield* resolve(settled, 3.1)
      const end = Scoring.use((scoring) => scoring.void("macro", ended.id, "never published"))
      yield* end
      yield* Effect.flip(end)
      const { lines } = yield* TelemetryRecorder
      const about = (message: string, { id }: { readonly id: string }) =>
        lines.filter((line) => line.includes(`"${message}"`) && line.includes(id)).length
      assert.strictEqual(about("a macro challenge was settled", settled), 1)
      assert.strictEqual(about("a macro challenge was voided", ended), 1)
    })
  )
})
