/** Batching: no wait for a lone request, one statement for those that arrive meanwhile, and an answer for each. */
import { setImmediate, setTimeout } from "node:timers/promises"
import { assert, layer } from "@effect/vitest"
import { Array as Arr, Deferred, Effect, Exit, Fiber } from "effect"
import { SqlClient } from "effect/sql"
import * as naturalBatch from "../../src/layers/postgres/naturalBatch.ts"
import { StoreUnavailable } from "../../src/services/errors.ts"
import { database } from "../support/database.ts"

/** Longer than any test. */
const forever = 600_000

/** Batches that each wait until they are let go, in the order in which they began. */
const gated = Effect.fnUntraced(function* (options: {
  readonly largest: number
  readonly exclusive?: (item: number) => string
  readonly accompanied?: number
  readonly patience?: number
  readonly answer?: (items: ReadonlyArray<number>) => Effect.Effect<ReadonlyArray<string>>
}) {
  const begun: Array<ReadonlyArray<number>> = []
  const gate = yield* Deferred.make<void>()
  const ask = yield* naturalBatch.make({
    run: (items: Arr.NonEmptyReadonlyArray<number>) =>
      Effect.gen(function* () {
        begun.push(items)
        yield* Deferred.await(gate)
        return yield* options.answer?.(items) ?? Effect.succeed(items.map((item) => `answer ${item}`))
      }),
    largest: options.largest,
    patience: options.patience ?? forever,
    ...(options.accompanied !== undefined && { accompanied: options.accompanied }),
    ...(options.exclusive !== undefined && { exclusive: options.exclusive })
  })
  const asked = Effect.fnUntraced(function* (items: ReadonlyArray<number>) {
    const fibers = yield* Effect.forEach(items, (item) => Effect.forkChild(ask(item)))
    yield* Effect.yieldNow.pipe(Effect.repeat({ times: 10 }))
    return fibers
  })
  return { asked, begun, open: Deferred.succeed(gate, undefined) }
})

/** Real time, for a statement takes no other. */
const waited = (isSo: () => boolean) =>
  Effect.promise(() => setTimeout(5)).pipe(Effect.repeat({ until: isSo, times: 400 }))

const answers = <A>(fibers: ReadonlyArray<Fiber.Fiber<A>>) => Effect.forEach(fibers, Fiber.join)

layer(database)("natural batching", (it) => {
  it.effect(
    "a lone request starts at once, and the next beside it; those that arrive meanwhile go together",
    () =>
      Effect.gen(function* () {
        const { asked, begun, open } = yield* gated({ largest: 500 })
        const first = yield* asked([1])
        assert.deepStrictEqual(begun, [[1]])
        const second = yield* asked([2])
        assert.deepStrictEqual(begun, [[1], [2]])
        const rest = [...(yield* asked([3])), ...(yield* asked([4, 5]))]
        assert.deepStrictEqual(begun, [[1], [2]])
        yield* open
        assert.deepStrictEqual(
          yield* answers([...first, ...second, ...rest]),
          [1, 2, 3, 4, 5].map((item) => `answer ${item}`)
        )
        assert.deepStrictEqual(begun, [[1], [2], [3, 4, 5]])
      })
  )

  it.effect(
    "where a lone request is not accompanied, those that arrive meanwhile wait for its statement",
    () =>
      Effect.gen(function* () {
        const { asked, begun, open } = yield* gated({ largest: 500, accompanied: 0 })
        const fibers = [...(yield* asked([1])), ...(yield* asked([2])), ...(yield* asked([3, 4]))]
        assert.deepStrictEqual(begun, [[1]])
        yield* open
        yield* answers(fibers)
        assert.deepStrictEqual(begun, [[1], [2, 3, 4]])
      })
  )

  it.effect("beside a statement for several that takes long there is a second one, but never a third", () =>
    Effect.gen(function* () {
      const { asked, begun, open } = yield* gated({ largest: 500, patience: 100 })
      const fibers = [...(yield* asked([1, 2])), ...(yield* asked([3])), ...(yield* asked([4]))]
      assert.deepStrictEqual(begun, [[1, 2]])
      yield* waited(() => begun.length === 2)
      assert.deepStrictEqual(begun, [
        [1, 2],
        [3, 4]
      ])
      fibers.push(...(yield* asked([5])))
      yield* Effect.promise(() => setTimeout(150))
      assert.strictEqual(begun.length, 2)
      yield* open
      yield* answers(fibers)
      assert.deepStrictEqual(begun, [[1, 2], [3, 4], [5]])
    })
  )

  it.effect("while one statement takes long, the others go one after the other, each as soon as it may", () =>
    Effect.gen(function* () {
      const begun: Array<ReadonlyArray<number>> = []
      const gates = [yield* Deferred.make<void>(), yield* Deferred.make<void>()] as const
      const patience = 150
      const ask = yield* naturalBatch.make({
        run: (items: Arr.NonEmptyReadonlyArray<number>) => {
          begun.push(items)
          const gate = gates[items[0]]
          return Effect.as(gate === undefined ? Effect.void : Deferred.await(gate), items)
        },
        largest: 500,
        patience
      })
      const asked = Effect.fnUntraced(function* (items: ReadonlyArray<number>) {
        const fibers = yield* Effect.forEach(items, (item) => Effect.forkChild(ask(item)))
        yield* Effect.yieldNow.pipe(Effect.repeat({ times: 10 }))
        return fibers
      })
      const fibers = [...(yield* asked([0, 10])), ...(yield* asked([1, 11]))]
      yield* waited(() => begun.length === 2)
      // They lose their patience while both are busy, and wait no longer than until one of them is not.
      fibers.push(...(yield* asked([2, 12])))
      yield* Effect.promise(() => setTimeout(patience + 50))
      const before = [
        [0, 10],
        [1, 11]
      ]
      assert.deepStrictEqual(begun, before)
      yield* Deferred.succeed(gates[1], undefined)
      yield* Effect.yieldNow.pipe(Effect.repeat({ times: 10 }))
      assert.deepStrictEqual(begun, [...before, [2, 12]])
      yield* Deferred.succeed(gates[0], undefined)
      assert.deepStrictEqual(yield* answers(fibers), [0, 10, 1, 11, 2, 12])
    })
  )

  it.effect(
    "callers that ask again soon share the next statement: a second one goes beside a lone request only",
    () =>
      Effect.gen(function* () {
        let [underWay, statements] = [0, 0]
        const beside: Array<number> = []
        const ask = yield* naturalBatch.make({
          run: (items: Arr.NonEmptyReadonlyArray<number>) =>
            Effect.promise(async () => {
              statements += 1
              if (underWay > 1) beside.push(underWay)
              underWay += items.length
              await setTimeout(1)
              underWay -= items.length
              return items
            }),
          largest: 500,
          patience: forever
        })
        const run = Effect.runPromiseWith(yield* Effect.context<never>())
        const [callers, times] = [32, 150]
        const caller = async (which: number) => {
          for (let time = 0; time < times; time++) {
            await run(ask(which))
            if ((which + time) % 3 === 0) await setImmediate()
            else if ((which + time) % 3 === 1) await setTimeout(time % 4)
          }
        }
        yield* Effect.promise(() => Promise.all(Arr.range(1, callers).map(caller)))
        assert.deepStrictEqual(beside, [])
        assert.isBelow(statements, (callers * times) / 2)
      })
  )

  it.effect("what does not fit into a batch does not wait for it", () =>
    Effect.gen(function* () {
      const { asked, begun, open } = yield* gated({ largest: 2 })
      const fibers = yield* asked([1, 2, 3, 4])
      assert.deepStrictEqual(begun, [
        [1, 2],
        [3, 4]
      ])
      yield* open
      yield* answers(fibers)
    })
  )

  it.effect("a batch is no larger than it may be", () =>
    Effect.gen(function* () {
      const { asked, begun, open } = yield* gated({ largest: 2 })
      const fibers = [...(yield* asked([1])), ...(yield* asked([2])), ...(yield* asked([3, 4, 5, 6, 7]))]
      yield* open
      yield* answers(fibers)
      assert.isAtMost(Math.max(...begun.map((batch) => batch.length)), 2)
      assert.deepStrictEqual(begun.flat().sort(), [1, 2, 3, 4, 5, 6, 7])
    })
  )

  it.effect("items of one key never share a batch, and each is answered", () =>
    Effect.gen(function* () {
      const { asked, begun, open } = yield* gated({ largest: 500, exclusive: (item) => String(item % 2) })
      const fibers = [...(yield* asked([0])), ...(yield* asked([1])), ...(yield* asked([2, 3, 4, 5, 6]))]
      yield* open
      assert.strictEqual((yield* answers(fibers)).length, 7)
      for (const batch of begun) {
        assert.strictEqual(new Set(batch.map((item) => item % 2)).size, batch.length)
      }
    })
  )

  it.effect("what fails in company is tried alone, and fails nobody else", () =>
    Effect.gen(function* () {
      const { asked, begun, open } = yield* gated({
        largest: 500,
        answer: (items) =>
          items.includes(4) ? Effect.die("four") : Effect.succeed(items.map((item) => `answer ${item}`))
      })
      const fibers = [...(yield* asked([1])), ...(yield* asked([3, 4, 5]))]
      yield* open
      const exits = yield* Effect.forEach(fibers, Fiber.await)
      assert.deepStrictEqual(exits.map(Exit.isSuccess), [true, true, false, true])
      assert.deepStrictEqual(begun, [[1], [3, 4, 5], [3], [4], [5]])
    })
  )

  it.effect("what throws before it is an effect fails its own caller, and batches go on", () =>
    Effect.gen(function* () {
      const ask = yield* naturalBatch.make({
        run: (items: Arr.NonEmptyReadonlyArray<number>) => {
          if (items.includes(0)) throw new Error("nought")
          return Effect.succeed(items)
        },
        largest: 500
      })
      for (let turn = 0; turn < 3; turn++) assert.isTrue(Exit.isFailure(yield* Effect.exit(ask(0))))
      assert.strictEqual(yield* ask(1), 1)
    })
  )

  it.effect("a database that is away is not asked again for each", () =>
    Effect.gen(function* () {
      const { asked, begun, open } = yield* gated({
        largest: 500,
        answer: () => Effect.die(new StoreUnavailable({ cause: "away" }))
      })
      const fibers = [...(yield* asked([1])), ...(yield* asked([3, 4, 5]))]
      yield* open
      const exits = yield* Effect.forEach(fibers, Fiber.await)
      assert.isTrue(exits.every(Exit.isFailure))
      assert.deepStrictEqual(begun, [[1], [3, 4, 5]])
    })
  )

  it.effect("who hangs up while waiting takes nobody's answer away", () =>
    Effect.gen(function* () {
      const { asked, open } = yield* gated({ largest: 500 })
      const [first] = yield* asked([1])
      const others = yield* asked([2, 3])
      if (first !== undefined) yield* Fiber.interrupt(first)
      yield* open
      assert.deepStrictEqual(yield* answers(others), ["answer 2", "answer 3"])
    })
  )

  it.effect("a caller in a transaction is served alone, within it", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const ask = yield* naturalBatch.make({
        run: (items: Arr.NonEmptyReadonlyArray<number>) =>
          sql`select txid_current()::text as id`.values.pipe(
            Effect.orDie,
            Effect.map((rows) => items.map(() => String(rows[0]?.[0])))
          ),
        largest: 500
      })
      const [mine, batched] = yield* sql.withTransaction(
        Effect.all([sql`select txid_current()::text as id`.values, ask(1)])
      )
      assert.strictEqual(batched, String(mine[0]?.[0]))
    })
  )

  it.effect("without batches, what arrives together is on its way over a few connections", () =>
    Effect.gen(function* () {
      const ask = yield* naturalBatch.make({
        run: (items: Arr.NonEmptyReadonlyArray<number>, sql) =>
          sql`select ${items[0]}::int as item, pg_backend_pid() as session`.values.pipe(Effect.orDie),
        largest: 1
      })
      const asked = Arr.range(1, 64)
      const answers = yield* Effect.forEach(asked, ask, { concurrency: "unbounded" })
      assert.deepStrictEqual(
        answers.map(([item]) => item),
        asked
      )
      assert.isAtMost(new Set(answers.map(([, session]) => session)).size, 8)
    })
  )
})
