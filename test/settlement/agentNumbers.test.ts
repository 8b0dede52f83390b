/**
 * Extreme numbers of agents, through settlement, pools, consensus, skill and audits. They harm nobody: neither the numbers that
 * the API takes, nor those recorded before it had its bounds, which tests send past the API.
 */
import { assert, layer } from "@effect/vitest"
import { BigDecimal, DateTime, Effect, Predicate, Result } from "effect"
import { SqlClient } from "effect/sql"
import { crpsScore } from "../../src/scoring/crps.ts"
import { directionalScore } from "../../src/scoring/directional.ts"
import { normalDistribution } from "../../src/scoring/distributions.ts"
import { expectedRps, rps, rpsScore } from "../../src/scoring/ordered.ts"
import { Arenas } from "../../src/services/Arenas.ts"
import type { NewAnswer } from "../../src/services/domain/Answer.ts"
import { AgentId } from "../../src/services/domain/ids.ts"
import { Audit } from "../../src/services/Audit.ts"
import { Pools } from "../../src/services/Pools.ts"
import { ReferenceAgents } from "../../src/services/ReferenceAgents.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import { Skill } from "../../src/services/Skill.ts"
import { Targets } from "../../src/services/Targets.ts"
import { agentsApart, anotherOperator, issue, onboard } from "../support/agents.ts"
import {
  freshWeek,
  importCandles,
  moveTo,
  newChallenge,
  newMacro,
  newPriceEvent,
  plus,
  resultsOf,
  submit
} from "../support/challenges.ts"
import { breadth } from "../support/breadth.ts"
import { credits, fund, ledgerFindings } from "../support/credit.ts"
import { times } from "../support/concurrently.ts"
import { completeLog } from "../support/logbook.ts"
import { firstPage } from "../support/paging.ts"
import { get, member, post, testServer } from "../support/server.ts"
import { uniforms } from "../support/uniforms.ts"

const tiny = [-0, 5e-324, 1e-320, 1e-308, 2.3e-308, 1e-200, 1e-160, 1e-155, 1e-150, 1e-100, 1e-12, 1e-9]
const odd = [0.1 + 0.2, 0.12345678901234568, 1 - 2 ** -53, 1]
const large = [1e15, -1e15, 2 ** 53, 3.0000000000000004, 123456.78901234567]

const categories = [
  { name: "cut", probability: 0.25 },
  { name: "hold", probability: 0.5 },
  { name: "raise", probability: 0.25 }
]

const startOf = (monday: DateTime.Utc) =>
  Effect.gen(function* () {
    const closes = times(800, (index) =>
      Number((100 + 3 * Math.sin(index / 7) + (index % 5) / 10).toFixed(2))
    )
    yield* importCandles(
      "ETH",
      "1h",
      closes.map((close, index) => [plus(monday, `${index - closes.length} hours`), close] as const)
    )
    return closes.at(-1) ?? 100
  })

/** A question of each kind, open for three hours, with an honest answer and the right outcome. */
const questions = Effect.gen(function* () {
  const monday = yield* freshWeek
  const price = yield* startOf(monday)
  const deadline = plus(monday, "3 hours")
  const terms = { deadline, resolve_at: plus(monday, "1 day") }
  const yes: NewAnswer = { direction: "bullish", confidence: 0.5 }
  const number = (mean: number): NewAnswer => ({ predicted_value: mean, predicted_std: 2 })
  const items = [
    {
      question: yield* newChallenge({ asset: "ETH", open_price: price, dead_zone_pct: 0.5, ...terms }),
      type: "directional" as const,
      answer: yes
    },
    {
      question: yield* newPriceEvent({ kind: "threshold", level: price - 20, ...terms }),
      type: "price_event" as const,
      answer: yes
    },
    {
      question: yield* newPriceEvent({ kind: "barrier", level: price + 5, window_from: deadline, ...terms }),
      type: "price_event" as const,
      answer: yes
    },
    {
      question: yield* newPriceEvent({ kind: "numeric_close", reference_scale: 4, ...terms }),
      type: "price_event" as const,
      answer: number(price)
    },
    {
      question: yield* newPriceEvent({ kind: "count_days", deadline, resolve_at: plus(monday, "7 days") }),
      type: "price_event" as const,
      answer: number(4)
    },
    {
      question: yield* newMacro({ deadline, reward_pool: 100 }),
      type: "macro" as const,
      answer: { predicted_value: 3.1, predicted_std: 0.1 } satisfies NewAnswer
    },
    {
      question: yield* Arenas.use((arenas) =>
        arenas.create("macro", { asset: "FOMC", period: "2026-03", deadline, categories, reward_pool: 0 })
      ),
      type: "macro" as const,
      answer: { probabilities: { cut: 0.2, hold: 0.7, raise: 0.1 } } satisfies NewAnswer
    }
  ]
  return { items, monday, price, deadline }
})
type Item = Effect.Success<typeof questions>["items"][number]

/** Answers that have a number in each of their fields, in the forms that may fit the question. */
const answersWith = (x: number, { question, type }: Item): ReadonlyArray<NewAnswer> => {
  const isUnit = x >= 0 && x <= 1
  const vectors = (names: ReadonlyArray<string>): ReadonlyArray<NewAnswer> =>
    names.map((name, place) => ({
      probabilities: Object.fromEntries(
        names.map((each, index) => [
          each,
          each === name ? x : Number(index === (place + 1) % names.length) * (1 - x)
        ])
      )
    }))
  if (type === "macro" && "categories" in question && question.categories !== null) {
    return isUnit ? vectors(categories.map(({ name }) => name)) : []
  }
  if (type === "directional" || ("level" in question && question.level !== null)) {
    const names = type === "directional" ? ["bullish", "neutral", "bearish"] : ["bullish", "bearish"]
    return isUnit ? [{ direction: "bearish", confidence: x }, ...vectors(names)] : []
  }
  return [
    { predicted_value: x, predicted_std: 1 },
    ...(x > 0 ? [{ predicted_value: 3, predicted_std: x }] : []),
    {
      quantiles: [
        { p: 0.1, value: Math.min(x, 1) },
        { p: 0.5, value: Math.max(Math.min(x, 1), 1) + 1 },
        { p: 0.9, value: Math.max(x, 3) }
      ]
    },
    { samples: [x, ...times(9, (index) => index / 2)] }
  ]
}

const send = ({ question, type }: Item, agentId: AgentId, answer: NewAnswer) =>
  Effect.flatMap(DateTime.now, (receivedAt) =>
    submit({ agentId, challengeId: question.id, type, answer, receivedAt })
  )

const subscribed = (count: number) =>
  Effect.tap(agentsApart(count), (agents) =>
    Effect.forEach(agents, (agent) => Targets.use((targets) => targets.subscribe(agent, "ETH")))
  )

/** Settles all of them with everything that follows: the honest answer has what it earned, and the audits find nothing. */
const settleAll = Effect.fnUntraced(function* (
  { items, monday, price }: Effect.Success<typeof questions>,
  honest: AgentId
) {
  yield* moveTo(plus(monday, "4 hours"))
  for (const each of items.filter(({ type }) => type === "macro")) {
    yield* Scoring.use((scoring) =>
      scoring.resolveMacro(each.question.id, each.question.asset === "CPI" ? 3.2 : 1)
    )
  }
  let resolved = 0
  for (const hours of [25, 169]) {
    yield* importCandles(
      "ETH",
      "1h",
      times(hours, (index) => [plus(monday, `${index} hours`), price + (Math.floor(index / 24) % 2)] as const)
    )
    yield* moveTo(plus(monday, `${hours} hours`))
    const report = yield* Scoring.use((scoring) => scoring.settleDue)
    assert.deepStrictEqual(report.failed, [])
    resolved += report.resolved.length
  }
  assert.strictEqual(resolved, 5)
  for (const { answer, question } of items) {
    const { actual_value, predictions, result } = yield* Arenas.use((arenas) =>
      arenas.results(question.id, { ...firstPage, limit: 200 })
    )
    const own = predictions.find(({ agent_id }) => agent_id === honest)
    const { predicted_std, predicted_value, probabilities }: NewAnswer = answer
    const right = () => {
      if (probabilities !== undefined) {
        const [vector, reference] = [
          categories.map(({ name }) => probabilities[name] ?? 0),
          categories.map(({ probability }) => probability)
        ]
        return rpsScore(rps(vector, actual_value ?? -1), expectedRps(reference)).score
      }
      if (predicted_value === undefined || predicted_std === undefined) {
        const score = directionalScore(result === "bullish", BigDecimal.fromNumberUnsafe(0.5))
        return BigDecimal.toNumberUnsafe(score)
      }
      const scale = "reference_scale" in question ? (question.reference_scale ?? 0) : 0
      const { crps } = normalDistribution(predicted_value, predicted_std)
      return crpsScore(crps(actual_value ?? Number.NaN), scale).score
    }
    assert.strictEqual(own?.score, right(), `${"kind" in question ? question.kind : question.asset}`)
  }
  yield* ReferenceAgents.use((agents) => agents.poolDue)
  yield* moveTo(plus(monday, "9 days"))
  yield* Skill.use((skill) => skill.countDue)
  for (const { question } of items) {
    const { consensus } = yield* resultsOf(question)
    assert.isAbove(consensus?.owners ?? 0, 1)
  }
  yield* completeLog
  assert.deepStrictEqual((yield* Audit.use(({ verifyLog }) => verifyLog)).differences, [])
  assert.deepStrictEqual((yield* Audit.use(({ verifyStats }) => verifyStats)).differences, [])
  assert.deepStrictEqual(yield* ledgerFindings, [])
})

layer(testServer())("An extreme number recorded before the API had bounds", (it) => {
  it.effect("An extreme number of any field and kind settles, and leaves the honest answer's score", () =>
    Effect.gen(function* () {
      const world = yield* questions
      const [honest, ...others] = yield* subscribed(200)
      assert.isDefined(honest)
      let taken = 0
      for (const each of world.items) {
        yield* send(each, honest, each.answer)
        const answers = [...tiny, ...odd, ...large].flatMap((x) => answersWith(x, each))
        for (const [index, answer] of answers.entries()) {
          const agent = others[index]
          assert.isDefined(agent)
          // A refusal has an error of its own; a defect fails the test.
          const sent = yield* Effect.result(send(each, agent, answer))
          if (Result.isSuccess(sent)) taken += 1
        }
      }
      const macro = world.items.find(({ question }) => question.asset === "CPI")
      assert.isDefined(macro)
      for (const agent of [honest, ...others.slice(0, 3)]) {
        yield* fund(`agent:${agent}`, 100)
        yield* Pools.use((pools) =>
          pools.stake({
            agentId: agent,
            challengeId: macro.question.id,
            stake: { predicted_value: 3.2, amount: credits(50) },
            receivedAt: world.monday
          })
        )
      }
      assert.isAbove(taken, 200)
      yield* settleAll(world, honest)
      const [first] = others
      const record = yield* Skill.use((skill) => skill.profile(first ?? ""))
      assert.isAbove(record.overall?.answers ?? 0, 0)
      assert.strictEqual((yield* get(`/agents/${first}`)).status, 200)
    })
  )
})

/** The places of the numbers in an answer. */
const numbersIn = (
  value: unknown,
  path: ReadonlyArray<string> = []
): ReadonlyArray<ReadonlyArray<string>> => {
  if (typeof value === "number") return [path]
  if (!Predicate.isObject(value) && !Array.isArray(value)) return []
  return Object.entries(value).flatMap(([key, each]) => numbersIn(each, [...path, key]))
}

const replaced = (value: unknown, [key, ...path]: ReadonlyArray<string>, by: number): unknown => {
  if (key === undefined) return by
  if (Array.isArray(value)) {
    return value.map((each, index) => (String(index) === key ? replaced(each, path, by) : each))
  }
  return Predicate.isObject(value) ? { ...value, [key]: replaced(Reflect.get(value, key), path, by) } : value
}

/** The names of the fields of an answer that hold numbers, in the published document. */
const numericFields = (document: unknown, schema: unknown): ReadonlyArray<string> => {
  const fields = member(schema, "properties")
  return Object.keys(Predicate.isObject(fields) ? fields : {}).filter((name) =>
    /"type":"(number|integer)"/.test(JSON.stringify(resolved(document, member(fields, name))))
  )
}

const resolved = (document: unknown, schema: unknown): unknown => {
  const reference = member(schema, "$ref")
  return typeof reference === "string" ? member(document, ...reference.replace("#/", "").split("/")) : schema
}

const newStake = { predicted_value: 3, amount: 50 }

const forms = {
  direction: { direction: "bullish", confidence: 0.5, is_revision: true },
  probabilities: { probabilities: { bullish: 0.5, neutral: 0.25, bearish: 0.25 }, is_revision: true },
  yesOrNo: { probabilities: { bullish: 0.5, bearish: 0.5 }, is_revision: true },
  categories: { probabilities: { cut: 0.25, hold: 0.5, raise: 0.25 } },
  number: { predicted_value: 3, predicted_std: 1 },
  staked: { predicted_value: 3, predicted_std: 1, amount: 50 },
  expected: { predicted_value: 3, predicted_std: 1, expected_revision: 0 },
  quantiles: {
    quantiles: [
      { p: 0.1, value: 2 },
      { p: 0.5, value: 3 },
      { p: 0.9, value: 4 }
    ]
  },
  samples: { samples: times(10, (index) => index / 2) }
}

const generous = {
  AUSPEX_LIMIT_PREDICTIONS: "100000/minute",
  AUSPEX_LIMIT_REFUSED_WRITES: "100000/minute",
  AUSPEX_LIMIT_STAKES: "100000/minute",
  AUSPEX_REVISIONS: "100000"
}

/** An agent that was claimed at once: answers from before a claim count in no consensus. */
const staking = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const agent = yield* onboard({ requested_scopes: ["prediction:submit", "credits:stake"] })
  yield* sql`
    update agents set claimed_at = created_at, owner_id = ${yield* anotherOperator}::uuid, prediction_limit = null
     where id = ${agent.agentId}::uuid`
  const { access_token } = yield* issue(agent.agentId, agent.secret)
  return { ...agent, token: access_token }
})

layer(testServer({ environment: generous }))("Any number in any field that the document has", (it) => {
  it.effect("Any number in any field is taken or refused by name, and settles without harm (seed 29)", () =>
    Effect.gen(function* () {
      const uniform = uniforms(29)
      const { json: document } = yield* get("/openapi.json")
      const schema = member(document, "components", "schemas", "NewAnswer")
      const known = new Set(Object.values(forms).flatMap((form) => numbersIn(form).map(([name]) => name)))
      assert.sameMembers([...known], numericFields(document, schema).slice())
      assert.sameMembers(
        numbersIn(newStake).map(([name]) => name ?? ""),
        numericFields(document, member(document, "components", "schemas", "NewStake")).slice()
      )
      const world = yield* questions
      const [honest] = yield* subscribed(1)
      assert.isDefined(honest)
      const agents = yield* Effect.forEach(times(8, String), () => staking)
      for (const { agentId } of agents) {
        yield* Targets.use((targets) => targets.subscribe(AgentId.make(agentId), "ETH"))
        yield* fund(`agent:${agentId}`, 1000)
      }
      const extremes = [...tiny, ...odd, ...large, 1e308, -1e308, -1, 2 ** 53, 1e-7, 1 + 2 ** -52, 0.5]
      const draws = breadth([undefined, extremes], [undefined, extremes, extremes, extremes])
      const answered = new Map<number, number>()
      const staked = new Map<number, number>()
      for (const each of world.items) {
        yield* send(each, honest, each.answer)
        for (const form of Object.values(forms)) {
          for (const path of numbersIn(form)) {
            for (const numbers of draws) {
              const by = numbers?.[Math.floor(uniform() * numbers.length)]
              const { token } = agents[Math.floor(uniform() * agents.length)] ?? { token: "" }
              const answer = yield* post(`/api/v1/eval/challenges/${each.question.id}/predict`, {
                token,
                body: JSON.stringify(by === undefined ? form : replaced(form, path, by)),
                headers: { "content-type": "application/json" }
              })
              answered.set(answer.status, (answered.get(answer.status) ?? 0) + 1)
              assert.isBelow(answer.status, 500, `${path.join(".")} ${by}: ${answer.text}`)
            }
          }
        }
      }
      const pool = world.items.find(({ question }) => question.asset === "CPI")
      assert.isDefined(pool)
      for (const path of numbersIn(newStake)) {
        for (const by of [undefined, ...extremes]) {
          const { token } = agents[Math.floor(uniform() * agents.length)] ?? { token: "" }
          const answer = yield* post(`/api/v1/eval/macro/challenges/${pool.question.id}/stake`, {
            token,
            body: JSON.stringify(by === undefined ? newStake : replaced(newStake, path, by)),
            headers: { "content-type": "application/json" }
          })
          staked.set(answer.status, (staked.get(answer.status) ?? 0) + 1)
          assert.isBelow(answer.status, 500, `${path.join(".")} ${by}: ${answer.text}`)
        }
      }
      assert.isAbove(staked.get(201) ?? 0, 0)
      assert.isAbove(staked.get(400) ?? 0, 10)
      assert.isAbove((answered.get(200) ?? 0) + (answered.get(201) ?? 0), 50)
      assert.isAbove(answered.get(400) ?? 0, 50)
      yield* settleAll(world, honest)
    })
  )
})
