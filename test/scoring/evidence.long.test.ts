/**
 * Rates of false evidence, and the time until true evidence: by simulation, from fixed seeds, which are printed with the shares
 * that docs/scoring.md quotes.
 */
import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { studentT975 } from "../../src/scoring/agentStats.ts"
import { addDay, confidenceSequence, eValue, noEvidence, neededValue } from "../../src/scoring/evidence.ts"
import { direction } from "../../src/scoring/kinds/direction.ts"
import type { Evidence } from "../../src/scoring/evidence.ts"
import {
  boundedSkill,
  brierScore,
  deadZoneOf,
  ewmaVolatility,
  expectedLoss,
  oddsOf,
  referenceSkill,
  referenceSteps,
  stepAt
} from "../../src/scoring/reference.ts"
import { times } from "../support/concurrently.ts"
import { uniforms } from "../support/uniforms.ts"

const indices = (count: number) => times(count, (index) => index)

const report = (line: string) => process.stdout.write(`${line}\n`)

const even = [0.5, 0.5]

/** Bounded skills of an answer with this probability on a question of even odds, right and wrong. */
const earnedBy = (p: number) => {
  const skills = [0, 1].map((outcome) =>
    referenceSkill(brierScore([p, 1 - p], outcome), brierScore(even, outcome), expectedLoss({ odds: even }))
  )
  return skills.map((skill) => boundedSkill(skill, skills)) as [number, number]
}

/** The interval of Student's t over all days so far, looked at each day, leaves out 0. */
const makeFixedInterval = () => {
  let [days, sum, squares] = [0, 0, 0]
  return (value: number): boolean => {
    days += 1
    sum += value
    squares += value * value
    if (days < 2) return false
    const variance = (squares - (sum * sum) / days) / (days - 1)
    return Math.abs(sum / days) > studentT975(days - 1) * Math.sqrt(variance / days)
  }
}

/** A day of this many answers of an agent that is right at this rate. */
const dayOf = (
  uniform: () => number,
  answers: number,
  accuracy: number,
  [right, wrong]: readonly [number, number]
) => {
  let sum = 0
  for (let answer = 0; answer < answers; answer++) sum += uniform() < accuracy ? right : wrong
  return { sum, count: answers }
}

describe("Evidence that is looked at on every day", () => {
  it("Equal forecasters are called different in at most 5 % of pairs, unlike by a fixed interval", () => {
    const seed = 33_001
    const uniform = uniforms(seed)
    const [pairs, days] = [2000, 500]
    let [called, calledByInterval] = [0, 0]
    for (let pair = 0; pair < pairs; pair++) {
      let [evidence, against] = [noEvidence, noEvidence]
      const interval = makeFixedInterval()
      let [told, toldByInterval] = [false, false]
      for (let day = 0; day < days; day++) {
        let sum = 0
        for (let question = 0; question < 10; question++) {
          // Each says the truth with an error of its own: neither is better.
          const truth = 0.2 + 0.6 * uniform()
          const outcome = uniform() < truth ? 0 : 1
          const skillOfAnswer = () => {
            const p = Math.min(0.95, Math.max(0.05, truth + 0.3 * (uniform() - 0.5)))
            const skills = [0, 1].map((k) =>
              referenceSkill(brierScore([p, 1 - p], k), brierScore(even, k), 0.5)
            )
            return boundedSkill(skills[outcome] ?? 0, skills)
          }
          sum += (skillOfAnswer() - skillOfAnswer()) / 2
        }
        evidence = addDay(evidence, { sum, count: 10 })
        against = addDay(against, { sum: -sum, count: 10 })
        const [low, high] = confidenceSequence(evidence) ?? [-1, 1]
        told ||= low > 0 || high < 0 || (eValue(evidence) + eValue(against)) / 2 >= neededValue()
        toldByInterval ||= interval(sum / 10)
      }
      called += Number(told)
      calledByInterval += Number(toldByInterval)
    }
    report(
      `seed ${seed}: of ${pairs} equal pairs looked at on each of ${days} days the e-value and the sequence called ${called} different (${(100 * called) / pairs} %), a fixed 95 % interval ${calledByInterval} (${(100 * calledByInterval) / pairs} %)`
    )
    assert.isAtMost(called / pairs, 0.05)
    assert.isAbove(calledByInterval / pairs, 0.2)
  })

  it("Evidence tells a calibrated agent from the reference, sooner with the ladder", () => {
    const seed = 33_002
    const uniform = uniforms(seed)
    const seasons = 200
    const tell = (accuracy: number, answers: number): ReadonlyArray<number> => {
      const earned = earnedBy(accuracy)
      return Array.from({ length: seasons }, () => {
        let evidence: Evidence = noEvidence
        for (let day = 1; day <= 2000; day++) {
          evidence = addDay(evidence, dayOf(uniform, answers, accuracy, earned))
          if (evidence.logWealth >= Math.log(neededValue())) return day
        }
        return Infinity
      }).toSorted((a, b) => a - b)
    }
    const medians = [0.53, 0.55, 0.58, 0.65].map((accuracy) => {
      const [plain, ladder] = [10, 310].map((answers) => tell(accuracy, answers))
      const at = (days: ReadonlyArray<number> = [], share: number) =>
        days[Math.floor(share * (seasons - 1))] ?? Infinity
      const row = [at(plain, 0.5), at(plain, 0.9), at(ladder, 0.5), at(ladder, 0.9)]
      report(
        `seed ${seed}: accuracy ${accuracy}: 10 a day half within ${row[0]} days, nine of ten ${row[1]}; 310 a day ${row[2]} and ${row[3]}`
      )
      return row
    })
    for (const [plain = 0, , ladder = Infinity] of medians) assert.isBelow(ladder, plain)
    assert.isBelow(medians[3]?.[2] ?? Infinity, 40)
    assert.isBelow(medians[1]?.[2] ?? Infinity, 150)
  })

  it("Evidence finds no skill in 50 coin-flippers of one owner in at least 95 % of seasons", () => {
    const seed = 33_003
    const uniform = uniforms(seed)
    const [seasons, agents, days] = [400, 50, 90]
    const earned = earnedBy(0.7)
    const flips = indices(seasons).filter(() =>
      indices(agents).some(() => {
        let evidence = noEvidence
        for (let day = 0; day < days; day++) {
          evidence = addDay(evidence, dayOf(uniform, 10, 0.5, earned))
          if (evidence.logWealth >= Math.log(neededValue(agents))) return true
        }
        return false
      })
    ).length
    report(
      `seed ${seed}: an owner with ${agents} coin-flippers has a row that is told in ${(100 * flips) / seasons} % of ${seasons} seasons of ${days} days`
    )
    assert.isAtMost(flips / seasons, 0.05)
  })

  it("Evidence is little deceived by an agent that stops for the day once it is ahead", () => {
    const seed = 33_004
    const uniform = uniforms(seed)
    const [agents, days] = [1000, 500]
    const told = indices(agents).filter(() => {
      let evidence = noEvidence
      for (let day = 0; day < days; day++) {
        let [sum, count] = [0, 0]
        while (count < 24 && sum <= 0) {
          sum += uniform() < 0.5 ? 1 : -1
          count += 1
        }
        evidence = addDay(evidence, { sum, count })
        if (evidence.logWealth >= Math.log(neededValue())) return true
      }
      return false
    }).length
    report(
      `seed ${seed}: of ${agents} that stop once ahead ${(100 * told) / agents} % are told within ${days} days`
    )
    assert.isAtMost(told / agents, 0.08)
  })
})

/** Recorded hourly closes of bitcoin in 2023. */
const closes = readFileSync(new URL("../support/data/BTC-1h-2023.csv", import.meta.url), "utf8")
  .trim()
  .split("\n")
  .slice(1)
  .map((line, index) => ({ at: index * 3_600_000, price: Number(line.split(",")[4]) }))

const hour = 3_600_000

interface Played {
  readonly score: number
  readonly right: boolean
  readonly bounded: number
  readonly skill: number
  readonly day: number
}

/** A question of 24 hours that begins at an hour of the recording, and the earnings of an answer at another hour. */
const questionAt = (begins: number) => {
  const known = closes.slice(begins - 720, begins + 1)
  const open = closes[begins]?.price ?? Number.NaN
  const volatility = ewmaVolatility(known, 24, begins * hour) ?? Number.NaN
  const zone = deadZoneOf(volatility, 24)
  const walk = direction.walk?.({
    resolveAt: (begins + 24) * hour,
    terms: { openPrice: String(open), deadZonePct: String(zone) }
  })
  if (walk === undefined) throw new Error("a direction has no walk")
  const steps = referenceSteps(walk, volatility, closes.slice(begins, begins + 25))
  const change = 100 * ((closes[begins + 24]?.price ?? Number.NaN) / open - 1)
  const side = change > 0 ? 0 : 2
  const outcome = Math.abs(change) <= zone ? 1 : side
  const expected = expectedLoss(steps[0]?.reference ?? { odds: [1 / 3, 1 / 3, 1 / 3] })
  const earn = (after: number, direction: number, confidence: number): Played => {
    const reference = stepAt(steps, (begins + after) * hour)?.reference
    const odds = reference !== undefined && "odds" in reference ? reference.odds : []
    const vector = oddsOf(direction, confidence, 3)
    const skills = [0, 1, 2].map((k) => referenceSkill(brierScore(vector, k), brierScore(odds, k), expected))
    const right = direction === outcome
    return {
      score: right ? 50 + 50 * confidence : 50 - 50 * confidence,
      right,
      skill: skills[outcome] ?? Number.NaN,
      bounded: boundedSkill(skills[outcome] ?? Number.NaN, skills),
      day: Math.floor((begins + 24) / 24)
    }
  }
  return { open, sd: volatility * Math.sqrt(24), earn, outcome }
}

const evidenceOf = (played: ReadonlyArray<Played>): Evidence =>
  [...Map.groupBy(played, ({ day }) => day).values()].reduce(
    (evidence, day) =>
      addDay(evidence, { sum: day.reduce((sum, { bounded }) => sum + bounded, 0), count: day.length }),
    noEvidence
  )

const mean = (values: ReadonlyArray<number>) => values.reduce((sum, each) => sum + each, 0) / values.length

describe("Evidence on recorded prices", () => {
  const questions = times(Math.floor((closes.length - 760) / 12), (index) => 720 + index * 12)

  it("An agent that waits for a move is right and leads by average, but has no skill", () => {
    const waited = questions.flatMap((begins) => {
      const question = questionAt(begins)
      for (let after = 1; after < 24; after++) {
        const moved = Math.log((closes[begins + after]?.price ?? Number.NaN) / question.open)
        if (Math.abs(moved) >= 1.5 * question.sd) return [question.earn(after, moved > 0 ? 0 : 2, 0.8)]
      }
      return []
    })
    const uniform = uniforms(33_005)
    const others = questions.map((begins) => questionAt(begins).earn(0, Math.floor(3 * uniform()), 0.3))
    const evidence = evidenceOf(waited)
    const sequence = confidenceSequence(evidence) ?? [-1, 1]
    const share = mean(waited.map(({ right }) => Number(right)))
    report(
      `who waits answers ${waited.length} of ${questions.length}, is right in ${(100 * share).toFixed(1)} %, averages ${mean(waited.map(({ score }) => score)).toFixed(1)} (others ${mean(others.map(({ score }) => score)).toFixed(1)}), has skill ${mean(waited.map(({ skill }) => skill)).toFixed(3)}, e-value ${Math.exp(evidence.logWealth).toFixed(2)}, sequence ${sequence.map((each) => each.toFixed(2)).join(" to ")}`
    )
    assert.isAtLeast(waited.length, 15)
    assert.isAbove(share, 0.8)
    assert.isAbove(mean(waited.map(({ score }) => score)), mean(others.map(({ score }) => score)))
    assert.isBelow(Math.exp(evidence.logWealth), neededValue())
    assert.isBelow(sequence[0], 0)
    assert.isAbove(sequence[1], 0)
  })

  it("200 coin-flippers of 4 owners put no row above the reference in at least 95 % of seasons", () => {
    const seed = 33_006
    const uniform = uniforms(seed)
    const made = questions.map(questionAt)
    const seasons = 60
    const deceived = indices(seasons).filter(() =>
      indices(200).some(() => {
        const evidence = evidenceOf(
          made.slice(0, 180).map(({ earn }) => earn(0, Math.floor(3 * uniform()), 0.5 * uniform()))
        )
        return evidence.logWealth >= Math.log(neededValue(50))
      })
    ).length
    report(
      `seed ${seed}: 200 coin-flippers of 4 owners have a row that is told in ${deceived} of ${seasons} seasons of 90 days`
    )
    assert.isAtMost(deceived / seasons, 0.05)
  })

  it("An agent with a real edge of 3 points is found within the days of the power table", () => {
    const seed = 33_007
    const uniform = uniforms(seed)
    const earned = earnedBy(0.53)
    const found = indices(100).map(() => {
      let evidence = noEvidence
      for (let day = 1; day <= 1000; day++) {
        evidence = addDay(evidence, dayOf(uniform, 310, 0.53, earned))
        if (evidence.logWealth >= Math.log(neededValue())) return day
      }
      return Infinity
    })
    const within = found.filter((days) => days <= 400).length
    report(
      `seed ${seed}: an edge of 3 points with the ladder is found within 400 days in ${within} of 100 seasons`
    )
    assert.isAtLeast(within, 80)
  })
})
