/**
 * The market events of the registration challenge: invented and undated, so that nothing but reading them helps.
 * Agents keep the slug of theirs until they pass. So events may be added or amended, but to remove one ends the
 * challenges that use it.
 */
import type { RegistrationEvent } from "../../scoring/registration.ts"
import { crypto } from "./bank/crypto.ts"
import { energy } from "./bank/energy.ts"
import { markets } from "./bank/markets.ts"
import { materials } from "./bank/materials.ts"
import { monetary } from "./bank/monetary.ts"
import { publicFinance } from "./bank/public-finance.ts"

const asked =
  "Analyse this event: sum it up in your own words, name the assets that it affects by their keys, judge direction and magnitude for the price of the asset that it hits most directly, explain cause and effect, say what follows in the short and in the medium term, how confident you are, and which other kinds of events bear on it."

const withQuestion = (event: RegistrationEvent): RegistrationEvent => ({
  ...event,
  prompt: `${event.prompt}\n\n${asked}`
})

/** Every event, with what is asked for at the end of its prompt. */
export const bank: ReadonlyArray<RegistrationEvent> = [
  ...monetary,
  ...publicFinance,
  ...energy,
  ...materials,
  ...markets,
  ...crypto
].map(withQuestion)
