/**
 * Events with numbers to be drawn: one text of the bank makes many prompts, and the expected answer changes with the numbers. The
 * drawn numbers are written into the slug ("core-cpi?actual=0.1&expected=0.3"), so that the slug identifies the same event.
 */
import { hasFigure } from "./figure.ts"
import type { Figure } from "./figure.ts"
import type { RegistrationEvent } from "./model.ts"

/** The number before any draw, its minimum and maximum, and the step between values. */
export type DrawnNumber = readonly [usual: number, min: number, max: number, step: number]

const operations = {
  difference: (one: number, other: number) => one - other,
  sum: (one: number, other: number) => one + other,
  product: (one: number, other: number) => one * other,
  quotient: (one: number, other: number) => one / other,
  /** The first number as a percentage share of the other. */
  share: (one: number, other: number) => (one * other) / 100,
  /** The first number as percent of the other. */
  percent: (one: number, other: number) => (100 * one) / other,
  /** The change from the other number to the first, in percent. */
  change: (one: number, other: number) => (100 * (one - other)) / other
}
export type Operation = keyof typeof operations

/** An event of a bank. Without numbers it is always the same, and no figure is asked for. */
export interface EventTemplate extends Omit<RegistrationEvent, "figure"> {
  /** The numbers by their names, which the prompt has in braces. */
  readonly numbers?: Readonly<Record<string, DrawnNumber>>
  readonly figure?: {
    readonly by: Operation
    /** Names of numbers, or numbers. */
    readonly of: readonly [string | number, string | number]
    /** The rest of the sentence after "State in digits". */
    readonly ask: string
    readonly unit?: NonNullable<Figure["unit"]>
    /** A figure closer to 0 than this would leave the facts without a direction. */
    readonly least?: number
  }
  /** A retired event is not asked about any more; challenges that have it can still be answered. */
  readonly retired?: boolean
  /** The expectations that apply instead if the figure is below 0. */
  readonly below?: Partial<Pick<RegistrationEvent, "assets" | "directions" | "magnitudes" | "terms">>
}

export type Numbers = Readonly<Record<string, number>>

const task =
  "Analyse this event: sum it up in your own words, name the assets that it affects by their keys, judge direction and magnitude for the price of the asset that it hits most directly, explain cause and effect, say what follows in the short and in the medium term, how confident you are, and which other kinds of events bear on it."

const decimalsOf = (step: number): number => String(step).split(".")[1]?.length ?? 0

/** Thousands are separated, as the prompts write them. */
const written = (value: number, step: number): string =>
  value.toFixed(decimalsOf(step)).replace(/\B(?=(\d{3})+(?!\d))(?<!\.\d*)/g, " ")

const withNumbers = (prompt: string, template: EventTemplate, values: Numbers): string =>
  prompt.replace(/\{(\w+)\}/g, (whole, name: string) => {
    const value = values[name]
    const step = template.numbers?.[name]?.[3]
    return value === undefined || step === undefined ? whole : written(value, step)
  })

const figureOf = ({ figure }: EventTemplate, values: Numbers): Figure | undefined => {
  if (figure === undefined) return undefined
  const [one, other] = figure.of.map((of) => (typeof of === "number" ? of : (values[of] ?? Number.NaN)))
  const value = operations[figure.by](one ?? Number.NaN, other ?? Number.NaN)
  return { value, ...(figure.unit === undefined ? {} : { unit: figure.unit }) }
}

/** The event with the drawn numbers. */
const eventWith = (template: EventTemplate, slug: string, values: Numbers): RegistrationEvent => {
  const { below, figure: ask, numbers: _, prompt, retired: __, ...rest } = template
  const figure = figureOf(template, values)
  const facts = withNumbers(prompt, template, values)
  return {
    ...rest,
    ...(figure !== undefined && figure.value < 0 ? below : {}),
    slug,
    prompt: `${facts}\n\n${task}${ask === undefined ? "" : ` State in digits ${ask.ask}.`}`,
    ...(figure === undefined ? {} : { figure })
  }
}

/** The event as it was before its numbers were drawn: no figure is asked for. */
export const usualEvent = (template: EventTemplate): RegistrationEvent => {
  const { below: _, figure: __, numbers = {}, prompt, retired: ___, ...rest } = template
  const usual = Object.fromEntries(Object.entries(numbers).map(([name, [value]]) => [name, value]))
  return { ...rest, prompt: `${withNumbers(prompt, template, usual)}\n\n${task}` }
}

/** The maximum number of draws: a figure that the prompt has already, or that is nothing, is drawn again. */
const maxDraws = 100

const drawOnce = (
  numbers: Readonly<Record<string, DrawnNumber>>,
  random: (below: number) => number
): Numbers =>
  Object.fromEntries(
    Object.entries(numbers).map(([name, [, min, max, step]]) => {
      const steps = Math.round((max - min) / step)
      return [name, Number((min + random(steps + 1) * step).toFixed(decimalsOf(step)))]
    })
  )

/** Draws the numbers of an event; `random(n)` is a whole number from 0 to n - 1. None if no draw has a figure to compute. */
export const drawEvent = (
  template: EventTemplate,
  random: (below: number) => number
): RegistrationEvent | undefined => {
  const { numbers } = template
  if (numbers === undefined) return usualEvent(template)
  for (let draw = 0; draw < maxDraws; draw += 1) {
    const values = drawOnce(numbers, random)
    const query = Object.entries(values).map(([name, value]) => `${name}=${value}`)
    const event = eventWith(template, `${template.slug}?${query.join("&")}`, values)
    const { figure } = event
    if (figure === undefined) return event
    const [facts = ""] = event.prompt.split("\n\n")
    if (
      Number.isFinite(figure.value) &&
      Math.abs(figure.value) >= (template.figure?.least ?? 1e-6) &&
      !hasFigure(facts, figure)
    )
      return event
  }
  return undefined
}

/** The event of a slug with its drawn numbers; none if the bank no longer has it, or has other numbers now. */
export const eventOfSlug = (
  bank: ReadonlyMap<string, EventTemplate>,
  slug: string
): RegistrationEvent | undefined => {
  const [name = "", query] = slug.split("?", 2)
  const template = bank.get(name)
  if (template === undefined) return undefined
  if (query === undefined) return usualEvent(template)
  const given = new URLSearchParams(query)
  const values = Object.fromEntries(
    Object.keys(template.numbers ?? {}).map((number) => [number, Number(given.get(number) ?? Number.NaN)])
  )
  return Object.values(values).every(Number.isFinite) ? eventWith(template, slug, values) : undefined
}
