/** Numbers in texts from outside. */
import { assert, it } from "@effect/vitest"
import { Option } from "effect"
import { chosenCoding } from "../../src/http/compression.ts"
import { countIn, numberIn } from "../../src/services/domain/numbers.ts"

const noNumbers = [
  "",
  " ",
  "\t",
  "\n",
  " 1",
  "1 ",
  "+1",
  "01",
  "1.",
  ".5",
  "-",
  "--1",
  "1e3",
  "0x10",
  "0b1",
  "0o7",
  "1_000",
  "1,000",
  "1.000.000",
  "١٢",
  "１２",
  "−1",
  "NaN",
  "Infinity",
  "1n",
  "null",
  "."
]

it.each(noNumbers)("A text that is no plain decimal is no number: %j", (text) => {
  assert.isTrue(Option.isNone(numberIn(text)))
  assert.isUndefined(countIn(text))
})

it.each([
  ["0", 0],
  ["-0.5", -0.5],
  ["12", 12],
  ["2712.25", 2712.25],
  ["0.0001", 0.0001]
] as const)("A plain decimal is its number: %s", (text, value) => {
  assert.deepStrictEqual(numberIn(text), Option.some(value))
})

it.each([
  ["0", 0],
  ["30", 30],
  ["-1", undefined],
  ["1.5", undefined],
  [null, undefined],
  [undefined, undefined]
] as const)("A count is a whole number from 0 on: %s", (text, value) => {
  assert.strictEqual(countIn(text), value)
})

it.each(["gzip;q=", "gzip;q= ", "gzip;q=0x1", "gzip;q=1e0", "gzip;q=2", "gzip;q=-1"])(
  "An invalid weight counts as 0: %s",
  (header) => {
    assert.isUndefined(chosenCoding(header))
  }
)
