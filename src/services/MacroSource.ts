/** Where first prints of macro series are looked up, in the unit that a challenge asks for. */
import { Context } from "effect"
import type { DateTime, Effect, Option } from "effect"
import type { SourceFailed } from "./PriceSource.ts"

export interface MacroQuestion {
  readonly asset: string
  readonly period: string
  readonly unit: string | null
}

/** What was published first of a period, whatever it was revised to later. */
export interface FirstPrint {
  readonly value: number
  /** For example `FRED CPIAUCNS pc1`. */
  readonly source: string
  /** First day of the period. */
  readonly observation: string
  /** The day on which it was published. */
  readonly releasedOn: string
  readonly fetchedAt: DateTime.Utc
  /** SHA-256 of the bytes of the answers. */
  readonly payloadHash: Uint8Array
}

export class MacroSource extends Context.Service<
  MacroSource,
  {
    /** Nothing while it is not published, and of what the source does not have in this unit. */
    readonly firstPrint: (question: MacroQuestion) => Effect.Effect<Option.Option<FirstPrint>, SourceFailed>
  }
>()("auspex/services/MacroSource") {}
