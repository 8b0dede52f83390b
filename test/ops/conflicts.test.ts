/** Deadlocks and serialization failures: PostgreSQL ends one side, which is tried again and nobody hears of it. */
import { assert, layer } from "@effect/vitest"
import { Cause, Deferred, Effect, Exit, Fiber, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { BackgroundClient } from "../../src/layers/postgres/BackgroundClient.ts"
import * as RequestBatcher from "../../src/layers/postgres/RequestBatcher.ts"
import { execute, findAll, findOne, orDie, transaction } from "../../src/layers/postgres/sql.ts"
import { StoreUnavailable } from "../../src/services/domain/errors.ts"
import { times } from "../support/concurrently.ts"
import { asOwner, database } from "../support/database.ts"
import { meeting } from "../support/locking.ts"

const prepared = Layer.effectDiscard(
  asOwner(
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`create table counted (id int primary key, count int not null default 0)`
      yield* sql`insert into counted values (1), (2)`
      yield* sql`create sequence tries`
      // Sequences are not rolled back, so this one counts the attempts.
      yield* sql`
      create function conflict(code text, so_often int) returns int language plpgsql as $$
      begin
        if nextval('tries') <= so_often then raise exception using errcode = code; end if;
        return 1;
      end
      $$`
      yield* sql`
      create function in_turn(first int, second int) returns void language plpgsql as $$
      begin
        update counted set count = count + 1 where id = first;
        update counted set count = count + 1 where id = second;
      end
      $$`
      yield* sql`grant all on counted, tries to public`
    })
  )
)

const counts = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* findAll(Schema.Struct({ count: Schema.Int }))(
    sql`select count from counted order by id`
  )
  return rows.map(({ count }) => count)
})

const fresh = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`update counted set count = 0`
  yield* asOwner(sql`alter sequence tries restart`)
  return sql
})

const bump = (id: number) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* execute(sql`update counted set count = count + 1 where id = ${id}`)
  })

const isUnavailable = (exit: Exit.Exit<unknown, unknown>) =>
  Exit.isFailure(exit) &&
  exit.cause.reasons.some((reason) => Cause.isDieReason(reason) && reason.defect instanceof StoreUnavailable)

layer(prepared.pipe(Layer.provideMerge(database)))("A conflict", (it) => {
  it.effect("A conflict of two transactions that lock rows in opposite orders lets both end well", () =>
    Effect.gen(function* () {
      const sql = yield* fresh
      const [first, second] = yield* Effect.all([Deferred.make<void>(), Deferred.make<void>()])
      let begun = 0
      const side = (
        own: Deferred.Deferred<void>,
        other: Deferred.Deferred<void>,
        order: readonly [number, number]
      ) =>
        transaction(sql)(
          Effect.gen(function* () {
            begun += 1
            yield* bump(order[0])
            yield* Deferred.succeed(own, undefined)
            yield* Deferred.await(other)
            yield* bump(order[1])
          })
        )
      yield* Effect.all([side(first, second, [1, 2]), side(second, first, [2, 1])], { concurrency: 2 })
      assert.deepStrictEqual(yield* counts, [2, 2])
      // The one that begins again may take its row before the other gets it.
      assert.isAtLeast(begun, 3)
    })
  )

  it.effect("A conflict that ends a statement has it run again", () =>
    Effect.gen(function* () {
      const sql = yield* fresh
      const [holding, going] = yield* Effect.all([Deferred.make<void>(), Deferred.make<void>()])
      const holder = yield* Effect.gen(function* () {
        yield* bump(2)
        yield* Deferred.succeed(holding, undefined)
        yield* Deferred.await(going)
        yield* bump(1)
      }).pipe(transaction(sql), Effect.forkChild)
      yield* Deferred.await(holding)
      // This statement waits first, so it is the one that finds the deadlock.
      const statement = yield* meeting(execute(sql`select in_turn(1, 2)`))
      yield* Deferred.succeed(going, undefined)
      yield* Fiber.join(holder)
      yield* Fiber.join(statement)
      assert.deepStrictEqual(yield* counts, [2, 2])
    })
  )

  it.effect.each(["40P01", "40001"])("A statement that fails by %s is tried six times in all", (code) =>
    Effect.gen(function* () {
      const sql = yield* fresh
      const tried = findOne(Schema.Struct({ conflict: Schema.Int }))
      assert.deepStrictEqual(yield* tried(sql`select conflict(${code}, 5)`), { conflict: 1 })
      yield* fresh
      assert.isTrue(isUnavailable(yield* Effect.exit(orDie(sql`select conflict(${code}, 6)`))))
      assert.deepStrictEqual(yield* sql`select last_value::int as tries from tries`, [{ tries: 6 }])
    })
  )

  it.effect("A conflict within a transaction runs that again as a whole, also from a savepoint of it", () =>
    Effect.gen(function* () {
      const sql = yield* fresh
      const nested = transaction(sql)(Effect.andThen(bump(2), execute(sql`select conflict('40P01', 2)`)))
      yield* transaction(sql)(Effect.andThen(bump(1), nested))
      assert.deepStrictEqual(yield* counts, [1, 1])
      yield* fresh
      const inVain = transaction(sql)(Effect.andThen(bump(1), execute(sql`select conflict('40P01', 100)`)))
      assert.isTrue(isUnavailable(yield* Effect.exit(inVain)))
      assert.deepStrictEqual(yield* counts, [0, 0])
      assert.deepStrictEqual(yield* sql`select last_value::int as tries from tries`, [{ tries: 6 }])
    })
  )

  it.effect("A conflict within a long transaction on a connection of its own runs that again, too", () =>
    Effect.gen(function* () {
      const sql = yield* fresh
      const { transaction: long } = yield* BackgroundClient
      yield* long(Effect.andThen(bump(1), execute(sql`select conflict('40P01', 2)`)))
      assert.deepStrictEqual(yield* counts, [1, 0])
    })
  )

  it.effect("A conflict of a batch answers everybody in it", () =>
    Effect.gen(function* () {
      yield* fresh
      const ask = yield* RequestBatcher.make({
        maxSize: 10,
        run: (items: ReadonlyArray<number>, client) =>
          Effect.as(
            execute(client`select conflict('40P01', 2)`),
            items.map((item) => item * 2)
          )
      })
      assert.deepStrictEqual(
        yield* Effect.all(times(30, ask), { concurrency: "unbounded" }),
        times(30, (index) => index * 2)
      )
    })
  )

  it.effect("Other failures than conflicts are left as they are, and not tried again", () =>
    Effect.gen(function* () {
      const sql = yield* fresh
      yield* Effect.exit(orDie(sql`select conflict('23505', 100)`))
      yield* Effect.exit(transaction(sql)(sql`select conflict('55P03', 100)`))
      assert.deepStrictEqual(yield* sql`select last_value::int as tries from tries`, [{ tries: 2 }])
    })
  )
})
