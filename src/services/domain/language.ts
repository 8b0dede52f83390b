/** Texts that are written in English and in Chinese, of which a reader may ask for one. */
import { Schema } from "effect"

const Language = Schema.Literals(["en", "zh"])

/** A query parameter of reads that show such texts. */
export const languageQuery = {
  lang: Schema.optional(Language).annotate({
    description: "leaves the texts in the other language out: they are null"
  })
}

interface Texts {
  readonly resolution_criteria: string | null
  readonly resolution_criteria_zh: string | null
}

export const inLanguage =
  (lang: typeof Language.Type | undefined) =>
  <Shown extends Texts>(shown: Shown): Omit<Shown, keyof Texts> & Texts => {
    if (lang === undefined) return shown
    return lang === "en"
      ? { ...shown, resolution_criteria_zh: null }
      : { ...shown, resolution_criteria: null }
  }
