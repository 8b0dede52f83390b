/** Requests that the document allows get a 2xx that conforms to the document. */
import { Effect, Schema } from "effect"
import type { Answer, NoAnswer } from "./client.ts"
import { resolve } from "./document.ts"
import type { Document, JsonSchema, Operation } from "./document.ts"
import { variants } from "./generate.ts"
import { generousBodies } from "./mutate.ts"
import {
  bodyOf,
  bodySchemas,
  hintsFor,
  formOf,
  formType,
  outgoing,
  queryOf,
  rightRequest
} from "./requests.ts"
import type { Session } from "./session.ts"
import type { Sample, Fixture } from "./fixture.ts"

const unknownInKey = "an unknown field may have been meant as a limit, which no keyword of ours says"

/** Requests that the document allows and the service rejects, each with its reason. */
const refusedThough: Readonly<Record<string, string>> = {
  "admin.changeAgent: required fields only":
    "a change that changes nothing is refused, which no keyword of ours says",
  "admin.changeAgent: suspended = false": "only a suspension has a reason",
  "admin.createPriceEvent: required fields only": "a level or a scale is wanted, which depends on the kind",
  "arena.predict: required fields only": "one of two forms is wanted, which depends on the challenge",
  "priceEvents.answer: required fields only": "one of two forms is wanted, which depends on the question",
  "admin.amendChallenge: required fields only": "one of two fields is wanted, which depends on the challenge",
  "admin.createMacroChallenge: required fields only":
    "one of two fields is wanted: bins of a number, or categories",
  ...Object.fromEntries(
    ["gateway.createKey", "gateway.changeKey"].flatMap((operation) =>
      ["an unknown field", "__proto__", "nested 60 levels deep"].map((label) => [
        `${operation}: ${label}`,
        unknownInKey
      ])
    )
  )
}

const refused = (answer: Answer) =>
  answer.status === 400 ? undefined : "this is no longer refused: take it off the list"

const accepted = (answer: Answer) =>
  answer.status < 300 ? undefined : "what the document allows was refused"

/** Every body to try for one sample; another sample has as many, in the same order. */
const bodiesFor = (document: Document, schema: JsonSchema, sample: Sample) => {
  const all = bodyOf(document, schema, sample)
  return [
    { label: "every field", body: () => JSON.stringify(all) },
    {
      label: "required fields only",
      body: () => JSON.stringify(bodyOf(document, schema, sample, "required"))
    },
    ...variants(document, schema, all, hintsFor(document, schema, sample)).map(({ label, value }) => ({
      label,
      body: () => JSON.stringify(value())
    })),
    ...generousBodies(all).map(({ body, label }) => ({ label, body: () => body }))
  ]
}

/** Bodies at every limit of their schema, each with a sample of its own, since a body may be right only once. */
export const rightBodies = Effect.fnUntraced(function* (
  session: Session,
  fixture: Fixture,
  operation: Operation
) {
  const { document } = session
  const [first, ...others] = fixture.waysOf(operation)
  const wanted = (label: string) =>
    `${operation.operationId}: ${label}` in refusedThough ? refused : accepted
  for (const schema of bodySchemas(document, operation)) {
    const count = bodiesFor(document, schema, yield* first).length
    yield* Effect.forEach(
      session.sampled(Array.from({ length: count }, (_, index) => index)),
      (index) =>
        Effect.gen(function* () {
          const sample = yield* first
          const chosen = bodiesFor(document, schema, sample)[index]
          const { body, label } = chosen ?? { body: () => "", label: "none" }
          const right = { operation, sample, body: body() }
          yield* session.exchange(operation, label, outgoing(fixture, right), wanted(label))
        }),
      { concurrency: 8, discard: true }
    )
  }
  for (const way of others) {
    const sample = yield* way
    yield* session.exchange(
      operation,
      "another way",
      outgoing(fixture, rightRequest(document, operation, sample)),
      accepted
    )
  }
  const form = operation.requestBody?.content[formType]?.schema
  if (form !== undefined) {
    const sample = yield* first
    const right = { operation, sample, body: formOf(bodyOf(document, form, sample)) }
    const headers = [["content-type", formType]] as const
    yield* session.exchange(operation, "as a form", outgoing(fixture, right, { headers }), accepted)
  }
})

const Page = Schema.fromJsonString(Schema.Struct({ next_cursor: Schema.NullOr(Schema.String) }))

/** Reads pages of one item to the end: the cursors are kept for the tests that tamper with them. */
const walk = Effect.fnUntraced(function* (
  ask: (label: string, query: Readonly<Record<string, string>>) => Effect.Effect<Answer | undefined, NoAnswer>
) {
  const cursors: Array<string> = []
  let cursor: string | null = ""
  while (cursor !== null && cursors.length < 3) {
    const query: Readonly<Record<string, string>> = cursor === "" ? { limit: "1" } : { limit: "1", cursor }
    const answer: Answer | undefined = yield* ask("a page of one", query)
    if (answer === undefined || answer.status !== 200) break
    const page: typeof Page.Type = yield* Schema.decodeEffect(Page)(answer.text).pipe(Effect.orDie)
    cursor = page.next_cursor
    if (cursor !== null) cursors.push(cursor)
  }
  return cursors
})

/** Operations without a body: every value of their query parameters. Returns the cursors of the answers. */
export const rightReads = Effect.fnUntraced(function* (
  session: Session,
  fixture: Fixture,
  operation: Operation
) {
  const { document } = session
  const [first] = fixture.waysOf(operation)
  const sample = yield* first
  // Each request gets new data, because deletes remove it.
  const ask = (label: string, query: Readonly<Record<string, string>>) =>
    Effect.flatMap(first, (fresh) => {
      const right = rightRequest(document, operation, fresh)
      return session.exchange(operation, label, outgoing(fixture, right, { query: queryOf(query) }), accepted)
    })
  yield* ask("without parameters", {})
  const parameters = operation.parameters.filter((parameter) => parameter.in === "query")
  yield* ask("every parameter of the sample", sample.query)
  for (const { name, schema } of parameters) {
    const { enum: values = [], maximum, minimum } = resolve(document, schema)
    const limits = [minimum, maximum].filter((bound) => bound !== undefined)
    for (const value of [...values, ...limits]) yield* ask(`${name} = ${value}`, { [name]: String(value) })
    const own = sample.query[name]
    if (own !== undefined) yield* ask(`${name} = ${own}`, { [name]: own })
  }
  const paged = parameters.some(({ name }) => name === "cursor")
  return paged ? yield* walk(ask) : []
})
