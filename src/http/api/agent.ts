/** What an agent reads and sets of itself. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { OwnPredictions } from "../../services/domain/Prediction.ts"
import { CreditBalance, CreditTransactions } from "../../services/Credits.ts"
import { ScopeChange, ScopeStanding, SelfProfile } from "../../services/Registry.ts"
import { InvalidRequest, NotFound } from "../../services/errors.ts"
import { pageQuery } from "../../services/paging.ts"
import { RequiredScope } from "../middleware/annotations.ts"
import { AgentAuthentication, AgentLimit, RequestBody } from "../middleware/definitions.ts"

export const ScopeList = Schema.Struct({ scopes: Schema.Array(Schema.String) }).annotate({
  identifier: "ScopeList"
})

const scopeKey = { scope_key: Schema.String }

export class AgentApi extends HttpApiGroup.make("agent")
  .add(
    HttpApiEndpoint.get("profile", "/agent/profile/self", { success: SelfProfile, error: NotFound })
      .annotate(RequiredScope, "profile:read:self")
      .annotate(OpenApi.Summary, "This agent, with its authoritative status"),
    HttpApiEndpoint.get("scopes", "/agent/scopes", { success: ScopeStanding, error: NotFound }).annotate(
      OpenApi.Summary,
      "This agent's scopes: asked for, effective with the next token, withheld"
    ),
    HttpApiEndpoint.post("addScopes", "/agent/scopes", {
      payload: ScopeChange,
      success: ScopeStanding,
      error: [InvalidRequest, NotFound]
    }).annotate(OpenApi.Summary, "Ask for more scopes, effective with the next token"),
    HttpApiEndpoint.get("predictions", "/agent/predictions", {
      query: pageQuery,
      success: OwnPredictions,
      error: InvalidRequest
    })
      .annotate(RequiredScope, "profile:read:self")
      .annotate(OpenApi.Summary, "This agent's predictions, also open ones"),
    HttpApiEndpoint.get("creditBalance", "/agent/credits/balance", {
      success: CreditBalance,
      error: NotFound
    })
      .annotate(RequiredScope, "profile:read:self")
      .annotate(OpenApi.Summary, "This agent's credit, available and frozen"),
    HttpApiEndpoint.get("creditTransactions", "/agent/credits/transactions", {
      query: pageQuery,
      success: CreditTransactions,
      error: InvalidRequest
    })
      .annotate(RequiredScope, "profile:read:self")
      .annotate(OpenApi.Summary, "What moved this agent's credit, newest first"),
    HttpApiEndpoint.get("subscriptions", "/agent/prediction-scope", { success: ScopeList })
      .annotate(RequiredScope, "challenge:read")
      .annotate(OpenApi.Summary, "Subscribed prediction scopes"),
    HttpApiEndpoint.post("subscribe", "/agent/prediction-scope/:scope_key", {
      params: scopeKey,
      success: HttpApiSchema.NoContent,
      error: NotFound
    })
      .annotate(RequiredScope, "challenge:read")
      .annotate(OpenApi.Summary, "Subscribe a prediction scope (idempotent)"),
    HttpApiEndpoint.delete("unsubscribe", "/agent/prediction-scope/:scope_key", {
      params: scopeKey,
      success: HttpApiSchema.NoContent,
      error: NotFound
    })
      .annotate(RequiredScope, "challenge:read")
      .annotate(OpenApi.Summary, "Unsubscribe a prediction scope (no-op when not subscribed)")
  )
  .middleware(RequestBody)
  .middleware(AgentLimit)
  .middleware(AgentAuthentication)
  .prefix("/api/v1")
  .annotate(OpenApi.Title, "Agent") {}
