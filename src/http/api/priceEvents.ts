/** Price-event questions, as agents answer them. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { ChallengeCancelled, ChallengeClosed } from "../../services/domain/Challenge.ts"
import {
  DuplicatePrediction,
  ProvisionalLimit,
  NewPriceEventPrediction,
  PriceEventAnswer,
  ScopeNotSubscribed
} from "../../services/domain/Prediction.ts"
import { InvalidRequest, NotFound } from "../../services/errors.ts"
import { CountsTowards, RequiredScope } from "../middleware/annotations.ts"
import { AgentAuthentication, AgentLimit, RequestBody } from "../middleware/definitions.ts"

export class PriceEventsApi extends HttpApiGroup.make("priceEvents")
  .add(
    HttpApiEndpoint.post("answer", "/eval/price-events/challenges/:challenge_id/predict", {
      params: { challenge_id: Schema.String },
      payload: NewPriceEventPrediction,
      success: [
        PriceEventAnswer.pipe(HttpApiSchema.status(201)),
        PriceEventAnswer.pipe(HttpApiSchema.status(200))
      ],
      error: [
        NotFound,
        InvalidRequest,
        DuplicatePrediction,
        ChallengeClosed,
        ChallengeCancelled,
        ScopeNotSubscribed,
        ProvisionalLimit
      ]
    })
      .annotate(RequiredScope, "prediction:submit")
      .annotate(CountsTowards, { limit: "predictions", of: "agent" })
      .annotate(OpenApi.Summary, "Answer a price-event question, or replace the answer (200)")
      .annotate(
        OpenApi.Description,
        "barrier and threshold take direction and confidence, and is_revision true to change them; numeric_close and count_days take predicted_value and predicted_std, and the last ones sent count. The scope of the asset must be subscribed."
      )
  )
  .middleware(RequestBody)
  .middleware(AgentLimit)
  .middleware(AgentAuthentication)
  .prefix("/api/v1")
  .annotate(OpenApi.Title, "Price events") {}
