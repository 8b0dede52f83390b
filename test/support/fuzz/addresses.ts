/** Wrong paths and credentials. */
import { Effect } from "effect"
import type { Answer, Header } from "./client.ts"
import { knowsIds } from "./document.ts"
import type { Operation } from "./document.ts"
import { status } from "./negative.ts"
import { base64url, outgoing, pathOf, rightRequest } from "./requests.ts"
import type { Session } from "./session.ts"
import type { Fixture } from "./fixture.ts"

const concurrency = 8

/** Segments as they stand in the request target. */
const strangeSegments = [
  "0190b0a0-0000-7000-8000-000000000000",
  "00000000-0000-0000-0000-000000000000",
  "not-an-id",
  "0",
  "-1",
  "null",
  "%7B0190b0a0-0000-7000-8000-000000000000%7D",
  "%7B0190b0a0-0000-7000-8000-000000000000",
  "0190b0a00000-7000-8000-000000000000",
  "0190b0a0000070008000000000000000",
  "0190b0a0-0000-7000-8000-000000000000%0A",
  "x".repeat(10_000),
  "%00",
  "GC%00",
  "%",
  "%zz",
  "%c3%28",
  "%ff%fe",
  "%ed%a0%80",
  "..",
  ".",
  "%2e%2e",
  "..%2f..%2fhealth%2flive",
  "../../../health/live/x",
  "a%2Fb",
  "%F0%9F%98%80",
  "%e2%80%ae",
  "'%20or%201=1--",
  ";drop",
  "*",
  ":id",
  "%7Bid%7D",
  "__proto__",
  "constructor",
  "g-c",
  "%20"
]

/** Requests ids that nothing has: 404, or 204 where that is no error, as long as it is a path. */
export const wrongPaths = Effect.fnUntraced(function* (
  session: Session,
  fixture: Fixture,
  operation: Operation
) {
  const names = operation.parameters.filter((parameter) => parameter.in === "path").map(({ name }) => name)
  if (names.length === 0) return
  const sample = yield* fixture.waysOf(operation)[0]
  const right = rightRequest(session.document, operation, sample)
  for (const name of names) {
    yield* Effect.forEach(
      // A segment that is strange elsewhere may be right here.
      session.sampled(strangeSegments.filter((segment) => segment !== sample.params[name])),
      (segment) =>
        session.exchange(
          operation,
          `${name} = ${segment.slice(0, 40)}`,
          outgoing(fixture, right, { path: pathOf(operation, sample.params, { [name]: segment }) }),
          status(knowsIds(operation) ? [404] : [204, 404])
        ),
      { concurrency, discard: true }
    )
  }
})

const flip = (text: string, at: number): string =>
  `${text.slice(0, at)}${text[at] === "A" ? "B" : "A"}${text.slice(at + 1)}`

const unsigned = (token: string): string => {
  const [, claims = ""] = token.split(".")
  return `${base64url('{"alg":"none","typ":"JWT"}')}.${claims}.`
}

/** Sends invalid credentials: 401 with a challenge, whatever else is sent. */
export const wrongCredentials = Effect.fnUntraced(function* (
  session: Session,
  fixture: Fixture,
  operation: Operation
) {
  const sample = yield* fixture.waysOf(operation)[0]
  const right = rightRequest(session.document, operation, sample)
  const send = (
    label: string,
    credential: ReadonlyArray<Header>,
    expect: (answer: Answer) => string | undefined,
    body?: string
  ) =>
    session.exchange(
      operation,
      label,
      outgoing(fixture, right, { credential, ...(body !== undefined && { body }) }),
      expect
    )
  const token = fixture.agentToken
  const signature = token.lastIndexOf(".") + 1
  const bad = [
    "",
    "Bearer",
    "Bearer ",
    "Bearer x",
    "Bearer a.b.c",
    "Basic dXNlcjpwYXNz",
    "Token x",
    token,
    `Bearer ${flip(token, signature)}`,
    `Bearer ${flip(token, signature - 9)}`,
    `Bearer ${unsigned(token)}`,
    `Bearer ${token}.x`,
    `Bearer ${"x".repeat(9000)}`,
    "Bearer \u00e4\u00ff",
    `Bearer ${fixture.otherCredentialFor(operation)}`,
    "Bearer null",
    "Bearer ' or 1=1 --"
  ]
  if (!operation.secured) {
    if (operation.operationId === "registration.issueToken") return
    const fresh = rightRequest(session.document, operation, yield* fixture.waysOf(operation)[0])
    const sent = outgoing(fixture, fresh, { credential: [["authorization", "Bearer x"]] })
    // Where a credential may be sent, a bad one is rejected.
    if (operation.security.length > 0) {
      yield* session.exchange(operation, "a bad token where one is optional", sent, status([401]))
      return
    }
    yield* session.exchange(operation, "a bad token where none is asked for", sent, status([200, 201, 204]))
    return
  }
  const refused = status([401])
  yield* send("no credential", [], refused)
  yield* Effect.forEach(
    session.sampled(bad),
    (value) => send(`authorization: ${value.slice(0, 40)}`, [["authorization", value]], refused),
    { concurrency, discard: true }
  )
  yield* send("an enormous credential", [["authorization", `Bearer ${"x".repeat(20_000)}`]], status([431]))
  yield* send("no credential and a malformed body", [], refused, "{")
})
