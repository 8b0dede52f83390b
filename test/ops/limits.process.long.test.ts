/** Two processes on one database: an agent's limits are counted over both, to the request. */
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Random, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { Registry } from "../../src/services/Registry.ts"
import { allScopes } from "../../src/services/Scopes.ts"
import { Tokens } from "../../src/services/Tokens.ts"
import { AgentId } from "../../src/services/domain/ids.ts"
import { claimedAgent, someOperator } from "../support/agents.ts"
import { forecast, newChallenge, newMacro, predict } from "../support/challenges.ts"
import { fund } from "../support/credit.ts"
import { times } from "../support/concurrently.ts"
import { freshDatabase } from "../support/database.ts"
import { comment, newEvent } from "../support/discussion.ts"
import { readyAuspex, replicaEnvironment } from "../support/process.ts"
import type { Auspex } from "../support/process.ts"
import { servicesOn } from "../support/services.ts"

const unknown = "0190f000-0000-7000-8000-000000000000"

const Refusal = Schema.Struct({ retry_after: Schema.Int })

/** An agent that may do everything, with a token that every replica takes. */
const poster = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { agent_id, client_secret } = yield* Registry.use((registry) =>
    registry.register({ name: "Ada", requested_scopes: allScopes })
  )
  const owner = yield* someOperator
  yield* sql`
    update agents set challenge_passed_at = created_at, claimed_at = created_at, owner_id = ${owner}::uuid,
                      prediction_limit = null
     where id = ${agent_id}::uuid`
  const { access_token } = yield* Tokens.use((tokens) =>
    tokens.issue({ agentId: agent_id, clientSecret: client_secret, address: "192.0.2.1" })
  )
  return { agentId: AgentId.make(agent_id), token: access_token }
})

interface Sent {
  readonly status: number
  readonly retryAfter: string | null
  readonly body: unknown
}

const sent = (auspex: Auspex, token: string, path: string, body?: unknown) =>
  Effect.promise(async (signal): Promise<Sent> => {
    const response = await fetch(`${auspex.url}/api/v1/${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal
    })
    const text = await response.text()
    return {
      status: response.status,
      retryAfter: response.headers.get("retry-after"),
      body: text === "" ? undefined : JSON.parse(text)
    }
  })

/** What there is to write about, and that the agent has already done which its requests presuppose. */
const scene = Effect.gen(function* () {
  const event = yield* newEvent()
  const author = yield* claimedAgent("Bob")
  const { comment_id } = yield* comment(author, event)
  const challenge = yield* newChallenge()
  const pools = yield* Effect.forEach(times(14, String), (period) => newMacro({ period }))
  const prepare = Effect.fnUntraced(function* (agentId: AgentId) {
    yield* predict(agentId, challenge)
    yield* Effect.forEach(pools, (pool) => forecast(agentId, pool))
    yield* fund(`agent:${agentId}`, 1000)
  })
  const stakedOn = (index: number) => `eval/macro/challenges/${pools[index % pools.length]?.id}/stake`
  const always = (path: string) => () => path
  /** What is limited: how many a minute, what is answered, and the requests, each of which is right. */
  const kinds = [
    ["comments", 5, 201, always("agent/comments"), { news_id: event.news_id, content: "What I think." }],
    ["likes", 30, 204, always(`agent/comments/${comment_id}/like`), undefined],
    ["follows", 20, 204, always("agent/follows"), { target_agent_id: author }],
    ["stakes", 5, 201, stakedOn, { predicted_value: 3.1, amount: 50 }],
    [
      "predictions",
      60,
      200,
      always(`eval/challenges/${challenge.id}/predict`),
      { direction: "neutral", confidence: 0.5, is_revision: true }
    ]
  ] as const
  return { kinds, prepare, comment: comment_id }
})

interface Place {
  readonly replicas: readonly [Auspex, Auspex]
  readonly token: string
}

/** A refused request is refused until its Retry-After is over, and is then let through. */
const letThroughAfter = Effect.fnUntraced(function* (again: Effect.Effect<Sent>, seconds: number) {
  assert.isAtMost(seconds, 120)
  // A little before, and a little after.
  yield* Effect.sleep(`${seconds * 1000 - 1100} millis`)
  assert.strictEqual((yield* again).status, 429)
  yield* Effect.sleep("1200 millis")
  assert.notStrictEqual((yield* again).status, 429)
})

/** Of a burst on both processes at once exactly as many are let through as the limit says. */
const burst = Effect.fnUntraced(function* (
  [what, most, status, pathOf, body]: Effect.Success<typeof scene>["kinds"][number],
  { replicas, token }: Place
) {
  const requests = times(most + 9, (index) =>
    sent(replicas[index % 2 === 0 ? 0 : 1], token, pathOf(index), body)
  )
  const answers = yield* Effect.all(requests, { concurrency: "unbounded" })
  const refused = answers.filter((answer) => answer.status === 429)
  assert.lengthOf(refused, 9, what)
  assert.lengthOf(
    answers.filter((answer) => answer.status === status),
    most,
    what
  )
  for (const { body: refusal, retryAfter } of refused) {
    const { retry_after } = yield* Effect.orDie(Schema.decodeUnknownEffect(Refusal)(refusal))
    assert.strictEqual(retryAfter, String(retry_after))
  }
  const [again] = requests
  assert(again !== undefined)
  const last = yield* again
  assert.strictEqual(last.status, 429, what)
  yield* letThroughAfter(again, Number(last.retryAfter))
})

/** Of replies, so many in a window of a second. */
const perSecond = 4

/** Right and wrong replies at random times, each to one of the processes. */
const arrivals = Effect.fnUntraced(function* ({ replicas, token }: Place, comment: string) {
  const arrival = Effect.all({
    isRight: Random.nextBoolean,
    after: Random.nextIntBetween(0, 20_000),
    isFirst: Random.nextBoolean
  })
  const all = yield* Effect.replicateEffect(arrival, 1000).pipe(Random.withSeed("arrivals"))
  return yield* Effect.forEach(
    all,
    Effect.fnUntraced(function* ({ after, isFirst, isRight }) {
      yield* Effect.sleep(after)
      const sentAt = yield* Clock.currentTimeMillis
      const path = `agent/comments/${isRight ? comment : unknown}/replies`
      const { status } = yield* sent(replicas[isFirst ? 0 : 1], token, path, { content: "I disagree." })
      return { isRight, status, sentAt, answeredAt: yield* Clock.currentTimeMillis }
    }),
    { concurrency: "unbounded" }
  )
})

/**
 * Whatever moment between its sending and its answer each was accepted at: there were never more than so many in a second,
 * and of those that are right, none was refused without so many.
 */
const assertExact = (answers: Effect.Success<ReturnType<typeof arrivals>>) => {
  const accepted = answers.filter(({ status }) => status === 201)
  for (const { sentAt } of accepted) {
    const within = accepted.filter((each) => each.sentAt >= sentAt && each.answeredAt < sentAt + 1000)
    assert.isAtMost(within.length, perSecond)
  }
  const right = answers.filter(({ isRight }) => isRight)
  for (const { answeredAt, sentAt } of right.filter(({ status }) => status === 429)) {
    const near = accepted.filter((each) => each.sentAt <= answeredAt && each.answeredAt > sentAt - 1000)
    assert.isAtLeast(near.length, perSecond)
  }
  assert.deepStrictEqual([...new Set(right.map(({ status }) => status))].sort(), [201, 429])
}

const onTwo = Effect.gen(function* () {
  const url = yield* freshDatabase
  yield* Effect.gen(function* () {
    const { comment, kinds, prepare } = yield* scene
    const environment = replicaEnvironment(url, {
      AUSPEX_ROLES: "api",
      AUSPEX_LIMIT_REPLIES: `${perSecond}/second`,
      AUSPEX_LIMIT_REFUSED_WRITES: "10000/minute"
    })
    const replicas = yield* Effect.all([readyAuspex({ environment }), readyAuspex({ environment })], {
      concurrency: 2
    })
    const bursts = Effect.forEach(
      kinds,
      Effect.fnUntraced(function* (kind) {
        const { agentId, token } = yield* poster
        yield* prepare(agentId)
        yield* burst(kind, { replicas, token })
      }),
      { concurrency: "unbounded", discard: true }
    )
    yield* bursts
    const { token } = yield* poster
    assertExact(yield* arrivals({ replicas, token }, comment))
  }).pipe(Effect.provide(servicesOn(url)))
})

describe("The limits of what agents do", () => {
  it.live(
    "are hit exactly on two server processes, in a burst and at random times, with Retry-After right to the second",
    () => onTwo.pipe(Effect.provide(NodeServices.layer))
  )
})
