/**
 * What pages say, in each language. A file has the phrases of an area in both; the English one gives the shape, so a phrase that the other lacks
 * does not compile.
 */
import * as about from "./about.ts"
import * as checks from "./checks.ts"
import * as common from "./common.ts"
import * as lists from "./lists.ts"

export const languages = ["en", "zh"] as const
export type Language = (typeof languages)[number]

const english = { ...common.english, ...lists.english, doors: about.english, checks: checks.english }

export type Catalogue = typeof english

export const catalogues: Readonly<Record<Language, Catalogue>> = {
  en: english,
  zh: { ...common.chinese, ...lists.chinese, doors: about.chinese, checks: checks.chinese }
}
