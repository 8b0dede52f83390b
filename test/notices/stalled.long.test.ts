/** Readers that ask for a stream and never read it. */
import { connect } from "node:net"
import { assert, layer } from "@effect/vitest"
import { Clock, Console, Effect } from "effect"
import { Events } from "../../src/services/Events.ts"
import { Notices } from "../../src/services/Notices.ts"
import { until } from "../support/process.ts"
import { metrics, testServer, TestServer } from "../support/server.ts"

const readers = 50
const path = "/api/v1/public/notices/stream"

const server = testServer({ environment: { AUSPEX_MAX_WAITING_READERS: String(readers) } })

layer(server, { excludeTestServices: true })("Readers that take nothing", (it) => {
  it.effect("are dropped, cost little memory meanwhile, and their places are free again", () =>
    Effect.gen(function* () {
      yield* Effect.forkScoped(Notices.use(({ watch }) => watch))
      const { port } = yield* TestServer
      const sockets = yield* Effect.forEach(Array.from({ length: readers }), () =>
        Effect.acquireRelease(
          Effect.sync(() => {
            const socket = connect(port, "127.0.0.1", () => {
              // Never read from.
              socket.pause()
              socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`)
            })
            return socket.on("error", () => {})
          }),
          (socket) => Effect.sync(() => socket.destroy())
        )
      )
      const waiting = Effect.map(metrics, (text) =>
        Number(/^auspex_notices_waiting_readers(?:{.*})? (\d+)/m.exec(text)?.[1])
      )
      yield* until(
        "every place is taken",
        Effect.map(waiting, (count) => count === readers)
      )
      const events = yield* Events
      const title = "\u{1f642}".repeat(500)
      const before = process.memoryUsage().rss
      // About 13 MB for each reader, more than the kernel keeps for it.
      for (let batch = 0; batch < 12; batch++) {
        yield* events.importAll(Array.from({ length: 500 }, () => ({ title })))
      }
      const began = yield* Clock.currentTimeMillis
      yield* until(
        "their places are free",
        Effect.map(waiting, (count) => count === 0)
      )
      const took = (yield* Clock.currentTimeMillis) - began
      const grown = process.memoryUsage().rss - before
      yield* Console.log(
        `dropped within ${took} ms; ${Math.round(grown / 1e6)} MB more for ${sockets.length} readers`
      )
      assert.isAtLeast(took, 20_000)
      assert.isAtMost(took, 100_000)
      // They would have been sent 700 MB.
      assert.isBelow(grown, 350e6)
    })
  )
})
