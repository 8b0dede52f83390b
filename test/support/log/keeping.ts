/** The public log kept as the jobs keep it, at once. */
import { Effect } from "effect"
import { LogKeeper } from "../../../src/services/LogKeeper.ts"

/** Everything that is due is revealed, everything that waits gets its place, and all of it is published. */
export const keepLog = Effect.gen(function* () {
  const keeper = yield* LogKeeper
  while ((yield* keeper.sequence) + (yield* keeper.revealDue) > 0);
  yield* keeper.publish
})
