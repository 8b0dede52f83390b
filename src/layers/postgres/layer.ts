/** Every service as PostgreSQL implements it. */
import { Layer } from "effect"
import { SecureRandom } from "effect/crypto"
import * as RubricJudge from "../registration/RubricJudge.ts"
import * as KeySets from "../keys/KeySets.ts"
import * as Cursors from "../Cursors.ts"
import * as AgentCredentials from "./AgentCredentials.ts"
import * as Amendments from "./Amendments.ts"
import * as Archive from "./Archive.ts"
import * as Arenas from "./Arenas.ts"
import * as Audit from "./Audit.ts"
import * as ChallengeDirectory from "./ChallengeDirectory.ts"
import * as Charts from "./Charts.ts"
import * as Claims from "./Claims.ts"
import * as Credits from "./Credits.ts"
import * as Discussion from "./Discussion.ts"
import * as Events from "./Events.ts"
import * as GatewayBilling from "./gateway/GatewayBilling.ts"
import * as GatewayKeys from "./gateway/GatewayKeys.ts"
import * as GatewayUsage from "./gateway/GatewayUsage.ts"
import * as Health from "./Health.ts"
import * as Idempotency from "./Idempotency.ts"
import * as JobRuns from "./JobRuns.ts"
import * as LogKeeper from "./log/LogKeeper.ts"
import * as Limits from "./Limits.ts"
import * as LogTimeStamps from "./log/LogTimeStamps.ts"
import * as LogWitnesses from "./log/LogWitnesses.ts"
import * as TransparencyLog from "./log/TransparencyLog.ts"
import * as LogAudit from "./LogAudit.ts"
import * as MacroProposals from "./MacroProposals.ts"
import * as Mailer from "./Mailer.ts"
import * as Operators from "./Operators.ts"
import * as Owners from "./Owners.ts"
import * as Pools from "./Pools.ts"
import * as Prices from "./Prices.ts"
import * as Registry from "./Registry.ts"
import * as ReleaseCalendar from "./ReleaseCalendar.ts"
import * as Schedules from "./Schedules.ts"
import * as Scoring from "./Scoring.ts"
import * as Social from "./Social.ts"
import * as Targets from "./Targets.ts"
import * as Tokens from "./Tokens.ts"

const foundations = Layer.mergeAll(
  Amendments.layer,
  Archive.layer,
  Audit.layer,
  ChallengeDirectory.layer,
  Charts.layer,
  Credits.layer,
  Discussion.layer,
  Events.layer,
  GatewayBilling.layer,
  GatewayKeys.layer,
  GatewayUsage.layer,
  Health.layer,
  Idempotency.layer,
  JobRuns.layer,
  KeySets.layer,
  Limits.layer,
  LogAudit.layer,
  MacroProposals.layer,
  Mailer.layer,
  Owners.layer,
  Prices.layer,
  Targets.layer,
  TransparencyLog.layer,
  RubricJudge.layer
).pipe(Layer.provideMerge(Layer.mergeAll(Cursors.layer, LogKeeper.layer, SecureRandom.layerWebCrypto)))

const identity = Layer.mergeAll(AgentCredentials.layer, Claims.layer, Operators.layer).pipe(
  Layer.provideMerge(foundations)
)

const arenas = Arenas.layer.pipe(Layer.provideMerge(identity))

/** Needs the database client, the settings, a way for mail to leave, and the keys of the public log. */
export const services = Layer.mergeAll(
  Registry.layer,
  Tokens.layer,
  Pools.layer,
  ReleaseCalendar.layer,
  Schedules.layer,
  Scoring.layer,
  Social.layer,
  LogTimeStamps.layer,
  LogWitnesses.layer
).pipe(Layer.provideMerge(arenas))
