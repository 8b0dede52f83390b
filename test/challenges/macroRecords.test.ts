/** What the database itself refuses of macro challenges and forecasts: rows of no form, of two, or that cannot be true. */
import { Scoring } from "../../src/services/Scoring.ts"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { claimedAgent, forecast, freshWeek, moveTo, newMacro, plus } from "../support/builders.ts"
import { copied, refusal } from "../support/errors.ts"
import { testServices } from "../support/services.ts"

/** A settled challenge with a forecast. */
const settled = Effect.gen(function* () {
  const deadline = plus(yield* freshWeek, "1 hour")
  const challenge = yield* newMacro({ deadline })
  yield* forecast(yield* claimedAgent(), challenge)
  yield* moveTo(deadline)
  return yield* Scoring.use((scoring) => scoring.resolveMacro(challenge.id, 3.2))
})

const id = { id: "gen_random_uuid()" }

layer(testServices())("a macro challenge in the database", (it) => {
  it.effect.each([
    ["has a period", { period: "null" }, "challenges_terms"],
    ["has bins", { bin_edges: "null" }, "challenges_terms"],
    ["has a reward pool", { reward_pool: "null" }, "challenges_terms"],
    ["has no open price", { open_price: "1" }, "challenges_terms"],
    ["has no dead zone", { dead_zone_pct: "1" }, "challenges_terms"],
    ["has ascending edges", { bin_edges: "array[1, 1]" }, "challenges_bins"],
    ["has an edge", { bin_edges: "'{}'::numeric[]" }, "challenges_bins"],
    ["has edges that are numbers", { bin_edges: "array['NaN']" }, "challenges_bins"],
    ["has edges that end", { bin_edges: "array['Infinity']" }, "challenges_bins"],
    ["has a scale above 0", { reference_scale: "0" }, "challenges_reference_scale"],
    ["has a scale that is a number", { reference_scale: "'NaN'" }, "challenges_reference_scale"],
    [
      "has a spread where it has no scale",
      { reference_scale: "null", bin_edges: "array[1]" },
      "challenges_some_scale"
    ],
    ["has a step above 0", { decimal_step: "0" }, "challenges_decimal_step"],
    ["has no reward pool below 0", { reward_pool: "-1" }, "challenges_reward_pool"],
    ["is of one type", { type: "'directional'" }, "challenges_frozen_texts"],
    [
      "has its texts",
      { resolution_criteria: "null", resolution_criteria_zh: "null" },
      "challenges_frozen_texts"
    ]
  ] as const)("%s", ([, changes, constraint]) =>
    Effect.gen(function* () {
      yield* freshWeek
      const { id: made } = yield* newMacro()
      assert.strictEqual(
        yield* refusal(copied("challenges", `id = '${made}'`, { ...id, ...changes })),
        constraint
      )
    })
  )

  it.effect("is frozen at creation", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const { id: made } = yield* newMacro()
      for (const set of [
        "period = 'x'",
        "unit = 'x'",
        "bin_edges = array[1]",
        "reference_scale = 1",
        "decimal_step = 1",
        "reward_pool = 1"
      ]) {
        assert.include(
          yield* refusal((sql) => sql`update challenges set ${sql.literal(set)} where id = ${made}::uuid`),
          "frozen at creation"
        )
      }
    })
  )
})

layer(testServices())("a forecast in the database", (it) => {
  const ofMacro = "predicted_value is not null"

  it.effect.each([
    ["predictions", { direction: "'bullish'" }, "predictions_one_form"],
    ["predictions", { predicted_value: "null" }, "predictions_one_form"],
    [
      "predictions",
      { predicted_value: "null", predicted_std: "null", direction: "'bullish'" },
      "predictions_one_form"
    ],
    ["predictions", { predicted_value: "null", predicted_std: "null" }, "predictions_one_form"],
    ["predictions", { predicted_std: "0" }, "predictions_std"],
    ["predictions", { predicted_std: "'NaN'" }, "predictions_std"],
    ["predictions", { predicted_value: "'NaN'" }, "predictions_value"],
    ["prediction_scores", { is_correct: "true" }, "prediction_scores_one_form"],
    ["prediction_scores", { crps: "null" }, "prediction_scores_one_form"],
    ["prediction_scores", { skill: "null" }, "prediction_scores_one_form"],
    ["prediction_scores", { crps: "-1" }, "prediction_scores_crps"],
    ["prediction_scores", { skill: "1.1" }, "prediction_scores_skill"],
    ["settlements", { result: "'bullish'" }, "settlements_one_form"],
    ["settlements", { close_price: "1" }, "settlements_one_form"],
    ["settlements", { actual_value: "null" }, "settlements_one_form"],
    ["settlements", { reference_scale: "null" }, "settlements_one_form"],
    ["settlements", { reference_scale: "0" }, "settlements_reference_scale"]
  ] as const)("%s with %j is refused", ([table, changes, constraint]) =>
    Effect.gen(function* () {
      yield* settled
      const anew: Readonly<Record<string, Readonly<Record<string, string>>>> = {
        predictions: { ...id, revision: "7" },
        prediction_scores: { version: "2" },
        settlements: { version: "2", reason: "'why'" }
      }
      const where = table === "predictions" ? ofMacro : "true"
      assert.strictEqual(yield* refusal(copied(table, where, { ...anew[table], ...changes })), constraint)
    })
  )
})
