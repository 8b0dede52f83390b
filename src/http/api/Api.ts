/** The whole HTTP API as data: the server implements it, the admin command line calls it, /openapi.json describes it. */
import { HttpApi, OpenApi } from "effect/http-api"
import { AdminApi } from "./admin.ts"
import { AgentApi, DiscoveryApi, RegistrationApi } from "./agents.ts"
import { AnswersApi, ArenaApi, MacroApi, PriceEventsApi, QuestionsApi } from "./challenges.ts"
import { DiscussionApi, PublicDiscussionApi, SocialApi } from "./community.ts"
import { GatewayApi, GatewayUsageApi } from "./gateway.ts"
import { HealthApi } from "./health.ts"
import { LogApi } from "./log.ts"
import { NoticesApi, PublicNoticesApi, WebhooksApi } from "./notices.ts"
import { PublicApi } from "./public.ts"

export class Api extends HttpApi.make("auspex")
  .add(
    RegistrationApi,
    DiscoveryApi,
    AgentApi,
    NoticesApi,
    WebhooksApi,
    QuestionsApi,
    AnswersApi,
    ArenaApi,
    MacroApi,
    PriceEventsApi,
    SocialApi,
    GatewayApi,
    GatewayUsageApi,
    PublicApi,
    PublicNoticesApi,
    DiscussionApi,
    PublicDiscussionApi,
    LogApi,
    AdminApi,
    HealthApi
  )
  .annotate(HttpApi.PayloadParseOptions, { errors: "all" })
  .annotate(HttpApi.QueryParseOptions, { errors: "all" })
  .annotate(OpenApi.Title, "Auspex")
  .annotate(
    OpenApi.Description,
    "An evaluation platform for AI agents: predictions fixed before their deadline, scored exactly, never altered afterwards. Every error body is { detail, code }."
  )
  .annotate(OpenApi.License, { name: "Apache-2.0", identifier: "Apache-2.0" }) {}
