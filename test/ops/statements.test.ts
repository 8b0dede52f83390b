/**
 * The number of SQL statements of a request is pinned for every endpoint, and the same for one item as for twenty, so
 * that no answer costs a statement for each thing it shows.
 */
import { assert, layer } from "@effect/vitest"
import { Context, DateTime, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { treasury } from "../../src/layers/postgres/credit/transfers.ts"
import { AgentId, EventId } from "../../src/services/domain/ids.ts"
import { Health } from "../../src/services/Health.ts"
import { LogSequencer } from "../../src/services/LogSequencer.ts"
import { ReleaseCalendar } from "../../src/services/Schedules.ts"
import { Notices } from "../../src/services/Notices.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import { Targets } from "../../src/services/Targets.ts"
import { Webhooks } from "../../src/services/Webhooks.ts"
import { claim, issue, onboard, onboardClaimed, register, claimedAgents } from "../support/agents.ts"
import {
  openChallenge,
  importCandles,
  importQuotes,
  forecast,
  newChallenge,
  newMacro,
  newPriceEvent,
  plus,
  predict
} from "../support/challenges.ts"
import { credits, fund, record, creditFor, stakeOn } from "../support/credit.ts"
import { passingAnswer } from "../support/responses.ts"
import { comment, reply } from "../support/discussion.ts"
import { completeLog } from "../support/logbook.ts"
import { TelemetryRecorder, telemetryRecorder } from "../support/telemetryRecorder.ts"
import { pathOf, routes } from "../support/routes.ts"
import type { Route } from "../support/routes.ts"
import { practisedBy } from "../support/growth/practice.ts"
import { get, member, post, send, testServer } from "../support/server.ts"
import type { Asked } from "../support/server.ts"
import { testAdminToken } from "../support/settings.ts"
import { follow } from "../support/social.ts"
import { tournament } from "../support/tournaments.ts"

const many = 20
const counts = [1, many] as const
type Count = (typeof counts)[number]

const admin = { token: testAdminToken }
const farDeadline = "2999-01-01T00:00:00Z"
const timeOf = (second: number) => DateTime.formatIso(DateTime.makeUnsafe(second * 1000))
const numbers = Array.from({ length: many + 1 }, (_, index) => index)

/** A tournament that ended when the clock of these tests began. */
const over = (slug: string, challenges: number) =>
  tournament({
    slug,
    ended_at: timeOf(0),
    challenges: numbers
      .slice(0, challenges)
      .map((n) => ({ question: `Match ${n}?`, deadline: timeOf(0), result: "home" }))
  })

/** One agent that has done everything twenty times, and a challenge that twenty agents have predicted. */
const makeCrowd = Effect.gen(function* () {
  // Candles of the days before are not of years before 1970.
  yield* TestClock.adjust("2 days")
  // An instance does this at its start.
  yield* Health.use(({ measureClockDrift }) => measureClockDrift)
  const sql = yield* SqlClient.SqlClient
  const agent = yield* onboard()
  yield* claim(agent.agentId)
  const now = yield* DateTime.now
  yield* post("/api/v1/admin/events", {
    ...admin,
    json: {
      events: numbers.map((n) => ({
        event_id: `event-${n}`,
        title: `Event ${n}`,
        published_at: DateTime.formatIso(now),
        assets: ["GC"]
      }))
    }
  })
  const others = yield* claimedAgents(many)
  const hour = plus(now, "1 hour")
  const due = yield* Effect.forEach(numbers, () => newChallenge({ deadline: hour }))
  const [hot, ...rest] = due
  assert(hot !== undefined)
  const predicted = yield* Effect.forEach(due, (challenge) => predict(agent.agentId, challenge))
  yield* Effect.forEach(others, (other) => predict(other, hot))
  yield* TestClock.adjust("2 hours")
  yield* importQuotes("GC", [[hour, 110]])
  const settled = yield* Scoring.use((scoring) => scoring.settleDue)
  assert.strictEqual(settled.resolved.length, 1 + rest.length)
  yield* completeLog
  yield* sql`
    insert into paper_signals (id, challenge_id, agent_id, direction, confidence, received_at)
    select uuidv7(), ${hot.id}::uuid, ${agent.agentId}::uuid, 'bullish', 0.5, ${DateTime.toDateUtc(now)}
      from generate_series(0, ${many}::int)`
  yield* record(
    ...numbers.map((n) => ({
      id: `given:${n}`,
      kind: "post" as const,
      debit: treasury,
      credit: `agent:${agent.agentId}`,
      amount: 1n,
      reason: "a test"
    }))
  )
  const me = AgentId.make(agent.agentId)
  for (const other of [...others, ...(yield* claimedAgents(1))]) {
    yield* follow(me, other)
    yield* follow(other, me)
    yield* comment(other, { event_id: EventId.make("event-0") })
  }
  yield* sql`
    insert into purchases (id, owner_id, key, credits, amount, currency, created_at)
    select uuidv7(), owner_id, 'key-' || n, 1, 1, 'eur', ${DateTime.toDateUtc(now)}
      from agents cross join generate_series(0, ${many}::int) n where agents.id = ${agent.agentId}::uuid`
  const open = yield* Effect.forEach(numbers, () => openChallenge({ event_id: "event-0" }))
  yield* importCandles(
    "NG",
    "1h",
    numbers.map((n) => [plus(now, { hours: n - 2 * many }), 3])
  )
  yield* ReleaseCalendar.use((calendar) =>
    calendar.replace(
      numbers.map((n) => ({
        asset: "NFP",
        period: `${n}`,
        unit: "thousands",
        release_at: plus(now, { days: 9 + n })
      }))
    )
  )
  yield* Effect.forEach(numbers, () => openPriceEvent)
  yield* Effect.forEach(numbers, (n) =>
    post("/api/v1/admin/archive", { ...admin, json: over(`cup-${n}`, numbers.length) })
  )
  // Each quote contradicts the one before it.
  for (const turn of [0, 1]) {
    yield* post("/api/v1/admin/prices", {
      ...admin,
      json: {
        asset: "CL",
        quotes: numbers.flatMap((n) =>
          [0, 1].map((more) => ({ time: timeOf(2 * n + more), price: 1 + turn }))
        )
      }
    })
  }
  yield* practisedBy(agent.agentId, many)
  const keyId = yield* callsBy(agent.agentId)
  const talk = yield* talkBy(AgentId.make(agent.agentId))
  const { access_token } = yield* issue(agent.agentId, agent.secret)
  const commit = predicted[0]?.answer.receipt?.commit ?? "none"
  yield* Notices.use(({ advance }) => advance)
  return { agent, commit, hot, keyId, open, others, talk, token: access_token }
})

/** The owner lets the agent use the gateway; it has a key for each of its calls. */
const callsBy = Effect.fnUntraced(function* (agentId: string) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`update operators set plan = 'pro'`
  yield* sql`update agents set credit_arena_enabled = true where id = ${agentId}::uuid`
  yield* sql`
    insert into gateway_keys (id, agent_id, owner_id, name, prefix, key_hash, created_at)
    select uuidv7(), id, owner_id, 'key', 'aus_gw_key', sha256(n::text::bytea), created_at
      from agents cross join generate_series(0, ${many}::int) n where id = ${agentId}::uuid`
  yield* sql`
    insert into gateway_calls (id, agent_id, owner_id, key_id, request_id, model, style, stream, prompt_tokens,
                               completion_tokens, cost, status, latency_ms, attempts, estimated, created_at)
    select id, agent_id, owner_id, id, 'request', 'swift-1', 'openai', false, 1, 1, 0, 200, 1, 1, false, created_at
      from gateway_keys`
  const [row] = yield* sql`select id::text from gateway_keys limit 1`.values
  return String(row?.[0])
})

/** One of twenty comments has twenty replies, all of them by the agent; and there is a post of each kind by somebody else. */
const talkBy = Effect.fnUntraced(function* (agentId: AgentId) {
  const event = { event_id: EventId.make("event-0") }
  const [other = agentId] = yield* claimedAgents(1)
  const theirs = yield* comment(other, event)
  const theirReply = yield* reply(other, theirs)
  const posts = yield* Effect.forEach(numbers, () => comment(agentId, event))
  const [parent = theirs] = posts
  yield* Effect.forEach(numbers, () => reply(agentId, parent))
  return { parent, theirs, theirReply }
})

const opinion = { news_id: "event-0", content: "What I think." }

/** A price event that no settlement comes to. */
const openPriceEvent = Effect.suspend(() =>
  newPriceEvent({ kind: "threshold", deadline: DateTime.makeUnsafe(farDeadline) })
)

class Crowd extends Context.Service<Crowd, Effect.Success<typeof makeCrowd>>()("auspex/test/Crowd") {}

// The crowd has more of everything than an agent may have.
const server = testServer({
  environment: { AUSPEX_GATEWAY_KEYS_PER_AGENT: "1000", AUSPEX_MAX_WEBHOOKS: "1000" }
}).pipe(Layer.provideMerge(telemetryRecorder))
const crowd = Layer.effect(Crowd, makeCrowd).pipe(Layer.provideMerge(server))

type Needs = Layer.Success<typeof crowd>

/** A request that must succeed, about one thing or about twenty. */
interface Request {
  readonly parameters?: Readonly<Record<string, string>>
  readonly query?: string
  readonly asked?: Asked
}

interface Pinned {
  readonly statements: number
  /** An endpoint about nothing that can be one or many has one request. */
  readonly request: (count: Count) => Effect.Effect<Request, unknown, Needs>
}

const plain = (statements: number, request: Request = {}): Pinned => ({
  statements,
  request: () => Effect.succeed(request)
})

/** A page of this number of items, as anybody or as the agent asks for it. */
const page = (
  statements: number,
  filter = "",
  of: (crowd: Crowd["Service"]) => Request = () => ({})
): Pinned => ({
  statements,
  request: (count) => Effect.map(Crowd, (crowd) => ({ query: `?limit=${count}${filter}`, ...of(crowd) }))
})

const asAgent = ({ token }: Crowd["Service"]): Request => ({ asked: { token } })

const made = (statements: number, request: Effect.Effect<Request, unknown, Needs>): Pinned => ({
  statements,
  request: () => request
})

/** The request that likes, by the route's name without its prefix. */
const likeOfComment = ({ talk, token }: Crowd["Service"]): Request => ({
  parameters: { comment_id: talk.theirs.comment_id },
  asked: { token }
})

const likeOfReply = ({ talk, token }: Crowd["Service"]): Request => ({
  parameters: { reply_id: talk.theirReply.comment_id },
  asked: { token }
})

const ownerOfCrowd = Effect.gen(function* () {
  const { agent } = yield* Crowd
  const sql = yield* SqlClient.SqlClient
  const [owner] = yield* sql`select owner_id::text from agents where id = ${agent.agentId}::uuid`.values
  return { parameters: { owner_id: String(owner?.[0]) } }
})

/** A webhook of the agent with a delivery. */
const hooked = Effect.gen(function* () {
  const { agent, token } = yield* Crowd
  const by = { kind: "agent", id: agent.agentId } as const
  const webhooks = yield* Webhooks
  const { webhook_id } = yield* webhooks.create(by, newWebhook)
  const { notice_id } = yield* webhooks.test(by, webhook_id)
  return { parameters: { webhook_id, notice_id }, asked: { token } }
})

const newWebhook = { url: "https://hooks.example.com/", types: ["event.published"] } as const

const staking = onboard({ requested_scopes: ["prediction:submit", "credits:stake"] })

/** A grant that is new each time it is asked for. */
const newGrant = (count: Count) => ({
  asked: { json: { amount: 1, reason: "why", idempotency_key: `key-${count}` } }
})

const pinned: Readonly<Record<string, Pinned>> = {
  "GET /health/live": plain(0),
  "GET /health/ready": plain(4),
  "GET /public/prediction-scopes": plain(2),
  "GET /public/target-catalog": plain(2),
  "GET /public/prices": plain(2),
  "GET /public/prices/:asset": page(2, "", () => ({ parameters: { asset: "NG" } })),
  "GET /public/releases": page(2),
  "GET /eval/btc/context": plain(2),
  "GET /eval/open": page(2),
  "GET /eval/open/:challenge_id": made(
    2,
    Effect.map(openChallenge(), ({ id }) => ({ parameters: { challenge_id: id } }))
  ),
  "GET /eval/challenges": page(3),
  "GET /eval/challenges/:challenge_id": made(
    3,
    Effect.map(Crowd, ({ hot }) => ({ parameters: { challenge_id: hot.id } }))
  ),
  "GET /eval/challenges/:challenge_id/results": page(3, "", ({ hot }) => ({
    parameters: { challenge_id: hot.id }
  })),
  "GET /eval/leaderboard": page(2),
  "GET /eval/agents/:agent_id/skill": made(
    4,
    Effect.map(Crowd, ({ agent }) => ({ parameters: { agent_id: agent.agentId } }))
  ),
  "GET /eval/compare": made(
    4,
    Effect.map(Crowd, ({ agent, others }) => ({ query: `?a=${agent.agentId}&b=${others[0] ?? ""}` }))
  ),
  "GET /eval/challenges/:challenge_id/reference": made(
    2,
    Effect.map(Crowd, ({ hot }) => ({ parameters: { challenge_id: hot.id } }))
  ),
  "GET /eval/agents/:agent_id/scorecard": page(4, "", ({ agent }) => ({
    parameters: { agent_id: agent.agentId }
  })),
  "GET /events": page(2, "&asset=GC"),
  "GET /events/today": page(2, "&asset=GC"),
  "GET /events/:event_id": plain(2, { parameters: { event_id: "event-0" } }),
  "GET /public/comments/:news_id": page(3, "", () => ({ parameters: { news_id: "event-0" } })),
  "GET /public/comments/:news_id/:comment_id/replies": page(3, "", ({ talk }) => ({
    parameters: { news_id: "event-0", comment_id: talk.parent.comment_id }
  })),
  "GET /agent/spaces": made(2, Effect.map(Crowd, asAgent)),
  "GET /agent/news/:news_id/interaction-context": made(
    5,
    Effect.map(Crowd, (crowd) => ({ ...asAgent(crowd), parameters: { news_id: "event-0" } }))
  ),
  "POST /agent/comments": made(
    3,
    Effect.map(Crowd, ({ token }) => ({ asked: { token, json: opinion } }))
  ),
  "POST /agent/comments/:comment_id/replies": made(
    3,
    Effect.map(Crowd, ({ talk, token }) => ({
      parameters: { comment_id: talk.parent.comment_id },
      asked: { token, json: opinion }
    }))
  ),
  "POST /agent/comments/:comment_id/like": made(3, Effect.map(Crowd, likeOfComment)),
  "DELETE /agent/comments/:comment_id/like": made(3, Effect.map(Crowd, likeOfComment)),
  "POST /agent/replies/:reply_id/like": made(3, Effect.map(Crowd, likeOfReply)),
  "DELETE /agent/replies/:reply_id/like": made(3, Effect.map(Crowd, likeOfReply)),
  "GET /public/archive": page(2),
  "GET /public/archive/:slug": page(3, "", () => ({ parameters: { slug: "cup-0" } })),
  "GET /log/entries/:commit": made(
    2,
    Effect.map(Crowd, ({ commit }) => ({ parameters: { commit } }))
  ),
  "GET /log/proof/:commit": made(
    3,
    Effect.map(Crowd, ({ commit }) => ({ parameters: { commit } }))
  ),
  "GET /log/proof/entry/:leaf_index": plain(3, { parameters: { leaf_index: "0" } }),
  "GET /log/settlement/:challenge_id": made(
    3,
    Effect.map(Crowd, ({ hot }) => ({ parameters: { challenge_id: hot.id } }))
  ),

  "GET /agent/profile/self": made(3, Effect.map(Crowd, asAgent)),
  "GET /agent/predictions": page(3, "", asAgent),
  "GET /agent/practice": page(4, "", asAgent),
  "GET /agent/credits/balance": made(3, Effect.map(Crowd, asAgent)),
  "GET /agent/credits/transactions": page(3, "", asAgent),
  "POST /llm/keys": made(
    6,
    Effect.map(Crowd, ({ token }) => ({ asked: { token, json: {} } }))
  ),
  "GET /llm/keys": page(3, "", asAgent),
  "GET /llm/keys/:key_id": made(
    3,
    Effect.map(Crowd, ({ keyId, token }) => ({ parameters: { key_id: keyId }, asked: { token } }))
  ),
  "PATCH /llm/keys/:key_id": made(
    5,
    Effect.map(Crowd, ({ keyId, token }) => ({
      parameters: { key_id: keyId },
      asked: { token, json: { daily_limit: 5 } }
    }))
  ),
  "DELETE /llm/keys/:key_id": made(
    3,
    Effect.map(Crowd, ({ keyId, token }) => ({ parameters: { key_id: keyId }, asked: { token } }))
  ),
  "GET /llm/usage": page(4, "", asAgent),
  "GET /agent/prediction-scope": {
    statements: 3,
    request: Effect.fnUntraced(function* (count) {
      const { agentId, token } = yield* onboard()
      const sql = yield* SqlClient.SqlClient
      yield* sql`
        insert into prediction_scopes (agent_id, target, created_at)
        select ${agentId}::uuid, key, to_timestamp(0) from targets order by position limit ${count}`
      return { asked: { token } }
    })
  },
  "POST /agent/prediction-scope/:scope_key": made(
    4,
    Effect.map(Crowd, (crowd) => ({ ...asAgent(crowd), parameters: { scope_key: "GC" } }))
  ),
  "DELETE /agent/prediction-scope/:scope_key": made(
    4,
    Effect.map(Crowd, (crowd) => ({ ...asAgent(crowd), parameters: { scope_key: "ES" } }))
  ),
  "GET /eval/challenges/active": {
    statements: 5,
    request: Effect.fnUntraced(function* (count) {
      const { token } = yield* Crowd
      yield* send("POST", "/api/v1/agent/prediction-scope/GC", { token })
      return { query: `?limit=${count}`, asked: { token } }
    })
  },
  "POST /eval/challenges/:challenge_id/predict": made(
    3,
    Effect.gen(function* () {
      const { id } = yield* openChallenge()
      const { token } = yield* Crowd
      return {
        parameters: { challenge_id: id },
        asked: { token, json: { direction: "bullish", confidence: 0.5, reasoning: "why" } }
      }
    })
  ),
  // The token, the limits of all, and all of them recorded.
  "POST /eval/predictions": {
    statements: 4,
    request: Effect.fnUntraced(function* (count) {
      const { token } = yield* Crowd
      const open = yield* Effect.forEach(numbers.slice(0, count), () => openChallenge())
      const predictions = open.map(({ id }) => ({ challenge_id: id, direction: "bullish", confidence: 0.5 }))
      return { asked: { token, json: { predictions } } }
    })
  },
  "GET /eval/macro/challenges": page(2, "&status=all"),
  "POST /eval/macro/challenges/:challenge_id/predict": made(
    3,
    Effect.gen(function* () {
      const { id } = yield* newMacro()
      const { token } = yield* Crowd
      return {
        parameters: { challenge_id: id },
        asked: { token, json: { predicted_value: 3.1, predicted_std: 0.1, rationale: "why" } }
      }
    })
  ),
  "GET /eval/macro/challenges/:challenge_id/odds": made(
    2,
    Effect.map(newMacro(), ({ id }) => ({ parameters: { challenge_id: id } }))
  ),
  // Beside token and limit: the lock, the context, the stake, and its transfer; and since nobody owns the agent,
  // whether that is still so.
  "POST /eval/macro/challenges/:challenge_id/stake": made(
    7,
    Effect.gen(function* () {
      const challenge = yield* newMacro()
      const { agentId, token } = yield* staking
      yield* fund(`agent:${agentId}`, 50)
      yield* forecast(AgentId.make(agentId), challenge)
      return {
        parameters: { challenge_id: challenge.id },
        asked: { token, json: { predicted_value: 3.1, amount: 50 } }
      }
    })
  ),
  "GET /eval/price-events/challenges": page(2, "&status=all"),
  "POST /eval/price-events/challenges/:challenge_id/predict": made(
    3,
    Effect.gen(function* () {
      const { id } = yield* openPriceEvent
      const { agent, token } = yield* Crowd
      yield* Targets.use((targets) => targets.subscribe(AgentId.make(agent.agentId), "ETH"))
      return {
        parameters: { challenge_id: id },
        asked: { token, json: { direction: "bullish", confidence: 0.5, reasoning: "why" } }
      }
    })
  ),
  "GET /eval/distribution-calibration": plain(2),
  "GET /eval/agents/:agent_id/distribution-calibration": made(
    3,
    Effect.map(Crowd, ({ agent }) => ({ parameters: { agent_id: agent.agentId } }))
  ),
  "GET /eval/challenges/:challenge_id/paper-signals": page(4, "", (crowd) => ({
    ...asAgent(crowd),
    parameters: { challenge_id: crowd.hot.id }
  })),

  "POST /agent/follows": made(
    3,
    Effect.gen(function* () {
      const { token } = yield* Crowd
      const [target_agent_id] = yield* claimedAgents(1)
      return { asked: { token, json: { target_agent_id } } }
    })
  ),
  "DELETE /agent/follows/:agent_id": made(3, Effect.map(Crowd, asAgent)),
  "GET /agent/follows/following": page(3, "", asAgent),
  "GET /agent/follows/followers": page(3, "", asAgent),
  "GET /agent/feed": page(3, "", asAgent),
  "GET /agent/profiles/:agent_id": made(
    3,
    Effect.map(Crowd, (crowd) => ({ ...asAgent(crowd), parameters: { agent_id: crowd.agent.agentId } }))
  ),
  "GET /agent/actions/history": page(3, "", asAgent),

  "POST /agent/registry/register": plain(3, { asked: { json: { name: "Ada" } } }),
  "POST /agent/challenge/:challenge_id/submit": made(
    8,
    Effect.map(register(), ({ challenge_id, challenge_prompt }) => ({
      parameters: { challenge_id },
      asked: { json: { answer: passingAnswer(challenge_prompt) } }
    }))
  ),
  "POST /agent/registry/resend-secret": made(
    3,
    Effect.map(register(), ({ agent_id, challenge_id }) => ({ asked: { json: { agent_id, challenge_id } } }))
  ),
  "POST /agent/challenge/:challenge_id/prompt": made(
    4,
    Effect.map(register(), ({ agent_id, challenge_id, client_secret }) => ({
      parameters: { challenge_id },
      asked: { json: { agent_id, client_secret } }
    }))
  ),
  "POST /agent/auth/token": made(
    4,
    Effect.map(onboard(), ({ agentId, secret }) => ({
      asked: { json: { grant_type: "client_credentials", agent_id: agentId, client_secret: secret } }
    }))
  ),

  "POST /agent/registry/claim-link/refresh": made(
    6,
    Effect.map(onboard(), ({ agentId, secret }) => ({
      asked: { json: { agent_id: agentId, client_secret: secret } }
    }))
  ),
  "POST /agent/registry/claim/wait": made(
    4,
    Effect.map(onboardClaimed(), ({ agentId, secret }) => ({
      asked: { json: { agent_id: agentId, client_secret: secret } }
    }))
  ),
  "GET /agent/notices": page(3, "", asAgent),
  "GET /agent/notices/stream": made(3, Effect.map(Crowd, asAgent)),
  "GET /public/notices": page(2),
  "GET /public/notices/stream": plain(2),
  "POST /agent/webhooks": made(
    6,
    Effect.map(Crowd, ({ token }) => ({ asked: { token, json: newWebhook } }))
  ),
  "GET /agent/webhooks": made(3, Effect.map(Crowd, asAgent)),
  "PATCH /agent/webhooks/:webhook_id": made(
    4,
    Effect.map(hooked, ({ asked, parameters }) => ({
      parameters,
      asked: { ...asked, json: { types: ["key.revoked"] } }
    }))
  ),
  "DELETE /agent/webhooks/:webhook_id": made(3, hooked),
  "POST /agent/webhooks/:webhook_id/rotate": made(4, hooked),
  "POST /agent/webhooks/:webhook_id/test": made(5, hooked),
  "GET /agent/webhooks/:webhook_id/deliveries": made(4, hooked),
  "POST /agent/webhooks/:webhook_id/deliveries/:notice_id/redeliver": made(5, hooked),
  "GET /.well-known/oauth-authorization-server": plain(1),
  "GET /agent/scopes": made(3, Effect.map(Crowd, asAgent)),
  "POST /agent/scopes": made(
    3,
    Effect.map(Crowd, ({ token }) => ({ asked: { token, json: { add: ["credits:stake"] } } }))
  ),

  "POST /admin/events": {
    statements: 4,
    request: (count) =>
      Effect.succeed({
        asked: {
          json: {
            // Every other event is the same one again.
            events: numbers.slice(0, count).map((n) => ({
              event_id: n % 2 === 0 ? `new-${n}` : "event-1",
              title: `Event ${n}`,
              assets: ["GC"]
            }))
          }
        }
      })
  },
  "POST /admin/prices": {
    statements: 5,
    request: (count) =>
      Effect.succeed({
        asked: {
          json: {
            asset: "HG",
            quotes: numbers.slice(0, count).map((n) => ({ time: timeOf(n), price: 100 }))
          }
        }
      })
  },
  "GET /admin/prices/quarantine": page(1),
  "GET /admin/macro/proposals": plain(1),
  "GET /admin/release-calendar": plain(1),
  "POST /admin/prices/quarantine/:id": made(
    5,
    Effect.map(get("/api/v1/admin/prices/quarantine", admin), ({ json }) => ({
      parameters: { id: String(member(json, "items", 0, "id")) },
      asked: { json: { accept: true, reason: "why" } }
    }))
  ),
  "POST /admin/challenges": plain(12, {
    asked: { json: { asset: "GC", event_id: "event-0", deadline: farDeadline, resolve_at: farDeadline } }
  }),
  "POST /admin/challenges/:challenge_id/cancel": made(
    6,
    Effect.map(openChallenge(), ({ id }) => ({
      parameters: { challenge_id: id },
      asked: { json: { reason: "why" } }
    }))
  ),
  "POST /admin/challenges/:challenge_id/amend": {
    statements: 16,
    // Forecasts are scored a page at a time, and figures corrected ten thousand agents at a time.
    request: Effect.fnUntraced(function* (count) {
      const challenge = yield* newMacro()
      yield* Effect.forEach(yield* claimedAgents(count), (agent) => forecast(agent, challenge))
      yield* TestClock.adjust("2 hours")
      yield* Scoring.use((scoring) => scoring.resolveMacro(challenge.id, 3.2))
      return {
        parameters: { challenge_id: challenge.id },
        asked: { json: { actual_value: 3.1, reason: "why" } }
      }
    })
  },
  "POST /admin/macro/challenges": plain(7, {
    asked: {
      json: {
        asset: "CPI",
        period: "2026-03",
        deadline: farDeadline,
        reference_scale: 0.12,
        bin_edges: [3, 3.1],
        reward_pool: 0
      }
    }
  }),
  "POST /admin/macro/challenges/:challenge_id/resolve": {
    statements: 30,
    // Forecasts are scored a page at a time, and so are stakes returned and rewards paid.
    request: Effect.fnUntraced(function* (count) {
      const challenge = yield* newMacro({ reward_pool: 10 })
      const agents = yield* claimedAgents(count)
      yield* Effect.forEach(agents, (agent) => forecast(agent, challenge))
      yield* creditFor(agents)
      yield* stakeOn(
        challenge,
        agents.map((agentId) => ({ agentId, bin: 3, amount: credits(50) }))
      )
      yield* TestClock.adjust("2 hours")
      return { parameters: { challenge_id: challenge.id }, asked: { json: { actual_value: 3.2 } } }
    })
  },
  "POST /admin/macro/challenges/:challenge_id/void": made(
    16,
    Effect.gen(function* () {
      const { id } = yield* newMacro()
      yield* TestClock.adjust("2 hours")
      return { parameters: { challenge_id: id }, asked: { json: { reason: "why" } } }
    })
  ),
  "POST /admin/price-events/challenges": plain(10, {
    asked: {
      json: { kind: "threshold", asset: "ETH", level: 100, deadline: farDeadline, resolve_at: farDeadline }
    }
  }),
  "POST /admin/price-events/challenges/:challenge_id/void": made(
    12,
    Effect.gen(function* () {
      const { id } = yield* newPriceEvent({ kind: "threshold" })
      yield* TestClock.adjust("2 hours")
      return { parameters: { challenge_id: id }, asked: { json: { reason: "why" } } }
    })
  ),
  "PUT /admin/release-calendar": {
    statements: 6,
    request: (count) =>
      Effect.succeed({
        asked: {
          json: {
            releases: Array.from({ length: count }, (_, n) => ({
              asset: "CPI",
              period: `period ${n}`,
              release_at: farDeadline
            }))
          }
        }
      })
  },
  "POST /admin/archive": {
    statements: 4,
    request: (count) => Effect.succeed({ asked: { json: over(`of-${count}`, count) } })
  },
  "POST /admin/settle": {
    statements: 22,
    // One challenge, which one agent or twenty have predicted. Each challenge is settled in a transaction of its own.
    request: Effect.fnUntraced(function* (count) {
      const deadline = plus(yield* DateTime.now, "1 hour")
      const challenge = yield* newChallenge({ asset: "ES", deadline })
      yield* Effect.forEach(yield* claimedAgents(count), (agent) => predict(agent, challenge))
      yield* TestClock.adjust("2 hours")
      yield* importQuotes("ES", [[deadline, 110]])
      return {}
    })
  },
  "PATCH /admin/targets/:key": plain(5, { parameters: { key: "GC" }, asked: { json: { dead_zone_pct: 1 } } }),
  "GET /admin/agents/:agent_id": made(
    1,
    Effect.map(Crowd, ({ agent }) => ({ parameters: { agent_id: agent.agentId } }))
  ),
  "PATCH /admin/agents/:agent_id": made(
    4,
    Effect.map(register(), ({ agent_id }) => ({
      parameters: { agent_id },
      asked: { json: { suspended: true } }
    }))
  ),
  "POST /admin/agents/:agent_id/rotate-secret": made(
    5,
    Effect.map(register(), ({ agent_id }) => ({ parameters: { agent_id } }))
  ),
  "POST /admin/agents/:agent_id/credits": {
    statements: 5,
    request: (count) =>
      Effect.map(Crowd, ({ agent }) => ({ parameters: { agent_id: agent.agentId }, ...newGrant(count) }))
  },
  "POST /admin/owners/:owner_id/credits": {
    statements: 5,
    request: (count) => Effect.map(ownerOfCrowd, (request) => ({ ...request, ...newGrant(count) }))
  },
  "GET /admin/ledger/check": plain(29),
  "GET /admin/owners/:owner_id": made(2, ownerOfCrowd),
  "PATCH /admin/owners/:owner_id": made(
    5,
    Effect.map(ownerOfCrowd, (request) => ({ ...request, asked: { json: { plan: "pro" } } }))
  ),
  "GET /admin/purchases": page(1),
  "GET /admin/audit": page(1),
  // Seven statements for all, and six for each of the newest settled questions, whose reference is made again.
  "GET /admin/figures/check": plain(147),
  // The routes are in this instance's memory.
  "GET /admin/gateway/routes": plain(0),
  "GET /admin/gateway/usage": plain(2),
  // One statement for each kind of thing, and one a page of it.
  "GET /admin/log/audit": plain(50),
  "POST /admin/log/continue": made(
    8,
    // The log is compared once for all.
    LogSequencer.use((sequencer) => Effect.as(sequencer.watch, { asked: { json: { reason: "a failover" } } }))
  )
}

/** The pages for everybody, whose lists hold what the crowd has made. */
const pinnedPages: Readonly<Record<string, number>> = {
  "/": 10,
  "/leaderboard": 3,
  "/leaderboard?category=commodities": 3,
  "/challenges": 4,
  "/challenges?status=resolved&type=directional": 3,
  "/challenges?asset=GC": 6,
  "/assets/GC": 15,
  "/search?q=gold": 13,
  "/challenges/:challenge_id": 10,
  "/agents/:agent_id": 14,
  "/events": 2,
  "/events/event-0": 10,
  "/archive": 2,
  "/archive/cup-0": 3
}

const shortName = ({ name }: Route) => name.replace(" /api/v1/", " /")

/** Statements of the request that has this id; `begin` and `commit` are not counted. */
const sentWith = (id: string) =>
  Effect.map(
    TelemetryRecorder,
    ({ spans }) =>
      spans.filter(
        (span) =>
          span.kind === "client" &&
          span.attributes.get("request.id") === id &&
          span.attributes.has("db.query.text")
      ).length
  )

const sentBy = Effect.fnUntraced(function* (route: Route, count: Count, { request }: Pinned) {
  const { asked, parameters, query = "" } = yield* request(count)
  const id = `${shortName(route).replaceAll(/\W/g, "-")}-${count}`
  // The pause is long enough for what is remembered of an agent to be asked for again.
  yield* TestClock.adjust("10 seconds")
  const answer = yield* send(route.method, pathOf(route, parameters) + query, {
    ...(route.caller === "administrator" && admin),
    ...asked,
    headers: { "x-request-id": id }
  })
  assert.isTrue(answer.status < 300, `${answer.status} ${answer.text}`)
  const items = ["items", "predictions", "comments"]
    .map((name) => member(answer.json, name))
    .find((value) => value !== undefined)
  if (query !== "" && Array.isArray(items)) assert.lengthOf(items, count)
  return yield* sentWith(id)
})

// Tokens, limits and predictions share statements when requests arrive together; here each request is alone.
layer(crowd)("The number of SQL statements", (it) => {
  it("The number of statements is pinned for every endpoint, and for nothing else", () => {
    assert.deepStrictEqual(Object.keys(pinned).sort(), routes.map(shortName).sort())
  })

  it.effect.each(["checkpoint", "key", "tile/0/000.p/9", "tile/entries/000.p/9", "timestamps"])(
    "The number of statements of /log/%s is two: its limit, and the read",
    (path) =>
      Effect.gen(function* () {
        const id = `log-${path.replaceAll("/", "-")}`
        const answer = yield* get(`/log/${path}`, { headers: { "x-request-id": id } })
        assert.strictEqual(answer.status, 200)
        assert.strictEqual(yield* sentWith(id), 2)
      })
  )

  it.effect.each(Object.entries(pinnedPages))("The number of statements of %s stays", ([path, statements]) =>
    Effect.gen(function* () {
      const { agent, hot } = yield* Crowd
      const id = `page-${path.replaceAll(/\W/g, "-")}`
      const known = path.replace(":challenge_id", hot.id).replace(":agent_id", agent.agentId)
      const answer = yield* get(known, { headers: { "x-request-id": id } })
      assert.strictEqual(answer.status, 200, path)
      assert.strictEqual(yield* sentWith(id), statements)
    })
  )

  it.effect.each(routes)(
    "The number of statements of $name is the same for one item and for twenty",
    (route) =>
      Effect.gen(function* () {
        const expected = pinned[shortName(route)]
        assert(expected !== undefined)
        for (const count of counts) {
          assert.strictEqual(yield* sentBy(route, count, expected), expected.statements, `${count} items`)
        }
      })
  )
})
