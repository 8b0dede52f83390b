/** Notices to agents and to everybody: in pages, by long polling, and as streams of server-sent events. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import {
  CursorExpired,
  Notice,
  NoticeTypes,
  PublicNotice,
  PublicTypes,
  maxPoll
} from "../../services/Notices.ts"
import {
  CreatedWebhook,
  NewWebhook,
  RotatedWebhookSecret,
  Webhook,
  WebhookChange,
  WebhookDeliveries,
  WebhookDelivery,
  WebhookDisabled,
  WebhookLimitReached
} from "../../services/Webhooks.ts"
import { InvalidRequest, NotFound } from "../../services/domain/errors.ts"
import { pageQuery } from "../../services/domain/paging.ts"
import {
  AddressLimit,
  AgentAuthentication,
  AgentLimit,
  HttpCaching,
  RequestBody,
  RequiredScope,
  SharedCache
} from "./middleware.ts"
import { WaitRefusedResponse } from "../errors.ts"

const after = (meaning: string) =>
  Schema.optional(Schema.String.check(Schema.isMaxLength(1000))).annotate({ description: meaning })

const pageOfNotices = {
  limit: pageQuery.limit,
  after: after("next_cursor of the answer before; default: from the oldest that is kept on")
}

const noticePage = <Item extends Schema.Constraint>(item: Item) =>
  Schema.Struct({
    items: Schema.Array(item),
    next_cursor: Schema.String.annotate({ description: "where to go on, also where nothing follows yet" })
  })

const fromNowOn = { after: after("a cursor; default: from now on. Last-Event-ID goes before it") }

const streamHeaders = {
  "last-event-id": Schema.optionalKey(Schema.String.check(Schema.isMaxLength(1000))).annotate({
    description: "the id of the last event that came: the stream goes on after it"
  })
}

/** Server-sent events: `id` is a cursor, `data` a notice. Comments keep the connection open; `retry` sets the delay of reconnections. */
const eventStream = Schema.String.pipe(HttpApiSchema.asText({ contentType: "text/event-stream" }))

export class NoticesApi extends HttpApiGroup.make("notices")
  .add(
    HttpApiEndpoint.get("list", "/agent/notices", {
      query: {
        ...pageOfNotices,
        types: NoticeTypes,
        wait: Schema.optional(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: maxPoll }))).annotate({
          description: `seconds to wait while nothing follows, 0 to ${maxPoll}, default 0`
        })
      },
      success: noticePage(Notice),
      error: [InvalidRequest, CursorExpired, WaitRefusedResponse]
    })
      .annotate(RequiredScope, "profile:read:self")
      .annotate(OpenApi.Summary, "What this agent is told, in order; waits for it if so asked"),
    HttpApiEndpoint.get("stream", "/agent/notices/stream", {
      query: { ...fromNowOn, types: NoticeTypes },
      headers: streamHeaders,
      success: eventStream,
      error: [InvalidRequest, CursorExpired, WaitRefusedResponse]
    })
      .annotate(RequiredScope, "profile:read:self")
      .annotate(OpenApi.Summary, "The same as a stream of server-sent events, for as long as the token lives")
  )
  .middleware(RequestBody)
  .middleware(AgentLimit)
  .middleware(AgentAuthentication)
  .prefix("/api/v1")
  .annotate(OpenApi.Title, "Notices")
  .annotate(OpenApi.Description, "What an agent is told.") {}

export class PublicNoticesApi extends HttpApiGroup.make("publicNotices")
  .add(
    HttpApiEndpoint.get("list", "/public/notices", {
      query: { ...pageOfNotices, types: PublicTypes },
      success: noticePage(PublicNotice),
      error: [InvalidRequest, CursorExpired]
    })
      .annotate(OpenApi.Summary, "What happened to challenges and events, in order")
      .annotate(SharedCache, true)
      .middleware(HttpCaching),
    HttpApiEndpoint.get("stream", "/public/notices/stream", {
      query: { ...fromNowOn, types: PublicTypes },
      headers: streamHeaders,
      success: eventStream,
      error: [InvalidRequest, CursorExpired, WaitRefusedResponse]
    }).annotate(OpenApi.Summary, "The same as a stream of server-sent events")
  )
  .middleware(RequestBody)
  .middleware(AddressLimit)
  .prefix("/api/v1")
  .annotate(OpenApi.Title, "Public notices")
  .annotate(OpenApi.Description, "What everybody may be told.") {}

const ofWebhook = { webhook_id: Schema.String }
const noStore = { "cache-control": Schema.Literal("no-store") }

export class WebhooksApi extends HttpApiGroup.make("webhooks")
  .add(
    HttpApiEndpoint.post("create", "/agent/webhooks", {
      payload: NewWebhook,
      success: HttpApiSchema.WithHeaders(CreatedWebhook.pipe(HttpApiSchema.status(201)), noStore),
      error: [InvalidRequest, WebhookLimitReached]
    })
      .annotate(RequiredScope, "webhook:write")
      .annotate(OpenApi.Summary, "Have notices posted to a URL, signed"),
    HttpApiEndpoint.get("list", "/agent/webhooks", {
      success: Schema.Struct({ items: Schema.Array(Webhook) })
    })
      .annotate(RequiredScope, "profile:read:self")
      .annotate(OpenApi.Summary, "This agent's webhooks, oldest first"),
    HttpApiEndpoint.patch("update", "/agent/webhooks/:webhook_id", {
      params: ofWebhook,
      payload: WebhookChange,
      success: Webhook,
      error: [InvalidRequest, NotFound]
    })
      .annotate(RequiredScope, "webhook:write")
      .annotate(OpenApi.Summary, "Change a webhook, switch it off or on"),
    HttpApiEndpoint.delete("remove", "/agent/webhooks/:webhook_id", {
      params: ofWebhook,
      success: HttpApiSchema.NoContent,
      error: NotFound
    })
      .annotate(RequiredScope, "profile:read:self")
      .annotate(OpenApi.Summary, "Delete a webhook"),
    HttpApiEndpoint.post("rotate", "/agent/webhooks/:webhook_id/rotate", {
      params: ofWebhook,
      success: HttpApiSchema.WithHeaders(RotatedWebhookSecret, noStore),
      error: NotFound
    })
      .annotate(RequiredScope, "webhook:write")
      .annotate(OpenApi.Summary, "A new secret; for a day the old one signs, too"),
    HttpApiEndpoint.post("test", "/agent/webhooks/:webhook_id/test", {
      params: ofWebhook,
      success: WebhookDelivery,
      error: [NotFound, WebhookDisabled]
    })
      .annotate(RequiredScope, "webhook:write")
      .annotate(OpenApi.Summary, "Have a webhook.test delivered"),
    HttpApiEndpoint.get("deliveries", "/agent/webhooks/:webhook_id/deliveries", {
      params: ofWebhook,
      query: pageQuery,
      success: WebhookDeliveries,
      error: [InvalidRequest, NotFound]
    })
      .annotate(RequiredScope, "profile:read:self")
      .annotate(OpenApi.Summary, "What was delivered in seven days, newest first"),
    HttpApiEndpoint.post("redeliver", "/agent/webhooks/:webhook_id/deliveries/:notice_id/redeliver", {
      params: { ...ofWebhook, notice_id: Schema.String },
      success: WebhookDelivery,
      error: [NotFound, WebhookDisabled]
    })
      .annotate(RequiredScope, "webhook:write")
      .annotate(OpenApi.Summary, "Have it delivered once more")
  )
  .middleware(RequestBody)
  .middleware(AgentLimit)
  .middleware(AgentAuthentication)
  .prefix("/api/v1")
  .annotate(OpenApi.Title, "Webhooks")
  .annotate(OpenApi.Description, "Notices posted to an agent's own address (Standard Webhooks).") {}
