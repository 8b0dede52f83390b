/** Makes the terms of a new directional challenge: an open price and a dead zone. */
import { BigDecimal, DateTime, Effect, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { plainDecimal } from "../../../scoring/wording.ts"
import { TargetPaused } from "../../../services/domain/Challenge.ts"
import type { NewChallenge } from "../../../services/domain/Challenge.ts"
import { InvalidRequest } from "../../../services/domain/errors.ts"
import { wholeSecond, wholeSeconds } from "../../../services/domain/text.ts"
import { Prices } from "../../../services/Prices.ts"
import { Settings } from "../../../services/Settings.ts"
import { findOne, orDie } from "../sql.ts"
import type { DraftOf } from "./rows.ts"

const PrintedDecimals = Schema.Struct({
  open_price: Schema.String,
  dead_zone_pct: Schema.NullOr(Schema.String)
})

export const makeDirectionalTerms = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const settings = yield* Settings
  const prices = yield* Prices
  const printedDecimals = findOne(PrintedDecimals)

  /** Exact decimals as PostgreSQL prints them: the form in the criteria text and the log. */
  const printed = (openPrice: string, deadZonePct: string | null) =>
    printedDecimals(sql`
      select trim_scale(${openPrice}::numeric)::text as open_price,
             trim_scale(${deadZonePct}::numeric)::text as dead_zone_pct`)

  const openPriceOf = Effect.fnUntraced(function* (
    asset: string,
    { open_price: given, resolve_at }: NewChallenge,
    now: DateTime.Utc
  ) {
    if (given !== undefined) return plainDecimal(given)
    if (DateTime.isLessThanOrEqualTo(resolve_at, now)) {
      return yield* InvalidRequest.of(
        "open_price",
        "Expected a value: resolve_at is not ahead, so the latest price may be the closing price"
      )
    }
    const latest = yield* prices.latest(asset)
    if (Option.isNone(latest)) {
      return yield* InvalidRequest.of("open_price", `No price of ${asset} is known yet, so it must be given`)
    }
    if (!BigDecimal.isPositive(latest.value.price)) {
      return yield* InvalidRequest.of(
        "open_price",
        `The latest price of ${asset} is ${BigDecimal.format(latest.value.price)}; a change is measured from a price above 0`
      )
    }
    return BigDecimal.format(latest.value.price)
  })

  const draft: DraftOf<"directional"> = Effect.fnUntraced(function* (wanted, target, now) {
    const resolveAt = wholeSecond(wanted.resolve_at)
    if (target.dead_zone_pct === null) {
      return yield* InvalidRequest.of(
        "asset",
        `${target.key} is a macro series and has no directional challenges`
      )
    }
    if (target.paused) {
      return yield* new TargetPaused({
        detail: `${target.key} is paused: no new challenges are created on it. To resume it: npm run admin -- targets set ${target.key} --paused false`
      })
    }
    if (DateTime.isGreaterThan(wanted.deadline, resolveAt)) {
      return yield* InvalidRequest.of("resolve_at", "Expected a time at or after the deadline")
    }
    if (wanted.event_id !== undefined) {
      const found = yield* sql`select 1 from events where id = ${wanted.event_id}`.pipe(orDie)
      if (found.length === 0) return yield* InvalidRequest.of("event_id", "There is no such event")
    }
    const decimals = yield* printed(
      yield* openPriceOf(target.key, { ...wanted, resolve_at: resolveAt }, now),
      wanted.dead_zone_pct === null ? null : plainDecimal(wanted.dead_zone_pct ?? target.dead_zone_pct)
    )
    return {
      ...decimals,
      kind: wanted.kind ?? "session",
      event_id: wanted.event_id ?? null,
      resolve_at: resolveAt,
      close_price_until: DateTime.addDuration(resolveAt, wholeSeconds(settings.closePriceWithin)),
      cancel_at: DateTime.addDuration(resolveAt, wholeSeconds(settings.directionalCancelAfter))
    }
  })

  return draft
})
