/** Access tokens: HS256 JWTs. PostgreSQL decides who may have one and which ones have ended. */
import { Array as Arr, Cache, Clock, DateTime, Duration, Effect, Exit, Layer, Option, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { SignJWT } from "jose"
import {
  AgentSuspended,
  ChallengePending,
  InvalidClient,
  endedToken,
  InvalidToken,
  IssuancePaused,
  Tokens,
  TrustLevel,
  WrongSite,
  tokenPath
} from "../../../services/Tokens.ts"
import { AgentId, isUuid } from "../../../services/domain/ids.ts"
import { RateLimiter } from "../../../services/RateLimiter.ts"
import { Scope, effectiveScopes } from "../../../services/Scopes.ts"
import { Settings } from "../../../services/Settings.ts"
import { cheapSpan } from "../../cheapSpan.ts"
import * as accessTokens from "../../crypto/accessTokens.ts"
import { makeCredentials } from "./credentials.ts"
import type { Proof } from "./credentials.ts"
import { requestedScopesOf } from "./scopes.ts"
import { makeWhyPending } from "./pendingChallenge.ts"
import { statusAt } from "../../../services/domain/agentStatus.ts"
import * as RequestBatcher from "../RequestBatcher.ts"
import { arrayParam, findAll, findOption, orDie, timestamp } from "../sql.ts"

/** An ended token may still be accepted for this long; the specification allows 5 s. */
const epochTtl = Duration.seconds(3)
const maxEpochs = 100_000
const maxEpochBatch = 500
const maxToken = 4096
/** Strict base64url, so that a token has one spelling. */
const tokenShape = /^[\w-]+\.[\w-]+\.[\w-]+$/

const Agent = Schema.Struct({
  id: AgentId,
  requested_scopes: Schema.Array(Scope),
  token_epoch: Schema.Int,
  first_token_at: Schema.NullOr(Schema.DateTimeUtcFromDate),
  challenge_passed_at: Schema.NullOr(Schema.DateTimeUtcFromDate),
  provisional_until: Schema.DateTimeUtcFromDate,
  claimed_at: Schema.NullOr(Schema.DateTimeUtcFromDate),
  suspended_at: Schema.NullOr(Schema.DateTimeUtcFromDate)
})

const EpochRow = Schema.Struct({ id: AgentId, token_epoch: Schema.Int, suspended: Schema.Boolean })

/** The claims of a token. A risen `epoch` ends all earlier tokens of an agent. */
const Claims = Schema.Struct({
  sub: AgentId.check(Schema.makeFilter((id: string) => isUuid(id))),
  site: Schema.String,
  trust_level: TrustLevel,
  scope: Schema.String,
  epoch: Schema.Int,
  jti: Schema.String,
  iat: Schema.Finite,
  exp: Schema.Finite,
  nbf: Schema.optionalKey(Schema.Finite)
})

const isScope = Schema.is(Scope)
const scopeSet = (scope: string): ReadonlySet<Scope> => new Set(scope.split(" ").filter(isScope))

const changed = () => {
  const detail = "The agent's credentials have just been changed."
  return new InvalidClient({ detail, error_description: detail })
}

const invalid = (detail: string) => new InvalidToken({ detail })

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const settings = yield* Settings
  const limits = yield* RateLimiter
  const credentials = yield* makeCredentials
  const random = yield* SecureRandom.SecureRandom
  const whyPending = yield* makeWhyPending
  const agentRow = findOption(Agent)
  const epochRows = findAll(EpochRow)
  const decodeClaims = Schema.decodeUnknownOption(Claims)

  const keys = yield* accessTokens.make(settings)

  const readEpochs = Effect.fnUntraced(function* (
    agentIds: Arr.NonEmptyReadonlyArray<AgentId>,
    client: SqlClient.SqlClient
  ) {
    const queriedAt = yield* Clock.currentTimeMillis
    const rows = yield* epochRows(client`
      select id::text, token_epoch, suspended_at is not null as suspended
        from agents where id = any(${arrayParam("uuid", agentIds)})`)
    const byId = new Map(rows.map((row) => [row.id, row]))
    return agentIds.map((id) => ({ queriedAt, row: Option.fromUndefinedOr(byId.get(id)) }))
  })

  const epochs = yield* Cache.makeWith(
    yield* RequestBatcher.make({ run: readEpochs, maxSize: maxEpochBatch }),
    // Failures are not cached, or an outage would outlive itself.
    { capacity: maxEpochs, timeToLive: (exit) => (Exit.isSuccess(exit) ? epochTtl : Duration.zero) }
  )

  const hasEnded = (row: Option.Option<typeof EpochRow.Type>, epoch: number): boolean =>
    Option.isNone(row) || row.value.suspended || row.value.token_epoch !== epoch

  const ended = Effect.fnUntraced(function* (agentId: AgentId, epoch: number) {
    const { queriedAt, row } = yield* Cache.get(epochs, agentId)
    // A slow answer is as old as its query.
    const isStale = (yield* Clock.currentTimeMillis) - queriedAt > Duration.toMillis(epochTtl)
    // A token newer than the cached epoch is not rejected by it.
    const isOutdated = hasEnded(row, epoch) && Option.exists(row, (known) => epoch >= known.token_epoch)
    if (!isStale && !isOutdated) return hasEnded(row, epoch)
    return hasEnded((yield* Cache.refresh(epochs, agentId)).row, epoch)
  })

  const sign = Effect.fnUntraced(function* (agent: typeof Agent.Type, scopes: ReadonlyArray<Scope>) {
    const jti = yield* random.uuidV7()
    const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
    const claims = {
      iss: "auspex",
      sub: agent.id,
      site: settings.site,
      trust_level: agent.claimed_at === null ? "provisional" : "claimed",
      scope: scopes.join(" "),
      epoch: agent.token_epoch,
      jti,
      iat: now,
      exp: now + Math.floor(Duration.toSeconds(settings.tokenTtl))
    }
    return yield* Effect.promise(() => new SignJWT(claims).setProtectedHeader(keys.header).sign(keys.key))
  })

  const authorise = Effect.fnUntraced(function* (agent: typeof Agent.Type) {
    const status = statusAt(agent, yield* DateTime.now)
    switch (status) {
      case "suspended": {
        const detail = "The agent is suspended by an administrator."
        return yield* new AgentSuspended({ detail, error_description: detail })
      }
      case "challenge_pending": {
        const detail = yield* whyPending(agent.id)
        return yield* new ChallengePending({ detail, error_description: detail })
      }
      case "issuance_paused": {
        const detail = `The grace window ended at ${DateTime.formatIso(agent.provisional_until)} and the agent is unclaimed: tokens are issued again once its operator has claimed it. Its track record is kept.`
        return yield* new IssuancePaused({ detail, error_description: detail })
      }
      case "active":
      case "active_provisional":
        return status
    }
  })

  /** Finds the agent as of the proof: an agent whose credentials changed since then is not found. */
  const findAgent = ({ agentId, epoch }: Proof) =>
    agentRow(sql`
      select a.id::text, ${requestedScopesOf(sql)} as requested_scopes, a.token_epoch, a.first_token_at, a.challenge_passed_at,
             a.provisional_until, a.claimed_at, a.suspended_at
        from agents a where a.id = ${agentId}::uuid and a.token_epoch = ${epoch}`)

  /** Decides if the agent may have a token now; its first token ends resend-secret. */
  const admit = Effect.fnUntraced(function* (proof: Proof) {
    const found = yield* findAgent(proof)
    if (Option.isNone(found)) return yield* changed()
    const agent = found.value
    const status = yield* authorise(agent)
    // The epoch is compared again, so that a concurrent rotation of the secret ends this token, too.
    if (agent.first_token_at === null) {
      const now = yield* DateTime.now
      const marked = yield* sql`
        update agents set first_token_at = coalesce(first_token_at, ${timestamp(now)})
         where id = ${agent.id}::uuid and token_epoch = ${agent.token_epoch} returning 1`.pipe(orDie)
      if (marked.length === 0) return yield* changed()
    }
    return { agent, status }
  })

  const issue: Tokens["Service"]["issue"] = Effect.fn("Tokens.issue")(function* (presented) {
    const proof = yield* credentials.proveForToken(presented)
    const admitted = Effect.andThen(limits.consume("tokens", proof.agentId), admit(proof))
    const { agent, status } = yield* proof.once(admitted)
    const scopes = effectiveScopes(
      agent.requested_scopes,
      agent.claimed_at === null ? "provisional" : "claimed"
    )
    const token = yield* sign(agent, scopes)
    const pending = agent.claimed_at === null
    return {
      access_token: token,
      token_type: "Bearer" as const,
      expires_in: Math.floor(Duration.toSeconds(settings.tokenTtl)),
      scope: scopes.join(" "),
      agent_status: status,
      claim_pending: pending,
      ...(pending && { claim_note: claimNote(agent.provisional_until) })
    }
  })

  const authenticate: Tokens["Service"]["authenticate"] = Effect.fnUntraced(function* (bearer) {
    if (bearer.length > maxToken || !tokenShape.test(bearer))
      return yield* invalid(`The access token is malformed: POST ${tokenPath} issues one.`)
    const millis = yield* Clock.currentTimeMillis
    const payload = keys.verify(bearer, millis)
    if (payload === undefined) {
      return yield* invalid(`The access token is malformed or not ours: POST ${tokenPath} issues one.`)
    }
    const claims = decodeClaims(payload)
    if (Option.isNone(claims))
      return yield* invalid(`The access token is not ours: POST ${tokenPath} issues one.`)
    const { epoch, exp, nbf = 0, scope, site, sub, trust_level } = claims.value
    const now = Math.floor(millis / 1000)
    if (exp <= now || nbf > now) {
      return yield* invalid(
        `The access token has expired or is not valid yet: POST ${tokenPath} issues a new one.`
      )
    }
    if (site !== settings.site) {
      return yield* new WrongSite({
        detail: `The token is bound to the site "${site}", this is "${settings.site}": agents register separately per site.`
      })
    }
    if (yield* ended(sub, epoch)) {
      return yield* endedToken()
    }
    const expiresAt = DateTime.makeUnsafe(exp * 1000)
    return { agentId: sub, trustLevel: trust_level, scopes: scopeSet(scope), epoch, expiresAt }
  }, cheapSpan("Tokens.authenticate"))

  return Tokens.of({
    issue,
    verifyCredentials: credentials.verifyCredentials,
    authenticate,
    trim: credentials.trim
  })
})

const claimNote = (until: DateTime.Utc): string =>
  `Unclaimed: ask the operator to open the claim link. Until then social scopes are withheld and the rank is unofficial; tokens are issued until ${DateTime.formatIso(until)}.`

export const layer = Layer.effect(Tokens, make)
