/** Connections that fall silent: no reset, no end, no answer. The limits are those of production, shortened. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Exit, Fiber, Layer, Redacted, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { BackgroundClient } from "../../src/layers/postgres/BackgroundClient.ts"
import * as Database from "../../src/layers/postgres/Database.ts"
import { ConnectionWait } from "../../src/layers/postgres/PooledClient.ts"
import { orDie, transaction, withStatementTimeout } from "../../src/layers/postgres/sql.ts"
import { storeUnavailableIn } from "../../src/services/domain/errors.ts"
import { times } from "../support/concurrently.ts"
import { freshDatabase } from "../support/database.ts"
import { often } from "../support/process.ts"
import { metrics } from "../support/server.ts"
import { makeTcpProxy } from "../support/tcpProxy.ts"

const limits = { statementTimeout: Duration.millis(250), maxWait: Duration.seconds(2) }

const impatient = (url: Redacted.Redacted) => {
  const patient = new URL(Redacted.value(url))
  patient.searchParams.set("connect_timeout", "1")
  return Redacted.make(patient.href)
}

const assertUnavailable = (exit: Exit.Exit<unknown>) =>
  assert.lengthOf(Exit.isFailure(exit) ? storeUnavailableIn(exit.cause) : [], 1, String(exit))

/** A time beyond any limit, on the busiest machine. */
const inTime = Effect.timeout("2 minutes")

const statement = Effect.flatMap(SqlClient.SqlClient, (sql) => orDie(sql`select 1 as one`))

const works = inTime(Effect.repeat(Effect.exit(statement), { until: Exit.isSuccess }))

const together = <A, E, R>(count: number, effect: Effect.Effect<A, E, R>) =>
  Effect.all(
    times(count, () => effect),
    { concurrency: "unbounded" }
  )

describe.concurrent("Connections that fall silent", () => {
  it.live("Silent connections end with their statements, transactions and background work", () =>
    Effect.gen(function* () {
      const { url, whileSilent } = yield* makeTcpProxy(yield* freshDatabase)
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const background = yield* BackgroundClient
        const once = orDie(background.client`select 1`)
        yield* Effect.all([together(6, statement), once])
        const waiting = yield* whileSilent(
          Effect.forEach(
            [
              statement,
              transaction(sql)(statement),
              once,
              background.transaction(statement),
              withStatementTimeout(sql, Duration.minutes(15))(statement)
            ],
            (each) => Effect.forkChild(Effect.exit(each))
          ).pipe(Effect.tap(Effect.forEach((fiber) => inTime(Fiber.join(fiber)))))
        )
        for (const fiber of waiting) assertUnavailable(yield* Fiber.join(fiber))
        assert.match(yield* metrics, /^auspex_database_silent_connections_total{pool="requests"} [1-9]/m)
        // A connection that was begun meanwhile does not come about; of the older ones nothing is left to be met.
        yield* works
        yield* inTime(together(8, statement))
        yield* inTime(Effect.all([once, background.transaction(statement)]))
      }).pipe(Effect.provide(Database.client(impatient(url), limits)))
    })
  )

  it.live("A new connection that does not come about is waited for as long as one in use", () =>
    Effect.gen(function* () {
      const { url, whileSilent } = yield* makeTcpProxy(yield* freshDatabase)
      yield* Effect.gen(function* () {
        yield* statement
        yield* whileSilent(
          Effect.gen(function* () {
            const exits = yield* inTime(together(40, Effect.exit(statement)))
            exits.forEach(assertUnavailable)
            assertUnavailable(yield* inTime(Effect.exit(statement)))
          })
        )
        yield* works
        yield* inTime(together(8, statement))
      }).pipe(Effect.provide(Database.client(impatient(url), limits)))
    })
  )

  it.live("Silent connections hold up neither a caller that hangs up nor the end of the pool", () =>
    Effect.gen(function* () {
      const { url, whileSilent } = yield* makeTcpProxy(yield* freshDatabase)
      const pool = yield* Scope.make()
      const context = yield* Layer.buildWithScope(Database.client(url, limits), pool)
      yield* Effect.provide(together(2, statement), context)
      yield* whileSilent(
        Effect.gen(function* () {
          const statements = yield* Effect.forEach([1, 2], () =>
            Effect.forkChild(Effect.provide(statement, context), { startImmediately: true })
          )
          yield* inTime(Fiber.interruptAll(statements.slice(1)))
          yield* inTime(Scope.close(pool, Exit.void))
          yield* inTime(Fiber.await(statements[0] ?? assert.fail("no statement")))
        })
      )
    })
  )
})

describe.concurrent("A statement", () => {
  it.live("A statement waits for a connection in use for a limited time, and has one once it is free", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const held = yield* Deferred.make<void>()
        const holding = yield* Effect.forkChild(
          transaction(sql)(Effect.andThen(Deferred.succeed(held, undefined), Effect.never)).pipe(
            Effect.provideService(ConnectionWait, Duration.seconds(20))
          )
        )
        yield* Deferred.await(held)
        const exits = yield* inTime(together(5, Effect.exit(statement)))
        exits.forEach(assertUnavailable)
        assert.match(yield* metrics, /^auspex_database_waits_refused_total{pool="requests"} [1-9]/m)
        yield* Fiber.interrupt(holding)
        yield* works
      }).pipe(Effect.provide(Database.client(url, { maxWait: Duration.millis(200), connections: 1 })))
    })
  )

  it.live("A statement that may take longer on the server may take longer here", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const slow = orDie(sql`select pg_sleep(1.6)`)
        const usual = yield* Effect.exit(slow)
        assertUnavailable(usual)
        yield* transaction(sql)(withStatementTimeout(sql, Duration.seconds(20))(slow))
        // The wait is seen meanwhile.
        const longer = transaction(sql)(
          withStatementTimeout(sql, Duration.minutes(1))(orDie(sql`select pg_sleep(60)`))
        )
        const fiber = yield* Effect.forkChild(longer)
        yield* inTime(
          Effect.repeat(metrics, {
            until: (text) =>
              /^auspex_database_oldest_statement_seconds{pool="requests"} [0-9.]*[1-9]/m.test(text) &&
              /^auspex_database_connections_in_use{pool="requests"} [1-9]/m.test(text),
            schedule: often
          })
        )
        yield* Fiber.interrupt(fiber)
      }).pipe(Effect.provide(Database.client(url, limits)))
    })
  )
})
