/** The price that a scheduled challenge begins from, if it is no older than it may be. */
import { BigDecimal, DateTime, Effect, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { lastClose } from "../../../../scoring/sessions.ts"
import { Prices } from "../../../../services/Prices.ts"
import { Settings } from "../../../../services/Settings.ts"
import { findOne } from "../../sql.ts"
import { NotYet } from "./plan.ts"

const Fetched = Schema.Struct({ hourly: Schema.Boolean })

export const makeFreshPrice = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const prices = yield* Prices
  const settings = yield* Settings
  const fetched = findOne(Fetched)

  /** Where prices of every hour are fetched, an old one says that they are not. Daily ones are of the last close. */
  const oldest = Effect.fnUntraced(function* (target: string, now: DateTime.Utc) {
    const { hourly } = yield* fetched(sql`
      select exists (select 1 from expected_candles where asset = ${target} and interval = '1h') as hourly`)
    return hourly
      ? DateTime.subtractDuration(now, settings.schedulePriceWithin)
      : DateTime.makeUnsafe(lastClose(target, DateTime.toEpochMillis(now)))
  })

  return Effect.fnUntraced(function* (target: string) {
    const latest = yield* prices.latest(target)
    if (Option.isNone(latest)) return yield* new NotYet({ reason: `no price of ${target} is known` })
    const { observedAt, price } = latest.value
    const now = yield* DateTime.now
    if (DateTime.isLessThan(observedAt, yield* oldest(target, now))) {
      return yield* new NotYet({
        reason: `the latest price of ${target} is of ${DateTime.formatIso(observedAt)}, which is too old to begin from`
      })
    }
    return BigDecimal.toNumberUnsafe(price)
  })
})
