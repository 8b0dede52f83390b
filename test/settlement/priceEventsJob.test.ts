/** A part of 2023 through the jobs as they run in production; all of the year is in priceEventsJob.long.test.ts. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { breadth } from "../support/breadth.ts"
import {
  assets,
  referenceEndings,
  part,
  played,
  questionsOf,
  withoutHours,
  year2023
} from "../support/prices/year.ts"
import { testServices } from "../support/services.ts"

const from = Date.UTC(2023, 2, 6)
const days = breadth(7, 14)
const year = part(year2023(), from, days)
const questions = assets.flatMap((asset) => questionsOf(asset, year[asset], from, days))

layer(testServices())("Weeks of BTC and ETH", (it) => {
  it.effect("Price events of weeks settle in one run of the job as a computation from the file says", () =>
    Effect.gen(function* () {
      const { ended, overall } = yield* played(questions, year)
      assert.deepStrictEqual(ended, referenceEndings(questions, year))
      assert.lengthOf(ended, 2 * (days * 2 + (days / 7) * 2))
      assert.isTrue(ended.every(({ status }) => status === "resolved"))
      const yesOrNo = ended.filter(({ level }) => level !== null)
      const yes = yesOrNo.filter(({ outcome }) => outcome === "bullish")
      assert.isAbove(yes.length, 0)
      assert.isBelow(yes.length, yesOrNo.length)
      assert.deepInclude(overall, {
        prediction_count: ended.length,
        accuracy_rate: yes.length / yesOrNo.length
      })
    })
  )
})

layer(testServices())("Weeks without 20 random hours", (it) => {
  it.effect("Without 20 random hours only the questions that these decide are void", () =>
    Effect.gen(function* () {
      const known = withoutHours(year, 7, 20, from, days)
      const { ended } = yield* played(questions, known)
      assert.deepStrictEqual(ended, referenceEndings(questions, known))
      const missing = (status: string) =>
        ended.filter((each) => each.status === status).map(({ kind }) => kind)
      assert.includeMembers(missing("void"), ["numeric_close", "threshold", "count_days", "barrier"])
      assert.includeMembers(missing("resolved"), ["numeric_close", "threshold", "count_days", "barrier"])
    })
  )
})
