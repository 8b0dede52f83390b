/**
 * Constraints of the database on challenges, forecasts, archived tournaments and virtual positions: it refuses rows of no form,
 * rows of two, impossible rows, and changes of frozen members.
 */
import { Scoring } from "../../src/services/Scoring.ts"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { claimedAgent } from "../support/agents.ts"
import {
  forecast,
  freshWeek,
  moveTo,
  newMacro,
  plus,
  newPriceEvent,
  importQuotes,
  instant,
  newChallenge,
  predict
} from "../support/challenges.ts"
import { copied, refusal } from "../support/errors.ts"
import { answer, askAnew, everyKind } from "../support/kinds.ts"
import { testServices } from "../support/services.ts"
import type { PriceEventKind } from "../../src/services/domain/Challenge.ts"
import { Archive } from "../../src/services/Archive.ts"

/** A settled challenge with a forecast. */
const settled = Effect.gen(function* () {
  const deadline = plus(yield* freshWeek, "1 hour")
  const challenge = yield* newMacro({ deadline })
  yield* forecast(yield* claimedAgent(), challenge)
  yield* moveTo(deadline)
  return yield* Scoring.use((scoring) => scoring.resolveMacro(challenge.id, 3.2))
})

const id = { id: "gen_random_uuid()" }

layer(testServices())("A forecast in the database", (it) => {
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
    ["settlements", { reference_scale: "0" }, "settlements_reference_scale"]
  ] as const)("A forecast in the table %s is refused with %j", ([table, changes, constraint]) =>
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

const newQuestion = (kind: "macro" | PriceEventKind) =>
  kind === "macro" ? newMacro() : newPriceEvent({ kind })

layer(testServices())("A question in the database", (it) => {
  it.effect.each([
    ["macro", "has a period", { period: "null" }, "challenges_terms"],
    ["macro", "has bins", { bin_edges: "null" }, "challenges_terms"],
    ["macro", "has a reward pool", { reward_pool: "null" }, "challenges_terms"],
    ["macro", "has no open price", { open_price: "1" }, "challenges_terms"],
    ["macro", "has no dead zone", { dead_zone_pct: "1" }, "challenges_terms"],
    ["macro", "has ascending edges", { bin_edges: "array[1, 1]" }, "challenges_bins"],
    ["macro", "has an edge", { bin_edges: "'{}'::numeric[]" }, "challenges_bins"],
    ["macro", "has edges that are numbers", { bin_edges: "array['NaN']" }, "challenges_bins"],
    ["macro", "has edges that end", { bin_edges: "array['Infinity']" }, "challenges_bins"],
    ["macro", "has a scale above 0", { reference_scale: "0" }, "challenges_reference_scale"],
    ["macro", "has a scale that is a number", { reference_scale: "'NaN'" }, "challenges_reference_scale"],
    [
      "macro",
      "has a spread where it has no scale",
      { reference_scale: "null", bin_edges: "array[1]" },
      "challenges_some_scale"
    ],
    ["macro", "has a step above 0", { decimal_step: "0" }, "challenges_decimal_step"],
    ["macro", "has no reward pool below 0", { reward_pool: "-1" }, "challenges_reward_pool"],
    ["macro", "is of one type", { type: "'directional'" }, "challenges_frozen_texts"],
    [
      "macro",
      "has its texts",
      { resolution_criteria: "null", resolution_criteria_zh: "null" },
      "challenges_frozen_texts"
    ],
    ["barrier", "has a level", { level: "null" }, "challenges_terms"],
    ["barrier", "has a level above 0", { level: "0" }, "challenges_level"],
    ["barrier", "has a level that is a number", { level: "'NaN'" }, "challenges_level"],
    ["barrier", "has a window", { window_from: "null" }, "challenges_terms"],
    ["barrier", "has a window before its end", { window_from: "t.resolve_at" }, "challenges_window"],
    [
      "barrier",
      "begins at a whole hour",
      { window_from: "t.window_from + interval '1 second'" },
      "challenges_window"
    ],
    ["barrier", "has no scale", { reference_scale: "1" }, "challenges_terms"],
    ["threshold", "has no window", { window_from: "t.created_at" }, "challenges_terms"],
    ["threshold", "has no open price", { open_price: "1" }, "challenges_terms"],
    ["threshold", "has no reward pool", { reward_pool: "0" }, "challenges_terms"],
    ["numeric_close", "has a scale", { reference_scale: "null" }, "challenges_terms"],
    ["numeric_close", "has no level", { level: "1" }, "challenges_terms"],
    ["numeric_close", "has no step", { decimal_step: "1" }, "challenges_terms"],
    ["count_days", "has a step", { decimal_step: "null" }, "challenges_terms"],
    ["count_days", "is of a kind", { kind: "'price_event'" }, "challenges_kind"],
    ["count_days", "has its texts", { resolution_criteria: "null" }, "challenges_frozen_texts"],
    [
      "count_days",
      "waits until after its deadline",
      { deadline: "t.cancel_at + interval '1 second'" },
      "challenges_times"
    ]
  ] as const)("A question of kind %s %s", ([kind, , changes, constraint]) =>
    Effect.gen(function* () {
      yield* freshWeek
      const { id: made } = yield* newQuestion(kind)
      assert.strictEqual(
        yield* refusal(copied("challenges", `id = '${made}'`, { ...id, ...changes })),
        constraint
      )
    })
  )

  it.effect.each([
    [
      "macro",
      ["period = 'x'", "unit = 'x'", "bin_edges = array[1]", "reference_scale = 1", "decimal_step = 1"]
    ],
    ["macro", ["reward_pool = 1"]],
    ["barrier", ["level = 1", "window_from = window_from - interval '1 hour'"]]
  ] as const)("A question of kind %s is frozen at creation: %j", ([kind, changes]) =>
    Effect.gen(function* () {
      yield* freshWeek
      const { id: made } = yield* newQuestion(kind)
      for (const set of changes) {
        assert.include(
          yield* refusal((sql) => sql`update challenges set ${sql.literal(set)} where id = ${made}::uuid`),
          "frozen at creation"
        )
      }
    })
  )

  it.effect.each(everyKind)("A settlement in the database has the form of its kind: %s", ([, kind]) =>
    Effect.gen(function* () {
      const question = yield* askAnew(kind)
      yield* answer(yield* claimedAgent(), kind, question, kind.answers[0])
      yield* moveTo(question.end)
      yield* kind.publish(question.end)
      yield* kind.settle(question)
      const wrong = [
        ...(kind.outcome.result === null
          ? [
              { actual_value: "null" },
              { reference_scale: "null" },
              { result: "'bullish'" },
              { close_price: "1" }
            ]
          : [{ close_price: "null" }, { result: "null" }, { actual_value: "1" }, { reference_scale: "1" }]),
        ...(kind.type === "directional"
          ? [{ open_price: "null" }]
          : [{ open_price: "1" }, { result: "'neutral'" }])
      ]
      for (const changes of wrong) {
        const next = { version: "2", previous_version: "1", reason: "'why'", ...changes }
        assert.strictEqual(
          yield* refusal(copied("settlements", `challenge_id = '${question.id}'`, next)),
          "settlements_one_form",
          JSON.stringify(changes)
        )
      }
    })
  )
})

const ended = instant("2026-01-02T00:00:00Z")

const archived = Effect.gen(function* () {
  yield* freshWeek
  return yield* Archive.use((archive) =>
    archive.import({
      slug: "cup",
      title: "Cup",
      ended_at: ended,
      challenges: [
        { question: "First?", deadline: ended, resolved_at: ended, result: "yes" },
        { question: "Second?", deadline: ended, resolved_at: ended, result: "no" }
      ]
    })
  )
})

layer(testServices())("An archived tournament in the database", (it) => {
  it.effect.each([
    [
      "has as many challenges as it was imported with",
      { position: "3" },
      "archived_challenges_imported_together"
    ],
    [
      "has no other number of them",
      { position: "3", challenge_count: "3" },
      "archived_challenges_tournament"
    ],
    ["has each of them once", { position: "1" }, "archived_challenges_pkey"],
    ["has none before the first", { position: "0" }, "archived_challenges_position"],
    ["has challenges that ended", { result: "null" }, "archived_challenges_one_end"],
    ["has challenges that ended once", { void_reason: "'x'" }, "archived_challenges_one_end"],
    ["has none decided before its deadline", { resolved_at: "'2025-01-01'" }, "archived_challenges_times"],
    ["has none opened at its deadline", { opened_at: "'2026-01-02Z'" }, "archived_challenges_times"],
    ["has lists of outcomes", { outcomes: "'{}'::jsonb" }, "archived_challenges_outcomes"]
  ] as const)("An archived tournament %s", ([, changes, constraint]) =>
    Effect.gen(function* () {
      yield* archived
      assert.strictEqual(yield* refusal(copied("archived_challenges", "position = 2", changes)), constraint)
    })
  )

  it.effect("An archived tournament is neither changed nor removed", () =>
    Effect.gen(function* () {
      yield* archived
      const refused = (operation: string) => `archived_tournaments is append-only: ${operation} refused`
      for (const column of ["title", "ended_at", "challenge_count", "digest"]) {
        const changed = yield* refusal(
          (sql) => sql`update archived_tournaments set ${sql(column)} = ${sql(column)}`
        )
        assert.strictEqual(changed, refused("update"), column)
      }
      assert.strictEqual(yield* refusal((sql) => sql`delete from archived_tournaments`), refused("delete"))
      assert.include(yield* refusal((sql) => sql`truncate archived_tournaments`), "cannot truncate")
      assert.include(yield* refusal((sql) => sql`truncate archived_tournaments cascade`), "append-only")
    })
  )

  it.effect.each([
    ["is over", "'2999-01-01'", "1", "archived_tournaments_over"],
    ["has challenges", "'2026-01-01'", "0", "archived_tournaments_some"]
  ] as const)("An archived tournament %s", ([, end, count, constraint]) =>
    Effect.gen(function* () {
      yield* archived
      const refused = yield* refusal(
        (sql) => sql`
          insert into archived_tournaments (slug, title, ended_at, archived_at, challenge_count, digest)
          select 'other', title, ${sql.literal(end)}, archived_at, ${sql.literal(count)}, digest
            from archived_tournaments`
      )
      assert.strictEqual(refused, constraint)
    })
  )
})

layer(testServices())("A virtual position in the database", (it) => {
  it.effect.each([
    ["has the whole of its entry", "null, 100, entry_source, entry_observed_at", "paper_signals_whole_entry"],
    [
      "has an entry above zero",
      "entry_fetched_at, 0, entry_source, entry_observed_at",
      "paper_signals_entry_price"
    ],
    [
      "has an entry that is a number",
      "entry_fetched_at, 'NaN', entry_source, entry_observed_at",
      "paper_signals_entry_price"
    ]
  ] as const)("A virtual position %s", ([, entry, constraint]) =>
    Effect.gen(function* () {
      const deadline = plus(yield* freshWeek, "1 hour")
      const challenge = yield* newChallenge({ deadline, resolve_at: plus(deadline, "1 day") })
      yield* importQuotes("GC", [[deadline, 100]])
      yield* moveTo(deadline)
      yield* predict(yield* claimedAgent(), challenge)
      const refused = yield* refusal(
        (sql) => sql`
          insert into paper_signals
            (id, challenge_id, agent_id, direction, confidence, received_at, entry_fetched_at, entry_price, entry_source,
             entry_observed_at)
          select gen_random_uuid(), challenge_id, agent_id, direction, confidence, received_at, ${sql.literal(entry)}
            from paper_signals where challenge_id = ${challenge.id}::uuid`
      )
      assert.strictEqual(refused, constraint)
    })
  )

  it.effect("A macro series takes no virtual positions", () =>
    Effect.gen(function* () {
      assert.strictEqual(
        yield* refusal((sql) => sql`update targets set simulates_positions = true where key = 'CPI'`),
        "targets_positions_of_assets"
      )
    })
  )
})
