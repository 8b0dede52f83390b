/**
 * Keys of the language-model gateway. A key belongs to the owner of the agent that it was made for, and spends that
 * agent's credit. It is shown once; only its hash is kept.
 */
import { Context, Schema } from "effect"
import type { Effect } from "effect"
import { Credit, CreditAmount } from "./Credits.ts"
import type { Holder, Maker } from "./Credits.ts"
import { apiError } from "./domain/errors.ts"
import type { InvalidRequest, NotFound } from "./domain/errors.ts"
import { AgentId } from "./domain/ids.ts"
import { pageSchema } from "./domain/paging.ts"
import type { Page, PageOf } from "./domain/paging.ts"
import { list, Term, text, Timestamp } from "./domain/text.ts"
import type { InvalidToken } from "./Tokens.ts"

export const GatewayKeyId = Schema.String.annotate({
  description: "identifier of a gateway key (UUIDv7)"
}).pipe(Schema.brand("GatewayKeyId"))
export type GatewayKeyId = typeof GatewayKeyId.Type

const limit = (description: string) => Schema.optional(Schema.NullOr(CreditAmount)).annotate({ description })

/** Null, or absent in a new key, means no limit but the agent's credit. */
const newLimits = {
  credit_limit: limit("credit that the key may spend in all; null: what the agent has"),
  daily_limit: limit("in a day, from 00:00 UTC"),
  weekly_limit: limit("in a week, from Monday 00:00 UTC"),
  monthly_limit: limit("in a calendar month, UTC")
}

const Name = text({ minimum: 1, maximum: 100 })

/** The list must not be empty: one reader would take that for all models, another for none. */
const newModels = Schema.optional(
  Schema.NullOr(list(text({ minimum: 1, maximum: 256 }), { minimum: 1, maximum: 100 }))
).annotate({ description: "names of the models that it may call; null: all" })

/** The settings of a new key. */
export const NewGatewayKey = Schema.Struct({
  name: Schema.optional(Name).annotate({ description: 'default "default"' }),
  expires_at: Schema.optional(Schema.NullOr(Term)).annotate({
    description:
      "in the future, at most a year ahead (AUSPEX_GATEWAY_KEY_MAX_TTL): the key is refused from then on; null or absent: 90 days from now (AUSPEX_GATEWAY_KEY_TTL)"
  }),
  ...newLimits,
  allowed_models: newModels
}).annotate({ identifier: "NewGatewayKey" })
export type NewGatewayKey = typeof NewGatewayKey.Type

/** Absent members stay unchanged. */
export const GatewayKeyChange = Schema.Struct({
  name: Schema.optional(Name),
  expires_at: Schema.optional(Schema.NullOr(Term)).annotate({
    description: "as of a new key; null: 90 days from now (AUSPEX_GATEWAY_KEY_TTL)"
  }),
  ...newLimits,
  allowed_models: newModels
}).annotate({ identifier: "GatewayKeyChange" })
export type GatewayKeyChange = typeof GatewayKeyChange.Type

/** The settings of a key. */
const terms = {
  credit_limit: Schema.NullOr(Credit),
  daily_limit: Schema.NullOr(Credit),
  weekly_limit: Schema.NullOr(Credit),
  monthly_limit: Schema.NullOr(Credit),
  allowed_models: Schema.NullOr(Schema.Array(Schema.String)).annotate({ description: "null: all" })
}

/** The period of a limit: all time, or a period that begins at 00:00 UTC, weeks on Monday and months on their first day. */
export const LimitPeriod = Schema.Literals(["total", "day", "week", "month"])
export type LimitPeriod = typeof LimitPeriod.Type

/** The field that sets the limit of each period. */
export const limitNames = {
  total: "credit_limit",
  day: "daily_limit",
  week: "weekly_limit",
  month: "monthly_limit"
} as const satisfies Readonly<Record<LimitPeriod, keyof NewGatewayKey>>

/** A limit with its current state. */
export const KeyLimit = Schema.Struct({
  period: LimitPeriod,
  limit: Credit,
  spent: Credit.annotate({ description: "in this period, by calls that have ended" }),
  reserved: Credit.annotate({ description: "at most, by calls under way" }),
  left: Credit,
  resets_at: Schema.NullOr(Timestamp).annotate({ description: "when the period ends; null: never" })
}).annotate({ identifier: "GatewayKeyLimit" })
export type KeyLimit = typeof KeyLimit.Type

/** No other answer shows the key itself. */
export const CreatedGatewayKey = Schema.Struct({
  key_id: GatewayKeyId,
  api_key: Schema.String.annotate({ description: "shown this once: only its hash is kept" }),
  name: Schema.String,
  agent_id: AgentId,
  expires_at: Timestamp,
  ...terms,
  created_at: Timestamp
}).annotate({ identifier: "CreatedGatewayKey" })
export type CreatedGatewayKey = typeof CreatedGatewayKey.Type

export const GatewayKeyStatus = Schema.Literals(["active", "expired", "revoked"])

export const GatewayKey = Schema.Struct({
  key_id: GatewayKeyId,
  prefix: Schema.String.annotate({ description: "how the key begins" }),
  name: Schema.String,
  agent_id: AgentId,
  status: GatewayKeyStatus,
  expires_at: Schema.NullOr(Timestamp).annotate({
    description: "null: never, of a key that was made before keys had to end"
  }),
  revoked_at: Schema.NullOr(Timestamp),
  ...terms,
  limits: Schema.Array(KeyLimit).annotate({ description: "those that are set, and what is left of each" }),
  spent: Credit.annotate({ description: "by all calls that have ended" }),
  last_used_at: Schema.NullOr(Timestamp).annotate({ description: "when its latest call ended" }),
  created_at: Timestamp
}).annotate({ identifier: "GatewayKey" })
export type GatewayKey = typeof GatewayKey.Type

/** A key as its bearer sees it. */
export const OneGatewayKey = Schema.Struct({
  ...GatewayKey.fields,
  left: Credit.annotate({
    description: "what calls may cost now: of the agent's available credit, or of a limit that leaves less"
  })
}).annotate({ identifier: "OneGatewayKey" })
export type OneGatewayKey = typeof OneGatewayKey.Type

export const GatewayKeyList = pageSchema(GatewayKey)

/** 403: only claimed agents with credit_arena_enabled, whose owner is on a paid plan, may use the gateway. */
export class GatewayDisabled extends apiError("GatewayDisabled", 403, "gateway_disabled") {}

/** 400: the agent has the maximum number of live keys, or has made the maximum number within a day. */
export class GatewayKeyLimitReached extends apiError("GatewayKeyLimitReached", 400, "gateway_key_limit") {}

/** 409: the key has been revoked or has expired, and cannot be changed any more. */
export class GatewayKeyEnded extends apiError("GatewayKeyEnded", 409, "gateway_key_ended") {}

/** 401: the key is unknown, revoked or expired; or the two headers have different keys. */
export class InvalidGatewayKey extends apiError("InvalidGatewayKey", 401, "invalid_api_key") {}

/** An accepted key and its agent. */
export interface KeyHolder {
  readonly keyId: GatewayKeyId
  readonly agentId: AgentId
  /** The models that the key may call; absent means all. */
  readonly allowedModels?: ReadonlyArray<string>
}

/**
 * Callers are agents, by access token, or owners, on the account pages: an agent sees the keys made for it, an owner those of
 * all its agents. Another owner's key is answered as an unknown one.
 */
export class GatewayKeys extends Context.Service<
  GatewayKeys,
  {
    /**
     * Makes a key that spends this agent's credit; the agent is the caller or owned by it. Fails for an expiry in the past or
     * too far ahead, and for an ended token.
     */
    readonly create: (
      by: Maker,
      agentId: string,
      key: NewGatewayKey
    ) => Effect.Effect<
      CreatedGatewayKey,
      GatewayDisabled | GatewayKeyLimitReached | InvalidRequest | InvalidToken | NotFound
    >
    /**
     * Changes a live key, on every replica within a second. Calls under way count towards its new limits. Fails for a `credit_limit` that
     * is already spent or reserved; a limit of a period that is already spent refuses calls until the period ends.
     */
    readonly update: (
      by: Maker,
      keyId: string,
      change: GatewayKeyChange
    ) => Effect.Effect<GatewayKey, GatewayKeyEnded | InvalidRequest | InvalidToken | NotFound>
    /** One key, with the credit that it can still spend. */
    readonly find: (of: Holder, keyId: string) => Effect.Effect<OneGatewayKey, NotFound>
    /** Newest first, including revoked and expired keys. */
    readonly list: (of: Holder, page: Page) => Effect.Effect<PageOf<GatewayKey>, InvalidRequest>
    /** Rejects the key on every replica from now on; revoking it again changes nothing. */
    readonly revoke: (by: Holder, keyId: string) => Effect.Effect<void, NotFound>
    /** The holder of this key, if it may be used; cached for at most half a second. */
    readonly authenticate: (key: string) => Effect.Effect<KeyHolder, InvalidGatewayKey | GatewayDisabled>
  }
>()("auspex/services/GatewayKeys") {}
