/** Keeps the server running on one port: whenever it dies, it is started again. */
import { createServer } from "node:net"
import { Clock, Deferred, Duration, Effect, MutableRef } from "effect"
import type { PlatformError } from "effect"
import type { Cluster } from "./Cluster.ts"
import { EmbeddedPostgresError } from "./EmbeddedPostgresError.ts"
import * as Postmaster from "./Postmaster.ts"

/** The first restart is immediate; a server that keeps dying is given ever more time, up to the longest pause. */
const firstPause = Duration.millis(100)
const maxPause = Duration.seconds(10)

/** One that has run this long was well, so its death counts as the first. */
const healthyAfter = Duration.seconds(30)

const freePort = Effect.callback<number, EmbeddedPostgresError>((resume) => {
  const server = createServer()
  server.on("error", (cause) =>
    resume(
      Effect.fail(
        new EmbeddedPostgresError({ message: `Cannot listen on 127.0.0.1: ${cause.message}`, cause })
      )
    )
  )
  server.listen(0, "127.0.0.1", () => {
    const address = server.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    server.close(() => resume(Effect.succeed(port)))
  })
})

/** Succeeds when the server is ready for the first time; the scope stops it. */
export const supervise = Effect.fn("Supervisor.supervise")(function* (
  cluster: Cluster,
  settings: Readonly<Record<string, string>>
) {
  const ready = yield* Deferred.make<number, EmbeddedPostgresError | PlatformError.PlatformError>()
  const pid = MutableRef.make(0)

  /** From one start to the death that follows. */
  const life = Effect.fnUntraced(function* (port: number) {
    const postmaster = yield* Postmaster.start(cluster, port, settings)
    MutableRef.set(pid, postmaster.pid)
    yield* Deferred.succeed(ready, port)
    return yield* postmaster.exited
  }, Effect.scoped)

  const firstLife = freePort.pipe(
    Effect.flatMap(life),
    Effect.retry({ times: 5, while: (error) => error._tag === "PortTaken" })
  )

  const restartForever = Effect.fnUntraced(function* (port: number, firstDeath: string) {
    let death = firstDeath
    let pause = firstPause
    while (true) {
      yield* Effect.logWarning(
        `PostgreSQL ended unexpectedly (${death}); starting it again in ${Duration.format(pause)}`
      )
      yield* Effect.sleep(pause)
      const startedAt = yield* Clock.currentTimeMillis
      death = yield* life(port).pipe(
        Effect.catchTag("PortTaken", () => Effect.succeed(`port ${port} is taken`)),
        Effect.catch((error) => Effect.succeed(error.message)),
        Effect.catchDefect((defect) => Effect.succeed(String(defect)))
      )
      const lived = Duration.millis((yield* Clock.currentTimeMillis) - startedAt)
      pause = Duration.isGreaterThan(lived, healthyAfter)
        ? firstPause
        : Duration.min(Duration.times(pause, 2), maxPause)
    }
  })

  yield* Effect.gen(function* () {
    const death = yield* firstLife
    return yield* restartForever(yield* Deferred.await(ready), death)
  }).pipe(
    Effect.catchTag("PortTaken", ({ port }) =>
      Effect.fail(
        new EmbeddedPostgresError({
          message: `Found no free port on 127.0.0.1; the last one tried was ${port}.`
        })
      )
    ),
    Effect.catchCause((cause) => Deferred.failCause(ready, cause)),
    Effect.forkScoped
  )
  return { port: yield* Deferred.await(ready), pid: () => MutableRef.get(pid) }
})
