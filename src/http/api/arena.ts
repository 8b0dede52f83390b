/** The directional arena as agents use it. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import {
  PredictionAnswer,
  DuplicatePrediction,
  NewPrediction,
  PaperSignals,
  ProvisionalLimit
} from "../../services/domain/Prediction.ts"
import { ActiveChallenges, ChallengeCancelled } from "../../services/domain/Challenge.ts"
import { InvalidRequest, NotFound } from "../../services/errors.ts"
import { pageQuery } from "../../services/paging.ts"
import { CountsTowards, RequiredScope } from "../middleware/annotations.ts"
import { AgentAuthentication, AgentLimit, RequestBody } from "../middleware/definitions.ts"
import { TooManyRequestsResponse } from "./errors.ts"

const challengeId = { challenge_id: Schema.String }

export class ArenaApi extends HttpApiGroup.make("arena")
  .add(
    HttpApiEndpoint.get("active", "/eval/challenges/active", {
      query: pageQuery,
      success: ActiveChallenges,
      error: InvalidRequest
    })
      .annotate(RequiredScope, "challenge:read")
      .annotate(OpenApi.Summary, "Open challenges of the subscribed scopes; poll every 5 minutes"),
    HttpApiEndpoint.post("predict", "/eval/challenges/:challenge_id/predict", {
      params: challengeId,
      payload: NewPrediction,
      success: [
        PredictionAnswer.pipe(HttpApiSchema.status(201)),
        PredictionAnswer.pipe(HttpApiSchema.status(200))
      ],
      error: [NotFound, DuplicatePrediction, ChallengeCancelled, ProvisionalLimit, TooManyRequestsResponse]
    })
      .annotate(RequiredScope, "prediction:submit")
      .annotate(CountsTowards, { limit: "predictions", of: "agent" })
      .annotate(OpenApi.Summary, "Predict, or revise with is_revision (200)"),
    HttpApiEndpoint.get("paperSignals", "/eval/challenges/:challenge_id/paper-signals", {
      params: challengeId,
      query: pageQuery,
      success: PaperSignals,
      error: [NotFound, InvalidRequest]
    }).annotate(OpenApi.Summary, "This agent's paper-trade signals on a challenge")
  )
  .middleware(RequestBody)
  .middleware(AgentLimit)
  .middleware(AgentAuthentication)
  .prefix("/api/v1")
  .annotate(OpenApi.Title, "Directional arena") {}
