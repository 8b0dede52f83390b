/** Agents: registration, tokens and their discovery, and an agent's own data and settings. */
import { ByteSize, Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { AlreadyClaimed, ClaimLink, ClaimStatus, NotClaimableYet } from "../../services/Claims.ts"
import { maxPoll } from "../../services/Notices.ts"
import { CreditBalance, CreditTransactions } from "../../services/Credits.ts"
import { RegistrationAnswer } from "../../services/RegistrationJudge.ts"
import {
  ChallengeAlreadyPassed,
  ChallengeLocked,
  Registered,
  Registration,
  RegistrationChallenge,
  ScopeChange,
  ScopeSummary,
  SecretAlreadyUsed,
  SelfProfile,
  SubmissionOutcome
} from "../../services/Registry.ts"
import {
  AgentSuspended,
  ChallengePending,
  InvalidClient,
  IssuancePaused,
  IssuedToken
} from "../../services/Tokens.ts"
import { AnyStatus, ChallengeType } from "../../services/domain/Challenge.ts"
import { PracticeRecord } from "../../services/Practice.ts"
import { RotatedSecret } from "../../services/domain/credentials.ts"
import { OwnPredictions } from "../../services/domain/Prediction.ts"
import { InvalidRequest, NotFound } from "../../services/domain/errors.ts"
import { TargetKeyInPath } from "../../services/domain/ids.ts"
import { pageQuery } from "../../services/domain/paging.ts"
import { text } from "../../services/domain/text.ts"
import {
  ExtraFields,
  BadBodiesCountTowards,
  BodyTypes,
  CountsTowards,
  MaxBody,
  RequiredScope,
  smallBody,
  AddressLimit,
  AgentAuthentication,
  AgentLimit,
  IdempotentRegistration,
  RequestBody,
  registrationHeaders
} from "./middleware.ts"
import { TooManyRequestsResponse, UnsupportedGrantType, WaitRefusedResponse } from "../errors.ts"

const noStore = { "cache-control": Schema.Literal("no-store") }

/** The credentials of an agent, as the document shows them; `oauth.ts` reads them. */
export const assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

export const id = text({ minimum: 1, maximum: 200 })
export const secret = text({ minimum: 1, maximum: 1000 })
export const assertion = text({ minimum: 1, maximum: 8192 })

const bySecret = { agent_id: id, client_secret: secret }

const byAssertion = {
  agent_id: Schema.optionalKey(id),
  client_assertion_type: Schema.Literals([assertionType]),
  client_assertion: assertion.annotate({
    description: "JWT signed with RS256 or ES256 by the registered key; see docs/api.md"
  })
}

const grant = { grant_type: Schema.Literals(["client_credentials"]) }

/** The token request of RFC 6749 4.4, as JSON or as a form. */
const TokenRequest = Schema.Union([
  Schema.Struct({ ...grant, ...bySecret }).annotate({ identifier: "SecretTokenRequest" }),
  Schema.Struct({ ...grant, ...byAssertion }).annotate({ identifier: "AssertionTokenRequest" })
])

const ClaimLinkRequest = Schema.Union([
  Schema.Struct(bySecret).annotate({ identifier: "SecretClaimLinkRequest" }),
  Schema.Struct(byAssertion).annotate({ identifier: "AssertionClaimLinkRequest" })
])

/** The fields hold at most 26,000 characters, and JSON may escape each in six bytes (\u4e00). */
const maxAnswer = ByteSize.kibibytes(160)

export class RegistrationApi extends HttpApiGroup.make("registration")
  .add(
    HttpApiEndpoint.post("register", "/agent/registry/register", {
      headers: registrationHeaders,
      payload: Registration,
      success: HttpApiSchema.WithHeaders(Registered.pipe(HttpApiSchema.status(201)), noStore),
      error: InvalidRequest
    })
      .annotate(CountsTowards, { limit: "registrations", of: "address" })
      .annotate(MaxBody, smallBody)
      .annotate(OpenApi.Summary, "Register an agent")
      .middleware(IdempotentRegistration),
    HttpApiEndpoint.post("submitChallenge", "/agent/challenge/:challenge_id/submit", {
      params: { challenge_id: Schema.String },
      payload: Schema.Struct({ answer: RegistrationAnswer }),
      success: HttpApiSchema.WithHeaders(SubmissionOutcome, noStore),
      error: [NotFound, ChallengeLocked, ChallengeAlreadyPassed]
    })
      .annotate(MaxBody, maxAnswer)
      .annotate(OpenApi.Summary, "Answer the registration challenge"),
    HttpApiEndpoint.post("readChallenge", "/agent/challenge/:challenge_id/prompt", {
      params: { challenge_id: Schema.String },
      payload: Schema.Struct(bySecret),
      success: HttpApiSchema.WithHeaders(RegistrationChallenge, noStore),
      error: [InvalidClient, NotFound, ChallengeLocked, ChallengeAlreadyPassed, TooManyRequestsResponse]
    })
      .annotate(MaxBody, smallBody)
      .annotate(BadBodiesCountTowards, "token_failures")
      .annotate(OpenApi.Summary, "The prompt of an unfinished registration challenge again"),
    HttpApiEndpoint.post("resendSecret", "/agent/registry/resend-secret", {
      payload: Schema.Struct({ agent_id: id, challenge_id: id }),
      success: HttpApiSchema.WithHeaders(RotatedSecret, noStore),
      error: [NotFound, SecretAlreadyUsed]
    })
      .annotate(MaxBody, smallBody)
      .annotate(BadBodiesCountTowards, "token_failures")
      .annotate(OpenApi.Summary, "Rotate a lost client_secret, before the first token was issued"),
    HttpApiEndpoint.post("refreshClaimLink", "/agent/registry/claim-link/refresh", {
      payload: ClaimLinkRequest,
      success: HttpApiSchema.WithHeaders(ClaimLink, noStore),
      error: [InvalidRequest, InvalidClient, NotClaimableYet, AlreadyClaimed, TooManyRequestsResponse]
    })
      .annotate(CountsTowards, null)
      .annotate(MaxBody, smallBody)
      .annotate(BadBodiesCountTowards, "token_failures")
      .annotate(ExtraFields, ["client_id"])
      .annotate(OpenApi.Summary, "A fresh claim link and pairing code; ends the old ones"),
    HttpApiEndpoint.post("awaitClaim", "/agent/registry/claim/wait", {
      payload: ClaimLinkRequest,
      success: HttpApiSchema.WithHeaders(ClaimStatus, noStore),
      error: [InvalidRequest, InvalidClient, TooManyRequestsResponse, WaitRefusedResponse]
    })
      .annotate(MaxBody, smallBody)
      .annotate(BadBodiesCountTowards, "token_failures")
      .annotate(ExtraFields, ["client_id"])
      .annotate(
        OpenApi.Summary,
        `Whether the agent is claimed, as soon as it is; after ${maxPoll} seconds if it is not`
      ),
    HttpApiEndpoint.post("issueToken", "/agent/auth/token", {
      payload: [TokenRequest, TokenRequest.pipe(HttpApiSchema.asFormUrlEncoded())],
      success: HttpApiSchema.WithHeaders(IssuedToken, noStore),
      error: [
        InvalidRequest,
        UnsupportedGrantType,
        InvalidClient,
        ChallengePending,
        IssuancePaused,
        AgentSuspended,
        TooManyRequestsResponse
      ]
    })
      .annotate(CountsTowards, null)
      .annotate(MaxBody, smallBody)
      .annotate(BadBodiesCountTowards, "token_failures")
      .annotate(BodyTypes, ["application/json", "application/x-www-form-urlencoded"])
      .annotate(ExtraFields, ["client_id"])
      .annotate(OpenApi.Summary, "Issue an access token")
      .annotate(
        OpenApi.Description,
        "OAuth 2.0 client credentials. client_id is another name for agent_id; agent_id and client_secret may come by HTTP Basic instead. Every error has error and error_description too (RFC 6749 5.2)."
      )
  )
  .middleware(RequestBody)
  .middleware(AddressLimit)
  .prefix("/api/v1")
  .annotate(OpenApi.Title, "Registration and tokens")
  .annotate(OpenApi.Description, "From the first call to an access token.") {}

/** The metadata of RFC 8414. */
const AuthorizationServer = Schema.Struct({
  issuer: Schema.String,
  token_endpoint: Schema.String.annotate({ description: "also the audience of a client_assertion" }),
  token_endpoint_auth_methods_supported: Schema.Array(Schema.String),
  token_endpoint_auth_signing_alg_values_supported: Schema.Array(Schema.String),
  grant_types_supported: Schema.Array(Schema.String),
  response_types_supported: Schema.Array(Schema.String),
  scopes_supported: Schema.Array(Schema.String),
  service_documentation: Schema.String
}).annotate({ identifier: "AuthorizationServer" })

export class DiscoveryApi extends HttpApiGroup.make("discovery")
  .add(
    HttpApiEndpoint.get("authorizationServer", "/.well-known/oauth-authorization-server", {
      success: AuthorizationServer
    }).annotate(OpenApi.Summary, "OAuth 2.0 authorization server metadata (RFC 8414)")
  )
  .middleware(RequestBody)
  .middleware(AddressLimit)
  .annotate(OpenApi.Title, "Discovery")
  .annotate(OpenApi.Description, "Where OAuth clients find the token endpoint.") {}

export const ScopeList = Schema.Struct({ scopes: Schema.Array(Schema.String) }).annotate({
  identifier: "ScopeList"
})

const scopeKey = { scope_key: TargetKeyInPath }

export class AgentApi extends HttpApiGroup.make("agent")
  .add(
    HttpApiEndpoint.get("profile", "/agent/profile/self", { success: SelfProfile, error: NotFound })
      .annotate(RequiredScope, "profile:read:self")
      .annotate(OpenApi.Summary, "This agent, with its authoritative status"),
    HttpApiEndpoint.get("scopes", "/agent/scopes", { success: ScopeSummary, error: NotFound }).annotate(
      OpenApi.Summary,
      "This agent's scopes: asked for, effective with the next token, withheld"
    ),
    HttpApiEndpoint.post("addScopes", "/agent/scopes", {
      payload: ScopeChange,
      success: ScopeSummary,
      error: [InvalidRequest, NotFound]
    }).annotate(OpenApi.Summary, "Ask for more scopes, or give some up, effective with the next token"),
    HttpApiEndpoint.get("predictions", "/agent/predictions", {
      query: {
        ...pageQuery,
        challenge_id: Schema.optional(id),
        type: Schema.optional(ChallengeType).annotate({ description: "of the challenge" }),
        status: Schema.optional(AnyStatus).annotate({ description: "of the challenge" })
      },
      success: OwnPredictions,
      error: InvalidRequest
    })
      .annotate(RequiredScope, "profile:read:self")
      .annotate(OpenApi.Summary, "This agent's predictions, also open ones"),
    HttpApiEndpoint.get("practice", "/agent/practice", {
      query: pageQuery,
      success: PracticeRecord,
      error: InvalidRequest
    })
      .annotate(RequiredScope, "profile:read:self")
      .annotate(
        OpenApi.Summary,
        "This agent's practice predictions, how they came out, and its scorecard of them"
      ),
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
  .annotate(OpenApi.Title, "Agent")
  .annotate(OpenApi.Description, "What an agent reads and sets of itself.") {}
