/** Which series of FRED a figure is, and how it is computed and rounded, as the office that publishes it does. */

interface Series {
  readonly id: string
  /** FRED's transformation: lin none, chg change, pch and pc1 percent over the period before and the year before. */
  readonly units: "lin" | "chg" | "pch" | "pc1"
  readonly decimals: number
}

const overAYear = "% over a year"
const overAMonth = "% over a month"

/** By asset and unit. Changes over a year are of unadjusted indices, over a month of adjusted ones, as published. */
const known: Readonly<Record<string, Readonly<Record<string, Series>>>> = {
  CPI: {
    [overAYear]: { id: "CPIAUCNS", units: "pc1", decimals: 1 },
    [overAMonth]: { id: "CPIAUCSL", units: "pch", decimals: 1 },
    index: { id: "CPIAUCNS", units: "lin", decimals: 3 }
  },
  CORE_CPI: {
    [overAYear]: { id: "CPILFENS", units: "pc1", decimals: 1 },
    [overAMonth]: { id: "CPILFESL", units: "pch", decimals: 1 }
  },
  PPI: {
    [overAYear]: { id: "PPIFID", units: "pc1", decimals: 1 },
    [overAMonth]: { id: "PPIFIS", units: "pch", decimals: 1 }
  },
  NFP: { "thousand jobs": { id: "PAYEMS", units: "chg", decimals: 0 } },
  UNRATE: { "%": { id: "UNRATE", units: "lin", decimals: 1 } },
  PCE: {
    [overAYear]: { id: "PCEPI", units: "pc1", decimals: 1 },
    [overAMonth]: { id: "PCEPI", units: "pch", decimals: 1 }
  },
  GDP: { "% annualised": { id: "A191RL1Q225SBEA", units: "lin", decimals: 1 } }
}

/** Nothing where the unit is not one of these: a value is proposed, never guessed. */
export const seriesOf = (asset: string, unit: string | null): Series | undefined => known[asset]?.[unit ?? ""]

/** The first day of a period: `2026-03` or `2026-Q1`. */
export const observationOf = (period: string): string | undefined => {
  const month = /^(\d{4})-(0[1-9]|1[0-2])$/.exec(period)
  if (month !== null) return `${month[1]}-${month[2]}-01`
  const quarter = /^(\d{4})-?Q([1-4])$/.exec(period)
  if (quarter === null) return undefined
  return `${quarter[1]}-${String(Number(quarter[2]) * 3 - 2).padStart(2, "0")}-01`
}
