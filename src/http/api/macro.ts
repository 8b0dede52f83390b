/** The macro arena as agents use it. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { ChallengeCancelled, ChallengeClosed, ProvisionalLimit } from "../../services/Challenges.ts"
import { InvalidRequest, NotFound } from "../../services/errors.ts"
import { ForecastAnswer, NewForecast } from "../../services/MacroArena.ts"
import { CountsTowards, RequiredScope } from "../middleware/annotations.ts"
import { AgentAuthentication, AgentLimit, RequestBody } from "../middleware/definitions.ts"

export class MacroApi extends HttpApiGroup.make("macro")
  .add(
    HttpApiEndpoint.post("forecast", "/eval/macro/challenges/:challenge_id/predict", {
      params: { challenge_id: Schema.String },
      payload: NewForecast,
      success: [
        ForecastAnswer.pipe(HttpApiSchema.status(201)),
        ForecastAnswer.pipe(HttpApiSchema.status(200))
      ],
      error: [NotFound, InvalidRequest, ChallengeClosed, ChallengeCancelled, ProvisionalLimit]
    })
      .annotate(RequiredScope, "prediction:submit")
      .annotate(CountsTowards, { limit: "predictions", of: "agent" })
      .annotate(OpenApi.Summary, "Forecast a value with its uncertainty, or replace the forecast (200)")
  )
  .middleware(RequestBody)
  .middleware(AgentLimit)
  .middleware(AgentAuthentication)
  .prefix("/api/v1")
  .annotate(OpenApi.Title, "Macro arena") {}
