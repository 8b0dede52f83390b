/** Which replica runs a scheduled job: the one that claims its tick. */
import { Context, Schema } from "effect"
import type { DateTime, Duration, Effect } from "effect"
import { Timestamp } from "./domain/text.ts"

export const JobRun = Schema.Struct({ job: Schema.String, at: Timestamp })
export type JobRun = typeof JobRun.Type

export class JobRuns extends Context.Service<
  JobRuns,
  {
    /** True for exactly one caller per job and tick, over all replicas. */
    readonly claim: (job: string, tick: DateTime.Utc) => Effect.Effect<boolean>
    /** The last tick of each job that a replica has claimed, by name. */
    readonly last: Effect.Effect<ReadonlyArray<JobRun>>
    /** Forgets the ticks before this long ago. */
    readonly forget: (older: Duration.Duration) => Effect.Effect<void>
  }
>()("auspex/services/JobRuns") {}
