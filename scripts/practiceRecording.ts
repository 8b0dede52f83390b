/**
 * Makes the recording that practice questions are about (`node scripts/practiceRecording.ts`): hours of a seeded random
 * walk. Its README says what that is worth.
 */
import { writeFileSync } from "node:fs"
import { DateTime } from "effect"

const hours = 30 * 24
const first = DateTime.makeUnsafe("2020-06-01T00:00:00Z")
const stepsPerHour = 60

/** The standard deviation of the logarithm of an hour's move. */
const walks = [
  { asset: "BTC", price: 40_000, hourly: 0.0046, digits: 1, seed: 1 },
  { asset: "ETH", price: 2500, hourly: 0.005, digits: 2, seed: 2 },
  { asset: "GC", price: 1900, hourly: 0.0015, digits: 1, seed: 3 }
]

/** Uniform in (0, 1): mulberry32. */
const uniforms = (seed: number) => {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let bits = Math.imul(state ^ (state >>> 15), 1 | state)
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits
    return (((bits ^ (bits >>> 14)) >>> 0) + 0.5) / 2 ** 32
  }
}

for (const { asset, digits, hourly, price, seed } of walks) {
  const uniform = uniforms(seed)
  const normal = () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform())
  let last = price
  const lines = Array.from({ length: hours }, (_, hour) => {
    const path = [last]
    for (let step = 0; step < stepsPerHour; step++) {
      last *= Math.exp((hourly / Math.sqrt(stepsPerHour)) * normal())
      path.push(last)
    }
    const time = DateTime.formatIso(DateTime.add(first, { hours: hour })).replace(".000", "")
    const [open = last] = path
    const prices = [open, Math.max(...path), Math.min(...path), last].map((each) => each.toFixed(digits))
    return [time, ...prices].join(",")
  })
  const file = new URL(`../src/layers/prices/practice/${asset}-1h-practice.csv`, import.meta.url)
  writeFileSync(file, ["time,open,high,low,close", ...lines, ""].join("\n"))
}
