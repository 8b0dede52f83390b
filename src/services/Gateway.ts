/**
 * The language-model gateway: one key and one base address reach every configured model, in either of the two styles of
 * calling one. The gateway picks the provider, falls back to the next before anything is delivered, and charges a
 * price per token that is the same whoever served.
 */
import { Context, Effect, Schema } from "effect"
import type { DateTime, Scope, Stream } from "effect"
import { Credit } from "./Credits.ts"
import type { Holder } from "./Credits.ts"
import { apiError, apiErrorWith, errorCode } from "./errors.ts"
import type { InvalidRequest } from "./errors.ts"
import type { GatewayDisabled, InvalidGatewayKey, KeyHolder } from "./GatewayKeys.ts"
import { GatewayKeyId } from "./GatewayKeys.ts"
import type { TooManyRequests } from "./RateLimiter.ts"
import type { Page } from "./paging.ts"
import { Timestamp } from "./text.ts"

/** How a model is called: chat completions as OpenAI has them, or messages as Anthropic has them. */
export const Style = Schema.Literals(["openai", "anthropic"])
export type Style = typeof Style.Type

/** 400, or 413 or 415: the body is none that can be sent on. `param` names the member. */
export class BadCall extends apiErrorWith("BadCall", 400, {
  code: Schema.Literals([
    "invalid_request",
    "too_many_values",
    "payload_too_large",
    "unsupported_media_type"
  ]).pipe(Schema.withConstructorDefault(Effect.succeed("invalid_request" as const))),
  param: Schema.NullOr(Schema.String)
}) {}

/** 400 for a call, 404 where a model is asked for by its path: no such model is configured. */
export class UnknownModel extends apiErrorWith("UnknownModel", 400, {
  code: errorCode("unknown_model"),
  status: Schema.Literals([400, 404]).pipe(Schema.withConstructorDefault(Effect.succeed(400 as const)))
}) {}

/** 402: the agent's available credit, or what is left of the key's limit, does not cover the largest possible cost. */
export class CreditTooLow extends apiError("CreditTooLow", 402, "insufficient_credit") {}

/** 429: every provider of the model is busy. Seconds until one may not be. */
export class UpstreamsBusy extends apiErrorWith("UpstreamsBusy", 429, {
  code: errorCode("upstreams_busy"),
  retry_after: Schema.Int
}) {}

/** 502: no provider of the model answered. */
export class UpstreamsFailed extends apiError("UpstreamsFailed", 502, "upstreams_failed") {}

/** A provider's own refusal of the request (400, 413 or 422), without what names the provider. */
export class RefusedUpstream extends apiErrorWith("RefusedUpstream", 400, {
  code: errorCode("invalid_request"),
  status: Schema.Literals([400, 413, 422]),
  param: Schema.NullOr(Schema.String)
}) {}

/** Whatever ends a call before anything is delivered. */
export type CallError =
  | BadCall
  | UnknownModel
  | InvalidGatewayKey
  | GatewayDisabled
  | CreditTooLow
  | TooManyRequests
  | UpstreamsBusy
  | UpstreamsFailed
  | RefusedUpstream

/** One call as it arrived. */
export interface Call {
  readonly style: Style
  readonly holder: KeyHolder
  readonly body: Uint8Array
  readonly requestId: string
  /** `anthropic-version` and `anthropic-beta`, which travel on to providers of that style. */
  readonly versionHeaders: Readonly<Record<string, string>>
}

/** What a provider answered: all of it at once, or as it comes. A stream that fails was not delivered whole. */
export type Answer =
  | { readonly stream: false; readonly contentType: string; readonly body: Uint8Array }
  | { readonly stream: true; readonly contentType: string; readonly body: Stream.Stream<Uint8Array> }

/** What a call is charged by. */
export const CallRecord = Schema.Struct({
  request_id: Schema.String,
  key_id: GatewayKeyId,
  model: Schema.String.annotate({ description: "as the client named it" }),
  provider: Schema.NullOr(Schema.String).annotate({ description: "that served; null where none did" }),
  style: Style,
  stream: Schema.Boolean,
  prompt_tokens: Schema.Int,
  completion_tokens: Schema.Int,
  cost: Credit,
  status: Schema.Int.annotate({
    description: "HTTP status that the call was answered with; 499: the client left"
  }),
  error: Schema.NullOr(Schema.String),
  latency_ms: Schema.Int,
  first_byte_ms: Schema.NullOr(Schema.Int),
  attempts: Schema.Int,
  estimated: Schema.Boolean.annotate({
    description: "the provider reported no usage: tokens were counted here"
  }),
  created_at: Timestamp
}).annotate({ identifier: "GatewayCall" })
export type CallRecord = typeof CallRecord.Type

export const UsageTotals = Schema.Struct({
  calls: Schema.Int,
  failed_calls: Schema.Int,
  prompt_tokens: Schema.Int,
  completion_tokens: Schema.Int,
  cost: Credit
}).annotate({ identifier: "GatewayUsageTotals" })

export const UsagePage = Schema.Struct({
  items: Schema.Array(CallRecord),
  next_cursor: Schema.NullOr(Schema.String),
  totals: UsageTotals.annotate({ description: "of the asked range, whatever the page" })
}).annotate({ identifier: "GatewayUsage" })
export type UsagePage = typeof UsagePage.Type

/** A day of a key and a model, for charts. */
export const UsageDay = Schema.Struct({
  day: Schema.String.annotate({ description: "UTC, YYYY-MM-DD" }),
  key_id: GatewayKeyId,
  key_name: Schema.String,
  key_prefix: Schema.String,
  model: Schema.String,
  ...UsageTotals.fields
})
export type UsageDay = typeof UsageDay.Type

/** The asked range: `since` counts, `until` does not. */
export interface UsageRange {
  readonly since: DateTime.Utc | undefined
  readonly until: DateTime.Utc | undefined
}

/** A model that clients may name. */
export interface ModelOffer {
  readonly id: string
  /** Credit per token. */
  readonly inputPrice: number
  readonly outputPrice: number
  readonly maxOutputTokens: number
  /** When the configuration that names it was read. */
  readonly since: DateTime.Utc
}

/** An error as it is answered: the whole of it. */
export interface ErrorAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** A request that was refused before it was known to be a call, or for no fault of its own. */
export interface RefusedRequest {
  readonly status: number
  readonly code: string
  readonly detail: string
  readonly headers?: Readonly<Record<string, string>>
}

export class Gateway extends Context.Service<
  Gateway,
  {
    /**
     * Fails where not even the smallest call of the cheapest model is covered. No more can be said of a body by its
     * length: an image is paid by its tokens, and white space and members that only steer a call are not paid at all.
     */
    readonly checkCredit: (holder: KeyHolder) => Effect.Effect<void, CreditTooLow | GatewayDisabled>
    /**
     * Reserves, calls and settles; an error means that nothing was delivered. The scope is the client's: when it closes
     * before the end, the provider is cancelled, and what was generated is still settled.
     */
    readonly call: (call: Call) => Effect.Effect<Answer, CallError, Scope.Scope>
    /** Tokens of a prompt, for a body of the messages style; reaches no provider and costs nothing. */
    readonly countTokens: (body: Uint8Array) => Effect.Effect<number, CallError>
    readonly models: Effect.Effect<ReadonlyArray<ModelOffer>>
    /** An error as clients of that style read it. */
    readonly refusal: (style: Style, error: CallError, requestId: string) => ErrorAnswer
    /** The same of what is no call's error: nothing is at the path, or the instance cannot serve just now. */
    readonly inStyle: (style: Style, refused: RefusedRequest, requestId: string) => ErrorAnswer
  }
>()("auspex/services/Gateway") {}

/** What was called and charged. */
export class GatewayUsage extends Context.Service<
  GatewayUsage,
  {
    /** Newest first, of an agent or of all agents of an owner. */
    readonly list: (of: Holder, range: UsageRange, page: Page) => Effect.Effect<UsagePage, InvalidRequest>
    /** By day, key and model, oldest day first; of whole days that the range touches. */
    readonly days: (of: Holder, range: UsageRange) => Effect.Effect<ReadonlyArray<UsageDay>>
  }
>()("auspex/services/GatewayUsage") {}
