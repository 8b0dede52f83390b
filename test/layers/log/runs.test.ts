import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { runsOf } from "../../../src/layers/postgres/log/runs.ts"

/** Whether each entry of a batch is to be composed. */
const Batch = Schema.Array(Schema.Boolean).check(Schema.isMaxLength(40))

describe("The runs of a batch", () => {
  it.prop("have every entry once and in order, and no two neighbours are alike", [Batch], ([batch]) => {
    const places = batch.flatMap((composed, place) => (composed ? [place] : []))
    const unwritten = places.map((place) => ({
      place,
      type: "challenge.close" as const,
      challenge_id: null,
      version: 1,
      closed_at: null,
      imported: false
    }))
    const runs = runsOf({ entries: batch.length, unwritten })
    const kinds = runs.map((run) => run.unwritten.length > 0)
    assert.deepStrictEqual(
      runs.flatMap(({ entries, first }) => Array.from({ length: entries }, (_, place) => first + place)),
      batch.map((_, place) => place)
    )
    assert.deepStrictEqual(
      runs.flatMap((run) => run.unwritten),
      unwritten
    )
    for (const [at, run] of runs.entries()) {
      assert.include([0, run.entries], run.unwritten.length)
      assert.notStrictEqual(kinds[at], kinds[at + 1])
    }
  })
})
