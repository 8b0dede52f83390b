/** A challenge with two predictions from its creation to its settlement, all of it in the log, revealed and signed. */
import { Effect } from "effect"
import { Scoring } from "../../src/services/Scoring.ts"
import { TransparencyLog } from "../../src/services/TransparencyLog.ts"
import { completeLog } from "./logbook.ts"
import { claimedAgent } from "./agents.ts"
import { freshWeek, importQuotes, moveTo, newChallenge, plus, predict } from "./challenges.ts"

/** An open challenge that Ada and Grace have predicted; `settle` ends it. */
export const openFixture = Effect.fnUntraced(function* (names: readonly [string, string] = ["Ada", "Grace"]) {
  const deadline = plus(yield* freshWeek, "1 hour")
  const challenge = yield* newChallenge({ question: "Will gold rise?", deadline })
  const [ada, grace] = [yield* claimedAgent(names[0]), yield* claimedAgent(names[1])]
  const right = yield* predict(ada, challenge, { confidence: 0.875, reasoning: "Rates <fall>." })
  const wrong = yield* predict(grace, challenge, { direction: "bearish", confidence: 0.25 })
  yield* completeLog

  const pass = Effect.gen(function* () {
    yield* moveTo(plus(deadline, "1 minute"))
    yield* (yield* Scoring).settleDue
    yield* completeLog
  })
  const settle = Effect.gen(function* () {
    yield* moveTo(plus(deadline, "2 minutes"))
    yield* importQuotes("GC", [[deadline, 102]])
    yield* (yield* Scoring).settleDue
    yield* completeLog
  })
  const commitOf = ({ answer }: typeof right) => answer.receipt?.commit ?? "none"
  const keys = yield* (yield* TransparencyLog).verifierKeys
  return {
    challenge,
    deadline,
    ada,
    grace,
    right: { ...right.answer, commit: commitOf(right) },
    wrong: { ...wrong.answer, commit: commitOf(wrong) },
    keys,
    /** Lets the deadline pass, without a price yet. */
    pass,
    settle
  }
})

export const settledFixture = Effect.fnUntraced(function* (names?: readonly [string, string]) {
  const world = yield* openFixture(names)
  yield* world.pass
  yield* world.settle
  return world
})
