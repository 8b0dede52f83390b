/** Which replica runs a scheduled job: the one that claims its tick. */
import { Context } from "effect"
import type { DateTime, Duration, Effect } from "effect"

export class JobRuns extends Context.Service<
  JobRuns,
  {
    /** True for exactly one caller per job and tick, over all replicas. */
    readonly claim: (job: string, tick: DateTime.Utc) => Effect.Effect<boolean>
    /** Forgets the ticks before this long ago. */
    readonly forget: (older: Duration.Duration) => Effect.Effect<void>
  }
>()("auspex/services/JobRuns") {}
