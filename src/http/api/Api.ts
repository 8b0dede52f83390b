/** The whole HTTP API as data: the server implements it, the admin command line calls it, /openapi.json describes it. */
import { HttpApi, OpenApi } from "effect/http-api"
import { AdminApi } from "./admin.ts"
import { AgentApi } from "./agent.ts"
import { ArenaApi } from "./arena.ts"
import { DiscussionApi, PublicDiscussionApi } from "./discussion.ts"
import { asServed } from "./document.ts"
import { withOAuthErrors } from "./oauthDocument.ts"
import { GatewayApi, GatewayUsageApi } from "./gateway.ts"
import { withGatewayPaths } from "./gatewayDocument.ts"
import { DiscoveryApi } from "./discovery.ts"
import { HealthApi } from "./health.ts"
import { LogApi } from "./log.ts"
import { MacroApi } from "./macro.ts"
import { PriceEventsApi } from "./priceEvents.ts"
import { PublicApi } from "./public.ts"
import { RegistrationApi } from "./registration.ts"
import { SocialApi } from "./social.ts"

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
  .annotate(OpenApi.Transform, (document) => withGatewayPaths(withOAuthErrors(asServed(document)))) {}
