import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { partsOf } from "../../src/layers/postgres/log/parts.ts"

/** Whether each entry of a batch is to be composed. */
const Batch = Schema.Array(Schema.Boolean).check(Schema.isMaxLength(40))

describe("The parts of a batch", () => {
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
    const parts = partsOf({ entries: batch.length, unwritten })
    const kinds = parts.map((part) => part.unwritten.length > 0)
    assert.deepStrictEqual(
      parts.flatMap(({ entries, first }) => Array.from({ length: entries }, (_, place) => first + place)),
      batch.map((_, place) => place)
    )
    assert.deepStrictEqual(
      parts.flatMap((part) => part.unwritten),
      unwritten
    )
    for (const [at, part] of parts.entries()) {
      assert.include([0, part.entries], part.unwritten.length)
      assert.notStrictEqual(kinds[at], kinds[at + 1])
    }
  })
})
