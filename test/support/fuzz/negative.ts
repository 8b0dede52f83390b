/** Requests that the document forbids are rejected, and the answer names the place. Each has one fault. */
import { Effect, Option, Schema } from "effect"
import type { Answer, Header } from "./client.ts"
import type { Operation } from "./document.ts"
import { fieldMutations, malformedBodies } from "./mutate.ts"
import type { Mutation } from "./mutate.ts"
import { bodyOf, bodySchemas, formType, jsonType, outgoing, rightRequest } from "./requests.ts"
import type { Session } from "./session.ts"
import { wrongFields } from "./session.ts"
import type { Fixture } from "./fixture.ts"

const concurrency = 8

/** Expects 400 with an error at each of these paths. */
const refusedAt = (paths: ReadonlyArray<string>) => (answer: Answer) => {
  if (answer.status !== 400) return `expected 400 about "${paths.join()}"`
  const fields = new Set(wrongFields(answer))
  const missing = paths.filter((path) => !fields.has(path))
  if (missing.length === 0) return undefined
  return `expected an error at "${missing.join()}", got "${[...fields].join()}"`
}

const Batch = Schema.fromJsonString(
  Schema.Struct({ items: Schema.Array(Schema.Struct({ error: Schema.optionalKey(Schema.Json) })) })
)

/** Expects the same of a batch, in which each item has its own error. */
const refusedInBatch = (paths: ReadonlyArray<string>) => (answer: Answer) => {
  const batch = Schema.decodeOption(Batch)(answer.text)
  if (Option.isNone(batch)) return refusedAt(paths)(answer)
  const fields = batch.value.items.flatMap(({ error }, place) =>
    wrongFields({ ...answer, text: JSON.stringify(error ?? null) }).map((field) =>
      ["predictions", place, field].filter((name) => name !== "").join(".")
    )
  )
  const missing = paths.filter((path) => !fields.includes(path))
  return missing.length === 0 ? undefined : `expected an error at "${missing.join()}", got "${fields.join()}"`
}

export const status = (wanted: ReadonlyArray<number>) => (answer: Answer) =>
  wanted.includes(answer.status) ? undefined : `expected ${wanted.join(" or ")}`

const kibibyte = 1024
const mebibyte = kibibyte * kibibyte

const tenths = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]

/** The maximum bytes of a body of each operation. */
const maxBody = ({ path }: Operation): number => {
  if (path.startsWith("/api/v1/admin/")) return 10 * mebibyte
  if (/^\/api\/v1\/agent\/challenge\/[^/]+\/submit$/.test(path)) return 160 * kibibyte
  if (/^\/api\/v1\/agent\/(registry|auth|challenge)\//.test(path)) return 16 * kibibyte
  return 256 * kibibyte
}

/** Every field of the body wrong in every way; then bodies that are not JSON at all. */
export const wrongBodies = Effect.fnUntraced(function* (
  session: Session,
  fixture: Fixture,
  operation: Operation
) {
  const { document } = session
  const [first] = fixture.waysOf(operation)
  const schemas = bodySchemas(document, operation)
  for (const schema of schemas) {
    const sample = yield* first
    const base = bodyOf(document, schema, sample)
    const mutations = [
      ...session.sampled(fieldMutations(document, schema, base)),
      ...session.sampled(malformedBodies(base))
    ]
    // An empty body lacks the required fields of every alternative.
    const placesOf = ({ label, wrongAt }: Mutation) =>
      schemas.length > 1 && label.startsWith("(root)") ? [] : wrongAt
    const expected = (mutation: Mutation) => {
      if (Buffer.byteLength(mutation.body) > maxBody(operation)) return status([413])
      if (mutation.wrongAt.length === 0) return undefined
      const isBatch = operation.operationId === "answers.predictAll"
      return isBatch ? refusedInBatch(placesOf(mutation)) : refusedAt(placesOf(mutation))
    }
    const send = (mutation: Mutation) =>
      session.exchange(
        operation,
        mutation.label,
        outgoing(fixture, { operation, sample, body: undefined }, { body: mutation.body }),
        expected(mutation)
      )
    yield* Effect.forEach(mutations, send, { concurrency, discard: true })
  }
})

/** A right body, padded with white space to this length. */
const padded = (body: string, bytes: number): string => body + " ".repeat(bytes - Buffer.byteLength(body))

/** Types, sizes and framings of bodies. */
export const wrongTransport = Effect.fnUntraced(function* (
  session: Session,
  fixture: Fixture,
  operation: Operation
) {
  const { document } = session
  const [first] = fixture.waysOf(operation)
  const sample = yield* first
  const right = rightRequest(document, operation, sample)
  const { body } = right
  if (body === undefined) return
  const content = Object.keys(operation.requestBody?.content ?? {})
  const types = [
    "text/plain",
    "text/json",
    "application/xml",
    "application/problem+json",
    "application/jsonx",
    "multipart/form-data; boundary=x",
    "application/x-www-form-urlencoded",
    "application/octet-stream",
    "garbage",
    ";",
    "application/json, text/plain"
  ].filter((type) => !content.includes(type))
  yield* Effect.forEach(
    session.sampled(types),
    (type) =>
      session.exchange(
        operation,
        `as ${type}`,
        outgoing(fixture, right, { headers: [["content-type", type]] }),
        status([415])
      ),
    { concurrency, discard: true }
  )

  const max = maxBody(operation)
  // This many megabytes take most of the time of a short run, which sends them to one operation in ten.
  const sendsMuch = max < mebibyte || session.sampled(tenths, 1).includes(0)
  const chunked = [jsonType, ["transfer-encoding", "chunked"]] as const
  const tooLarge = (label: string, bytes: number, headers: ReadonlyArray<Header> = [jsonType]) =>
    session.exchange(
      operation,
      label,
      outgoing(fixture, right, { body: padded(body, bytes), headers }),
      status([413])
    )
  yield* Effect.all(
    session.sampled(
      !sendsMuch
        ? []
        : [
            Effect.suspend(() => tooLarge("a body one byte too large", max + 1)),
            Effect.suspend(() => tooLarge("a body much too large", max + mebibyte)),
            Effect.suspend(() => tooLarge("too large, in chunks", max + kibibyte, chunked))
          ],
      1
    ),
    { discard: true }
  )

  const accepted = (label: string, headers: ReadonlyArray<Header>, bytes?: number) =>
    Effect.gen(function* () {
      const fresh = rightRequest(document, operation, yield* first)
      const body = bytes === undefined ? fresh.body : padded(fresh.body ?? "", bytes)
      const sent = outgoing(fixture, fresh, { headers, ...(body !== undefined && { body }) })
      yield* session.exchange(operation, label, sent, status([200, 201, 204]))
    })
  yield* Effect.all(
    session.sampled(
      [
        accepted("without a type", []),
        accepted("with a charset", [["content-type", "Application/JSON; charset=utf-8"]]),
        accepted("in chunks", chunked),
        accepted("as it is, and said to be so", [jsonType, ["content-encoding", "identity"]]),
        ...(sendsMuch ? [accepted("as large as allowed", [jsonType], max)] : [])
      ],
      2
    ),
    { discard: true }
  )
})

/** Forms that are wrong in their own ways. */
export const wrongForms = Effect.fnUntraced(function* (
  session: Session,
  fixture: Fixture,
  operation: Operation
) {
  if (operation.requestBody?.content[formType] === undefined) return
  const sample = yield* fixture.waysOf(operation)[0]
  const forms = [
    "",
    "=",
    "&&&",
    "a",
    "%zz=1",
    "grant_type=%00",
    "grant_type=a&grant_type=b",
    "{}",
    "[]",
    "x".repeat(9000)
  ]
  yield* Effect.forEach(
    [...forms, Buffer.from([0xff, 0xfe, 0x00, 0x3d])],
    (body) =>
      session.exchange(
        operation,
        `the form ${String(body).slice(0, 30)}`,
        outgoing(
          fixture,
          { operation, sample, body: undefined },
          { body, headers: [["content-type", formType]] }
        ),
        status([400])
      ),
    { concurrency, discard: true }
  )
})
