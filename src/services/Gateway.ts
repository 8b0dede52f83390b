/**
 * The language-model gateway: one key and one base address reach every configured model, in either of the two styles. The
 * gateway picks the provider, falls back to the next one until something is delivered, and charges a price per token that is
 * the same for every provider.
 */
import { Context, Effect, Schema } from "effect"
import type { DateTime, Scope, Stream } from "effect"
import { apiError, apiErrorWith, errorCode } from "./domain/errors.ts"
import type { InvalidRequest } from "./domain/errors.ts"
import { Timestamp } from "./domain/text.ts"
import type { GatewayDisabled, InvalidGatewayKey, KeyHolder } from "./GatewayKeys.ts"
import type { TooManyRequests } from "./RateLimiter.ts"

/** The style of calling a model: chat completions as OpenAI has them, or messages as Anthropic has them. */
export const Style = Schema.Literals(["openai", "anthropic"])
export type Style = typeof Style.Type

/** Each endpoint belongs to a style and has its errors. */
export type Endpoint = "chat" | "embeddings" | "messages" | "responses"

export const styleOf = (endpoint: Endpoint): Style => (endpoint === "messages" ? "anthropic" : "openai")

/**
 * Media and features of a model besides text, as the operator gives them, under the names that clients of messages read. A
 * model with embeddings generates nothing else.
 */
export const Capability = Schema.Literals([
  "tools",
  "image_input",
  "pdf_input",
  "structured_outputs",
  "thinking",
  "embeddings"
])
export type Capability = typeof Capability.Type

/** 400, 413 or 415: the body cannot be forwarded. `param` names the member. */
export class BadCall extends apiErrorWith("BadCall", 400, {
  code: Schema.Literals([
    "invalid_request",
    "too_many_values",
    "payload_too_large",
    "unsupported_media_type"
  ]).pipe(Schema.withConstructorDefault(Effect.succeed("invalid_request" as const))),
  param: Schema.NullOr(Schema.String)
}) {}

/** 400 for a call, 404 for a model requested by its path: no such model is configured. */
export class UnknownModel extends apiErrorWith("UnknownModel", 400, {
  code: errorCode("unknown_model"),
  status: Schema.Literals([400, 404]).pipe(Schema.withConstructorDefault(Effect.succeed(400 as const)))
}) {}

/** 403: the key may not call this model. */
export class ModelNotAllowed extends apiError("ModelNotAllowed", 403, "model_not_allowed") {}

/** The credit that can be spent now, in micro-credits, and a remedy besides requesting fewer tokens. */
const funds = { left: Schema.BigInt, remedy: Schema.String }

/** 402: the agent's available credit, or the rest of the key's limit, does not cover the largest possible cost. */
export class CreditTooLow extends apiErrorWith("CreditTooLow", 402, {
  code: errorCode("insufficient_credit"),
  ...funds
}) {}

/** 402: the credit would suffice without the reservations of calls under way. `retry_after` is in seconds. */
export class CreditInFlight extends apiErrorWith("CreditInFlight", 402, {
  code: errorCode("credit_in_flight"),
  ...funds,
  retry_after: Schema.Int
}) {}

/** 429: every provider of the model is busy. `retry_after` is in seconds. */
export class UpstreamsBusy extends apiErrorWith("UpstreamsBusy", 429, {
  code: errorCode("upstreams_busy"),
  retry_after: Schema.Int
}) {}

/** 502: no provider of the model answered. `attempts` counts all requests to them. */
export class UpstreamsFailed extends apiErrorWith("UpstreamsFailed", 502, {
  code: errorCode("upstreams_failed"),
  attempts: Schema.Int
}) {}

/** A provider's own rejection of the request (400, 413 or 422), without the names of the provider and its account. */
export class RejectedUpstream extends apiErrorWith("RejectedUpstream", 400, {
  /** The provider's own code, if it has one. */
  code: Schema.String,
  type: Schema.NullOr(Schema.String),
  status: Schema.Literals([400, 413, 422]),
  param: Schema.NullOr(Schema.String)
}) {}

/** The errors of a call that delivered nothing. */
export type CallError =
  | BadCall
  | UnknownModel
  | ModelNotAllowed
  | InvalidGatewayKey
  | GatewayDisabled
  | CreditTooLow
  | CreditInFlight
  | TooManyRequests
  | UpstreamsBusy
  | UpstreamsFailed
  | RejectedUpstream

/** A call before its body is parsed. */
export interface Call {
  readonly endpoint: Endpoint
  readonly holder: KeyHolder
  readonly body: Uint8Array
  readonly requestId: string
  /** `anthropic-version` and `anthropic-beta`, which are forwarded to providers of that style. */
  readonly versionHeaders: Readonly<Record<string, string>>
}

/** The answer, whole or as a stream. A stream that fails is incomplete. The headers give the cost and the remaining credit. */
export type Answer = {
  readonly contentType: string
  readonly headers: Readonly<Record<string, string>>
} & (
  | { readonly stream: false; readonly body: Uint8Array }
  | { readonly stream: true; readonly body: Stream.Stream<Uint8Array> }
)

/** A model that clients may name. */
export interface ModelOffer {
  readonly id: string
  /** Credit per token of each kind (input, output, cached_input, cache_write, cache_write_1h, reasoning) and per image. */
  readonly prices: Readonly<Record<string, number>>
  /** The maximum is undefined if the model generates nothing. */
  readonly maxOutputTokens: number | undefined
  /** Tokens of prompt and answer together; undefined if the operator does not give it, and so with capabilities. */
  readonly contextLength: number | undefined
  readonly capabilities: ReadonlyArray<Capability> | undefined
  /** The time when this instance first read the configuration. */
  readonly since: DateTime.Utc
}

/** A route of a model, with its results since the answering instance started. */
export const RouteHealth = Schema.Struct({
  model: Schema.String.annotate({ description: "as clients name it" }),
  provider: Schema.String,
  route: Schema.String.annotate({ description: "the model as the provider names it" }),
  priority: Schema.Int,
  weight: Schema.Int,
  health: Schema.Literals(["untried", "healthy", "failing", "cooling"]).annotate({
    description: "failing: its latest call failed; cooling: it is tried last until cooling_until"
  }),
  failures_in_a_row: Schema.Int,
  cooling_until: Schema.NullOr(Timestamp),
  keys: Schema.Int.annotate({ description: "of its provider" }),
  keys_cooling: Schema.Int.annotate({ description: "that were refused, or whose limit is reached" }),
  attempts: Schema.Int.annotate({ description: "at the provider's model, whichever model was called" }),
  failed_attempts: Schema.Int,
  latency_ms: Schema.NullOr(Schema.Int).annotate({ description: "of whole attempts, a moving average" }),
  first_byte_ms: Schema.NullOr(Schema.Int).annotate({ description: "until the first content, the same" }),
  last_failure: Schema.NullOr(Schema.String).annotate({ description: "such as status_500 or timeout" }),
  last_failure_at: Schema.NullOr(Timestamp)
}).annotate({ identifier: "GatewayRoute" })
export type RouteHealth = typeof RouteHealth.Type

/** A complete error answer. */
export interface ErrorAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** A request that was rejected before it was known to be a call, or for a reason outside of the request. */
export interface RejectedRequest {
  readonly status: number
  readonly code: string
  readonly detail: string
  readonly headers?: Readonly<Record<string, string>>
}

export class Gateway extends Context.Service<
  Gateway,
  {
    /**
     * Fails if the credit does not cover even the smallest call of the cheapest model. A longer body does not cost more: an
     * image is paid by its tokens, and white space and members that steer a call are free.
     */
    readonly checkCredit: (
      holder: KeyHolder
    ) => Effect.Effect<void, CreditInFlight | CreditTooLow | GatewayDisabled>
    /**
     * Reserves, calls and settles; fails only if nothing was delivered. The scope is the client's: when it closes early, the
     * request to the provider is cancelled, and the generated part is settled.
     */
    readonly call: (call: Call) => Effect.Effect<Answer, CallError, Scope.Scope>
    /** Counts the tokens of a prompt in the messages style; costs nothing. */
    readonly countTokens: (holder: KeyHolder, body: Uint8Array) => Effect.Effect<number, CallError>
    readonly models: Effect.Effect<ReadonlyArray<ModelOffer>>
    /** Fails for names without a model, each with its place in `allowed_models` of a key. */
    readonly requireModels: (names: ReadonlyArray<string>) => Effect.Effect<void, InvalidRequest>
    /** The routes as this instance has experienced them. Empty without a gateway. */
    readonly routes: Effect.Effect<ReadonlyArray<RouteHealth>>
    /** A call's error in this style. */
    readonly errorAnswer: (style: Style, error: CallError, requestId: string) => ErrorAnswer
    /** Any other error in this style, such as an unknown path, or an instance that cannot serve. */
    readonly inStyle: (style: Style, rejected: RejectedRequest, requestId: string) => ErrorAnswer
  }
>()("auspex/services/Gateway") {}
