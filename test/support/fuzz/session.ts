/** Sends requests, checks every answer for the rules that always hold, and counts the requests. */
import { Effect } from "effect"
import type { Schema } from "effect"
import type { Answer, NoAnswer, Outgoing } from "./client.ts"
import type { Document, JsonSchema, Operation } from "./document.ts"
import { makeRandom } from "./prng.ts"
import { makeValidator, printed } from "./validate.ts"

export interface Tally {
  sent: number
  accepted: number
  refused: number
  slowest: number
  readonly statuses: Set<number>
}

/** Statuses that any operation may answer with, documented or not. */
const common = new Set([400, 401, 403, 404, 405, 413, 415, 429])

const maxError = 64 * 1024
const idShape = /^[A-Za-z0-9._-]{1,128}$/

const leaks: ReadonlyArray<readonly [what: string, sign: RegExp]> = [
  ["a stack trace", /\bat [^"]{1,200}\.(ts|js|mjs|cjs):\d+|node:internal|\n\s+at \w/],
  ["a path of our files", /node_modules|file:\/\/|\/src\/(http|layers|services|scoring|jobs)\//],
  ["an SQL text", /\bselect\b[^"]{1,200}\bfrom\b|\binsert into\b|\bupdate \w+ set\b|\bdelete from\b/i],
  [
    "a database error",
    /SqlError|PgConnection|Violation|violates|invalid input syntax|SQLSTATE|invalid byte sequence/
  ],
  ["the insides of an error", /"_tag"|\[object |ParseError|SchemaError|\bundefined\b/]
]

const essence = (answer: Answer): string | undefined => answer.headers["content-type"]?.split(";", 1)[0]

const parsed = (text: string): Schema.Json | undefined => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const string = { type: "string", minLength: 1 } as const

/** The minimum shape of every error. */
const errorShape: JsonSchema = {
  type: "object",
  properties: {
    detail: string,
    code: { ...string, pattern: "^[a-z][a-z0-9_]*$" },
    errors: {
      type: "array",
      minItems: 1,
      items: {
        type: "object",
        properties: { path: { type: "string" }, message: string },
        required: ["path", "message"]
      }
    }
  },
  required: ["detail", "code"],
  additionalProperties: {}
}

export const makeSession = (options: {
  readonly document: Document
  readonly secrets: ReadonlyArray<string>
  readonly send: (outgoing: Outgoing) => Effect.Effect<Answer, NoAnswer>
  readonly seed: number
  /** The share of each list of cases, from 0 to 1. */
  readonly share: number
  /** The minimum number of cases of a list that are tried, however small the share. */
  readonly minCases: number
}) => {
  const { document } = options
  const problems = makeValidator(document, "wrong")
  const tallies = new Map<string, Tally>()
  const findings: Array<string> = []
  let lists = 0

  const tallyOf = (name: string): Tally => {
    const kept = tallies.get(name) ?? {
      sent: 0,
      accepted: 0,
      refused: 0,
      slowest: 0,
      statuses: new Set<number>()
    }
    tallies.set(name, kept)
    return kept
  }

  const documented = (operation: Operation, answer: Answer): ReadonlyArray<string> => {
    const response = operation.responses[`${answer.status}`]
    if (response === undefined) return common.has(answer.status) ? [] : [`${answer.status} is not documented`]
    const headers = Object.entries(response.headers ?? {}).flatMap(([name, { required, schema }]) => {
      const value = answer.headers[name]
      if (value === undefined) return required ? [`the header ${name} is missing`] : []
      return problems(schema, value).map((problem) => `the header ${name}: ${printed(problem)}`)
    })
    const types = Object.keys(response.content ?? {})
    const schema = response.content?.[essence(answer) ?? ""]?.schema
    if (schema === undefined) {
      const fits = types.length === 0 && answer.text === ""
      return fits
        ? headers
        : [...headers, `expected a body of ${types.join() || "no"} type, got ${essence(answer)}`]
    }
    const isText = /^text\/(plain|event-stream)$/.test(essence(answer) ?? "")
    const body = isText ? answer.text : parsed(answer.text)
    if (body === undefined) return [...headers, "the body is not JSON"]
    return [
      ...headers,
      ...problems(schema, body).map((problem) => `the body is not as documented: ${printed(problem)}`)
    ]
  }

  const wellFormedError = (answer: Answer): ReadonlyArray<string> => {
    const body = parsed(answer.text)
    const size = answer.text.length > maxError ? [`an error of ${answer.text.length} characters`] : []
    if (answer.headers["content-type"] !== "application/json; charset=utf-8")
      return [...size, "an error that is not JSON"]
    if (body === undefined) return [...size, "an error that is not JSON"]
    return [...size, ...problems(errorShape, body).map(printed)]
  }

  /** Headers that some statuses must have. */
  const owed = (operation: Operation | undefined, { headers, status }: Answer): ReadonlyArray<string> => {
    const missing: Array<string> = []
    if (!idShape.test(headers["x-request-id"] ?? "")) missing.push("x-request-id")
    if (headers["x-content-type-options"] !== "nosniff") missing.push("nosniff")
    if (headers["cache-control"] === undefined && status !== 431) missing.push("cache-control")
    if (status === 401 && operation?.secured !== false && headers["www-authenticate"] === undefined)
      missing.push("www-authenticate")
    if (status === 405 && headers["allow"] === undefined) missing.push("allow")
    if (status === 429 && !/^\d+$/.test(headers["retry-after"] ?? "")) missing.push("retry-after")
    return missing.map((name) => `without ${name}`)
  }

  const leaked = (answer: Answer): ReadonlyArray<string> => [
    // The reference page contains a whole program.
    ...(essence(answer) === "text/html" ? [] : leaks)
      .filter(([, sign]) => sign.test(answer.text))
      .map(([what]) => `the body shows ${what}`),
    ...options.secrets.filter((secret) => answer.text.includes(secret)).map(() => "the body shows a secret")
  ]

  const report = (
    name: string,
    label: string,
    outgoing: Outgoing,
    what: ReadonlyArray<string>,
    answer?: Answer
  ) => {
    const body = outgoing.body === undefined ? "" : ` ${String(outgoing.body).slice(0, 300)}`
    const got = answer === undefined ? "" : `\n    got ${answer.status} ${answer.text.slice(0, 400)}`
    findings.push(
      `${name}: ${label}: ${what.join("; ")}\n    ${outgoing.method} ${outgoing.target.slice(0, 300)}${body}${got}`
    )
  }

  /**
   * Sends, checks, counts. `expect` is a further check of this answer: it returns nothing if the answer is right, and gets
   * `undefined` if the server did not answer.
   */
  const exchange = Effect.fnUntraced(function* (
    operation: Operation | undefined,
    label: string,
    outgoing: Outgoing,
    expect: (answer: Answer) => string | undefined = () => undefined
  ) {
    const name = operation?.operationId ?? "(no operation)"
    const tally = tallyOf(name)
    tally.sent += 1
    const answer = yield* options
      .send(outgoing)
      .pipe(
        Effect.catchTag("NoAnswer", ({ reason }) =>
          Effect.sync(() => report(name, label, outgoing, [`no answer: ${reason}`]))
        )
      )
    if (answer === undefined) return undefined
    const { status } = answer
    tally.statuses.add(status)
    tally.slowest = Math.max(tally.slowest, answer.milliseconds)
    if (status < 300) tally.accepted += 1
    else tally.refused += 1
    const bodyless = outgoing.method === "HEAD" || status === 204 || status === 304
    const wanted = expect(answer)
    const wrong = [
      ...(status >= 500 ? [`a fault of ours: ${status}`] : []),
      ...(status >= 300 && status < 400 && status !== 304 ? [`a redirection: ${status}`] : []),
      ...(bodyless && answer.text !== "" ? ["a body where none may be"] : []),
      ...(operation === undefined || outgoing.method === "HEAD" || status === 431
        ? []
        : documented(operation, answer)),
      ...(status >= 400 && !bodyless ? wellFormedError(answer) : []),
      ...owed(operation, answer),
      ...leaked(answer),
      ...(wanted === undefined ? [] : [wanted])
    ]
    if (wrong.length > 0) report(name, label, outgoing, wrong, answer)
    return answer
  })

  return {
    document,
    exchange,
    seed: options.seed,
    /** The cases of a list that this run tries, in their order; the seed chooses them. */
    sampled: <A>(cases: ReadonlyArray<A>, min = options.minCases): ReadonlyArray<A> => {
      lists += 1
      const { below } = makeRandom({ seed: options.seed, index: lists })
      const count = Math.max(min, Math.ceil(cases.length * options.share))
      return cases
        .map((value, index) => ({ index, value, rank: below(2 ** 31) }))
        .toSorted((one, other) => one.rank - other.rank)
        .slice(0, count)
        .toSorted((one, other) => one.index - other.index)
        .map(({ value }) => value)
    },
    tallies,
    /** Reports a fault that is not of a single answer. */
    fail: (what: string) => findings.push(what),
    /** The findings since the last call. */
    takeFindings: (): ReadonlyArray<string> => findings.splice(0)
  }
}

export type Session = ReturnType<typeof makeSession>

/** The fields that a 400 names. */
export const wrongFields = (answer: Answer): ReadonlyArray<string> => {
  const body = parsed(answer.text)
  if (typeof body !== "object" || body === null || !("errors" in body) || !Array.isArray(body.errors))
    return []
  return body.errors.map((each: Schema.Json) =>
    typeof each === "object" && each !== null && "path" in each ? String(each.path) : "?"
  )
}
