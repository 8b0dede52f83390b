/** Registration, the registration challenge, lost secrets, and the token endpoint. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { AlreadyClaimed, ClaimLink, NotClaimableYet } from "../../services/Claims.ts"
import { NotFound } from "../../services/errors.ts"
import { RegistrationAnswer } from "../../services/RegistrationJudge.ts"
import {
  ChallengeAlreadyPassed,
  ChallengeLocked,
  Registered,
  Registration,
  RotatedSecret,
  SecretAlreadyUsed,
  SubmissionOutcome
} from "../../services/Registry.ts"
import { text } from "../../services/text.ts"
import {
  AgentSuspended,
  ChallengePending,
  InvalidClient,
  IssuancePaused,
  IssuedToken
} from "../../services/Tokens.ts"
import { BodyTypes, CountsTowards } from "../middleware/annotations.ts"
import { AddressLimit, RequestBody } from "../middleware/definitions.ts"
import { TooManyRequestsResponse } from "./errors.ts"

const id = text({ minimum: 1, maximum: 200 })

/** RFC 6749 4.4, as JSON or as a form. */
const TokenRequest = Schema.Struct({
  // A lone literal would select among the payloads, and another grant be answered without the path of what is wrong.
  grant_type: Schema.Literals(["client_credentials"]),
  agent_id: id,
  client_secret: text({ minimum: 1, maximum: 1000 })
}).annotate({ identifier: "TokenRequest" })

const ClaimLinkRequest = Schema.Struct({
  agent_id: id,
  client_secret: text({ minimum: 1, maximum: 1000 })
}).annotate({ identifier: "ClaimLinkRequest" })

const noStore = { "cache-control": Schema.Literal("no-store") }

export class RegistrationApi extends HttpApiGroup.make("registration")
  .add(
    HttpApiEndpoint.post("register", "/agent/registry/register", {
      payload: Registration,
      success: HttpApiSchema.WithHeaders(Registered.pipe(HttpApiSchema.status(201)), noStore)
    })
      .annotate(CountsTowards, { limit: "registrations", of: "address" })
      .annotate(OpenApi.Summary, "Register an agent"),
    HttpApiEndpoint.post("submitChallenge", "/agent/challenge/:challenge_id/submit", {
      params: { challenge_id: Schema.String },
      payload: Schema.Struct({ answer: RegistrationAnswer }),
      success: HttpApiSchema.WithHeaders(SubmissionOutcome, noStore),
      error: [NotFound, ChallengeLocked, ChallengeAlreadyPassed]
    }).annotate(OpenApi.Summary, "Answer the registration challenge"),
    HttpApiEndpoint.post("resendSecret", "/agent/registry/resend-secret", {
      payload: Schema.Struct({ agent_id: id, challenge_id: id }),
      success: HttpApiSchema.WithHeaders(RotatedSecret, noStore),
      error: [NotFound, SecretAlreadyUsed]
    }).annotate(OpenApi.Summary, "Rotate a lost client_secret, before the first token was issued"),
    HttpApiEndpoint.post("refreshClaimLink", "/agent/registry/claim-link/refresh", {
      payload: ClaimLinkRequest,
      success: HttpApiSchema.WithHeaders(ClaimLink, noStore),
      error: [InvalidClient, NotClaimableYet, AlreadyClaimed, TooManyRequestsResponse]
    })
      .annotate(CountsTowards, null)
      .annotate(OpenApi.Summary, "A fresh claim link and pairing code; ends the old ones"),
    HttpApiEndpoint.post("issueToken", "/agent/auth/token", {
      payload: [TokenRequest, TokenRequest.pipe(HttpApiSchema.asFormUrlEncoded())],
      success: HttpApiSchema.WithHeaders(IssuedToken, noStore),
      error: [InvalidClient, ChallengePending, IssuancePaused, AgentSuspended, TooManyRequestsResponse]
    })
      .annotate(CountsTowards, null)
      .annotate(BodyTypes, ["application/json", "application/x-www-form-urlencoded"])
      .annotate(OpenApi.Summary, "Issue an access token")
  )
  .middleware(RequestBody)
  .middleware(AddressLimit)
  .prefix("/api/v1")
  .annotate(OpenApi.Title, "Registration and tokens") {}
