/** The kinds of settings: how a text becomes a value, and how its documentation says what it takes. */
import { Duration, Option, Redacted, Result } from "effect"
import { IpNetwork } from "effect/net"
import type { CountSteps, RateLimit } from "./services/Settings.ts"

export interface Setting<A> {
  readonly name: string
  /** As it would stand in the environment; `null` when absence means something of its own. */
  readonly defaultText: string | null
  /** What a value looks like, for the error and the documentation. */
  readonly takes: string
  readonly meaning: string
  readonly secret: boolean
  readonly parse: (text: string) => Option.Option<A>
}

export const plain = <A>(setting: Omit<Setting<A>, "secret">): Setting<A> => ({ ...setting, secret: false })

export const wholeNumber = (text: string, range: readonly [number, number]): Option.Option<number> => {
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN
  return value >= range[0] && value <= range[1] ? Option.some(value) : Option.none()
}

export const integer = (
  name: string,
  defaultText: string,
  meaning: string,
  range: readonly [number, number]
) =>
  plain({
    name,
    defaultText,
    takes: `a whole number from ${range[0]} to ${range[1]}`,
    meaning,
    parse: (text) => wholeNumber(text, range)
  })

/** A share, 0 to 1. */
export const ratio = (name: string, defaultText: string, meaning: string) =>
  plain({
    name,
    defaultText,
    takes: "a number from 0 to 1",
    meaning,
    parse: (text) => (/^(0(\.\d+)?|1(\.0+)?)$/.test(text) ? Option.some(Number(text)) : Option.none())
  })

const parseDuration = (text: string): Option.Option<Duration.Duration> => {
  const shape = /^(\d+(?:\.\d+)?) (milli|second|minute|hour|day|week)s?$/.exec(text)
  if (shape === null) return Option.none()
  const unit = { milli: 1, second: 1e3, minute: 6e4, hour: 36e5, day: 864e5, week: 6048e5 }
  const millis =
    Number(shape[1]) * (Object.entries(unit).find(([name]) => name === shape[2])?.[1] ?? Number.NaN)
  return millis > 0 ? Option.some(Duration.millis(millis)) : Option.none()
}

export const duration = (name: string, defaultText: string, meaning: string) =>
  plain({
    name,
    defaultText,
    takes: 'a duration such as "15 seconds", "60 minutes" or "7 days"',
    meaning,
    parse: parseDuration
  })

/** A duration, or `off`: zero. */
export const durationOrOff = (name: string, defaultText: string, meaning: string) =>
  plain({
    name,
    defaultText,
    takes: 'a duration such as "1 second", or "off"',
    meaning,
    parse: (text) => (text === "off" ? Option.some(Duration.zero) : parseDuration(text))
  })

/** A duration and a number that must both be reached, or `off`. */
export const stepsOrOff = (name: string, defaultText: string, meaning: string) =>
  plain<Option.Option<CountSteps>>({
    name,
    defaultText,
    takes: 'a duration and a number such as "15 minutes,10", or "off"',
    meaning,
    parse: (text) => {
      if (text === "off") return Option.some(Option.none())
      const shape = /^([^,]+),\s*([1-9]\d{0,8})$/.exec(text)
      return Option.map(parseDuration(shape?.[1] ?? ""), (after) =>
        Option.some({ after, answers: Number(shape?.[2]) })
      )
    }
  })

export const oneOf = <const Value extends string>(
  name: string,
  values: ReadonlyArray<Value>,
  defaultText: Value,
  meaning: string
) =>
  plain<Value>({
    name,
    defaultText,
    takes: values.join(" | "),
    meaning,
    parse: (text) => Option.fromUndefinedOr(values.find((value) => value === text))
  })

export const words = (name: string, defaultText: string | null, takes: string, meaning: string) =>
  plain({
    name,
    defaultText,
    takes,
    meaning,
    parse: (text) => (text === "" ? Option.none() : Option.some(text))
  })

const windows = { second: 1000, minute: 60_000, hour: 3_600_000, day: 86_400_000 }

const parseLimits = (text: string): Option.Option<ReadonlyArray<RateLimit>> => {
  const limits = text.split(",").map((part): RateLimit | undefined => {
    const shape = /^\s*([1-9]\d{0,8})\s*\/\s*(second|minute|hour|day)\s*$/.exec(part)
    const window = Object.entries(windows).find(([name]) => name === shape?.[2])?.[1]
    return shape === null || window === undefined
      ? undefined
      : { count: Number(shape[1]), window: Duration.millis(window) }
  })
  const known = limits.filter((limit) => limit !== undefined)
  return known.length === limits.length ? Option.some(known) : Option.none()
}

export const limit = (name: string, defaultText: string, meaning: string) =>
  plain({
    name,
    defaultText,
    takes: 'a limit such as "60/minute" or "5/minute,50/day"',
    meaning,
    parse: parseLimits
  })

export const secret = (name: string, least: number, meaning: string): Setting<Redacted.Redacted> => ({
  name,
  defaultText: null,
  takes: least === 1 ? "a secret" : `${least} bytes or more`,
  meaning,
  secret: true,
  parse: (text) => (Buffer.byteLength(text) >= least ? Option.some(Redacted.make(text)) : Option.none())
})

export const webBase = (text: string): Option.Option<string> => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const usable =
    (url?.protocol === "http:" || url?.protocol === "https:") && url.search === "" && url.hash === ""
  return usable ? Option.some(text.replace(/\/+$/, "")) : Option.none()
}

export const parseNetworks = (text: string): Option.Option<ReadonlyArray<string>> => {
  const networks = text
    .split(",")
    .map((word) => word.trim())
    .filter((word) => word !== "")
    .map((word) => (word.includes("/") ? word : `${word}/${word.includes(":") ? 128 : 32}`))
  return networks.every((network) => Result.isSuccess(IpNetwork.fromString(network)))
    ? Option.some(networks)
    : Option.none()
}
