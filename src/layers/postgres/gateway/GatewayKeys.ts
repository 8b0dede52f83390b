import { hash } from "node:crypto"
import { Cache, Clock, DateTime, Duration, Effect, Exit, Layer, Option, Schema } from "effect"
import type { Array as Arr } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import type { Holder } from "../../../services/Credits.ts"
import { InvalidRequest, NotFound } from "../../../services/domain/errors.ts"
import {
  GatewayDisabled,
  GatewayKey,
  GatewayKeyId,
  GatewayKeyLimitReached,
  GatewayKeys,
  GatewayKeyStatus,
  InvalidGatewayKey
} from "../../../services/GatewayKeys.ts"
import type { KeyHolder, KeyMaker } from "../../../services/GatewayKeys.ts"
import { AgentId, isUuid } from "../../../services/domain/ids.ts"
import { Cursors } from "../../../services/domain/paging.ts"
import { Settings } from "../../../services/Settings.ts"
import { InvalidToken, tokenPath } from "../../../services/Tokens.ts"
import { isGatewayKey, makeGatewayKey, sha256 } from "../../crypto/secrets.ts"
import * as RequestBatcher from "../RequestBatcher.ts"
import {
  arrayParam,
  execute,
  findAll,
  findOne,
  findOption,
  isoTimestamp,
  timestamp,
  transaction
} from "../sql.ts"
import { disabledReason, Eligibility, eligibilityColumns } from "./eligibility.ts"

/** With the time of a look-up, a revoked key is rejected on every replica within a second. */
const keyTtl = Duration.millis(500)
const keyCapacity = 100_000

const KeyRow = Schema.Struct({
  ...GatewayKey.fields,
  credit_limit: Schema.NullOr(Schema.BigInt),
  spent: Schema.BigInt,
  status: GatewayKeyStatus
})

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
  expires_at: Schema.NullOr(Schema.DateTimeUtcFromDate)
})

type KnownKey = typeof KnownKey.Type

const hasExpired = ({ expires_at }: KnownKey, now: number): boolean =>
  expires_at !== null && DateTime.toEpochMillis(expires_at) <= now

const holderOf = ({ agent_id, key_id }: KnownKey): KeyHolder => ({ keyId: key_id, agentId: agent_id })

const rejected = (detail: string) => new InvalidGatewayKey({ detail })

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const pages = (yield* Cursors).listById("gateway keys")
  const random = yield* SecureRandom.SecureRandom
  const settings = yield* Settings
  const agentRow = findOption(AgentRow)
  const liveKeys = findOne(Schema.Struct({ count: Schema.Int }))
  const keyRows = findAll(KeyRow)
  const knownKeys = findAll(KnownKey)
  const revokedRow = findOption(Schema.Struct({ hash: Schema.String }))

  const lookUp = Effect.fnUntraced(function* (
    hashes: Arr.NonEmptyReadonlyArray<string>,
    client: SqlClient.SqlClient
  ) {
    const askedAt = yield* Clock.currentTimeMillis
    const rows = yield* knownKeys(client`
      select encode(k.key_hash, 'hex') as hash, k.id::text as key_id, k.agent_id::text, k.revoked_at is not null as revoked,
             k.expires_at, ${eligibilityColumns(client)}
        from gateway_keys k
        join agents a on a.id = k.agent_id
        left join operators o on o.id = a.owner_id
       where k.key_hash = any(${arrayParam(
         "bytea",
         hashes.map((hash) => Buffer.from(hash, "hex"))
       )})`)
    const byHash = new Map(rows.map((row) => [row.hash, row]))
    return hashes.map((each) => ({ askedAt, key: Option.fromUndefinedOr(byHash.get(each)) }))
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
    const { askedAt, key } = yield* Cache.get(cachedKeys, keyHash)
    // The age of an answer counts from the question, so that a slow database does not extend it.
    const isStale = (yield* Clock.currentTimeMillis) - askedAt > Duration.toMillis(keyTtl)
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

  const noAgent = (id: string) => new NotFound({ detail: `There is no agent ${id.slice(0, 64)}.` })

  const mayUse = ({ id, kind }: Holder, agentId: string, ownerId: string | null) =>
    kind === "agent" ? id.toLowerCase() === agentId.toLowerCase() : id.toLowerCase() === ownerId

  const expiryOf = Effect.fnUntraced(function* (asked: DateTime.Utc | null | undefined, now: DateTime.Utc) {
    const { gatewayKeyMaxTtl, gatewayKeyTtl } = settings
    if (asked === null || asked === undefined) return DateTime.addDuration(now, gatewayKeyTtl)
    if (DateTime.isLessThanOrEqualTo(asked, now)) {
      return yield* InvalidRequest.of(
        "expires_at",
        `Expected a time in the future, got ${DateTime.formatIso(asked)}`
      )
    }
    const latest = DateTime.addDuration(now, gatewayKeyMaxTtl)
    if (DateTime.isGreaterThan(asked, latest)) {
      return yield* InvalidRequest.of(
        "expires_at",
        `Expected ${DateTime.formatIso(latest)} at the latest: a key lives for ${Duration.format(gatewayKeyMaxTtl)} at most, got ${DateTime.formatIso(asked)}`
      )
    }
    return asked
  })

  /** Checks that the agent may get another key. Locks the agent, so that its keys are made one after the other. */
  const admit = Effect.fnUntraced(function* (by: KeyMaker, agentId: string, now: DateTime.Utc) {
    const found = yield* agentRow(sql`
      select a.owner_id::text, a.token_epoch as epoch, ${eligibilityColumns(sql)}
        from agents a left join operators o on o.id = a.owner_id
       where a.id = ${agentId}::uuid
         for no key update of a`)
    if (Option.isNone(found) || !mayUse(by, agentId, found.value.owner_id)) return yield* noAgent(agentId)
    // The token may have been ended since it was authenticated.
    if (by.epoch !== undefined && by.epoch !== found.value.epoch) {
      return yield* new InvalidToken({
        detail: `The access token has been ended: POST ${tokenPath} issues a new one.`
      })
    }
    const reason = disabledReason(found.value)
    if (reason !== undefined) return yield* new GatewayDisabled({ detail: reason })
    const live = yield* liveKeys(sql`
      select ((select count(*) from gateway_keys
                where agent_id = ${agentId}::uuid and revoked_at is null and expires_at > ${timestamp(now)})
            + (select count(*) from gateway_keys
                where agent_id = ${agentId}::uuid and revoked_at is null and expires_at is null))::int as count`)
    const most = settings.gatewayKeysPerAgent
    if (live.count >= most) {
      return yield* new GatewayKeyLimitReached({
        detail: `An agent has ${most} live gateway keys at most, and this one has ${live.count}: revoke one first.`
      })
    }
    return found.value
  })

  const create: GatewayKeys["Service"]["create"] = Effect.fn("GatewayKeys.create")(
    function* (by, agentId, asked) {
      if (!isUuid(agentId)) return yield* noAgent(agentId)
      const now = yield* DateTime.now
      const expiresAt = yield* expiryOf(asked.expires_at, now)
      const id = GatewayKeyId.make(yield* random.uuidV7())
      const { key, prefix } = makeGatewayKey()
      const name = asked.name ?? "default"
      const creditLimit = asked.credit_limit ?? null
      const made = Effect.gen(function* () {
        const agent = yield* admit(by, agentId, now)
        yield* execute(sql`
          insert into gateway_keys (id, agent_id, owner_id, name, prefix, key_hash, expires_at, credit_limit, created_at)
          values (${id}::uuid, ${agentId}::uuid, ${agent.owner_id}::uuid, ${name}, ${prefix}, ${sha256(key)},
                  ${timestamp(expiresAt)}, ${creditLimit}::int8, ${timestamp(now)})`)
      })
      yield* transaction(sql)(made)
      return {
        key_id: id,
        api_key: key,
        name,
        agent_id: AgentId.make(agentId.toLowerCase()),
        expires_at: DateTime.formatIso(expiresAt),
        credit_limit: creditLimit,
        created_at: DateTime.formatIso(now)
      }
    }
  )

  const ownColumn = ({ kind }: Holder) => sql.literal(kind === "agent" ? "k.agent_id" : "k.owner_id")

  const list: GatewayKeys["Service"]["list"] = Effect.fn("GatewayKeys.list")(function* (of, page) {
    const { after, cut, limit } = yield* pages.open(page)
    const now = yield* DateTime.now
    const before = after === undefined ? sql`` : sql`and k.id < ${after}::uuid`
    const rows = yield* keyRows(sql`
      select k.id::text as key_id, k.prefix, k.name, k.agent_id::text,
             case when k.revoked_at is not null then 'revoked' when k.expires_at <= ${timestamp(now)} then 'expired'
                  else 'active' end as status,
             ${isoTimestamp(sql, "k.expires_at")} as expires_at, ${isoTimestamp(sql, "k.revoked_at")} as revoked_at, k.credit_limit,
             coalesce(d.spent, 0)::int8 as spent, ${isoTimestamp(sql, "u.latest")} as last_used_at,
             ${isoTimestamp(sql, "k.created_at")} as created_at
        from gateway_keys k
       cross join lateral (select sum(cost) as spent from gateway_days where key_id = k.id) d
        left join lateral (
          select created_at + latency_ms * interval '1 millisecond' as latest from gateway_calls where key_id = k.id
           order by created_at desc limit 1) u on true
       where ${ownColumn(of)} = ${of.id}::uuid ${before}
       order by k.id desc limit ${limit}`)
    return cut(rows, (last) => last.key_id)
  })

  const revoke: GatewayKeys["Service"]["revoke"] = Effect.fn("GatewayKeys.revoke")(function* (by, keyId) {
    const now = yield* DateTime.now
    const revoked = isUuid(keyId)
      ? yield* revokedRow(sql`
          update gateway_keys k set revoked_at = coalesce(k.revoked_at, ${timestamp(now)})
           where k.id = ${keyId}::uuid and ${ownColumn(by)} = ${by.id}::uuid
          returning encode(key_hash, 'hex') as hash`)
      : Option.none()
    if (Option.isNone(revoked)) {
      return yield* new NotFound({ detail: `There is no gateway key ${keyId.slice(0, 64)}.` })
    }
    yield* Cache.invalidate(cachedKeys, revoked.value.hash)
  })

  return GatewayKeys.of({ create, list, revoke, authenticate })
})

export const layer = Layer.effect(GatewayKeys, make)
