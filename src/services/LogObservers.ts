/**
 * Others who have seen the log and may know more of it than the database has: the public address of this site, which
 * another instance or another copy of it may answer, and the witnesses.
 */
import { Context } from "effect"
import type { Effect, Option } from "effect"

/** A signed checkpoint proves what it says; that a witness has attested another tree of some size is its word only. */
export type Sighting =
  | { readonly by: string; readonly note: string }
  | { readonly by: string; readonly size: number }

export class LogObservers extends Context.Service<
  LogObservers,
  {
    /**
     * What they have seen besides this checkpoint, the newest that the database has. Who does not answer is left out, and
     * witnesses are, where there is none.
     */
    readonly ask: (newest: Option.Option<string>) => Effect.Effect<ReadonlyArray<Sighting>>
  }
>()("auspex/services/LogObservers") {}
