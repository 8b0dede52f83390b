/** Asks the feeds that are due. Which those are, and who asks, stands in their rows, so every replica may look. */
import { Duration, Effect, Layer } from "effect"
import { FeedIngestion } from "../services/Events.ts"
import { poll } from "./schedule.ts"

const lookInterval = Duration.seconds(10)

const start = Effect.gen(function* () {
  const feeds = yield* FeedIngestion
  yield* Effect.forkScoped(poll("feeds", lookInterval, feeds.ingestDue))
})

/** For instances with the role `jobs`, if there are feeds. */
export const layer = Layer.effectDiscard(start)
