/** The data of the requests: agents with tokens, challenges in every state, events, prices, so that each list has pages. */
import { candleFacts, levelNames } from "../../../src/scoring/kinds/facts.ts"
import type { CandleKindName } from "../../../src/scoring/kinds/facts.ts"
import { randomUUID } from "node:crypto"
import { DateTime, Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { Arenas } from "../../../src/services/Arenas.ts"
import { Discussion } from "../../../src/services/Discussion.ts"
import { Social } from "../../../src/services/Social.ts"
import { GatewayBilling } from "../../../src/services/GatewayBilling.ts"
import { GatewayKeyId } from "../../../src/services/GatewayKeys.ts"
import { allScopes } from "../../../src/services/Scopes.ts"
import { AgentId, EventId } from "../../../src/services/domain/ids.ts"
import { Settings } from "../../../src/services/Settings.ts"
import { assertionOf, ecPair } from "../assertions.ts"
import { answeredCall } from "../gateway.ts"
import { submit } from "../challenges.ts"
import { completeLog } from "../logbook.ts"
import { anotherOperator, someOperator } from "../agents.ts"
import { passingAnswer } from "../responses.ts"
import { testAdminToken, testTokenSecret } from "../settings.ts"
import { practisedBy } from "../growth/practice.ts"
import { match, tournament } from "../tournaments.ts"
import { withDatabaseAt } from "../databaseTime.ts"
import type { Answer, Header, NoAnswer, Outgoing } from "./client.ts"
import type { Operation } from "./document.ts"
import type { Hints } from "./generate.ts"

/** The ways to reach an operation, which the document cannot tell. */
export interface Sample {
  readonly params: Readonly<Record<string, string>>
  /** Query parameters that need a value of this fixture. */
  readonly query: Readonly<Record<string, string>>
  readonly hints: Hints
  /** Fields that exclude the others. */
  readonly without?: ReadonlyArray<string>
  /** Hints for the alternatives of a body that have this field. */
  readonly byField?: Readonly<Record<string, Hints>>
}

/** Makes a sample; parts that a request uses up are made anew each time. */
export type Way = Effect.Effect<Sample, NoAnswer>

type Send = (outgoing: Outgoing) => Effect.Effect<Answer, NoAnswer>

/** The levels that a kind does not name. */
const levelsBut = (kind: CandleKindName): ReadonlyArray<string> =>
  levelNames.filter((name) => !candleFacts[kind].levels.includes(name))

const Registered = Schema.Struct({
  agent_id: AgentId,
  client_secret: Schema.String,
  challenge_id: Schema.String
})
const Token = Schema.Struct({ access_token: Schema.String })
const Created = Schema.Struct({ id: Schema.String })
const Imported = Schema.Struct({ quarantined: Schema.Array(Created) })
const Stored = Schema.Struct({ events: Schema.Array(Schema.Struct({ event_id: Schema.String })) })

const NewKey = Schema.Struct({ key_id: GatewayKeyId })

const Archived = Schema.Struct({ slug: Schema.String })

const json: Header = ["content-type", "application/json"]
const bearer = (token: string): Header => ["authorization", `Bearer ${token}`]

export const makeFixture = Effect.fnUntraced(function* (send: Send) {
  const arenas = yield* Arenas
  const sql = yield* SqlClient.SqlClient
  const start = yield* DateTime.now
  // Questions are frozen with whole seconds, so prices have whole seconds, too.
  const hoursFromNow = (hours: number) =>
    DateTime.formatIso(DateTime.startOf(DateTime.add(start, { hours }), "second"))

  const post = Effect.fnUntraced(function* <A>(
    schema: Schema.Codec<A, unknown>,
    target: string,
    body: unknown,
    ...headers: ReadonlyArray<Header>
  ) {
    const answer = yield* send({
      method: "POST",
      target,
      headers: [json, ...headers],
      body: JSON.stringify(body)
    })
    return yield* Schema.decodeEffect(Schema.fromJsonString(schema))(answer.text).pipe(
      Effect.mapError(
        (cause) => new Error(`POST ${target} answered ${answer.status} ${answer.text}`, { cause })
      ),
      Effect.orDie
    )
  })
  const admin = bearer(testAdminToken)
  const asAdmin = <A>(schema: Schema.Codec<A, unknown>, path: string, body: unknown) =>
    post(schema, `/api/v1/admin/${path}`, body, admin)

  let names = 0
  const registerWith = (fields: Readonly<Record<string, string>>) =>
    Effect.suspend(() => {
      names += 1
      return post(Registered, "/api/v1/agent/registry/register", { name: `Agent ${names}`, ...fields })
    })
  const register = registerWith({})

  /** The answer that passes an agent's registration challenge. */
  const answerTo = Effect.fnUntraced(function* (challengeId: string) {
    const rows = yield* Effect.orDie(
      sql`select prompt from registration_challenges where id = ${challengeId}::uuid`.values
    )
    return passingAnswer(String(rows[0]?.[0]))
  })
  const passedBy = Effect.fnUntraced(function* (fields: Readonly<Record<string, string>>) {
    const registered = yield* registerWith(fields)
    const path = `/api/v1/agent/challenge/${registered.challenge_id}/submit`
    const answer = yield* answerTo(registered.challenge_id)
    yield* post(Schema.Struct({ passed: Schema.Literal(true) }), path, { answer })
    return registered
  })
  const passed = passedBy({})
  const tokenOf = ({ agent_id, client_secret }: typeof Registered.Type) =>
    post(Token, "/api/v1/agent/auth/token", { grant_type: "client_credentials", agent_id, client_secret })

  const createChallenge = (deadline: string, resolve_at = deadline) =>
    asAdmin(Created, "challenges", { asset: "GC", deadline, resolve_at, open_price: 2000 })

  const macroOf = (deadline: string, terms: Readonly<Record<string, string>> = {}) =>
    asAdmin(Created, "macro/challenges", {
      asset: "CPI",
      period: "2026-03",
      deadline,
      reference_scale: 0.12,
      bin_edges: [3, 3.1],
      reward_pool: 0,
      ...terms
    })
  /** A whole hour, and a Monday. */
  const farMonday = "2031-05-05T00:00:00Z"
  const priceEventOf = (deadline: string) =>
    asAdmin(Created, "price-events/challenges", {
      kind: "threshold",
      asset: "ETH",
      level: 2000,
      deadline,
      resolve_at: farMonday
    })
  const settledMacro = Effect.gen(function* () {
    const { id } = yield* macroOf(hoursFromNow(-24))
    yield* asAdmin(Created, `macro/challenges/${id}/resolve`, { actual_value: 1.25 })
    return { id }
  })
  /** Enough first prints of a series to compute a reference scale from. */
  const printed = (terms: Readonly<Record<string, string>>) =>
    Effect.forEach(
      Array.from({ length: 25 }, (_, month) => month),
      (month) =>
        Effect.flatMap(macroOf(hoursFromNow(-24), terms), ({ id }) =>
          asAdmin(Created, `macro/challenges/${id}/resolve`, { actual_value: month % 7 })
        )
    )
  yield* printed({})
  yield* printed({ unit: "%" })

  const agent = yield* passed
  const rival = yield* passed
  const pair = ecPair()
  const signer = passedBy({ auth_method: "private_key_jwt", public_key: pair.pem })
  const [keyed, signing] = [yield* signer, yield* signer]
  // The agents are claimed, so that no scope is withheld, by an owner whose plan stays.
  const claimant = yield* Effect.orDie(anotherOperator)
  yield* Effect.orDie(sql`
    update agents set claimed_at = provisional_until, owner_id = ${claimant}::uuid, prediction_limit = null
     where id in (${agent.agent_id}::uuid, ${signing.agent_id}::uuid)`)
  const settings = yield* Settings
  const assertedBy = ({ agent_id }: { readonly agent_id: string }) =>
    assertionOf(agent_id, pair).pipe(Effect.provideService(Settings, settings))
  const asserted = assertedBy(keyed)
  const { access_token: first } = yield* tokenOf(agent)
  // This scope is not granted by default, and takes effect with the next token.
  yield* post(Schema.Json, "/api/v1/agent/scopes", { add: ["credits:stake"] }, bearer(first))
  const { access_token } = yield* tokenOf(agent)
  const scopeless = yield* passed
  const { access_token: everything } = yield* tokenOf(scopeless)
  yield* post(Schema.Json, "/api/v1/agent/scopes", { remove: allScopes }, bearer(everything))
  const { access_token: scopelessToken } = yield* tokenOf(scopeless)
  const events = yield* asAdmin(Stored, "events", {
    events: [1, 2, 3].map((n) => ({ title: `Event ${n}`, spaces: ["finance"], assets: ["GC"] }))
  })
  const eventId = events.events[0]?.event_id ?? "none"

  // A comment of the agent with replies, and a comment with a reply of another agent, which it may like.
  const discussion = yield* Discussion
  const newsId = EventId.make(eventId)
  const comment = (agentId: AgentId, parent?: string) =>
    Effect.orDie(
      discussion.post(agentId, {
        news_id: newsId,
        content: "What I think.",
        parent_comment_id: parent ?? null
      })
    )
  const social = yield* Social
  for (const followed of [rival.agent_id, keyed.agent_id]) {
    yield* Effect.orDie(social.follow(agent.agent_id, followed))
    yield* Effect.orDie(social.follow(followed, agent.agent_id))
  }
  const theirs = yield* comment(rival.agent_id)
  const theirReply = yield* comment(rival.agent_id, theirs.comment_id)
  yield* comment(keyed.agent_id)
  const own = yield* comment(agent.agent_id)
  for (let n = 0; n < 4; n++) yield* comment(agent.agent_id, own.comment_id)

  // Three settled challenges of yesterday: an agent predicted them in time, and sent a paper-trade signal later.
  const yesterday = hoursFromNow(-24)
  const settled = yield* Effect.forEach([1, 2, 3], () => createChallenge(yesterday))
  const [oldest = { id: "none" }, , newest = { id: "none" }] = settled
  const predict = (agentId: AgentId, challengeId: string, hours: number) =>
    submit({
      agentId,
      challengeId,
      answer: { direction: "bullish", confidence: 0.75, reasoning: "Because." },
      receivedAt: DateTime.add(start, { hours })
    }).pipe(withDatabaseAt(DateTime.add(start, { hours })))
  const commits: Array<string> = []
  for (const { id } of settled) {
    const { answer } = yield* predict(agent.agent_id, id, -25)
    commits.push(answer.receipt?.commit ?? "none")
    yield* predict(rival.agent_id, id, -25)
  }
  const quotes = { asset: "GC", quotes: [{ time: yesterday, price: 2100 }] }
  yield* asAdmin(Imported, "prices", quotes)
  const candles = ["00", "01", "02"].map((hour) => ({
    time: `2024-12-02T${hour}:00:00Z`,
    open: 5,
    high: 6,
    low: 4,
    close: 5
  }))
  yield* asAdmin(Imported, "prices", { asset: "ES", interval: "1h", candles })
  // This one closed yesterday, too, and is settled by tomorrow's price: signals on it take positions.
  const waiting = yield* createChallenge(yesterday, hoursFromNow(24))
  yield* predict(agent.agent_id, oldest.id, -23)
  for (const hours of [-23, -22, -21]) yield* predict(agent.agent_id, waiting.id, hours)
  const report = yield* asAdmin(Schema.Struct({ resolved: Schema.Array(Schema.String) }), "settle", undefined)
  if (report.resolved.length !== settled.length)
    return yield* Effect.die(new Error("the fixture was not settled"))
  yield* completeLog

  for (const slug of ["world-cup", "league-1", "league-2"]) {
    yield* asAdmin(Archived, "archive", tournament({ slug, matches: 3 }))
  }

  yield* practisedBy(agent.agent_id, 3)

  // Nothing is sold here, so these cannot be begun over HTTP.
  yield* sql`
    insert into purchases (id, owner_id, key, credits, amount, currency, created_at)
    select uuidv7(), ${yield* someOperator}::uuid, 'key-' || n, 500000000, 500, 'eur', ${DateTime.toDateUtc(start)}
      from generate_series(1, 3) as n`

  for (const idempotency_key of ["first", "second", "third"]) {
    yield* asAdmin(Created, `agents/${agent.agent_id}/credits`, {
      amount: 1.5,
      reason: "Because.",
      idempotency_key
    })
  }

  yield* asAdmin(Created, `agents/${agent.agent_id}/credits`, {
    amount: 1_000_000,
    reason: "To stake.",
    idempotency_key: "stakes"
  })
  /** A pool that the agent may stake in. */
  const forecastMacro = Effect.tap(
    Effect.map(macroOf(hoursFromNow(48)), ({ id }) => id),
    (id) =>
      submit({
        agentId: agent.agent_id,
        challengeId: id,
        answer: { predicted_value: 3.1, predicted_std: 0.1 },
        receivedAt: start
      }).pipe(Effect.orDie, Effect.provideService(Arenas, arenas))
  )
  const forecastOnce = yield* forecastMacro

  /** Two agents for any administrative action, and challenges that no other request needs. */
  const bystander = yield* passed
  const owner = yield* Effect.orDie(someOperator)
  // The agent may use the gateway, and has used it.
  yield* Effect.orDie(sql`update operators set plan = 'team' where id = ${claimant}::uuid`)
  yield* Effect.orDie(sql`update agents set credit_arena_enabled = true where id = ${agent.agent_id}::uuid`)
  const newKey = post(NewKey, "/api/v1/llm/keys", {}, bearer(access_token))
  const [key] = yield* Effect.all([newKey, newKey, newKey])
  const hookUrl = "https://hooks.example.com/"
  const hooks = "/api/v1/agent/webhooks"
  const newHook = post(
    Schema.Struct({ webhook_id: Schema.String }),
    hooks,
    { url: hookUrl, types: ["event.published"] },
    bearer(access_token)
  )
  const told = yield* newHook
  // Nothing is sent here; a webhook has at most one waiting test.
  yield* sql`
    insert into webhook_deliveries (webhook_id, notice_id, type, payload, created_at)
    select ${told.webhook_id}::uuid, uuidv7(), 'webhook.test', '{}', ${DateTime.toDateUtc(start)} from generate_series(1, 3)`
  const [sent = []] = yield* sql`
    select notice_id::text from webhook_deliveries where webhook_id = ${told.webhook_id}::uuid limit 1`.values
  const sentTo = { webhook_id: told.webhook_id, notice_id: String(sent[0]) }
  const billing = yield* GatewayBilling
  for (const requestId of ["first", "second", "third"]) {
    yield* billing.settle(
      answeredCall({
        callId: randomUUID(),
        holder: { keyId: key.key_id, agentId: agent.agent_id },
        requestId,
        model: "swift-1",
        style: "openai",
        stream: false,
        reserved: 0n,
        createdAt: DateTime.toEpochMillis(start)
      })
    )
  }
  const [open] = yield* Effect.forEach([1, 2, 3], () => createChallenge(hoursFromNow(48)))
  if (open === undefined) return yield* Effect.die(new Error("no challenge was made"))
  const subscribe = {
    method: "POST",
    target: "/api/v1/agent/prediction-scope/GC",
    headers: [bearer(access_token)]
  }
  yield* send(subscribe)
  yield* send({ ...subscribe, target: "/api/v1/agent/prediction-scope/ETH" })
  const priceEvent = yield* priceEventOf(hoursFromNow(48))
  for (const path of [`challenges/${open.id}`, `price-events/challenges/${priceEvent.id}`]) {
    const first = { direction: "bullish", confidence: 0.5 }
    yield* post(Schema.Unknown, `/api/v1/eval/${path}/predict`, first, bearer(access_token))
  }
  const tomorrow = hoursFromNow(24)
  let price = 2100
  /** All contradictions are of one point, so that decisions about them meet. */
  const contradiction = Effect.suspend(() => {
    price += 1
    return asAdmin(Imported, "prices", { asset: "GC", quotes: [{ time: yesterday, price }] })
  }).pipe(Effect.map(({ quarantined }) => quarantined[0]?.id ?? "none"))
  yield* Effect.all([contradiction, contradiction, contradiction])

  const sample = (given: Partial<Sample>): Sample => ({ params: {}, query: {}, hints: {}, ...given })
  const always = (given: Partial<Sample>) => Effect.succeed(sample(given))
  let logNames = 0
  const newLogName = Effect.sync(() => {
    logNames += 1
    return sample({ hints: { origin: `arena.example/log/${logNames}` } })
  })
  let tournaments = 0
  const newTournament = Effect.sync(() => {
    tournaments += 1
    return sample({
      hints: { slug: `cup-${tournaments}`, ended_at: "2026-02-28T20:00:00Z", "challenges.*": { ...match(0) } }
    })
  })
  let grants = 0
  const newGrant = (params: Sample["params"]) =>
    Effect.sync(() => {
      grants += 1
      return sample({ params, hints: { idempotency_key: `grant-${grants}` } })
    })
  // The document does not tell when these are rejected: beside another reason, revision or scope.
  const without = ["rationale", "expected_revision", "amount", "probabilities", "quantiles", "samples"]
  const ways: Readonly<Record<string, readonly [Way, ...ReadonlyArray<Way>]>> = {
    "registration.submitChallenge": [
      Effect.map(register, ({ challenge_id }) => sample({ params: { challenge_id } })),
      Effect.gen(function* () {
        const { challenge_id } = yield* register
        return sample({
          params: { challenge_id },
          hints: { answer: { ...(yield* answerTo(challenge_id)) } }
        })
      })
    ],
    "registration.readChallenge": [
      Effect.map(register, ({ agent_id, challenge_id, client_secret }) =>
        sample({ params: { challenge_id }, hints: { agent_id, client_secret } })
      )
    ],
    "registration.resendSecret": [
      Effect.map(register, ({ agent_id, challenge_id }) => sample({ hints: { agent_id, challenge_id } }))
    ],
    "registration.refreshClaimLink": [
      Effect.map(asserted, (client_assertion) =>
        sample({
          byField: {
            client_secret: { agent_id: rival.agent_id, client_secret: rival.client_secret },
            client_assertion: { agent_id: keyed.agent_id, client_assertion }
          }
        })
      )
    ],
    // These agents are claimed, so nobody waits for a claim.
    "registration.awaitClaim": [
      Effect.map(assertedBy(signing), (client_assertion) =>
        sample({
          byField: {
            client_secret: { agent_id: agent.agent_id, client_secret: agent.client_secret },
            client_assertion: { agent_id: signing.agent_id, client_assertion }
          }
        })
      )
    ],
    "registration.register": [
      always({ hints: { auth_method: "client_credentials" }, without: ["public_key", "jwks_url"] }),
      always({ hints: { auth_method: "private_key_jwt", public_key: pair.pem }, without: ["jwks_url"] }),
      always({
        hints: { auth_method: "private_key_jwt", jwks_url: "https://keys.example.com/jwks" },
        without: ["public_key"]
      })
    ],
    "registration.issueToken": [
      Effect.map(asserted, (client_assertion) =>
        sample({
          byField: {
            client_secret: { agent_id: agent.agent_id, client_secret: agent.client_secret },
            client_assertion: { agent_id: keyed.agent_id, client_assertion }
          }
        })
      )
    ],
    "agent.addScopes": [always({ hints: { "add.*": "space:read", "remove.*": "credits:read" } })],
    "agent.subscribe": [always({ params: { scope_key: "GC" } })],
    "agent.unsubscribe": [always({ params: { scope_key: "ZS" } })],
    "questions.open": [always({ query: { asset: "GC", closing_before: "2031-05-05T00:00:00Z" } })],
    "questions.openQuestion": [always({ params: { challenge_id: open.id } })],
    "answers.predictAll": [always({ hints: { "predictions.*.challenge_id": open.id } })],
    "arena.predict": [
      Effect.map(createChallenge(tomorrow), ({ id }) =>
        sample({ params: { challenge_id: id }, without: [...without, "predicted_value", "predicted_std"] })
      ),
      always({
        params: { challenge_id: open.id },
        hints: { is_revision: true },
        without: [...without, "predicted_value", "predicted_std"]
      }),
      always({ params: { challenge_id: forecastOnce }, without: [...without, "direction", "confidence"] })
    ],
    "macro.forecast": [
      Effect.map(macroOf(hoursFromNow(48)), ({ id }) => sample({ params: { challenge_id: id }, without })),
      always({ params: { challenge_id: forecastOnce }, without })
    ],
    "macro.stake": [
      Effect.map(forecastMacro, (id) => sample({ params: { challenge_id: id }, hints: { amount: 50 } }))
    ],
    "priceEvents.answer": [
      Effect.map(priceEventOf(hoursFromNow(48)), ({ id }) =>
        sample({ params: { challenge_id: id }, without })
      ),
      always({ params: { challenge_id: priceEvent.id }, hints: { is_revision: true }, without })
    ],
    "admin.createPriceEvent": [
      always({
        hints: {
          kind: "barrier",
          asset: "ETH",
          level: 2000.5,
          deadline: tomorrow,
          window_from: "2031-05-04T13:00:00Z",
          resolve_at: farMonday
        },
        without: [...levelsBut("barrier"), "reference_scale"]
      }),
      always({
        hints: { kind: "numeric_close", asset: "BTC", deadline: tomorrow, resolve_at: farMonday },
        without: [...levelsBut("numeric_close"), "window_from"]
      }),
      always({
        hints: { kind: "count_days", asset: "BTC", deadline: tomorrow, resolve_at: farMonday },
        without: [...levelsBut("count_days"), "window_from", "reference_scale"]
      }),
      always({
        hints: {
          kind: "range",
          asset: "ETH",
          low: 2000.5,
          high: 2100,
          deadline: tomorrow,
          resolve_at: farMonday
        },
        without: [...levelsBut("range"), "window_from", "reference_scale"]
      })
    ],
    "admin.voidPriceEvent": [
      Effect.map(priceEventOf(hoursFromNow(-24)), ({ id }) => sample({ params: { challenge_id: id } }))
    ],
    "webhooks.create": [always({ hints: { url: hookUrl } })],
    "webhooks.update": [Effect.map(newHook, (params) => sample({ params, hints: { url: hookUrl } }))],
    "webhooks.remove": [Effect.map(newHook, (params) => sample({ params }))],
    "webhooks.rotate": [Effect.map(newHook, (params) => sample({ params }))],
    "webhooks.test": [Effect.map(newHook, (params) => sample({ params }))],
    "webhooks.deliveries": [always({ params: sentTo })],
    "webhooks.redeliver": [always({ params: sentTo })],
    "gateway.createKey": [
      always({
        hints: { expires_at: "2031-05-05T00:00:00Z", credit_limit: 1.5 },
        without: ["allowed_models"]
      })
    ],
    "gateway.changeKey": [
      Effect.map(newKey, ({ key_id }) =>
        sample({
          params: { key_id },
          hints: { expires_at: "2031-05-05T00:00:00Z", credit_limit: 1.5 },
          without: ["allowed_models"]
        })
      )
    ],
    "gatewayUsage.key": [Effect.map(newKey, ({ key_id }) => sample({ params: { key_id } }))],
    "gateway.revokeKey": [Effect.map(newKey, ({ key_id }) => sample({ params: { key_id } }))],
    "gatewayUsage.usage": [
      always({ query: { since: "2001-01-01T00:00:00Z", until: "2031-05-05T00:00:00.123Z" } })
    ],
    "public.odds": [always({ params: { challenge_id: forecastOnce } })],
    "public.skill": [always({ params: { agent_id: agent.agent_id } })],
    "public.compare": [always({ query: { a: agent.agent_id, b: rival.agent_id } })],
    "public.reference": [always({ params: { challenge_id: oldest.id } })],
    "public.calibrationOfAgent": [always({ params: { agent_id: agent.agent_id } })],
    "admin.createMacroChallenge": [
      always({
        hints: {
          asset: "CPI",
          unit: "%",
          deadline: tomorrow,
          release_at: tomorrow,
          reference_scale: 0.12,
          bin_edges: [3, 3.1],
          reward_pool: 1.5
        },
        without: ["categories"]
      })
    ],
    "admin.resolveMacroChallenge": [
      Effect.map(macroOf(hoursFromNow(-24)), ({ id }) => sample({ params: { challenge_id: id } }))
    ],
    "admin.amendChallenge": [
      Effect.map(settledMacro, ({ id }) =>
        sample({ params: { challenge_id: id }, without: ["close_price"] })
      ),
      always({
        params: { challenge_id: newest.id },
        hints: { close_price: 102.5 },
        without: ["actual_value"]
      })
    ],
    "admin.voidMacroChallenge": [
      Effect.map(macroOf(hoursFromNow(-24)), ({ id }) => sample({ params: { challenge_id: id } }))
    ],
    "arena.paperSignals": [
      always({ params: { challenge_id: waiting.id } }),
      always({ params: { challenge_id: oldest.id } })
    ],
    "public.candles": [
      always({
        params: { asset: "ES" },
        query: { from: "2024-12-01T00:00:00Z", before: "2025-01-01T00:00:00Z", interval: "1h" }
      })
    ],
    "public.releases": [
      always({ query: { asset: "CPI", from: "2024-12-01T00:00:00Z", before: "2099-01-01T00:00:00Z" } })
    ],
    "public.challenges": [always({ query: { asset: "GC", event_id: eventId } })],
    "public.challenge": [always({ params: { challenge_id: oldest.id } })],
    "public.results": [always({ params: { challenge_id: oldest.id } })],
    "publicDiscussion.event": [always({ params: { event_id: eventId } })],
    "publicDiscussion.comments": [always({ params: { news_id: eventId } })],
    "publicDiscussion.replies": [always({ params: { news_id: eventId, comment_id: own.comment_id } })],
    "discussion.interactionContext": [always({ params: { news_id: eventId } })],
    "discussion.post": [
      always({ hints: { news_id: eventId, parent_comment_id: null } }),
      always({ hints: { news_id: eventId, parent_comment_id: own.comment_id } })
    ],
    "discussion.reply": [always({ params: { comment_id: own.comment_id } })],
    "discussion.likeComment": [always({ params: { comment_id: theirs.comment_id } })],
    "discussion.unlikeComment": [always({ params: { comment_id: theirs.comment_id } })],
    "discussion.likeReply": [always({ params: { reply_id: theirReply.comment_id } })],
    "discussion.unlikeReply": [always({ params: { reply_id: theirReply.comment_id } })],
    "social.follow": [always({ hints: { target_agent_id: rival.agent_id } })],
    "social.unfollow": [always({ params: { agent_id: bystander.agent_id } })],
    "social.agentProfile": [always({ params: { agent_id: rival.agent_id } })],
    "public.scorecard": [always({ params: { agent_id: agent.agent_id } })],
    "public.events": [always({ query: { asset: "GC" } })],
    "public.archivedTournament": [always({ params: { slug: "world-cup" } })],
    "public.eventsToday": [always({ query: { asset: "GC" } })],
    "log.entry": [always({ params: { commit: commits[0] ?? "none" } })],
    "log.proof": [always({ params: { commit: commits[1] ?? "none" } })],
    "log.entryProof": [always({ params: { leaf_index: "0" } })],
    "log.settlementProof": [always({ params: { challenge_id: oldest.id } })],
    "admin.importEvents": [
      always({
        hints: {
          "events.*.assets.*": "GC",
          "events.*.event_id": "known-1",
          "events.*.url": "https://example.com/a?b=c"
        }
      })
    ],
    "admin.continueLog": [newLogName],
    "admin.importTournament": [newTournament],
    "admin.replaceReleaseCalendar": [
      always({
        hints: {
          "releases.*.asset": "CPI",
          "releases.*.release_at": tomorrow,
          "releases.*.deadline": tomorrow,
          "releases.*.bin_edges": [3, 3.1],
          "releases.*.reward_pool": 1.5
        },
        without: ["categories"]
      })
    ],
    "admin.importPrices": [
      always({
        hints: {
          // Every price is possible for this asset.
          asset: "CL",
          "candles.*": { time: "2025-01-01T00:00:00Z", open: 10, high: 12.5, low: 9, close: 11 },
          "quotes.*.time": "2025-01-01T00:00:00.123Z"
        }
      })
    ],
    "admin.decideQuarantined": [Effect.map(contradiction, (id) => sample({ params: { id } }))],
    "admin.createChallenge": [
      always({ hints: { asset: "GC", event_id: eventId, deadline: tomorrow, resolve_at: tomorrow } })
    ],
    "admin.cancelChallenge": [
      Effect.map(createChallenge(tomorrow), ({ id }) => sample({ params: { challenge_id: id } }))
    ],
    "admin.changeTarget": [always({ params: { key: "ES" } })],
    "admin.getAgent": [always({ params: { agent_id: bystander.agent_id } })],
    "admin.changeAgent": [always({ params: { agent_id: bystander.agent_id } })],
    "admin.rotateSecret": [always({ params: { agent_id: bystander.agent_id } })],
    "admin.grantAgent": [newGrant({ agent_id: bystander.agent_id })],
    "admin.grantOwner": [newGrant({ owner_id: owner })],
    "admin.getOwner": [always({ params: { owner_id: owner } })],
    "admin.changeOwner": [always({ params: { owner_id: owner } })]
  }
  const plain: readonly [Way] = [always({})]

  const adminOnly = (operation: Operation) => operation.path.startsWith("/api/v1/admin/")

  return {
    agentId: agent.agent_id,
    agentToken: access_token,
    scopelessToken,
    openChallenge: open.id,
    /** Strings that no answer may contain, except the answers that issue them. */
    secrets: [
      testAdminToken,
      testTokenSecret,
      agent.client_secret,
      rival.client_secret,
      bystander.client_secret
    ],
    passingAnswer,
    register,
    /** The first way takes any body that the document allows. */
    waysOf: (operation: Operation) => ways[operation.operationId] ?? plain,
    credentialFor: (operation: Operation): ReadonlyArray<Header> => {
      if (!operation.secured) return []
      return [adminOnly(operation) ? admin : bearer(access_token)]
    },
    /** A credential that is authentic, but of the other kind. */
    otherCredentialFor: (operation: Operation): string =>
      adminOnly(operation) ? access_token : testAdminToken
  }
})

export type Fixture = Effect.Success<ReturnType<typeof makeFixture>>
