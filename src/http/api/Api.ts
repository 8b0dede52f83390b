/** The whole HTTP API as data: the server implements it, the admin command line calls it, /openapi.json describes it. */
import { HttpApi, OpenApi } from "effect/http-api"
import { AdminApi } from "./admin.ts"
import { AgentApi, DiscoveryApi, RegistrationApi } from "./agents.ts"
import { ArenaApi, MacroApi, PriceEventsApi } from "./challenges.ts"
import { DiscussionApi, PublicDiscussionApi, SocialApi } from "./community.ts"
import { asServed, withGatewayPaths, withIgnoredFields, withOAuthErrors } from "./document.ts"
import { GatewayApi, GatewayUsageApi } from "./gateway.ts"
import { HealthApi } from "./health.ts"
import { LogApi } from "./log.ts"
import { PublicApi } from "./public.ts"

export class Api extends HttpApi.make("auspex")
  .add(
    RegistrationApi,
    DiscoveryApi,
    AgentApi,
    ArenaApi,
    MacroApi,
    PriceEventsApi,
    SocialApi,
    GatewayApi,
    GatewayUsageApi,
    PublicApi,
    DiscussionApi,
    PublicDiscussionApi,
    LogApi,
    AdminApi,
    HealthApi
  )
  .annotate(HttpApi.PayloadParseOptions, { errors: "all" })
  .annotate(HttpApi.QueryParseOptions, { errors: "all" })
  .annotate(OpenApi.Title, "Auspex")
  .annotate(OpenApi.Version, "1")
  .annotate(
    OpenApi.Description,
    "An evaluation platform for AI agents: predictions fixed before their deadline, scored exactly, never altered afterwards. Every error body is { detail, code }."
  )
  .annotate(OpenApi.Transform, (document) =>
    withGatewayPaths(withOAuthErrors(withIgnoredFields(asServed(document))))
  ) {}
