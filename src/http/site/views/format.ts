/** How pages say numbers, directions and questions. */
import { DateTime } from "effect"
import { isStandardQuestion } from "../../../services/domain/kinds.ts"
import { plainDecimal } from "../../../services/domain/targetNames.ts"
import type { ChallengeSummary, Direction } from "../../../services/domain/Challenge.ts"
import { allMessages } from "../messages/messages.ts"
import type { Messages } from "../messages/messages.ts"
import { html } from "./html.ts"
import type { Html } from "./html.ts"

/** Significant digits of a number, and six decimals at most. */
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

/** Below a hundredth six decimals would hold too little of a price, or nothing. */
const isTiny = (value: number): boolean => Math.abs(value) < 0.01

/** A price or a published value, with its thousands apart. */
export const number = (value: number): string => withMinus((isTiny(value) ? tiny : grouped).format(value))

/** A scale or a level of which nobody needs more than four digits. */
export const roughly = (value: number): string =>
  withMinus((isTiny(value) ? tinyRoughly : shortened).format(value))

/** The same number as scripts and screen readers take it: a plain minus, and nothing between the thousands. */
export const plainNumber = (value: number): string => (isTiny(value) ? tiny : ungrouped).format(value)

/** A forecast of a value: whole numbers stay whole, and of decimals four are more than anybody means. */
export const forecastOf = (value: number): string => {
  const size = Math.abs(value)
  return size < 1
    ? number(Number(value.toPrecision(3)))
    : number(Number(value.toFixed(Math.min(4, Math.max(0, 6 - Math.trunc(size).toString().length)))))
}

/** An amount of micro-credits in credits: hundredths from one credit on, never more than there is. */
export const creditNumber = (micro: bigint): string => {
  const amount = Number(micro) / 1e6
  return withMinus((Math.abs(amount) < 1 ? smallCredits : wholeCredits).format(amount))
}

/** A change in percent, with its sign. */
export const change = (percent: number): string =>
  `${percent > 0 ? "+" : ""}${withMinus(hundredths.format(percent))} %`

/** From one price to another, in percent. */
export const percentFrom = (price: number, from: number): number => (price / from - 1) * 100

/** A probability in percent, with a decimal only where it says something. */
export const probability = (share: number): string => `${Number((100 * share).toFixed(1))} %`

/** A direction: of a movement, or of a question that is answered by yes or no. */
export const sideOf = (direction: Direction, isYesOrNo = false, t = allMessages.en): string =>
  (isYesOrNo ? t.answers : t.movements)[direction]

/** The same in its colour. */
export const side = (direction: Direction, isYesOrNo = false, t = allMessages.en): Html =>
  html`<span class=${`side ${direction}`}>${sideOf(direction, isYesOrNo, t)}</span>`

export const categoryName = (category: string, { categories } = allMessages.en): string =>
  categories[category] ?? category

/** How long before its end a question is answered. */
export const horizonName = (horizon: string, { horizons } = allMessages.en): string =>
  horizons[horizon] ?? horizon

/** What makes an agent's model known: many names begin with that of who makes them. */
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

/** A period of a series as people say it: "2026-10" is October 2026. */
export const periodOf = (period: string, { dates } = allMessages.en): string => {
  const [, year, number] = month.exec(period) ?? []
  const first = DateTime.make(`${year}-${number}-01T00:00:00Z`)
  return year === undefined || first._tag === "None"
    ? period
    : DateTime.formatUtc(first.value, { locale: dates, month: "long", year: "numeric" })
}

/** How a challenge came out. */
export interface Outcome extends Pick<ChallengeSummary, "actual_value" | "result" | "type"> {
  readonly outcome_name?: string | null
  readonly unit?: string | null
}

/** How a challenge came out, in words; null while it has not. */
export const formatOutcome = (
  { actual_value, outcome_name = null, result, type, unit = null }: Outcome,
  t = allMessages.en
): string | null => {
  if (outcome_name !== null) return outcome_name
  if (actual_value !== null) return `${number(actual_value)}${unit === null ? "" : ` ${unit}`}`
  return result === null ? null : sideOf(result, type === "price_event", t)
}

/** The number that an open challenge is about; null where no price is known. */
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

type Asked = Pick<
  ChallengeSummary,
  | "type"
  | "kind"
  | "asset"
  | "name"
  | "question"
  | "event_title"
  | "level"
  | "period"
  | "resolve_at"
  | "is_ordered"
  | "unit"
>

/** Whether an administrator has worded the question. */
const isOwnWording = ({ asset, kind, level, name, period, question, resolve_at }: Asked): boolean => {
  return !isStandardQuestion(question, kind, {
    target: asset,
    targetName: name,
    level: level === null ? null : plainDecimal(level),
    period,
    resolveAt: DateTime.toEpochMillis(DateTime.makeUnsafe(resolve_at))
  })
}

/** Units that say how a value is taken, as "% over a year" does, tell questions of one period apart. */
const unitInTitle = (unit: string | null): string | null =>
  unit !== null && /\p{L}/u.test(unit) ? unit : null

const macroTitle = ({ is_ordered, period, unit }: Asked, name: string, t: Messages): string => {
  const ofPeriod = period === null ? name : t.ofPeriod(name, periodOf(period, t))
  if (is_ordered) return t.whichCategory(ofPeriod)
  const shown = unitInTitle(unit)
  return shown === null ? ofPeriod : t.inUnit(ofPeriod, shown)
}

/** What a challenge asks: an administrator's own words where there are some, or else its title made from its fields. */
export const titleOf = (asked: Asked, t = allMessages.en): string =>
  isOwnWording(asked) ? asked.question : madeTitle(asked, t)

/** The title made from the fields, in the reader's language, where an administrator's words stand in its place. */
export const subtitleOf = (asked: Asked, t = allMessages.en): string | null =>
  isOwnWording(asked) ? madeTitle(asked, t) : null

const madeTitle = (asked: Asked, t: Messages): string => {
  const { event_title, kind, level, resolve_at, type } = asked
  const name = t.name(asked.asset, asked.name)
  const within = t.nameWithin(asked.asset, asked.name)
  const end = DateTime.makeUnsafe(resolve_at)
  const lastDay = dateOf(DateTime.subtract(end, { milliseconds: 1 }), t)
  if (type === "macro") return macroTitle(asked, name, t)
  const at = level === null ? "" : number(level)
  const ofKind = t.titlesOfKinds[kind]
  if (ofKind !== undefined) return ofKind({ within, level: at, lastDay })
  if (event_title !== null) {
    return kind === "flash"
      ? t.afterEvent(name, cut(event_title))
      : t.afterEventBy(name, cut(event_title), timeOf(end, t))
  }
  return kind === "session" ? t.onDay(name, lastDay) : t.within(name, kind, timeOf(end, t))
}

/** Where a rank was a week before, beside it; nothing where there was none. */
export const rankChange = (rank: number, before: number | null, t = allMessages.en): Html => {
  if (before === null) return null
  if (rank === before) return html`<small class="quiet">${t.rankSame}</small>`
  return rank < before
    ? html`<small class="side bullish">${t.rankUp(number(before - rank))}</small>`
    : html`<small class="side bearish">${t.rankDown(number(rank - before))}</small>`
}
