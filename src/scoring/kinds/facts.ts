/** The names of kinds, and a line of facts for each price event; the functions of a kind are in its file. */
import { Struct } from "effect"
import { countedDays } from "../candles.ts"

/** Sessions, flash hours, and the ladder. */
export const directionKindNames = ["session", "flash", "1h", "4h", "1d"] as const

/** The prices that a question names: columns of challenges and settlements, members of the interface, rows of pages. */
export const levelNames = ["level", "low", "high"] as const
export type LevelName = (typeof levelNames)[number]
export type Levels<Value> = Readonly<Record<LevelName, Value>>

/** A value for each level. */
export const eachLevel = <Value>(valueOf: (name: LevelName) => Value): Levels<Value> => ({
  level: valueOf("level"),
  low: valueOf("low"),
  high: valueOf("high")
})

/** The names of the levels on pages. */
export const levelLabels = {
  level: { en: "Level", zh: "价位" },
  low: { en: "Low end", zh: "下限" },
  high: { en: "High end", zh: "上限" }
} as const satisfies Levels<unknown>

/** The weekly questions of the schedule. */
export type WeeklyName =
  | "numeric_close"
  | "threshold"
  | "count_days"
  | "barrier_up"
  | "barrier_down"
  | "range"

/** The levels of weekly questions: one that the close exceeds with about even odds, and two that about every second path touches. */
type WeeklyLevel = "threshold" | "up" | "down"

interface CandleFacts {
  /** The form of an answer. To a question of yes or no, bullish is Yes and bearish is No. */
  readonly answers: "yes_no" | "number"
  /** The maximum outcome of a kind that counts from 0 on; null for others. */
  readonly counts: number | null
  /** The number of daily closes that decide it, and the first rules under which these may come from a daily candle; null for others. */
  readonly closes: { readonly days: number; readonly dailySince: number } | null
  /** True for a kind with a window: some of its candles may be enough, so it is looked at before it resolves. */
  readonly hasWindow: boolean
  readonly levels: ReadonlyArray<LevelName>
  /** The targets that the kind takes: crypto trades at all hours. */
  readonly targets: "crypto" | "daily closes"
  /** The questions of each week, by their names in the schedule, with their levels. */
  readonly weekly: Partial<
    Readonly<Record<WeeklyName, ReadonlyArray<readonly [name: LevelName, level: WeeklyLevel]>>>
  >
  /** The programs (services/Instances.ts) that must read the kind before the schedule makes one; absent if all do. */
  readonly needs?: "dailyCounts" | "range"
}

const facts = {
  numeric_close: {
    answers: "number",
    counts: null,
    closes: { days: 1, dailySince: 2 },
    hasWindow: false,
    levels: [],
    targets: "crypto",
    weekly: { numeric_close: [] }
  },
  barrier: {
    answers: "yes_no",
    counts: null,
    closes: null,
    hasWindow: true,
    levels: ["level"],
    targets: "crypto",
    weekly: { barrier_up: [["level", "up"]], barrier_down: [["level", "down"]] }
  },
  count_days: {
    answers: "number",
    counts: countedDays,
    // The first day is compared with the one before it.
    closes: { days: countedDays + 1, dailySince: 3 },
    hasWindow: false,
    levels: [],
    targets: "crypto",
    weekly: { count_days: [] },
    needs: "dailyCounts"
  },
  threshold: {
    answers: "yes_no",
    counts: null,
    closes: { days: 1, dailySince: 2 },
    hasWindow: false,
    levels: ["level"],
    targets: "crypto",
    weekly: { threshold: [["level", "threshold"]] }
  },
  range: {
    answers: "yes_no",
    counts: null,
    closes: { days: 1, dailySince: 2 },
    hasWindow: false,
    levels: ["low", "high"],
    targets: "daily closes",
    weekly: {
      range: [
        ["low", "down"],
        ["high", "up"]
      ]
    },
    needs: "range"
  }
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

/** The names of kinds in a sentence: "barrier and threshold". */
const listed = (names: ReadonlyArray<string>): string =>
  [names.slice(0, -1).join(", "), ...names.slice(-1)].filter((part) => part !== "").join(" and ")

/** The names of the yes-or-no kinds, of those on numbers, and of those that name a level, in a sentence. */
export const inWords = {
  yesNo: listed(yesNoKinds),
  number: listed(numberKinds),
  withLevel: (name: LevelName) => listed(namesOf(({ levels }) => levels.includes(name))),
  onOneClose: listed(namesOf(({ closes }) => closes?.days === 1)),
  onDailyCloses: listed(namesOf(({ targets }) => targets === "daily closes"))
}

/** The kinds that daily closes decide. */
export const kindsOnCloses = candleKindNames.flatMap((name) => {
  const { closes } = facts[name]
  return closes === null ? [] : [{ name, closes }]
})

export const isCandleKind = (name: string): name is CandleKindName => Object.hasOwn(facts, name)

/** The questions of a week, each with the names of its levels. */
export const weeklyQuestions = candleKindNames.flatMap((kind) => {
  const { needs, weekly }: CandleFacts = facts[kind]
  return Struct.keys(weekly).map((name) => ({ kind, name, levels: weekly[name] ?? [], needs }))
})

/** The maximum outcome of a kind that counts from 0 on; null for others. */
export const maxCount = (name: string): number | null => (isCandleKind(name) ? facts[name].counts : null)
