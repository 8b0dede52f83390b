/** A question which of several ordered categories is announced. */
import {
  nameWithKey,
  chineseName,
  chineseVoid,
  inUtc,
  inUtcChinese,
  periodInChinese,
  periodInWords
} from "../wording.ts"
import type { QuestionKind } from "./kind.ts"
import { macroTerms } from "./macroNumber.ts"

interface MacroCategoryTerms {
  readonly period: string
  /** The categories in their order, each with its probability in the reference vector. */
  readonly categories: ReadonlyArray<readonly [name: string, probability: string]>
}

export const macroCategory: QuestionKind<MacroCategoryTerms> = {
  type: "macro",
  answers: "categories",
  logged: macroTerms,
  termsOf: ({ categories, period, reference }) =>
    period === null || categories === null || reference === null
      ? undefined
      : { period, categories: categories.map((name, index) => [name, reference[index] ?? ""] as const) },
  resultOf: () => null,
  questions: ({ period, target, targetName }) => [
    `What will become of ${nameWithKey(target, targetName)} for ${periodInWords(period ?? "")}?`
  ],
  criteria: {
    en: ({ cancelAt, resolveAt, target, targetName, terms }) =>
      [
        `Settles on the category of ${nameWithKey(target, targetName)} for ${periodInWords(terms.period)} that is announced, expected at ${inUtc(resolveAt)}; later corrections are ignored.`,
        `The categories in their order, each with its probability in the reference: ${terms.categories.map(([name, probability]) => `${name} ${probability}`).join(", ")}.`,
        "An answer is scored by its ranked probability score, on the scale of what the reference expects of its own.",
        `Without an announcement by ${inUtc(cancelAt)} the challenge is void, scoring nobody.`
      ].join(" "),
    zh: ({ cancelAt, resolveAt, target, terms }) =>
      [
        `按${chineseName(target)}${periodInChinese(terms.period)}公布的类别结算，预计于 ${inUtcChinese(resolveAt)} 公布；此后的更正不予采用。`,
        `各类别依次为（括号内为参考概率）：${terms.categories.map(([name, probability]) => `${name}（${probability}）`).join("、")}。`,
        "答案按其排序概率评分（RPS）计分，以参考概率对自身的期望值为尺度。",
        chineseVoid(cancelAt, "仍未公布")
      ].join("")
  }
}
