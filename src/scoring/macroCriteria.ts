/** The settlement text of a macro challenge, in English and Chinese. Made once, at creation, and frozen with it. */

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
    `以 ${terms.series} ${terms.period} 的首次公布值${terms.unit === null ? "" : `（单位：${terms.unit}）`}结算，预计于 ${terms.releaseAt} 公布；其后的修订不计。`,
    `预测按其正态分布的 CRPS 计分，${terms.scaleIsFrozen ? "参考尺度" : "以区间跨度为尺度，其值"}为 ${terms.scale}。`,
    "恰好落在区间边界上的值归入其上方的区间。",
    `至 ${terms.voidAt} 仍无公布值则作废，不计任何分数。`
  ].join("")
