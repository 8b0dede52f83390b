/** The settlement text of a macro challenge, in English and Chinese. Made once, at creation, and frozen with it. */
import { chineseName, chineseScoring, chineseVoid } from "./chinese.ts"

export interface MacroTerms {
  readonly seriesName: string
  readonly series: string
  readonly period: string
  readonly unit: string | null
  /** ISO 8601, UTC. */
  readonly releaseAt: string
  readonly voidAt: string
  /** Decimal text: what forecasts are scored with. */
  readonly scale: string
  readonly scaleIsFrozen: boolean
}

export const macroCriteria = (terms: MacroTerms): string =>
  [
    `Settles on the first print of ${terms.seriesName} (${terms.series}) for ${terms.period}${terms.unit === null ? "" : `, in ${terms.unit}`}, expected at ${terms.releaseAt}; later revisions are ignored.`,
    terms.scaleIsFrozen
      ? `A forecast is scored by the CRPS of its normal distribution, with the reference scale ${terms.scale}.`
      : `A forecast is scored by the CRPS of its normal distribution, with the spread of the bins, ${terms.scale}.`,
    "A value on the edge of two bins belongs to the bin above it.",
    `Without a value by ${terms.voidAt} the challenge is void, scoring nobody.`
  ].join(" ")

export const macroCriteriaChinese = (terms: MacroTerms): string =>
  [
    `以${chineseName(terms.series)}${terms.period} 的首次公布值${terms.unit === null ? "" : `（单位：${terms.unit}）`}结算，预计于 ${terms.releaseAt} 公布；此后的修订值不予采用。`,
    chineseScoring(
      terms.scaleIsFrozen ? `参考尺度为 ${terms.scale}` : `以各区间的跨度为尺度，其值为 ${terms.scale}`
    ),
    "恰好落在两个区间分界点上的数值，归入其上方的区间。",
    chineseVoid(terms.voidAt, "仍无公布值")
  ].join("")
