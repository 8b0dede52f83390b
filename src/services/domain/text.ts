/**
 * Text as it enters the service. CRLF becomes LF and the text is stored in Unicode NFC; a text that holds NUL, a lone surrogate, a C0
 * control other than tab and line feed, a bidirectional control, or more than 30 combining marks in a row is rejected.
 */
import { DateTime, Duration, Option, Schema, SchemaTransformation } from "effect"

// The C0 controls except tab and line feed, then the bidirectional controls.
// oxlint-disable-next-line no-control-regex -- naming control characters is the purpose
const forbidden = /[\u0000-\u0008\u000b-\u001f\u202a-\u202e\u2066-\u2069]/

const complaint = (text: string): string | undefined => {
  if (!text.isWellFormed()) return "Expected well-formed Unicode: the text holds a lone surrogate"
  return forbidden.test(text)
    ? "Expected text without NUL, control characters (tab and line feed excepted) and bidirectional controls"
    : undefined
}

const sound = Schema.makeFilter((value: string) => complaint(value), undefined, true)

const maxMarks = 30
/**
 * Marks beyond 30 in a row, which no writing needs (UAX #15, Stream-Safe Text Format): normalising orders them by insertion, in time
 * that grows with the square of the run. The look behind keeps the search linear.
 */
const surplusMarks = /(\p{M}(?<!\p{M}\p{M})\p{M}{29})\p{M}+/gu
const hasSurplusMarks = new RegExp(surplusMarks, "u")

/** Unicode NFC, in linear time: marks beyond 30 in a row are dropped. Nothing else normalises. */
export const toNfc = (sent: string): string => sent.replaceAll(surplusMarks, "$1").normalize("NFC")

const normalised = SchemaTransformation.transform<string, string>({
  decode: (sent) => toNfc(sent.replaceAll("\r\n", "\n")),
  encode: (stored) => stored
})

/** At most four code points, of two units each, become one, so a text that passes here may still be too long. */
export const maxRawLength = (maximum: number): number => 8 * maximum

/**
 * Rejects texts before they are normalised. The published document states this length, because it describes a field as it is sent;
 * the exact check follows the normalisation.
 */
const bounded = (
  { maximum, minimum = 0 }: { readonly minimum?: number; readonly maximum: number },
  published: { readonly minLength?: number; readonly maxLength?: number; readonly pattern?: string },
  measured: (sent: string) => string = (sent) => sent
) =>
  Schema.makeFilter<string>(
    (sent) => {
      if (measured(sent).length > maxRawLength(maximum)) {
        return `Expected a string with between ${minimum} and ${maximum} code points`
      }
      return hasSurplusMarks.test(sent) ? `Expected at most ${maxMarks} combining marks in a row` : undefined
    },
    { toJsonSchema: () => published }
  )

/** A text field of `minimum` to `maximum` characters (Unicode code points), normalised and checked. */
export const text = (options: {
  readonly minimum?: number
  readonly maximum: number
  /** The characters in the published document; a caller that sets this checks them. */
  readonly pattern?: string
}) =>
  Schema.String.check(
    bounded(options, {
      ...(options.minimum !== undefined && options.minimum > 0 && { minLength: options.minimum }),
      maxLength: options.maximum,
      ...(options.pattern !== undefined && { pattern: options.pattern })
    })
  ).pipe(
    Schema.decodeTo(
      Schema.String.check(sound, Schema.isBetweenCodePoints(options.minimum ?? 0, options.maximum)),
      normalised
    )
  )

/** In most scripts without spaces, a letter without case is a word by itself: 金, 금, ね. */
export const isWordByItself = (word: string): boolean => /^[\p{Alphabetic}--\p{Cased}]$/v.test(word)

const visible = /[^\p{Z}\p{C}]/u

/** A text without surrounding white space; its `minimum` to `maximum` characters are counted without that. */
export const trimmedText = (options: { readonly minimum: number; readonly maximum: number }) =>
  Schema.String.annotate({
    description: `${options.minimum} to ${options.maximum} characters after trimming`
  })
    .check(bounded(options, { minLength: options.minimum }, (sent) => sent.trim()))
    .pipe(
      Schema.decodeTo(Schema.String.check(sound), normalised),
      Schema.decodeTo(
        Schema.String.check(
          Schema.makeFilter(
            (value: string) =>
              value === "" && options.minimum > 0
                ? `Expected text that is not blank, of ${options.minimum} to ${options.maximum} characters`
                : undefined,
            undefined,
            true
          ),
          Schema.isBetweenCodePoints(options.minimum, options.maximum),
          Schema.makeFilter((value: string) =>
            value === "" || visible.test(value) ? undefined : "Expected text with characters that show"
          )
        ),
        SchemaTransformation.trim()
      )
    )

/** A free slug: the type of an agent, its hosting, and the like. */
export const slug = Schema.String.check(
  Schema.isPattern(/^[a-z][a-z0-9_-]{0,31}$/u, {
    message: "Expected a slug: a lower-case letter, then up to 31 of a-z 0-9 _ -"
  })
)

/** An instant in an answer: ISO 8601, UTC, with milliseconds. */
export const Timestamp = Schema.String.annotate({ format: "date-time", description: "ISO 8601 instant, UTC" })

const instantShape =
  /^(19[7-9]\d|[2-9]\d{3})-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})$/u

/** `Date` reads 30 February as 2 March. */
const exists = (text: string): boolean => {
  const day = text.slice(0, 10)
  const isDay = Option.exists(DateTime.make(day), (instant) => DateTime.formatIsoDateUtc(instant) === day)
  return isDay && Option.isSome(DateTime.make(text))
}

/** An instant in a request as it is sent: an ISO 8601 date-time with its offset or `Z`, from 1970 on. */
export const InstantText = Schema.String.annotate({ format: "date-time" }).check(
  Schema.isPattern(instantShape, {
    message: "Expected an ISO 8601 date-time with its offset, for example 2026-01-31T12:00:00Z"
  }),
  Schema.makeFilter((text: string) =>
    exists(text) || !instantShape.test(text) ? undefined : "Expected a date and a time of day that exist"
  )
)

/** An instant in a request. */
export const Instant = InstantText.pipe(
  Schema.decodeTo(Schema.DateTimeUtc, SchemaTransformation.dateTimeUtcFromString)
)

/** Beyond it, times computed from an instant (the end of a wait, a void) would leave the years of four digits. */
const lastInstant = DateTime.makeUnsafe("9900-01-01T00:00:00Z")

/** An instant in a request from which others are computed. */
export const Term = Instant.check(
  Schema.makeFilter((instant: DateTime.Utc) =>
    DateTime.isLessThan(instant, lastInstant) ? undefined : "Expected a time before the year 9900"
  )
)

/**
 * The times that a question is frozen with, at the next whole second: its text states them to the second, it settles by its text, and
 * nothing ends before the requested time.
 */
export const wholeSecond = (instant: DateTime.Utc): DateTime.Utc =>
  DateTime.makeUnsafe(Math.ceil(DateTime.toEpochMillis(instant) / 1000) * 1000)

/** A span that a question is frozen with, of at least a second. */
export const wholeSeconds = (span: Duration.Duration): Duration.Duration =>
  Duration.seconds(Math.max(1, Math.floor(Duration.toSeconds(span))))

const expected = (minimum: number, maximum: number): string =>
  minimum > 0
    ? `Expected a list of ${minimum} to ${maximum} elements`
    : `Expected a list of at most ${maximum} elements`

interface Bounds {
  readonly minimum?: number
  readonly maximum: number
  readonly description?: string
}

/** A list as it was sent, of `minimum` to `maximum` elements that are not decoded. The published document has their schema. */
export const sentList = <Item extends Schema.Constraint>(
  item: Item,
  { description, maximum, minimum = 0 }: Bounds
) =>
  Schema.declare((sent: unknown): sent is ReadonlyArray<Item["Encoded"]> => Array.isArray(sent), {
    expected: "array",
    // The content of the JSON is decoded later.
    toCodecJson: () => undefined
  }).check(
    Schema.makeFilter<ReadonlyArray<Item["Encoded"]>>(
      ({ length }) => (length >= minimum && length <= maximum ? undefined : expected(minimum, maximum)),
      {
        representation: { id: "auspex/list", payload: null, schemas: [Schema.toEncoded(item).ast] },
        toJsonSchema: ({ schemas }) => ({
          type: "array",
          items: schemas[0],
          ...(minimum > 0 && { minItems: minimum }),
          maxItems: maximum,
          ...(description !== undefined && { description })
        })
      }
    )
  )

/**
 * A list of `minimum` to `maximum` elements. Their number is checked before any is decoded, so a list that is too long costs no more
 * than the reading of its JSON.
 */
export const list = <Item extends Schema.Constraint>(item: Item, bounds: Bounds) =>
  sentList(item, bounds).pipe(Schema.decodeTo(Schema.Array(item), SchemaTransformation.passthrough()))
