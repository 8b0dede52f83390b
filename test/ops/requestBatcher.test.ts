/** Batches: a lone request does not wait, those that arrive meanwhile share a statement, and each gets its answer. */
import { assert, layer } from "@effect/vitest"
import { Array as Arr, Deferred, type Duration, Effect, Exit, Fiber } from "effect"
import { SqlClient } from "effect/sql"
import * as RequestBatcher from "../../src/layers/postgres/RequestBatcher.ts"
import { StoreUnavailable, storeUnavailableIn } from "../../src/services/domain/errors.ts"
import { database } from "../support/database.ts"
import { until } from "../support/waiting.ts"

/** Batches that each wait until they are let go, in the order in which they began. */
const gated = Effect.fnUntraced(function* (options: {
  readonly maxSize: number
  readonly exclusive?: (item: number) => string
  readonly maxBatchWait?: Duration.Input
  readonly maxQueueTime?: Duration.Input
  readonly answer?: (items: ReadonlyArray<number>) => Effect.Effect<ReadonlyArray<string>>
}) {
  const begun: Array<ReadonlyArray<number>> = []
  const gate = yield* Deferred.make<void>()
  const ask = yield* RequestBatcher.make({
    run: (items: Arr.NonEmptyReadonlyArray<number>) =>
      Effect.gen(function* () {
        begun.push(items)
        yield* Deferred.await(gate)
        return yield* options.answer?.(items) ?? Effect.succeed(items.map((item) => `answer ${item}`))
      }),
    maxSize: options.maxSize,
    maxBatchWait: options.maxBatchWait ?? "10 minutes",
    maxQueueTime: options.maxQueueTime ?? "10 minutes",
    ...(options.exclusive !== undefined && { exclusive: options.exclusive })
  })
  const send = Effect.fnUntraced(function* (items: ReadonlyArray<number>) {
    const fibers = yield* Effect.forEach(items, (item) => Effect.forkChild(ask(item)))
    yield* Effect.yieldNow.pipe(Effect.repeat({ times: 10 }))
    return fibers
  })
  return { send, begun, open: Deferred.succeed(gate, undefined) }
})

const answers = <A>(fibers: ReadonlyArray<Fiber.Fiber<A>>) => Effect.forEach(fibers, Fiber.join)

layer(database)("The request batcher", (it) => {
  it.effect("The batcher sends a lone request at once, and those that arrive meanwhile together", () =>
    Effect.gen(function* () {
      const { send, begun, open } = yield* gated({ maxSize: 500 })
      const first = yield* send([1])
      assert.deepStrictEqual(begun, [[1]])
      const rest = [...(yield* send([2])), ...(yield* send([3])), ...(yield* send([4, 5]))]
      assert.deepStrictEqual(begun, [[1]])
      yield* open
      assert.deepStrictEqual(
        yield* answers([...first, ...rest]),
        [1, 2, 3, 4, 5].map((item) => `answer ${item}`)
      )
      assert.deepStrictEqual(begun, [[1], [2, 3, 4, 5]])
    })
  )

  it.effect("The batcher sends a second statement beside one that takes long", () =>
    Effect.gen(function* () {
      const { send, begun, open } = yield* gated({ maxSize: 500, maxBatchWait: "300 millis" })
      const fibers = [...(yield* send([1, 2])), ...(yield* send([3])), ...(yield* send([4]))]
      assert.deepStrictEqual(begun, [[1, 2]])
      yield* until(() => begun.length === 2)
      const both = [
        [1, 2],
        [3, 4]
      ]
      assert.deepStrictEqual(begun, both)
      fibers.push(...(yield* send([5])))
      yield* open
      yield* answers(fibers)
      assert.deepStrictEqual(begun, [...both, [5]])
    })
  )

  it.effect("The batcher sends no larger batch than it may", () =>
    Effect.gen(function* () {
      const { send, begun, open } = yield* gated({ maxSize: 2 })
      const fibers = [...(yield* send([1])), ...(yield* send([2])), ...(yield* send([3, 4, 5, 6, 7]))]
      yield* open
      yield* answers(fibers)
      assert.isAtMost(Math.max(...begun.map((batch) => batch.length)), 2)
      assert.deepStrictEqual(begun.flat().sort(), [1, 2, 3, 4, 5, 6, 7])
    })
  )

  it.effect("The batcher never sends two items of one key together, and answers each", () =>
    Effect.gen(function* () {
      const { send, begun, open } = yield* gated({ maxSize: 500, exclusive: (item) => String(item % 2) })
      const fibers = [...(yield* send([0])), ...(yield* send([1])), ...(yield* send([2, 3, 4, 5, 6]))]
      yield* open
      assert.strictEqual((yield* answers(fibers)).length, 7)
      for (const batch of begun) {
        assert.strictEqual(new Set(batch.map((item) => item % 2)).size, batch.length)
      }
    })
  )

  it.effect("The batcher tries alone what fails in company, so that it fails nobody else", () =>
    Effect.gen(function* () {
      const { send, begun, open } = yield* gated({
        maxSize: 500,
        answer: (items) =>
          items.includes(4) ? Effect.die("four") : Effect.succeed(items.map((item) => `answer ${item}`))
      })
      const fibers = [...(yield* send([1])), ...(yield* send([3, 4, 5]))]
      yield* open
      const exits = yield* Effect.forEach(fibers, Fiber.await)
      assert.deepStrictEqual(exits.map(Exit.isSuccess), [true, true, false, true])
      assert.deepStrictEqual(begun, [[1], [3, 4, 5], [3], [4], [5]])
    })
  )

  it.effect("The batcher goes on after a batch that throws, which fails its own caller", () =>
    Effect.gen(function* () {
      const ask = yield* RequestBatcher.make({
        run: (items: Arr.NonEmptyReadonlyArray<number>) => {
          if (items.includes(0)) throw new Error("nought")
          return Effect.succeed(items)
        },
        maxSize: 500
      })
      for (let turn = 0; turn < 3; turn++) assert.isTrue(Exit.isFailure(yield* Effect.exit(ask(0))))
      assert.strictEqual(yield* ask(1), 1)
    })
  )

  it.effect("The batcher does not ask a database that is away again for each", () =>
    Effect.gen(function* () {
      const { send, begun, open } = yield* gated({
        maxSize: 500,
        answer: () => Effect.die(new StoreUnavailable({ cause: "away" }))
      })
      const fibers = [...(yield* send([1])), ...(yield* send([3, 4, 5]))]
      yield* open
      const exits = yield* Effect.forEach(fibers, Fiber.await)
      assert.isTrue(exits.every(Exit.isFailure))
      assert.deepStrictEqual(begun, [[1], [3, 4, 5]])
    })
  )

  it.effect(
    "The batcher sends no third statement: it fails a request that waits too long for its place",
    () =>
      Effect.gen(function* () {
        const { send, begun, open } = yield* gated({
          maxSize: 500,
          maxBatchWait: "1 millis",
          maxQueueTime: "50 millis"
        })
        const fibers = yield* send([1])
        fibers.push(...(yield* send([2])))
        yield* until(() => begun.length === 2)
        const refused = yield* Effect.forEach(yield* send([3, 4]), Fiber.await)
        for (const exit of refused) {
          assert.lengthOf(Exit.isFailure(exit) ? storeUnavailableIn(exit.cause) : [], 1)
        }
        assert.deepStrictEqual(begun, [[1], [2]])
        yield* open
        assert.deepStrictEqual(yield* answers(fibers), ["answer 1", "answer 2"])
        assert.deepStrictEqual(yield* answers(yield* send([5])), ["answer 5"])
        assert.deepStrictEqual(begun, [[1], [2], [5]])
      })
  )

  it.effect("The batcher answers the others when one of them hangs up", () =>
    Effect.gen(function* () {
      const { send, open } = yield* gated({ maxSize: 500 })
      const [first] = yield* send([1])
      const others = yield* send([2, 3])
      if (first !== undefined) yield* Fiber.interrupt(first)
      yield* open
      assert.deepStrictEqual(yield* answers(others), ["answer 2", "answer 3"])
    })
  )

  it.effect("The batcher serves a caller in a transaction alone, within it", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const ask = yield* RequestBatcher.make({
        run: (items: Arr.NonEmptyReadonlyArray<number>) =>
          sql`select txid_current()::text as id`.values.pipe(
            Effect.orDie,
            Effect.map((rows) => items.map(() => String(rows[0]?.[0])))
          ),
        maxSize: 500
      })
      const [mine, batched] = yield* sql.withTransaction(
        Effect.all([sql`select txid_current()::text as id`.values, ask(1)])
      )
      assert.strictEqual(batched, String(mine[0]?.[0]))
    })
  )
})
