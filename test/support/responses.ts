/** Answers to the registration challenge, whichever event is asked about. */
import { bank } from "../../src/layers/registration/bank.ts"
import { englishAnswer } from "./registrationAnswers.ts"
import type { RegistrationAnswer } from "../../src/services/RegistrationJudge.ts"

/** A competent answer to the event that this prompt tells. */
export const passingAnswer = (prompt: string): RegistrationAnswer => {
  const event = bank.find((candidate) => candidate.prompt === prompt)
  if (event === undefined) throw new Error(`no event of the bank has this prompt: ${prompt.slice(0, 80)}`)
  return englishAnswer(event)
}

/** Well-formed, and worth next to nothing for any event. */
export const failingAnswer: RegistrationAnswer = {
  event_summary: "Something happened.",
  market_impact: { affected_assets: [], direction: "mixed", magnitude: "low", reasoning: "No idea." },
  trading_implications: { short_term: "Nothing.", medium_term: "Nothing." },
  confidence: 1,
  related_events: []
}
