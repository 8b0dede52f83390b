/** Bodies that must be rejected, each wrong in one place; and some that are merely strange. */
import type { Schema } from "effect"
import { replaceAt, places } from "./generate.ts"
import type { Place, Step } from "./generate.ts"
import type { Document, JsonSchema } from "./document.ts"
import { isList, isRecord, makeValidator } from "./validate.ts"

type Json = Schema.Json

export interface Mutation {
  readonly label: string
  readonly body: string | Uint8Array
  /** The paths that the answer must name as wrong; empty if every answer but a fault of ours is right. */
  readonly wrongAt: ReadonlyArray<string>
}

/** A placeholder in a value for JSON text that `JSON.stringify` would not write. */
const raw = (text: string): string => `@@${Buffer.from(text).toString("hex")}@@`
const written = (value: Json): string =>
  JSON.stringify(value).replaceAll(/"@@([0-9a-f]*)@@"/g, (_, hex: string) =>
    Buffer.from(hex, "hex").toString()
  )

/** NUL, lone surrogates, C0 and bidirectional controls are rejected in every field. */
export const hostileTexts = [
  "\u0000",
  "a\u0000b",
  "\ud800",
  "x\udc00y",
  "\u0001",
  "\u0008",
  "\u001b[31m",
  "lone\rreturn",
  "\u202eabc",
  "a\u2066b",
  "\u2069"
]

const wrongTypes: ReadonlyArray<Json> = [
  "text",
  "0.5",
  "",
  "true",
  12,
  1.5,
  0,
  true,
  false,
  null,
  [],
  [null],
  {},
  { a: 1 }
]

/** JSON literals in the body: a number outside the range of a double is rejected like any other wrong number. */
const literals = [
  "-0",
  "1e999",
  "-1e999",
  "1E+2",
  "1e-400",
  "0.1e1",
  "123456789012345678901234567890",
  "9007199254740993"
]
const notJson = ["NaN", "Infinity", "-Infinity", "01", ".5", "+1", "0x1", "1.", "1e", "undefined", "1_000"]

const outside = ({ path, schema, value }: Place): ReadonlyArray<Json> => {
  switch (schema.type) {
    case "integer":
    case "number": {
      const bounds = [
        schema.minimum === undefined ? undefined : schema.minimum - 1,
        schema.maximum === undefined ? undefined : schema.maximum + 1,
        schema.minimum === undefined ? undefined : schema.minimum - 1e-6,
        schema.maximum === undefined ? undefined : schema.maximum + 1e-6,
        schema.exclusiveMinimum,
        schema.exclusiveMaximum
      ]
      return [
        ...bounds.filter((bound) => bound !== undefined),
        1e308,
        -1e308,
        1.5,
        -0,
        5e-324,
        2 ** 53,
        `${value}`
      ]
    }
    case "string": {
      const { maxLength, minLength } = schema
      const long =
        maxLength === undefined ? [] : ["y".repeat(maxLength + 1), "\u{1d54f}".repeat(maxLength + 1)]
      const short = minLength === undefined ? [] : ["y".repeat(Math.max(0, minLength - 1))]
      const foreign =
        schema.enum === undefined ? [] : ["foreign", `${schema.enum[0]} `, `${schema.enum[0]}`.toUpperCase()]
      const times = `${schema.pattern}${schema.format}`.includes("date-time") ? impossibleTimes : []
      return [
        ...long,
        ...short,
        ...foreign,
        ...times,
        "' or 1=1 --",
        "../../etc/passwd",
        "%00",
        "\u{fffe}",
        "z".repeat(9000)
      ]
    }
    case "array": {
      const [first = null] = isList(value) ? value : []
      // Each item is wrong, which must not make a large answer.
      const wrongs = Array.from({ length: Math.min(5000, schema.maxItems ?? 5000) }, () => null)
      const counts = [(schema.maxItems ?? -1) + 1, (schema.minItems ?? 0) - 1].filter((count) => count >= 0)
      return [wrongs, ...counts.map((count) => Array.from({ length: count }, () => first))]
    }
    default:
      return path.length === 0 ? [] : [{ unknown: { nested: [1] } }]
  }
}

const impossibleTimes = [
  "2030-02-30T00:00:00Z",
  "2030-13-01T00:00:00Z",
  "2030-01-01T25:00:00Z",
  "2030-01-01T00:61:00Z",
  "2030-01-01T00:00:00+99:99",
  "2030-01-01",
  "2030-01-01T00:00:00",
  "1901893200",
  "+275760-09-13T00:00:00Z",
  "now"
]

/** Another value in place of a field's: it is rejected exactly if the document does not allow it. */
const replacements = (
  document: Document,
  schema: JsonSchema,
  base: Json,
  place: Place
): ReadonlyArray<Mutation> => {
  const at = place.path.join(".")
  const problems = makeValidator(document, "ignored")
  const mutation = (literal: string, wrongAt: ReadonlyArray<string>): Mutation => ({
    label: `${at === "" ? "(root)" : at} = ${literal.slice(0, 50)}`,
    body: written(replaceAt(base, place.path, raw(literal))),
    wrongAt
  })
  const judged = (literal: string) => {
    const value: Json = JSON.parse(literal)
    const paths = problems(schema, replaceAt(base, place.path, value)).map(({ path }) => path)
    // An answer lists at most a hundred problems; the second of mine is the first or second item.
    return mutation(literal, paths.length > 100 ? paths.slice(1, 2) : paths)
  }
  const inPlace = [...wrongTypes, ...outside(place)].map((value) => judged(JSON.stringify(value)))
  switch (place.schema.type) {
    case "string":
      return [...inPlace, ...hostileTexts.map((text) => mutation(JSON.stringify(text), [at]))]
    case "integer":
    case "number":
      return [...inPlace, ...literals.map(judged), ...notJson.map((literal) => mutation(literal, [""]))]
    default:
      return inPlace
  }
}

const without = (value: Json, path: ReadonlyArray<Step>, name: string): Json => {
  const [step, ...rest] = path
  if (step !== undefined) {
    if (isList(value)) return value.map((item, index) => (index === step ? without(item, rest, name) : item))
    return isRecord(value) ? { ...value, [step]: without(value[step] ?? null, rest, name) } : value
  }
  return isRecord(value)
    ? Object.fromEntries(Object.entries(value).filter(([member]) => member !== name))
    : value
}

const omissions = (base: Json, { path, schema }: Place): ReadonlyArray<Mutation> =>
  (schema.required ?? []).map((name) => ({
    label: `without ${[...path, name].join(".")}`,
    body: JSON.stringify(without(base, path, name)),
    wrongAt: [[...path, name].join(".")]
  }))

/** The same member twice: its value would be ambiguous. */
const repeats = (base: Json, { path, value }: Place): ReadonlyArray<Mutation> => {
  if (!isRecord(value)) return []
  const [first] = Object.entries(value)
  if (first === undefined) return []
  const [name, member] = first
  const twice = `${JSON.stringify(value).slice(0, -1)},${JSON.stringify(name)}:${JSON.stringify(member)}}`
  const marker = "@@twice@@"
  return [
    {
      label: `${[...path, name].join(".")} twice`,
      body: JSON.stringify(replaceAt(base, path, marker)).replace(`"${marker}"`, () => twice),
      wrongAt: [[...path, name].join(".")]
    }
  ]
}

/** Every field wrong in every way, one at a time. */
export const fieldMutations = (document: Document, schema: JsonSchema, base: Json): ReadonlyArray<Mutation> =>
  places(document, schema, base).flatMap((place) => [
    ...omissions(base, place),
    ...repeats(base, place),
    ...replacements(document, schema, base, place)
  ])

const nested = (levels: number) => `${"[".repeat(levels)}1${"]".repeat(levels)}`

/** Texts that are not JSON, or not the JSON that we accept. */
export const malformedBodies = (base: Json): ReadonlyArray<Mutation> => {
  const text = JSON.stringify(base)
  const inner = text.slice(1, -1)
  const bad = (label: string, body: string | Uint8Array): Mutation => ({ label, body, wrongAt: [""] })
  const bytes = Buffer.from(text)
  return [
    bad("nothing", ""),
    bad("white space", " \n\t "),
    bad("half of it", text.slice(0, text.length / 2)),
    bad("all but the last brace", text.slice(0, -1)),
    bad("a trailing comma", `{${inner},}`),
    bad("a line comment", `{// hello\n${inner}}`),
    bad("a block comment", `{/* hello */${inner}}`),
    bad("a byte order mark", Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), bytes])),
    bad("UTF-16", Buffer.from(text, "utf16le")),
    bad(
      "invalid UTF-8 in a string",
      Buffer.concat([Buffer.from('{"x":"'), Buffer.from([0xc3, 0x28]), Buffer.from(`",${inner}}`)])
    ),
    bad(
      "an overlong UTF-8 sequence",
      Buffer.concat([Buffer.from('{"x":"'), Buffer.from([0xc0, 0xaf]), Buffer.from(`",${inner}}`)])
    ),
    bad(
      "a surrogate in UTF-8",
      Buffer.concat([Buffer.from('{"x":"'), Buffer.from([0xed, 0xa0, 0x80]), Buffer.from(`",${inner}}`)])
    ),
    bad("a raw NUL in a string", `{"x":"\u0000",${inner}}`),
    bad("a raw NUL behind it", `${text}\u0000`),
    bad("a raw line feed in a string", `{"x":"\n",${inner}}`),
    bad("single quotes", text.replaceAll('"', "'")),
    bad("names without quotes", `{x:1,${inner}}`),
    bad("two documents", `${text}${text}`),
    bad("something behind it", `${text}x`),
    bad("nested 70 levels deep", `{"x":${nested(70)},${inner}}`),
    bad("nested 5 000 levels deep", `{"x":${nested(5000)},${inner}}`),
    bad("a form", "name=value&other=value"),
    bad("a bad escape", `{"x":"\\x41",${inner}}`),
    bad("null", "null"),
    bad("a list", `[${text}]`),
    bad("a string", JSON.stringify(text)),
    {
      label: "a member with a long name twice",
      body: `{"${"m".repeat(5000)}":1,"${"m".repeat(5000)}":2,${inner}}`,
      wrongAt: ["m".repeat(200)]
    }
  ]
}

/** Bodies with more than the required fields: unknown fields are ignored. */
export const generousBodies = (
  base: Json
): ReadonlyArray<{ readonly label: string; readonly body: string }> => {
  const inner = JSON.stringify(base).slice(1, -1)
  return [
    { label: "an unknown field", body: `{${inner},"unknown_field":{"a":[1,null]}}` },
    { label: "__proto__", body: `{"__proto__":{"admin":true},"constructor":{"prototype":1},${inner}}` },
    { label: "nested 60 levels deep", body: `{"x":${nested(60)},${inner}}` },
    { label: "white space around it", body: ` \n\t{${inner}}\r\n ` }
  ]
}
