/** Answers in every form, through HTTP: sealed as they were sent, scored, shown, audited, proved and amended. */
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { crpsScore } from "../../src/scoring/crps.ts"
import {
  normalDistribution,
  quantileDistribution,
  sampleDistribution
} from "../../src/scoring/distributions.ts"
import { parseBody, parseEntry } from "../../src/scoring/verifier/entries.ts"
import { statementOf } from "../../src/scoring/verifier/statement.ts"
import { AgentId } from "../../src/services/domain/ids.ts"
import { emptyAnswer } from "../../src/services/domain/Prediction.ts"
import { Audit } from "../../src/services/Audit.ts"
import { Schedules } from "../../src/services/Schedules.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import { Targets } from "../../src/services/Targets.ts"
import { onboardClaimed } from "../support/agents.ts"
import {
  freshWeek,
  importQuotes,
  moveTo,
  newChallenge,
  newMacro,
  newPriceEvent,
  plus
} from "../support/challenges.ts"
import { times } from "../support/concurrently.ts"
import { asOwner } from "../support/database.ts"
import { fund } from "../support/credit.ts"
import { completeLog } from "../support/logbook.ts"
import { get, member, post, send, testServer, wrongFields } from "../support/server.ts"
import { textOf } from "../support/visitor.ts"
import { testAdminToken } from "../support/settings.ts"

const probabilities = { bullish: 0.7, neutral: 0.2, bearish: 0.1 }
const quantiles = [
  { p: 0.1, value: 2.9 },
  { p: 0.5, value: 3.1 },
  { p: 0.9, value: 3.4 }
]
const samples = times(10, (index) => 3 + index / 100)

const agentOfAsset = Effect.gen(function* () {
  yield* freshWeek
  const agent = yield* onboardClaimed()
  yield* Targets.use((targets) => targets.subscribe(AgentId.make(agent.agentId), "ETH"))
  return agent
})

const predictAt = (token: string, id: string, json: object) =>
  post(`/api/v1/eval/challenges/${id}/predict`, { token, json })

layer(testServer())("An answer by probabilities", (it) => {
  it.effect("An answer by probabilities is sealed as sent, scored by its largest, and shown everywhere", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const { agentId, token } = yield* onboardClaimed()
      const challenge = yield* newChallenge()
      const answer = yield* predictAt(token, challenge.id, { probabilities })
      assert.strictEqual(answer.status, 201, answer.text)
      assert.deepInclude(answer.json, {
        ...emptyAnswer,
        probabilities,
        direction: "bullish",
        confidence: 0.4
      })
      const body = String(member(answer.json, "receipt", "body"))
      assert.include(body, '"values":{"probabilities":{"bearish":0.1,"bullish":0.7,"neutral":0.2}}')

      yield* moveTo(plus(monday, "1 hour"))
      yield* importQuotes("GC", [[plus(monday, "1 hour"), 102]])
      yield* Scoring.use(({ settleDue }) => settleDue)
      yield* completeLog
      const results = yield* get(`/api/v1/eval/challenges/${challenge.id}/results`)
      assert.deepInclude(member(results.json, "predictions", 0), {
        probabilities,
        score: 70,
        is_correct: true
      })
      const scorecard = yield* get(`/api/v1/eval/agents/${agentId}/scorecard`)
      assert.deepInclude(member(scorecard.json, "predictions", 0), { probabilities, score: 70 })
      const page = yield* get(`/challenges/${challenge.id}`)
      assert.include(textOf(page), "Up 70 %, Flat 20 %, Down 10 %")
      assert.deepStrictEqual((yield* Audit.use(({ verifyLog }) => verifyLog)).differences, [])
      assert.deepStrictEqual((yield* Audit.use(({ verifyStats }) => verifyStats)).differences, [])
    })
  )

  it.effect("An answer by probabilities has probabilities, and no other values beside", () =>
    Effect.gen(function* () {
      const { token } = yield* agentOfAsset
      const challenge = yield* newChallenge()
      const bad = [
        [
          { probabilities: { bullish: 1.2, neutral: 0, bearish: -0.2 } },
          ["probabilities.bearish", "probabilities.bullish"]
        ],
        [{ probabilities: "bullish" }, ["probabilities"]],
        [{ probabilities, direction: "bullish", confidence: 0.4 }, ["confidence", "direction"]],
        [{ quantiles, samples }, ["samples"]]
      ] as const
      for (const [json, fields] of bad) {
        const answer = yield* predictAt(token, challenge.id, json)
        assert.deepStrictEqual<unknown>([answer.status, wrongFields(answer)], [400, fields], answer.text)
      }
    })
  )
})

layer(testServer())("A program without these forms", (it) => {
  const needed = SqlClient.SqlClient.use((sql) => sql`select min_program from instance`.values).pipe(
    Effect.map(([row]) => Number(row?.[0]))
  )

  it.effect("A program without these forms may use the database until the first answer in one of them", () =>
    Effect.gen(function* () {
      const challenge = yield* newMacro()
      const { token } = yield* onboardClaimed()
      const path = `/api/v1/eval/challenges/${challenge.id}/predict`
      const plain = { predicted_value: 3.1, predicted_std: 0.1 }
      assert.strictEqual((yield* post(path, { token, json: plain })).status, 201)
      assert.isBelow(yield* needed, 14)
      assert.strictEqual((yield* post(path, { token, json: { quantiles } })).status, 200)
      assert.strictEqual(yield* needed, 14)
    })
  )
})

layer(testServer())("A forecast by quantiles or samples", (it) => {
  it.effect(
    "Quantiles and samples are sealed as sent, scored by distribution, amended, audited, proved",
    () =>
      Effect.gen(function* () {
        const monday = yield* freshWeek
        const agents = yield* Effect.forEach([0, 1, 2], () => onboardClaimed())
        const macro = yield* newMacro()
        const forecasts = [{ quantiles }, { samples }, { predicted_value: 3.1, predicted_std: 0.1 }]
        const bodies: Array<string> = []
        for (const [index, { token }] of agents.entries()) {
          const { json, status, text } = yield* post("/api/v1/eval/predictions", {
            token,
            json: { predictions: [{ challenge_id: macro.id, ...forecasts[index] }] }
          })
          assert.strictEqual(status, 200, text)
          assert.strictEqual(member(json, "items", 0, "outcome"), "recorded", text)
          bodies.push(String(member(json, "items", 0, "receipt", "body")))
        }
        assert.include(bodies[0], '"values":{"quantiles":[{"p":0.1,"value":2.9},')
        assert.include(bodies[1], '"values":{"samples":[3,3.01,')

        yield* moveTo(plus(monday, "1 hour"))
        yield* Scoring.use(({ resolveMacro }) => resolveMacro(macro.id, 3.2))
        const shown = Effect.map(get(`/api/v1/eval/challenges/${macro.id}/results`), ({ json }) =>
          agents.map(({ agentId }) => {
            const all = member(json, "predictions")
            return Array.isArray(all) ? all.find((each) => member(each, "agent_id") === agentId) : undefined
          })
        )
        const scoresAt = (value: number) =>
          [quantileDistribution(quantiles), sampleDistribution(samples)].map(
            ({ crps }) => crpsScore(crps(value), 0.12).score
          )
        const first = yield* shown
        assert.deepInclude(first[0], { quantiles, samples: null, predicted_value: 3.1 })
        assert.deepInclude(first[1], { samples, quantiles: null, predicted_value: 3.045 })
        assert.deepStrictEqual(
          first.slice(0, 2).map((each) => member(each, "score")),
          scoresAt(3.2)
        )

        yield* post(`/api/v1/admin/challenges/${macro.id}/amend`, {
          token: testAdminToken,
          json: { actual_value: 3, reason: "It was revised." }
        })
        assert.deepStrictEqual(
          (yield* shown).slice(0, 2).map((each) => member(each, "score")),
          scoresAt(3)
        )
        yield* completeLog
        assert.deepStrictEqual((yield* Audit.use(({ verifyLog }) => verifyLog)).differences, [])
        assert.deepStrictEqual((yield* Audit.use(({ verifyStats }) => verifyStats)).differences, [])
        const page = yield* get(`/challenges/${macro.id}`)
        assert.include(textOf(page), "10 %: 2.9, 50 %: 3.1, 90 %: 3.4")
        assert.include(textOf(page), "10 samples: 3.045 ± 0.0287")
        const drawn = [...textOf(page).matchAll(/([\d.]+) to ([\d.]+) ([\d.]+) % (\d+)/g)].map((row) =>
          row.slice(1).map(Number)
        )
        assert.isAtLeast(drawn.length, 5)
        const distributions = [
          quantileDistribution(quantiles),
          sampleDistribution(samples),
          normalDistribution(3.1, 0.1)
        ]
        for (const [from = NaN, to = NaN, percent = NaN, count] of drawn) {
          const within = distributions.map(({ cdfBelow }) => cdfBelow(to) - cdfBelow(from))
          assert.closeTo(percent, (100 * within.reduce((sum, each) => sum + each, 0)) / 3, 0.0501, `${from}`)
          assert.strictEqual(
            count,
            [3.1, 3.045, 3.1].filter((centre) => centre >= from && centre < to).length
          )
        }

        const factsOf = (body: string) =>
          statementOf({
            entry: parseEntry('{"c":"00","challenge_id":"x","type":"prediction.commit"}'),
            prediction: parseBody(body),
            index: 1,
            size: 2
          }).facts
        assert.deepInclude(factsOf(bodies[0] ?? ""), [
          "Quantiles",
          "10 % at most 2.9, 50 % at most 3.1, 90 % at most 3.4"
        ])
        assert.deepInclude(factsOf(bodies[1] ?? ""), [
          "Samples",
          "10: 3, 3.01, 3.02, 3.03, 3.04, 3.05, 3.06, 3.07, 3.08, 3.09"
        ])
      })
  )

  it.effect("A wrong forecast is refused by its field, in a batch each item by itself", () =>
    Effect.gen(function* () {
      const { token } = yield* agentOfAsset
      const macro = yield* newMacro()
      const count = yield* newPriceEvent({ kind: "count_days" })
      const [low = { p: 0, value: 0 }, ...rest] = quantiles
      const items = [
        [{ quantiles: [...rest, low] }, ["quantiles.2"]],
        [{ quantiles: quantiles.slice(1) }, ["quantiles"]],
        [{ quantiles: [{ p: 0.001, value: 1 }, ...quantiles] }, ["quantiles.0.p"]],
        [{ samples: samples.slice(1) }, ["samples"]],
        [{ samples: times(1001, () => 3) }, ["samples"]],
        [{ samples: [...samples, "3"] }, ["samples.10"]],
        [{ quantiles: quantiles.map(({ p, value }) => ({ p, value: value * 1e13 })) }, ["quantiles"]]
      ] as const
      const sent = [
        ...items.map(([item]) => ({ challenge_id: macro.id, ...item })),
        { challenge_id: count.id, quantiles: quantiles.map(({ p, value }) => ({ p, value: value + 4 })) },
        { challenge_id: macro.id, samples: times(10, () => 3) }
      ]
      const { json, text } = yield* post("/api/v1/eval/predictions", { token, json: { predictions: sent } })
      for (const [index, [, fields]] of items.entries()) {
        const errors = member(json, "items", index, "error", "errors")
        assert.deepStrictEqual(
          Array.isArray(errors) ? errors.map((each) => member(each, "path")) : errors,
          fields,
          text
        )
      }
      assert.strictEqual(member(json, "items", items.length, "error", "errors", 0, "path"), "quantiles")
      assert.deepInclude(member(json, "items", items.length + 1), {
        outcome: "recorded",
        predicted_value: 3,
        predicted_std: 0
      })
    })
  )

  it.effect("The audit finds a difference where the values derived from a forecast were changed", () =>
    Effect.gen(function* () {
      const { agentId, token } = yield* agentOfAsset
      const macro = yield* newMacro({ period: "2026-04" })
      yield* predictAt(token, macro.id, { quantiles })
      yield* asOwner(
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          yield* sql`alter table predictions disable trigger user`
          yield* sql`update predictions set predicted_value = 3 where agent_id = ${agentId}::uuid`
          yield* sql`alter table predictions enable trigger user`
        })
      )
      yield* completeLog
      const { differences } = yield* Audit.use(({ verifyLog }) => verifyLog)
      assert.lengthOf(differences, 1)
      assert.include(differences[0], "predicted_value does not follow from its sealed body")
    })
  )
})

const categories = [
  { name: "cut 50", probability: 0.05 },
  { name: "cut 25", probability: 0.25 },
  { name: "hold", probability: 0.6 },
  { name: "raise 25", probability: 0.1 }
]
const vector = { "cut 50": 0.02, "cut 25": 0.18, hold: 0.75, "raise 25": 0.05 }

const createMacro = (json: object) =>
  post("/api/v1/admin/macro/challenges", {
    token: testAdminToken,
    json: { asset: "FOMC", reward_pool: 0, ...json }
  })

layer(testServer({ environment: { AUSPEX_SCHEDULES: "macro" } }))(
  "A question on ordered categories",
  (it) => {
    it.effect("Ordered categories are answered by a vector, staked on, and shown on the page", () =>
      Effect.gen(function* () {
        const monday = yield* freshWeek
        const deadline = DateTime.formatIso(plus(monday, "1 hour"))
        const { agentId, token } = yield* onboardClaimed({
          requested_scopes: ["prediction:submit", "credits:stake"]
        })
        const rival = yield* onboardClaimed()
        const made = yield* createMacro({ period: "2026-03", deadline, categories })
        assert.strictEqual(made.status, 201, made.text)
        const id = String(member(made.json, "id"))
        assert.deepInclude(made.json, { categories, unit: null, decimal_step: null })
        assert.deepInclude(member(made.json, "bins", 2), { index: 2, name: "hold" })
        assert.include(
          String(member(made.json, "resolution_criteria")),
          "cut 50 0.05, cut 25 0.25, hold 0.6, raise 25 0.1."
        )
        const open = yield* get(`/api/v1/eval/open/${id}`)
        assert.deepStrictEqual(member(open.json, "answer", "forms"), ["probabilities"])
        assert.deepStrictEqual(member(open.json, "answer", "categories"), categories)
        assert.deepStrictEqual(
          member(open.json, "answer", "schema", "properties", "probabilities", "required"),
          categories.map(({ name }) => name)
        )

        yield* fund(`agent:${agentId}`, 1000)
        const sent = yield* predictAt(token, id, { probabilities: vector, amount: 100 })
        assert.strictEqual(sent.status, 201, sent.text)
        assert.deepInclude(sent.json, { ...emptyAnswer, probabilities: vector })
        assert.strictEqual(member(sent.json, "stake", "bin"), 2)
        yield* predictAt(rival.token, id, { probabilities: vector })
        const again = yield* predictAt(rival.token, id, {
          probabilities: { "cut 50": 1, "cut 25": 0, hold: 0, "raise 25": 0 }
        })
        assert.deepInclude(again.json, { revision_count: 1 })

        yield* moveTo(plus(monday, "1 hour"))
        const resolve = (actual_value: number) =>
          post(`/api/v1/admin/macro/challenges/${id}/resolve`, {
            token: testAdminToken,
            json: { actual_value }
          })
        const none = yield* resolve(4)
        assert.include(none.text, "Expected the number of a category: 0 cut 50, 1 cut 25, 2 hold, 3 raise 25")
        assert.strictEqual((yield* resolve(2)).status, 200)
        const page = yield* get(`/challenges/${id}`)
        assert.include(textOf(page), "hold 75 %, cut 25 18 %, raise 25 5 %, cut 50 2 %")
        assert.include(page.text, "How likely agents thought each category")
      })
    )

    it.effect(
      "A question has at least three distinct categories, and a reference that leaves some doubt",
      () =>
        Effect.gen(function* () {
          const deadline = DateTime.formatIso(plus(yield* freshWeek, "1 hour"))
          const named = (...names: ReadonlyArray<string>) =>
            names.map((name, index) => ({ name, probability: [0.5, 0.25, 0.25][index] ?? 0 }))
          const bad = [
            [{ categories: named("up", "down") }, "categories"],
            [{ categories: named("up", "flat", "up") }, "categories.2.name"],
            [{ categories: named("up", "flat", "bullish") }, "categories.2.name"],
            [{ categories: named("up", "flat", "down").slice(0, 2).concat(named("down")) }, "categories"],
            [
              {
                categories: categories.map(({ name }, index) => ({ name, probability: Number(index === 1) }))
              },
              "categories"
            ],
            [{ categories, unit: "%" }, "unit"],
            [{ categories, bin_edges: [1, 2] }, "bin_edges"],
            [{}, "bin_edges"]
          ] as const
          for (const [json, field] of bad) {
            const answer = yield* createMacro({ period: "2026-04", deadline, ...json })
            assert.deepStrictEqual<unknown>([answer.status, wrongFields(answer)], [400, [field]], answer.text)
          }
        })
    )

    it.effect(
      "The release calendar makes questions on categories, and gives these back as they were set",
      () =>
        Effect.gen(function* () {
          const monday = yield* freshWeek
          const release_at = DateTime.formatIso(plus(monday, "2 days"))
          const releases = [{ asset: "FOMC", period: "2026-06", release_at, categories, reward_pool: 0 }]
          const calendar = "/api/v1/admin/release-calendar"
          const set = yield* send("PUT", calendar, { token: testAdminToken, json: { releases } })
          assert.strictEqual(set.status, 200, set.text)
          assert.deepStrictEqual<unknown>(set.json["releases"], releases)
          yield* Schedules.use(({ makeDue }) => makeDue)
          const { json } = yield* get("/api/v1/eval/open?asset=FOMC")
          assert.deepStrictEqual(member(json, "items", 0, "answer", "categories"), categories)
        })
    )
  }
)
