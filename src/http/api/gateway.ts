/** Keys of the language-model gateway, and their usage. The calls themselves are documented in `modelCalls.ts`. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import {
  CreatedGatewayKey,
  GatewayDisabled,
  GatewayKey,
  GatewayKeyChange,
  GatewayKeyEnded,
  GatewayKeyLimitReached,
  GatewayKeyList,
  NewGatewayKey,
  OneGatewayKey
} from "../../services/GatewayKeys.ts"
import { UsagePage } from "../../services/GatewayUsage.ts"
import { InvalidRequest, NotFound } from "../../services/domain/errors.ts"
import { pageQuery } from "../../services/domain/paging.ts"
import { Instant } from "../../services/domain/text.ts"
import {
  RequiredScope,
  AgentAuthentication,
  AgentLimit,
  GatewayReader,
  IdempotentRequest,
  RefusesUnknownFields,
  RequestBody,
  idempotentRequestHeaders
} from "./middleware.ts"

export class GatewayApi extends HttpApiGroup.make("gateway")
  .add(
    HttpApiEndpoint.post("createKey", "/llm/keys", {
      headers: idempotentRequestHeaders,
      payload: NewGatewayKey,
      success: HttpApiSchema.WithHeaders(CreatedGatewayKey.pipe(HttpApiSchema.status(201)), {
        "cache-control": Schema.Literal("no-store")
      }),
      error: [GatewayDisabled, GatewayKeyLimitReached, NotFound, InvalidRequest]
    })
      .annotate(RequiredScope, "llm:keys")
      .annotate(RefusesUnknownFields, true)
      .annotate(OpenApi.Summary, "A new gateway key, shown once, that spends this agent's credit")
      .middleware(IdempotentRequest),
    HttpApiEndpoint.get("listKeys", "/llm/keys", {
      query: pageQuery,
      success: GatewayKeyList,
      error: InvalidRequest
    }).annotate(OpenApi.Summary, "This agent's gateway keys, newest first; of each only how it begins"),
    HttpApiEndpoint.patch("changeKey", "/llm/keys/:key_id", {
      params: { key_id: Schema.String },
      payload: GatewayKeyChange,
      success: GatewayKey,
      error: [GatewayKeyEnded, NotFound, InvalidRequest]
    })
      .annotate(RequiredScope, "llm:keys")
      .annotate(RefusesUnknownFields, true)
      .annotate(OpenApi.Summary, "Change a gateway key; what is left out stays as it is"),
    HttpApiEndpoint.delete("revokeKey", "/llm/keys/:key_id", {
      params: { key_id: Schema.String },
      success: HttpApiSchema.NoContent,
      error: NotFound
    }).annotate(OpenApi.Summary, "Revoke a gateway key, at once on every replica")
  )
  .middleware(RequestBody)
  .middleware(AgentLimit)
  .middleware(AgentAuthentication)
  .prefix("/api/v1")
  .annotate(OpenApi.Title, "Language models")
  .annotate(OpenApi.Description, "Keys of the gateway, and calls of models with them.") {}

export class GatewayUsageApi extends HttpApiGroup.make("gatewayUsage")
  .add(
    HttpApiEndpoint.get("usage", "/llm/usage", {
      query: {
        ...pageQuery,
        since: Schema.optional(Instant).annotate({ description: "calls from this instant on" }),
        until: Schema.optional(Instant).annotate({ description: "calls before this instant" })
      },
      success: UsagePage,
      error: InvalidRequest
    }).annotate(
      OpenApi.Summary,
      "Calls of models and what they cost, newest first, with totals of the asked range"
    ),
    HttpApiEndpoint.get("key", "/llm/keys/:key_id", {
      params: {
        key_id: Schema.String.annotate({ description: "id of a gateway key; self: the one that is sent" })
      },
      success: OneGatewayKey,
      error: NotFound
    }).annotate(
      OpenApi.Summary,
      "A gateway key, what it may call, and what is left of its limits; a key reads only itself"
    )
  )
  .middleware(RequestBody)
  .middleware(AgentLimit)
  .middleware(GatewayReader)
  .prefix("/api/v1")
  .annotate(OpenApi.Title, "Usage of language models")
  .annotate(OpenApi.Description, "What calls of models cost.") {}
