import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { SqlClient } from "effect/sql"
import { BackgroundClient } from "../../src/layers/postgres/BackgroundClient.ts"
import { asOwner, database } from "../support/database.ts"

const ownServer = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql`select pg_backend_pid()`.values
  return Number(row?.[0])
})

layer(database)("A background transaction", (it) => {
  it.effect("A background transaction has all statements within it", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const background = yield* BackgroundClient
      yield* asOwner(
        Effect.andThen(
          sql`create table turns (turn int primary key)`,
          sql`grant select, insert on turns to public`
        )
      )
      const first = yield* background.transaction(
        Effect.andThen(sql`insert into turns values (1)`, ownServer)
      )
      assert.notStrictEqual(first, yield* ownServer)
      const error = yield* background
        .transaction(Effect.andThen(sql`insert into turns values (2)`, Effect.fail("no more")))
        .pipe(Effect.flip)
      assert.strictEqual(error, "no more")
      const both = yield* background.transaction(Effect.all([ownServer, ownServer]))
      assert.deepStrictEqual(both[0], both[1])
      assert.deepStrictEqual(yield* sql`select turn from turns`.values, [[1]])
    })
  )

  it.effect("A background transaction is part of an ordinary one that it is begun within", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const background = yield* BackgroundClient
      const [outer, inner] = yield* sql.withTransaction(
        Effect.all([ownServer, background.transaction(ownServer)])
      )
      assert.deepStrictEqual(inner, outer)
    })
  )

  it.effect("A background transaction leaves the log a connection while others wait for their turn", () =>
    Effect.gen(function* () {
      const { client, transaction } = yield* BackgroundClient
      const entered = yield* Deferred.make<void>()
      const leave = yield* Deferred.make<void>()
      const first = yield* Effect.forkChild(
        transaction(Effect.andThen(Deferred.succeed(entered, undefined), Deferred.await(leave)))
      )
      yield* Deferred.await(entered)
      const second = yield* Effect.forkChild(transaction(ownServer))
      assert.deepStrictEqual(yield* client`select 1 as free`, [{ free: 1 }])
      yield* Deferred.succeed(leave, undefined)
      yield* Effect.all([Fiber.join(first), Fiber.join(second)])
    })
  )
})
