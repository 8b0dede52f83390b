/** The questions on a week of a crypto asset, with levels around its price. */
import { BigDecimal, DateTime, Duration, Effect } from "effect"
import { closeScale, countedDays, dailyCloses, day, scaleReturns } from "../../../../scoring/priceEvents.ts"
import { levelsAround, nextMonday } from "../../../../scoring/schedules.ts"
import { Arenas } from "../../../../services/Arenas.ts"
import type { PriceEventKind } from "../../../../services/domain/Challenge.ts"
import { Prices } from "../../../../services/Prices.ts"
import type { ScheduledKind } from "../../../../services/Schedules.ts"
import { Settings } from "../../../../services/Settings.ts"
import type { Target } from "../../../../services/Targets.ts"
import { dateText } from "../../../../scoring/holidays.ts"
import { makeFreshPrice } from "./freshPrice.ts"
import { made, NotYet } from "./plan.ts"
import type { Plan } from "./plan.ts"

interface Asked {
  readonly kind: ScheduledKind
  readonly question: PriceEventKind
  readonly level?: "threshold" | "up" | "down"
}

const week: ReadonlyArray<Asked> = [
  { kind: "numeric_close", question: "numeric_close" },
  { kind: "count_days", question: "count_days" },
  { kind: "threshold", question: "threshold", level: "threshold" },
  { kind: "barrier_up", question: "barrier", level: "up" },
  { kind: "barrier_down", question: "barrier", level: "down" }
]

export const makeWeekPlans = Effect.gen(function* () {
  const settings = yield* Settings
  const prices = yield* Prices
  const { priceEvents } = yield* Arenas
  const freshPrice = yield* makeFreshPrice

  /** How much a week moves the price is what the last 60 days moved it. */
  const levelsOf = Effect.fnUntraced(function* (target: string, now: DateTime.Utc) {
    const price = yield* freshPrice(target)
    const lastMidnight = Math.floor(DateTime.toEpochMillis(now) / day) * day
    const candles = yield* prices.hourly(target, dailyCloses(lastMidnight, scaleReturns + 1))
    const closes = candles.map(({ close }) => BigDecimal.toNumberUnsafe(close))
    const deviation = closeScale(price, closes, countedDays * 24)
    const levels = deviation === undefined ? undefined : levelsAround(price, deviation)
    if (levels !== undefined) return levels
    return yield* new NotYet({
      reason: `levels are computed from the last ${scaleReturns + 1} daily closes of ${target}, of which ${closes.length} are known, and from their moves`
    })
  })

  return Effect.fnUntraced(function* (targets: ReadonlyArray<Target>, now: DateTime.Utc) {
    const moment = DateTime.toEpochMillis(now)
    const monday = nextMonday(moment)
    const opens = monday - Duration.toMillis(settings.weeklyLead)
    const lastCall = monday - Duration.toMillis(settings.scheduleNotice)
    if (moment < opens || moment > lastCall) return []
    const deadline = DateTime.makeUnsafe(monday)
    const plans: Array<Plan> = []
    // A pause is of sessions and flash hours alone.
    for (const { key } of targets.filter(({ category }) => category === "crypto")) {
      // Five questions on one price.
      const levels = yield* Effect.cached(levelsOf(key, now))
      for (const { kind, level, question } of week) {
        const make = Effect.flatMap(levels, (known) =>
          made(
            priceEvents.create({
              kind: question,
              asset: key,
              deadline,
              resolve_at: DateTime.makeUnsafe(monday + countedDays * day),
              ...(level !== undefined && { level: known[level] }),
              ...(question === "barrier" && { window_from: deadline })
            })
          )
        )
        plans.push({ kind, target: key, period: dateText(monday / day), eventId: null, make })
      }
    }
    return plans
  })
})
