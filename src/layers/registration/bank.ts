/** The bank of registration events, a YAML file: `bank.yaml` beside this file is the public one, and an operator may have another. */
import { readFile } from "node:fs/promises"
import { fileURLToPath } from "node:url"
import { Data, Effect, Result, Schema } from "effect"
import { parse } from "yaml"
import { assetKeys } from "../../scoring/registration/model.ts"
import { termsOfKind } from "../../scoring/registration/lexicon.ts"
import type { EventKind } from "../../scoring/registration/model.ts"
import { drawEvent } from "../../scoring/registration/template.ts"
import type { EventTemplate } from "../../scoring/registration/template.ts"

/** The file of the public bank. */
export const publicBank = fileURLToPath(new URL("bank.yaml", import.meta.url))

/** The file is unusable; the message contains all that an operator needs. */
export class RegistrationBankUnusable extends Data.TaggedError("RegistrationBankUnusable")<{
  readonly message: string
}> {}

const isKind = (name: string): name is EventKind => Object.hasOwn(termsOfKind, name)
const Kind = Schema.String.pipe(Schema.refine(isKind, { message: "Expected a kind of event" }))
const Text = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(4000))
const Weight = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))
const Assets = Schema.Struct({
  core: Schema.NonEmptyArray(Schema.Literals(assetKeys)),
  plausible: Schema.Array(Schema.Literals(assetKeys))
})
const Directions = Schema.Struct({
  bullish: Schema.optionalKey(Weight),
  bearish: Schema.optionalKey(Weight),
  mixed: Schema.optionalKey(Weight)
})
const Magnitudes = Schema.Struct({
  low: Schema.optionalKey(Weight),
  medium: Schema.optionalKey(Weight),
  high: Schema.optionalKey(Weight)
})
const Terms = Schema.Array(Text).check(Schema.isMinLength(3))
const Operand = Schema.Union([Schema.String, Schema.Finite])

const Event = Schema.Struct({
  slug: Schema.String.check(
    Schema.isPattern(/^[a-z][a-z0-9-]{0,63}$/u, { message: "Expected a slug such as rate-decision" })
  ),
  prompt: Text,
  numbers: Schema.optionalKey(
    Schema.Record(Schema.String, Schema.Tuple([Schema.Finite, Schema.Finite, Schema.Finite, Schema.Finite]))
  ),
  figure: Schema.optionalKey(
    Schema.Struct({
      by: Schema.Literals(["difference", "sum", "product", "quotient", "share", "percent", "change"]),
      of: Schema.Tuple([Operand, Operand]),
      ask: Text,
      unit: Schema.optionalKey(Schema.Literals(["points", "basis points", "thousand", "million", "billion"])),
      least: Schema.optionalKey(Schema.Finite)
    })
  ),
  below: Schema.optionalKey(
    Schema.Struct({
      assets: Schema.optionalKey(Assets),
      directions: Schema.optionalKey(Directions),
      magnitudes: Schema.optionalKey(Magnitudes),
      terms: Schema.optionalKey(Terms)
    })
  ),
  retired: Schema.optionalKey(Schema.Boolean),
  assets: Assets,
  directions: Directions,
  magnitudes: Magnitudes,
  kinds: Schema.NonEmptyArray(Kind),
  terms: Terms,
  related: Schema.NonEmptyArray(Kind)
})

const decode = Schema.decodeUnknownResult(Schema.Struct({ events: Schema.NonEmptyArray(Event) }), {
  onExcessProperty: "error"
})

/** Yields the same numbers every time, so that luck does not decide whether a draw is possible. */
const someDraws = () => {
  let state = 1
  return (below: number): number => (state = (state * 48_271) % 2_147_483_647) % below
}

const faultOf = (template: EventTemplate): string | undefined => {
  const names = Object.keys(template.numbers ?? {})
  const used = [...template.prompt.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name)
  const operands = [...(template.figure?.of ?? [])].filter((of) => typeof of === "string")
  const unknown = [...used, ...operands].find((name) => !names.includes(name))
  if (unknown !== undefined) return `there is no number ${unknown}`
  for (const [name, [, min, max, step]] of Object.entries(template.numbers ?? {})) {
    if (!(step > 0 && min <= max)) return `numbers.${name}: Expected usual, min, max and a step above 0`
  }
  for (const directions of [template.directions, template.below?.directions]) {
    if (directions !== undefined && !Object.values(directions).some((weight) => weight >= 0.5)) {
      return "directions: Expected one of at least 0.5"
    }
  }
  return drawEvent(template, someDraws()) === undefined
    ? "no draw has a figure that the prompt does not have already"
    : undefined
}

/** The events in the text, or its first fault. */
export const parseBank = (text: string): Result.Result<ReadonlyArray<EventTemplate>, string> => {
  const read = Result.try({
    try: (): unknown => parse(text, { maxAliasCount: 0 }),
    catch: (cause) => (cause instanceof Error ? (cause.message.split("\n")[0] ?? "") : "it is no YAML")
  })
  if (Result.isFailure(read)) return Result.fail(read.failure)
  const decoded = decode(read.success)
  if (Result.isFailure(decoded)) return Result.fail(decoded.failure.message.replaceAll(/\s*\n\s*/g, " "))
  const { events } = decoded.success
  for (const [index, event] of events.entries()) {
    const isTwice = events.findIndex(({ slug }) => slug === event.slug) < index
    const fault = isTwice ? `${event.slug} is there already` : faultOf(event)
    if (fault !== undefined) return Result.fail(`events.${index}: ${fault}`)
  }
  if (events.every(({ retired }) => retired === true)) return Result.fail("every event is retired")
  return Result.succeed(events)
}

export const readBank = Effect.fnUntraced(function* (path: string) {
  const unusable = (why: string) =>
    new RegistrationBankUnusable({ message: `AUSPEX_REGISTRATION_BANK=${path} cannot be used: ${why}` })
  const text = yield* Effect.tryPromise({
    try: () => readFile(path, "utf8"),
    catch: (error) => unusable(error instanceof Error ? error.message : "it cannot be read")
  })
  const parsed = parseBank(text)
  if (Result.isFailure(parsed)) return yield* unusable(parsed.failure)
  return parsed.success
})
