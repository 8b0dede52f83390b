/** Terms that differ as doubles and become equal with 15 digits are refused by name; ties with a meaning are taken. */
import { assert, describe, it, layer } from "@effect/vitest"
import { Context, DateTime, Effect, Layer, Schema } from "effect"
import { NewChallenge, NewMacroChallenge } from "../../src/services/domain/Challenge.ts"
import { AgentId } from "../../src/services/domain/ids.ts"
import { PlannedRelease } from "../../src/services/Schedules.ts"
import { TargetChange, Targets } from "../../src/services/Targets.ts"
import { onboardClaimed } from "../support/agents.ts"
import { breadth } from "../support/breadth.ts"
import { freshWeek, newMacro, newPriceEvent, plus } from "../support/challenges.ts"
import { numbersAround, problemsIn } from "../support/generated.ts"
import { post, send, testServer, wrongFields } from "../support/server.ts"
import { testAdminToken } from "../support/settings.ts"

const environment = {
  AUSPEX_LIMIT_PREDICTIONS: "10000/minute",
  AUSPEX_LIMIT_REFUSED_WRITES: "10000/minute",
  AUSPEX_REVISIONS: "10000"
}

/** The number with the digits that are frozen: its shortest decimal, rounded to 15 digits. */
const frozen = (x: number) => {
  const [mantissa = "", exponent] = Math.abs(x).toExponential().split("e")
  const digits = mantissa.replace(".", "").padEnd(16, "0")
  const kept = BigInt(digits.slice(0, 15)) + (Number(digits[15]) >= 5 ? 1n : 0n)
  return Math.sign(x) * Number(`${kept}e${Number(exponent) - 14}`)
}

/** An edge, and the distances from each one to the next, as shares of it. */
const Edges = Schema.Struct({
  first: Schema.Union([
    Schema.Finite.check(Schema.isBetween({ minimum: 1e-11, maximum: 1e14 })),
    Schema.Literals([0, -0, 0.1 + 0.2, 0.3, 0.7, 4.35, 99.9, 100, 1e14, 123456.789012345])
  ]),
  isNegative: Schema.Boolean,
  steps: Schema.Array(
    Schema.Literals([0, 2 ** -53, 2 ** -52, 1e-15, 3e-15, 1e-14, 1e-12, 1e-3, 1, -(2 ** -52), -1e-3])
  ).check(Schema.isMaxLength(3))
})

describe("Frozen terms", () => {
  const day = "2026-03-10T00:00:00Z"
  const macro = { asset: "CPI", period: "2026-03", deadline: day, release_at: day, reward_pool: 0 }
  const ofChallenge = problemsIn(NewMacroChallenge)
  const ofRelease = problemsIn(PlannedRelease)

  it.prop(
    "Edges are refused by name unless each is above the one before it with 15 digits",
    [Edges],
    ([{ first, isNegative, steps }]) => {
      const edges = [isNegative ? -first : first]
      for (const step of steps) {
        const last = edges.at(-1) ?? first
        edges.push(last + Math.abs(last) * step)
      }
      const ascend = edges.every(
        (edge, index) => index === 0 || frozen(edge) > frozen(edges[index - 1] ?? edge)
      )
      for (const problems of [ofChallenge, ofRelease]) {
        const paths = problems({ ...macro, bin_edges: edges }).map(({ path }) => path)
        assert.deepStrictEqual(paths, ascend ? [] : ["bin_edges"], edges.join())
      }
    },
    { arbitrary: { runs: 2000 } }
  )

  it.prop(
    "A dead zone is refused by name unless it is from 0 up to, with 15 digits, less than 100",
    [numbersAround(1e-9, 0.1 + 0.2, 99.9999999999999, 100 - 4e-14, 100 - 1.5e-14, 100)],
    ([dead_zone_pct]) => {
      const expected = dead_zone_pct >= 0 && frozen(dead_zone_pct) < 100 ? [] : ["dead_zone_pct"]
      const terms = { asset: "GC", deadline: day, resolve_at: day, open_price: 100, dead_zone_pct }
      for (const problems of [problemsIn(NewChallenge)(terms), problemsIn(TargetChange)({ dead_zone_pct })]) {
        assert.deepStrictEqual(
          problems.map(({ path }) => path),
          expected
        )
      }
    },
    { arbitrary: { runs: 2000 } }
  )
})

layer(testServer({ environment }))("Terms of an administrator", (it) => {
  const admin = (method: "POST" | "PUT" | "PATCH", path: string, json: object) =>
    send(method, `/api/v1/admin/${path}`, { token: testAdminToken, json })

  it.effect(
    "Edges and dead zones that 15 digits do not tell apart are 400 by name, wherever they are set",
    () =>
      Effect.gen(function* () {
        const monday = yield* freshWeek
        const [deadline = "", release_at = ""] = [1, 2].map((hours) =>
          DateTime.formatIso(plus(monday, `${hours} hours`))
        )
        const sent = (bin_edges: ReadonlyArray<number>, dead_zone_pct: number) => {
          const macro = {
            asset: "CPI",
            deadline,
            release_at,
            reference_scale: 0.1,
            bin_edges,
            reward_pool: 0
          }
          const gold = { asset: "GC", deadline, resolve_at: deadline, open_price: 100, dead_zone_pct }
          return Effect.all([
            admin("POST", "macro/challenges", { ...macro, period: "2026-03" }),
            admin("PUT", "release-calendar", { releases: [{ ...macro, period: "2026-04" }] }),
            admin("POST", "challenges", gold),
            admin("PATCH", "targets/GC", { dead_zone_pct })
          ])
        }
        const taken = yield* sent([-1e15, 0.3, 0.300000000000001, 1e15], 99.9999999999999)
        assert.deepStrictEqual(
          taken.map(({ status }) => status),
          [201, 200, 201, 200]
        )
        const refused = yield* sent([0.3, 0.1 + 0.2], 99.99999999999999)
        assert.deepStrictEqual(
          refused.map((answer) => [answer.status, ...wrongFields(answer)].join(" ")),
          ["400 bin_edges", "400 releases.0.bin_edges", "400 dead_zone_pct", "400 dead_zone_pct"]
        )
      })
  )
})

/** An agent with questions whose outcomes come in steps, and one whose outcomes do not. */
class Questions extends Context.Service<Questions, Effect.Success<typeof makeQuestions>>()(
  "auspex/test/Questions"
) {}

const makeQuestions = Effect.gen(function* () {
  yield* freshWeek
  const { agentId, token } = yield* onboardClaimed()
  yield* Targets.use((targets) => targets.subscribe(AgentId.make(agentId), "ETH"))
  const inSteps = [yield* newMacro(), yield* newPriceEvent({ kind: "count_days" })]
  const close = yield* newPriceEvent({ kind: "numeric_close" })
  const answer = (id: string, values: ReadonlyArray<number>) =>
    post(`/api/v1/eval/challenges/${id}/predict`, {
      token,
      json: { quantiles: values.map((value, index) => ({ p: ps[index], value })) }
    })
  return { inSteps, close, answer }
})

const ps = [0.1, 0.25, 0.5, 0.75, 0.9]

const Values = Schema.Struct({
  days: Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 7 }))).check(
    Schema.isMinLength(5),
    Schema.isMaxLength(5)
  ),
  isSorted: Schema.Boolean
})

layer(Layer.effect(Questions, makeQuestions).pipe(Layer.provideMerge(testServer({ environment }))))(
  "Quantiles that tie",
  (it) => {
    it.effect.prop(
      "Quantiles that tie are taken where outcomes come in steps, and refused by name elsewhere",
      [Values],
      ([{ days, isSorted }]) =>
        Effect.gen(function* () {
          const { answer, close, inSteps } = yield* Questions
          const values = isSorted ? days.toSorted((a, b) => a - b) : days
          const rises = values.map((value, index) => value - (values[index - 1] ?? -1))
          const isSpread = rises.every((rise) => rise >= 0) && values.at(-1) !== values[0]
          const taken = [
            ...inSteps.map(({ id }) => [id, isSpread] as const),
            [close.id, isSpread && rises.every((rise) => rise > 0)] as const
          ]
          for (const [id, isTaken] of taken) {
            const told = yield* answer(id, values)
            if (isTaken) assert.oneOf(told.status, [200, 201], told.text)
            else {
              assert.strictEqual(told.status, 400, values.join())
              assert.match(String(wrongFields(told)[0]), /^quantiles/)
            }
          }
        }),
      { arbitrary: { runs: breadth(40, 500) } }
    )
  }
)
