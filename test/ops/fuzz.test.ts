/**
 * Walks the published OpenAPI document: allowed requests are accepted and answered as it says, forbidden ones are
 * refused and named, and no answer is a fault. `FUZZ_SEED` repeats a run, `FUZZ_REQUESTS` says how many requests are
 * made at random.
 */
import { randomInt } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Config, Console, Context, Effect, Layer } from "effect"
import { expect } from "vitest"
import { breadth, oneIn } from "../support/breadth.ts"
import * as addresses from "../support/fuzz/addresses.ts"
import { makeClient } from "../support/fuzz/client.ts"
import { operationsOf, parseDocument } from "../support/fuzz/document.ts"
import type { Operation } from "../support/fuzz/document.ts"
import * as methods from "../support/fuzz/methods.ts"
import { missingScopes, nullFields } from "../support/fuzz/order.ts"
import * as negative from "../support/fuzz/negative.ts"
import { rightBodies, rightReads } from "../support/fuzz/positive.ts"
import { wrongQueries } from "../support/fuzz/queries.ts"
import { randomRequest } from "../support/fuzz/random.ts"
import { table, unreached } from "../support/fuzz/report.ts"
import { server } from "../support/fuzz/server.ts"
import { makeSession } from "../support/fuzz/session.ts"
import type { Session } from "../support/fuzz/session.ts"
import { faultsOf, servedDocuments, servedOperations, shapeOf } from "../support/fuzz/structure.ts"
import { makeFixture } from "../support/fuzz/fixture.ts"
import type { Fixture } from "../support/fuzz/fixture.ts"

/** The share of each list of cases, from 0 to 1; the seed chooses them. */
const share = breadth(0.03, 1)
const minCases = breadth(1, 7)
const fewest = breadth(2, 20)
const randomRequests = breadth(60, 1500)

class Fuzzing extends Context.Service<
  Fuzzing,
  {
    readonly session: Session
    readonly fixture: Fixture
    readonly operations: readonly [Operation, ...ReadonlyArray<Operation>]
    /** The cursors that each list handed out. */
    readonly cursors: Map<string, ReadonlyArray<string>>
  }
>()("auspex/test/Fuzzing") {}

const fuzzing = Layer.effect(
  Fuzzing,
  Effect.gen(function* () {
    const seed = yield* Config.Int("FUZZ_SEED").pipe(Config.withDefault(randomInt(2 ** 31)))
    yield* Console.log(`FUZZ_SEED=${seed}`)
    const send = yield* makeClient
    const published = yield* send({ method: "GET", target: "/openapi.json", headers: [] })
    const document = yield* parseDocument(published.text)
    const [first, ...others] = operationsOf(document)
    if (first === undefined) return yield* Effect.die(new Error("the document has no operations"))
    const fixture = yield* makeFixture(send)
    const session = makeSession({ document, secrets: fixture.secrets, send, seed, share, minCases })
    const cursors = new Map<string, ReadonlyArray<string>>()
    return { session, fixture, operations: [first, ...others] as const, cursors }
  })
).pipe(Layer.provide(server))

/** Fails with the faults that were found, the first of them in full. */
const nothingFound = (session: Session) => {
  const findings = session.takeFindings()
  if (findings.length > 0) assert.fail(`${findings.length} findings:\n${findings.slice(0, 40).join("\n")}`)
}

const minute = 60_000

// The order matters: the last checks look at requests of those before them.
layer(fuzzing, { excludeTestServices: true })("The OpenAPI document", (it) => {
  const holds = (
    rule: string,
    check: (fuzzing: Fuzzing["Service"]) => Effect.Effect<void, unknown>,
    timeout?: number
  ) =>
    it.effect(
      rule,
      () =>
        Effect.gen(function* () {
          const fuzzing = yield* Fuzzing
          yield* check(fuzzing)
          nothingFound(fuzzing.session)
        }),
      timeout
    )

  type Check = (session: Session, fixture: Fixture, operation: Operation) => Effect.Effect<void, unknown>

  const ofEach =
    (check: Check) =>
    ({ operations, session, fixture }: Fuzzing["Service"]) =>
      Effect.forEach(operations, (operation) => check(session, fixture, operation), { discard: true })

  /** One in four operations, in `npm test`: the same code refuses these requests for all of them. */
  const ofSome =
    (check: Check) =>
    ({ operations, session, fixture }: Fuzzing["Service"]) =>
      Effect.forEach(oneIn(4, operations), (operation) => check(session, fixture, operation), {
        discard: true
      })

  holds(
    "An allowed request is accepted, and answered as the document says",
    ({ cursors, operations, session, fixture }) =>
      Effect.forEach(
        operations,
        (operation) =>
          operation.requestBody === undefined
            ? Effect.map(rightReads(session, fixture, operation), (own) =>
                cursors.set(operation.operationId, own)
              )
            : rightBodies(session, fixture, operation),
        { discard: true }
      )
  )

  holds(
    "A field that is missing, of the wrong type or out of range is refused by name",
    ofEach(negative.wrongBodies)
  )

  holds("An optional field that is null is answered as one that is absent", ofSome(nullFields))

  holds("A scope that is missing is told before anything else that is wrong", ofSome(missingScopes))

  holds("A body of the wrong type or size is refused", ofSome(negative.wrongTransport))

  holds("A form that is not one is refused", ofEach(negative.wrongForms))

  holds("An unknown id is not found", ofEach(addresses.wrongPaths))

  holds(
    "A query parameter that is wrong is refused by name, and a cursor that is none of ours",
    ({ cursors, operations, session, fixture }) =>
      Effect.forEach(operations, (operation) => wrongQueries(session, fixture, operation, cursors), {
        discard: true
      })
  )

  holds("A request without a credential of the right kind does nothing", ofEach(addresses.wrongCredentials))

  holds("X-Agent-Id is the token's agent", ofSome(methods.agentHeader))

  holds("A header that means nothing here changes nothing", ofSome(methods.otherHeaders))

  holds("A path takes the documented methods and no other", ({ operations, session, fixture }) =>
    methods.otherMethods(session, fixture, operations)
  )

  holds("The server serves no other paths", ({ session }) => methods.noSuchPaths(session))

  holds("X-Request-Id is taken over when it is well-formed", ({ session }) => methods.requestIds(session))

  holds(
    "No request is answered with a fault",
    ({ operations, session, fixture }) =>
      Effect.gen(function* () {
        const requests = yield* Config.Int("FUZZ_REQUESTS").pipe(Config.withDefault(randomRequests))
        yield* Effect.forEach(
          Array.from({ length: requests }, (_, index) => index),
          (index) => randomRequest(session, fixture, operations, { seed: session.seed, index }),
          { concurrency: 8, discard: true }
        )
      }),
    30 * minute
  )

  holds("The document is a valid OpenAPI document", ({ operations, session }) =>
    Effect.sync(() => faultsOf(session.document, operations).forEach(session.fail))
  )

  holds("The document lists what is served, and nothing else", ({ operations, session }) =>
    Effect.gen(function* () {
      const listed = operations.map(({ method, path }) => `${method} ${path}`).sort()
      assert.deepStrictEqual(listed, servedOperations())
      for (const [target, type] of servedDocuments) {
        yield* session.exchange(undefined, "a document", { method: "GET", target, headers: [] }, (answer) =>
          answer.status === 200 && answer.headers["content-type"]?.startsWith(type) === true
            ? undefined
            : `expected ${type}`
        )
      }
    })
  )

  holds("The document's shape is the one that was agreed on", ({ operations, session }) =>
    Effect.promise(() =>
      expect(shapeOf(session.document, operations)).toMatchFileSnapshot("./openapi.snapshot")
    )
  )

  holds("Every operation was tried enough, and reached", ({ operations, session }) =>
    Effect.gen(function* () {
      yield* Console.log(table(session, operations))
      unreached(session, operations, {
        requests: fewest,
        outcomes: breadth("a success", "each success and a refusal")
      }).forEach(session.fail)
    })
  )
})
