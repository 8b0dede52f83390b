/** Tokens as HS256 JWTs; who may have one, and whose have been ended, by PostgreSQL. */
import {
  Array as Arr,
  Cache,
  Clock,
  DateTime,
  Duration,
  Effect,
  Exit,
  Layer,
  Option,
  Redacted,
  Schema
} from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { SignJWT } from "jose"
import { AgentId, isUuid } from "../../services/identifiers.ts"
import { Limits } from "../../services/Limits.ts"
import { Scope, effectiveScopes } from "../../services/Scopes.ts"
import { Settings } from "../../services/Settings.ts"
import {
  AgentSuspended,
  ChallengePending,
  InvalidClient,
  InvalidToken,
  IssuancePaused,
  Tokens,
  TrustLevel,
  WrongSite
} from "../../services/Tokens.ts"
import { headerOf, verifier } from "../accessTokens.ts"
import { hotSpan } from "../hotSpan.ts"
import { sameHash, sha256 } from "../secrets.ts"
import { statusAt } from "./agentStanding.ts"
import * as naturalBatch from "./naturalBatch.ts"
import { at, column, many, maybe, orDefect } from "./query.ts"

/** How long a verified token may outlive the end of its agent's tokens; the specification allows 5 s. */
const standingTtl = Duration.seconds(3)
const standingCapacity = 100_000
const largestStandingBatch = 500
const longestToken = 4096
/** Strict base64url: a library that takes padding and white space takes many texts for one token. */
const tokenShape = /^[\w-]+\.[\w-]+\.[\w-]+$/

const Credentials = Schema.Struct({
  id: AgentId,
  secret_hash: Schema.Uint8Array,
  auth_method: Schema.String,
  requested_scopes: Schema.Array(Scope),
  token_epoch: Schema.Int,
  first_token_at: Schema.NullOr(Schema.DateTimeUtcFromDate),
  challenge_passed_at: Schema.NullOr(Schema.DateTimeUtcFromDate),
  provisional_until: Schema.DateTimeUtcFromDate,
  claimed_at: Schema.NullOr(Schema.DateTimeUtcFromDate),
  suspended_at: Schema.NullOr(Schema.DateTimeUtcFromDate)
})

const StandingRow = Schema.Struct({ id: AgentId, token_epoch: Schema.Int, suspended: Schema.Boolean })

/** What a token of ours holds; `epoch` ends all earlier tokens of an agent when it rises. */
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

const refused = () => {
  const detail = "The agent is unknown or the client_secret is wrong."
  return new InvalidClient({ detail, error_description: detail })
}

const invalid = (detail: string) => new InvalidToken({ detail })

/** Compared with when the agent is unknown, so that both answers take the same work. */
const nobodysHash = sha256("nobody")

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const settings = yield* Settings
  const limits = yield* Limits
  const random = yield* SecureRandom.SecureRandom
  const credentialRow = maybe(Credentials)
  const standingRows = many(StandingRow)
  const decodeClaims = Schema.decodeUnknownOption(Claims)

  const key = new TextEncoder().encode(Redacted.value(settings.tokenSecret))
  const header = headerOf(key)
  const verify = verifier(key)

  const standings = Effect.fnUntraced(function* (agentIds: Arr.NonEmptyReadonlyArray<AgentId>) {
    const rows = yield* standingRows(sql`
      select id::text, token_epoch, suspended_at is not null as suspended
        from agents where id = any(${column("uuid", agentIds)})`)
    const byId = new Map(rows.map((row) => [row.id, row]))
    return agentIds.map((id) => Option.fromUndefinedOr(byId.get(id)))
  })

  const standing = yield* Cache.makeWith(
    yield* naturalBatch.make({ run: standings, largest: largestStandingBatch }),
    // What could not be read is read again, or an outage would outlive itself.
    { capacity: standingCapacity, timeToLive: (exit) => (Exit.isSuccess(exit) ? standingTtl : Duration.zero) }
  )

  const hasEnded = (row: Option.Option<typeof StandingRow.Type>, epoch: number): boolean =>
    Option.isNone(row) || row.value.suspended || row.value.token_epoch !== epoch

  const ended = Effect.fnUntraced(function* (agentId: AgentId, epoch: number) {
    const known = yield* Cache.get(standing, agentId)
    // A token that is newer than what is remembered of its agent is not refused because of it.
    const isOutdated = hasEnded(known, epoch) && Option.exists(known, (row) => epoch >= row.token_epoch)
    return hasEnded(isOutdated ? yield* Cache.refresh(standing, agentId) : known, epoch)
  })

  const sign = Effect.fnUntraced(function* (agent: typeof Credentials.Type, scopes: ReadonlyArray<Scope>) {
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
    return yield* Effect.promise(() => new SignJWT(claims).setProtectedHeader(header).sign(key))
  })

  const authorise = Effect.fnUntraced(function* (agent: typeof Credentials.Type) {
    const status = statusAt(agent, yield* DateTime.now)
    switch (status) {
      case "suspended": {
        const detail = "The agent is suspended by an administrator."
        return yield* new AgentSuspended({ detail, error_description: detail })
      }
      case "challenge_pending": {
        const detail =
          "The registration challenge has not been passed yet: submit an answer to its submit_url first."
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

  const findAgent = (agentId: string) =>
    isUuid(agentId)
      ? credentialRow(sql`
          select id::text, secret_hash, auth_method, requested_scopes, token_epoch, first_token_at,
                 challenge_passed_at, provisional_until, claimed_at, suspended_at
            from agents where id = ${agentId}::uuid`)
      : Effect.succeedNone

  const issue: Tokens["Service"]["issue"] = Effect.fn("Tokens.issue")(function* (credentials) {
    yield* limits.check("token_failures", credentials.address)
    const found = yield* findAgent(credentials.agentId)
    const hash = Option.match(found, { onNone: () => nobodysHash, onSome: (agent) => agent.secret_hash })
    const matches = sameHash(sha256(credentials.clientSecret), hash)
    if (Option.isNone(found) || !matches || found.value.auth_method !== "client_credentials") {
      yield* limits.take("token_failures", credentials.address)
      return yield* refused()
    }
    const agent = found.value
    yield* limits.take("tokens", agent.id)
    const status = yield* authorise(agent)
    // The secret is compared again in the update, so that a rotation at the same moment never loses to this token.
    if (agent.first_token_at === null) {
      const now = yield* DateTime.now
      const marked = yield* sql`
        update agents set first_token_at = coalesce(first_token_at, ${at(now)})
         where id = ${agent.id}::uuid and secret_hash = ${agent.secret_hash} returning 1`.pipe(orDefect)
      if (marked.length === 0) return yield* refused()
    }
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
    if (bearer.length > longestToken || !tokenShape.test(bearer))
      return yield* invalid("The access token is malformed.")
    const payload = verify(bearer)
    if (payload === undefined) {
      return yield* invalid("The access token is malformed or not ours: request a new one.")
    }
    const claims = decodeClaims(payload)
    if (Option.isNone(claims)) return yield* invalid("The access token is not ours: request a new one.")
    const { epoch, exp, nbf = 0, scope, site, sub, trust_level } = claims.value
    const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
    if (exp <= now || nbf > now) {
      return yield* invalid("The access token has expired or is not valid yet: request a new one.")
    }
    if (site !== settings.site) {
      return yield* new WrongSite({
        detail: `The token is bound to the site "${site}", this is "${settings.site}": agents register separately per site.`
      })
    }
    if (yield* ended(sub, epoch)) {
      return yield* invalid("The access token has been ended: request a new one.")
    }
    return { agentId: sub, trustLevel: trust_level, scopes: scopeSet(scope) }
  }, hotSpan("Tokens.authenticate"))

  return Tokens.of({ issue, authenticate })
})

const claimNote = (until: DateTime.Utc): string =>
  `Unclaimed: ask the operator to open the claim link. Until then social scopes are withheld and the rank is unofficial; tokens are issued until ${DateTime.formatIso(until)}.`

export const layer = Layer.effect(Tokens, make)
