/** Two processes on one database count an agent's limits over both, to the request. */
import * as NodeServices from "@effect/platform-node/NodeServices"
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

/** Things to write about, and the agent's earlier acts that its requests presuppose. */
const scene = Effect.gen(function* () {
  const event = yield* newEvent()
  const author = yield* claimedAgent("Bob")
  const { comment_id } = yield* comment(author, event)
  // Each challenge takes fewer revisions than a minute's limit of predictions.
  const challenges = yield* Effect.all([newChallenge(), newChallenge()])
  const pools = yield* Effect.forEach(times(14, String), (period) => newMacro({ period }))
  const prepare = Effect.fnUntraced(function* (agentId: AgentId) {
    yield* Effect.forEach(challenges, (challenge) => predict(agentId, challenge))
    yield* Effect.forEach(pools, (pool) => forecast(agentId, pool))
    yield* fund(`agent:${agentId}`, 1000)
  })
  const stakedOn = (index: number) => `eval/macro/challenges/${pools[index % pools.length]?.id}/stake`
  const always = (path: string) => () => path
  /** Each limit: how many a minute, the right answer, and the requests, each of which is right. */
  const kinds = [
    ["comments", 5, 201, always("agent/comments"), { news_id: event.news_id, content: "What I think." }],
    ["likes", 30, 204, always(`agent/comments/${comment_id}/like`), undefined],
    ["follows", 20, 204, always("agent/follows"), { target_agent_id: author }],
    ["stakes", 5, 201, stakedOn, { predicted_value: 3.1, amount: 50 }],
    [
      "predictions",
      60,
      200,
      (index: number) => `eval/challenges/${challenges[index % 2]?.id}/predict`,
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
  // One request comes a little before, and one a little after.
  yield* Effect.sleep(`${seconds * 1000 - 1100} millis`)
  assert.strictEqual((yield* again).status, 429)
  yield* Effect.sleep("1200 millis")
  assert.notStrictEqual((yield* again).status, 429)
})

/** A burst on both processes at once lets through exactly as many as the limit says. */
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

/** The windows of replies. The row of the day's window, which these never fill, keeps when each of them was counted. */
const windows = [
  { count: 4, millis: 1000 },
  { count: 30, millis: 60_000 }
] as const
const replyLimit = "4/second,30/minute,1000/day"
const day = 86_400_000

interface Sending {
  readonly isRight: boolean
  readonly status: number
  readonly sentAt: number
  readonly answeredAt: number
  /** 0 for a reply that was let in. */
  readonly retryAfter: number
}

/** Right and wrong replies at random times, each to one of the processes. */
const arrivals = Effect.fnUntraced(function* ({ replicas, token }: Place, comment: string) {
  const arrival = Effect.all({
    isRight: Random.nextBoolean,
    after: Random.nextIntBetween(0, 75_000),
    isFirst: Random.nextBoolean
  })
  const all = yield* Effect.replicateEffect(arrival, 3000).pipe(Random.withSeed("arrivals"))
  return yield* Effect.forEach(
    all,
    Effect.fnUntraced(function* ({ after, isFirst, isRight }) {
      yield* Effect.sleep(after)
      const sentAt = yield* Clock.currentTimeMillis
      const path = `agent/comments/${isRight ? comment : unknown}/replies`
      const answer = yield* sent(replicas[isFirst ? 0 : 1], token, path, { content: "I disagree." })
      const answeredAt = yield* Clock.currentTimeMillis
      return {
        isRight,
        status: answer.status,
        sentAt,
        answeredAt,
        retryAfter: Number(answer.retryAfter ?? 0)
      }
    }),
    { concurrency: "unbounded" }
  )
})

const Counted = Schema.Struct({ at: Schema.Int })

/** The times at which the agent's replies were counted, in order, in milliseconds. */
const countedAt = Effect.fnUntraced(function* (agentId: AgentId) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql`
    select u.at::float8 as at
      from limit_windows w
     cross join unnest(w.times, w.totals) with ordinality u (at, total, place)
     cross join generate_series(coalesce(w.totals[u.place - 1], 0) + 1, u.total)
     where w.key = ${`replies:${day}:${agentId}`}
     order by u.at`
  const counted = yield* Effect.orDie(Schema.decodeUnknownEffect(Schema.Array(Counted))(rows))
  return counted.map(({ at }) => at)
})

/** Seconds until there is room, at a moment at which the first `known` of all uses had been counted; 0 where there is. */
const secondsLeft = (uses: ReadonlyArray<number>, known: number, now: number): number => {
  const left = windows.map(({ count, millis }) => {
    const leaving = uses[known - count]
    return leaving === undefined ? 0 : leaving + millis - now
  })
  return Math.ceil(Math.max(0, ...left) / 1000)
}

/**
 * All right answers to a request, by the list of all uses: it was decided at some moment between its sending and its
 * answer, by uses that were counted until then: at least by those that had been answered before it was sent.
 */
const possibleSeconds = (
  { answeredAt, sentAt }: Sending,
  uses: ReadonlyArray<number>,
  accepted: ReadonlyArray<Sending>
): ReadonlySet<number> => {
  const fewest = accepted.filter((each) => each.answeredAt < sentAt).length
  const most = accepted.filter((each) => each.sentAt <= answeredAt).length
  const moments = times(answeredAt - sentAt + 1, (index) => sentAt + index)
  const possible = times(most - fewest + 1, (index) => fewest + index).flatMap((known) =>
    moments.filter((now) => (uses[known - 1] ?? 0) <= now).map((now) => secondsLeft(uses, known, now))
  )
  return new Set(possible)
}

/** No window ever had more uses than its limit, and each request was told what a list of all uses says, to the second. */
const assertExact = (answers: ReadonlyArray<Sending>, uses: ReadonlyArray<number>) => {
  const accepted = answers.filter(({ status }) => status === 201)
  assert.strictEqual(uses.length, accepted.length)
  for (const { count, millis } of windows) {
    const tooSoon = uses.filter((at, index) => at < (uses[index - count] ?? -millis) + millis)
    assert.deepStrictEqual(tooSoon, [])
  }
  for (const answer of answers) {
    if (answer.status !== 429) assert.strictEqual(answer.status, answer.isRight ? 201 : 404)
    const possible = possibleSeconds(answer, uses, accepted)
    assert.isTrue(possible.has(answer.retryAfter), JSON.stringify({ ...answer, possible: [...possible] }))
  }
  // The window of a minute was full, and some of it had left it again.
  assert.isAbove(uses.length, windows[1].count)
}

const onTwo = Effect.gen(function* () {
  const url = yield* freshDatabase
  yield* Effect.gen(function* () {
    const { comment, kinds, prepare } = yield* scene
    const environment = replicaEnvironment(url, {
      AUSPEX_ROLES: "api",
      AUSPEX_LIMIT_REPLIES: replyLimit,
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
    const { agentId, token } = yield* poster
    const answers = yield* arrivals({ replicas, token }, comment)
    assertExact(answers, yield* countedAt(agentId))
  }).pipe(Effect.provide(servicesOn(url)))
})

describe("The limits of what agents do", () => {
  it.live(
    "Limits are hit exactly on two processes, in a burst and at random times, Retry-After to the second",
    () => onTwo.pipe(Effect.provide(NodeServices.layer))
  )
})
