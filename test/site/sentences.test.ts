/** What pages say is proven, ranked and counted, read sentence by sentence beside the API. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Scoring } from "../../src/services/Scoring.ts"
import { Skill } from "../../src/services/Skill.ts"
import { moveTo, plus } from "../support/challenges.ts"
import { publicFixture } from "../support/publicFixture.ts"
import { falseSentences } from "../support/sentences.ts"
import { get, testServer } from "../support/server.ts"

const read = Effect.fnUntraced(function* (path: string) {
  const { status, text } = yield* get(path)
  assert.strictEqual(status, 200, path)
  return text
})

/** Of those with ten days some have a rank, and those with one have none. */
const minDays = 5

const environment = {
  AUSPEX_RANK_MIN_COUNT: "5",
  AUSPEX_RANK_MIN_DAYS: String(minDays),
  AUSPEX_LIMIT_READS: "1000000/minute"
}

layer(testServer({ environment }))("Pages", (it) => {
  it.effect(
    "say of proof, rank and counts nothing that the API and the comparison of agents do not say",
    () =>
      Effect.gen(function* () {
        const { end } = yield* publicFixture
        yield* moveTo(plus(end, "1 day"))
        yield* Scoring.use((scoring) => scoring.settleDue)
        yield* moveTo(plus(end, "2 days"))
        yield* Skill.use((skill) => skill.countDue)
        assert.deepStrictEqual(yield* falseSentences(read, { minDays }), [])
      })
  )
})
