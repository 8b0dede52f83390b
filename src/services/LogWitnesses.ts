/**
 * Witnesses of the log (c2sp.org/tlog-witness): others, who cosign a checkpoint once they have checked that the log has
 * only grown since the last one they saw. So two parts of the world can never be shown two logs. None of it is waited for.
 */
import { Context } from "effect"
import type { Effect } from "effect"

export interface LogWitness {
  /** The name of its key. */
  readonly name: string
  /**
   * Asks it to cosign the newest checkpoint, if it has not, nobody is asking it just now, and it is not left alone after
   * a failure. What it refuses is logged, and never fails.
   */
  readonly ask: Effect.Effect<void>
}

export class LogWitnesses extends Context.Service<
  LogWitnesses,
  {
    /** Those that are configured. Each is asked on its own, so that one that hangs holds up no other. */
    readonly all: ReadonlyArray<LogWitness>
  }
>()("auspex/services/LogWitnesses") {}
