/** Forecasts of a number in each of their forms, beside methods that share nothing with the closed forms. */
import { assert, describe, it } from "@effect/vitest"
import { BigDecimal } from "effect"
import { crpsScore, normalCdf } from "../../src/scoring/crps.ts"
import { directionalScore, likeliest } from "../../src/scoring/directional.ts"
import {
  normalDistribution,
  quantileDistribution,
  sampleDistribution
} from "../../src/scoring/distributions.ts"
import type { Distribution, Quantile } from "../../src/scoring/distributions.ts"
import { breadth } from "../support/breadth.ts"
import { times } from "../support/concurrently.ts"
import { uniforms } from "../support/uniforms.ts"

const normals = (uniform: () => number) => () =>
  Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform())

const gauss = [
  [0, 128 / 225],
  [Math.sqrt(5 - 2 * Math.sqrt(10 / 7)) / 3, (322 + 13 * Math.sqrt(70)) / 900],
  [Math.sqrt(5 + 2 * Math.sqrt(10 / 7)) / 3, (322 - 13 * Math.sqrt(70)) / 900]
] as const

/** The integral by the rule of Gauss with five points, in this many parts. */
const integral = (f: (x: number) => number, from: number, to: number, parts = 100): number => {
  const half = (to - from) / parts / 2
  let sum = 0
  for (let part = 0; part < parts; part++) {
    const middle = from + (2 * part + 1) * half
    for (const [node, weight] of gauss) {
      const pair = node === 0 ? f(middle) : f(middle - half * node) + f(middle + half * node)
      sum += weight * half * pair
    }
  }
  return sum
}

/** Three to twelve quantiles, near 0 or far from it, and an outcome inside of them or beyond. */
const randomQuantiles = (uniform: () => number) => {
  const ascending = (draw: () => number) =>
    times(3 + Math.floor(uniform() * 10), draw).toSorted((a, b) => a - b)
  const ps = ascending(() => Math.round(1 + 98 * uniform()) / 100).filter((p, i, all) => p !== all[i - 1])
  const centre = uniform() < 0.5 ? 0 : 1000 * (uniform() - 0.5)
  let value = centre
  const quantiles = ps.map((p): Quantile => ({ p, value: (value += 0.01 + uniform()) }))
  return { quantiles, y: centre + (value - centre) * (3 * uniform() - 1) }
}

/** 200 draws with three quantiles at least. */
const drawn = (seed: number) => {
  const uniform = uniforms(seed)
  const found: Array<ReturnType<typeof randomQuantiles>> = []
  while (found.length < 200) {
    const next = randomQuantiles(uniform)
    if (next.quantiles.length >= 3) found.push(next)
  }
  return found
}

/** The quantile function, written from the definition of the tails in docs/scoring.md and from nothing of the program. */
const quantileFunction = (quantiles: ReadonlyArray<Quantile>) => (p: number) => {
  const [a, b] = [quantiles[0], quantiles[1]]
  const [y, z] = [quantiles.at(-2), quantiles.at(-1)]
  assert(a !== undefined && b !== undefined && y !== undefined && z !== undefined)
  if (p <= a.p) return a.value + ((a.p * (b.value - a.value)) / (b.p - a.p)) * Math.log(p / a.p)
  if (p >= z.p) {
    return z.value - (((1 - z.p) * (z.value - y.value)) / (z.p - y.p)) * Math.log((1 - p) / (1 - z.p))
  }
  const index = quantiles.findIndex((each) => each.p >= p)
  const [from, to] = [quantiles[index - 1], quantiles[index]]
  assert(from !== undefined && to !== undefined)
  return from.value + ((p - from.p) / (to.p - from.p)) * (to.value - from.value)
}

describe("A forecast by quantiles", () => {
  it("A forecast by quantiles is scored by the integral of its definition, within 1e-9", () => {
    for (const { quantiles, y } of drawn(1)) {
      const { cdf, crps } = quantileDistribution(quantiles)
      const [low, high] = [quantiles[0]?.value ?? 0, quantiles.at(-1)?.value ?? 0]
      const valueAt = quantileFunction(quantiles)
      // Points so far in the tails that nothing is left.
      const [start, end] = [valueAt(1e-14), valueAt(1 - 1e-14)]
      const ends = [start, low, y, ...quantiles.map(({ value }) => value), high, end].toSorted(
        (a, b) => a - b
      )
      const sum = ends.slice(1).reduce((total, to, index) => {
        const from = ends[index] ?? to
        // Each part lies on one side of the outcome.
        const isAfter = from >= y
        return total + integral((x) => (isAfter ? (1 - cdf(x)) ** 2 : cdf(x) ** 2), from, to, 200)
      }, 0)
      assert.closeTo(crps(y), sum, 1e-9 * Math.max(1, sum))
    }
  })

  it("A forecast by quantiles is scored by twice the integral of its pinball losses, too", () => {
    for (const { quantiles, y } of drawn(2)) {
      const valueAt = quantileFunction(quantiles)
      const loss = (p: number) => (Number(y < valueAt(p)) - p) * (valueAt(p) - y)
      const { cdf, crps } = quantileDistribution(quantiles)
      // Logarithms of the tails are spread by the substitution of p.
      const [first, last] = [quantiles[0]?.p ?? 0, quantiles.at(-1)?.p ?? 1]
      const at = cdf(y)
      const inner = [first, ...quantiles.map(({ p }) => p), last, at]
        .filter((p) => p >= first && p <= last)
        .toSorted((a, b) => a - b)
      const middle = inner
        .slice(1)
        .reduce((sum, to, index) => sum + integral(loss, inner[index] ?? to, to, 2), 0)
      const tail = (edge: number, f: (share: number) => number) => {
        const cuts = [0, edge, 30].toSorted((a, b) => a - b)
        return cuts
          .slice(1)
          .reduce(
            (sum, to, index) =>
              sum + integral((t) => f(Math.exp(-t)) * Math.exp(-t), cuts[index] ?? to, to, 40),
            0
          )
      }
      const cut = (share: number) => Math.min(30, Math.max(0, -Math.log(share)))
      const below = first * tail(cut(at / first), (share) => loss(first * share))
      const above = (1 - last) * tail(cut((1 - at) / (1 - last)), (share) => loss(1 - (1 - last) * share))
      const expected = 2 * (below + middle + above)
      assert.closeTo(crps(y), expected, 1e-9 * Math.max(1, expected))
    }
  })

  it("A forecast by quantiles has its median and its standard deviation", () => {
    const uniform = quantileDistribution([0.01, 0.25, 0.5, 0.75, 0.99].map((p) => ({ p, value: 100 + p })))
    assert.closeTo(uniform.centre, 100.5, 1e-12)
    // The distribution is uniform but for the tails, which have a mean of 0.01 beyond its ends.
    assert.closeTo(uniform.spread, Math.sqrt(1 / 12), 1e-3)
    for (const { quantiles } of drawn(3).slice(0, 5)) {
      const valueAt = quantileFunction(quantiles)
      const points = times(20_000, (index) => valueAt((index + 0.5) / 20_000))
      const mean = points.reduce((sum, each) => sum + each, 0) / points.length
      const variance = points.reduce((sum, each) => sum + (each - mean) ** 2, 0) / points.length
      const { centre, spread } = quantileDistribution(quantiles)
      assert.closeTo(centre, valueAt(0.5), 1e-9)
      assert.closeTo(spread / Math.sqrt(variance), 1, 1e-2)
    }
  })

  it("Quantiles of a normal distribution are scored nearly as that distribution", () => {
    const values = [-2.326348, -1.281552, -0.524401, 0, 0.524401, 1.281552, 2.326348]
    const { crps } = quantileDistribution(values.map((value) => ({ p: normalCdf(value), value })))
    for (const y of [-3, -1, 0, 0.7, 4]) assert.closeTo(crps(y), normalDistribution(0, 1).crps(y), 0.06)
  })

  it("Quantiles with ties are scored by the integral of the definition, with the jump", () => {
    const ps = [0.05, 0.25, 0.5, 0.75, 0.95]
    const tied = [
      [4, 4, 4.1, 4.2, 4.3],
      [3.9, 4.1, 4.1, 4.1, 4.3],
      [3.9, 4, 4.1, 4.2, 4.2],
      [4, 4, 4.1, 4.3, 4.3],
      [0, 0, 0, 0, 7],
      [-2, 3, 3, 3, 3]
    ]
    for (const values of tied) {
      const quantiles = ps.map((p, index): Quantile => ({ p, value: values[index] ?? 0 }))
      const { cdf, cdfBelow, centre, crps } = quantileDistribution(quantiles)
      const valueAt = quantileFunction(quantiles)
      assert.strictEqual(centre, valueAt(0.5))
      for (const y of [...values, 4.05, 4.15, -3, 9]) {
        const ends = [valueAt(1e-14), valueAt(1 - 1e-14), y, ...values].toSorted((a, b) => a - b)
        const sum = ends.slice(1).reduce((total, to, index) => {
          const from = ends[index] ?? to
          return total + integral((x) => (from >= y ? (1 - cdf(x)) ** 2 : cdf(x) ** 2), from, to, 200)
        }, 0)
        assert.closeTo(crps(y), sum, 1e-9 * Math.max(1, sum), `${values.join()} at ${y}`)
      }
      for (const value of new Set(values)) {
        const at = quantiles.filter((each) => each.value === value).map(({ p }) => p)
        const [low, high] = [Math.min(...at), Math.max(...at)]
        const isJump = at.length > 1
        assert.closeTo(cdfBelow(value), isJump && low === 0.05 ? 0 : low, 1e-12)
        assert.closeTo(cdf(value), isJump && high === 0.95 ? 1 : high, 1e-12)
      }
    }
  })

  it("Quantiles that do not ascend are refused", () => {
    const falling = [
      { p: 0.1, value: 1 },
      { p: 0.5, value: 2 },
      { p: 0.9, value: 1.5 }
    ]
    assert.throws(() => quantileDistribution(falling), RangeError)
    assert.throws(() => quantileDistribution(falling.map(({ value }) => ({ p: 0.5, value }))), RangeError)
  })
})

describe("A forecast by samples", () => {
  it("A forecast by samples is scored by its definition in 200 cases, also far from 0", () => {
    const uniform = uniforms(4)
    for (const seed of times(200, (index) => index)) {
      const offset = seed % 4 === 0 ? 2 ** 32 : 0
      const samples = times(10 + Math.floor(40 * uniform()), () => offset + Math.round(uniform() * 64) / 64)
      const y = offset + Math.round(128 * uniform() - 32) / 64
      const mean = (values: ReadonlyArray<number>) =>
        values.reduce((sum, each) => sum + each, 0) / values.length
      const pairs = samples.flatMap((one) => samples.map((other) => Math.abs(one - other)))
      const expected = mean(samples.map((each) => Math.abs(each - y))) - mean(pairs) / 2
      assert.closeTo(sampleDistribution(samples).crps(y), expected, 1e-12)
    }
  })

  it("Samples have their mean and their standard deviation, 0 where all are the same", () => {
    const { centre, spread } = sampleDistribution([1, 3, 3, 5])
    assert.deepStrictEqual([centre, spread], [3, Math.SQRT2])
    const same = sampleDistribution(times(10, () => 0.1))
    assert.deepStrictEqual([same.centre, same.spread, same.crps(0.1)], [0.1, 0, 0])
  })

  it("Samples at an outcome count up to it, and not below it", () => {
    const { cdf, cdfBelow } = sampleDistribution([1, 3, 3, 5])
    assert.deepStrictEqual([cdfBelow(3), cdf(3)], [0.25, 0.75])
  })
})

describe("A vector of probabilities", () => {
  it("A vector's direction is its largest part, of ties neutral, then bullish, at 2 p - 1", () => {
    assert.deepStrictEqual(likeliest({ bullish: 0.2, neutral: 0.1, bearish: 0.7 }), {
      direction: "bearish",
      confidence: 0.4
    })
    assert.deepStrictEqual(likeliest({ bullish: 0.4, neutral: 0.2, bearish: 0.4 }), {
      direction: "bullish",
      confidence: 0
    })
    assert.strictEqual(likeliest({ bullish: 0.35, neutral: 0.35, bearish: 0.3 }).direction, "neutral")
    assert.deepStrictEqual(likeliest({ bullish: 0.5, bearish: 0.5 }), { direction: "bullish", confidence: 0 })
    assert.strictEqual(likeliest({ bullish: 1, bearish: 0 }).confidence, 1)
  })
})

/** The mean score of each of some forecasts, over draws of the outcome. */
const meansOf = <F>(
  forecasts: ReadonlyArray<F>,
  score: (forecast: F, y: number) => number,
  ys: ReadonlyArray<number>
) => forecasts.map((forecast) => ys.reduce((sum, y) => sum + score(forecast, y), 0) / ys.length)

const draws = breadth(20_000, 100_000)
const grid = [-0.6, -0.3, 0, 0.3, 0.6].flatMap((mean) => [0.5, 0.75, 1, 1.5, 2].map((sd) => ({ mean, sd })))
const truth = grid.findIndex(({ mean, sd }) => mean === 0 && sd === 1)
const z = [-2.326348, -1.644854, -0.841621, -0.253347, 0.253347, 0.841621, 1.644854, 2.326348]

const forms: ReadonlyArray<readonly [name: string, of: (mean: number, sd: number) => Distribution]> = [
  ["mean and standard deviation", normalDistribution],
  [
    "quantiles",
    (mean, sd) => quantileDistribution(z.map((each) => ({ p: normalCdf(each), value: mean + sd * each })))
  ],
  [
    "samples",
    (mean, sd) => {
      const normal = normals(uniforms(5))
      return sampleDistribution(times(100, () => mean + sd * normal()))
    }
  ]
]

describe("The expected score of an honest answer", () => {
  it.each(forms)("An honest answer by %s has the best expected score", (_, of) => {
    const normal = normals(uniforms(6))
    const ys = times(of === forms[2]?.[1] ? draws / 5 : draws, normal)
    const score = ({ crps }: Distribution, y: number) => crpsScore(crps(y), 2).score
    const means = meansOf(
      grid.map(({ mean, sd }) => of(mean, sd)),
      score,
      ys
    )
    assert.strictEqual(means.indexOf(Math.max(...means)), truth)
  })

  it("Direction and confidence reward boldness: an honest answer has not the best score", () => {
    const uniform = uniforms(7)
    const rights = times(draws, () => uniform() < 0.6)
    const expected = (confidence: number) => {
      const points = [true, false].map((right) =>
        BigDecimal.toNumberUnsafe(directionalScore(right, BigDecimal.fromNumberUnsafe(confidence)))
      )
      return rights.reduce((sum, right) => sum + (points[right ? 0 : 1] ?? 0), 0) / rights.length
    }
    assert.isAbove(expected(1), expected(0.2))
  })
})
