/** One Auspex with its embedded PostgreSQL, and the faults that can strike it. */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { Clock, Duration, Effect, Exit, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { findAll } from "../../../src/layers/postgres/sql.ts"
import { embeddedUrl, freePort, isAlive, postmasterOf, temporaryData, until, whenReady } from "../process.ts"
import { testAdminToken } from "../settings.ts"
import { fault } from "./campaign.ts"
import { makeQuery } from "./database.ts"
import { keep } from "./processes.ts"
import { wasUndone, withinSettlement } from "./settlement.ts"

/** Limits leave room, since these tests are not about them. */
export const room = {
  AUSPEX_JOB_INTERVAL: "250 millis",
  AUSPEX_LIMIT_PREDICTIONS: "1000000/minute",
  AUSPEX_LIMIT_TOKENS: "1000000/minute",
  AUSPEX_LIMIT_REGISTRATIONS: "1000000/minute",
  AUSPEX_LIMIT_READS: "1000000/minute"
}

const Terminated = Schema.Struct({ pid: Schema.Int })

/**
 * Ends some sessions of the service, busy ones first, at a moment when one is busy; returns true if there was one. On a fast disk
 * such moments are short.
 */
export const terminateBackends = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* findAll(Terminated)(sql`
    with sessions as materialized (
      select pid, state = 'active' as busy from pg_stat_activity
       where datname = current_database() and application_name like 'auspex/%'),
    chosen as materialized (
      select pid from sessions where (select bool_or(busy) from sessions) order by busy desc, random() limit 4)
    select pid from chosen where pg_terminate_backend(pid)`)
  return rows.length > 0
})

export const terminateBackend = Effect.fnUntraced(function* (pid: number) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`select pg_terminate_backend(${pid}::int)`
})

export const oneMachine = Effect.fnUntraced(function* (options: { readonly pause: Duration.Duration }) {
  const dataDir = yield* temporaryData
  const environment = { ...room, AUSPEX_DATA_DIR: dataDir, AUSPEX_ADMIN_TOKEN: testAdminToken }
  const server = yield* keep({ environment, port: yield* freePort })
  yield* whenReady(server.current(), "60 seconds")

  // The embedded server has another port after every start of the program.
  const query = makeQuery(Effect.provide(embeddedUrl(dataDir), NodeFileSystem.layer))

  const postmaster = Effect.provide(postmasterOf(dataDir), NodeFileSystem.layer)

  const killServer = Effect.gen(function* () {
    const at = yield* server.end("SIGKILL")
    return { at, landed: Effect.succeed(true) }
  })

  const killInSettlement = Effect.gen(function* () {
    const target = yield* withinSettlement(query)
    const at = yield* server.end("SIGKILL")
    return { at, landed: wasUndone(query, target) }
  })

  const killPostgres = Effect.gen(function* () {
    const { pid } = yield* Effect.fromOption(yield* postmaster)
    yield* Effect.sync(() => process.kill(pid, "SIGKILL"))
    yield* until(
      "the postmaster is gone",
      Effect.map(isAlive(pid), (alive) => !alive)
    )
    const at = yield* Clock.currentTimeMillis
    const restarted = Effect.map(postmaster, (noted) => Option.exists(noted, (each) => each.pid !== pid))
    return { at, landed: Effect.as(until("another postmaster", restarted), true) }
  })

  const terminate = Effect.gen(function* () {
    const busy = yield* Effect.exit(until("a busy session", query(terminateBackends), "10 seconds"))
    return { at: yield* Clock.currentTimeMillis, landed: Effect.succeed(Exit.isSuccess(busy)) }
  })

  const pause = Effect.gen(function* () {
    const { signal } = server.current()
    yield* signal("SIGSTOP")
    yield* Effect.sleep(options.pause)
    yield* signal("SIGCONT")
    return { at: yield* Clock.currentTimeMillis, landed: Effect.succeed(true) }
  })

  return {
    url: server.current().url,
    adminToken: testAdminToken,
    query,
    log: server.log,
    deaths: server.deaths,
    faults: [
      fault("kill -9 of the server", killServer),
      fault("kill -9 of the server within a settlement", killInSettlement),
      fault("kill -9 of PostgreSQL", killPostgres),
      fault("sessions terminated", terminate),
      fault(`paused for ${Duration.format(options.pause)}`, pause)
    ]
  }
})
