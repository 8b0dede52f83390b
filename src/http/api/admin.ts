/** Administration with the bearer token AUSPEX_ADMIN_TOKEN. The audit log records every call that changes something. */
import { ByteSize, Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { AuditEntries } from "../../services/AdminAudit.ts"
import { Amendment, SettledChallenge } from "../../services/Amendments.ts"
import { AlreadyArchived, Tournament, TournamentImport } from "../../services/Archive.ts"
import { Grant, IdempotencyKeyReused, NewGrant } from "../../services/Credits.ts"
import { EventImport, MarketEvent } from "../../services/Events.ts"
import { RouteHealth } from "../../services/Gateway.ts"
import { UsageGroup, UsageReport } from "../../services/GatewayUsage.ts"
import { LedgerCheck, LogAuditReport, StatsReport } from "../../services/Audit.ts"
import { Continuation, LogLost, LogUnnamed, NewOrigin } from "../../services/LogSequencer.ts"
import { MacroProposal } from "../../services/MacroSource.ts"
import { Owner, OwnerChange } from "../../services/Operators.ts"
import { Purchases } from "../../services/Payments.ts"
import { ImportReport, PriceImport, QuarantinedPrice, QuarantinedPrices } from "../../services/Prices.ts"
import { GatewayKeysAtRotation, SecretRotation } from "../../services/domain/credentials.ts"
import { SelfProfile } from "../../services/Registry.ts"
import { NewReleaseCalendar, Releases } from "../../services/Schedules.ts"
import { SettlementReport } from "../../services/Scoring.ts"
import { Target, TargetChange } from "../../services/Targets.ts"
import {
  Challenge,
  ChallengeState,
  MacroChallenge,
  MacroValue,
  NewChallenge,
  NewMacroChallenge,
  NewPriceEvent,
  PriceEvent,
  TargetPaused
} from "../../services/domain/Challenge.ts"
import { InvalidRequest, NotFound } from "../../services/domain/errors.ts"
import { TargetKeyInPath } from "../../services/domain/ids.ts"
import { pageQuery } from "../../services/domain/paging.ts"
import { Instant, list, text } from "../../services/domain/text.ts"
import {
  MaxBody,
  AdminAuthentication,
  AdminIdempotentRequest,
  RequestBody,
  idempotentRequestHeaders
} from "./middleware.ts"

const reason = text({ minimum: 1, maximum: 1000 })
const created = <S extends Schema.Top>(schema: S) => schema.pipe(HttpApiSchema.status(201))

export class AdminApi extends HttpApiGroup.make("admin")
  .add(
    HttpApiEndpoint.post("importEvents", "/admin/events", {
      payload: Schema.Struct({ events: list(EventImport, { minimum: 1, maximum: 1000 }) }),
      success: created(Schema.Struct({ events: Schema.Array(MarketEvent) })),
      error: InvalidRequest
    }).annotate(OpenApi.Summary, "Import market events (upsert)"),
    HttpApiEndpoint.post("importPrices", "/admin/prices", {
      payload: PriceImport,
      success: created(ImportReport),
      error: [NotFound, InvalidRequest]
    }).annotate(OpenApi.Summary, "Import candles or quotes; contradictions are kept aside"),
    HttpApiEndpoint.get("quarantine", "/admin/prices/quarantine", {
      query: pageQuery,
      success: QuarantinedPrices,
      error: InvalidRequest
    }).annotate(OpenApi.Summary, "Prices that wait for a decision"),
    HttpApiEndpoint.post("decideQuarantined", "/admin/prices/quarantine/:id", {
      params: { id: Schema.String },
      payload: Schema.Struct({ accept: Schema.Boolean, reason }),
      success: QuarantinedPrice,
      error: [NotFound, InvalidRequest]
    }).annotate(OpenApi.Summary, "Accept or reject a price kept aside"),
    HttpApiEndpoint.post("createChallenge", "/admin/challenges", {
      headers: idempotentRequestHeaders,
      payload: NewChallenge,
      success: created(Challenge),
      error: [NotFound, InvalidRequest, TargetPaused]
    })
      .annotate(OpenApi.Summary, "Create a directional challenge")
      .middleware(AdminIdempotentRequest),
    HttpApiEndpoint.post("cancelChallenge", "/admin/challenges/:challenge_id/cancel", {
      params: { challenge_id: Schema.String },
      payload: Schema.Struct({ reason }),
      success: Challenge,
      error: [NotFound, ChallengeState]
    }).annotate(OpenApi.Summary, "Cancel a challenge; nobody is scored by it"),
    HttpApiEndpoint.post("amendChallenge", "/admin/challenges/:challenge_id/amend", {
      params: { challenge_id: Schema.String },
      payload: Amendment,
      success: SettledChallenge,
      error: [NotFound, InvalidRequest, ChallengeState]
    })
      .annotate(
        OpenApi.Summary,
        "Correct what a resolved challenge was decided by: a new version, scored anew"
      )
      .annotate(
        OpenApi.Description,
        "Takes close_price of a directional challenge, actual_value of a macro one. Every version and its reason stay visible. No credit moves. Sent again, it changes nothing."
      ),
    HttpApiEndpoint.post("createMacroChallenge", "/admin/macro/challenges", {
      headers: idempotentRequestHeaders,
      payload: NewMacroChallenge,
      success: created(MacroChallenge),
      error: InvalidRequest
    })
      .annotate(OpenApi.Summary, "Create a macro challenge")
      .middleware(AdminIdempotentRequest),
    HttpApiEndpoint.post("resolveMacroChallenge", "/admin/macro/challenges/:challenge_id/resolve", {
      params: { challenge_id: Schema.String },
      payload: MacroValue,
      success: MacroChallenge,
      error: [NotFound, InvalidRequest, ChallengeState]
    }).annotate(OpenApi.Summary, "Record the published value and settle; the same value again is a no-op"),
    HttpApiEndpoint.post("voidMacroChallenge", "/admin/macro/challenges/:challenge_id/void", {
      params: { challenge_id: Schema.String },
      payload: Schema.Struct({ reason }),
      success: MacroChallenge,
      error: [NotFound, ChallengeState]
    }).annotate(OpenApi.Summary, "Void a macro challenge after its deadline; nobody is scored by it"),
    HttpApiEndpoint.post("createPriceEvent", "/admin/price-events/challenges", {
      headers: idempotentRequestHeaders,
      payload: NewPriceEvent,
      success: created(PriceEvent),
      error: InvalidRequest
    })
      .annotate(OpenApi.Summary, "Create a price-event question")
      .middleware(AdminIdempotentRequest),
    HttpApiEndpoint.post("voidPriceEvent", "/admin/price-events/challenges/:challenge_id/void", {
      params: { challenge_id: Schema.String },
      payload: Schema.Struct({ reason }),
      success: PriceEvent,
      error: [NotFound, ChallengeState]
    }).annotate(OpenApi.Summary, "Void a price-event question after its deadline; nobody is scored by it"),
    HttpApiEndpoint.get("macroProposals", "/admin/macro/proposals", {
      success: Schema.Struct({ items: Schema.Array(MacroProposal) })
    }).annotate(OpenApi.Summary, "First prints found for macro challenges that wait for their value"),
    HttpApiEndpoint.get("releaseCalendar", "/admin/release-calendar", { success: Releases }).annotate(
      OpenApi.Summary,
      "The macro releases that challenges are made of"
    ),
    HttpApiEndpoint.put("replaceReleaseCalendar", "/admin/release-calendar", {
      payload: NewReleaseCalendar,
      success: Releases,
      error: InvalidRequest
    })
      .annotate(OpenApi.Summary, "Replace the calendar of macro releases")
      .annotate(
        OpenApi.Description,
        "The whole calendar: a release that is not named is not planned any more. Takes what GET answers. Challenges that were made stay as they are."
      ),
    HttpApiEndpoint.post("importTournament", "/admin/archive", {
      payload: TournamentImport,
      success: created(Tournament),
      error: [InvalidRequest, AlreadyArchived]
    }).annotate(
      OpenApi.Summary,
      "Archive a finished tournament as a whole, for ever; the same again is a no-op"
    ),
    HttpApiEndpoint.post("settle", "/admin/settle", { success: SettlementReport }).annotate(
      OpenApi.Summary,
      "Run every settlement job once, now"
    ),
    HttpApiEndpoint.patch("changeTarget", "/admin/targets/:key", {
      params: { key: TargetKeyInPath },
      payload: TargetChange,
      success: Target,
      error: [NotFound, InvalidRequest]
    }).annotate(OpenApi.Summary, "Pause a target or change its live dead zone"),
    HttpApiEndpoint.get("getAgent", "/admin/agents/:agent_id", {
      params: { agent_id: Schema.String },
      success: SelfProfile,
      error: NotFound
    }).annotate(OpenApi.Summary, "An agent as it sees itself"),
    HttpApiEndpoint.patch("changeAgent", "/admin/agents/:agent_id", {
      params: { agent_id: Schema.String },
      payload: Schema.Struct({
        suspended: Schema.optionalKey(Schema.Boolean),
        reason: Schema.optionalKey(reason).annotate({
          description: "why it is suspended; the agent is told"
        }),
        credit_arena_enabled: Schema.optionalKey(Schema.Boolean).annotate({
          description: "whether the agent's credit may be spent on language models"
        })
      }),
      success: SelfProfile,
      error: [NotFound, InvalidRequest]
    }).annotate(
      OpenApi.Summary,
      "Suspend or restore an agent (suspension ends its tokens within 5 s), or let it use the language-model gateway"
    ),
    HttpApiEndpoint.post("rotateSecret", "/admin/agents/:agent_id/rotate-secret", {
      params: { agent_id: Schema.String },
      query: {
        gateway_keys: Schema.optionalKey(GatewayKeysAtRotation).annotate({
          description: "whether the agent's gateway keys end with the old secret; default revoke"
        })
      },
      success: HttpApiSchema.WithHeaders(SecretRotation, { "cache-control": Schema.Literal("no-store") }),
      error: [NotFound, InvalidRequest]
    }).annotate(
      OpenApi.Summary,
      "A new client_secret, shown once; held tokens end within 5 s, and gateway keys within a second"
    ),
    HttpApiEndpoint.get("getOwner", "/admin/owners/:owner_id", {
      params: { owner_id: Schema.String },
      success: Owner,
      error: NotFound
    }).annotate(OpenApi.Summary, "An owner: an operator with its plan and the agents it claimed"),
    HttpApiEndpoint.patch("changeOwner", "/admin/owners/:owner_id", {
      params: { owner_id: Schema.String },
      payload: OwnerChange,
      success: Owner,
      error: NotFound
    }).annotate(OpenApi.Summary, "Put an owner on a plan"),
    HttpApiEndpoint.post("grantAgent", "/admin/agents/:agent_id/credits", {
      params: { agent_id: Schema.String },
      payload: NewGrant,
      success: created(Grant),
      error: [NotFound, InvalidRequest, IdempotencyKeyReused]
    }).annotate(OpenApi.Summary, "Give credit to an agent, once for an idempotency_key"),
    HttpApiEndpoint.post("grantOwner", "/admin/owners/:owner_id/credits", {
      params: { owner_id: Schema.String },
      payload: NewGrant,
      success: created(Grant),
      error: [NotFound, InvalidRequest, IdempotencyKeyReused]
    }).annotate(OpenApi.Summary, "Give credit to an owner, once for an idempotency_key"),
    HttpApiEndpoint.get("purchases", "/admin/purchases", {
      query: pageQuery,
      success: Purchases,
      error: InvalidRequest
    }).annotate(
      OpenApi.Summary,
      "Credit that owners set out to buy, newest first, and what the provider told of it"
    ),
    HttpApiEndpoint.get("checkLedger", "/admin/ledger/check", { success: LedgerCheck }).annotate(
      OpenApi.Summary,
      "Prove every invariant of the credit ledger, in one snapshot"
    ),
    HttpApiEndpoint.get("audit", "/admin/audit", {
      query: pageQuery,
      success: AuditEntries,
      error: InvalidRequest
    }).annotate(OpenApi.Summary, "What administrators did, newest first"),
    HttpApiEndpoint.get("checkFigures", "/admin/figures/check", { success: StatsReport }).annotate(
      OpenApi.Summary,
      "Compare the kept leaderboard figures with a recomputation from the scores"
    ),
    HttpApiEndpoint.get("auditLog", "/admin/log/audit", { success: LogAuditReport })
      .annotate(OpenApi.Summary, "Compare the public log with everything that is stored; may take minutes")
      .annotate(
        OpenApi.Description,
        "Every hash, every signed checkpoint, and every recorded thing beside its entry, in one snapshot. With a difference the log is not signed any more, until an audit finds none. While it runs, spaces come before the JSON."
      ),
    HttpApiEndpoint.get("gatewayRoutes", "/admin/gateway/routes", {
      success: Schema.Struct({ items: Schema.Array(RouteHealth) })
    }).annotate(
      OpenApi.Summary,
      "The gateway's routes: health, cooldown and latency at the instance that answers"
    ),
    HttpApiEndpoint.get("gatewayUsage", "/admin/gateway/usage", {
      query: {
        by: Schema.optional(UsageGroup).annotate({ description: "default model" }),
        since: Schema.optional(Instant).annotate({
          description: "calls from this instant on; default 30 days before until, at most 366"
        }),
        until: Schema.optional(Instant).annotate({ description: "calls before this instant; default now" }),
        max_items: Schema.optional(
          Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1000 }))
        ).annotate({
          description: "1 to 1000, default 366"
        })
      },
      success: UsageReport,
      error: InvalidRequest
    }).annotate(
      OpenApi.Summary,
      "Use of the gateway by model, provider, agent or day: what was charged, what providers charge, and the margin"
    ),
    HttpApiEndpoint.post("continueLog", "/admin/log/continue", {
      payload: Schema.Struct({
        reason,
        origin: Schema.optionalKey(NewOrigin)
      }),
      success: created(Continuation),
      error: [InvalidRequest, LogLost, LogUnnamed]
    })
      .annotate(
        OpenApi.Summary,
        "Let the public log go on after a failover or a restore, or on an instance that does not know it"
      )
      .annotate(
        OpenApi.Description,
        "Says that no newer checkpoint than those that the log has was ever shown to anybody. It is an entry of the log. Instances go on 20 seconds later, unless one remembers more of the log than there is."
      )
  )
  .annotateEndpoints(MaxBody, ByteSize.mebibytes(10))
  .middleware(RequestBody)
  .middleware(AdminAuthentication)
  .prefix("/api/v1")
  .annotate(OpenApi.Title, "Administration")
  .annotate(OpenApi.Description, "For those who run the instance.") {}
