/** What is shown of open challenges, how long closing and settling wait, and when an agent is ranked; part of the table in `src/config.ts`. */
import { duration, integer, stepsOrOff } from "./settingKinds.ts"
import type { Setting } from "./settingKinds.ts"

export const settlementSettings = {
  countsEvery: stepsOrOff(
    "AUSPEX_COUNTS_EVERY",
    "15 minutes,10",
    "When the counts by direction and the odds of an open challenge may move: so long after the last time, and after so many more agents. With off they are live, and tell what single agents say."
  ),
  closePriceWithin: duration(
    "AUSPEX_CLOSE_PRICE_WITHIN",
    "24 hours",
    "How long after resolve_at a first price still counts as the closing price; frozen into new challenges."
  ),
  directionalCancelAfter: duration(
    "AUSPEX_DIRECTIONAL_CANCEL_AFTER",
    "7 days",
    "How long a directional challenge waits for a closing price before it is cancelled; frozen into new challenges."
  ),
  macroVoidAfter: duration(
    "AUSPEX_MACRO_VOID_AFTER",
    "60 days",
    "How long after release_at a macro challenge waits for its value before it is void; frozen into new challenges."
  ),
  priceEventVoidAfter: duration(
    "AUSPEX_PRICE_EVENT_VOID_AFTER",
    "72 hours",
    "How long after the later of its deadline and resolve_at a price event waits for its candles before it is void; frozen into new ones."
  ),
  closeGrace: duration(
    "AUSPEX_CLOSE_GRACE",
    "1 second",
    "How long after a deadline submissions stamped before it are still let in, if settlement is not due."
  ),
  rankMinCount: integer(
    "AUSPEX_RANK_MIN_COUNT",
    "30",
    "Scored predictions an official rank needs.",
    [1, 1_000_000]
  )
} satisfies Record<string, Setting<unknown>>
