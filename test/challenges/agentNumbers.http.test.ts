/** Numbers that agents send, through HTTP: range, granularity, and the slack that the document promises. */
import { assert, it, layer } from "@effect/vitest"
import { Effect } from "effect"
import { sumProblem } from "../../src/services/domain/agentNumbers.ts"
import { AgentId } from "../../src/services/domain/ids.ts"
import { Targets } from "../../src/services/Targets.ts"
import { onboardClaimed } from "../support/agents.ts"
import { freshWeek, newChallenge, newMacro, newPriceEvent } from "../support/challenges.ts"
import { times } from "../support/concurrently.ts"
import { member, post, testServer, wrongFields } from "../support/server.ts"

const generous = {
  AUSPEX_LIMIT_PREDICTIONS: "10000/minute",
  AUSPEX_LIMIT_REFUSED_WRITES: "10000/minute",
  AUSPEX_REVISIONS: "10000"
}

const eight = ["a", "b", "c", "d", "e", "f", "g", "h"]

const questions = Effect.gen(function* () {
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
const drawn = (first: number) => ({ samples: [first, ...times(9, (index) => 3 + index / 10)] })
const normal = (predicted_value: number, predicted_std: number) => ({ predicted_value, predicted_std })

layer(testServer({ environment: generous }))("Numbers of agents", (it) => {
  it.effect("A number beyond its range or granularity is refused by its field's name and told the rule", () =>
    Effect.gen(function* () {
      const { sent } = yield* questions
      const tiny = [5e-324, 1e-320, 1e-308, 1e-200, 1e-160, 9.9e-10]
      const table = [
        ...tiny.map(
          (x) =>
            [
              "direction",
              { direction: "bullish", confidence: x },
              "confidence",
              "0, or a value from 1e-9 to 1"
            ] as const
        ),
        ...tiny.map(
          (x) =>
            ["direction", vector(1, x, 0), "probabilities.neutral", "0, or a value from 1e-9 to 1"] as const
        ),
        ["direction", { direction: "bullish", confidence: 1 + 2 ** -52 }, "confidence", "between 0 and 1"],
        ["direction", { direction: "bullish", confidence: 1e308 }, "confidence", "between 0 and 1"],
        ...[5e-324, 1e-200, -1e-160, 9e-13].map(
          (x) =>
            ["series", normal(x, 1), "predicted_value", "0, or a value at least 1e-12 away from it"] as const
        ),
        ...[1e308, -1e308, 1000000000000000.1].map(
          (x) => ["series", normal(x, 1), "predicted_value", "-1000000000000000"] as const
        ),
        ...[0, 5e-324, 1e-308, 2.3e-308, 1e-160, 9e-13].map(
          (x) => ["series", normal(3, x), "predicted_std", "1e-12"] as const
        ),
        ["series", normal(3, 1e308), "predicted_std", "at most 1"],
        ["series", drawn(1e-200), "samples.0", "1e-12"],
        ["series", drawn(1e16), "samples.0", "1000000000000000"],
        ["series", spread(0, 1e-200, 3), "quantiles.1.value", "1e-12"],
        ["series", spread(3, 3, 3), "quantiles", "no standard deviation above 0"],
        ["series", spread(3, 2, 4), "quantiles.1", "no lower value"],
        ["series", at(0.1, 0.1, 0.9), "quantiles.1", "p above"],
        ["series", at(0.1, 0.1 + 1e-12, 0.9), "quantiles.1", "p above"],
        ["series", at(0.009, 0.5, 0.9), "quantiles.0.p", "between 0.01 and 0.99"],
        ["count", normal(7.001, 1), "predicted_value", "from 0 to 7"],
        ["count", normal(-0.001, 1), "predicted_value", "from 0 to 7"],
        ["close", spread(99, 99, 101), "quantiles", "equal ones are taken where outcomes come in steps"],
        ["direction", vector(0.33, 0.33, 0.33), "probabilities", "sum to 1 within 0.0000015"],
        ["direction", vector(0.5, 0.3, 0.200002), "probabilities", "sum to 1 within 0.0000015"],
        [
          "yesOrNo",
          { probabilities: { bullish: 0.5, bearish: 0.499998 } },
          "probabilities",
          "sum to 1 within"
        ]
      ] as const
      for (const [question, answer, field, right] of table) {
        const refused = yield* sent(question, answer)
        const what = `${question} ${JSON.stringify(answer)}: ${refused.text}`
        assert.deepStrictEqual([refused.status, wrongFields(refused)], [400, [field]], what)
        assert.include(String(member(refused.json, "errors", 0, "message")), right, what)
      }
    })
  )

  it.effect("A number within the documented slack for rounding and doubles is accepted", () =>
    Effect.gen(function* () {
      const { sent } = yield* questions
      const third = 0.333333
      const table = [
        ...[0, -0, 1e-9, 1e-7, 0.1 + 0.2, 1 - 2 ** -53, 1, 0.12345678901234568].map(
          (x) => ["direction", { direction: "bullish", confidence: x }] as const
        ),
        ["direction", vector(third, third, third)],
        ["direction", vector(0.1 + 0.2, 0.6, 0.1)],
        ["direction", vector(1, 0, -0)],
        ["direction", vector(1 - 1e-9, 1e-9, 0)],
        ["direction", vector(0.7, 0.2, 0.1)],
        ["yesOrNo", { probabilities: { bullish: 0.333333, bearish: 0.666666 } }],
        [
          "eight",
          { probabilities: Object.fromEntries(eight.map((name, index) => [name, index < 7 ? 0.142857 : 0])) }
        ],
        [
          "eight",
          {
            probabilities: Object.fromEntries(
              eight.map((name, index) => [name, index < 4 ? 0.125001 : 0.125])
            )
          }
        ],
        ...[0, -0, 1e-12, -1e-12, 1e15, -1e15, 3.0000000000000004].map(
          (x) => ["series", normal(x, 1)] as const
        ),
        ["series", normal(3, 1e-12)],
        ["series", normal(3, 0.12 * 1e12)],
        ["series", at(0.010000000000000002 - 1e-17, 0.5, 0.9900000000000001)],
        ["series", spread(4, 4, 4.1)],
        ["series", spread(4, 4.1, 4.1)],
        ["series", spread(1, 1 + 2 ** -52, 1 + 2 ** -51)],
        ["count", spread(3, 3, 4)],
        ["count", normal(7.000000000000001, 1)],
        ["count", { samples: times(10, () => 7.000000000000001) }],
        ["close", spread(99, 100, 101)]
      ] as const
      for (const [question, answer] of table) {
        const taken = yield* sent(question, answer)
        assert.oneOf(taken.status, [200, 201], `${question} ${JSON.stringify(answer)}: ${taken.text}`)
      }
    })
  )

  it.effect("Samples are rounded to seven significant digits, also in the receipt and the answer", () =>
    Effect.gen(function* () {
      const { sent } = yield* questions
      const { json, text } = yield* sent("close", {
        samples: times(10, (index) => 98.76543210987654 + index / 3)
      })
      const rounded = times(10, (index) => Number((98.76543210987654 + index / 3).toPrecision(7)))
      assert.deepStrictEqual<unknown>(json["samples"], rounded, text)
      assert.include(String(member(json, "receipt", "body")), `"samples":[${rounded.join()}]`)
    })
  )
})

/** This many equal numbers, except for the last. */
const equal = (count: number, each: number, last = each) => [...times(count - 1, () => each), last]
const roundedTo = (decimals: number, numbers: ReadonlyArray<number>) =>
  numbers.map((each) => Number(each.toFixed(decimals)))

it.each([
  ["halves", [0.5, 0.5], true],
  ["one alone", [1], true],
  ["none at all", [], false],
  ["zeros", [0, 0, 0], false],
  ["thirds of three decimals", equal(3, 0.333), false],
  ["thirds of two", equal(3, 0.33), false],
  ["thirds of two, one of them made up for", equal(3, 0.33, 0.34), true],
  ["thirds of six", equal(3, 0.333333), true],
  ["thirds of six, rounded up", equal(3, 0.333334), false],
  ["thirds of seven", equal(3, 0.3333333), true],
  ["sixths of six", equal(6, 0.166667), true],
  ["sevenths of six", equal(7, 0.142857), true],
  ["sevenths of five", equal(7, 0.14286), false],
  ["ninths of six", equal(9, 0.111111), true],
  ["elevenths of six", equal(11, 0.090909), true],
  ["thirteenths of six", equal(13, 0.076923), true],
  ["hundredths", equal(100, 0.01), true],
  ["hundredths, one forgotten", equal(100, 0.01, 0), false],
  ["97 of six", equal(97, 0.010309), false],
  ["tenths, added as doubles", equal(10, 0.1), true],
  [
    "a softmax in doubles",
    [Math.exp(1), Math.exp(2), Math.exp(3)].map((e, _, all) => e / all.reduce((a, b) => a + b)),
    true
  ],
  [
    "a softmax of single precision",
    [Math.exp(1), Math.exp(2), Math.exp(3)].map((e, _, all) => Math.fround(e / all.reduce((a, b) => a + b))),
    true
  ],
  ["a softmax of half precision", [0.09003, 0.24475, 0.66504], false],
  ["percentages", [50, 30, 20], false],
  ["more than one by a millionth, of two", [0.5, 0.500001], true],
  ["more than one by two millionths, of two", [0.5, 0.500002], false],
  ["less than one by 1.5e-6, of three", [0.5, 0.25, 0.2499985], true],
  ["less than one by 1.6e-6, of three", [0.5, 0.25, 0.2499984], false],
  ["less than one by 1e-5, of twenty", equal(20, 0.05, 0.04999), true],
  ["less than one by 1.1e-5, of a hundred", equal(100, 0.01, 0.009989), false],
  ["complements", [0.7, 1 - 0.7], true],
  ["what is left of one", [0.1, 0.7, 1 - 0.1 - 0.7], true],
  ["the smallest one beside one", [1, 1e-9], true],
  ["1 beside what is no small number", [1, 1e-5], false],
  ["rounded Dirichlet draws", roundedTo(6, [0.1234567, 0.2345678, 0.3456789, 0.2962966]), true],
  ["negative numbers that sum to one", [1.5, -0.5], true]
] as const)("sumProblem allows half a millionth for each probability and a hair: %s", (_, numbers, sums) => {
  assert.strictEqual(sumProblem(numbers) === undefined, sums)
})
