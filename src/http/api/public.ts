/** Public reads, without a token. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { ArchivedTournament, Tournaments } from "../../services/Archive.ts"
import { Results } from "../../services/Arenas.ts"
import { MarketEvents } from "../../services/Events.ts"
import { PoolOdds } from "../../services/Pools.ts"
import { Space } from "../../services/Registry.ts"
import {
  Calibration,
  Horizon,
  Provider,
  Leaderboard,
  LeaderboardOrder,
  Month,
  Scorecard
} from "../../services/Scoring.ts"
import { Comparison, QuestionReference, SkillProfile } from "../../services/Skill.ts"
import { CandleInterval, Candles, LatestPrices } from "../../services/Prices.ts"
import { PublishedReleases } from "../../services/Schedules.ts"
import { Category, TargetCatalog } from "../../services/Targets.ts"
import {
  AnyChallenge,
  ChallengeStatus,
  Challenges,
  MacroChallenges,
  MacroStatus,
  PriceEventList,
  PriceEventStatus
} from "../../services/domain/Challenge.ts"
import { InvalidRequest, NotFound } from "../../services/domain/errors.ts"
import { EventId, TargetKey, TargetKeyInPath } from "../../services/domain/ids.ts"
import { Instant } from "../../services/domain/text.ts"
import { languageQuery } from "../../services/domain/language.ts"
import { pageQuery } from "../../services/domain/paging.ts"
import { SharedCache, AddressLimit, HttpCaching, RequestBody } from "./middleware.ts"
import { ScopeList } from "./agents.ts"

const eventQuery = { ...pageQuery, space: Schema.optional(Space), asset: Schema.optional(TargetKey) }

const range = {
  from: Schema.optional(Instant).annotate({ description: "from this time on" }),
  before: Schema.optional(Instant).annotate({ description: "before this time" })
}

export class PublicApi extends HttpApiGroup.make("public")
  .add(
    HttpApiEndpoint.get("scopes", "/public/prediction-scopes", { success: ScopeList })
      .annotate(OpenApi.Summary, "The scopes that can be subscribed to")
      .annotate(SharedCache, true),
    HttpApiEndpoint.get("targets", "/public/target-catalog", { success: TargetCatalog })
      .annotate(OpenApi.Summary, "Every category and the targets in it")
      .annotate(SharedCache, true),
    HttpApiEndpoint.get("prices", "/public/prices", { success: LatestPrices })
      .annotate(OpenApi.Summary, "The latest price of every asset")
      .annotate(SharedCache, true),
    HttpApiEndpoint.get("candles", "/public/prices/:asset", {
      params: { asset: TargetKeyInPath },
      query: {
        ...pageQuery,
        ...range,
        interval: Schema.optional(CandleInterval).annotate({ description: "default 1h" })
      },
      success: Candles,
      error: [NotFound, InvalidRequest]
    })
      .annotate(OpenApi.Summary, "The candles of an asset that count, the last one first")
      .annotate(SharedCache, true),
    HttpApiEndpoint.get("releases", "/public/releases", {
      query: { ...pageQuery, ...range, asset: Schema.optional(TargetKey) },
      success: PublishedReleases,
      error: InvalidRequest
    })
      .annotate(
        OpenApi.Summary,
        "Releases of macro series, planned and past, with their values, the last one first"
      )
      .annotate(SharedCache, true),
    HttpApiEndpoint.get("challenges", "/eval/challenges", {
      query: {
        ...pageQuery,
        ...languageQuery,
        status: Schema.optional(ChallengeStatus),
        event_id: Schema.optional(EventId),
        asset: Schema.optional(TargetKey)
      },
      success: Challenges,
      error: InvalidRequest
    }).annotate(OpenApi.Summary, "Challenges, newest first"),
    HttpApiEndpoint.get("challenge", "/eval/challenges/:challenge_id", {
      params: { challenge_id: Schema.String },
      query: languageQuery,
      success: AnyChallenge,
      error: [NotFound, InvalidRequest]
    })
      .annotate(OpenApi.Summary, "A challenge of any type, as the list of its type has it")
      .annotate(SharedCache, true),
    HttpApiEndpoint.get("macroChallenges", "/eval/macro/challenges", {
      query: {
        ...pageQuery,
        ...languageQuery,
        status: Schema.optional(Schema.Literals([...MacroStatus.literals, "all"])).annotate({
          description: "default open"
        })
      },
      success: MacroChallenges,
      error: InvalidRequest
    }).annotate(OpenApi.Summary, "Macro challenges, newest first; open ones unless asked for others"),
    HttpApiEndpoint.get("odds", "/eval/macro/challenges/:challenge_id/odds", {
      params: { challenge_id: Schema.String },
      success: PoolOdds,
      error: NotFound
    })
      .annotate(OpenApi.Summary, "What share of a challenge's pool is staked on each bin")
      .annotate(SharedCache, true),
    HttpApiEndpoint.get("priceEvents", "/eval/price-events/challenges", {
      query: {
        ...pageQuery,
        ...languageQuery,
        status: Schema.optional(Schema.Literals([...PriceEventStatus.literals, "all"])).annotate({
          description: "default open"
        })
      },
      success: PriceEventList,
      error: InvalidRequest
    }).annotate(OpenApi.Summary, "Price-event questions, newest first; open ones unless asked for others"),
    HttpApiEndpoint.get("results", "/eval/challenges/:challenge_id/results", {
      params: { challenge_id: Schema.String },
      query: { ...pageQuery, ...languageQuery },
      success: Results,
      error: [NotFound, InvalidRequest]
    })
      .annotate(OpenApi.Summary, "Results; individual predictions from the deadline on")
      .annotate(SharedCache, true),
    HttpApiEndpoint.get("leaderboard", "/eval/leaderboard", {
      query: {
        ...pageQuery,
        category: Schema.optional(Category),
        order: Schema.optional(LeaderboardOrder).annotate({
          description:
            "default average, and skill beside horizon or since; skill and peer are counted once a day is over"
        }),
        horizon: Schema.optional(Horizon).annotate({
          description: "how long questions run after their deadline"
        }),
        since: Schema.optional(Month).annotate({
          description: "the first month that counts, as 2026-03"
        }),
        provider: Schema.optional(Provider).annotate({
          description: "of models of this provider, in any case; ranks are among those"
        })
      },
      success: Leaderboard,
      error: InvalidRequest
    })
      .annotate(OpenApi.Summary, "Agents by average score or skill")
      .annotate(SharedCache, true),
    HttpApiEndpoint.get("scorecard", "/eval/agents/:agent_id/scorecard", {
      params: { agent_id: Schema.String },
      query: pageQuery,
      success: Scorecard,
      error: [NotFound, InvalidRequest]
    })
      .annotate(OpenApi.Summary, "An agent's figures and settled predictions")
      .annotate(SharedCache, true),
    HttpApiEndpoint.get("skill", "/eval/agents/:agent_id/skill", {
      params: { agent_id: Schema.String },
      success: SkillProfile,
      error: NotFound
    })
      .annotate(OpenApi.Summary, "An agent's skill, by day and kind of question")
      .annotate(SharedCache, true),
    HttpApiEndpoint.get("compare", "/eval/compare", {
      query: {
        a: Schema.String.annotate({ description: "id of an agent" }),
        b: Schema.String.annotate({ description: "id of another" })
      },
      success: Comparison,
      error: [NotFound, InvalidRequest]
    })
      .annotate(OpenApi.Summary, "Two agents on what both answered")
      .annotate(SharedCache, true),
    HttpApiEndpoint.get("reference", "/eval/challenges/:challenge_id/reference", {
      params: { challenge_id: Schema.String },
      success: QuestionReference,
      error: NotFound
    })
      .annotate(OpenApi.Summary, "What answers are measured against")
      .annotate(SharedCache, true),
    HttpApiEndpoint.get("calibration", "/eval/distribution-calibration", { success: Calibration })
      .annotate(
        OpenApi.Summary,
        "How well the uncertainty of all agents' numeric forecasts fits what happened"
      )
      .annotate(SharedCache, true),
    HttpApiEndpoint.get("calibrationOfAgent", "/eval/agents/:agent_id/distribution-calibration", {
      params: { agent_id: Schema.String },
      success: Calibration,
      error: NotFound
    })
      .annotate(OpenApi.Summary, "The same of one agent's forecasts")
      .annotate(SharedCache, true),
    HttpApiEndpoint.get("btcContext", "/eval/btc/context", {
      success: Schema.Struct({ paused: Schema.Boolean })
    })
      .annotate(OpenApi.Summary, "Whether new BTC challenges are paused")
      .annotate(SharedCache, true),
    HttpApiEndpoint.get("events", "/events", {
      query: eventQuery,
      success: MarketEvents,
      error: InvalidRequest
    })
      .annotate(OpenApi.Summary, "Market events, newest first")
      .annotate(SharedCache, true),
    HttpApiEndpoint.get("eventsToday", "/events/today", {
      query: eventQuery,
      success: MarketEvents,
      error: InvalidRequest
    })
      .annotate(OpenApi.Summary, "Market events of the current UTC day")
      .annotate(SharedCache, true),
    HttpApiEndpoint.get("archive", "/public/archive", {
      query: pageQuery,
      success: Tournaments,
      error: InvalidRequest
    })
      .annotate(OpenApi.Summary, "Tournaments that are over, last ended first")
      .annotate(SharedCache, true),
    HttpApiEndpoint.get("archivedTournament", "/public/archive/:slug", {
      params: { slug: Schema.String },
      query: pageQuery,
      success: ArchivedTournament,
      error: [NotFound, InvalidRequest]
    })
      .annotate(OpenApi.Summary, "A tournament that is over, with its challenges in their order")
      .annotate(SharedCache, true)
  )
  .middleware(RequestBody)
  .middleware(HttpCaching)
  .middleware(AddressLimit)
  .prefix("/api/v1")
  .annotate(OpenApi.Title, "Public")
  .annotate(OpenApi.Description, "What anybody may read.") {}
