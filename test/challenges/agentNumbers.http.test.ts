/** Numbers that agents send, through HTTP: range, granularity, and the slack that the document promises. */
import { assert, describe, it, layer } from "@effect/vitest"
import { Context, Effect, Layer, Schema } from "effect"
import { sumProblem } from "../../src/services/domain/agentNumbers.ts"
import { NewAnswer } from "../../src/services/domain/Answer.ts"
import { AgentId } from "../../src/services/domain/ids.ts"
import { Targets } from "../../src/services/Targets.ts"
import { onboardClaimed } from "../support/agents.ts"
import { breadth } from "../support/breadth.ts"
import { freshWeek, newChallenge, newMacro, newPriceEvent } from "../support/challenges.ts"
import { times } from "../support/concurrently.ts"
import { numbersAround, problemsIn } from "../support/generated.ts"
import { member, post, testServer, wrongFields } from "../support/server.ts"

const generous = {
  AUSPEX_LIMIT_PREDICTIONS: "10000/minute",
  AUSPEX_LIMIT_REFUSED_WRITES: "10000/minute",
  AUSPEX_REVISIONS: "10000"
}

const eight = ["a", "b", "c", "d", "e", "f", "g", "h"]

/** An agent with a question of each form. */
class Questions extends Context.Service<Questions, Effect.Success<typeof makeQuestions>>()(
  "auspex/test/Questions"
) {}

const makeQuestions = Effect.gen(function* () {
  yield* freshWeek
  const agent = yield* onboardClaimed()
  yield* Targets.use((targets) => targets.subscribe(AgentId.make(agent.agentId), "ETH"))
  const questions = {
    direction: yield* newChallenge(),
    yesOrNo: yield* newPriceEvent({ kind: "threshold" }),
    close: yield* newPriceEvent({ kind: "numeric_close" }),
    count: yield* newPriceEvent({ kind: "count_days" }),
    series: yield* newMacro(),
    eight: yield* newMacro({
      asset: "FOMC",
      bin_edges: undefined,
      reference_scale: undefined,
      categories: eight.map((name, index) => ({ name, probability: index < 7 ? 0.142857 : 0.000001 }))
    } as never)
  }
  const sent = (question: keyof typeof questions, answer: object) =>
    post(`/api/v1/eval/challenges/${questions[question].id}/predict`, {
      token: agent.token,
      json: { ...answer, ...((question === "direction" || question === "yesOrNo") && { is_revision: true }) }
    })
  return { sent }
})

const vector = (bullish: number, neutral: number, bearish: number) => ({
  probabilities: { bullish, neutral, bearish }
})
const spread = (...values: ReadonlyArray<number>) => ({
  quantiles: values.map((value, index) => ({ p: (index + 1) / (values.length + 1), value }))
})
const at = (...ps: ReadonlyArray<number>) => ({
  quantiles: ps.map((p, index) => ({ p, value: 3 + index / 10 }))
})
const normal = (predicted_value: number, predicted_std: number) => ({ predicted_value, predicted_std })

const isProbability = (x: number) => x === 0 || (x >= 1e-9 && x <= 1)
const isValue = (x: number) => x === 0 || (Math.abs(x) >= 1e-12 && Math.abs(x) <= 1e15)
const isDays = (x: number) => isValue(x) && x >= -1e-9 && x <= 7 + 1e-9
const isDeviation = (x: number) => x >= 1e-12 && x <= 0.12 * 1e12
/** The first quantile is followed by one of p 0.5. */
const isFirst = (p: number) => p >= 0.01 - 1e-9 && 0.5 - p >= 1e-9

const probabilityRule = /0, or a value from 1e-9 to 1|between 0 and 1/
const valueRule = /0, or a value at least 1e-12 away from it|-1000000000000000/
const daysRule = /1e-12|1000000000000000|from 0 to 7/

/** A number's question and answer, the numbers that are taken, and the field and the rule in the refusal of another one. */
type Place<Question> = readonly [Question, (x: number) => object, (x: number) => boolean, RegExp, RegExp]

/** The first answers need no question: the schema of an answer decides. */
const inLists: ReadonlyArray<Place<null>> = [
  [null, (x) => ({ samples: times(10, (index) => index || x) }), isValue, /^samples\.0$/, valueRule],
  [null, (x) => spread(-1e15, x, 1e15), isValue, /^quantiles\.1\.value$/, valueRule],
  [null, (x) => at(x, 0.5, 0.9), isFirst, /^quantiles\.(0\.p|1)$/, /between 0.01 and 0.99|p above/]
]
const answers: ReadonlyArray<Place<"direction" | "series" | "count">> = [
  [
    "direction",
    (x) => ({ direction: "bullish", confidence: x }),
    isProbability,
    /^confidence$/,
    probabilityRule
  ],
  ["direction", (x) => vector(0, x, beside(x)), isProbability, /^probabilities\.neutral$/, probabilityRule],
  ["series", (x) => normal(x, 1), isValue, /^predicted_value$/, valueRule],
  ["series", (x) => normal(3, x), isDeviation, /^predicted_std$/, /1e-12|at most 1/],
  ["count", (x) => normal(x, 1), isDays, /^predicted_value$/, daysRule]
]

/** The rest of a probability, where it is one. */
const beside = (x: number) => (isProbability(x) && isProbability(1 - x) ? 1 - x : Number(x < 0.5))

const indicesOf = (places: ReadonlyArray<unknown>) => Schema.Literals([...places.keys()])
const numbers = numbersAround(1e-12, 1e-9, 0.01, 0.5 - 1e-9, 0.5, 0.99, 1, 7, 7 + 1e-8, 0.12 * 1e12, 1e15)

it.prop(
  "A number in a list of an answer is refused by its place if it is out of range, and told the rule",
  [indicesOf(inLists), numbers],
  ([index, x]) => {
    const [, answer, isTaken, path, rule] = inLists[index] ?? assert.fail()
    const problems = problemsIn(NewAnswer)(answer(x))
    assert.lengthOf(problems, isTaken(x) ? 0 : 1)
    for (const problem of problems) {
      assert.match(problem.path, path)
      assert.match(problem.message, rule)
    }
  },
  { arbitrary: { runs: 2000 } }
)

const served = Layer.effect(Questions, makeQuestions).pipe(
  Layer.provideMerge(testServer({ environment: generous }))
)

layer(served)("Numbers of agents", (it) => {
  it.effect.prop(
    "A number of an agent is refused by its field's name if it is out of range, and told the rule",
    [indicesOf(answers), numbers],
    ([index, x]) =>
      Effect.gen(function* () {
        const { sent } = yield* Questions
        const [question, answer, isTaken, path, rule] = answers[index] ?? assert.fail()
        const { json, status, text } = yield* sent(question, answer(x))
        if (isTaken(x)) return assert.oneOf(status, [200, 201], text)
        assert.strictEqual(status, 400, text)
        assert.match(String(member(json, "errors", 0, "path")), path)
        assert.match(String(member(json, "errors", 0, "message")), rule)
      }),
    { arbitrary: { runs: breadth(120, 2000) } }
  )

  it.effect("Probabilities are refused by name if their sum is beyond the slack for rounding", () =>
    Effect.gen(function* () {
      const { sent } = yield* Questions
      for (const [question, answer] of [
        ["direction", vector(0.33, 0.33, 0.33)],
        ["direction", vector(0.5, 0.3, 0.200002)],
        ["yesOrNo", { probabilities: { bullish: 0.5, bearish: 0.499998 } }]
      ] as const) {
        const refused = yield* sent(question, answer)
        assert.deepStrictEqual([refused.status, wrongFields(refused)], [400, ["probabilities"]], refused.text)
        assert.include(String(member(refused.json, "errors", 0, "message")), "sum to 1 within 0.000001")
      }
    })
  )

  it.effect("Numbers within the documented slack for rounding and doubles are accepted", () =>
    Effect.gen(function* () {
      const { sent } = yield* Questions
      const third = 0.333333
      const ofEight = (probability: (index: number) => number) => ({
        probabilities: Object.fromEntries(eight.map((name, index) => [name, probability(index)]))
      })
      for (const [question, answer] of [
        ["direction", vector(third, third, third)],
        ["direction", vector(0.1 + 0.2, 0.6, 0.1)],
        ["direction", vector(1, 0, -0)],
        ["yesOrNo", { probabilities: { bullish: 0.333333, bearish: 0.666666 } }],
        ["eight", ofEight((index) => (index < 7 ? 0.142857 : 0))],
        ["eight", ofEight((index) => (index < 4 ? 0.125001 : 0.125))],
        ["series", spread(1, 1 + 2 ** -52, 1 + 2 ** -51)],
        ["count", { samples: times(10, () => 7.000000000000001) }]
      ] as const) {
        const taken = yield* sent(question, answer)
        assert.oneOf(taken.status, [200, 201], `${question} ${JSON.stringify(answer)}: ${taken.text}`)
      }
    })
  )

  it.effect("Samples are rounded to seven significant digits, also in the receipt and the answer", () =>
    Effect.gen(function* () {
      const { sent } = yield* Questions
      const { json, text } = yield* sent("close", {
        samples: times(10, (index) => 98.76543210987654 + index / 3)
      })
      const rounded = times(10, (index) => Number((98.76543210987654 + index / 3).toPrecision(7)))
      assert.deepStrictEqual<unknown>(json["samples"], rounded, text)
      assert.include(String(member(json, "receipt", "body")), `"samples":[${rounded.join()}]`)
    })
  )
})

/** Nearly equal probabilities of a few decimals, the last of them some units of the last decimal off. */
const Rounded = Schema.Struct({
  count: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 100 })),
  decimals: Schema.Int.check(Schema.isBetween({ minimum: 2, maximum: 8 })),
  off: Schema.Int.check(Schema.isBetween({ minimum: -20, maximum: 20 }))
})

describe("The sum of probabilities", () => {
  it.prop(
    "sumProblem allows half a millionth for each probability, at most a hundred-thousandth, and a hair",
    [Rounded],
    ([{ count, decimals, off }]) => {
      const one = 10 ** decimals
      const each = Math.round(one / count)
      const last = each + off
      const sum = each * (count - 1) + last
      const billionths = Math.abs(sum - one) * 10 ** (9 - decimals)
      const numbers = [...times(count - 1, () => each / one), last / one]
      assert.strictEqual(sumProblem(numbers) === undefined, billionths <= Math.min(500 * count, 10_000) + 1)
    },
    { arbitrary: { runs: 2000 } }
  )

  const softmax = [1, 2, 3].map((x) => Math.exp(x)).map((e, _, all) => e / all.reduce((a, b) => a + b))
  it.each([
    ["none at all", [], false],
    ["tenths, added as doubles", times(10, () => 0.1), true],
    ["a softmax in doubles", softmax, true],
    ["a softmax of single precision", softmax.map(Math.fround), true],
    ["a softmax of half precision", [0.09003, 0.24475, 0.66504], false],
    ["percentages", [50, 30, 20], false],
    ["complements", [0.7, 1 - 0.7], true],
    ["what is left of one", [0.1, 0.7, 1 - 0.1 - 0.7], true],
    ["the smallest one beside one", [1, 1e-9], true],
    ["1 beside what is no small number", [1, 1e-5], false],
    ["rounded Dirichlet draws", [0.123457, 0.234568, 0.345679, 0.296297], true],
    ["negative numbers that sum to one", [1.5, -0.5], true]
  ] as const)("sumProblem judges what programs send: %s", (_, numbers, sums) => {
    assert.strictEqual(sumProblem(numbers) === undefined, sums)
  })
})
