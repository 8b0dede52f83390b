/** Readers that ask for a stream and never read it. */
import { connect } from "node:net"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Console, Effect } from "effect"
import { emptyDatabase } from "../support/database.ts"
import { freePort, readyAuspex, replicaEnvironment, to, until, usedBy } from "../support/process.ts"
import { post } from "../support/server.ts"
import { testAdminToken } from "../support/settings.ts"

const readers = 50

describe("Readers that take nothing", () => {
  it.live("Readers that take nothing are dropped, cost little memory, and free their places", () =>
    Effect.gen(function* () {
      const operations = yield* freePort
      const auspex = yield* readyAuspex({
        environment: replicaEnvironment(yield* emptyDatabase, { AUSPEX_OPS_PORT: String(operations) })
      })
      const waiting = Effect.promise(async () => {
        const text = await (await fetch(`http://127.0.0.1:${operations}/metrics`)).text()
        return Number(/^auspex_notices_waiting_readers(?:{.*})? (\d+)/m.exec(text)?.[1])
      })
      yield* Effect.forEach(Array.from({ length: readers }), (_, index) =>
        Effect.acquireRelease(
          Effect.sync(() => {
            // An address may have twenty waiting readers.
            const localAddress = `127.0.0.${2 + Math.floor(index / 20)}`
            const socket = connect({ port: auspex.port, host: "127.0.0.1", localAddress }, () => {
              // The socket is never read from.
              socket.pause()
              socket.write("GET /api/v1/public/notices/stream HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            })
            return socket.on("error", () => {})
          }),
          (socket) => Effect.sync(() => socket.destroy())
        )
      )
      yield* until(
        "all of them wait",
        Effect.map(waiting, (count) => count === readers)
      )
      const before = yield* usedBy(auspex)
      // About 13 MB for each reader, more than the kernel keeps for it.
      const events = Array.from({ length: 500 }, () => ({ title: "\u{1f642}".repeat(500) }))
      yield* Effect.replicateEffect(
        to(auspex)(post("/api/v1/admin/events", { token: testAdminToken, json: { events } })),
        12
      )
      const began = yield* Clock.currentTimeMillis
      yield* until(
        "their places are free",
        Effect.map(waiting, (count) => count === 0)
      )
      const took = (yield* Clock.currentTimeMillis) - began
      const grown = (yield* usedBy(auspex)).memory - before.memory
      yield* Console.log(
        `dropped within ${took} ms; ${Math.round(grown / 1e6)} MB more for ${readers} readers`
      )
      assert.isAtLeast(took, 20_000)
      assert.isAtMost(took, 100_000)
      // All of them would have been sent 650 MB.
      assert.isBelow(grown, 300e6)
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )
})
