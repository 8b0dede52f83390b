/** A question on a number that a statistical office or a central bank publishes. */
import {
  nameWithKey,
  byCrps,
  chineseName,
  chineseScoring,
  chineseVoid,
  inUtc,
  inUtcChinese,
  periodInChinese,
  periodInWords
} from "../wording.ts"
import type { QuestionKind } from "./kind.ts"

interface MacroNumberTerms {
  readonly period: string
  readonly unit: string | null
  /** The scale that forecasts are scored with: the frozen one, or the spread of the bins. */
  readonly scale: string
  readonly scaleIsFrozen: boolean
}

/** The columns of macro challenges, in the entry of their creation. */
export const macroTerms = {
  always: ["bin_edges", "decimal_step", "period", "reference_scale", "reward_pool", "unit"],
  since: ["categories", "pool_owner_rule", "reference"]
} as const

export const macroNumber: QuestionKind<MacroNumberTerms> = {
  type: "macro",
  answers: "number",
  logged: macroTerms,
  termsOf: ({ categories, period, reference_scale, scale, unit }) =>
    period === null || scale === null || categories !== null
      ? undefined
      : { period, unit, scale, scaleIsFrozen: reference_scale !== null },
  resultOf: () => null,
  questions: ({ period, target, targetName }) => [
    `What will ${nameWithKey(target, targetName)} be for ${periodInWords(period ?? "")}?`
  ],
  criteria: {
    en: ({ cancelAt, resolveAt, target, targetName, terms }) =>
      [
        `Settles on the first print of ${nameWithKey(target, targetName)} for ${periodInWords(terms.period)}${terms.unit === null ? "" : `, in ${terms.unit}`}, expected at ${inUtc(resolveAt)}; later revisions are ignored.`,
        terms.scaleIsFrozen
          ? byCrps.en(terms.scale)
          : `A forecast is scored by the CRPS of its distribution, with the spread of the bins, ${terms.scale}.`,
        "A value on the edge of two bins belongs to the bin above it.",
        `Without a value by ${inUtc(cancelAt)} the challenge is void, scoring nobody.`
      ].join(" "),
    zh: ({ cancelAt, resolveAt, target, terms }) =>
      [
        `按${chineseName(target)}${periodInChinese(terms.period)}的首次公布值${terms.unit === null ? "" : `（单位：${terms.unit}）`}结算，预计于 ${inUtcChinese(resolveAt)} 公布；此后的修订值不予采用。`,
        terms.scaleIsFrozen
          ? byCrps.zh(terms.scale)
          : chineseScoring(`以各区间的跨度为尺度，其值为 ${terms.scale}`),
        "恰好落在两个区间分界点上的数值，归入其上方的区间。",
        chineseVoid(cancelAt, "仍无公布值")
      ].join("")
  }
}
