/** A process that is killed within a settlement of a pool; pools.long.test.ts kills it at every step. */
import { describe, it } from "@effect/vitest"
import { killedWhileSettling } from "../support/poolProcess.ts"

describe("kill -9 of the process that settles a pool", () => {
  it.live(
    "while stakes have returned and rewards have not been paid: nothing of it has happened, and the next one does it once",
    () => killedWhileSettling(["pool_rewards"]),
    60_000
  )
})
