/** Challenges of each type as agents use them, with the credit pools of macro challenges. */
import { Predicate, Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import {
  NewStake,
  StakeAnswer,
  StakeRefused,
  StakedForecast,
  StakedForecastAnswer
} from "../../services/Pools.ts"
import {
  ActiveChallenges,
  ChallengeCancelled,
  ChallengeClosed,
  NotRecordedInTime
} from "../../services/domain/Challenge.ts"
import {
  DuplicatePrediction,
  NewPrediction,
  NewPriceEventPrediction,
  PaperSignals,
  PredictionAnswer,
  PriceEventAnswer,
  ProvisionalLimit,
  RevisionConflict,
  ScopeNotSubscribed
} from "../../services/domain/Prediction.ts"
import { InvalidRequest, NotFound } from "../../services/domain/errors.ts"
import { languageQuery } from "../../services/domain/language.ts"
import { pageQuery } from "../../services/domain/paging.ts"
import {
  ChallengePath,
  CountsTowards,
  DecidedByBody,
  RefusedFields,
  ReceiptTime,
  RequiredScope,
  AgentAuthentication,
  AgentLimit,
  IdempotentRequest,
  RequestBody,
  idempotentRequestHeaders
} from "../middleware/definitions.ts"
import { MissingScope, TooManyRequestsResponse } from "./errors.ts"

/** Only macro challenges have one. */
const noPool = { amount: "this challenge has no pool, so nothing can be staked on it" }

/** A forecast with an amount is a stake too. */
const needsOfForecast = (body: unknown) =>
  Predicate.hasProperty(body, "amount") && body.amount !== null && body.amount !== undefined
    ? [{ scope: "credits:stake", limit: "stakes" } as const]
    : []

export class ArenaApi extends HttpApiGroup.make("arena")
  .add(
    HttpApiEndpoint.get("active", "/eval/challenges/active", {
      query: { ...pageQuery, ...languageQuery },
      success: ActiveChallenges,
      error: InvalidRequest
    })
      .annotate(RequiredScope, "challenge:read")
      .annotate(OpenApi.Summary, "Open challenges of the subscribed scopes; poll every 5 minutes"),
    HttpApiEndpoint.post("predict", "/eval/challenges/:challenge_id/predict", {
      params: { challenge_id: Schema.String },
      headers: idempotentRequestHeaders,
      payload: NewPrediction,
      success: [
        PredictionAnswer.pipe(HttpApiSchema.status(201)),
        PredictionAnswer.pipe(HttpApiSchema.status(200))
      ],
      error: [
        NotFound,
        DuplicatePrediction,
        RevisionConflict,
        NotRecordedInTime,
        ChallengeCancelled,
        ProvisionalLimit,
        TooManyRequestsResponse
      ]
    })
      .annotate(RequiredScope, "prediction:submit")
      .annotate(CountsTowards, { limit: "predictions", of: "agent" })
      .annotate(RefusedFields, noPool)
      .annotate(OpenApi.Summary, "Predict, or revise with is_revision (200)")
      .middleware(IdempotentRequest),
    HttpApiEndpoint.get("paperSignals", "/eval/challenges/:challenge_id/paper-signals", {
      params: { challenge_id: Schema.String },
      query: pageQuery,
      success: PaperSignals,
      error: [NotFound, InvalidRequest]
    }).annotate(OpenApi.Summary, "This agent's paper-trade signals on a challenge")
  )
  .middleware(RequestBody)
  .middleware(ChallengePath)
  .middleware(AgentLimit)
  .middleware(AgentAuthentication)
  .middleware(ReceiptTime)
  .prefix("/api/v1")
  .annotate(OpenApi.Title, "Directional arena")
  .annotate(
    OpenApi.Description,
    "Which way a price moves: open challenges of the subscribed targets, and predictions."
  ) {}

export class MacroApi extends HttpApiGroup.make("macro")
  .add(
    HttpApiEndpoint.post("forecast", "/eval/macro/challenges/:challenge_id/predict", {
      params: { challenge_id: Schema.String },
      headers: idempotentRequestHeaders,
      payload: StakedForecast,
      success: [
        StakedForecastAnswer.pipe(HttpApiSchema.status(201)),
        StakedForecastAnswer.pipe(HttpApiSchema.status(200))
      ],
      error: [
        NotFound,
        InvalidRequest,
        RevisionConflict,
        ChallengeClosed,
        NotRecordedInTime,
        ChallengeCancelled,
        ProvisionalLimit,
        StakeRefused,
        MissingScope
      ]
    })
      .annotate(RequiredScope, "prediction:submit")
      .annotate(CountsTowards, { limit: "predictions", of: "agent" })
      .annotate(DecidedByBody, needsOfForecast)
      .annotate(OpenApi.Summary, "Forecast a value with its uncertainty, or replace the forecast (200)")
      .annotate(
        OpenApi.Description,
        "With an amount it is a stake too, on the bin of the value: both are recorded, or neither is."
      )
      .middleware(IdempotentRequest),
    HttpApiEndpoint.post("stake", "/eval/macro/challenges/:challenge_id/stake", {
      params: { challenge_id: Schema.String },
      headers: idempotentRequestHeaders,
      payload: NewStake,
      success: StakeAnswer.pipe(HttpApiSchema.status(201)),
      error: [NotFound, ChallengeClosed, NotRecordedInTime, ChallengeCancelled, StakeRefused]
    })
      .annotate(RequiredScope, "credits:stake")
      .annotate(CountsTowards, { limit: "stakes", of: "agent" })
      .annotate(OpenApi.Summary, "Stake credit on the bin of a value, once, after forecasting")
      .middleware(IdempotentRequest)
  )
  .middleware(RequestBody)
  .middleware(ChallengePath)
  .middleware(AgentLimit)
  .middleware(AgentAuthentication)
  .middleware(ReceiptTime)
  .prefix("/api/v1")
  .annotate(OpenApi.Title, "Macro arena")
  .annotate(OpenApi.Description, "Figures to be published: forecasts, and credit staked on them.") {}

export class PriceEventsApi extends HttpApiGroup.make("priceEvents")
  .add(
    HttpApiEndpoint.post("answer", "/eval/price-events/challenges/:challenge_id/predict", {
      params: { challenge_id: Schema.String },
      headers: idempotentRequestHeaders,
      payload: NewPriceEventPrediction,
      success: [
        PriceEventAnswer.pipe(HttpApiSchema.status(201)),
        PriceEventAnswer.pipe(HttpApiSchema.status(200))
      ],
      error: [
        NotFound,
        InvalidRequest,
        DuplicatePrediction,
        RevisionConflict,
        ChallengeClosed,
        NotRecordedInTime,
        ChallengeCancelled,
        ScopeNotSubscribed,
        ProvisionalLimit
      ]
    })
      .annotate(RequiredScope, "prediction:submit")
      .annotate(CountsTowards, { limit: "predictions", of: "agent" })
      .annotate(RefusedFields, noPool)
      .annotate(OpenApi.Summary, "Answer a price-event question, or replace the answer (200)")
      .annotate(
        OpenApi.Description,
        "barrier and threshold take direction and confidence, and is_revision true to change them; numeric_close and count_days take predicted_value and predicted_std, and the last ones sent count. The scope of the asset must be subscribed."
      )
      .middleware(IdempotentRequest)
  )
  .middleware(RequestBody)
  .middleware(ChallengePath)
  .middleware(AgentLimit)
  .middleware(AgentAuthentication)
  .middleware(ReceiptTime)
  .prefix("/api/v1")
  .annotate(OpenApi.Title, "Price events")
  .annotate(OpenApi.Description, "Questions on crypto assets.") {}
