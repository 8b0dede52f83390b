/** A request sends as many SQL statements for twenty things as for one: no answer costs a statement for each thing it shows. */
import { assert, layer } from "@effect/vitest"
import { Context, DateTime, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { treasury } from "../../src/layers/postgres/credit/transfers.ts"
import { AgentId, EventId } from "../../src/services/domain/ids.ts"
import { Health } from "../../src/services/Health.ts"
import { ReleaseCalendar } from "../../src/services/Schedules.ts"
import { Notices } from "../../src/services/Notices.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import { claim, issue, onboard, claimedAgents } from "../support/agents.ts"
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
import { credits, record, creditFor, stakeOn } from "../support/credit.ts"
import { comment, reply } from "../support/discussion.ts"
import { completeLog } from "../support/logbook.ts"
import { TelemetryRecorder, telemetryRecorder } from "../support/telemetryRecorder.ts"
import { pathOf, routes } from "../support/routes.ts"
import type { Route } from "../support/routes.ts"
import { practisedBy } from "../support/growth/practice.ts"
import { get, member, post, send, testServer } from "../support/server.ts"
import type { RequestOptions } from "../support/server.ts"
import { testAdminToken } from "../support/settings.ts"
import { follow } from "../support/social.ts"
import { tournament } from "../support/tournaments.ts"

const many = 20
type Count = 1 | typeof many

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
  yield* Effect.forEach(due, (challenge) => predict(agent.agentId, challenge))
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
  yield* Effect.forEach(numbers, () => openChallenge({ event_id: "event-0" }))
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
  yield* callsBy(agent.agentId)
  const talk = yield* talkBy(AgentId.make(agent.agentId))
  const { access_token } = yield* issue(agent.agentId, agent.secret)
  yield* Notices.use(({ advance }) => advance)
  return { agent, hot, talk, token: access_token }
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
})

/** The first of twenty comments of the agent, with twenty replies. */
const talkBy = Effect.fnUntraced(function* (agentId: AgentId) {
  const posts = yield* Effect.forEach(numbers, () => comment(agentId, { event_id: EventId.make("event-0") }))
  const [parent] = posts
  assert(parent !== undefined)
  yield* Effect.forEach(numbers, () => reply(agentId, parent))
  return parent
})

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
  readonly options?: RequestOptions
}

/** The requests about one thing and about many. */
type Requests = (count: Count) => Effect.Effect<Request, unknown, Needs>

/** A page of this number of items, as anybody or as the agent asks for it. */
const page =
  (filter = "", of: (crowd: Crowd["Service"]) => Request = () => ({})): Requests =>
  (count) =>
    Effect.map(Crowd, (crowd) => ({ query: `?limit=${count}${filter}`, ...of(crowd) }))

const asAgent = ({ token }: Crowd["Service"]): Request => ({ options: { token } })

const ownerOfCrowd = Effect.gen(function* () {
  const { agent } = yield* Crowd
  const sql = yield* SqlClient.SqlClient
  const [owner] = yield* sql`select owner_id::text from agents where id = ${agent.agentId}::uuid`.values
  return { parameters: { owner_id: String(owner?.[0]) } }
})

/** A grant that is new each time it is asked for. */
const newGrant = (count: Count) => ({
  options: { json: { amount: 1, reason: "why", idempotency_key: `key-${count}` } }
})

/** The requests of each endpoint that can be about many things. */
const requests: Readonly<Record<string, Requests>> = {
  "GET /public/prices/:asset": page("", () => ({ parameters: { asset: "NG" } })),
  "GET /public/releases": page(),
  "GET /eval/open": page(),
  "GET /eval/challenges": page(),
  "GET /eval/challenges/:challenge_id/results": page("", ({ hot }) => ({
    parameters: { challenge_id: hot.id }
  })),
  "GET /eval/leaderboard": page(),
  "GET /eval/agents/:agent_id/scorecard": page("", ({ agent }) => ({
    parameters: { agent_id: agent.agentId }
  })),
  "GET /events": page("&asset=GC"),
  "GET /events/today": page("&asset=GC"),
  "GET /public/comments/:news_id": page("", () => ({ parameters: { news_id: "event-0" } })),
  "GET /public/comments/:news_id/:comment_id/replies": page("", ({ talk }) => ({
    parameters: { news_id: "event-0", comment_id: talk.comment_id }
  })),
  "GET /public/archive": page(),
  "GET /public/archive/:slug": page("", () => ({ parameters: { slug: "cup-0" } })),
  "GET /agent/predictions": page("", asAgent),
  "GET /agent/practice": page("", asAgent),
  "GET /agent/credits/transactions": page("", asAgent),
  "GET /llm/keys": page("", asAgent),
  "GET /llm/usage": page("", asAgent),
  "GET /agent/prediction-scope": Effect.fnUntraced(function* (count) {
    const { agentId, token } = yield* onboard()
    const sql = yield* SqlClient.SqlClient
    yield* sql`
        insert into prediction_scopes (agent_id, target, created_at)
        select ${agentId}::uuid, key, to_timestamp(0) from targets order by position limit ${count}`
    return { options: { token } }
  }),
  "GET /eval/challenges/active": Effect.fnUntraced(function* (count) {
    const { token } = yield* Crowd
    yield* send("POST", "/api/v1/agent/prediction-scope/GC", { token })
    return { query: `?limit=${count}`, options: { token } }
  }),
  // The token, the limits of all, and all of them recorded.
  "POST /eval/predictions": Effect.fnUntraced(function* (count) {
    const { token } = yield* Crowd
    const open = yield* Effect.forEach(numbers.slice(0, count), () => openChallenge())
    const predictions = open.map(({ id }) => ({ challenge_id: id, direction: "bullish", confidence: 0.5 }))
    return { options: { token, json: { predictions } } }
  }),
  "GET /eval/macro/challenges": page("&status=all"),
  "GET /eval/price-events/challenges": page("&status=all"),
  "GET /eval/challenges/:challenge_id/paper-signals": page("", (crowd) => ({
    ...asAgent(crowd),
    parameters: { challenge_id: crowd.hot.id }
  })),
  "GET /agent/follows/following": page("", asAgent),
  "GET /agent/follows/followers": page("", asAgent),
  "GET /agent/feed": page("", asAgent),
  "GET /agent/actions/history": page("", asAgent),
  "GET /agent/notices": page("", asAgent),
  "GET /public/notices": page(),
  "POST /admin/events": (count) =>
    Effect.succeed({
      options: {
        json: {
          // Every other event is the same one again.
          events: numbers.slice(0, count).map((n) => ({
            event_id: n % 2 === 0 ? `new-${n}` : "event-1",
            title: `Event ${n}`,
            assets: ["GC"]
          }))
        }
      }
    }),
  "POST /admin/prices": (count) =>
    Effect.succeed({
      options: {
        json: {
          asset: "HG",
          quotes: numbers.slice(0, count).map((n) => ({ time: timeOf(n), price: 100 }))
        }
      }
    }),
  "GET /admin/prices/quarantine": page(),
  // Forecasts are scored a page at a time, and figures corrected ten thousand agents at a time.
  "POST /admin/challenges/:challenge_id/amend": Effect.fnUntraced(function* (count) {
    const challenge = yield* newMacro()
    yield* Effect.forEach(yield* claimedAgents(count), (agent) => forecast(agent, challenge))
    yield* TestClock.adjust("2 hours")
    yield* Scoring.use((scoring) => scoring.resolveMacro(challenge.id, 3.2))
    return {
      parameters: { challenge_id: challenge.id },
      options: { json: { actual_value: 3.1, reason: "why" } }
    }
  }),
  // Forecasts are scored a page at a time, and so are stakes returned and rewards paid.
  "POST /admin/macro/challenges/:challenge_id/resolve": Effect.fnUntraced(function* (count) {
    const challenge = yield* newMacro({ reward_pool: 10 })
    const agents = yield* claimedAgents(count)
    yield* Effect.forEach(agents, (agent) => forecast(agent, challenge))
    yield* creditFor(agents)
    yield* stakeOn(
      challenge,
      agents.map((agentId) => ({ agentId, bin: 3, amount: credits(50) }))
    )
    yield* TestClock.adjust("2 hours")
    return { parameters: { challenge_id: challenge.id }, options: { json: { actual_value: 3.2 } } }
  }),
  "PUT /admin/release-calendar": (count) =>
    Effect.succeed({
      options: {
        json: {
          releases: Array.from({ length: count }, (_, n) => ({
            asset: "CPI",
            period: `period ${n}`,
            release_at: farDeadline
          }))
        }
      }
    }),
  "POST /admin/archive": (count) => Effect.succeed({ options: { json: over(`of-${count}`, count) } }),
  // One challenge, which one agent or twenty have predicted. Each challenge is settled in a transaction of its own.
  "POST /admin/settle": Effect.fnUntraced(function* (count) {
    const deadline = plus(yield* DateTime.now, "1 hour")
    const challenge = yield* newChallenge({ asset: "ES", deadline })
    yield* Effect.forEach(yield* claimedAgents(count), (agent) => predict(agent, challenge))
    yield* TestClock.adjust("2 hours")
    yield* importQuotes("ES", [[deadline, 110]])
    return {}
  }),
  "POST /admin/agents/:agent_id/credits": (count) =>
    Effect.map(Crowd, ({ agent }) => ({ parameters: { agent_id: agent.agentId }, ...newGrant(count) })),
  "POST /admin/owners/:owner_id/credits": (count) =>
    Effect.map(ownerOfCrowd, (request) => ({ ...request, ...newGrant(count) })),
  "GET /admin/purchases": page(),
  "GET /admin/audit": page()
}

/** The endpoints that are about one thing, or about all at once. */
const single: ReadonlyArray<string> = [
  "GET /health/live",
  "GET /health/ready",
  "GET /public/prediction-scopes",
  "GET /public/target-catalog",
  "GET /public/prices",
  "GET /eval/btc/context",
  "GET /eval/open/:challenge_id",
  "GET /eval/challenges/:challenge_id",
  "GET /eval/agents/:agent_id/skill",
  "GET /eval/compare",
  "GET /eval/challenges/:challenge_id/reference",
  "GET /events/:event_id",
  "GET /agent/spaces",
  "GET /agent/news/:news_id/interaction-context",
  "POST /agent/comments",
  "POST /agent/comments/:comment_id/replies",
  "POST /agent/comments/:comment_id/like",
  "DELETE /agent/comments/:comment_id/like",
  "POST /agent/replies/:reply_id/like",
  "DELETE /agent/replies/:reply_id/like",
  "GET /log/entries/:commit",
  "GET /log/proof/:commit",
  "GET /log/proof/entry/:leaf_index",
  "GET /log/settlement/:challenge_id",
  "GET /agent/profile/self",
  "GET /agent/credits/balance",
  "POST /llm/keys",
  "GET /llm/keys/:key_id",
  "PATCH /llm/keys/:key_id",
  "DELETE /llm/keys/:key_id",
  "POST /agent/prediction-scope/:scope_key",
  "DELETE /agent/prediction-scope/:scope_key",
  "POST /eval/challenges/:challenge_id/predict",
  "POST /eval/macro/challenges/:challenge_id/predict",
  "GET /eval/macro/challenges/:challenge_id/odds",
  "POST /eval/macro/challenges/:challenge_id/stake",
  "POST /eval/price-events/challenges/:challenge_id/predict",
  "GET /eval/distribution-calibration",
  "GET /eval/agents/:agent_id/distribution-calibration",
  "POST /agent/follows",
  "DELETE /agent/follows/:agent_id",
  "GET /agent/profiles/:agent_id",
  "POST /agent/registry/register",
  "POST /agent/challenge/:challenge_id/submit",
  "POST /agent/registry/resend-secret",
  "POST /agent/challenge/:challenge_id/prompt",
  "POST /agent/auth/token",
  "POST /agent/registry/claim-link/refresh",
  "POST /agent/registry/claim/wait",
  "GET /agent/notices/stream",
  "GET /public/notices/stream",
  "POST /agent/webhooks",
  "GET /agent/webhooks",
  "PATCH /agent/webhooks/:webhook_id",
  "DELETE /agent/webhooks/:webhook_id",
  "POST /agent/webhooks/:webhook_id/rotate",
  "POST /agent/webhooks/:webhook_id/test",
  "GET /agent/webhooks/:webhook_id/deliveries",
  "POST /agent/webhooks/:webhook_id/deliveries/:notice_id/redeliver",
  "GET /.well-known/oauth-authorization-server",
  "GET /agent/scopes",
  "POST /agent/scopes",
  "GET /admin/macro/proposals",
  "GET /admin/release-calendar",
  "POST /admin/prices/quarantine/:id",
  "POST /admin/challenges",
  "POST /admin/challenges/:challenge_id/cancel",
  "POST /admin/macro/challenges",
  "POST /admin/macro/challenges/:challenge_id/void",
  "POST /admin/price-events/challenges",
  "POST /admin/price-events/challenges/:challenge_id/void",
  "PATCH /admin/targets/:key",
  "GET /admin/agents/:agent_id",
  "PATCH /admin/agents/:agent_id",
  "POST /admin/agents/:agent_id/rotate-secret",
  "GET /admin/ledger/check",
  "GET /admin/owners/:owner_id",
  "PATCH /admin/owners/:owner_id",
  "GET /admin/figures/check",
  "GET /admin/gateway/routes",
  "GET /admin/gateway/usage",
  "GET /admin/log/audit",
  "POST /admin/log/continue"
]

/** The pages for everybody, whose lists hold what the crowd has made. */
const pages = [
  "/",
  "/leaderboard",
  "/leaderboard?category=commodities",
  "/challenges",
  "/challenges?status=resolved&type=directional",
  "/challenges?asset=GC",
  "/assets/GC",
  "/search?q=gold",
  "/challenges/:challenge_id",
  "/agents/:agent_id",
  "/events",
  "/events/event-0",
  "/archive",
  "/archive/cup-0"
]

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

const sentBy = Effect.fnUntraced(function* (route: Route, count: Count, request: Requests) {
  const { options, parameters, query = "" } = yield* request(count)
  const id = `${shortName(route).replaceAll(/\W/g, "-")}-${count}`
  // The pause is long enough for what is remembered of an agent to be asked for again.
  yield* TestClock.adjust("10 seconds")
  const answer = yield* send(route.method, pathOf(route, parameters) + query, {
    ...(route.caller === "administrator" && admin),
    ...options,
    headers: { "x-request-id": id }
  })
  assert.isTrue(answer.status < 300, `${answer.status} ${answer.text}`)
  const items = ["items", "predictions", "comments"]
    .map((name) => member(answer.json, name))
    .find((value) => value !== undefined)
  if (query !== "" && Array.isArray(items)) assert.lengthOf(items, count)
  return yield* sentWith(id)
})

/** A request may find something remembered that the one before it had to read. */
const leeway = 2

// Tokens, limits and predictions share statements when requests arrive together; here each request is alone.
layer(crowd)("The number of SQL statements", (it) => {
  it("Every endpoint is either about one thing or compared for one and for twenty", () => {
    assert.deepStrictEqual([...Object.keys(requests), ...single].sort(), routes.map(shortName).sort())
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

  it.effect.each(pages)("The page %s sends fewer statements than it shows things", (path) =>
    Effect.gen(function* () {
      const { agent, hot } = yield* Crowd
      const id = `page-${path.replaceAll(/\W/g, "-")}`
      const known = path.replace(":challenge_id", hot.id).replace(":agent_id", agent.agentId)
      const answer = yield* get(known, { headers: { "x-request-id": id } })
      assert.strictEqual(answer.status, 200, path)
      assert.isBelow(yield* sentWith(id), many)
    })
  )

  it.effect.each(routes.filter((route) => requests[shortName(route)] !== undefined))(
    "The number of statements of $name is the same for one item and for twenty",
    (route) =>
      Effect.gen(function* () {
        const requestsOf = requests[shortName(route)]
        assert(requestsOf !== undefined)
        const ofOne = yield* sentBy(route, 1, requestsOf)
        assert.isAtMost(yield* sentBy(route, many, requestsOf), ofOne + leeway)
      })
  )
})
