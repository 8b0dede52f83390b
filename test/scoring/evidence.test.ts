/** The proof that days give, and the share of its level that each of an owner's agents has. */
import { assert, it } from "@effect/vitest"
import {
  addDay,
  confidenceSequence,
  daysNeeded,
  eValue,
  noEvidence,
  neededValue
} from "../../src/scoring/evidence.ts"
import type { Evidence } from "../../src/scoring/evidence.ts"
import { times } from "../support/concurrently.ts"

/** Daily scores of an agent, from one answer a day. */
const seasons: ReadonlyArray<readonly [name: string, days: ReadonlyArray<number>]> = [
  ["one day", [0.4]],
  ["one bad day", [-1]],
  ["always right", times(13, () => 1)],
  ["always wrong", times(13, () => -1)],
  ["as good as the walk", times(20, () => 0)],
  ["first good, then bad", [...times(15, () => 1), ...times(15, () => -1)]],
  ["first bad, then good", [...times(15, () => -1), ...times(15, () => 1)]],
  ["long calm, then one bad day", [...times(40, () => 0.05), -1]],
  ["long calm, then ten bad days", [...times(60, () => 0.01), ...times(10, () => -1)]],
  ["bad at once, then calm for long", [-1, -1, ...times(60, () => 0.01)]],
  ["now good, now bad", times(30, (index) => (index % 2 === 0 ? 0.9 : -0.9))],
  ["a little ahead", times(90, (index) => 0.05 + 0.3 * Math.sin(index))],
  ["a drift upwards", times(90, (index) => index / 45 - 1)],
  ["a drift downwards", times(90, (index) => 1 - index / 45)],
  // Days that vary weigh less and less, so that the plain mean leaves the weighted one.
  [
    "a long rise, then a longer fall",
    [
      ...times(300, (index) => (index % 4 === 0 ? -1 : 1)),
      ...times(1000, (index) => (index % 4 === 0 ? 1 : -1))
    ]
  ],
  [
    "a long fall, then a longer rise",
    [
      ...times(300, (index) => (index % 4 === 0 ? 1 : -1)),
      ...times(1000, (index) => (index % 4 === 0 ? -1 : 1))
    ]
  ]
]

const evidenceOf = (days: ReadonlyArray<number>): Evidence =>
  days.reduce((evidence, sum) => addDay(evidence, { sum, count: 1 }), noEvidence)

it.each(seasons)("The sequence contains the mean beside it, on each day of %s", (_, days) => {
  let evidence = noEvidence
  for (const sum of days) {
    evidence = addDay(evidence, { sum, count: 1 })
    const mean = evidence.sum / evidence.days
    for (const tries of [1, 2, 5, 100]) {
      const [low, high] = confidenceSequence(evidence, tries) ?? [2, -2]
      assert.isTrue(-1 <= low && low <= mean && mean <= high && high <= 1, `${low} ${mean} ${high}`)
    }
  }
})

it.each(seasons)("Each further agent of an owner makes proof of %s harder; none counts as one", (_, days) => {
  const evidence = evidenceOf(days)
  const widths = [1, 2, 5, 100].map((tries) => {
    const [low, high] = confidenceSequence(evidence, tries) ?? [0, 0]
    return high - low
  })
  assert.deepStrictEqual(
    widths.toSorted((a, b) => a - b),
    widths
  )
  const needed = [1, 2, 5, 100].map((tries) => daysNeeded(evidence, tries))
  if (needed[0] === null) assert.deepStrictEqual(new Set(needed), new Set([null]))
  else {
    const known = needed.flatMap((each) => (each === null ? [] : [each]))
    assert.deepStrictEqual(
      known.toSorted((a, b) => a - b),
      known
    )
    assert.isTrue(eValue(evidence) >= 2000 || (known.at(-1) ?? 0) > (known[0] ?? 0))
  }
  assert.deepStrictEqual(confidenceSequence(evidence, 0), confidenceSequence(evidence, 1))
})

it.each([
  [0, 20],
  [1, 20],
  [2, 40],
  [3, 60],
  [50, 1000]
] as const)("With %i agents of an owner evidence is told from an e-value of %i on", (tries, value) => {
  assert.closeTo(neededValue(tries), value, 1e-9)
})
