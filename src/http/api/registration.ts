/** Registration, the registration challenge, lost secrets, and the token endpoint. */
import { ByteSize, Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { AlreadyClaimed, ClaimLink, NotClaimableYet } from "../../services/Claims.ts"
import { InvalidRequest, NotFound } from "../../services/errors.ts"
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
import {
  AgentSuspended,
  ChallengePending,
  InvalidClient,
  IssuancePaused,
  IssuedToken
} from "../../services/Tokens.ts"
import {
  BadBodiesCountTowards,
  BodyTypes,
  CountsTowards,
  MaxBody,
  smallBody
} from "../middleware/annotations.ts"
import { AddressLimit, RequestBody } from "../middleware/definitions.ts"
import { TooManyRequestsResponse, UnsupportedGrantType } from "./errors.ts"
import { ClaimLinkRequest, id, TokenRequest } from "./tokenRequests.ts"

const noStore = { "cache-control": Schema.Literal("no-store") }

/** Its fields hold at most 26,000 characters, which JSON may write as six bytes each (\u4e00). */
const maxAnswer = ByteSize.kibibytes(160)

export class RegistrationApi extends HttpApiGroup.make("registration")
  .add(
    HttpApiEndpoint.post("register", "/agent/registry/register", {
      payload: Registration,
      success: HttpApiSchema.WithHeaders(Registered.pipe(HttpApiSchema.status(201)), noStore),
      error: InvalidRequest
    })
      .annotate(CountsTowards, { limit: "registrations", of: "address" })
      .annotate(MaxBody, smallBody)
      .annotate(OpenApi.Summary, "Register an agent"),
    HttpApiEndpoint.post("submitChallenge", "/agent/challenge/:challenge_id/submit", {
      params: { challenge_id: Schema.String },
      payload: Schema.Struct({ answer: RegistrationAnswer }),
      success: HttpApiSchema.WithHeaders(SubmissionOutcome, noStore),
      error: [NotFound, ChallengeLocked, ChallengeAlreadyPassed]
    })
      .annotate(MaxBody, maxAnswer)
      .annotate(OpenApi.Summary, "Answer the registration challenge"),
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
      .annotate(OpenApi.Summary, "A fresh claim link and pairing code; ends the old ones"),
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
      .annotate(OpenApi.Summary, "Issue an access token")
      .annotate(
        OpenApi.Description,
        "OAuth 2.0 client credentials. client_id is another name for agent_id; agent_id and client_secret may come by HTTP Basic instead. Every error has error and error_description too (RFC 6749 5.2)."
      )
  )
  .middleware(RequestBody)
  .middleware(AddressLimit)
  .prefix("/api/v1")
  .annotate(OpenApi.Title, "Registration and tokens") {}
