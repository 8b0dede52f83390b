import { randomBytes } from "node:crypto"
import { DateTime, Duration, Effect, Layer, Option, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import type { Statement } from "effect/sql"
import type { Holder, Maker } from "../../../services/Credits.ts"
import { InvalidRequest, NotFound } from "../../../services/domain/errors.ts"
import { isUuid } from "../../../services/domain/ids.ts"
import { Cursors } from "../../../services/domain/paging.ts"
import { Settings } from "../../../services/Settings.ts"
import { checkEpoch } from "../../../services/Tokens.ts"
import {
  AgentWebhook,
  Webhook,
  WebhookDelivery,
  WebhookDisabled,
  WebhookId,
  WebhookLimitReached,
  Webhooks
} from "../../../services/Webhooks.ts"
import { encryption } from "../../crypto/encryption.ts"
import { publicUrlFault } from "../../keys/publicUrl.ts"
import {
  arrayParam,
  boundNow,
  boundTime,
  execute,
  findAll,
  findOne,
  findOption,
  whenGiven,
  isoTimestamp,
  timestamp,
  transaction
} from "../sql.ts"
import * as deliveries from "./deliveries.ts"

/** Both secrets sign for this long after a rotation. */
const overlap = Duration.days(1)
/** Finished deliveries are kept this long. */
const retention = Duration.days(7)
const maxTrimmed = 10_000
/** The maximum number of deletions in one run, which suffices to catch up with a busy day. */
const maxTrims = 10

const DeliveryRow = Schema.Struct({ ...WebhookDelivery.fields, place: Schema.Finite })

const make = Effect.fnUntraced(function* (options?: deliveries.DeliveryOptions) {
  const sql = yield* SqlClient.SqlClient
  const random = yield* SecureRandom.SecureRandom
  const { maxWebhooks, ownMachineUrls: ownMachine, tokenSecret } = yield* Settings
  const sealed = encryption(tokenSecret, "webhook")
  const { dispatch, send } = yield* deliveries.make(sealed, options)
  const pages = (yield* Cursors).list("webhook deliveries", Schema.Finite)
  const rows = findAll(Webhook)
  const agentRows = findAll(AgentWebhook)
  const row = findOption(Webhook)
  const madeRow = findOne(Webhook)
  const count = findOne(Schema.Struct({ count: Schema.Int }))
  const deliveryRows = findAll(DeliveryRow)
  const deliveryRow = findOption(WebhookDelivery)
  const madeDelivery = findOne(WebhookDelivery)
  const agentRow = findOption(Schema.Struct({ owner_id: Schema.NullOr(Schema.String), epoch: Schema.Int }))
  const known = findOption(Schema.Struct({ disabled: Schema.Boolean }))

  const columns = sql`
    id::text as webhook_id, url, types, disabled_at is null as enabled, ${isoTimestamp(sql, "disabled_at")} as disabled_at,
    disabled_reason, ${isoTimestamp(sql, "failing_since")} as failing_since, ${isoTimestamp(sql, "created_at")} as created_at`

  const deliveryColumns = sql`
    notice_id::text, type, attempts, ${isoTimestamp(sql, "created_at")} as created_at,
    case when due_at is not null then 'waiting' when delivered_at is not null then 'delivered' else 'failed' end as state,
    ${isoTimestamp(sql, "attempted_at")} as attempted_at, ${isoTimestamp(sql, "due_at")} as next_attempt_at, status, error, took_ms`

  const ofHolder = ({ id, kind }: Holder) =>
    sql`${sql.literal(kind === "agent" ? "agent_id" : "owner_id")} = ${id}::uuid`

  /** Webhooks of an owner and of its agents. */
  const ofOwner = (id: string) =>
    sql`(owner_id = ${id}::uuid or agent_id in (select a.id from agents a where a.owner_id = ${id}::uuid))`

  const unknown = (id: string) => NotFound.of("webhook", id)

  /** The webhook that a statement returns; a malformed id has none. */
  const answered = Effect.fnUntraced(function* (id: string, statement: Statement.Statement<object>) {
    const found = isUuid(id) ? yield* row(statement) : Option.none()
    return yield* Effect.mapError(Effect.fromOption(found), () => unknown(id))
  })

  const checkUrl = (url: string) => {
    const fault = publicUrlFault(url, { ownMachine })
    return fault === undefined ? Effect.void : Effect.fail(InvalidRequest.of("url", fault))
  }

  /**
   * Finds the owner of the webhooks, given an owner or an agent; null if the agent is unclaimed. It locks the agent, so that a
   * rotation of its secret comes before, which ends the token, or afterwards, which disables the webhook.
   */
  const admit = Effect.fnUntraced(function* (by: Maker) {
    if (by.kind === "owner") return by.id
    const found = yield* agentRow(sql`
      select owner_id::text, token_epoch as epoch from agents where id = ${by.id}::uuid for no key update`)
    if (Option.isNone(found)) return null
    yield* checkEpoch(by, found.value.epoch)
    return found.value.owner_id
  })

  const newSecret = (): string => `whsec_${randomBytes(32).toString("base64")}`

  const typesParam = (types: ReadonlyArray<string>) => arrayParam("text", [...new Set(types)])

  const create: Webhooks["Service"]["create"] = Effect.fn("Webhooks.create")(function* (by, hook) {
    yield* checkUrl(hook.url)
    const id = WebhookId.make(yield* random.uuidV7())
    const secret = newSecret()
    const now = yield* DateTime.now
    const column = sql.literal(by.kind === "agent" ? "agent_id" : "owner_id")
    const made = Effect.gen(function* () {
      const ownerId = yield* admit(by)
      if (ownerId === null) {
        return yield* new WebhookLimitReached({
          detail: "An agent has webhooks once its operator has claimed it."
        })
      }
      // Webhooks of one owner are made one after the other, so that the limit holds.
      yield* execute(sql`select 1 from operators where id = ${ownerId}::uuid for no key update`)
      const has = yield* count(sql`
        select count(*)::int as count from webhooks where ${ofOwner(ownerId)}`)
      if (has.count >= maxWebhooks) {
        return yield* new WebhookLimitReached({
          detail: `An owner and its agents may have ${maxWebhooks} webhooks at most, and have as many: delete one first.`
        })
      }
      return yield* madeRow(sql`
        insert into webhooks (id, ${column}, url, types, secret, since, created_at)
        select ${id}::uuid, ${by.id}::uuid, ${hook.url}, ${typesParam(hook.types)}, ${sealed.encrypt(secret)}, head, ${timestamp(now)}
          from notice_state
        returning ${columns}`)
    })
    return { ...(yield* transaction(sql)(made)), secret }
  })

  const list: Webhooks["Service"]["list"] = Effect.fn("Webhooks.list")(function* (of) {
    return yield* rows(sql`select ${columns} from webhooks where ${ofHolder(of)} order by id`)
  })

  const listOfAgents: Webhooks["Service"]["listOfAgents"] = Effect.fn("Webhooks.listOfAgents")(
    function* (ownerId) {
      return yield* agentRows(sql`
        select w.*, a.id::text as agent_id, a.name as agent_name
          from agents a
         cross join lateral (
           select ${columns} from webhooks where agent_id = a.id) w
         where a.owner_id = ${ownerId}::uuid
         order by w.webhook_id`)
    }
  )

  /** A webhook that is enabled again is not sent the notices of the time before. */
  const switched = (enabled: boolean, now: Date) =>
    enabled
      ? sql`, disabled_at = null, disabled_reason = null,
              failures = case when disabled_at is null then failures else 0 end,
              failing_since = case when disabled_at is null then failing_since end,
              rest_until = case when disabled_at is null then rest_until end,
              since = case when disabled_at is null then since else (select head from notice_state) end`
      : sql`, disabled_at = coalesce(disabled_at, ${now}), disabled_reason = coalesce(disabled_reason, 'it was switched off'),
              due_at = null`

  const update: Webhooks["Service"]["update"] = Effect.fn("Webhooks.update")(function* (by, id, change) {
    if (change.url !== undefined) yield* checkUrl(change.url)
    const now = timestamp(yield* DateTime.now)
    const { enabled } = change
    const ability = whenGiven(sql, enabled, (isEnabled) => switched(isEnabled, now))
    const changed = Effect.gen(function* () {
      yield* admit(by)
      const found = yield* answered(
        id,
        sql`
        update webhooks
           set url = coalesce(${change.url ?? null}::text, url),
               types = coalesce(${change.types === undefined ? null : typesParam(change.types)}::text[], types)${ability}
         where id = ${id}::uuid and ${ofHolder(by)}
        returning ${columns}`
      )
      if (enabled === false) {
        yield* execute(sql`
          update webhook_deliveries set due_at = null where webhook_id = ${id}::uuid and due_at is not null`)
      }
      return found
    })
    return yield* transaction(sql)(changed)
  })

  const remove: Webhooks["Service"]["remove"] = Effect.fn("Webhooks.remove")(function* (by, id) {
    yield* answered(
      id,
      sql`delete from webhooks where id = ${id}::uuid and ${by.kind === "owner" ? ofOwner(by.id) : ofHolder(by)} returning ${columns}`
    )
  })

  const rotate: Webhooks["Service"]["rotate"] = Effect.fn("Webhooks.rotate")(function* (by, id) {
    const secret = newSecret()
    const until = DateTime.addDuration(yield* DateTime.now, overlap)
    const rotated = answered(
      id,
      sql`
      update webhooks
         set previous_secret = secret, previous_until = ${timestamp(until)}, secret = ${sealed.encrypt(secret)}
       where id = ${id}::uuid and ${ofHolder(by)}
      returning ${columns}`
    )
    const found = yield* transaction(sql)(Effect.andThen(admit(by), rotated))
    return { webhook_id: found.webhook_id, secret, old_secret_until: DateTime.formatIso(until) }
  })

  /** Makes a delivery due within a transaction: it locks the webhook, which must not be disabled. */
  const making = <E>(by: Holder, id: string, made: (now: Date) => Effect.Effect<WebhookDelivery, E>) =>
    Effect.gen(function* () {
      if (!isUuid(id)) return yield* unknown(id)
      const now = timestamp(yield* boundNow(sql))
      const found = yield* known(sql`
        update webhooks set due_at = case when disabled_at is null then least(due_at, ${now}::timestamptz) end
         where id = ${id}::uuid and ${ofHolder(by)}
        returning disabled_at is not null as disabled`)
      if (Option.isNone(found)) return yield* unknown(id)
      if (found.value.disabled) {
        return yield* new WebhookDisabled({
          detail: "This webhook is disabled, and is sent nothing: enable it first."
        })
      }
      return yield* made(now)
    }).pipe(transaction(sql))

  const test: Webhooks["Service"]["test"] = Effect.fn("Webhooks.test")(function* (by, id) {
    const noticeId = yield* random.uuidV7()
    return yield* making(by, id, (now) =>
      Effect.gen(function* () {
        const waiting = yield* deliveryRow(sql`
          update webhook_deliveries set due_at = ${now}
           where webhook_id = ${id}::uuid and due_at is not null and type = 'webhook.test'
          returning ${deliveryColumns}`)
        if (Option.isSome(waiting)) return waiting.value
        const payload = JSON.stringify({
          type: "webhook.test",
          timestamp: now.toISOString(),
          agent_id: null,
          data: { id: noticeId, type: "webhook.test", created_at: now.toISOString(), subject: {}, data: {} }
        })
        return yield* madeDelivery(sql`
          insert into webhook_deliveries (webhook_id, notice_id, type, payload, created_at, due_at)
          values (${id}::uuid, ${noticeId}::uuid, 'webhook.test', ${payload}, ${now}, ${now})
          returning ${deliveryColumns}`)
      })
    )
  })

  const redeliver: Webhooks["Service"]["redeliver"] = Effect.fn("Webhooks.redeliver")(
    function* (by, id, noticeId) {
      const none = new NotFound({
        detail: `There is no delivery ${noticeId.slice(0, 64)} to this webhook: they are kept for seven days.`
      })
      if (!isUuid(noticeId)) return yield* none
      return yield* making(by, id, (now) =>
        Effect.gen(function* () {
          const found = yield* deliveryRow(sql`
            update webhook_deliveries set due_at = ${now}, delivered_at = null
             where webhook_id = ${id}::uuid and notice_id = ${noticeId}::uuid
            returning ${deliveryColumns}`)
          return yield* Effect.mapError(Effect.fromOption(found), () => none)
        })
      )
    }
  )

  const listDeliveries: Webhooks["Service"]["deliveries"] = Effect.fn("Webhooks.deliveries")(
    function* (of, id, page) {
      if (!isUuid(id)) return yield* unknown(id)
      const { after, toPage, limit } = yield* pages.decode(page, id.toLowerCase())
      const found = yield* known(sql`
        select disabled_at is not null as disabled from webhooks where id = ${id}::uuid and ${ofHolder(of)}`)
      if (Option.isNone(found)) return yield* unknown(id)
      const before = whenGiven(sql, after, (last) => sql`and place < ${last}::int8`)
      const sent = yield* deliveryRows(sql`
        select ${deliveryColumns}, place::float8 from webhook_deliveries d
         where webhook_id = ${id}::uuid ${before}
         order by d.place desc limit ${limit}`)
      return toPage(sent, ({ place }) => place)
    }
  )

  /** Disables the webhooks of agents whose grace window ended before they were claimed. */
  const endUnclaimed = (now: DateTime.Utc) =>
    execute(sql`
      with ended as (
        update webhooks w
           set disabled_at = ${timestamp(now)}, disabled_reason = 'its agent was not claimed in time', due_at = null
          from agents a
         where a.id = w.agent_id and a.claimed_at is null and a.provisional_until <= ${boundTime(sql, now, Duration.zero)} and w.disabled_at is null
        returning w.id
      )
      update webhook_deliveries d set due_at = null from ended e where d.webhook_id = e.id and d.due_at is not null`)

  const trimSome = Effect.fnUntraced(function* (now: DateTime.Utc) {
    const { count: trimmed } = yield* count(sql`
      with deleted as (
        delete from webhook_deliveries d
         where d.ctid = any(array(
                 select ctid from webhook_deliveries
                  where due_at is null and created_at < ${boundTime(sql, now, retention)}
                  order by created_at limit ${sql.literal(String(maxTrimmed))}))
           and d.due_at is null
        returning 1
      )
      select count(*)::int as count from deleted`)
    return trimmed
  })

  const trim: Webhooks["Service"]["trim"] = Effect.gen(function* () {
    const now = yield* DateTime.now
    yield* endUnclaimed(now)
    yield* Effect.repeat(trimSome(now), { while: (trimmed) => trimmed === maxTrimmed, times: maxTrims - 1 })
  }).pipe(Effect.withSpan("Webhooks.trim"))

  return Webhooks.of({
    create,
    list,
    listOfAgents,
    update,
    remove,
    rotate,
    test,
    deliveries: listDeliveries,
    redeliver,
    dispatch,
    send,
    trim
  })
})

export const layerWith = (options?: deliveries.DeliveryOptions) => Layer.effect(Webhooks, make(options))

export const layer = layerWith()
