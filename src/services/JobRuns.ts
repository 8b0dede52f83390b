/** Decides which replica runs a scheduled job: the one that claims its tick. */
import { Context, Schema } from "effect"
import type { Duration, Effect } from "effect"
import { Timestamp } from "./domain/text.ts"

export const JobRun = Schema.Struct({ job: Schema.String, at: Timestamp })
export type JobRun = typeof JobRun.Type

/** `refused`: this instance's clock and the database's differ, so it runs no job. */
export type Claim = "claimed" | "taken" | "refused"

export class JobRuns extends Context.Service<
  JobRuns,
  {
    /** Claims the present tick of the interval by this instance's clock, for exactly one caller per job and tick over all replicas. */
    readonly claim: (job: string, interval: Duration.Duration) => Effect.Effect<Claim>
    /** The last tick of each job that a replica has claimed, by name. */
    readonly last: Effect.Effect<ReadonlyArray<JobRun>>
    /** Deletes the ticks before this long ago, and those of the future, which a wrong clock claimed. */
    readonly forget: (older: Duration.Duration) => Effect.Effect<void>
  }
>()("auspex/services/JobRuns") {}
