import { Effect, Option } from "effect"
import { HttpApiBuilder, HttpApiSchema } from "effect/http-api"
import { AdminAudit } from "../../services/AdminAudit.ts"
import { Amendments } from "../../services/Amendments.ts"
import { Archive } from "../../services/Archive.ts"
import { Arenas } from "../../services/Arenas.ts"
import { Audit, LogAuditReport } from "../../services/Audit.ts"
import { Credits } from "../../services/Credits.ts"
import { Events } from "../../services/Events.ts"
import { Gateway } from "../../services/Gateway.ts"
import { GatewayUsage } from "../../services/GatewayUsage.ts"
import { LogSequencer } from "../../services/LogSequencer.ts"
import { MacroProposals } from "../../services/MacroSource.ts"
import { Operators } from "../../services/Operators.ts"
import { Payments } from "../../services/Payments.ts"
import { Prices } from "../../services/Prices.ts"
import { Registry } from "../../services/Registry.ts"
import { ReleaseCalendar } from "../../services/Schedules.ts"
import { Scoring } from "../../services/Scoring.ts"
import { Targets } from "../../services/Targets.ts"
import { MacroChallenge } from "../../services/domain/Challenge.ts"
import { pageOf } from "../../services/domain/paging.ts"
import { Api } from "../api/Api.ts"
import { heartbeatResponse } from "../heartbeatResponse.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "admin",
  Effect.fnUntraced(function* (handlers) {
    const amendments = yield* Amendments
    const archive = yield* Archive
    const arenas = yield* Arenas
    const adminAudit = yield* AdminAudit
    const audit = yield* Audit
    const credits = yield* Credits
    const events = yield* Events
    const gateway = yield* Gateway
    const gatewayUsage = yield* GatewayUsage
    const sequencer = yield* LogSequencer
    const operators = yield* Operators
    const payments = yield* Payments
    const proposals = yield* MacroProposals
    const prices = yield* Prices
    const registry = yield* Registry
    const calendar = yield* ReleaseCalendar
    const scoring = yield* Scoring
    const targets = yield* Targets
    return handlers.handleAll({
      importEvents: ({ payload }) =>
        Effect.map(events.importAll(payload.events), (stored) => ({ events: stored })),
      importPrices: ({ payload }) => prices.import(payload),
      quarantine: ({ query }) => prices.quarantine(pageOf(query)),
      decideQuarantined: ({ params, payload }) => prices.decide(params.id, payload),
      createChallenge: ({ payload }) => arenas.create("directional", payload),
      cancelChallenge: ({ params, payload }) =>
        scoring.void("directional", params.challenge_id, payload.reason),
      amendChallenge: ({ params, payload }) => amendments.amend(params.challenge_id, payload),
      createMacroChallenge: ({ payload }) => arenas.create("macro", payload),
      // Large settlements take longer than clients and proxies wait.
      resolveMacroChallenge: ({ params, payload }) =>
        heartbeatResponse(
          MacroChallenge,
          scoring.resolveMacro(params.challenge_id, payload.actual_value, payload)
        ),
      voidMacroChallenge: ({ params, payload }) =>
        heartbeatResponse(MacroChallenge, scoring.void("macro", params.challenge_id, payload.reason)),
      createPriceEvent: ({ payload }) => arenas.create("price_event", payload),
      voidPriceEvent: ({ params, payload }) =>
        scoring.void("price_event", params.challenge_id, payload.reason),
      macroProposals: () => Effect.map(proposals.waiting, (items) => ({ items })),
      releaseCalendar: () => calendar.list,
      replaceReleaseCalendar: ({ payload }) => calendar.replace(payload.releases),
      importTournament: ({ payload }) => archive.import(payload),
      settle: () => scoring.settleDue,
      changeTarget: ({ params, payload }) => targets.change(params.key, payload),
      getAgent: ({ params }) => registry.profile(params.agent_id),
      changeAgent: ({ params, payload }) => registry.amend(params.agent_id, payload),
      rotateSecret: ({ params, query: { gateway_keys = "revoke" } }) =>
        Effect.map(registry.rotateSecret(params.agent_id, gateway_keys), (body) =>
          HttpApiSchema.withHeaders({ body, headers: { "cache-control": "no-store" as const } })
        ),
      getOwner: ({ params }) => operators.owner(params.owner_id),
      changeOwner: ({ params, payload }) => operators.changeOwner(params.owner_id, payload),
      grantAgent: ({ params, payload }) => credits.grant({ kind: "agent", id: params.agent_id }, payload),
      grantOwner: ({ params, payload }) => credits.grant({ kind: "owner", id: params.owner_id }, payload),
      purchases: ({ query }) => payments.list(pageOf(query)),
      checkLedger: () => audit.verifyLedger,
      audit: ({ query }) => adminAudit.list(pageOf(query)),
      checkFigures: () => audit.verifyStats,
      auditLog: () => heartbeatResponse(LogAuditReport, audit.verifyLog),
      gatewayRoutes: () => Effect.map(gateway.routes, (items) => ({ items })),
      gatewayUsage: ({ query: { by = "model", max_items = 366, since, until } }) =>
        gatewayUsage.report({ by, maxItems: max_items, since, until }),
      continueLog: ({ payload: { origin, reason } }) =>
        sequencer.continue({ reason, origin: Option.fromUndefinedOr(origin) })
    })
  })
)
