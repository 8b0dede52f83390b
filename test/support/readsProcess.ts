/** What reading long results costs a process, beside the least that any request costs. */
import { assert } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { services } from "../../src/layers/postgres/layer.ts"
import { claimedAgents, freshWeek, newChallenge, plus, predict } from "./builders.ts"
import { freshDatabase, poolOn } from "./database.ts"
import { to } from "./gatewayProcess.ts"
import { logSigner } from "./logSigner.ts"
import { mailbox } from "./mailbox.ts"
import { replicaEnvironment, startAuspex, ticksOfEach, whenReady } from "./process.ts"
import { get } from "./server.ts"
import { settings } from "./settings.ts"

const agents = 100
const reads = 99

/** A challenge that is long over, with the longest reasonings that there are. */
const longAgo = Effect.gen(function* () {
  const challenge = yield* newChallenge({ deadline: plus(yield* freshWeek, "1 hour") })
  const reasoning = "理由".repeat(2000)
  yield* Effect.forEach(yield* claimedAgents(agents), (agent) => predict(agent, challenge, { reasoning }), {
    concurrency: 8,
    discard: true
  })
  return challenge.id
})

export const longResults = Effect.gen(function* () {
  const url = yield* freshDatabase
  const id = yield* longAgo.pipe(
    Effect.provide(
      services.pipe(
        Layer.provideMerge(Layer.mergeAll(poolOn(url), settings(), mailbox, logSigner())),
        Layer.provideMerge(TestClock.layer())
      )
    )
  )
  const auspex = yield* startAuspex({
    environment: replicaEnvironment(url, {
      AUSPEX_ROLES: "api",
      AUSPEX_LIMIT_READS: "1000000/minute",
      AUSPEX_PUBLIC_CACHE: "1 minute"
    })
  })
  yield* whenReady(auspex, "60 seconds")
  const live = get("/health/live").pipe(to(auspex))
  yield* ticksOfEach(auspex, 500, live)
  const least = yield* ticksOfEach(auspex, 500, live)
  const read = Effect.fnUntraced(function* (path: string) {
    const answer = yield* get(path).pipe(to(auspex))
    assert.strictEqual(answer.status, 200)
    assert.isAbove(answer.text.length, 200_000)
  })
  let times = agents
  const another = (path: string) =>
    Effect.suspend(() => {
      times += 1
      return read(`${path}${times}`)
    })
  const results = `/api/v1/eval/challenges/${id}/results`
  const page = `/challenges/${id}`
  const anew = (yield* ticksOfEach(auspex, reads, another(`${results}?limit=`))) / least
  for (const path of [results, page]) {
    yield* read(path)
    for (const [what, request] of [
      ["the same address", read(path)],
      ["?x=N", another(`${path}?x=`)]
    ] as const) {
      const kept = (yield* ticksOfEach(auspex, reads, request)) / least
      // What is left is to send more than a megabyte.
      assert.isBelow(kept, 50, `${path}, ${what}`)
      assert.isBelow(2 * kept, anew, `${path}, ${what}`)
    }
  }
})
