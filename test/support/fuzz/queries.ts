/** Wrong query strings, and cursors that were tampered with. */
import { Effect } from "effect"
import type { Answer } from "./client.ts"
import { resolve } from "./document.ts"
import type { Document, JsonSchema, Operation } from "./document.ts"
import { hostileTexts } from "./mutate.ts"
import { status } from "./negative.ts"
import { base64url, outgoing, rightRequest } from "./requests.ts"
import { wrongFields } from "./session.ts"
import type { Session } from "./session.ts"
import type { Fixture } from "./fixture.ts"

const concurrency = 8

const wrongNumbers = [
  "abc",
  "1.5",
  "NaN",
  "Infinity",
  "-Infinity",
  "0x10",
  "1,2",
  "1e999",
  "9".repeat(400),
  "true",
  "null",
  "[]",
  "\u0661"
]

/** Values that the document does not allow for a parameter. */
const forbidden = (schema: JsonSchema): ReadonlyArray<string> => {
  if (schema.type === "integer") {
    return [
      ...wrongNumbers,
      "",
      String((schema.minimum ?? 0) - 1),
      String((schema.maximum ?? 0) + 1),
      "-1",
      "0",
      "1e9"
    ]
  }
  const long = schema.maxLength === undefined ? [] : ["a".repeat(schema.maxLength + 1)]
  const short = (schema.minLength ?? 0) > 0 ? [""] : []
  const foreign =
    schema.enum === undefined
      ? []
      : ["foreign", "", String(schema.enum[0]).toUpperCase(), `${schema.enum[0]} `]
  const shaped = schema.pattern === undefined ? [] : ["", " ", "a b", "a".repeat(129), "'", "-"]
  const texts = hostileTexts.filter((text) => text.isWellFormed())
  return [...long, ...short, ...foreign, ...shaped, ...texts]
}

const parameterOf = (document: Document, schema: JsonSchema): JsonSchema => {
  const [only] = resolve(document, schema).anyOf ?? []
  return resolve(document, only ?? schema)
}

/** The content of a cursor, with one part replaced under its old seal. */
const tampered = (cursor: string): ReadonlyArray<string> => {
  const [payload = "", seal = ""] = cursor.split(".")
  const text = Buffer.from(payload, "base64url").toString("utf8")
  const inside: unknown = JSON.parse(text)
  const strange = [
    null,
    true,
    1,
    -1,
    1.5,
    1e308,
    2 ** 53,
    "",
    "99",
    "x",
    "'",
    "\u0000",
    "\ud800",
    "0:0",
    "2026-13-45T99:99:99.999Z",
    "2026-01-01T00:00:00.000Z",
    "999999-01-01T00:00:00Z",
    "-",
    "infinity",
    "a".repeat(600),
    [],
    {}
  ]
  const members = typeof inside === "object" && inside !== null ? Object.entries(inside) : []
  return [
    ...strange.map((value) => JSON.stringify(value)),
    ...members.flatMap(([name]) =>
      strange.map((value) => JSON.stringify({ ...Object.fromEntries(members), [name]: value }))
    ),
    ...members.map(([name]) =>
      JSON.stringify(Object.fromEntries(members.filter(([other]) => other !== name)))
    ),
    `[${text}]`,
    text.slice(0, -1),
    `${text} `,
    "{}",
    "1e999",
    "' or 1=1 --"
  ].map((inside) => `${base64url(inside)}.${seal}`)
}

const notCursors = [
  "x",
  "====",
  "%00",
  "%ff",
  "a".repeat(1000),
  "AAAA",
  "null",
  "..",
  "0190b0a0-0000-7000-8000-000000000000",
  "'; drop table agents; --",
  "\u{1f600}"
]

/** Query parameters wrong one at a time; cursors of this list and of others tampered with. */
export const wrongQueries = Effect.fnUntraced(function* (
  session: Session,
  fixture: Fixture,
  operation: Operation,
  cursors: ReadonlyMap<string, ReadonlyArray<string>>
) {
  const parameters = operation.parameters.filter((parameter) => parameter.in === "query")
  const sample = yield* fixture.waysOf(operation)[0]
  const right = rightRequest(session.document, operation, sample)
  const ask = (label: string, query: string, expect?: (answer: Answer) => string | undefined) =>
    session.exchange(operation, label, outgoing(fixture, right, { query }), expect)
  const at = (name: string) => (answer: Answer) =>
    answer.status === 400 && wrongFields(answer).includes(name) ? undefined : `expected 400 about ${name}`
  const of = (name: string, value: string) => `?${name}=${encodeURIComponent(value)}`
  const cases = parameters.flatMap(({ name, schema }) => [
    ...forbidden(parameterOf(session.document, schema)).map((value) =>
      ask(`${name} = ${JSON.stringify(value).slice(0, 40)}`, of(name, value), at(name))
    ),
    ask(`${name} twice`, `?${name}=1&${name}=2`, at(name)),
    ask(`${name} as a member`, `?${name}[a]=1`),
    ask(`${name} as an item`, `?${name}[]=1`)
  ])
  const unknown = operation.path.startsWith("/api/")
    ? [ask("an unknown parameter", "?unknown=1", at("unknown"))]
    : []
  const broken = [
    "?%zz=1",
    "?limit=%zz",
    "?limit=%c3%28",
    "?&&&",
    "?=",
    "?limit",
    `?${"a".repeat(9000)}=1`,
    "?__proto__=1",
    "?constructor=1",
    "??limit=1",
    "?limit=1%00",
    "?limit=1#x"
  ]
  yield* Effect.forEach(
    session.sampled([...cases, ...unknown, ...broken.map((query) => ask(query.slice(0, 30), query))]),
    (each) => each,
    { concurrency, discard: true }
  )

  if (!parameters.some(({ name }) => name === "cursor")) return
  const [own] = cursors.get(operation.operationId) ?? []
  if (own === undefined)
    session.fail(`${operation.operationId}: no cursor was handed out, so none was tampered with`)
  const others = [...cursors].flatMap(([list, [first]]) =>
    list === operation.operationId || first === undefined ? [] : [first]
  )
  const garbage = notCursors.map((cursor) =>
    ask(`cursor ${cursor.slice(0, 40)}`, of("cursor", cursor), at("cursor"))
  )
  const named = (cursor: string) => `the cursor ${Buffer.from(cursor, "base64url").toString().slice(0, 60)}`
  const forged = [
    ...others.map((cursor) => ask(named(cursor), of("cursor", cursor), status([200, 400]))),
    ...(own === undefined ? [] : [...tampered(own), own.slice(0, -2), `${own}AA`, own.toUpperCase()])
      .filter((cursor) => cursor !== own)
      .map((cursor) => ask(named(cursor), of("cursor", cursor), at("cursor")))
  ]
  yield* Effect.forEach(session.sampled([...garbage, ...forged]), (each) => each, {
    concurrency,
    discard: true
  })
})
