import { hash } from "node:crypto"
import { Cache, Clock, DateTime, Duration, Effect, Exit, Layer, Option, Schema } from "effect"
import type { Array as Arr } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import type { Holder, Maker } from "../../../services/Credits.ts"
import { InvalidRequest, NotFound } from "../../../services/domain/errors.ts"
import {
  GatewayDisabled,
  GatewayKey,
  GatewayKeyEnded,
  GatewayKeyId,
  GatewayKeyLimitReached,
  GatewayKeys,
  GatewayKeyStatus,
  InvalidGatewayKey,
  LimitPeriod,
  limitNames
} from "../../../services/GatewayKeys.ts"
import type { GatewayKeyChange, KeyHolder, NewGatewayKey } from "../../../services/GatewayKeys.ts"
import { creditsOf } from "../../../services/Credits.ts"
import { AgentId, isUuid } from "../../../services/domain/ids.ts"
import { Cursors } from "../../../services/domain/paging.ts"
import { Settings } from "../../../services/Settings.ts"
import { checkEpoch } from "../../../services/Tokens.ts"
import { isGatewayKey, makeGatewayKey, sha256 } from "../../crypto/secrets.ts"
import { insertRevokedNotices } from "../notices/insertNotices.ts"
import * as RequestBatcher from "../RequestBatcher.ts"
import {
  arrayParam,
  execute,
  findAll,
  findOne,
  findOption,
  isoTimestamp,
  pageAfter,
  timestamp,
  transaction
} from "../sql.ts"
import { disabledReason, Eligibility, eligibilityColumns } from "./eligibility.ts"
import { changesOf, setCounters, dayAt, limitsJson } from "./limits.ts"

/** A cached key is accepted for this long. Look-ups take less than the rest of a second, so every replica rejects a revoked key by then. */
const keyTtl = Duration.millis(500)
const keyCapacity = 100_000

const LimitRow = Schema.Struct({
  period: LimitPeriod,
  limit: Schema.BigIntFromString,
  spent: Schema.BigIntFromString,
  reserved: Schema.BigIntFromString,
  left: Schema.BigIntFromString,
  resets_at: Schema.NullOr(Schema.String)
})

const KeyRow = Schema.Struct({
  ...GatewayKey.fields,
  credit_limit: Schema.NullOr(Schema.BigInt),
  daily_limit: Schema.NullOr(Schema.BigInt),
  weekly_limit: Schema.NullOr(Schema.BigInt),
  monthly_limit: Schema.NullOr(Schema.BigInt),
  limits: Schema.Array(LimitRow),
  spent: Schema.BigInt,
  status: GatewayKeyStatus
})

const OneRow = Schema.Struct({ ...KeyRow.fields, available: Schema.BigInt })

/** A key that is to be changed. */
const HeldRow = Schema.Struct({
  hash: Schema.String,
  revoked: Schema.Boolean,
  expired: Schema.Boolean,
  epoch: Schema.Int
})

const ChangedRow = Schema.Struct({ spent: Schema.BigInt, held: Schema.BigInt, changed: Schema.Boolean })

const AgentRow = Schema.Struct({
  ...Eligibility.fields,
  owner_id: Schema.NullOr(Schema.String),
  epoch: Schema.Int
})

const KnownKey = Schema.Struct({
  ...Eligibility.fields,
  hash: Schema.String,
  key_id: GatewayKeyId,
  agent_id: AgentId,
  revoked: Schema.Boolean,
  expires_at: Schema.NullOr(Schema.DateTimeUtcFromDate),
  allowed_models: Schema.NullOr(Schema.Array(Schema.String))
})

type KnownKey = typeof KnownKey.Type

/** The number of keys that an agent may make in a day for each key that it may have at once. */
const daysKeysPerLiveOne = 10

const hasExpired = ({ expires_at }: KnownKey, now: number): boolean =>
  expires_at !== null && DateTime.toEpochMillis(expires_at) <= now

const holderOf = ({ agent_id, allowed_models, key_id }: KnownKey): KeyHolder => ({
  keyId: key_id,
  agentId: agent_id,
  ...(allowed_models !== null && { allowedModels: allowed_models })
})

const limitFields = Object.values(limitNames)

const modelsParam = (models: ReadonlyArray<string> | null) =>
  models === null ? null : arrayParam("text", models)

const limitsIn = ({ credit_limit, daily_limit, monthly_limit, weekly_limit }: NewGatewayKey) => ({
  credit_limit: credit_limit ?? null,
  daily_limit: daily_limit ?? null,
  weekly_limit: weekly_limit ?? null,
  monthly_limit: monthly_limit ?? null
})

const rejected = (detail: string) => new InvalidGatewayKey({ detail })

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const pages = (yield* Cursors).listById("gateway keys")
  const random = yield* SecureRandom.SecureRandom
  const settings = yield* Settings
  const agentRow = findOption(AgentRow)
  const liveKeys = findOne(Schema.Struct({ count: Schema.Int }))
  const madeAt = findOption(Schema.Struct({ created_at: Schema.DateTimeUtcFromDate }))
  const keyRows = findAll(KeyRow)
  const oneRow = findOption(OneRow)
  const heldRow = findOption(HeldRow)
  const changedRow = findOne(ChangedRow)
  const knownKeys = findAll(KnownKey)
  const revokedRow = findOption(Schema.Struct({ hash: Schema.String }))

  const lookUp = Effect.fnUntraced(function* (
    hashes: Arr.NonEmptyReadonlyArray<string>,
    client: SqlClient.SqlClient
  ) {
    const queriedAt = yield* Clock.currentTimeMillis
    const rows = yield* knownKeys(client`
      select encode(k.key_hash, 'hex') as hash, k.id::text as key_id, k.agent_id::text, k.revoked_at is not null as revoked,
             k.expires_at, k.allowed_models, ${eligibilityColumns(client)}
        from gateway_keys k
        join agents a on a.id = k.agent_id
        left join operators o on o.id = a.owner_id
       where k.key_hash = any(${arrayParam(
         "bytea",
         hashes.map((hash) => Buffer.from(hash, "hex"))
       )})`)
    const byHash = new Map(rows.map((row) => [row.hash, row]))
    return hashes.map((each) => ({ queriedAt, key: Option.fromUndefinedOr(byHash.get(each)) }))
  })

  const cachedKeys = yield* Cache.makeWith(
    yield* RequestBatcher.make({ run: lookUp, maxSize: settings.maxBatch }),
    {
      capacity: keyCapacity,
      // Unknown keys and failures are not cached.
      timeToLive: (exit) => (Exit.isSuccess(exit) && Option.isSome(exit.value.key) ? keyTtl : Duration.zero)
    }
  )

  const find = Effect.fnUntraced(function* (keyHash: string) {
    const { queriedAt, key } = yield* Cache.get(cachedKeys, keyHash)
    // An answer's age counts from the query, so that a slow database does not extend it.
    const isStale = (yield* Clock.currentTimeMillis) - queriedAt > Duration.toMillis(keyTtl)
    return isStale ? (yield* Cache.refresh(cachedKeys, keyHash)).key : key
  })

  const authenticate: GatewayKeys["Service"]["authenticate"] = Effect.fnUntraced(function* (sent) {
    if (!isGatewayKey(sent))
      return yield* rejected("This is no gateway key: send one that POST /api/v1/llm/keys made.")
    const key = yield* find(hash("sha256", sent, "hex"))
    if (Option.isNone(key) || key.value.revoked) {
      return yield* rejected("The gateway key is unknown or has been revoked.")
    }
    if (hasExpired(key.value, yield* Clock.currentTimeMillis)) {
      return yield* rejected("The gateway key has expired.")
    }
    const reason = disabledReason(key.value)
    if (reason !== undefined) return yield* new GatewayDisabled({ detail: reason })
    return holderOf(key.value)
  })

  const noKey = (id: string) => NotFound.of("gateway key", id)

  const mayUse = ({ id, kind }: Holder, agentId: string, ownerId: string | null) =>
    kind === "agent" ? id.toLowerCase() === agentId.toLowerCase() : id.toLowerCase() === ownerId

  const expiryOf = Effect.fnUntraced(function* (time: DateTime.Utc | null | undefined, now: DateTime.Utc) {
    const { gatewayKeyMaxTtl, gatewayKeyTtl } = settings
    if (time === null || time === undefined) return DateTime.addDuration(now, gatewayKeyTtl)
    if (DateTime.isLessThanOrEqualTo(time, now)) {
      return yield* InvalidRequest.of(
        "expires_at",
        `Expected a time in the future, got ${DateTime.formatIso(time)}`
      )
    }
    const latest = DateTime.addDuration(now, gatewayKeyMaxTtl)
    if (DateTime.isGreaterThan(time, latest)) {
      return yield* InvalidRequest.of(
        "expires_at",
        `Expected ${DateTime.formatIso(latest)} at the latest: a key lives for ${Duration.format(gatewayKeyMaxTtl)} at most, got ${DateTime.formatIso(time)}`
      )
    }
    return time
  })

  /** Checks that the agent may have another key. Locks the agent, so that its keys are made one after the other. */
  const admit = Effect.fnUntraced(function* (by: Maker, agentId: string, now: DateTime.Utc) {
    const found = yield* agentRow(sql`
      select a.owner_id::text, a.token_epoch as epoch, ${eligibilityColumns(sql)}
        from agents a left join operators o on o.id = a.owner_id
       where a.id = ${agentId}::uuid
         for no key update of a`)
    if (Option.isNone(found) || !mayUse(by, agentId, found.value.owner_id))
      return yield* NotFound.agent(agentId)
    yield* checkEpoch(by, found.value.epoch)
    const reason = disabledReason(found.value)
    if (reason !== undefined) return yield* new GatewayDisabled({ detail: reason })
    const live = yield* liveKeys(sql`
      select ((select count(*) from gateway_keys
                where agent_id = ${agentId}::uuid and revoked_at is null and expires_at > ${timestamp(now)})
            + (select count(*) from gateway_keys
                where agent_id = ${agentId}::uuid and revoked_at is null and expires_at is null))::int as count`)
    const max = settings.gatewayKeysPerAgent
    if (live.count >= max) {
      return yield* new GatewayKeyLimitReached({
        detail: `An agent has ${max} live gateway keys at most, and this one has ${live.count}: revoke one first.`
      })
    }
    // Rows of keys are permanent, so an agent must not be able to make and revoke keys without end.
    const maxADay = max * daysKeysPerLiveOne
    const oldest = yield* madeAt(sql`
      select created_at from gateway_keys where agent_id = ${agentId}::uuid
       order by id desc offset ${maxADay - 1}::int limit 1`)
    const freeAt = Option.map(oldest, ({ created_at }) => DateTime.add(created_at, { days: 1 }))
    if (Option.isSome(freeAt) && DateTime.isLessThan(now, freeAt.value)) {
      return yield* new GatewayKeyLimitReached({
        detail: `An agent makes ${maxADay} gateway keys in 24 hours at most, revoked ones included: the next one from ${DateTime.formatIso(freeAt.value)} on.`
      })
    }
    return found.value
  })

  const create: GatewayKeys["Service"]["create"] = Effect.fn("GatewayKeys.create")(
    function* (by, agentId, newKey) {
      if (!isUuid(agentId)) return yield* NotFound.agent(agentId)
      const now = yield* DateTime.now
      const expiresAt = yield* expiryOf(newKey.expires_at, now)
      const id = GatewayKeyId.make(yield* random.uuidV7())
      const { key, prefix } = makeGatewayKey()
      const name = newKey.name ?? "default"
      const limits = limitsIn(newKey)
      const models = newKey.allowed_models ?? null
      const made = Effect.gen(function* () {
        const agent = yield* admit(by, agentId, now)
        yield* execute(sql`
          insert into gateway_keys (id, agent_id, owner_id, name, prefix, key_hash, expires_at, credit_limit, daily_limit,
                                    weekly_limit, monthly_limit, allowed_models, created_at)
          values (${id}::uuid, ${agentId}::uuid, ${agent.owner_id}::uuid, ${name}, ${prefix}, ${sha256(key)},
                  ${timestamp(expiresAt)}, ${limits.credit_limit}::int8, ${limits.daily_limit}::int8,
                  ${limits.weekly_limit}::int8, ${limits.monthly_limit}::int8, ${modelsParam(models)}, ${timestamp(now)})`)
      })
      yield* transaction(sql)(made)
      return {
        key_id: id,
        api_key: key,
        name,
        agent_id: AgentId.make(agentId.toLowerCase()),
        expires_at: DateTime.formatIso(expiresAt),
        ...limits,
        allowed_models: models,
        created_at: DateTime.formatIso(now)
      }
    }
  )

  const ownColumn = ({ kind }: Holder) => sql.literal(kind === "agent" ? "k.agent_id" : "k.owner_id")

  /** The members of `KeyRow`, of keys `k`. */
  const keyColumns = (now: DateTime.Utc) => sql`
    k.id::text as key_id, k.prefix, k.name, k.agent_id::text,
    case when k.revoked_at is not null then 'revoked' when k.expires_at <= ${timestamp(now)} then 'expired'
         else 'active' end as status,
    ${isoTimestamp(sql, "k.expires_at")} as expires_at, ${isoTimestamp(sql, "k.revoked_at")} as revoked_at,
    k.credit_limit, k.daily_limit, k.weekly_limit, k.monthly_limit, k.allowed_models, ${limitsJson(sql)} as limits,
    coalesce((select sum(cost) from gateway_days where key_id = k.id), 0)::int8 as spent,
    (select ${isoTimestamp(sql, "(created_at + latency_ms * interval '1 millisecond')")} from gateway_calls
      where key_id = k.id order by created_at desc limit 1) as last_used_at,
    ${isoTimestamp(sql, "k.created_at")} as created_at`

  const keysNow = (now: DateTime.Utc) =>
    sql`(select k.*, ${dayAt(sql, timestamp(now))} as day from gateway_keys k) k`

  const list: GatewayKeys["Service"]["list"] = Effect.fn("GatewayKeys.list")(function* (of, page) {
    const { after, toPage, limit } = yield* pages.decode(page)
    const now = yield* DateTime.now
    const before = pageAfter(sql, "k.id <", after)
    const rows = yield* keyRows(sql`
      select ${keyColumns(now)} from ${keysNow(now)}
       where ${ownColumn(of)} = ${of.id}::uuid ${before}
       order by k.id desc limit ${limit}`)
    return toPage(rows, (last) => last.key_id)
  })

  const one: GatewayKeys["Service"]["find"] = Effect.fn("GatewayKeys.find")(function* (of, keyId) {
    if (!isUuid(keyId)) return yield* noKey(keyId)
    const now = yield* DateTime.now
    const found = yield* oneRow(sql`
      select ${keyColumns(now)}, coalesce(a.posted - a.held, 0) as available
        from ${keysNow(now)} left join accounts a on a.id = 'agent:' || k.agent_id
       where k.id = ${keyId}::uuid and ${ownColumn(of)} = ${of.id}::uuid`)
    if (Option.isNone(found)) return yield* noKey(keyId)
    const { available, ...key } = found.value
    const left = key.limits.reduce((least, each) => (each.left < least ? each.left : least), available)
    return { ...key, left }
  })

  /** Changes the row that the transaction holds. The counters start again from all charges and reservations of the key. */
  const write = (keyId: string, change: GatewayKeyChange, expiresAt: DateTime.Utc | undefined, now: Date) => {
    const limitOr = (field: (typeof limitFields)[number]) =>
      change[field] === undefined ? sql.literal(`k.${field}`) : sql`${change[field]}::int8`
    const models = change.allowed_models
    return changedRow(sql`
      with c as (
        select k.id, k.day, ${changesOf(sql, { held: "u.held", spent: "u.spent", counted: "u.counted_on" })}
          from (select id, ${dayAt(sql, now)} as day from gateway_keys k where id = ${keyId}::uuid) k
          left join lateral (
            select day as counted_on, cost as spent, 0 as held from gateway_days where key_id = k.id
             union all
            select coalesce(counted_on, (created_at at time zone 'UTC')::date), 0, amount
              from gateway_reservations where key_id = k.id) u on true
         group by k.id, k.day
      ),
      changed as (
        update gateway_keys k
           set name = coalesce(${change.name ?? null}, k.name),
               expires_at = coalesce(${expiresAt === undefined ? null : timestamp(expiresAt)}, k.expires_at),
               allowed_models = ${models === undefined ? sql.literal("k.allowed_models") : modelsParam(models)},
               ${sql.csv(limitFields.map((field) => sql`${sql.literal(field)} = ${limitOr(field)}`))},
               ${setCounters(sql)}
          from c
         where k.id = c.id and c.spent + c.held <= coalesce(${limitOr("credit_limit")}, 9223372036854775807)
        returning k.id
      )
      select c.spent, c.held, exists (select from changed) as changed from c`)
  }

  const update: GatewayKeys["Service"]["update"] = Effect.fn("GatewayKeys.update")(
    function* (by, keyId, change) {
      if (!isUuid(keyId)) return yield* noKey(keyId)
      const now = yield* DateTime.now
      const expiresAt = change.expires_at === undefined ? undefined : yield* expiryOf(change.expires_at, now)
      const changed = Effect.gen(function* () {
        const held = yield* heldRow(sql`
          select encode(k.key_hash, 'hex') as hash, k.revoked_at is not null as revoked,
                 coalesce(k.expires_at <= ${timestamp(now)}, false) as expired, a.token_epoch as epoch
            from gateway_keys k join agents a on a.id = k.agent_id
           where k.id = ${keyId}::uuid and ${ownColumn(by)} = ${by.id}::uuid
             for no key update of k`)
        if (Option.isNone(held)) return yield* noKey(keyId)
        const { epoch, expired, hash: keyHash, revoked } = held.value
        yield* checkEpoch(by, epoch)
        if (revoked || expired) {
          return yield* new GatewayKeyEnded({
            detail: `The gateway key has ${revoked ? "been revoked" : "expired"}, which is for ever: make another one.`
          })
        }
        const {
          changed: isChanged,
          held: reserved,
          spent
        } = yield* write(keyId, change, expiresAt, timestamp(now))
        if (!isChanged) {
          return yield* InvalidRequest.of(
            "credit_limit",
            `Expected at least ${creditsOf(spent + reserved)}: the key has spent ${creditsOf(spent)}, and calls under way have reserved ${creditsOf(reserved)}. DELETE ends the key`
          )
        }
        return keyHash
      })
      yield* Cache.invalidate(cachedKeys, yield* transaction(sql)(changed))
      const { left: _, ...key } = yield* one(by, keyId)
      return key
    }
  )

  const revoke: GatewayKeys["Service"]["revoke"] = Effect.fn("GatewayKeys.revoke")(function* (by, keyId) {
    const now = yield* DateTime.now
    const revoked = isUuid(keyId)
      ? yield* revokedRow(sql`
          with held as (
            select k.id, k.revoked_at from gateway_keys k
             where k.id = ${keyId}::uuid and ${ownColumn(by)} = ${by.id}::uuid
               for no key update
          ),
          revoked as (
            update gateway_keys k set revoked_at = coalesce(h.revoked_at, ${timestamp(now)})
              from held h
             where k.id = h.id
            returning k.*, h.revoked_at is null as is_new
          ),
          inserted_notices as (${insertRevokedNotices(sql, timestamp(now), sql`revoked k where k.is_new`)})
          select encode(key_hash, 'hex') as hash from revoked`)
      : Option.none()
    if (Option.isNone(revoked)) return yield* noKey(keyId)
    yield* Cache.invalidate(cachedKeys, revoked.value.hash)
  })

  return GatewayKeys.of({ create, update, find: one, list, revoke, authenticate })
})

export const layer = Layer.effect(GatewayKeys, make)
