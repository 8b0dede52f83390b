/** Texts in English and in Chinese, of which a reader may choose one. */
import { Schema } from "effect"

const Language = Schema.Literals(["en", "zh"])

/** The query parameter of reads with such texts. */
export const languageQuery = {
  lang: Schema.optional(Language).annotate({ description: "leaves the texts in the other language out" })
}

const text = (lang: typeof Language.Type) =>
  Schema.optionalKey(Schema.NullOr(Schema.String)).annotate({
    description: `frozen at creation; null in older challenges; left out where lang is ${lang === "en" ? "zh" : "en"}`
  })

/** The texts on how a challenge is settled. */
export const criteriaTexts = { resolution_criteria: text("en"), resolution_criteria_zh: text("zh") }

export interface CriteriaTexts {
  readonly resolution_criteria?: string | null
  readonly resolution_criteria_zh?: string | null
}

/** Leaves out the text in the other language. */
export const inLanguage =
  (lang: typeof Language.Type | undefined) =>
  <Shown extends CriteriaTexts>(shown: Shown): Omit<Shown, keyof CriteriaTexts> & CriteriaTexts => {
    if (lang === undefined) return shown
    const { resolution_criteria: english = null, resolution_criteria_zh: chinese = null, ...others } = shown
    return lang === "en"
      ? { ...others, resolution_criteria: english }
      : { ...others, resolution_criteria_zh: chinese }
  }
