/** The names of kinds, and the facts of price events that schemas and statements need: a line each. The functions of a kind are in its file. */
import { Struct } from "effect"
import { countedDays } from "../candles.ts"

/** Sessions, flash hours, and the ladder. */
export const directionKindNames = ["session", "flash", "1h", "4h", "1d"] as const

interface CandleFacts {
  /** The form of its answers. Of yes or no, bullish is Yes and bearish is No. */
  readonly answers: "yes_no" | "number"
  /** The greatest outcome of a kind that counts from 0 on; null of others. */
  readonly counts: number | null
  /** The daily closes that decide it, and since which rules they may come from a daily candle; null of others. */
  readonly closes: { readonly days: number; readonly dailySince: number } | null
  /** True of a kind with a window, some of whose candles may be enough: it is looked at before it resolves. */
  readonly hasWindow: boolean
}

const facts = {
  numeric_close: { answers: "number", counts: null, closes: { days: 1, dailySince: 2 }, hasWindow: false },
  barrier: { answers: "yes_no", counts: null, closes: null, hasWindow: true },
  // The first day is compared with the one before it.
  count_days: {
    answers: "number",
    counts: countedDays,
    closes: { days: countedDays + 1, dailySince: 3 },
    hasWindow: false
  },
  threshold: { answers: "yes_no", counts: null, closes: { days: 1, dailySince: 2 }, hasWindow: false }
} as const satisfies Readonly<Record<string, CandleFacts>>

export type CandleKindName = keyof typeof facts
export const candleFacts: Readonly<Record<CandleKindName, CandleFacts>> = facts
export const candleKindNames = Struct.keys(facts)

const namesOf = (holds: (facts: CandleFacts) => boolean): ReadonlyArray<CandleKindName> =>
  candleKindNames.filter((name) => holds(facts[name]))

export const yesNoKinds = namesOf(({ answers }) => answers === "yes_no")
export const numberKinds = namesOf(({ answers }) => answers === "number")
export const countingKinds = namesOf(({ counts }) => counts !== null)
export const kindsWithWindow: ReadonlyArray<string> = namesOf(({ hasWindow }) => hasWindow)

/** The kinds that daily closes decide. */
export const kindsOnCloses = candleKindNames.flatMap((name) => {
  const { closes } = facts[name]
  return closes === null ? [] : [{ name, closes }]
})

export const isCandleKind = (name: string): name is CandleKindName => Object.hasOwn(facts, name)

/** The greatest outcome of a kind that counts from 0 on; null of others. */
export const maxCount = (name: string): number | null => (isCandleKind(name) ? facts[name].counts : null)
