/** What the database itself refuses of price events: rows of no kind, of two, or that cannot be true. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { PriceEventKind } from "../../src/services/domain/Challenge.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import {
  answer,
  claimedAgent,
  freshWeek,
  importCandles,
  moveTo,
  newPriceEvent,
  plus
} from "../support/builders.ts"
import { copied, refusal } from "../support/errors.ts"
import { testServices } from "../support/services.ts"

const id = { id: "gen_random_uuid()" }

layer(testServices())("a price event in the database", (it) => {
  it.effect.each([
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
  ] as const)("of %s %s", ([kind, , changes, constraint]) =>
    Effect.gen(function* () {
      yield* freshWeek
      const { id: made } = yield* newPriceEvent({ kind })
      assert.strictEqual(
        yield* refusal(copied("challenges", `id = '${made}'`, { ...id, ...changes })),
        constraint
      )
    })
  )

  it.effect("is frozen at creation", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const { id: made } = yield* newPriceEvent({ kind: "barrier" })
      for (const set of ["level = 1", "window_from = window_from - interval '1 hour'"]) {
        assert.include(
          yield* refusal((sql) => sql`update challenges set ${sql.literal(set)} where id = ${made}::uuid`),
          "frozen at creation"
        )
      }
    })
  )

  it.effect("is settled in the form of its kind", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const made = yield* Effect.forEach(PriceEventKind.literals, (kind) =>
        newPriceEvent({ kind, resolve_at: monday })
      )
      const agent = yield* claimedAgent()
      for (const each of made) yield* answer(agent, each)
      yield* importCandles(
        "ETH",
        "1h",
        Array.from({ length: 200 }, (_, index) => [plus(monday, { hours: -1 - index }), 99] as const)
      )
      yield* moveTo(plus(monday, "1 hour"))
      const { resolved } = yield* Scoring.use((scoring) => scoring.settleDue)
      assert.strictEqual(resolved.length, 4)
      for (const { id: challenge, kind } of made) {
        const isYesOrNo = kind === "barrier" || kind === "threshold"
        const next = { version: "2", previous_version: "1", reason: "'why'" }
        const wrong = isYesOrNo
          ? [
              { close_price: "null" },
              { result: "null" },
              { result: "'neutral'" },
              { open_price: "1" },
              { actual_value: "1" }
            ]
          : [{ reference_scale: "null" }, { level: "1" }, { result: "'bullish'" }, { close_price: "1" }]
        for (const changes of wrong) {
          assert.strictEqual(
            yield* refusal(copied("settlements", `challenge_id = '${challenge}'`, { ...next, ...changes })),
            "settlements_one_form",
            `${kind} ${JSON.stringify(changes)}`
          )
        }
      }
    })
  )
})
