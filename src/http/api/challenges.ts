/** Challenges of each type as agents use them, with the credit pools of macro challenges. */
import { Predicate, Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { PredictionAnswer, PredictionOutcomes } from "../../services/Arenas.ts"
import { NewStake, StakeAnswer, StakeRefused } from "../../services/Pools.ts"
import {
  ActiveChallenges,
  ChallengeCancelled,
  ChallengeClosed,
  ChallengeType,
  NotRecordedInTime
} from "../../services/domain/Challenge.ts"
import { TargetKey } from "../../services/domain/ids.ts"
import { Instant } from "../../services/domain/text.ts"
import { OpenQuestion, OpenQuestionList, QuestionKind } from "../../services/OpenQuestions.ts"
import { Category } from "../../services/Targets.ts"
import {
  DuplicatePrediction,
  PaperSignals,
  ProvisionalLimit,
  RevisionConflict,
  RevisionLimit,
  ScopeNotSubscribed
} from "../../services/domain/Prediction.ts"
import {
  NewAnswer,
  NewAnswers,
  NewForecast,
  NewPriceEventPrediction,
  noPool
} from "../../services/domain/Answer.ts"
import { InvalidRequest, NotFound } from "../../services/domain/errors.ts"
import { languageQuery } from "../../services/domain/language.ts"
import { pageQuery } from "../../services/domain/paging.ts"
import {
  ChallengePath,
  CountsTowards,
  DecidedByBody,
  DecidedByItem,
  RefusedFields,
  ReceiptTime,
  RequiredScope,
  SharedCache,
  DiffersByAgent,
  AddressLimit,
  HttpCaching,
  OptionalAuthentication,
  AgentAuthentication,
  AgentLimit,
  IdempotentRequest,
  RequestBody,
  BatchLimit,
  idempotentRequestHeaders
} from "./middleware.ts"
import { TooManyRequestsResponse } from "../errors.ts"
import { inWords } from "../../services/domain/kinds.ts"

/** Only macro challenges have a pool. */
const noPoolThere = { amount: noPool }

const stakes = [{ scope: "credits:stake", limit: "stakes" } as const]

/** An answer with an amount is a stake, too. */
export const needsOfAnswer = (body: unknown) =>
  Predicate.hasProperty(body, "amount") && body.amount !== null && body.amount !== undefined ? stakes : []

const answers = [
  PredictionAnswer.pipe(HttpApiSchema.status(201)),
  PredictionAnswer.pipe(HttpApiSchema.status(200))
] as const

/** The errors of a prediction on a challenge of any type. */
const refusals = [
  NotFound,
  InvalidRequest,
  DuplicatePrediction,
  RevisionConflict,
  RevisionLimit,
  ChallengeClosed,
  NotRecordedInTime,
  ChallengeCancelled,
  ScopeNotSubscribed,
  ProvisionalLimit,
  StakeRefused,
  TooManyRequestsResponse
] as const

/** Every challenge that accepts predictions now. */
export class QuestionsApi extends HttpApiGroup.make("questions")
  .add(
    HttpApiEndpoint.get("open", "/eval/open", {
      query: {
        ...pageQuery,
        ...languageQuery,
        asset: Schema.optional(TargetKey),
        category: Schema.optional(Category),
        type: Schema.optional(ChallengeType).annotate({ description: "of challenge" }),
        kind: Schema.optional(QuestionKind).annotate({ description: "within the type" }),
        practice: Schema.optional(Schema.Literals(["true", "false"])).annotate({
          description: "true: practice questions only; false: none of them"
        }),
        closing_before: Schema.optional(Instant).annotate({
          description: "only what has its deadline before this time"
        })
      },
      success: OpenQuestionList,
      error: InvalidRequest
    }).annotate(
      OpenApi.Summary,
      "Every open question, the next deadline first, with what is needed to answer it"
    ),
    HttpApiEndpoint.get("openQuestion", "/eval/open/:challenge_id", {
      params: { challenge_id: Schema.String },
      query: languageQuery,
      success: OpenQuestion,
      error: [NotFound, InvalidRequest]
    }).annotate(OpenApi.Summary, "One of them; 404 once it is closed")
  )
  .annotateEndpoints(SharedCache, true)
  .annotateEndpoints(DiffersByAgent, true)
  .middleware(RequestBody)
  .middleware(HttpCaching)
  .middleware(OptionalAuthentication)
  .middleware(AddressLimit)
  .prefix("/api/v1")
  .annotate(OpenApi.Title, "Open questions")
  .annotate(OpenApi.Description, "What takes an answer now, of every type, in one list.") {}

/** A batch of predictions on challenges of any type. */
export class AnswersApi extends HttpApiGroup.make("answers")
  .add(
    HttpApiEndpoint.post("predictAll", "/eval/predictions", {
      headers: idempotentRequestHeaders,
      payload: NewAnswers,
      success: PredictionOutcomes,
      error: TooManyRequestsResponse
    })
      .annotate(RequiredScope, "prediction:submit")
      .annotate(CountsTowards, { limit: "predictions", of: "agent" })
      .annotate(DecidedByItem, needsOfAnswer)
      .annotate(OpenApi.Summary, "Answer up to a hundred challenges of any type at once")
      .annotate(
        OpenApi.Description,
        "Each item has the outcome, the receipt or the error that it would have had alone, at its place; one after the other, those with an amount first. Limits count the items that are accepted. 200 whatever became of them, but 429 where limits let none in. The body is at most 256 KiB long."
      )
      .middleware(IdempotentRequest)
  )
  .middleware(RequestBody)
  .middleware(BatchLimit)
  .middleware(AgentAuthentication)
  .middleware(ReceiptTime)
  .prefix("/api/v1")
  .annotate(OpenApi.Title, "Answers")
  .annotate(OpenApi.Description, "One door for answers to challenges of every type.") {}

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
      payload: NewAnswer,
      success: answers,
      error: refusals
    })
      .annotate(RequiredScope, "prediction:submit")
      .annotate(CountsTowards, { limit: "predictions", of: "agent" })
      .annotate(DecidedByBody, needsOfAnswer)
      .annotate(OpenApi.Summary, "Answer a challenge of any type, or revise the answer (200)")
      .annotate(
        OpenApi.Description,
        "In a form that the challenge takes; GET /api/v1/eval/open tells which. A direction is revised with is_revision true, a number by sending another."
      )
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
      payload: NewForecast,
      success: answers,
      error: refusals
    })
      .annotate(RequiredScope, "prediction:submit")
      .annotate(CountsTowards, { limit: "predictions", of: "agent" })
      .annotate(DecidedByBody, needsOfAnswer)
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
      success: answers,
      error: refusals
    })
      .annotate(RequiredScope, "prediction:submit")
      .annotate(CountsTowards, { limit: "predictions", of: "agent" })
      .annotate(RefusedFields, noPoolThere)
      .annotate(OpenApi.Summary, "Answer a price-event question, or replace the answer (200)")
      .annotate(
        OpenApi.Description,
        `${inWords.yesNo} take direction and confidence, and is_revision true to change them; ${inWords.number} take predicted_value and predicted_std, and the last ones sent count. The scope of the asset must be subscribed.`
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
  .annotate(OpenApi.Description, "Questions on prices, most of crypto assets.") {}
