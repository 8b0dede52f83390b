/** Formats numbers, directions and questions for pages. */
import { DateTime } from "effect"
import { eachLevel, isStandardQuestion } from "../../../services/domain/kinds.ts"
import { plainDecimal } from "../../../services/domain/targetNames.ts"
import type { ChallengeSummary, Direction } from "../../../services/domain/Challenge.ts"
import { allMessages } from "../messages/messages.ts"
import type { Messages } from "../messages/messages.ts"
import { html } from "./html.ts"
import type { Html } from "./html.ts"
import type { LevelName, Levels } from "../../../services/domain/kinds.ts"

/** Significant digits of a number, and at most six decimals. */
const digits = (count: number): Intl.NumberFormatOptions => ({
  maximumSignificantDigits: count,
  maximumFractionDigits: 6,
  roundingPriority: "lessPrecision"
})
const grouped = new Intl.NumberFormat("en-GB", digits(10))
const ungrouped = new Intl.NumberFormat("en-GB", { ...digits(10), useGrouping: false })
const shortened = new Intl.NumberFormat("en-GB", digits(4))
const tiny = new Intl.NumberFormat("en-GB", { maximumSignificantDigits: 6 })
const tinyRoughly = new Intl.NumberFormat("en-GB", { maximumSignificantDigits: 4 })
const wholeCredits = new Intl.NumberFormat("en-GB", {
  maximumFractionDigits: 2,
  roundingMode: "trunc",
  useGrouping: false
})
const smallCredits = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 6 })
const hundredths = new Intl.NumberFormat("en-GB", { minimumFractionDigits: 2, maximumFractionDigits: 2 })

/** A number with a true minus. */
export const withMinus = (text: string): string => text.replace("-", "−")

/** Six decimals would show too few digits of a price below a hundredth, or none. */
const isTiny = (value: number): boolean => Math.abs(value) < 0.01

/** A price or a published value, with separated thousands. */
export const number = (value: number): string => withMinus((isTiny(value) ? tiny : grouped).format(value))

/** A scale or a level, to four digits. */
export const roughly = (value: number): string =>
  withMinus((isTiny(value) ? tinyRoughly : shortened).format(value))

/** The number for scripts and screen readers: a plain minus, and no separators. */
export const plainNumber = (value: number): string => (isTiny(value) ? tiny : ungrouped).format(value)

/** A forecast of a value: whole numbers stay whole, others have at most four decimals. */
export const forecastOf = (value: number): string => {
  const size = Math.abs(value)
  return size < 1
    ? number(Number(value.toPrecision(3)))
    : number(Number(value.toFixed(Math.min(4, Math.max(0, 6 - Math.trunc(size).toString().length)))))
}

/** An amount of micro-credits in credits, rounded down: hundredths from one credit on. */
export const creditNumber = (micro: bigint): string => {
  const amount = Number(micro) / 1e6
  return withMinus((Math.abs(amount) < 1 ? smallCredits : wholeCredits).format(amount))
}

/** A change in percent, with its sign. */
export const change = (percent: number): string =>
  `${percent > 0 ? "+" : ""}${withMinus(hundredths.format(percent))} %`

/** The change from one price to another, in percent. */
export const percentFrom = (price: number, from: number): number => (price / from - 1) * 100

/** A probability in percent, with one decimal if it is not zero. */
export const probability = (share: number): string => `${Number((100 * share).toFixed(1))} %`

/** A direction: of a movement, or the answer to a yes-or-no question. */
export const sideOf = (direction: Direction, isYesOrNo = false, t = allMessages.en): string =>
  (isYesOrNo ? t.answers : t.movements)[direction]

/** A direction in its colour. */
export const side = (direction: Direction, isYesOrNo = false, t = allMessages.en): Html =>
  html`<span class=${`side ${direction}`}>${sideOf(direction, isYesOrNo, t)}</span>`

export const categoryName = (category: string, { categories } = allMessages.en): string =>
  categories[category] ?? category

/** The time from a question's deadline until it is decided. */
export const horizonName = (horizon: string, { horizons } = allMessages.en): string =>
  horizons[horizon] ?? horizon

/** Provider, name and version of an agent's model; without the provider if the name begins with it. */
export const modelOf = (of: {
  readonly model_name: string | null
  readonly model_provider: string | null
  readonly model_version?: string | null
}): ReadonlyArray<string> => {
  const { model_name: name, model_provider: provider, model_version: version = null } = of
  const isNamed = name?.toLowerCase().startsWith((provider ?? "").toLowerCase()) === true
  return [isNamed ? null : provider, name, version].flatMap((part) =>
    part === null || part === "" ? [] : [part]
  )
}

const dateOf = (at: DateTime.Utc, { dates }: Messages): string =>
  DateTime.formatUtc(at, { locale: dates, day: "numeric", month: "long" })

/** A time of day with its date, in UTC. */
const timeOf = (at: DateTime.Utc, t: Messages): string =>
  t.timeOn(DateTime.formatUtc(at, { locale: "en-GB", hour: "2-digit", minute: "2-digit" }), dateOf(at, t))

const maxEventLength = 80

const cut = (text: string): string =>
  text.length <= maxEventLength ? text : `${[...text].slice(0, maxEventLength).join("").trimEnd()}…`

const month = /^(\d{4})-(\d{2})$/

/** A period of a series as text: "2026-10" is October 2026. */
export const periodOf = (period: string, { dates } = allMessages.en): string => {
  const [, year, number] = month.exec(period) ?? []
  const first = DateTime.make(`${year}-${number}-01T00:00:00Z`)
  return year === undefined || first._tag === "None"
    ? period
    : DateTime.formatUtc(first.value, { locale: dates, month: "long", year: "numeric" })
}

/** The outcome of a challenge. */
export interface Outcome extends Pick<ChallengeSummary, "actual_value" | "result" | "type"> {
  readonly outcome_name?: string | null
  readonly unit?: string | null
}

/** The outcome of a challenge as text; null while there is none. */
export const formatOutcome = (
  { actual_value, outcome_name = null, result, type, unit = null }: Outcome,
  t = allMessages.en
): string | null => {
  if (outcome_name !== null) return outcome_name
  if (actual_value !== null) return `${number(actual_value)}${unit === null ? "" : ` ${unit}`}`
  return result === null ? null : sideOf(result, type === "price_event", t)
}

/** The number that an open challenge asks about; null without a price. */
export const standOf = (
  { level, open_price: open, price }: Pick<ChallengeSummary, "level" | "open_price" | "price">,
  t = allMessages.en
) => {
  if (price === null) return null
  if (open !== null) return { figure: change(percentFrom(price, open)), of: t.since(number(open)) }
  return level === null
    ? { figure: number(price), of: t.now }
    : { figure: change(percentFrom(level, price)), of: t.toLevel }
}

type TitledChallenge = Pick<
  ChallengeSummary,
  | "type"
  | "kind"
  | "asset"
  | "name"
  | "question"
  | "event_title"
  | LevelName
  | "period"
  | "resolve_at"
  | "is_ordered"
  | "unit"
>

const levelsOf = (levels: Levels<number | null>, format: (level: number) => string): Levels<string | null> =>
  eachLevel((name) => {
    const level = levels[name]
    return level === null ? null : format(level)
  })

/** True if an administrator has worded the question. */
const isOwnWording = (challenge: TitledChallenge): boolean => {
  const { asset, kind, name, period, question, resolve_at } = challenge
  return !isStandardQuestion(question, kind, {
    target: asset,
    targetName: name,
    ...levelsOf(challenge, plainDecimal),
    period,
    resolveAt: DateTime.toEpochMillis(DateTime.makeUnsafe(resolve_at))
  })
}

/** A unit with letters, such as "% over a year", distinguishes questions about one period. */
const unitInTitle = (unit: string | null): string | null =>
  unit !== null && /\p{L}/u.test(unit) ? unit : null

const macroTitle = ({ is_ordered, period, unit }: TitledChallenge, name: string, t: Messages): string => {
  const ofPeriod = period === null ? name : t.ofPeriod(name, periodOf(period, t))
  if (is_ordered) return t.whichCategory(ofPeriod)
  const shown = unitInTitle(unit)
  return shown === null ? ofPeriod : t.inUnit(ofPeriod, shown)
}

/** The title of a challenge: an administrator's own wording, or else a title made from its fields. */
export const titleOf = (challenge: TitledChallenge, t = allMessages.en): string =>
  isOwnWording(challenge) ? challenge.question : madeTitle(challenge, t)

/** The title made from the fields, below an administrator's own wording. */
export const subtitleOf = (challenge: TitledChallenge, t = allMessages.en): string | null =>
  isOwnWording(challenge) ? madeTitle(challenge, t) : null

const madeTitle = (challenge: TitledChallenge, t: Messages): string => {
  const { event_title, kind, resolve_at, type } = challenge
  const name = t.name(challenge.asset, challenge.name)
  const within = t.nameWithin(challenge.asset, challenge.name)
  const end = DateTime.makeUnsafe(resolve_at)
  const lastDay = dateOf(DateTime.subtract(end, { milliseconds: 1 }), t)
  if (type === "macro") return macroTitle(challenge, name, t)
  const ofKind = t.titlesOfKinds[kind]
  if (ofKind !== undefined) {
    const levels = levelsOf(challenge, number)
    return ofKind({ within, lastDay, ...eachLevel((name) => levels[name] ?? "") })
  }
  if (event_title !== null) {
    return kind === "flash"
      ? t.afterEvent(name, cut(event_title))
      : t.afterEventBy(name, cut(event_title), timeOf(end, t))
  }
  return kind === "session" ? t.onDay(name, lastDay) : t.within(name, kind, timeOf(end, t))
}

/** The change of a rank within a week; empty without an earlier rank. */
export const rankChange = (rank: number, before: number | null, t = allMessages.en): Html => {
  if (before === null) return null
  if (rank === before) return html`<small class="quiet">${t.rankSame}</small>`
  return rank < before
    ? html`<small class="side bullish">${t.rankUp(number(before - rank))}</small>`
    : html`<small class="side bearish">${t.rankDown(number(rank - before))}</small>`
}
