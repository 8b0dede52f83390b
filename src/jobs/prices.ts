/** Asks the price source for the candles that are due. Candles end on the hour, so most ticks find nothing to ask for. */
import { Duration, Effect, Layer } from "effect"
import { PriceIngestion } from "../services/Prices.ts"
import { Settings } from "../services/Settings.ts"
import { singletonCron, poll } from "./schedule.ts"

const measureInterval = Duration.minutes(1)

const start = Effect.gen(function* () {
  const settings = yield* Settings
  const ingestion = yield* PriceIngestion
  // Each in ticks of its own: three attempts at one that hangs take longer than from tick to tick.
  for (const place of ingestion.places) {
    yield* Effect.forkScoped(
      singletonCron(`prices of ${place}`, settings.jobInterval, ingestion.ingestDue(place))
    )
  }
  yield* Effect.forkScoped(poll("price gauges", measureInterval, ingestion.measure))
})

/** For instances with the role `jobs`, if there is a price source. */
export const layer = Layer.effectDiscard(start)
