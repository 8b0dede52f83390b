/**
 * Observers have seen the log and may know more of it than the database: the public address of this site, where another
 * instance or another copy may answer, and the witnesses.
 */
import { Context } from "effect"
import type { Effect, Option } from "effect"

/** A head that an observer reports. A signed checkpoint is its own proof; a size that a witness has attested is a claim only. */
export type ObservedHead =
  | { readonly by: string; readonly note: string }
  | { readonly by: string; readonly size: number }

export class LogObservers extends Context.Service<
  LogObservers,
  {
    /**
     * Heads that observers report, compared with our newest checkpoint. Observers that do not answer are skipped; without a
     * checkpoint, so are witnesses.
     */
    readonly ask: (newest: Option.Option<string>) => Effect.Effect<ReadonlyArray<ObservedHead>>
  }
>()("auspex/services/LogObservers") {}
