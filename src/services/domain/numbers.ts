/**
 * Numbers in texts. JavaScript reads an empty or blank text as 0 and takes hexadecimal digits and white space; here only a plain
 * decimal is a number.
 */
import { Option, Schema } from "effect"

const decimal = /^-?(0|[1-9]\d*)(\.\d+)?$/

/** The number of a text: an optional minus sign, digits, and a fraction after a point. */
export const numberIn = (text: string): Option.Option<number> =>
  decimal.test(text) ? Option.some(Number(text)) : Option.none()

/** The whole number from 0 on of a header or a query parameter that may be absent. */
export const countIn = (text: string | null | undefined): number | undefined =>
  text !== null && text !== undefined && /^(0|[1-9]\d{0,14})$/.test(text) ? Number(text) : undefined

export const DecimalText = Schema.String.check(
  Schema.isPattern(decimal, { message: "Expected a number such as 12.5" })
)

/** A number that is sent or stored as a text. */
export const NumberFromText = DecimalText.pipe(Schema.decodeTo(Schema.FiniteFromString))
