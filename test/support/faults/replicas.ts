/** One server and three runners of jobs on one database, each with a network of its own. */
import { join } from "node:path"
import { Clock, Console, Duration, Effect, Random } from "effect"
import { emptyDatabase } from "../database.ts"
import { freePort, replicaEnvironment, temporaryDirectory, whenReady, whenStarted } from "../process.ts"
import { testAdminToken } from "../settings.ts"
import { makeTcpProxy } from "../tcpProxy.ts"
import { fault } from "./campaign.ts"
import { makeQuery } from "./database.ts"
import { room, terminateBackend } from "./oneMachine.ts"
import { keep } from "./processes.ts"
import { wasUndone, withinSettlement } from "./settlement.ts"

export const replicas = Effect.fnUntraced(function* (options: { readonly pause: Duration.Duration }) {
  const database = yield* emptyDatabase
  const instance = Effect.fnUntraced(function* (roles: string) {
    const proxy = yield* makeTcpProxy(database)
    // This keeps its record of the log over its restarts.
    const dataDir = join(yield* temporaryDirectory, "data")
    const environment = replicaEnvironment(proxy.url, {
      ...room,
      AUSPEX_ROLES: roles,
      AUSPEX_DATA_DIR: dataDir
    })
    return { proxy, process: yield* keep({ environment, port: yield* freePort }) }
  })
  const server = yield* instance("api")
  const runners = yield* Effect.forEach(["jobs", "jobs", "jobs"], instance)
  const all = [server, ...runners]
  yield* whenReady(server.process.current(), "60 seconds")
  yield* Effect.forEach(runners, ({ process }) => whenStarted(process.current())).pipe(
    Effect.tapError(() => Console.log(runners.map(({ process }) => process.log()).join("\n---\n")))
  )

  const query = makeQuery(Effect.succeed(database))

  /** Finds a runner within a large settlement. */
  const settlingRunner = Effect.gen(function* () {
    const target = yield* withinSettlement(query)
    const runner = runners.find(({ proxy }) => proxy.owns(target.clientPort))
    return { target, runner }
  })

  const endRunner = (name: "SIGKILL" | "SIGTERM") =>
    Effect.gen(function* () {
      const { target, runner } = yield* settlingRunner
      const at = yield* (runner ?? server).process.end(name)
      return { at, landed: wasUndone(query, target) }
    })

  const cutRunner = Effect.gen(function* () {
    const { target, runner } = yield* settlingRunner
    const at = yield* Clock.currentTimeMillis
    yield* (runner ?? server).proxy.cut
    return { at, landed: wasUndone(query, target) }
  })

  const terminateSettling = Effect.gen(function* () {
    const { target } = yield* settlingRunner
    const at = yield* Clock.currentTimeMillis
    yield* query(terminateBackend(target.pid))
    return { at, landed: wasUndone(query, target) }
  })

  /** The runner holds the lock while it is paused, and continues as if nothing had happened. */
  const pauseRunner = Effect.gen(function* () {
    const { runner } = yield* settlingRunner
    const { signal } = (runner ?? server).process.current()
    yield* signal("SIGSTOP")
    yield* Effect.sleep(options.pause)
    yield* signal("SIGCONT")
    return { at: yield* Clock.currentTimeMillis, landed: Effect.succeed(runner !== undefined) }
  })

  const killServer = Effect.gen(function* () {
    return { at: yield* server.process.end("SIGKILL"), landed: Effect.succeed(true) }
  })

  /** Predictions that the server stamped in time meet a challenge that a runner has closed meanwhile. */
  const pauseServer = Effect.gen(function* () {
    const { signal } = server.process.current()
    yield* signal("SIGSTOP")
    yield* Effect.sleep(options.pause)
    yield* signal("SIGCONT")
    return { at: yield* Clock.currentTimeMillis, landed: Effect.succeed(true) }
  })

  const loseAnswers = Effect.gen(function* () {
    yield* server.proxy.loseAnswers(yield* Random.nextIntBetween(50, 400))
    return { at: yield* Clock.currentTimeMillis, landed: Effect.succeed(true) }
  })

  const silenceServer = Effect.gen(function* () {
    yield* server.proxy.whileSilent(Effect.sleep(options.pause))
    return { at: yield* Clock.currentTimeMillis, landed: Effect.succeed(true) }
  })

  return {
    url: server.process.current().url,
    adminToken: testAdminToken,
    query,
    log: () => all.map(({ process }) => process.log()).join("\n"),
    deaths: Effect.map(
      Effect.forEach(all, ({ process }) => process.deaths),
      (each) => each.flat()
    ),
    faults: [
      fault("kill -9 of a runner within a settlement", endRunner("SIGKILL")),
      fault("runner asked to stop within a settlement", endRunner("SIGTERM")),
      fault("connections of a runner cut within a settlement", cutRunner),
      fault("session of a settlement terminated", terminateSettling),
      fault(`runner paused for ${Duration.format(options.pause)} within a settlement`, pauseRunner),
      fault("kill -9 of the server", killServer),
      fault(`server paused for ${Duration.format(options.pause)}`, pauseServer),
      fault("answers of PostgreSQL lost", loseAnswers),
      fault(`connections of the server silent for ${Duration.format(options.pause)}`, silenceServer)
    ]
  }
})
