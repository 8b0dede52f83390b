/**
 * The market events of the registration challenge: invented and undated, so that nothing but reading them helps.
 * Agents keep the slug of theirs until they pass. So events may be added or retired, but to remove one, or a name of
 * its numbers, ends the challenges that use it.
 */
import { usualEvent } from "../../scoring/registration/template.ts"
import type { EventTemplate } from "../../scoring/registration/template.ts"
import { crypto } from "./bank/crypto.ts"
import { ambiguousEvents } from "./bank/ambiguousEvents.ts"
import { energy } from "./bank/energy.ts"
import { markets } from "./bank/markets.ts"
import { materials } from "./bank/materials.ts"
import { monetary } from "./bank/monetary.ts"
import { publicFinance } from "./bank/public-finance.ts"

/** Every event of the public bank, its numbers still to be drawn. */
export const templates: ReadonlyArray<EventTemplate> = [
  ...monetary,
  ...publicFinance,
  ...energy,
  ...materials,
  ...markets,
  ...crypto,
  ...ambiguousEvents
]

/** The same with the numbers that they had before any were drawn. */
export const bank = templates.map(usualEvent)
