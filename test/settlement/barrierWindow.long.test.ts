/** The cost of a barrier that is not touched for eleven years: the job looks at it every 15 seconds. */
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Scoring } from "../../src/services/Scoring.ts"
import { freshWeek, moveTo, newPriceEvent, plus } from "../support/challenges.ts"
import { testServices } from "../support/services.ts"
import { asOwner } from "../support/database.ts"

const hours = 100_000
/** Hours of the window that are still to come. */
const ahead = 48

const tell = (line: string) =>
  Effect.sync(() => {
    process.stdout.write(`${line}\n`)
  })

layer(testServices(), { timeout: 60_000 })("A barrier of 100 000 hours", (it) => {
  it.effect("A barrier of 100 000 hours is checked in milliseconds while it is not touched", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const scoring = yield* Scoring
      const monday = yield* freshWeek
      const begin = plus(monday, { hours: ahead - hours })
      const barrier = yield* newPriceEvent({
        kind: "barrier",
        window_from: begin,
        resolve_at: plus(monday, { hours: ahead }),
        level: 1000
      })
      yield* sql`
        insert into price_points (source, asset, interval, time, open, high, low, close, observed_at, fetched_at)
        select 'admin', 'ETH', '1h', t, 100, 110.5, 90.25, 101, t + interval '1 hour', t + interval '1 hour'
          from generate_series(${DateTime.toDateUtc(begin)}::timestamptz,
                               ${DateTime.toDateUtc(plus(monday, "-1 hour"))}::timestamptz, interval '1 hour') t`
      yield* asOwner(sql`analyze price_points`)
      yield* moveTo(plus(monday, "1 hour"))
      const ticks: Array<number> = []
      for (let tick = 0; tick < 6; tick++) {
        const begun = performance.now()
        const report = yield* scoring.settleDue
        ticks.push(performance.now() - begun)
        assert.deepStrictEqual([report.resolved, report.failed], [[], []])
      }
      // One hour more, and the window from its beginning again, since any hour of it may have been corrected.
      yield* moveTo(plus(monday, "2 hours"))
      const begun = performance.now()
      yield* scoring.settleDue
      const anew = performance.now() - begun
      yield* tell(
        `ticks of ${ticks.map((millis) => millis.toFixed(1)).join(", ")} ms, an hour later ${anew.toFixed(1)} ms`
      )
      const later = ticks.slice(1).toSorted((left, right) => left - right)
      assert.isBelow(later[2] ?? 1000, 100)
      // A touch in the very first hour, as a correction would bring it.
      yield* sql`
        insert into price_points (source, asset, interval, time, revision, open, high, low, close, observed_at, fetched_at)
        select source, asset, interval, time, 1, open, 1000, low, close, observed_at, ${DateTime.toDateUtc(plus(monday, "2 hours"))}
          from price_points order by time limit 1`
      yield* moveTo(plus(monday, "3 hours"))
      const touching = performance.now()
      assert.deepStrictEqual((yield* scoring.settleDue).resolved, [barrier.id])
      yield* tell(`settled by its first hour in ${(performance.now() - touching).toFixed(1)} ms`)
    })
  )
})
