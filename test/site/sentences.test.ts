/** Pages' sentences about evidence, rank and counts, compared one by one with the API. */
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Schema } from "effect"
import { ReferenceAgents } from "../../src/services/ReferenceAgents.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import { Skill } from "../../src/services/Skill.ts"
import { agentOf, anotherOperator } from "../support/agents.ts"
import { importQuotes, moveTo, newChallenge, plus, predict } from "../support/challenges.ts"
import { lackingIn } from "../support/holdings.ts"
import { publicFixture } from "../support/publicFixture.ts"
import { falseSentences } from "../support/sentences.ts"
import { get, testServer } from "../support/server.ts"

const read = Effect.fnUntraced(function* (path: string) {
  const { status, text } = yield* get(path)
  assert.strictEqual(status, 200, path)
  return text
})

/** Some agents with ten days have a rank; those with one day have none. */
const minDays = 5

const environment = {
  AUSPEX_RANK_MIN_COUNT: "5",
  AUSPEX_RANK_MIN_DAYS: String(minDays),
  AUSPEX_LIMIT_READS: "1000000/minute"
}

/** The number of days of evidence for an agent that is always right and certain. */
const provingDays = 13

/** An agent that begins this many days later has days for one agent of an owner, and too few for one of two. */
const lateDays = 4

/** One agent beats the random walk, one is as good but began later and has the same owner, one is worse than the walk. */
const proven = Effect.fnUntraced(function* (start: DateTime.Utc) {
  const references = yield* ReferenceAgents
  const scoring = yield* Scoring
  const [one, other, third] = [yield* anotherOperator, yield* anotherOperator, yield* anotherOperator]
  const [sage, twin, boaster] = [
    yield* agentOf(one, "Compass"),
    yield* agentOf(other, "Castor"),
    yield* agentOf(third, "Boastful")
  ]
  yield* agentOf(other, "Pollux")
  for (let day = 0; day < provingDays; day++) {
    const morning = plus(start, { days: day })
    yield* moveTo(morning)
    const deadline = plus(morning, "20 hours")
    const challenge = yield* newChallenge({
      open_price: 2400,
      dead_zone_pct: 0.3,
      deadline,
      resolve_at: deadline
    })
    const [right, wrong, close] =
      day % 2 === 0 ? (["bullish", "bearish", 2430] as const) : (["bearish", "bullish", 2370] as const)
    yield* references.predictDue
    yield* predict(sage, challenge, { direction: right, confidence: 1 })
    if (day >= lateDays) yield* predict(twin, challenge, { direction: right, confidence: 1 })
    yield* predict(boaster, challenge, { direction: wrong, confidence: 1 })
    yield* moveTo(deadline)
    yield* importQuotes("GC", [[deadline, close]])
    yield* scoring.settleDue
  }
  yield* moveTo(plus(start, { days: provingDays + 1 }))
  return { sage, twin, boaster }
})

const Evidence = Schema.fromJsonString(
  Schema.Struct({
    overall: Schema.Struct({
      evidence: Schema.Struct({
        e_value: Schema.Finite,
        told: Schema.Boolean,
        sequence: Schema.Tuple([Schema.Finite, Schema.Finite])
      })
    })
  })
)

layer(testServer({ environment }))("Pages", (it) => {
  it.effect(
    "Pages say of proof, rank and counts nothing that the API and the comparison of agents do not say",
    () =>
      Effect.gen(function* () {
        const { end } = yield* publicFixture
        yield* moveTo(plus(end, "1 day"))
        yield* Scoring.use((scoring) => scoring.settleDue)
        const { boaster, sage, twin } = yield* proven(plus(end, "2 days"))
        yield* Skill.use((skill) => skill.countDue)
        const evidenceOf = Effect.fnUntraced(function* (id: string) {
          const { overall } = yield* Schema.decodeEffect(Evidence)(
            yield* read(`/api/v1/eval/agents/${id}/skill`)
          )
          return overall.evidence
        })
        assert.isTrue((yield* evidenceOf(sage)).told)
        const shared = yield* evidenceOf(twin)
        assert.deepStrictEqual([shared.e_value >= 20, shared.told], [true, false])
        assert.isBelow((yield* evidenceOf(boaster)).sequence[1], 0)
        assert.deepStrictEqual(yield* lackingIn(read), [])
        assert.deepStrictEqual(yield* falseSentences(read, { minDays }), [])
      })
  )
})
