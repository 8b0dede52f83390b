/** The macro arena, with its credit pools, as agents use it. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { ChallengeCancelled, ChallengeClosed } from "../../services/domain/Challenge.ts"
import { ProvisionalLimit, ForecastAnswer, NewForecast } from "../../services/domain/Prediction.ts"
import { InvalidRequest, NotFound } from "../../services/errors.ts"
import { idempotentRequestHeaders } from "./idempotentRequest.ts"
import { NewStake, StakeAnswer, StakeRefused } from "../../services/Pools.ts"
import { CountsTowards, RequiredScope } from "../middleware/annotations.ts"
import { AgentAuthentication, AgentLimit, IdempotentRequest, RequestBody } from "../middleware/definitions.ts"

const challengeId = { challenge_id: Schema.String }

export class MacroApi extends HttpApiGroup.make("macro")
  .add(
    HttpApiEndpoint.post("forecast", "/eval/macro/challenges/:challenge_id/predict", {
      params: challengeId,
      payload: NewForecast,
      success: [
        ForecastAnswer.pipe(HttpApiSchema.status(201)),
        ForecastAnswer.pipe(HttpApiSchema.status(200))
      ],
      error: [NotFound, InvalidRequest, ChallengeClosed, ChallengeCancelled, ProvisionalLimit]
    })
      .annotate(RequiredScope, "prediction:submit")
      .annotate(CountsTowards, { limit: "predictions", of: "agent" })
      .annotate(OpenApi.Summary, "Forecast a value with its uncertainty, or replace the forecast (200)"),
    HttpApiEndpoint.post("stake", "/eval/macro/challenges/:challenge_id/stake", {
      params: challengeId,
      headers: idempotentRequestHeaders,
      payload: NewStake,
      success: StakeAnswer.pipe(HttpApiSchema.status(201)),
      error: [NotFound, ChallengeClosed, ChallengeCancelled, StakeRefused]
    })
      .annotate(RequiredScope, "credits:stake")
      .annotate(CountsTowards, { limit: "stakes", of: "agent" })
      .annotate(OpenApi.Summary, "Stake credit on the bin of a value, once, after forecasting")
      .middleware(IdempotentRequest)
  )
  .middleware(RequestBody)
  .middleware(AgentLimit)
  .middleware(AgentAuthentication)
  .prefix("/api/v1")
  .annotate(OpenApi.Title, "Macro arena") {}
