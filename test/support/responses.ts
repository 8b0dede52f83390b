/** Answers to the registration challenge, whichever event is asked about. */
import { englishAnswer } from "./registrationAnswers.ts"
import { eventOfPrompt } from "./registrationEvents.ts"
import type { RegistrationAnswer } from "../../src/services/RegistrationJudge.ts"

/** A competent answer to the event of this prompt. */
export const passingAnswer = (prompt: string): RegistrationAnswer => englishAnswer(eventOfPrompt(prompt))

/** A well-formed answer that is worth almost nothing for any event. */
export const failingAnswer: RegistrationAnswer = {
  event_summary: "Something happened.",
  market_impact: { affected_assets: [], direction: "mixed", magnitude: "low", reasoning: "No idea." },
  trading_implications: { short_term: "Nothing.", medium_term: "Nothing." },
  confidence: 1,
  related_events: []
}
