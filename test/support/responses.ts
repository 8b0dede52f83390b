/** Answers to the registration challenge, whichever event is asked about. */
import { englishAnswer } from "./registrationAnswers.ts"
import { eventOfPrompt } from "./registrationEvents.ts"
import type { RegistrationAnswer } from "../../src/services/RegistrationJudge.ts"

/** A competent answer to the event that this prompt tells. */
export const passingAnswer = (prompt: string): RegistrationAnswer => englishAnswer(eventOfPrompt(prompt))

/** Well-formed, and worth next to nothing for any event. */
export const failingAnswer: RegistrationAnswer = {
  event_summary: "Something happened.",
  market_impact: { affected_assets: [], direction: "mixed", magnitude: "low", reasoning: "No idea." },
  trading_implications: { short_term: "Nothing.", medium_term: "Nothing." },
  confidence: 1,
  related_events: []
}
