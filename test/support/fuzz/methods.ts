/** Every path with every method, and paths that do not exist. */
import { Effect } from "effect"
import type { Answer, Header } from "./client.ts"
import type { Operation } from "./document.ts"
import { status } from "./negative.ts"
import { outgoing, pathOf, rightRequest } from "./requests.ts"
import type { Session } from "./session.ts"
import type { Fixture } from "./fixture.ts"

const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "QUERY"]

const allowOf = (answer: Answer) => new Set((answer.headers["allow"] ?? "").split(", "))

const allows = (wanted: ReadonlySet<string>, expected: number) => (answer: Answer) => {
  const got = allowOf(answer)
  const same = got.size === wanted.size && [...wanted].every((method) => got.has(method))
  return answer.status === expected && same
    ? undefined
    : `expected ${expected} with Allow: ${[...wanted].join(", ")}`
}

/** Expects 405 with the methods that the document has for the path; HEAD is there with GET; OPTIONS says the same. */
export const otherMethods = Effect.fnUntraced(function* (
  session: Session,
  fixture: Fixture,
  operations: ReadonlyArray<Operation>
) {
  const byPath = Map.groupBy(operations, (operation) => operation.path)
  for (const [path, documented] of byPath) {
    const [operation] = documented
    if (operation === undefined) continue
    const taken = new Set(documented.map(({ method }) => method))
    if (taken.has("GET")) taken.add("HEAD")
    const sample = yield* fixture.waysOf(operation)[0]
    const target = pathOf(operation, sample.params)
    yield* Effect.forEach(
      session.sampled(methods.filter((method) => !taken.has(method))),
      (method) =>
        session.exchange(
          undefined,
          `${method} ${path}`,
          { method, target, headers: [] },
          method === "OPTIONS" ? allows(taken, 204) : allows(taken, 405)
        ),
      { concurrency: 8, discard: true }
    )
    const reading = documented.find(({ method }) => method === "GET")
    if (reading === undefined) continue
    const right = rightRequest(session.document, reading, sample)
    const got = yield* session.exchange(reading, "GET", outgoing(fixture, right))
    const length = got?.headers["content-length"]
    yield* session.exchange(reading, "HEAD", outgoing(fixture, right, { method: "HEAD" }), (answer) =>
      answer.status === got?.status && answer.headers["content-type"] === got.headers["content-type"]
        ? undefined
        : `expected what GET answers, ${got?.status}, length ${length}`
    )
    yield* session.exchange(
      reading,
      "GET with a body",
      outgoing(fixture, right, { body: "{" }),
      status([200])
    )
  }
})

const nowhere = [
  "/api",
  "/api/v1",
  "/api/v2/events",
  "/api/v1/admin",
  "/api/v1/admin/",
  "/api/v1/nothing",
  "//",
  "//evil.example/events",
  "/api/v1//events",
  "/api/v1/events/x/y",
  "/api/v1/./events",
  "/api/v1/admin/../events",
  "/.env",
  "/.git/config",
  "/%",
  "/%00",
  "/%2e%2e/%2e%2e/etc/passwd",
  "/API/V1/EVENTS",
  "/api/v1/events%20",
  "/health",
  "/metrics/x",
  "/docs/../openapi.json",
  "/constructor",
  "/__proto__",
  `/${"a".repeat(10_000)}`,
  "*"
]

/** Expects 404, and not by way of another path. */
export const noSuchPaths = Effect.fnUntraced(function* (session: Session) {
  yield* Effect.forEach(
    nowhere,
    (target) =>
      session.exchange(undefined, "nothing is there", { method: "GET", target, headers: [] }, status([404])),
    { concurrency: 8, discard: true }
  )
  for (const target of ["/api/v1/events/\u00f0\u009f", "/\u00e4"]) {
    const outgoing = { method: "GET", target, headers: [] }
    yield* session.exchange(undefined, "bytes that no target has", outgoing, status([400, 404]))
  }
})

/** Headers without a meaning here, except the coding of a body. */
export const strangeHeaders: readonly [Header, ...ReadonlyArray<Header>] = [
  ["x-forwarded-for", "1.2.3.4, not an address"],
  ["x-request-id", "a b"],
  ["accept", "text/html;q=0.1"],
  ["accept-encoding", "br, gzip;q=0"],
  ["content-encoding", "gzip"],
  ["if-none-match", '"nothing of ours"'],
  ["range", "bytes=0-1"],
  ["origin", "https://evil.example"],
  ["cookie", "session=1; session=2"],
  ["traceparent", "00-zz-zz-zz"],
  ["b3", "0"],
  ["forwarded", "for=_hidden;host=evil.example"],
  ["x-http-method-override", "DELETE"],
  ["expect", "nothing"],
  ["upgrade", "h2c"],
  ["te", "trailers"]
]

/** A header without a meaning here changes nothing. */
export const otherHeaders = Effect.fnUntraced(function* (
  session: Session,
  fixture: Fixture,
  operation: Operation
) {
  const [first] = fixture.waysOf(operation)
  yield* Effect.forEach(
    session.sampled(strangeHeaders),
    ([name, value]) =>
      Effect.gen(function* () {
        const right = rightRequest(session.document, operation, yield* first)
        const credential = [...fixture.credentialFor(operation), [name, value] as const]
        const sent = outgoing(fixture, right, { credential })
        const isCoded = name === "content-encoding" && right.body !== undefined
        const wanted = status(isCoded ? [415] : [200, 201, 204])
        yield* session.exchange(operation, `${name}: ${value}`, sent, wanted)
      }),
    { concurrency: 8, discard: true }
  )
})

/** The token identifies the agent; X-Agent-Id may only repeat it. */
export const agentHeader = Effect.fnUntraced(function* (
  session: Session,
  fixture: Fixture,
  operation: Operation
) {
  if (!operation.secured || operation.path.startsWith("/api/v1/admin/")) return
  const [first] = fixture.waysOf(operation)
  const named = Effect.fnUntraced(function* (id: string, expect: (answer: Answer) => string | undefined) {
    const right = rightRequest(session.document, operation, yield* first)
    const credential = [...fixture.credentialFor(operation), ["x-agent-id", id] as const]
    yield* session.exchange(
      operation,
      `x-agent-id: ${id.slice(0, 40)}`,
      outgoing(fixture, right, { credential }),
      expect
    )
  })
  yield* named(fixture.agentId, status([200, 201, 204]))
  yield* named(fixture.agentId.toUpperCase(), status([200, 201, 204]))
  for (const id of ["0190b0a0-0000-7000-8000-000000000000", "x", "%00", "a".repeat(5000)])
    yield* named(id, status([403]))
})

/** A well-formed request id is returned, any other is replaced. */
export const requestIds = Effect.fnUntraced(function* (session: Session) {
  const ask = (id: string, expect: (answer: Answer) => string | undefined) =>
    session.exchange(
      undefined,
      `x-request-id: ${id.slice(0, 40)}`,
      { method: "GET", target: "/health/live", headers: [["x-request-id", id]] },
      expect
    )
  for (const id of ["a", "Trace_1.2-3", "x".repeat(128)]) {
    yield* ask(id, ({ headers }) =>
      headers["x-request-id"] === id ? undefined : "expected it to be taken over"
    )
  }
  for (const id of ["", " ", "x".repeat(129), "a b", "a\tb", "<script>", "\u00e4", "a,b"]) {
    yield* ask(id, ({ headers }) => (headers["x-request-id"] === id ? "expected another one" : undefined))
  }
})
