/** A process that is killed at each step of the settlement of one pool. */
import { describe, it } from "@effect/vitest"
import { killedWhileSettling, points } from "../support/poolProcess.ts"

describe("kill -9 of the process that settles a pool", () => {
  it.live(
    "at every step: nothing of it has happened, and the next one does it once",
    () => killedWhileSettling(points),
    120_000
  )
})
