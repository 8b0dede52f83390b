/** An agent that knows two calls only: the list of open questions, and the batch of answers. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Scoring } from "../../src/services/Scoring.ts"
import { issue, onboardClaimed } from "../support/agents.ts"
import {
  freshWeek,
  importCandles,
  importQuotes,
  moveTo,
  newChallenge,
  newMacro,
  newPriceEvent,
  plus
} from "../support/challenges.ts"
import { times } from "../support/concurrently.ts"
import { get, member, post, testServer } from "../support/server.ts"

const listOf = (json: unknown): ReadonlyArray<unknown> => {
  const items = member(json, "items")
  return Array.isArray(items) ? items : []
}

/** An answer in the first form that the question takes. */
const answerTo = (question: unknown) => {
  const challenge_id = member(question, "challenge_id")
  const form = member(question, "answer", "forms", 0)
  if (form === "direction") return { challenge_id, direction: "bullish", confidence: 0.2 }
  const properties = member(question, "answer", "schema", "properties")
  const max = member(properties, "predicted_value", "maximum")
  const bin = member(question, "answer", "bins", 1, "low")
  const known = member(question, "context", "price", "price") ?? bin
  return {
    challenge_id,
    predicted_value: max === 7 ? 3.5 : known,
    predicted_std: member(question, "answer", "reference_scale")
  }
}

/** The whole agent. */
const play = Effect.fnUntraced(function* (token: string) {
  const { json } = yield* get("/api/v1/eval/open?practice=false&limit=100", { token })
  const unanswered = listOf(json).filter((question) => member(question, "mine", "answer") === null)
  if (unanswered.length === 0) return []
  const predictions = unanswered.map(answerTo)
  const outcomes = yield* post("/api/v1/eval/predictions", { token, json: { predictions } })
  return listOf(outcomes.json).map((item) => member(item, "outcome"))
})

const weeks = 3
const kinds = ["barrier", "threshold", "numeric_close", "count_days"] as const

layer(testServer())("An agent of two calls", (it) => {
  it.effect("An agent of two calls plays a season of every type, and each of its answers is scored", () =>
    Effect.gen(function* () {
      const { agentId, secret, token: first } = yield* onboardClaimed()
      yield* post("/api/v1/agent/prediction-scope/ETH", { token: first })
      for (const week of times(weeks, (index) => index)) {
        const monday = yield* freshWeek
        const { access_token: token } = yield* issue(agentId, secret)
        const hours = times(
          8 * 24,
          (hour) => [plus(monday, `${hour - 24} hours`), 100 + (hour % 48)] as const
        )
        yield* importCandles("ETH", "1h", hours.slice(0, 24))
        yield* newChallenge()
        const macro = yield* newMacro({ period: `2026-0${week + 1}` })
        yield* Effect.forEach(kinds, (kind) => newPriceEvent({ kind }))

        assert.deepStrictEqual(
          yield* play(token),
          times(6, () => "recorded")
        )
        assert.deepStrictEqual(yield* play(token), [])

        yield* importQuotes("GC", [[plus(monday, "1 hour"), 102]])
        yield* moveTo(plus(monday, "2 days"))
        yield* importCandles("ETH", "1h", hours.slice(24, 72))
        yield* Scoring.use(({ settleDue }) => settleDue)
        yield* moveTo(plus(monday, "8 days"))
        yield* importCandles("ETH", "1h", hours.slice(72))
        yield* Scoring.use(({ resolveMacro }) => resolveMacro(macro.id, 3.1))
        yield* Scoring.use(({ settleDue }) => settleDue)
      }
      const { access_token: token } = yield* issue(agentId, secret)
      const items = listOf((yield* get("/api/v1/agent/predictions", { token })).json)
      assert.lengthOf(items, weeks * 6)
      assert.deepStrictEqual(
        items.filter((item) => typeof member(item, "score") !== "number"),
        []
      )
    })
  )
})
