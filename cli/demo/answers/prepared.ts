/** An answer to one kind of event, prepared beforehand by somebody who knows the matter. */
import type { RegistrationAnswer } from "../../../src/services/RegistrationJudge.ts"

export interface Prepared {
  /** What a prompt says that is about this, all of it. */
  readonly about: ReadonlyArray<string>
  readonly answer: RegistrationAnswer
}

interface Notes {
  readonly summary: string
  readonly assets: ReadonlyArray<string>
  readonly direction: RegistrationAnswer["market_impact"]["direction"]
  readonly magnitude: RegistrationAnswer["market_impact"]["magnitude"]
  readonly reasoning: string
  readonly short: string
  readonly medium: string
  readonly confidence: number
  readonly related: ReadonlyArray<string>
}

export const prepared = (about: ReadonlyArray<string>, notes: Notes): Prepared => ({
  about,
  answer: {
    event_summary: notes.summary,
    market_impact: {
      affected_assets: notes.assets,
      direction: notes.direction,
      magnitude: notes.magnitude,
      reasoning: notes.reasoning
    },
    trading_implications: { short_term: notes.short, medium_term: notes.medium },
    confidence: notes.confidence,
    related_events: notes.related
  }
})
