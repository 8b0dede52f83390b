/**
 * Keys of the language-model gateway. A key belongs to the owner of the agent that it was made for, and spends that
 * agent's credit. It is shown once; only its hash is kept.
 */
import { Context, Schema } from "effect"
import type { Effect } from "effect"
import { Credit, CreditAmount } from "./Credits.ts"
import type { Holder } from "./Credits.ts"
import { apiError } from "./domain/errors.ts"
import type { InvalidRequest, NotFound } from "./domain/errors.ts"
import { AgentId } from "./domain/ids.ts"
import { pageSchema } from "./domain/paging.ts"
import type { Page, PageOf } from "./domain/paging.ts"
import { Term, text, Timestamp } from "./domain/text.ts"
import type { InvalidToken } from "./Tokens.ts"

export const GatewayKeyId = Schema.String.annotate({
  description: "identifier of a gateway key (UUIDv7)"
}).pipe(Schema.brand("GatewayKeyId"))
export type GatewayKeyId = typeof GatewayKeyId.Type

/** The settings of a new key, none of which can be changed later. */
export const NewGatewayKey = Schema.Struct({
  name: Schema.optional(text({ minimum: 1, maximum: 100 })).annotate({ description: 'default "default"' }),
  expires_at: Schema.optional(Schema.NullOr(Term)).annotate({
    description:
      "in the future, at most a year ahead (AUSPEX_GATEWAY_KEY_MAX_TTL): the key is refused from then on; null or absent: 90 days from now (AUSPEX_GATEWAY_KEY_TTL)"
  }),
  credit_limit: Schema.optional(Schema.NullOr(CreditAmount)).annotate({
    description: "credit that the key may spend in all; null or absent: what the agent has"
  })
}).annotate({ identifier: "NewGatewayKey" })
export type NewGatewayKey = typeof NewGatewayKey.Type

/** The only answer that shows a key. */
export const CreatedGatewayKey = Schema.Struct({
  key_id: GatewayKeyId,
  api_key: Schema.String.annotate({ description: "shown this once: only its hash is kept" }),
  name: Schema.String,
  agent_id: AgentId,
  expires_at: Timestamp,
  credit_limit: Schema.NullOr(Credit),
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
  credit_limit: Schema.NullOr(Credit),
  spent: Credit.annotate({ description: "by all calls that have ended" }),
  last_used_at: Schema.NullOr(Timestamp).annotate({ description: "when its latest call ended" }),
  created_at: Timestamp
}).annotate({ identifier: "GatewayKey" })
export type GatewayKey = typeof GatewayKey.Type

export const GatewayKeyList = pageSchema(GatewayKey)

/** 403: the gateway may be used by claimed agents only, with credit_arena_enabled, whose owner is on a paid plan. */
export class GatewayDisabled extends apiError("GatewayDisabled", 403, "gateway_disabled") {}

/** 400: the agent has as many live keys as it may have. */
export class GatewayKeyLimitReached extends apiError("GatewayKeyLimitReached", 400, "gateway_key_limit") {}

/** 401: no gateway key of ours, or one that is revoked or expired; or two different ones in the two headers. */
export class InvalidGatewayKey extends apiError("InvalidGatewayKey", 401, "invalid_api_key") {}

/** An accepted key and its agent. */
export interface KeyHolder {
  readonly keyId: GatewayKeyId
  readonly agentId: AgentId
}

/** Who makes a key: an owner, or an agent by a token of this epoch. */
export type KeyMaker = Holder & { readonly epoch?: number | undefined }

/**
 * Callers are agents, by access token, or owners, on the account pages: an agent sees the keys made for it, an owner those of
 * all its agents. Somebody else's key is answered as an unknown one.
 */
export class GatewayKeys extends Context.Service<
  GatewayKeys,
  {
    /**
     * Makes a key that spends this agent's credit; the agent is the caller or owned by it. Fails for an expiry in the past or
     * too far ahead, and for a token that has been ended.
     */
    readonly create: (
      by: KeyMaker,
      agentId: string,
      key: NewGatewayKey
    ) => Effect.Effect<
      CreatedGatewayKey,
      GatewayDisabled | GatewayKeyLimitReached | InvalidRequest | InvalidToken | NotFound
    >
    /** Newest first, including revoked and expired keys. */
    readonly list: (of: Holder, page: Page) => Effect.Effect<PageOf<GatewayKey>, InvalidRequest>
    /** Rejects the key on every replica from now on; revoking it again changes nothing. */
    readonly revoke: (by: Holder, keyId: string) => Effect.Effect<void, NotFound>
    /** The holder of this key, if it may be used; cached for at most half a second. */
    readonly authenticate: (key: string) => Effect.Effect<KeyHolder, InvalidGatewayKey | GatewayDisabled>
  }
>()("auspex/services/GatewayKeys") {}
