/** All of 2023 of BTC and ETH through the jobs as they run in production, whole and with hours missing. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import {
  assets,
  referenceEndings,
  played,
  questionsOf,
  withoutHours,
  year2023
} from "../support/prices/year.ts"
import { testServices } from "../support/services.ts"

const from = Date.UTC(2023, 0, 1)
const days = 365
const year = year2023()
const questions = assets.flatMap((asset) => questionsOf(asset, year[asset], from, days))

/** The year began on a Sunday: its first week is that of the 2nd of January. */
const questionCount = 2 * (365 * 2 + 52 * 2)

const tell = (line: string) =>
  Effect.sync(() => {
    process.stdout.write(`${line}\n`)
  })

it.effect("A year of price events settles in one run of the job, by the outcomes of the file", () =>
  Effect.gen(function* () {
    const { ended, overall, run } = yield* played(questions, year)
    assert.lengthOf(ended, questionCount)
    assert.deepStrictEqual(ended, referenceEndings(questions, year))
    assert.isTrue(ended.every(({ status }) => status === "resolved"))
    assert.strictEqual(overall.prediction_count, questionCount)
    yield* tell(
      `${questionCount} questions on 17 520 candles settled in ${run.seconds.toFixed(1)} s; the process grew by ${run.grownMiB.toFixed(0)} MiB`
    )
    assert.isBelow(run.seconds, 300)
    assert.isBelow(run.grownMiB, 300)
  }).pipe(Effect.provide(testServices(), { local: true }))
)

it.effect.each([[1], [2], [3]] as const)(
  "Without 20 random hours only the questions that these decide are void: seed %i",
  ([seed]) =>
    Effect.gen(function* () {
      const known = withoutHours(year, seed, 20, from, days)
      const { ended } = yield* played(questions, known)
      assert.deepStrictEqual(ended, referenceEndings(questions, known))
      const whole = referenceEndings(questions, year)
      const voided = ended.filter(({ status }) => status === "void")
      // A missing hour changes no outcome: it is the same, or there is none.
      const others = (all: typeof whole) => all.filter((_, index) => ended[index]?.status !== "void")
      assert.deepStrictEqual(others(ended), others(whole))
      yield* tell(`seed ${seed}: ${voided.length} of ${questionCount} void`)
      assert.isAbove(voided.length, 0)
    }).pipe(Effect.provide(testServices(), { local: true }))
)
