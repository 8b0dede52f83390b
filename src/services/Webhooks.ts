/**
 * Webhooks: notices that are posted to an address of an agent or owner, signed by Standard Webhooks (docs/notices.md). An agent's
 * webhook gets that agent's notices; an owner's gets those of all agents of the owner.
 */
import { Context, Schema } from "effect"
import type { Effect, Fiber } from "effect"
import type { Holder, Maker } from "./Credits.ts"
import { apiError } from "./domain/errors.ts"
import type { InvalidRequest, NotFound } from "./domain/errors.ts"
import { AgentId } from "./domain/ids.ts"
import { pageSchema } from "./domain/paging.ts"
import type { Page, PageOf } from "./domain/paging.ts"
import { list, text, Timestamp } from "./domain/text.ts"
import { noticeTypes } from "./Notices.ts"
import type { InvalidToken } from "./Tokens.ts"

export const WebhookId = Schema.String.annotate({ description: "identifier of a webhook (UUIDv7)" }).pipe(
  Schema.brand("WebhookId")
)
export type WebhookId = typeof WebhookId.Type

const Url = text({ minimum: 1, maximum: 2048 }).annotate({
  description: "https, on the public internet, port 443 or 8443"
})
const Types = list(Schema.Literals(noticeTypes), { minimum: 1, maximum: noticeTypes.length }).annotate({
  description: "types of notices; what is not of the agent is told to everybody"
})

export const NewWebhook = Schema.Struct({ url: Url, types: Types }).annotate({ identifier: "NewWebhook" })
export type NewWebhook = typeof NewWebhook.Type

/** A member that is left out stays unchanged. */
export const WebhookChange = Schema.Struct({
  url: Schema.optionalKey(Url),
  types: Schema.optionalKey(Types),
  enabled: Schema.optionalKey(Schema.Boolean).annotate({
    description: "true lets a disabled one be told what happens from then on; false has it told nothing"
  })
}).annotate({ identifier: "WebhookChange" })
export type WebhookChange = typeof WebhookChange.Type

export const Webhook = Schema.Struct({
  webhook_id: WebhookId,
  url: Schema.String,
  types: Schema.Array(Schema.Literals(noticeTypes)),
  enabled: Schema.Boolean,
  disabled_at: Schema.NullOr(Timestamp),
  disabled_reason: Schema.NullOr(Schema.String),
  failing_since: Schema.NullOr(Timestamp).annotate({
    description: "when the first attempt failed since the last that was taken; after a day it is disabled"
  }),
  created_at: Timestamp
}).annotate({ identifier: "Webhook" })
export type Webhook = typeof Webhook.Type

/** A webhook as the owner of its agent sees it. */
export const AgentWebhook = Schema.Struct({ ...Webhook.fields, agent_id: AgentId, agent_name: Schema.String })
export type AgentWebhook = typeof AgentWebhook.Type

const secret = Schema.String.annotate({
  description: "what deliveries are signed with, for a library of Standard Webhooks; shown this once"
})

export const CreatedWebhook = Schema.Struct({ ...Webhook.fields, secret }).annotate({
  identifier: "CreatedWebhook"
})

export const RotatedWebhookSecret = Schema.Struct({
  webhook_id: WebhookId,
  secret,
  old_secret_until: Timestamp.annotate({ description: "until then deliveries are signed with both" })
}).annotate({ identifier: "RotatedWebhookSecret" })

/** A delivery; `notice_id` distinguishes it from others of the same webhook. */
export const WebhookDelivery = Schema.Struct({
  notice_id: Schema.String.annotate({ description: "the webhook-id of its requests" }),
  type: Schema.String,
  state: Schema.Literals(["waiting", "delivered", "failed"]).annotate({
    description: "failed: given up; it can be redelivered"
  }),
  attempts: Schema.Int,
  created_at: Timestamp,
  attempted_at: Schema.NullOr(Timestamp),
  next_attempt_at: Schema.NullOr(Timestamp),
  status: Schema.NullOr(Schema.Int).annotate({ description: "of the last answer" }),
  error: Schema.NullOr(Schema.String).annotate({ description: "why there was none" }),
  took_ms: Schema.NullOr(Schema.Int)
}).annotate({ identifier: "WebhookDelivery" })
export type WebhookDelivery = typeof WebhookDelivery.Type

export const WebhookDeliveries = pageSchema(WebhookDelivery)

/** 400: the maximum number of webhooks is reached. */
export class WebhookLimitReached extends apiError("WebhookLimitReached", 400, "webhook_limit") {}

/** 409: nothing is sent to a webhook that is disabled. */
export class WebhookDisabled extends apiError("WebhookDisabled", 409, "webhook_disabled") {}

/** Callers are agents, by access token, or owners, on the account pages. Another caller's webhook is answered as an unknown one. */
export class Webhooks extends Context.Service<
  Webhooks,
  {
    readonly create: (
      by: Maker,
      hook: NewWebhook
    ) => Effect.Effect<typeof CreatedWebhook.Type, InvalidRequest | InvalidToken | WebhookLimitReached>
    /** The list is oldest first. */
    readonly list: (of: Holder) => Effect.Effect<ReadonlyArray<Webhook>>
    /** Webhooks that the agents of an owner made. */
    readonly listOfAgents: (ownerId: string) => Effect.Effect<ReadonlyArray<AgentWebhook>>
    readonly update: (
      by: Maker,
      webhookId: string,
      change: WebhookChange
    ) => Effect.Effect<Webhook, InvalidRequest | InvalidToken | NotFound>
    /** Removes a webhook and its deliveries. An owner may also remove those of its agents. */
    readonly remove: (by: Holder, webhookId: string) => Effect.Effect<void, NotFound>
    /** Makes a new secret; the old one also signs for a day. */
    readonly rotate: (
      by: Maker,
      webhookId: string
    ) => Effect.Effect<typeof RotatedWebhookSecret.Type, InvalidToken | NotFound>
    /** Delivers a notice of the type `webhook.test`. */
    readonly test: (
      by: Holder,
      webhookId: string
    ) => Effect.Effect<WebhookDelivery, NotFound | WebhookDisabled>
    /** The list is newest first. */
    readonly deliveries: (
      of: Holder,
      webhookId: string,
      page: Page
    ) => Effect.Effect<PageOf<WebhookDelivery>, InvalidRequest | NotFound>
    /** Delivers a notice once more, whatever the result was before. */
    readonly redeliver: (
      by: Holder,
      webhookId: string,
      noticeId: string
    ) => Effect.Effect<WebhookDelivery, NotFound | WebhookDisabled>
    /** Makes deliveries of the notices since the last run; returns the number of notices. One instance at a time does this. */
    readonly dispatch: Effect.Effect<number>
    /**
     * Begins to send due deliveries: to many receivers at once, to each a little at a time, so that a slow one delays only itself.
     * Returns the fibers that were begun.
     */
    readonly send: Effect.Effect<ReadonlyArray<Fiber.Fiber<void>>>
    /** Deletes deliveries that ended long ago. */
    readonly trim: Effect.Effect<void>
  }
>()("auspex/services/Webhooks") {}
