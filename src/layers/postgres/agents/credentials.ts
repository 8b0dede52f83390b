/**
 * Proves agents' identities: secrets by their hash, assertions by the agent's key, with every check of RFC 7523 and RFC
 * 8725. The signature is checked before the claims, and an assertion is used up last, so that a stranger can neither
 * learn nor spend anything.
 */
import { createPublicKey } from "node:crypto"
import { Clock, DateTime, Duration, Effect, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { InvalidClient, tokenPath } from "../../../services/Tokens.ts"
import type {
  PresentedAssertion,
  PresentedCredentials,
  PresentedSecret,
  Tokens
} from "../../../services/Tokens.ts"
import { AgentId, isUuid } from "../../../services/domain/ids.ts"
import { KeySets } from "../../../services/KeySets.ts"
import type { TooManyRequests } from "../../../services/RateLimiter.ts"
import { AuthMethod } from "../../../services/domain/credentials.ts"
import { Settings } from "../../../services/Settings.ts"
import { claimsFault, clockSkew, readAssertion } from "../../keys/assertion.ts"
import type { Assertion } from "../../keys/assertion.ts"
import { assertionKey } from "../../keys/publicKeys.ts"
import { makeClientSecret, sameHash, sha256 } from "../../crypto/secrets.ts"
import { insertRevokedNotices } from "../notices/insertNotices.ts"
import { boundTime, execute, findOption, orDie, timestamp, transaction } from "../sql.ts"
import { RateLimiter } from "../../../services/RateLimiter.ts"
import type { Statement } from "effect/sql"
import type { GatewayKeysAtRotation, SecretRotation } from "../../../services/domain/credentials.ts"

const CredentialsRow = Schema.Struct({
  id: AgentId,
  secret_hash: Schema.Uint8Array,
  auth_method: AuthMethod,
  public_key: Schema.NullOr(Schema.String),
  jwks_url: Schema.NullOr(Schema.String),
  epoch: Schema.Int
})
type CredentialsRow = typeof CredentialsRow.Type

/** Credentials as they were sent, and the agent that they name. */
interface Attempt {
  readonly agentId: string
  readonly prove: (
    found: Option.Option<CredentialsRow>
  ) => Effect.Effect<
    { readonly agent: CredentialsRow; readonly once: Proof["once"] },
    InvalidClient | TooManyRequests
  >
}

/** Proof that the caller is this agent, as of one moment. */
export interface Proof {
  readonly agentId: AgentId
  /** Rises when the agent's credentials change. This proof is good for this epoch only. */
  readonly epoch: number
  /**
   * Runs the work that the proof allows. An assertion is good once and is used up in the same transaction: of parallel calls one runs
   * and the others fail with InvalidClient. It stays used when the work fails; a defect undoes both.
   */
  readonly once: <A, E, R>(
    work: Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E | InvalidClient | TooManyRequests, R>
}

/** The hash that an unknown agent's secret is compared with, so that both cases take the same time. */
const nobodysHash = sha256("nobody")

const rejected = (detail: string) => new InvalidClient({ detail, error_description: detail })

/** The one answer to wrong credentials. */
const unknown = () =>
  rejected("The agent is unknown, or its client_secret or the signature of its client_assertion is wrong.")

/** Replicas' clocks differ: without a margin one would trim an assertion that another still accepts. */
const trimMargin = Duration.minutes(1)

export const makeCredentials = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const settings = yield* Settings
  const failures = yield* makeTokenFailures
  const keySets = yield* KeySets
  const row = findOption(CredentialsRow)
  const audience = settings.baseUrl + tokenPath

  /** Only the canonical spelling of the id is accepted. */
  const find = (agentId: string) =>
    isUuid(agentId)
      ? Effect.map(
          row(sql`
            select id::text, secret_hash, auth_method, public_key, jwks_url, token_epoch as epoch
              from agents where id = ${agentId}::uuid`),
          Option.filter(({ id }) => id === agentId)
        )
      : Effect.succeedNone

  /** Counts a failure of this address, and of the agent at it, if the agent exists. */
  const countingFailures =
    (address: string, tried: Option.Option<Pick<CredentialsRow, "id">> = Option.none()) =>
    <A, E, R>(effect: Effect.Effect<A, E, R>) =>
      Effect.tapError(effect, (error) =>
        error instanceof InvalidClient
          ? failures.count(address, Option.getOrUndefined(tried)?.id)
          : Effect.void
      )

  const bySecret = ({ agentId, clientSecret }: PresentedSecret): Attempt => ({
    agentId,
    prove: Effect.fnUntraced(function* (found) {
      const hash = Option.match(found, { onNone: () => nobodysHash, onSome: (agent) => agent.secret_hash })
      const matches = sameHash(sha256(clientSecret), hash)
      const agent = Option.isSome(found) && matches ? found.value : yield* unknown()
      return { agent, once: (work) => work }
    })
  })

  const keyOf = Effect.fnUntraced(function* (agent: CredentialsRow, { header }: Assertion, address: string) {
    if (agent.public_key !== null) return Option.some(assertionKey(createPublicKey(agent.public_key)))
    if (agent.jwks_url === null) return Option.none()
    const wanted = { algorithm: header.alg, kid: header.kid }
    return yield* keySets
      .find(agent.jwks_url, wanted, failures.checkAddress(address))
      .pipe(Effect.catchTag("NoSuchKey", ({ detail }) => rejected(`client_assertion header kid: ${detail}`)))
  })

  const signer = Effect.fnUntraced(function* (agent: CredentialsRow, assertion: Assertion, address: string) {
    const now = (yield* Clock.currentTimeMillis) / 1000
    const fault = claimsFault(assertion.claims, { agentId: agent.id, audience, now })
    // Claims that are wrong anyway cause no fetch of a key set; otherwise the signature comes first.
    if (fault !== undefined && agent.jwks_url !== null) return yield* rejected(`client_assertion ${fault}`)
    const key = yield* keyOf(agent, assertion, address)
    const { header, signature, signed } = assertion
    const isSigned = Option.exists(
      key,
      ({ algorithm, verifies }) => algorithm === header.alg && verifies(signed, signature)
    )
    if (!isSigned) return yield* unknown()
    // The caller has the key, and may learn the fault.
    if (fault !== undefined) return yield* rejected(`client_assertion ${fault}`)
    return agent
  })

  /** Uses up an assertion. The insert decides which of several uses is the first; it waits for a concurrent one of another replica. */
  const take = (agent: CredentialsRow, { claims }: Assertion) =>
    orDie(sql`
      insert into used_assertions (agent_id, jti, expires_at)
      values (${agent.id}::uuid, ${claims.jti}, ${timestamp(DateTime.makeUnsafe((claims.exp + clockSkew) * 1000))})
      on conflict do nothing returning 1`).pipe(Effect.map((taken) => taken.length > 0))

  const byAssertion = ({ address, agentId, clientAssertion }: PresentedAssertion) =>
    Effect.fromResult(readAssertion(clientAssertion)).pipe(
      Effect.mapError((fault) => rejected(`client_assertion ${fault}`)),
      Effect.map((assertion): Attempt => ({
        agentId: agentId ?? assertion.claims.sub,
        prove: Effect.fnUntraced(function* (found) {
          const agent = yield* Option.isNone(found) ? unknown() : signer(found.value, assertion, address)
          return {
            agent,
            once: (work) =>
              Effect.gen(function* () {
                const isFirst = yield* take(agent, assertion)
                return isFirst ? Option.some(yield* Effect.result(work)) : Option.none()
              }).pipe(
                transaction(sql),
                Effect.flatMap(Effect.fromOption),
                Effect.mapError(() => rejected("client_assertion claim jti: The assertion was used before")),
                Effect.flatMap(Effect.fromResult),
                countingFailures(address, Option.some(agent))
              )
          }
        })
      }))
    )

  const prove = Effect.fnUntraced(function* (
    presented: PresentedCredentials,
    isAllowed: (method: typeof AuthMethod.Type) => boolean
  ) {
    const { address } = presented
    const attempt = yield* "clientSecret" in presented
      ? Effect.succeed(bySecret(presented))
      : countingFailures(address)(byAssertion(presented))
    yield* failures.checkAgent(address, attempt.agentId)
    const found = yield* find(attempt.agentId)
    const { agent, once } = yield* attempt.prove(found).pipe(
      Effect.filterOrFail((proven) => isAllowed(proven.agent.auth_method), unknown),
      countingFailures(address, found)
    )
    const proof: Proof = { agentId: agent.id, epoch: agent.epoch, once }
    return proof
  })

  const verifyCredentials: Tokens["Service"]["verifyCredentials"] = Effect.fn("Tokens.verifyCredentials")(
    function* (presented) {
      const { agentId, once } = yield* prove(presented, () => true)
      return yield* once(Effect.succeed(agentId))
    }
  )

  /** Proves an agent that asks for a token, which requires the method it registered with. */
  const proveForToken = Effect.fn("Tokens.proveForToken")((presented: PresentedCredentials) => {
    const used = "clientSecret" in presented ? "client_credentials" : "private_key_jwt"
    return prove(presented, (registered) => registered === used)
  })

  const trim = Effect.gen(function* () {
    const now = yield* DateTime.now
    yield* execute(sql`delete from used_assertions where expires_at < ${boundTime(sql, now, trimMargin)}`)
  }).pipe(Effect.withSpan("Tokens.trim"))

  return { verifyCredentials, proveForToken, trim }
})

/** A subject of two parts, unlike any address. */
const agentAtAddress = (address: string, agentId: string) => `${address} ${agentId.toLowerCase()}`

/**
 * Counts rejected credentials towards `token_failures` twice: for the agent at this address, so that guessing is bounded, and for the
 * address as a whole. Only the first limit rejects before credentials are checked: an agent with the right ones is not blocked by
 * others at its address, unless they guess at the same agent.
 */
export const makeTokenFailures = Effect.gen(function* () {
  const limits = yield* RateLimiter

  /** Checks that this address may still try this agent. */
  const checkAgent = (address: string, agentId: string) =>
    isUuid(agentId) ? limits.check("token_failures", agentAtAddress(address, agentId)) : Effect.void

  /** Checks that this address may still cause work beyond a comparison. */
  const checkAddress = (address: string) => limits.check("token_failures", address)

  /** Counts a failure. Unknown agents get no window of their own. */
  const count = Effect.fnUntraced(function* (address: string, agentId: AgentId | undefined) {
    if (agentId !== undefined) yield* limits.consume("token_failures", agentAtAddress(address, agentId))
    yield* limits.consume("token_failures", address)
  })

  return { checkAgent, checkAddress, count }
})

/** Rotates an agent's client_secret for its owner or an administrator. */
export const makeSecretRotation = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const agentRow = findOption(Schema.Struct({ id: AgentId }))

  /** Rotates the secret of the agent that meets this condition. All its tokens and webhooks end; its live gateway keys end on request. */
  return Effect.fnUntraced(function* (agent: Statement.Fragment, gatewayKeys: GatewayKeysAtRotation) {
    const secret = makeClientSecret()
    const now = yield* DateTime.now
    const rotated = Effect.gen(function* () {
      const found = yield* agentRow(sql`
        update agents set secret_hash = ${sha256(secret)}, key_set_at = ${timestamp(now)}, token_epoch = token_epoch + 1
         where ${agent} returning id::text`)
      if (Option.isNone(found)) return Option.none<SecretRotation>()
      const { id } = found.value
      // This second statement sees keys that were made while the first one waited for the agent's row.
      const revoked =
        gatewayKeys === "revoke"
          ? yield* sql`
              with revoked as (
                update gateway_keys set revoked_at = ${timestamp(now)}
                 where agent_id = ${id}::uuid and revoked_at is null and (expires_at is null or expires_at > ${timestamp(now)})
                returning *
              )
              ${insertRevokedNotices(sql, timestamp(now), sql`revoked k`)}
              returning 1`
          : []
      // A holder of the old secret may have made these webhooks; the agent enables its own again.
      const disabled = yield* sql`
        with ended as (
          update webhooks set disabled_at = ${timestamp(now)}, disabled_reason = 'the secret of its agent was rotated', due_at = null
           where agent_id = ${id}::uuid and disabled_at is null
          returning id
        ),
        undue as (
          update webhook_deliveries d set due_at = null from ended e where d.webhook_id = e.id and d.due_at is not null
        )
        select 1 from ended`
      return Option.some({
        agent_id: id,
        client_secret: secret,
        revoked_gateway_keys: revoked.length,
        disabled_webhooks: disabled.length
      })
    })
    return yield* transaction(sql)(orDie(rotated))
  })
})
