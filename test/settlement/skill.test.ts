/** Skill and evidence, beside a recomputation by hand from public prices and from the papers, which shares no code with ours. */
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Random, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { Audit } from "../../src/services/Audit.ts"
import { Amendments } from "../../src/services/Amendments.ts"
import type { NewAnswer } from "../../src/services/domain/Answer.ts"
import type { AgentId } from "../../src/services/domain/ids.ts"
import { Registry } from "../../src/services/Registry.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import type { LeaderboardQuery } from "../../src/services/Scoring.ts"
import { Skill } from "../../src/services/Skill.ts"
import { Targets } from "../../src/services/Targets.ts"
import { agentOf, agentsApart, anotherOperator, provisionalAgent } from "../support/agents.ts"
import {
  forecast,
  freshWeek,
  importCandles,
  importQuotes,
  moveTo,
  newChallenge,
  newMacro,
  newPriceEvent,
  plus,
  submit
} from "../support/challenges.ts"
import { findOne } from "../../src/layers/postgres/sql.ts"
import { asOwner, rowsOf } from "../support/database.ts"
import { differencesAfter, withoutTriggers } from "../support/tampering.ts"
import { allPages, firstPage } from "../support/paging.ts"
import { testServices } from "../support/services.ts"

const settle = Scoring.use((scoring) => scoring.settleDue)
/** Counts the day before, after an hour. */
const count = Effect.andThen(
  TestClock.adjust("1 hour"),
  Skill.use((skill) => skill.countDue)
)
const board = (query: LeaderboardQuery = {}, page = firstPage) =>
  Scoring.use((scoring) => scoring.leaderboard({ order: "skill", ...query }, page))
const differences = Effect.map(
  Audit.use(({ verifyStats }) => verifyStats),
  (audit) => audit.differences
)

/** Hourly closes of a walk around 100 until an hour, the last one at it. */
const walk = (hours: number, seed: string) =>
  Effect.gen(function* () {
    const closes = [100]
    for (let index = 1; index < hours; index++) {
      const step = (yield* Random.nextIntBetween(-10, 10)) / 1500
      closes.push(Number(((closes.at(-1) ?? 100) * (1 + step)).toFixed(3)))
    }
    return closes
  }).pipe(Random.withSeed(seed))

const importWalk = (asset: string, last: DateTime.Utc, closes: ReadonlyArray<number>) =>
  importCandles(
    asset,
    "1h",
    closes.map((close, index) => [plus(last, `${index - closes.length} hours`), close] as const)
  )

// Computation by hand.

const simpson = (of: (x: number) => number, from: number, to: number, parts = 4000) => {
  const width = (to - from) / parts
  let sum = of(from) + of(to)
  for (let index = 1; index < parts; index++) sum += of(from + index * width) * (index % 2 ? 4 : 2)
  return (sum * width) / 3
}
const phi = (z: number) => Math.exp(-0.5 * z * z) / Math.sqrt(2 * Math.PI)
const Phi = (z: number) => 0.5 + Math.sign(z) * simpson(phi, 0, Math.min(12, Math.abs(z)))

/** RiskMetrics on returns of this many hours, per hour. */
const volatility = (closes: ReadonlyArray<number>, hours: number) => {
  const month = closes.slice(-720)
  let [top, bottom] = [0, 0]
  for (let index = hours; index < month.length; index++) {
    const weight = 0.94 ** ((month.length - 1 - index) / 24)
    top += weight * Math.log((month[index] ?? 1) / (month[index - hours] ?? 1)) ** 2
    bottom += weight
  }
  return Math.sqrt(top / bottom / hours)
}

const brier = (p: ReadonlyArray<number>, outcome: number) =>
  p.map((each, index) => (each - (index === outcome ? 1 : 0)) ** 2).reduce((sum, each) => sum + each)
const impurity = (q: ReadonlyArray<number>) =>
  1 - q.map((each) => each * each).reduce((sum, each) => sum + each)

/** The skill of a vector, and its skill in its own span. */
const skillByHand = (
  said: ReadonlyArray<number>,
  reference: ReadonlyArray<number>,
  first: ReadonlyArray<number>,
  outcome: number
) => {
  const skills = said.map((_, k) => (brier(reference, k) - brier(said, k)) / impurity(first))
  const skill = skills[outcome] ?? Number.NaN
  return [skill, skill / Math.max(0.25, ...skills.map((each) => Math.abs(each)))] as const
}

const crpsByHand = (cdf: (x: number) => number, outcome: number, from: number, to: number) =>
  simpson((x) => cdf(x) ** 2, from, outcome, 2000) + simpson((x) => (1 - cdf(x)) ** 2, outcome, to, 2000)

const Earned = Schema.Struct({ skill: Schema.NullOr(Schema.Finite), bounded: Schema.NullOr(Schema.Finite) })

const earned = (challenge: { readonly id: string }, agent: AgentId) =>
  Effect.map(
    rowsOf(
      Earned,
      (sql) => sql`
        select reference_skill::float8 as skill, bounded_skill::float8 as bounded from prediction_scores
         where challenge_id = ${challenge.id}::uuid and agent_id = ${agent}::uuid order by version desc limit 1`
    ),
    ([row]) => [row?.skill ?? null, row?.bounded ?? null] as const
  )

const isClose = (
  found: readonly [number | null, number | null],
  expected: readonly [number, number],
  what: string
) => {
  assert.closeTo(found[0] ?? Number.NaN, expected[0], 1e-9, what)
  assert.closeTo(found[1] ?? Number.NaN, expected[1], 1e-9, what)
}

layer(testServices())("Skill against the reference", (it) => {
  it.effect("Skill is against a random walk that knew the same price when the answer came", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const before = yield* walk(1000, "before")
      yield* importWalk("ETH", now, before)
      const price = before.at(-1) ?? 100
      const agents = yield* agentsApart(4)
      const [a, b, c, d] = agents as [AgentId, AgentId, AgentId, AgentId]
      for (const agent of agents) yield* Targets.use((targets) => targets.subscribe(agent, "ETH"))
      const deadline = plus(now, "3 hours")
      const up = yield* newChallenge({
        asset: "ETH",
        open_price: price,
        dead_zone_pct: 0.5,
        deadline,
        resolve_at: plus(now, "4 hours")
      })
      const midnight = plus(now, "1 day")
      const [low, middle, high] = [Math.round(price) - 3, Math.round(price), Math.round(price) + 3] as const
      const [level, target] = [Number((price * 1.003).toFixed(2)), Number((price * 1.02).toFixed(2))]
      const terms = { deadline, resolve_at: midnight }
      const threshold = yield* newPriceEvent({ kind: "threshold", level, ...terms })
      const barrier = yield* newPriceEvent({
        kind: "barrier",
        level: target,
        window_from: deadline,
        ...terms
      })
      const close = yield* newPriceEvent({ kind: "numeric_close", reference_scale: 2, ...terms })
      const days = yield* newPriceEvent({ kind: "count_days", deadline, resolve_at: plus(now, "7 days") })
      const send = (agentId: AgentId, challenge: { readonly id: string }, answer: NewAnswer) =>
        Effect.flatMap(DateTime.now, (receivedAt) =>
          submit({
            agentId,
            challengeId: challenge.id,
            type: challenge === up ? "directional" : "price_event",
            answer,
            receivedAt
          })
        )
      yield* send(a, up, { direction: "bullish", confidence: 0.3 })
      yield* send(b, up, { probabilities: { bullish: 0.2, neutral: 0.5, bearish: 0.3 } })
      yield* send(a, threshold, { direction: "bearish", confidence: 0.25 })
      yield* send(a, barrier, { direction: "bullish", confidence: 0.1 })
      yield* send(a, close, { predicted_value: price + 0.4, predicted_std: 1.5 })
      yield* send(a, days, { predicted_value: 4, predicted_std: 1 })
      // The walk goes on, and two agents answer when they have seen it.
      const after = yield* walk(170, "after")
      const later = after.map((each) => Number(((each * price) / 100).toFixed(3)))
      const importUntil = (hours: number) =>
        importCandles(
          "ETH",
          "1h",
          later.slice(0, hours).map((each, index) => [plus(now, `${index} hours`), each] as const)
        )
      const seen = plus(now, "2 hours")
      yield* moveTo(plus(seen, "10 minutes"))
      yield* importUntil(2)
      yield* send(c, up, { direction: "bearish", confidence: 0.8 })
      yield* send(c, threshold, { probabilities: { bullish: 0.7, bearish: 0.3 } })
      yield* send(c, barrier, { direction: "bearish", confidence: 0.4 })
      yield* send(c, close, {
        quantiles: [
          { p: 0.1, value: low },
          { p: 0.5, value: middle },
          { p: 0.9, value: high }
        ]
      })
      yield* send(d, days, { samples: [1, 2, 3, 3, 4, 4, 5, 5, 6, 7] })
      yield* moveTo(plus(midnight, "1 hour"))
      yield* importUntil(25)
      yield* settle
      // The day of the settlement is not over yet.
      const ofToday = yield* Skill.use((skill) => skill.profile(b))
      assert.deepStrictEqual([ofToday.hours, ofToday.directions], [[], []])
      yield* moveTo(plus(now, "169 hours"))
      yield* importUntil(169)
      yield* settle

      const known = later[1] ?? 0
      const [v4, v24] = [volatility(before, 4), volatility(before, 24)]
      const directional = (P: number, hours: number) => {
        const sd = v4 * Math.sqrt(hours)
        const [over, under] = [Math.log((price * 1.005) / P) / sd, Math.log((price * 0.995) / P) / sd]
        return [1 - Phi(over), Phi(over) - Phi(under), Phi(under)]
      }
      const final = later[3] ?? 0
      const outcome = final > price * 1.005 ? 0 : 1 + Number(final < price * 0.995)
      const first = directional(price, 4)
      isClose(yield* earned(up, a), skillByHand([0.65, 0.175, 0.175], first, first, outcome), "direction")
      isClose(yield* earned(up, b), skillByHand([0.2, 0.5, 0.3], first, first, outcome), "vector")
      isClose(
        yield* earned(up, c),
        skillByHand([0.05, 0.05, 0.9], directional(known, 2), first, outcome),
        "waited"
      )

      const above = (P: number, hours: number) => {
        const p = 1 - Phi(Math.log(level / P) / (v24 * Math.sqrt(hours)))
        return [p, 1 - p]
      }
      const day = later[23] ?? 0
      const over = day >= level ? 0 : 1
      isClose(
        yield* earned(threshold, a),
        skillByHand([0.375, 0.625], above(price, 24), above(price, 24), over),
        "threshold"
      )
      isClose(
        yield* earned(threshold, c),
        skillByHand([0.7, 0.3], above(known, 22), above(price, 24), over),
        "threshold, waited"
      )

      const touches = (P: number, ahead: number) => {
        const [wait, run] = [v24 * Math.sqrt(ahead), v24 * Math.sqrt(21)]
        const b = Math.log(target / P)
        const of = (z: number) => phi(z) * 2 * (1 - Phi(Math.abs(b - wait * z) / run))
        const bend = b / wait
        const p = simpson(of, -9, Math.min(9, bend), 600) + (bend < 9 ? simpson(of, bend, 9, 600) : 0)
        return [p, 1 - p]
      }
      const touched = later.slice(3, 24).some((each) => each === target) ? 0 : 1
      isClose(
        yield* earned(barrier, a),
        skillByHand([0.55, 0.45], touches(price, 3), touches(price, 3), touched),
        "barrier"
      )
      isClose(
        yield* earned(barrier, c),
        skillByHand([0.3, 0.7], touches(known, 1), touches(price, 3), touched),
        "barrier, waited"
      )

      const normal = (mean: number, sd: number) =>
        crpsByHand(
          (x) => Phi((x - mean) / sd),
          day,
          Math.min(mean, day) - 10 * sd,
          Math.max(mean, day) + 10 * sd
        )
      const expected = (price * v24 * Math.sqrt(24)) / Math.sqrt(Math.PI)
      const numeric = (skill: number) => [skill, Math.max(-1, Math.min(1, skill / 4))] as const
      isClose(
        yield* earned(close, a),
        numeric((normal(price, price * v24 * Math.sqrt(24)) - normal(price + 0.4, 1.5)) / expected),
        "close"
      )
      const tail = 0.1 / (0.4 / 3)
      const quantiles = (x: number) => {
        if (x < low) return 0.1 * Math.exp((x - low) / tail)
        return x > high ? 1 - 0.1 * Math.exp((high - x) / tail) : 0.1 + ((x - low) * 0.4) / 3
      }
      const parts = [low - 40, low, middle, high, high + 40].flatMap((x, index, all) => {
        const next = all[index + 1]
        if (next === undefined) return []
        return x < day && day < next ? [[x, day] as const, [day, next] as const] : [[x, next] as const]
      })
      const ofQuantiles = parts
        .map(([from, to]) =>
          simpson((x) => (quantiles(x) - ((from + to) / 2 > day ? 1 : 0)) ** 2, from, to, 2000)
        )
        .reduce((sum, each) => sum + each)
      isClose(
        yield* earned(close, c),
        numeric((normal(known, known * v24 * Math.sqrt(22)) - ofQuantiles) / expected),
        "quantiles, waited"
      )

      const ends = [price, ...Array.from({ length: 7 }, (_, index) => later[index * 24 + 23] ?? 0)]
      const ups = ends.slice(1).filter((each, index) => each > (ends[index] ?? 0)).length
      const choose = (n: number, k: number): number => (k === 0 ? 1 : (choose(n, k - 1) * (n - k + 1)) / k)
      const binomial = (n: number) => Array.from({ length: n + 1 }, (_, k) => choose(n, k) / 2 ** n)
      const steps = (pmf: ReadonlyArray<number>) => {
        let F = 0
        return pmf.slice(0, 7).map((p) => (F += p))
      }
      const rpsByHand = (pmf: ReadonlyArray<number>, y: number) =>
        steps(pmf).reduce((sum, F, k) => sum + (F - (y <= k ? 1 : 0)) ** 2, 0)
      const spread = steps(binomial(7)).reduce((sum, F) => sum + F * (1 - F), 0)
      const ofNormal = crpsByHand((x) => Phi(x - 4), ups, -8, 16)
      isClose(yield* earned(days, a), numeric((rpsByHand(binomial(7), ups) - ofNormal) / spread), "days")
      const isUp = 1 - Phi(Math.log(price / known) / (v24 * Math.sqrt(22)))
      const six = [...binomial(6), 0]
      const mixed = six.map((p, k) => p * (1 - isUp) + (six[k - 1] ?? 0) * isUp)
      const drawn = [1, 2, 3, 3, 4, 4, 5, 5, 6, 7]
      const mean = (of: (x: number) => number) => drawn.reduce((sum, x) => sum + of(x), 0) / drawn.length
      const ofSamples = mean((x) => Math.abs(x - ups)) - mean((x) => mean((y) => Math.abs(x - y))) / 2
      isClose(yield* earned(days, d), numeric((rpsByHand(mixed, ups) - ofSamples) / spread), "samples")

      // The steps are public.
      const reference = yield* Skill.use((skill) => skill.referenceOf(up.id))
      assert.isTrue(reference.final)
      assert.deepStrictEqual(
        reference.steps.map(({ from, price: knownPrice }) => [from, knownPrice]),
        [now, plus(now, "1 hour"), seen, deadline].map((moment, index) => [
          DateTime.formatIso(moment),
          [price, ...later][index] ?? null
        ])
      )
      assert.deepStrictEqual(yield* differences, [])

      // The vector of agent b, and the score of a version that kept no probabilities.
      const stated = Effect.gen(function* () {
        yield* TestClock.adjust("1 day")
        yield* Skill.use((skill) => skill.countDue)
        const { directions } = yield* Skill.use((skill) => skill.profile(b))
        return directions.map((each) => [each.answers, each.stated])
      })
      assert.deepStrictEqual(yield* stated, [[1, 0.5]])
      const sql = yield* SqlClient.SqlClient
      yield* withoutTriggers(
        ["prediction_scores"],
        sql`update prediction_scores set probability = null where challenge_id = ${up.id}::uuid`
      )
      assert.deepStrictEqual(yield* stated, [])
    })
  )

  it.effect("Changed skill is named by the check of figures, whichever part of it was changed", () =>
    Effect.gen(function* () {
      const changes = [
        ["reference_skill", "reference_skill + 0.000001"],
        ["bounded_skill", "bounded_skill * 0.999999"],
        ["probability", "probability + 0.000001"]
      ] as const
      const { agent_id, challenge_id } = yield* findOne(
        Schema.Struct({ agent_id: Schema.String, challenge_id: Schema.String })
      )(
        (yield* SqlClient.SqlClient)`
          select agent_id::text, challenge_id::text from prediction_scores where probability < 1 order by 1, 2 limit 1`
      )
      for (const [column, value] of changes) {
        const named = yield* differencesAfter(
          (sql) => sql`
            update prediction_scores set ${sql(column)} = ${sql.literal(value)}
             where agent_id = ${agent_id}::uuid and challenge_id = ${challenge_id}::uuid`
        )
        assert.include(named, `skill in challenge ${challenge_id}: ${agent_id}`, `${column} = ${value}`)
      }
      assert.deepStrictEqual(yield* differences, [])
    })
  )

  it.effect("Skill is against base rates where no price is known, equal ones under 60 periods", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const [agent] = (yield* agentsApart(1)) as [AgentId]
      const deadline = plus(now, "1 hour")
      const challenge = yield* newChallenge({ asset: "HG", deadline })
      yield* submit({
        agentId: agent,
        challengeId: challenge.id,
        type: "directional",
        answer: { direction: "bullish", confidence: 0.5 },
        receivedAt: yield* DateTime.now
      })
      yield* moveTo(plus(deadline, "1 minute"))
      yield* importCandles("HG", "1h", [[now, 103]])
      yield* settle
      const thirds = [1 / 3, 1 / 3, 1 / 3]
      isClose(yield* earned(challenge, agent), skillByHand([0.75, 0.125, 0.125], thirds, thirds, 0), "thirds")
    })
  )

  it.effect("Skill keeps the base rates known when the question was made, whatever is amended later", () =>
    Effect.gen(function* () {
      const [agent] = (yield* agentsApart(1)) as [AgentId]
      const now = yield* freshWeek
      const past = []
      for (let index = 0; index < 62; index++) {
        const deadline = plus(now, { minutes: index + 1 })
        past.push(yield* newChallenge({ asset: "CL", deadline }))
        yield* importQuotes("CL", [[deadline, index % 3 === 0 ? 103 : 97]])
      }
      yield* moveTo(plus(now, "2 hours"))
      yield* settle
      // Quotes make no volatility.
      const question = yield* newChallenge({ asset: "CL", deadline: plus(now, "3 hours") })
      yield* submit({
        agentId: agent,
        challengeId: question.id,
        type: "directional",
        answer: { direction: "bearish", confidence: 0.5 },
        receivedAt: yield* DateTime.now
      })
      yield* importQuotes("CL", [[plus(now, "3 hours"), 97]])
      yield* moveTo(plus(now, "4 hours"))
      yield* settle
      const rates = [21 / 62, 0, 41 / 62]
      isClose(
        yield* earned(question, agent),
        skillByHand([0.125, 0.125, 0.75], rates, rates, 2),
        "base rates"
      )
      const [first] = past
      yield* Amendments.use((amendments) =>
        amendments.amend(first?.id ?? "", { close_price: 100, reason: "The exchange corrected its close." })
      )
      assert.deepStrictEqual(yield* differences, [])
    })
  )

  it.effect("Skill of a macro value is against its scale, and of categories against their vector", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const [agent] = (yield* agentsApart(1)) as [AgentId]
      const number = yield* newMacro()
      const asked = yield* newMacro({
        asset: "FOMC",
        categories: [
          { name: "cut", probability: 0.25 },
          { name: "hold", probability: 0.5 },
          { name: "raise", probability: 0.25 }
        ],
        reference_scale: undefined,
        bin_edges: undefined
      } as never)
      yield* forecast(agent, number, { predicted_value: 3.2, predicted_std: 0.1 })
      yield* submit({
        agentId: agent,
        challengeId: asked.id,
        type: "macro",
        answer: { probabilities: { cut: 0.6, hold: 0.3, raise: 0.1 } },
        receivedAt: yield* DateTime.now
      })
      yield* moveTo(plus(yield* DateTime.now, "2 hours"))
      const scoring = yield* Scoring
      yield* scoring.resolveMacro(number.id, 3)
      yield* scoring.resolveMacro(asked.id, 0)
      const loss = crpsByHand((x) => Phi((x - 3.2) / 0.1), 3, 1.5, 4.5)
      const skill = 1 - (loss * Math.sqrt(Math.PI)) / 0.12
      isClose(yield* earned(number, agent), [skill, skill / 4], "number")
      const rps = (k: number) => (0.6 - (k <= 0 ? 1 : 0)) ** 2 + (0.9 - (k <= 1 ? 1 : 0)) ** 2
      const skills = [0, 1, 2].map((k) => 1 - rps(k) / (0.25 * 0.75 * 2))
      isClose(
        yield* earned(asked, agent),
        [skills[0] ?? 0, (skills[0] ?? 0) / Math.max(0.25, ...skills.map(Math.abs))],
        "categories"
      )
    })
  )
})

/** The evidence of daily sums and counts, as the papers and docs/scoring.md define it. */
const evidenceByHand = (days: ReadonlyArray<{ readonly sum: number; readonly n: number }>, tries: number) => {
  const volumes: Array<number> = []
  const z = days.map(({ n, sum }) => {
    const before = volumes.at(-1)
    const expected = before === undefined ? n : 0.98 * before
    volumes.push(Math.max(n, expected))
    return Math.max(-1, sum / (sum < 0 ? expected : Math.max(n, expected)))
  })
  const y = z.map((each) => 0.5 + each / 2)
  const total = (values: ReadonlyArray<number>) => values.reduce((sum, each) => sum + each, 0)
  const muHat = (t: number) => (0.5 + total(y.slice(0, t))) / (t + 1)
  const varHat = (t: number) =>
    (0.25 + total(y.slice(0, t).map((each, i) => (each - muHat(i + 1)) ** 2))) / (t + 1)
  const lambda = y.map((_, i) =>
    Math.min(0.75, Math.sqrt((2 * Math.log(2 / 0.05)) / (varHat(i) * (i + 1) * Math.log(i + 2))))
  )
  const psi = (l: number) => (-Math.log(1 - l) - l) / 4
  const penalty = total(y.map((each, i) => 4 * (each - muHat(i)) ** 2 * psi(lambda[i] ?? 0)))
  const weight = total(lambda)
  const centre = total(lambda.map((l, i) => l * (y[i] ?? 0))) / weight
  const radius = (Math.log(2 / (0.05 / tries)) + penalty) / weight
  const wealth = z.reduce((product, each, i) => {
    const edge = 2 * muHat(i) - 1
    const bet = Math.max(0, Math.min(0.9, edge / (4 * varHat(i) + edge * edge)))
    return product * (1 + bet * each)
  }, 1)
  const clipped = (x: number) => 2 * Math.max(0, Math.min(1, x)) - 1
  return { wealth, sequence: [clipped(centre - radius), clipped(centre + radius)] as const }
}

const Answer = Schema.Struct({
  day: Schema.String,
  agent: Schema.String,
  challenge: Schema.String,
  skill: Schema.Finite,
  bounded: Schema.Finite
})

const answers = (target: string) =>
  rowsOf(
    Answer,
    (sql) => sql`
      select t.day::text, s.agent_id::text as agent, s.challenge_id::text as challenge, s.reference_skill::float8 as skill,
             s.bounded_skill::float8 as bounded
        from settlements t join prediction_scores s using (challenge_id, version)
        join challenges c on c.id = t.challenge_id
       where c.target = ${target} and t.version = (select max(version) from settlements l where l.challenge_id = t.challenge_id)
       order by t.day`
  )

/** The number of days from which an agent of this board has a rank on pages. */
const manyDays = 12

layer(testServices({ AUSPEX_RANK_MIN_COUNT: "2", AUSPEX_RANK_MIN_DAYS: "12" }))("A board of skill", (it) => {
  /** A question a day on gold for some days, from the next hour on, which agents answer by chance. */
  const season = Effect.fnUntraced(function* (agents: ReadonlyArray<AgentId>, days: number) {
    const made: Array<{ readonly id: string }> = []
    for (let day = 0; day < days; day++) {
      const now = yield* DateTime.now
      const deadline = plus(now, "1 hour")
      for (const asset of ["GC", "ES"]) {
        const challenge = yield* newChallenge({ asset, deadline })
        made.push(challenge)
        for (const agent of agents) {
          if ((yield* Random.nextIntBetween(0, 10)) < 2) continue
          yield* submit({
            agentId: agent,
            challengeId: challenge.id,
            type: "directional",
            answer: {
              direction: (yield* Random.nextBoolean) ? "bullish" : "neutral",
              confidence: (yield* Random.nextIntBetween(0, 10)) / 10
            },
            receivedAt: now
          })
        }
      }
      yield* moveTo(deadline)
      const price = (yield* Random.nextIntBetween(98, 103)) + 0.5
      yield* importCandles("GC", "1h", [[now, price]])
      yield* importCandles("ES", "1h", [[now, price - 1]])
      yield* settle
      yield* moveTo(plus(now, "1 day"))
    }
    return made
  })

  it.effect("A board of skill equals a day-by-day recomputation by hand, whatever is amended", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const owner = yield* anotherOperator
      const [one, two] = [yield* agentOf(owner), yield* agentOf(owner)]
      const others = yield* agentsApart(3)
      const unclaimed = yield* provisionalAgent()
      const agents = [one, two, ...others]
      yield* season([...agents, unclaimed], 4)
      // Half of the days are counted one by one, the rest at once.
      yield* count
      const made = yield* season(agents, 9)
      yield* count
      assert.strictEqual(yield* count, 0)

      const isAsCounted = Effect.gen(function* () {
        const rows = (yield* board({ category: "commodities" })).items
        const all = (yield* answers("GC")).filter(({ agent }) => agents.some((each) => each === agent))
        const ownerOf = (agent: string) => (agent === one || agent === two ? "owner" : agent)
        assert.sameMembers(
          rows.map(({ agent_id }) => agent_id),
          agents
        )
        for (const row of rows) {
          const own = all.filter(({ agent }) => agent === row.agent_id)
          const meanOf = (values: ReadonlyArray<number>) =>
            values.reduce((sum, each) => sum + each, 0) / values.length
          assert.closeTo(row.skill ?? Number.NaN, meanOf(own.map(({ skill }) => skill)), 1e-9)
          const peers = own.flatMap(({ challenge, skill }) => {
            const theirs = all.filter(
              (each) => each.challenge === challenge && ownerOf(each.agent) !== ownerOf(row.agent_id)
            )
            return theirs.length === 0 ? [] : [skill - meanOf(theirs.map((each) => each.skill))]
          })
          assert.closeTo(row.peer ?? Number.NaN, meanOf(peers), 1e-9)
          // The first of 13 questions ended on the day of the claim.
          assert.closeTo(row.coverage ?? Number.NaN, Math.min(1, own.length / 12), 1e-9)
          const days = [...Map.groupBy(own, ({ day }) => day).values()].map((each) => ({
            n: each.length,
            sum: each.reduce((sum, { bounded }) => sum + bounded, 0)
          }))
          const expected = evidenceByHand(days, row.owner_agents ?? 1)
          assert.strictEqual(row.evidence?.days, days.length)
          assert.closeTo(row.evidence?.e_value ?? Number.NaN, expected.wealth, 1e-9)
          assert.closeTo(row.evidence?.sequence[0] ?? Number.NaN, expected.sequence[0], 1e-9)
          assert.closeTo(row.evidence?.sequence[1] ?? Number.NaN, expected.sequence[1], 1e-9)
          const profile = yield* Skill.use((skill) => skill.profile(row.agent_id))
          const last = profile.categories.find(({ category }) => category === "commodities")
          assert.deepStrictEqual(last?.evidence, row.evidence)
        }
        assert.deepStrictEqual(yield* differences, [])
      })
      yield* isAsCounted
      const [changed] = made
      assert(changed !== undefined)
      yield* Amendments.use((amendments) =>
        amendments.amend(changed.id, { close_price: 99.995, reason: "The exchange corrected its close." })
      )
      assert.isAtLeast((yield* differences).length, 1)
      assert.strictEqual(yield* count, 0)
      yield* isAsCounted
    }).pipe(Random.withSeed("season"))
  )

  it.effect("A board has the same rows in each order, on pages that follow each other, and by month", () =>
    Effect.gen(function* () {
      for (const order of ["skill", "peer"] as const) {
        const whole = (yield* board({ order })).items
        assert.isAtLeast(whole.length, 5)
        const values = whole.map((row) => row[order] ?? Number.NaN)
        assert.deepStrictEqual(
          values,
          values.toSorted((a, b) => b - a)
        )
        const paged = yield* allPages(2, (page) => board({ order }, page))
        assert.deepStrictEqual(paged.flat(), [...whole])
        assert.deepStrictEqual(
          whole.map(({ rank }) => rank),
          whole.map((_, index) => index + 1)
        )
        assert.strictEqual((yield* board({ order })).total, whole.length)
      }
      const all = (yield* board()).items
      const since = (yield* board({ since: "2026-01" })).items
      for (const row of since) {
        const same = all.find(({ agent_id }) => agent_id === row.agent_id)
        assert.closeTo(row.skill ?? Number.NaN, same?.skill ?? Number.NaN, 1e-12)
        assert.strictEqual(row.evidence?.days, same?.evidence?.days)
        assert.closeTo(row.evidence?.e_value ?? Number.NaN, same?.evidence?.e_value ?? Number.NaN, 1e-9)
      }
      assert.strictEqual(since.length, all.length)
      assert.deepStrictEqual((yield* board({ since: "2099-01" })).items, [])
      assert.deepStrictEqual(
        (yield* board({ horizon: "1h" })).items.map(({ skill }) => skill),
        all.map(({ skill }) => skill)
      )
      const none = yield* Effect.flip(board({ order: "average", horizon: "1h" }))
      assert.include(none.detail, "order: Expected skill or peer")
    })
  )

  it.effect("A board leaves out suspended agents, and ranks the others without them", () =>
    Effect.gen(function* () {
      const before = (yield* board()).items
      const [first] = before
      assert(first !== undefined)
      yield* Registry.use((registry) =>
        registry.amend(first.agent_id, { suspended: true, reason: "It copied others." })
      )
      const after = yield* board()
      assert.deepStrictEqual(
        after.items.map(({ agent_id, rank }) => [agent_id, rank]),
        before.slice(1).map(({ agent_id }, index) => [agent_id, index + 1])
      )
      assert.strictEqual(after.total, before.length - 1)
      yield* Registry.use((registry) => registry.amend(first.agent_id, { suspended: false }))
    })
  )

  it.effect("A board lists the agents of one provider, in any case, with ranks among themselves", () =>
    Effect.gen(function* () {
      const all = (yield* board()).items.filter(({ verified }) => verified)
      const chosen = [all[0], all[2]].flatMap((row) => row ?? [])
      assert.lengthOf(chosen, 2)
      yield* Effect.forEach(chosen, ({ agent_id }, nth) =>
        asOwner(
          SqlClient.SqlClient.use(
            (sql) =>
              sql`update agents set model_provider = ${nth === 0 ? "Acme" : "acme"} where id = ${agent_id}::uuid`
          )
        )
      )
      const provider = "ACME"
      const idsOf = (items: ReadonlyArray<{ readonly agent_id: AgentId; readonly rank: number | null }>) =>
        items.map(({ agent_id, rank }) => [agent_id, rank])
      const expected = chosen.map(({ agent_id }, nth) => [agent_id, nth + 1])
      const found = yield* board({ provider })
      assert.deepStrictEqual(idsOf(found.items), expected)
      assert.deepStrictEqual([found.total, found.provider], [2, provider])
      assert.deepStrictEqual(idsOf((yield* board({ provider, since: "2000-01" })).items), expected)
      const averages = (yield* board({ provider, order: "average", rankedFirst: true })).items
      assert.sameMembers(
        averages.map(({ agent_id }) => agent_id),
        chosen.map(({ agent_id }) => agent_id)
      )
      const pages = yield* allPages(1, (page) => board({ provider }, page))
      assert.deepStrictEqual(idsOf(pages.flat()), expected)
      assert.deepStrictEqual((yield* board({ provider: "acm" })).items, [])
    })
  )

  it.effect("A board keeps the ranks of the days, and shows that of a week before beside today's", () =>
    Effect.gen(function* () {
      const ranked = (yield* board()).items.filter(({ rank }) => rank !== null)
      yield* SqlClient.SqlClient.use(
        (sql) =>
          sql`insert into agent_ranks (agent_id, day, rank) values (${ranked[0]?.agent_id ?? ""}::uuid, '2001-01-01', 5)`
      )
      const rankOf = (id: AgentId) => Skill.use((skill) => skill.rank(id))
      yield* season(
        ranked.map(({ agent_id }) => agent_id),
        7
      )
      yield* count
      const now = new Map((yield* board()).items.map(({ agent_id, rank }) => [agent_id, rank]))
      for (const { agent_id, rank } of ranked) {
        const found = yield* rankOf(agent_id)
        assert.deepStrictEqual([found?.rank, found?.rank_before], [now.get(agent_id), rank])
      }
      const kept = yield* rowsOf(
        Schema.Struct({ day: Schema.String }),
        (sql) => sql`select distinct day::text from agent_ranks order by 1`
      )
      assert.notInclude(
        kept.map(({ day }) => day),
        "2001-01-01"
      )
    }).pipe(Random.withSeed("ranks"))
  )

  it.effect("Pages rank an agent of a skill board from a number of days on, among such agents", () =>
    Effect.gen(function* () {
      const [first] = (yield* board()).items
      assert(first !== undefined)
      const daysOf = (days: number) =>
        SqlClient.SqlClient.use(
          (sql) =>
            sql`update agent_skill set days = ${days} where agent_id = ${first.agent_id}::uuid and board = 'global'`
        )
      yield* daysOf(manyDays - 1)
      const all = (yield* board()).items
      assert.strictEqual(all[0]?.rank, 1)
      const few = all.filter(({ agent_id }) => agent_id === first.agent_id)
      const many = all.filter((row) => !few.includes(row))
      const onPages = (yield* board({ rankedFirst: true })).items
      assert.deepStrictEqual(
        onPages.map(({ agent_id, rank }) => [agent_id, rank]),
        [
          ...many.map(({ agent_id }, index) => [agent_id, index + 1]),
          ...few.map(({ agent_id }) => [agent_id, null])
        ]
      )
      const paged = yield* allPages(1, (page) => board({ rankedFirst: true }, page))
      assert.deepStrictEqual(paged.flat(), [...onPages])
      assert.isTrue(all.every(({ group }) => group === null))
      for (const { agent_id, rank } of onPages) {
        const found = yield* Skill.use((skill) => skill.rank(agent_id))
        assert.strictEqual(found?.rank ?? null, rank)
      }
      yield* daysOf(first.evidence?.days ?? 0)
    })
  )

  it.effect("Ties on a board of skill share a rank, and one day and every wrong answer count", () =>
    Effect.gen(function* () {
      const now = yield* DateTime.now
      const agents = yield* agentsApart(3)
      const deadline = plus(now, "1 hour")
      const challenge = yield* newChallenge({ asset: "NG", deadline })
      for (const [index, agentId] of agents.entries()) {
        yield* submit({
          agentId,
          challengeId: challenge.id,
          type: "directional",
          answer: { direction: index < 2 ? "bearish" : "neutral", confidence: index < 2 ? 1 : 0.5 },
          receivedAt: now
        })
      }
      yield* moveTo(plus(deadline, "1 minute"))
      yield* importCandles("NG", "1h", [[now, 105]])
      yield* settle
      yield* moveTo(plus(now, "1 day"))
      yield* count
      const rows = (yield* board({ category: "commodities" })).items.filter(({ agent_id }) =>
        agents.includes(agent_id)
      )
      const [better, ...worse] = rows
      assert.strictEqual(better?.agent_id, agents[2])
      assert.deepStrictEqual(
        worse.map(({ rank }) => rank),
        [worse[0]?.rank, worse[0]?.rank]
      )
      for (const row of rows) {
        assert.isBelow(row.skill ?? 0, 0)
        assert.strictEqual(row.evidence?.days, 1)
        // Nobody bets on the first day.
        assert.strictEqual(row.evidence?.e_value, 1)
        assert.isNull(row.needed)
      }
    })
  )

  it.effect("An agent that only practised has no skill, and is on no board", () =>
    Effect.gen(function* () {
      const [agent] = (yield* agentsApart(1)) as [AgentId]
      const profile = yield* Skill.use((skill) => skill.profile(agent))
      assert.isNull(profile.overall)
      assert.deepStrictEqual(profile.by_day, [])
      assert.isFalse((yield* board()).items.some(({ agent_id }) => agent_id === agent))
    })
  )

  it.effect("A comparison of two agents covers the questions that both answered", () =>
    Effect.gen(function* () {
      const [one, two] = (yield* board()).items
      assert(one !== undefined && two !== undefined)
      const compared = yield* Skill.use((skill) => skill.compare(one.agent_id, two.agent_id))
      const all = [...(yield* answers("GC")), ...(yield* answers("ES"))]
      const pairs = all
        .filter(({ agent }) => agent === one.agent_id)
        .flatMap((mine) => {
          const other = all.find((each) => each.agent === two.agent_id && each.challenge === mine.challenge)
          return other === undefined
            ? []
            : [{ ...mine, skill: mine.skill - other.skill, bounded: (mine.bounded - other.bounded) / 2 }]
        })
        .toSorted((a, b) => a.day.localeCompare(b.day))
      assert.strictEqual(compared.questions, pairs.length)
      assert.closeTo(
        compared.difference ?? Number.NaN,
        pairs.reduce((sum, { skill }) => sum + skill, 0) / pairs.length,
        1e-9
      )
      const days = [...Map.groupBy(pairs, ({ day }) => day).values()].map((each) => ({
        n: each.length,
        sum: each.reduce((sum, { bounded }) => sum + bounded, 0)
      }))
      const ahead = evidenceByHand(days, 1)
      const behind = evidenceByHand(
        days.map(({ n, sum }) => ({ n, sum: -sum })),
        1
      )
      assert.closeTo(compared.e_value ?? Number.NaN, (ahead.wealth + behind.wealth) / 2, 1e-9)
      assert.closeTo(compared.sequence?.[0] ?? Number.NaN, ahead.sequence[0], 1e-9)
      assert.closeTo(compared.sequence?.[1] ?? Number.NaN, ahead.sequence[1], 1e-9)
      const same = yield* Effect.flip(Skill.use((skill) => skill.compare(one.agent_id, one.agent_id)))
      assert.include(same.detail, "another agent")
    })
  )
})
