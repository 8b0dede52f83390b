/** Posted notices: signed, each to its holder, repeated until taken, and no webhook delays another. */
import { createServer } from "node:http"
import type { IncomingHttpHeaders } from "node:http"
import { assert, layer } from "@effect/vitest"
import { Context, DateTime, Effect, Exit, Fiber, Layer, Result, Schema, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { Webhook as StandardWebhook } from "standardwebhooks"
import { Webhook as SvixWebhook } from "svix"
import type { DeliveryOptions } from "../../src/layers/postgres/notices/deliveries.ts"
import * as WebhooksOnPostgres from "../../src/layers/postgres/notices/Webhooks.ts"
import { Mailer } from "../../src/services/Mailer.ts"
import { Notices } from "../../src/services/Notices.ts"
import type { NoticeType } from "../../src/services/Notices.ts"
import { Registry } from "../../src/services/Registry.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import { Webhooks } from "../../src/services/Webhooks.ts"
import type { Holder, Maker } from "../../src/services/Credits.ts"
import type { AgentId } from "../../src/services/domain/ids.ts"
import { agentOf, anotherOperator, claimedAgent, provisionalAgent } from "../support/agents.ts"
import {
  forecast,
  freshWeek,
  importQuotes,
  moveTo,
  newChallenge,
  newMacro,
  plus,
  predict
} from "../support/challenges.ts"
import { asOwner } from "../support/database.ts"
import { oneIn } from "../support/breadth.ts"
import { stake, staker, stakers } from "../support/credit.ts"
import { comment, newEvent } from "../support/discussion.ts"
import { portOf } from "../support/noticeReaders.ts"
import { epochMillis } from "../support/growth/identifiers.ts"
import { jwksTricks } from "../support/jwksTricks.ts"
import { Mailbox } from "../support/mailbox.ts"
import { held, meeting } from "../support/locking.ts"
import { TelemetryRecorder, telemetryRecorder } from "../support/telemetryRecorder.ts"
import { testServices } from "../support/services.ts"

interface Received {
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

const Body = Schema.fromJsonString(
  Schema.Struct({
    type: Schema.String,
    agent_id: Schema.NullOr(Schema.String),
    data: Schema.Struct({ id: Schema.String, subject: Schema.Record(Schema.String, Schema.String) })
  })
)
const bodyOf = Schema.decodeUnknownSync(Body)

const nothing: Received = { headers: {}, body: "" }

/** A server that answers with a set status, 204 by default; undefined means no answer. */
const receiver = Effect.gen(function* () {
  const received: Array<Received> = []
  const state: { status: number | undefined; to: string | undefined } = { status: 204, to: undefined }
  const server = createServer((request, response) => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => void chunks.push(chunk))
    request.on("end", () => {
      const body = Buffer.concat(chunks).toString()
      received.push({ headers: request.headers, body })
      const status = state.to === undefined || bodyOf(body).type === state.to ? state.status : 204
      if (status === undefined) return
      response.writeHead(status, { location: "http://127.0.0.1:1/" })
      // Nobody reads this body.
      response.end(status === 200 ? Buffer.alloc(10_000_000) : undefined)
    })
  })
  const port = yield* portOf(server)
  return {
    url: `http://127.0.0.1:${port}/hook`,
    received,
    /** Sets the answer from now on, to this type or to all. */
    answer: (status: number | undefined, to?: string) => void Object.assign(state, { status, to })
  }
})

const told = (received: ReadonlyArray<Received>) =>
  received.map(({ body }) => {
    const { agent_id, data, type } = bodyOf(body)
    return [type, agent_id, ...Object.values(data.subject)]
  })

const make = (by: Holder, url: string, ...types: ReadonlyArray<NoticeType>) =>
  Webhooks.use((webhooks) =>
    Effect.andThen(
      Notices.use(({ advance }) => advance),
      webhooks.create(by, { url, types })
    )
  )

/** Sends all notices so far, and records the results. */
const deliver = Effect.gen(function* () {
  const webhooks = yield* Webhooks
  yield* Notices.use(({ advance }) => advance)
  yield* webhooks.dispatch
  yield* Effect.flatMap(webhooks.send, Fiber.joinAll)
})

const ofAgent = (id: string) => ({ kind: "agent", id }) as const

const deliveriesOf = (by: Holder, id: string) =>
  Webhooks.use((webhooks) => webhooks.deliveries(by, id, { limit: 50, cursor: undefined }))

const hookOf = (by: Holder, id: string) =>
  Effect.map(
    Webhooks.use((webhooks) => webhooks.list(by)),
    (hooks) => hooks.find(({ webhook_id }) => webhook_id === id)
  )

/** Another instance on the same database. */
const replica = (options?: DeliveryOptions) =>
  Effect.map(Layer.build(Layer.fresh(WebhooksOnPostgres.layerWith(options))), Context.get(Webhooks))

const minutesBetween = (from: string | null | undefined, until: string | null | undefined) =>
  typeof from === "string" && typeof until === "string"
    ? (Date.parse(until) - Date.parse(from)) / 60_000
    : undefined

layer(testServices())("A webhook", (it) => {
  it.effect("A webhook gets the notices to everybody and to its agent, each once", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const [agent, other] = [yield* claimedAgent(), yield* claimedAgent()]
      const { received, url } = yield* receiver
      const { webhook_id } = yield* make(
        ofAgent(agent),
        url,
        "challenge.settled",
        "prediction.settled",
        "comment.mentioned"
      )
      const challenge = yield* newChallenge()
      const { answer } = yield* predict(agent, challenge)
      yield* predict(other, challenge)
      const event = yield* newEvent()
      const { comment_id } = yield* comment(other, event, { content: `What says @${agent}?` })
      yield* moveTo(plus(now, "1 hour"))
      yield* importQuotes("GC", [[plus(now, "1 hour"), 110]])
      yield* Scoring.use((scoring) => scoring.settleDue)
      yield* deliver
      yield* deliver
      assert.sameDeepMembers(told(received), [
        ["comment.mentioned", agent, event.event_id, comment_id],
        ["challenge.settled", null, challenge.id],
        ["prediction.settled", agent, challenge.id, answer.prediction_id]
      ])
      const { items } = yield* deliveriesOf(ofAgent(agent), webhook_id)
      assert.deepStrictEqual<unknown>(
        items.map(({ attempts, state, status }) => [state, attempts, status]),
        [1, 2, 3].map(() => ["delivered", 1, 204])
      )
    })
  )

  it.effect("A webhook is signed by Standard Webhooks, with both secrets for a day after a rotation", () =>
    Effect.gen(function* () {
      // The libraries look at the real time.
      yield* TestClock.setTime(epochMillis())
      const by = ofAgent(yield* claimedAgent())
      const { received, url } = yield* receiver
      const { secret, webhook_id: id } = yield* make(by, url, "key.revoked")
      const webhooks = yield* Webhooks
      const isVerified = (made: string) => {
        const { body, headers } = received.at(-1) ?? nothing
        const sent = {
          "webhook-id": String(headers["webhook-id"]),
          "webhook-timestamp": String(headers["webhook-timestamp"]),
          "webhook-signature": String(headers["webhook-signature"])
        }
        assert.deepStrictEqual(
          [bodyOf(body).data.id, headers["content-type"]],
          [sent["webhook-id"], "application/json"]
        )
        return [new StandardWebhook(made), new SvixWebhook(made)].map((verifier) => {
          assert.throws(() => verifier.verify(`${body} `, sent))
          return Result.isSuccess(Result.try(() => verifier.verify(body, sent)))
        })
      }
      yield* webhooks.test(by, id)
      yield* deliver
      assert.deepStrictEqual(isVerified(secret), [true, true])
      const rotated = yield* webhooks.rotate(by, id)
      yield* webhooks.test(by, id)
      yield* deliver
      assert.deepStrictEqual([...isVerified(secret), ...isVerified(rotated.secret)], [true, true, true, true])
      yield* moveTo(DateTime.makeUnsafe(rotated.old_secret_until))
      yield* webhooks.test(by, id)
      yield* deliver
      assert.lengthOf(received, 3)
      const { headers } = received.at(-1) ?? nothing
      assert.lengthOf(String(headers["webhook-signature"]).split(" "), 1)
    })
  )

  it.effect("A webhook of an owner gets the notices to its agents, and no others'", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const challenge = yield* newMacro({ reward_pool: 100 })
      const owner = yield* anotherOperator
      const agent = yield* staker(1000, owner)
      const another = yield* agentOf(owner)
      const [other = yield* Effect.die("no agent")] = yield* stakers(challenge, 1, 1000)
      for (const each of [agent, another]) yield* forecast(each, challenge)
      for (const each of [agent, other]) yield* stake(each, challenge, 100)
      const { received, url } = yield* receiver
      yield* make({ kind: "owner", id: owner }, url, "stake.settled", "prediction.settled")
      yield* deliver
      assert.deepStrictEqual(received, [])
      yield* moveTo(plus(now, "1 hour"))
      yield* Scoring.use((scoring) => scoring.resolveMacro(challenge.id, 3.1))
      yield* deliver
      assert.sameDeepMembers(
        told(received).map(([type, of, about]) => [type, of, about]),
        [
          ["prediction.settled", agent, challenge.id],
          ["prediction.settled", another, challenge.id],
          ["stake.settled", agent, told(received).find(([type]) => type === "stake.settled")?.[2]]
        ]
      )
    })
  )

  it.effect("A webhook of a suspended agent gets that notice, and nothing more", () =>
    Effect.gen(function* () {
      const agent = yield* claimedAgent()
      const { received, url } = yield* receiver
      yield* make(ofAgent(agent), url, "agent.suspended", "event.published")
      yield* Registry.use((registry) => registry.amend(agent, { suspended: true }))
      yield* newEvent()
      yield* deliver
      assert.deepStrictEqual(told(received), [["agent.suspended", agent, agent]])
    })
  )

  it.effect("A webhook gets once each notice that several instances send at the same time", () =>
    Effect.gen(function* () {
      const agent = yield* claimedAgent()
      const { received, url } = yield* receiver
      yield* make(ofAgent(agent), url, "event.published")
      const events = yield* Effect.forEach(Array.from({ length: 30 }), () => newEvent())
      const instances = [yield* Webhooks, yield* replica(), yield* replica()]
      yield* Notices.use(({ advance }) => advance)
      yield* Effect.forEach(
        Array.from({ length: 9 }),
        (_, index) => {
          const instance = instances[index % 3]
          return instance === undefined
            ? Effect.void
            : Effect.andThen(instance.dispatch, Effect.flatMap(instance.send, Fiber.joinAll))
        },
        { concurrency: "unbounded" }
      )
      yield* deliver
      assert.sameDeepMembers(
        told(received),
        events.map(({ event_id }) => ["event.published", null, event_id])
      )
    })
  )
})

layer(testServices())("Many webhooks", (it) => {
  /** Five agents of an owner and four others, with a webhook each and one of the owner for all, and notices to them. */
  const crowd = Effect.gen(function* () {
    const now = yield* freshWeek
    const owner = yield* anotherOperator
    const own = yield* Effect.forEach(Array.from({ length: 5 }), () => agentOf(owner))
    const others = yield* Effect.forEach(Array.from({ length: 4 }), () => claimedAgent())
    const { received, url } = yield* receiver
    const holders: ReadonlyArray<Holder> = [...own, ...others].map(ofAgent)
    for (const by of [...holders, { kind: "owner", id: owner } as const]) {
      yield* make(by, url, "event.published", "prediction.settled")
    }
    const challenge = yield* newChallenge()
    for (const agent of [...own, ...others]) yield* predict(agent, challenge)
    yield* newEvent()
    yield* moveTo(plus(now, "1 hour"))
    yield* importQuotes("GC", [[plus(now, "1 hour"), 110]])
    yield* Scoring.use((scoring) => scoring.settleDue)
    for (const _ of [1, 2, 3, 4]) yield* newEvent()
    yield* Notices.use(({ advance }) => advance)
    const isComplete = Effect.gen(function* () {
      yield* Effect.flatMap(
        Webhooks.use(({ send }) => send),
        Fiber.joinAll
      )
      const counts = Object.entries(Object.groupBy(told(received), ([type = ""]) => String(type))).map(
        ([type, all]) => [type, all?.length]
      )
      // An agent gets its own score, and the owner those of its five.
      assert.sameDeepMembers(counts, [
        ["event.published", 5 * 10],
        ["prediction.settled", 9 + 5]
      ])
    })
    return { isComplete, own, others }
  })

  it.effect.each(oneIn(4, [1, 2, 3, 7, 11, 16, 40, 5000]))(
    "Many webhooks get each notice once by slices of %i",
    (slice) =>
      Effect.gen(function* () {
        const { isComplete } = yield* crowd
        const { dispatch } = yield* replica({ slice })
        yield* dispatch
        yield* dispatch
        yield* isComplete
        const sql = yield* SqlClient.SqlClient
        yield* sql`delete from webhooks`
      })
  )

  it.effect("Many webhooks get each notice once where an instance ends amidst one and another goes on", () =>
    Effect.gen(function* () {
      const { isComplete } = yield* crowd
      const sql = yield* SqlClient.SqlClient
      yield* asOwner(sql`
        create function fail_late() returns trigger language plpgsql as $$
        begin
          if (select page_seq is not null and page_hook > (select id from webhooks order by id limit 1 offset 5) from webhook_state) then
            raise exception 'it ends here';
          end if;
          return null;
        end $$`)
      yield* asOwner(
        sql`create trigger fail_late after insert on webhook_deliveries for each statement execute function fail_late()`
      )
      assert.isTrue(
        Exit.isFailure(yield* Effect.exit(Effect.flatMap(replica({ slice: 2 }), ({ dispatch }) => dispatch)))
      )
      const [state] = yield* sql`select page_hook is not null from webhook_state`.values
      assert.deepStrictEqual(state, [true])
      yield* asOwner(sql`drop trigger fail_late on webhook_deliveries`)
      yield* Webhooks.use(({ dispatch }) => dispatch)
      yield* isComplete
      yield* sql`delete from webhooks`
    })
  )

  it.effect("Many webhooks get their notices also where the usual number of deliveries times out", () =>
    Effect.gen(function* () {
      const { isComplete } = yield* crowd
      const sql = yield* SqlClient.SqlClient
      yield* asOwner(sql`
        create function time_out() returns trigger language plpgsql as $$
        begin
          if (select count(*) from made) > 5 then
            raise exception 'canceling statement due to statement timeout' using errcode = 'query_canceled';
          end if;
          return null;
        end $$`)
      yield* asOwner(sql`create trigger time_out after insert on webhook_deliveries
        referencing new table as made for each statement execute function time_out()`)
      yield* Webhooks.use(({ dispatch }) => dispatch)
      yield* isComplete
      yield* asOwner(sql`drop trigger time_out on webhook_deliveries`)
    })
  )
})

layer(testServices())("The webhooks of an agent", (it) => {
  it.effect("Webhooks of an agent that nobody claimed in time are disabled when its grace ends", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const [unclaimed, claimed] = [yield* provisionalAgent(), yield* claimedAgent()]
      const { received, url } = yield* receiver
      const { webhook_id: kept } = yield* make(ofAgent(claimed), url, "event.published")
      // The version before made a webhook like this.
      const { webhook_id: id } = yield* make(ofAgent(claimed), url, "event.published")
      yield* sql`update webhooks set agent_id = ${unclaimed}::uuid where id = ${id}::uuid`
      const states = Effect.map(
        Effect.all([hookOf(ofAgent(unclaimed), id), hookOf(ofAgent(claimed), kept)]),
        (hooks) => hooks.map((hook) => [hook?.enabled, hook?.disabled_reason])
      )
      const webhooks = yield* Webhooks
      yield* webhooks.trim
      assert.deepStrictEqual(yield* states, [
        [true, null],
        [true, null]
      ])
      yield* newEvent()
      yield* Notices.use(({ advance }) => advance)
      yield* webhooks.dispatch
      yield* moveTo(plus(yield* DateTime.now, "8 days"))
      yield* webhooks.trim
      assert.deepStrictEqual(yield* states, [
        [false, "its agent was not claimed in time"],
        [true, null]
      ])
      yield* newEvent()
      yield* deliver
      assert.lengthOf(received, 2)
    })
  )

  it.effect("A rotation of an agent's secret disables its webhooks, and none of its owner or of others", () =>
    Effect.gen(function* () {
      const owner = yield* anotherOperator
      const [agent, sibling] = [yield* agentOf(owner), yield* agentOf(owner)]
      const { received, url } = yield* receiver
      const holders = [ofAgent(agent), ofAgent(sibling), { kind: "owner", id: owner } as const]
      for (const by of holders) yield* make(by, url, "event.published")
      yield* newEvent()
      yield* Notices.use(({ advance }) => advance)
      const webhooks = yield* Webhooks
      yield* webhooks.dispatch
      const rotated = yield* Registry.use((registry) => registry.rotateSecret(agent, "keep"))
      assert.strictEqual(rotated.disabled_webhooks, 1)
      yield* newEvent()
      yield* deliver
      assert.lengthOf(received, 4)
      const hooks = yield* Effect.forEach(holders, webhooks.list)
      assert.deepStrictEqual(
        hooks.map(([hook]) => hook?.disabled_reason),
        ["the secret of its agent was rotated", null, null]
      )
      const [listed, other] = yield* webhooks.listOfAgents(owner)
      assert.deepStrictEqual([listed?.agent_id, other?.agent_id], [agent, sibling])
      // The agent's owner may remove the webhook, and no other owner may.
      const id = listed?.webhook_id ?? ""
      const stranger = { kind: "owner", id: yield* anotherOperator } as const
      assert.strictEqual((yield* Effect.flip(webhooks.remove(stranger, id)))._tag, "NotFound")
      yield* webhooks.remove({ kind: "owner", id: owner }, id)
      assert.lengthOf(yield* webhooks.listOfAgents(owner), 1)
    })
  )
})

layer(testServices())("A token ended by a rotation of the secret", (it) => {
  const url = "https://hooks.example.com/arena"
  const rotate = (agent: AgentId) => Registry.use((registry) => registry.rotateSecret(agent, "keep"))

  it.effect("An ended token makes, changes and enables no webhook, and is shown no new secret", () =>
    Effect.gen(function* () {
      const agent = yield* claimedAgent()
      const by = { ...ofAgent(agent), epoch: 0 }
      const webhooks = yield* Webhooks
      const { webhook_id: id } = yield* webhooks.create(by, { url, types: ["event.published"] })
      yield* rotate(agent)
      const before = yield* webhooks.list(by)
      assert.deepInclude(before[0], { enabled: false })
      const attempts: ReadonlyArray<
        Effect.Effect<unknown, { readonly _tag: string; readonly code: string }>
      > = [
        webhooks.create(by, { url, types: ["event.published"] }),
        webhooks.update(by, id, { enabled: true }),
        webhooks.update(by, id, { enabled: false }),
        webhooks.update(by, id, { url: `${url}/thief` }),
        webhooks.rotate(by, id)
      ]
      for (const attempt of attempts) {
        const error = yield* Effect.flip(attempt)
        assert.deepInclude(error, { _tag: "InvalidToken", code: "invalid_token" })
      }
      assert.deepStrictEqual(yield* webhooks.list(by), before)
      const afterwards = { ...by, epoch: 1 }
      assert.deepInclude(yield* webhooks.update(afterwards, id, { enabled: true }), { enabled: true })
      yield* webhooks.create(afterwards, { url, types: ["event.published"] })
      assert.lengthOf(yield* webhooks.list(by), 2)
    })
  )

  it.effect("A token leaves no webhook enabled that it made or enabled during a rotation of the secret", () =>
    Effect.gen(function* () {
      const webhooks = yield* Webhooks
      const acts: ReadonlyArray<(by: Maker) => Effect.Effect<unknown, { readonly _tag: string }>> = [
        (by) => webhooks.create(by, { url, types: ["event.published"] }),
        (by) =>
          Effect.flatMap(webhooks.list(by), ([hook]) =>
            webhooks.update(by, hook?.webhook_id ?? "", { enabled: true })
          )
      ]
      for (const act of acts) {
        for (const first of ["act", "rotation"] as const) {
          const agent = yield* claimedAgent()
          const by = { ...ofAgent(agent), epoch: 0 }
          const { webhook_id: id } = yield* webhooks.create(by, { url, types: ["event.published"] })
          yield* webhooks.update(by, id, { enabled: false })
          if (first === "act") {
            const acting = yield* held(act(by))
            const rotation = yield* meeting(rotate(agent))
            yield* acting.commit
            yield* Fiber.join(rotation)
          } else {
            const rotation = yield* held(rotate(agent))
            const acting = yield* meeting(Effect.flip(act(by)))
            yield* rotation.commit
            assert.strictEqual((yield* Fiber.join(acting))._tag, "InvalidToken")
          }
          const left = yield* webhooks.list(by)
          assert.deepStrictEqual(
            left.map(({ enabled }) => enabled),
            left.map(() => false)
          )
        }
      }
    })
  )
})

layer(testServices())("A webhook that does not take its notices", (it) => {
  it.effect("A notice that is not taken is sent again, later and later, until it is given up", () =>
    Effect.gen(function* () {
      const by = ofAgent(yield* claimedAgent())
      const { answer, received, url } = yield* receiver
      const { webhook_id: id } = yield* make(by, url, "event.published")
      const webhooks = yield* Webhooks
      const { notice_id } = yield* webhooks.test(by, id)
      const outcomes: Array<unknown> = []
      const look = Effect.map(deliveriesOf(by, id), ({ items }) =>
        items.find((delivery) => delivery.notice_id === notice_id)
      )
      for (const status of [500, 301, 404, 429, 503, 400, 500, 500, 500, 500]) {
        answer(status, "webhook.test")
        yield* deliver
        const delivery = yield* look
        const { attempted_at: last, next_attempt_at: next } = delivery ?? {}
        outcomes.push([delivery?.state, delivery?.status, minutesBetween(last, next)])
        if (typeof next !== "string") break
        // A notice that is taken in between keeps it enabled.
        yield* newEvent()
        yield* moveTo(DateTime.makeUnsafe(next))
      }
      assert.deepStrictEqual(outcomes, [
        ["waiting", 500, 5 / 60],
        ["waiting", 301, 5],
        ["waiting", 404, 30],
        ["waiting", 429, 120],
        ["waiting", 503, 300],
        ["waiting", 400, 600],
        ["waiting", 500, 840],
        ["waiting", 500, 1200],
        ["waiting", 500, 1440],
        ["failed", 500, undefined]
      ])
      const ids = received.map(({ headers }) => headers["webhook-id"]).filter((each) => each === notice_id)
      assert.lengthOf(ids, 10)
      answer(200)
      assert.deepInclude(yield* webhooks.redeliver(by, id, notice_id), { state: "waiting" })
      yield* deliver
      assert.deepInclude(yield* webhooks.redeliver(by, id, notice_id), {
        state: "waiting",
        attempts: 11,
        status: 200
      })
      yield* deliver
      assert.deepInclude(yield* look, { state: "delivered", attempts: 12 })
    })
  )

  it.effect("A webhook that failed for a day is disabled, and its owner is told by mail", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const sql = yield* SqlClient.SqlClient
      const owner = yield* anotherOperator
      yield* sql`update operators set email = 'ada@example.org', mailbox = 'ada@example.org' where id = ${owner}::uuid`
      const by = ofAgent(yield* agentOf(owner))
      const { answer, received, url } = yield* receiver
      const { webhook_id: id } = yield* make(by, url, "event.published")
      answer(500)
      yield* newEvent()
      for (const passed of ["0 minutes", "1 hour", "23 hours"] as const) {
        yield* moveTo(plus(now, passed))
        yield* deliver
      }
      assert.deepInclude(yield* hookOf(by, id), { enabled: true, failing_since: DateTime.formatIso(now) })
      yield* moveTo(plus(now, "24 hours"))
      yield* newEvent()
      yield* deliver
      assert.deepInclude(yield* hookOf(by, id), {
        enabled: false,
        disabled_at: DateTime.formatIso(plus(now, "24 hours")),
        disabled_reason: "it took nothing for a day"
      })
      yield* Mailer.use(({ drain }) => drain)
      const { delivered } = yield* Mailbox
      assert.deepStrictEqual(
        delivered.map(({ subject, to }) => [to, subject]),
        [["ada@example.org", `Your webhook at ${new URL(url).host} was disabled`]]
      )
      const before = received.length
      yield* newEvent()
      yield* moveTo(plus(now, "48 hours"))
      yield* deliver
      assert.lengthOf(received, before)
      const webhooks = yield* Webhooks
      const refused = yield* Effect.flip(webhooks.test(by, id))
      assert.strictEqual(refused._tag, "WebhookDisabled")
      // Only later notices are sent.
      answer(204)
      assert.deepInclude(yield* webhooks.update(by, id, { enabled: true }), {
        enabled: true,
        failing_since: null
      })
      const { event_id } = yield* newEvent()
      yield* deliver
      assert.deepStrictEqual(told(received.slice(before)), [["event.published", null, event_id]])
    })
  )

  it.effect("A webhook that answers 410 is disabled at once", () =>
    Effect.gen(function* () {
      const by = ofAgent(yield* claimedAgent())
      const { answer, received, url } = yield* receiver
      const { webhook_id: id } = yield* make(by, url, "event.published")
      answer(410)
      for (const _ of [1, 2, 3]) yield* newEvent()
      yield* deliver
      yield* deliver
      assert.deepInclude(yield* hookOf(by, id), { enabled: false })
      const { items } = yield* deliveriesOf(by, id)
      assert.deepStrictEqual(
        [received.length, items.map(({ state }) => state)],
        [3, ["failed", "failed", "failed"]]
      )
    })
  )

  it.effect("A webhook that hangs delays no other, and is let go when its instance stops", () =>
    Effect.gen(function* () {
      const [hanging, quick] = [yield* receiver, yield* receiver]
      const [by, other] = [ofAgent(yield* claimedAgent()), ofAgent(yield* claimedAgent())]
      hanging.answer(undefined)
      const { webhook_id: id } = yield* make(by, hanging.url, "event.published")
      yield* make(other, quick.url, "event.published")
      yield* newEvent()
      const webhooks = yield* Webhooks
      yield* Notices.use(({ advance }) => advance)
      yield* webhooks.dispatch
      const scope = yield* Scope.make()
      const stopping = yield* Scope.provide(replica(), scope)
      const begun = yield* stopping.send
      yield* Effect.raceAll(begun.map(Fiber.await))
      yield* newEvent()
      yield* Notices.use(({ advance }) => advance)
      yield* webhooks.dispatch
      yield* Effect.flatMap(webhooks.send, Fiber.joinAll)
      assert.lengthOf(quick.received, 2)
      assert.lengthOf(hanging.received, 1)
      yield* Scope.close(scope, Exit.void)
      yield* Fiber.awaitAll(begun)
      hanging.answer(200)
      yield* deliver
      assert.sameMembers(
        (yield* deliveriesOf(by, id)).items.map(({ state }) => state),
        ["delivered", "delivered"]
      )
    })
  )

  it.effect("A webhook's delivery whose instance was killed is sent again once the lease has ended", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const now = yield* freshWeek
      const by = ofAgent(yield* claimedAgent())
      const { received, url } = yield* receiver
      const { webhook_id: id } = yield* make(by, url, "event.published")
      yield* newEvent()
      yield* Notices.use(({ advance }) => advance)
      yield* Webhooks.use(({ dispatch }) => dispatch)
      yield* sql`update webhooks set leased_until = ${DateTime.toDateUtc(plus(now, "20 seconds"))} where id = ${id}::uuid`
      yield* deliver
      assert.deepStrictEqual(received, [])
      yield* moveTo(plus(now, "20 seconds"))
      yield* deliver
      assert.lengthOf(received, 1)
    })
  )

  it.effect("A clock that is set back delays no new notice, and sends none twice", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const by = ofAgent(yield* claimedAgent())
      const { answer, received, url } = yield* receiver
      const { webhook_id: id } = yield* make(by, url, "event.published")
      yield* TestClock.setTime(DateTime.toEpochMillis(plus(now, "5 hours")))
      answer(500)
      const first = yield* newEvent()
      yield* deliver
      // This is the lease of an instance that was killed meanwhile.
      const sql = yield* SqlClient.SqlClient
      yield* sql`
        update webhooks set leased_until = ${DateTime.toDateUtc(plus(now, "5 hours"))} where id = ${id}::uuid`
      yield* TestClock.setTime(DateTime.toEpochMillis(now))
      answer(204)
      const second = yield* newEvent()
      yield* deliver
      yield* deliver
      yield* moveTo(plus(now, "6 hours"))
      yield* deliver
      yield* deliver
      assert.deepStrictEqual(
        told(received).map(([, , event_id]) => event_id),
        [first.event_id, second.event_id, first.event_id]
      )
    })
  )

  it.effect("A webhook with an unreadable secret gets nothing unsigned", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const by = ofAgent(yield* claimedAgent())
      const { received, url } = yield* receiver
      const { webhook_id: id } = yield* make(by, url, "event.published")
      yield* sql`update webhooks set secret = sha256(secret) where id = ${id}::uuid`
      yield* Webhooks.use((webhooks) => webhooks.test(by, id))
      yield* deliver
      const { items } = yield* deliveriesOf(by, id)
      assert.deepStrictEqual(received, [])
      assert.deepInclude(items[0], { error: "its secret cannot be read any more: replace it" })
    })
  )

  it.effect("A webhook whose name leads inside gets nothing, and its maker is not told why", () =>
    Effect.gen(function* () {
      const by = ofAgent(yield* claimedAgent())
      const { received, url } = yield* receiver
      const { webhook_id: id } = yield* make(by, "https://hooks.example.com:8443/", "event.published")
      const webhooks = yield* replica({
        fetching: {
          resolve: (_name, _options, callback) =>
            callback(null, [{ address: new URL(url).hostname, family: 4 }])
        }
      })
      yield* webhooks.test(by, id)
      yield* Effect.flatMap(webhooks.send, Fiber.joinAll)
      const { items } = yield* deliveriesOf(by, id)
      assert.deepStrictEqual(received, [])
      assert.deepInclude(items[0], {
        state: "waiting",
        status: null,
        error: "its name leads to no public address"
      })
    })
  )
})

layer(testServices({ AUSPEX_HOST: "0.0.0.0", AUSPEX_MAX_WEBHOOKS: "3" }))("Refused webhooks", (it) => {
  it.effect("A webhook of an unclaimed agent is refused", () =>
    Effect.gen(function* () {
      const by = ofAgent(yield* provisionalAgent())
      const error = yield* Effect.flip(make(by, "https://hooks.example.com/", "event.published"))
      assert(error._tag === "WebhookLimitReached")
      assert.include(error.detail, "claimed")
    })
  )

  it.effect("An address that may lead inside is refused by its field, for new and changed webhooks", () =>
    Effect.gen(function* () {
      const by = ofAgent(yield* agentOf(yield* anotherOperator))
      const webhooks = yield* Webhooks
      const { webhook_id } = yield* make(by, "https://hooks.example.com/", "event.published")
      for (const url of jwksTricks(8443)) {
        const refusals = [
          yield* Effect.flip(webhooks.create(by, { url, types: ["event.published"] })),
          yield* Effect.flip(webhooks.update(by, webhook_id, { url }))
        ]
        for (const error of refusals) {
          assert(error._tag === "InvalidRequest", url)
          assert.deepStrictEqual(
            error.errors.map(({ path }) => path),
            ["url"]
          )
        }
      }
    })
  )

  it.effect("Webhooks over the limit of an owner and its agents are refused, also at the same moment", () =>
    Effect.gen(function* () {
      const owner = yield* anotherOperator
      const holders = [
        ofAgent(yield* agentOf(owner)),
        ofAgent(yield* agentOf(owner)),
        { kind: "owner", id: owner } as const
      ]
      const made = yield* Effect.forEach(
        [...holders, ...holders],
        (by) => Effect.result(make(by, "https://hooks.example.com/", "event.published")),
        { concurrency: "unbounded" }
      )
      assert.lengthOf(made.filter(Result.isSuccess), 3)
      for (const each of made.filter(Result.isFailure))
        assert.strictEqual(each.failure._tag, "WebhookLimitReached")
    })
  )

  it.effect("A webhook of another holder is not found", () =>
    Effect.gen(function* () {
      const by = ofAgent(yield* agentOf(yield* anotherOperator))
      const webhooks = yield* Webhooks
      const { webhook_id: id } = yield* make(by, "https://hooks.example.com/", "event.published")
      const { notice_id } = yield* webhooks.test(by, id)
      const others = [ofAgent(yield* agentOf(yield* anotherOperator)), { kind: "owner", id: by.id } as const]
      for (const other of others) {
        for (const each of [id, "x", "0190f000-0000-7000-8000-000000000000"]) {
          const refusals = yield* Effect.all([
            Effect.flip(webhooks.update(other, each, { enabled: false })),
            Effect.flip(webhooks.remove(other, each)),
            Effect.flip(webhooks.rotate(other, each)),
            Effect.flip(webhooks.test(other, each)),
            Effect.flip(webhooks.redeliver(other, each, notice_id)),
            Effect.flip(deliveriesOf(other, each))
          ])
          assert.deepStrictEqual(
            refusals.map(({ _tag }) => _tag),
            refusals.map(() => "NotFound")
          )
        }
        assert.deepStrictEqual(yield* webhooks.list(other), [])
      }
      const none = yield* Effect.flip(webhooks.redeliver(by, id, "0190f000-0000-7000-8000-000000000000"))
      assert.strictEqual(none._tag, "NotFound")
      yield* webhooks.remove(by, id)
      assert.deepStrictEqual(yield* webhooks.list(by), [])
    })
  )
})

layer(testServices().pipe(Layer.provideMerge(telemetryRecorder)))("A delivery", (it) => {
  it.effect("A delivery is found in traces by the settled challenge", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const agent = yield* claimedAgent()
      const { url } = yield* receiver
      const { webhook_id: id } = yield* make(ofAgent(agent), url, "prediction.settled")
      const challenge = yield* newChallenge()
      yield* predict(agent, challenge)
      yield* moveTo(plus(now, "1 hour"))
      yield* importQuotes("GC", [[plus(now, "1 hour"), 110]])
      yield* Scoring.use((scoring) => scoring.settleDue)
      yield* deliver
      const { spans } = yield* TelemetryRecorder
      const about = spans.filter(({ attributes }) => attributes.get("challenge.id") === challenge.id)
      assert.includeMembers(
        about.map(({ name }) => name),
        ["Scoring.settle", "Webhooks.attempt"]
      )
      assert.strictEqual(
        about.find(({ name }) => name === "Webhooks.attempt")?.attributes.get("webhook.id"),
        id
      )
    })
  )
})

layer(testServices())("Deliveries", (it) => {
  it.effect("Deliveries are listed newest first in pages, and kept for seven days after their end", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const by = ofAgent(yield* claimedAgent())
      const { url } = yield* receiver
      const { webhook_id: id } = yield* make(by, url, "event.published")
      const events = yield* Effect.forEach(Array.from({ length: 5 }), () => newEvent())
      yield* deliver
      const webhooks = yield* Webhooks
      const first = yield* webhooks.deliveries(by, id, { limit: 3, cursor: undefined })
      const rest = yield* webhooks.deliveries(by, id, { limit: 3, cursor: first.next_cursor ?? undefined })
      assert.deepStrictEqual([first.items.length, rest.items.length, rest.next_cursor], [3, 2, null])
      assert.lengthOf(
        new Set([...first.items, ...rest.items].map(({ notice_id }) => notice_id)),
        events.length
      )
      yield* webhooks.trim
      assert.lengthOf((yield* deliveriesOf(by, id)).items, 5)
      yield* moveTo(plus(now, "169 hours"))
      yield* webhooks.trim
      assert.deepStrictEqual((yield* deliveriesOf(by, id)).items, [])
    })
  )

  it.effect("One run forgets the deliveries of a busy day, however many they are", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const by = ofAgent(yield* claimedAgent())
      const { webhook_id: id } = yield* make(by, "http://127.0.0.1:1/", "event.published")
      const sql = yield* SqlClient.SqlClient
      for (const _ of [1, 2, 3]) {
        yield* sql`
          insert into webhook_deliveries (webhook_id, notice_id, type, payload, created_at)
          select ${id}::uuid, gen_random_uuid(), 'event.published', '{}', ${DateTime.toDateUtc(now)} from generate_series(1, 7000)`
      }
      yield* moveTo(plus(now, "169 hours"))
      yield* Webhooks.use(({ trim }) => trim)
      assert.deepStrictEqual((yield* deliveriesOf(by, id)).items, [])
    })
  )
})
