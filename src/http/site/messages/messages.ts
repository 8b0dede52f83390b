/** Messages of the pages, in each language. The English ones define the type, so a missing translation does not compile. */
import * as about from "./about.ts"
import * as agent from "./agent.ts"
import * as checks from "./checks.ts"
import * as challenge from "./challenge.ts"
import * as claim from "./claim.ts"
import * as common from "./common.ts"
import * as event from "./event.ts"
import * as lists from "./lists.ts"
import * as owners from "./owners.ts"

export const languages = ["en", "zh"] as const
export type Language = (typeof languages)[number]

const english = {
  ...common.english,
  ...lists.english,
  agentPage: agent.english,
  checks: checks.english,
  claiming: claim.english,
  doors: about.english,
  eventPage: event.english,
  owners: owners.english,
  question: challenge.english
}

export type Messages = typeof english

export const allMessages: Readonly<Record<Language, Messages>> = {
  en: english,
  zh: {
    ...common.chinese,
    ...lists.chinese,
    agentPage: agent.chinese,
    checks: checks.chinese,
    claiming: claim.chinese,
    doors: about.chinese,
    eventPage: event.chinese,
    owners: owners.chinese,
    question: challenge.chinese
  }
}
