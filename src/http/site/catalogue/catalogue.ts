/**
 * What pages say, in each language. A file has the phrases of an area in both; the English one gives the shape, so a phrase that the other lacks
 * does not compile.
 */
import * as about from "./about.ts"
import * as checks from "./checks.ts"
import * as claim from "./claim.ts"
import * as common from "./common.ts"
import * as lists from "./lists.ts"
import * as owners from "./owners.ts"

export const languages = ["en", "zh"] as const
export type Language = (typeof languages)[number]

const english = {
  ...common.english,
  ...lists.english,
  checks: checks.english,
  claiming: claim.english,
  doors: about.english,
  owners: owners.english
}

export type Catalogue = typeof english

export const catalogues: Readonly<Record<Language, Catalogue>> = {
  en: english,
  zh: {
    ...common.chinese,
    ...lists.chinese,
    checks: checks.chinese,
    claiming: claim.chinese,
    doors: about.chinese,
    owners: owners.chinese
  }
}
