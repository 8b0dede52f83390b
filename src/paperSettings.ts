/** The settings of paper trading; part of the table in `src/config.ts`. */
import { duration } from "./settingKinds.ts"

export const paperSettings = {
  paperSignalSpacing: duration(
    "AUSPEX_PAPER_SIGNAL_SPACING",
    "60 seconds",
    "The least time between an agent's paper-trade signals on one challenge."
  ),
  paperPriceWithin: duration(
    "AUSPEX_PAPER_PRICE_WITHIN",
    "4 days",
    "How old the latest price may be for a paper-trade signal to take a virtual position; the default is a long weekend."
  )
}
