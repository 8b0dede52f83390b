/** The cost of reading long results to a process, beside the least that any request costs. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { claimedAgents } from "../support/agents.ts"
import { freshWeek, newChallenge, plus, predict } from "../support/challenges.ts"
import { freshDatabase } from "../support/database.ts"
import { replicaEnvironment, startAuspex, ticksOfEach, to, whenReady } from "../support/process.ts"
import { get } from "../support/server.ts"
import { servicesOn } from "../support/services.ts"

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

const longResults = Effect.gen(function* () {
  const url = yield* freshDatabase
  const id = yield* longAgo.pipe(Effect.provide(servicesOn(url).pipe(Layer.provideMerge(TestClock.layer()))))
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
  // Pages ignore a campaign's additions to their address; the API refuses them.
  const refused = Effect.map(get(`${results}?x=1`).pipe(to(auspex)), ({ status }) =>
    assert.strictEqual(status, 400)
  )
  for (const [path, added] of [
    [results, refused],
    [page, another(`${page}?utm_source=`)]
  ] as const) {
    yield* read(path)
    for (const [what, request] of [
      ["the same address", read(path)],
      ["with something added", added]
    ] as const) {
      const kept = (yield* ticksOfEach(auspex, reads, request)) / least
      // The rest of the cost is to send more than a megabyte.
      assert.isBelow(kept, 50, `${path}, ${what}`)
      assert.isBelow(2 * kept, anew, `${path}, ${what}`)
    }
  }
})

describe("A process that is read by everybody", () => {
  it.live.skipIf(process.platform !== "linux")(
    "A process makes long results once for all who ask, whatever is added to their address",
    () => longResults.pipe(Effect.provide(NodeServices.layer))
  )
})
