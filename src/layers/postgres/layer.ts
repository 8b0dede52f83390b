/** Every service, implemented with PostgreSQL. */
import { Layer } from "effect"
import { SecureRandom } from "effect/crypto"
import type { RegistrationJudge } from "../../services/RegistrationJudge.ts"
import * as KeySets from "../keys/KeySets.ts"
import * as Cursors from "../crypto/Cursors.ts"
import * as Amendments from "./settlement/Amendments.ts"
import * as Archive from "./challenges/Archive.ts"
import * as Arenas from "./challenges/Arenas.ts"
import * as AdminAudit from "./AdminAudit.ts"
import * as Audit from "./checks/Audit.ts"
import * as Charts from "./challenges/Charts.ts"
import * as Claims from "./agents/Claims.ts"
import * as Credits from "./credit/Credits.ts"
import * as Discussion from "./community/Discussion.ts"
import * as Events from "./community/Events.ts"
import * as GatewayAlerts from "./gateway/GatewayAlerts.ts"
import * as GatewayBilling from "./gateway/GatewayBilling.ts"
import * as GatewayKeys from "./gateway/GatewayKeys.ts"
import * as GatewayUsage from "./gateway/GatewayUsage.ts"
import * as Health from "./Health.ts"
import * as Idempotency from "./Idempotency.ts"
import * as Instances from "./Instances.ts"
import * as JobRuns from "./JobRuns.ts"
import * as LogSequencer from "./log/LogSequencer.ts"
import * as RateLimiter from "./RateLimiter.ts"
import * as Witnesses from "./log/Witnesses.ts"
import * as TransparencyLog from "./log/TransparencyLog.ts"
import * as MacroProposals from "./prices/MacroProposals.ts"
import * as Mailer from "./Mailer.ts"
import * as OpenQuestions from "./challenges/OpenQuestions.ts"
import * as Notices from "./notices/Notices.ts"
import * as Webhooks from "./notices/Webhooks.ts"
import * as Operators from "./agents/Operators.ts"
import * as OwnerMails from "./agents/OwnerMails.ts"
import * as Pools from "./credit/Pools.ts"
import * as Practice from "./practice/Practice.ts"
import * as Prices from "./prices/Prices.ts"
import * as ReferenceAgents from "./challenges/ReferenceAgents.ts"
import * as Registry from "./agents/Registry.ts"
import * as ReleaseCalendar from "./schedules/ReleaseCalendar.ts"
import * as Schedules from "./schedules/Schedules.ts"
import * as Scoring from "./settlement/Scoring.ts"
import * as Search from "./community/Search.ts"
import * as Skill from "./skill/Skill.ts"
import * as Social from "./community/Social.ts"
import * as Targets from "./challenges/Targets.ts"
import * as Tokens from "./agents/Tokens.ts"

const foundations = <E, R>(judge: Layer.Layer<RegistrationJudge, E, R>) =>
  Layer.mergeAll(
    Amendments.layer,
    Archive.layer,
    AdminAudit.layer,
    Audit.layer,
    Charts.layer,
    Credits.layer,
    Discussion.layer,
    Events.layer,
    GatewayBilling.layer,
    GatewayKeys.layer,
    GatewayUsage.layer,
    Health.layer,
    Idempotency.layer,
    Instances.layer,
    JobRuns.layer,
    KeySets.layer,
    RateLimiter.layer,
    MacroProposals.layer,
    OwnerMails.layer.pipe(Layer.provideMerge(Mailer.layer)),
    OpenQuestions.layer.pipe(Layer.provideMerge(Practice.layer)),
    Pools.layer,
    Prices.layer,
    Targets.layer,
    TransparencyLog.layer,
    judge
  ).pipe(Layer.provideMerge(Layer.mergeAll(Cursors.layer, LogSequencer.layer, SecureRandom.layerWebCrypto)))

const identity = <E, R>(judge: Layer.Layer<RegistrationJudge, E, R>) =>
  Layer.mergeAll(Claims.layer, GatewayAlerts.layer, Operators.layer, Search.layer).pipe(
    Layer.provideMerge(foundations(judge))
  )

const arenas = <E, R>(judge: Layer.Layer<RegistrationJudge, E, R>) =>
  Arenas.layer.pipe(Layer.provideMerge(identity(judge)))

/** Provides every service. It needs the database client, the settings, a transport for mails, and the keys of the public log. */
export const servicesWith = <E, R>(judge: Layer.Layer<RegistrationJudge, E, R>) =>
  Layer.mergeAll(
    Notices.layer,
    ReferenceAgents.layer,
    Registry.layer,
    Tokens.layer,
    ReleaseCalendar.layer,
    Schedules.layer,
    Scoring.layer,
    Skill.layer,
    Social.layer,
    Webhooks.layer,
    Witnesses.layer
  ).pipe(Layer.provideMerge(arenas(judge)))
