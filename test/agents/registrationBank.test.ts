/** The operator's own bank of events for the registration challenge. */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { stringify } from "yaml"
import { parseBank } from "../../src/layers/registration/bank.ts"
import * as RubricJudge from "../../src/layers/registration/RubricJudge.ts"
import { RegistrationJudge } from "../../src/services/RegistrationJudge.ts"
import { scratchDirectory } from "../support/scratch.ts"

const own = {
  slug: "zinc-report",
  prompt: "Copper stocks were {now} 000 tonnes, where {before} 000 had been expected.",
  numbers: { now: [90, 60, 99, 1], before: [50, 40, 59, 1] },
  figure: {
    by: "difference",
    of: ["now", "before"],
    ask: "the surprise in thousand tonnes",
    unit: "thousand"
  },
  assets: { core: ["HG"], plausible: ["PPI"] },
  directions: { bearish: 1 },
  magnitudes: { medium: 1 },
  kinds: ["metals"],
  terms: ["stocks", "tonnes", "copper"],
  related: ["metals", "growth"]
}

const faultOf = (events: ReadonlyArray<unknown>): string => {
  const parsed = parseBank(stringify({ events }, { aliasDuplicateObjects: false }))
  return Result.isFailure(parsed) ? parsed.failure : ""
}

describe("AUSPEX_REGISTRATION_BANK", () => {
  it.each([
    ["an unknown asset", { assets: { core: ["XX"], plausible: [] } }, /events.*assets/],
    ["an unknown kind", { kinds: ["football"] }, /Expected a kind of event/],
    ["a number that is not drawn", { prompt: "It was {other}." }, /^events\.0: there is no number other$/],
    ["a range without a step", { numbers: { now: [1, 1, 2, 0], before: [1, 1, 2, 1] } }, /numbers\.now/],
    ["a direction that none may take", { directions: { mixed: 0.3 } }, /directions/],
    [
      "a figure that the prompt has always",
      { figure: { ...own.figure, by: "sum", of: ["now", 0] } },
      /no draw/
    ],
    ["a member that is none", { answers: [] }, /answers/]
  ])("A bank with %s is refused with one line", (_, change, expected) => {
    const fault = faultOf([{ ...own, ...change }])
    assert.match(fault, expected)
    assert.notInclude(fault, "\n")
  })

  it("A bank with a slug twice, without an event, or not in YAML is refused", () => {
    assert.strictEqual(faultOf([own, own]), "events.1: zinc-report is there already")
    assert.notStrictEqual(faultOf([]), "")
    assert.isTrue(Result.isFailure(parseBank("events: [")))
  })

  it.effect("Agents are asked about the operator's bank, and about nothing else", () =>
    Effect.gen(function* () {
      const path = join(scratchDirectory(), "bank.yaml")
      writeFileSync(path, stringify({ events: [own] }))
      assert.include(readFileSync(path, "utf8"), "zinc-report")
      const event = yield* Effect.gen(function* () {
        const { choose } = yield* RegistrationJudge
        return yield* choose("an agent")
      }).pipe(Effect.provide(RubricJudge.layer(path)))
      assert.match(event.slug, /^zinc-report\?/)
      const error = yield* RegistrationJudge.use(() => Effect.void).pipe(
        Effect.provide(RubricJudge.layer(`${path}.none`)),
        Effect.flip
      )
      assert.match(error.message, /^AUSPEX_REGISTRATION_BANK=.*cannot be used: [^\n]+$/)
    })
  )
})
