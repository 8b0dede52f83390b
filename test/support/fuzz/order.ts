/** The order in which a request is checked: the scope comes before the body, and an optional null field of the body counts as absent. */
import { Effect, Schema } from "effect"
import type { Answer } from "./client.ts"
import type { Document, JsonSchema, Operation } from "./document.ts"
import { places, replaceAt } from "./generate.ts"
import type { Step } from "./generate.ts"
import { bodyOf, bodySchemas, outgoing, pathOf, rightRequest } from "./requests.ts"
import type { Session } from "./session.ts"
import { wrongFields } from "./session.ts"
import type { Fixture } from "./fixture.ts"
import { isList, isRecord } from "./validate.ts"

type Json = Schema.Json

const Told = Schema.fromJsonString(
  Schema.Struct({
    code: Schema.optionalKey(Schema.String),
    detail: Schema.optionalKey(Schema.String),
    ignored_fields: Schema.optionalKey(Schema.Array(Schema.String)),
    /** The items of a batch, each with an outcome of its own. */
    items: Schema.optionalKey(
      Schema.Array(
        Schema.Struct({
          error: Schema.optionalKey(
            Schema.Struct({ code: Schema.String, errors: Schema.optionalKey(Schema.Json) })
          )
        })
      )
    )
  })
)

const told = (answer: Answer) => Schema.decodeOption(Told)(answer.text === "" ? "{}" : answer.text)

/** The outcome of a request, without the parts that differ each time. */
const outcomeOf = (answer: Answer | undefined): string => {
  if (answer === undefined) return "no answer"
  const { code, ignored_fields, items } = { ...told(answer).pipe(orNothing) }
  return JSON.stringify([answer.status, code, wrongFields(answer), ignored_fields, items])
}

const orNothing = (found: ReturnType<typeof told>): typeof Told.Type =>
  found._tag === "Some" ? found.value : {}

/** The optional fields of a body, whether or not it has them. */
const optionalFields = (
  document: Document,
  schema: JsonSchema,
  body: Json
): ReadonlyArray<ReadonlyArray<Step>> =>
  places(document, schema, body).flatMap((place) => {
    if (!isRecord(place.value)) return []
    const { properties = {}, required = [] } = place.schema
    return Object.keys(properties)
      .filter((name) => !required.includes(name))
      .map((name) => [...place.path, name])
  })

const without = (value: Json, path: ReadonlyArray<Step>): Json => {
  const [step, ...rest] = path
  if (isList(value)) return value.map((item, index) => (index === step ? without(item, rest) : item))
  if (!isRecord(value)) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]) => {
      if (name !== step) return [[name, member]]
      return rest.length === 0 ? [] : [[name, without(member, rest)]]
    })
  )
}

/** A body with null in an optional field is answered as one without it. */
export const nullFields = Effect.fnUntraced(function* (
  session: Session,
  fixture: Fixture,
  operation: Operation
) {
  const { document } = session
  const [way] = fixture.waysOf(operation)
  for (const schema of bodySchemas(document, operation)) {
    const send = Effect.fnUntraced(function* (
      label: string,
      changed: (body: Json) => Json,
      expected?: string
    ) {
      const sample = yield* way
      const body = JSON.stringify(changed(bodyOf(document, schema, sample)))
      const answer = yield* session.exchange(
        operation,
        label,
        outgoing(fixture, { operation, sample, body }),
        (each) =>
          expected === undefined || outcomeOf(each) === expected
            ? undefined
            : `without the field: ${expected}`
      )
      return outcomeOf(answer)
    })
    for (const path of optionalFields(document, schema, bodyOf(document, schema, yield* way))) {
      const absent = yield* send(`without ${path.join(".")}`, (body) => without(body, path))
      yield* send(`${path.join(".")} = null`, (body) => replaceAt(body, path, null), absent)
    }
  }
})

/** The required scope of an operation in the document; undefined if it needs none. */
const scopeOf = ({ security }: Operation): string | undefined =>
  security.flatMap(({ oauth2 = [] }) => oauth2).at(0)

const lacks = (scope: string) => (answer: Answer) => {
  const { code, detail } = orNothing(told(answer))
  return answer.status === 403 && code === "missing_scope" && detail === `Missing required scope: ${scope}`
    ? undefined
    : `expected 403 for the scope ${scope}`
}

const wrongBodies = [
  "{",
  "",
  "[]",
  "null",
  "7",
  '"text"',
  "{}",
  '{"x":1}',
  '{"a":1,"a":2}',
  '{"direction":7}'
]

/** A missing scope is reported before any fault of the path, the parameters or the body. */
export const missingScopes = Effect.fnUntraced(function* (
  session: Session,
  fixture: Fixture,
  operation: Operation
) {
  const scope = scopeOf(operation)
  if (scope === undefined) return
  const sample = yield* fixture.waysOf(operation)[0]
  const right = rightRequest(session.document, operation, sample)
  const send = (label: string, replaced: Parameters<typeof outgoing>[2]) =>
    session.exchange(
      operation,
      `without its scope, ${label}`,
      outgoing(fixture, right, {
        ...replaced,
        credential: [["authorization", `Bearer ${fixture.scopelessToken}`]]
      }),
      lacks(scope)
    )
  yield* send("and nothing wrong", {})
  yield* send("of an unknown path", {
    path: pathOf(operation, Object.fromEntries(Object.keys(sample.params).map((name) => [name, "no-id"])))
  })
  yield* send("with an unknown parameter", { query: "?no-such=1" })
  if (right.body === undefined) return
  yield* send("as another type", { headers: [["content-type", "text/plain"]] })
  for (const body of wrongBodies) yield* send(`with the body ${body}`, { body })
})
