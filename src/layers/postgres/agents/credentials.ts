/**
 * How an agent proves who it is: secrets by their hash, assertions by the agent's key, with every check of RFC 7523 and
 * RFC 8725. The signature comes before the claims, and what uses an assertion up comes last, so that a stranger can neither learn nor spend anything.
 */
import { createPublicKey } from "node:crypto"
import { Clock, DateTime, Effect, Option, Schema } from "effect"
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
import { AuthMethod } from "../../../services/Registry.ts"
import { Settings } from "../../../services/Settings.ts"
import { claimsFault, clockSkew, readAssertion } from "../../keys/assertion.ts"
import type { Assertion } from "../../keys/assertion.ts"
import { assertionKey } from "../../keys/publicKeys.ts"
import { makeClientSecret, sameHash, sha256 } from "../../crypto/secrets.ts"
import { execute, findOption, orDie, timestamp, transaction } from "../sql.ts"
import { RateLimiter } from "../../../services/RateLimiter.ts"
import type { Statement } from "effect/sql"
import type { GatewayKeysAtRotation, SecretRotation } from "../../../services/Registry.ts"

const CredentialsRow = Schema.Struct({
  id: AgentId,
  secret_hash: Schema.Uint8Array,
  auth_method: AuthMethod,
  public_key: Schema.NullOr(Schema.String),
  jwks_url: Schema.NullOr(Schema.String),
  epoch: Schema.Int
})
type CredentialsRow = typeof CredentialsRow.Type

/** Credentials that were sent, and whose they are said to be. */
interface Attempt {
  readonly agentId: string
  readonly prove: (
    found: Option.Option<CredentialsRow>
  ) => Effect.Effect<
    { readonly agent: CredentialsRow; readonly once: Proof["once"] },
    InvalidClient | TooManyRequests
  >
}

/** That an agent is who it says, as of one moment. */
export interface Proof {
  readonly agentId: AgentId
  /** Rises when the agent's credentials change: what is given for this proof must not be given for another epoch. */
  readonly epoch: number
  /**
   * Does what the proof is for. An assertion is good once: it is taken in the same transaction, so of parallel ones one
   * does its work and the others fail with InvalidClient. It stays taken when the work fails; a defect undoes both.
   */
  readonly once: <A, E, R>(
    work: Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E | InvalidClient | TooManyRequests, R>
}

/** Compared with when the agent is unknown, so that both answers take the same work. */
const nobodysHash = sha256("nobody")

const rejected = (detail: string) => new InvalidClient({ detail, error_description: detail })

/** The one answer to whoever has not shown a key or a secret that is right. */
const unknown = () =>
  rejected("The agent is unknown, or its client_secret or the signature of its client_assertion is wrong.")

/** Clocks of replicas may differ: without a margin one trims an assertion that another still accepts. */
const trimMargin = { minutes: 1 }

export const makeCredentials = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const settings = yield* Settings
  const failures = yield* makeTokenFailures
  const keySets = yield* KeySets
  const row = findOption(CredentialsRow)
  const audience = settings.baseUrl + tokenPath

  /** Only by the id as it was given out: another spelling of a UUID is another client. */
  const find = (agentId: string) =>
    isUuid(agentId)
      ? Effect.map(
          row(sql`
            select id::text, secret_hash, auth_method, public_key, jwks_url, token_epoch as epoch
              from agents where id = ${agentId}::uuid`),
          Option.filter(({ id }) => id === agentId)
        )
      : Effect.succeedNone

  /** Counts a refusal at this address, and of the agent that was tried there, if it exists. */
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
    if (agent.jwks_url === null || header.kid === undefined) return Option.none()
    return yield* keySets.find(agent.jwks_url, header.kid, failures.checkAddress(address))
  })

  const signer = Effect.fnUntraced(function* (agent: CredentialsRow, assertion: Assertion, address: string) {
    const now = (yield* Clock.currentTimeMillis) / 1000
    const fault = claimsFault(assertion.claims, { agentId: agent.id, audience, now })
    // No key set is fetched for what would be refused anyway; else the signature comes before the claims.
    if (fault !== undefined && agent.jwks_url !== null) return yield* rejected(`client_assertion ${fault}`)
    const key = yield* keyOf(agent, assertion, address)
    const { header, signature, signed } = assertion
    const isSigned = Option.exists(
      key,
      ({ algorithm, verifies }) => algorithm === header.alg && verifies(signed, signature)
    )
    if (!isSigned) return yield* unknown()
    // Whoever gets here has the key, and may know what is wrong.
    if (fault !== undefined) return yield* rejected(`client_assertion ${fault}`)
    return agent
  })

  /** The insert decides; it waits for one of another replica that is under way. */
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

  /** For a token, which an agent gets by the method it registered with only. */
  const proveForToken = Effect.fn("Tokens.proveForToken")((presented: PresentedCredentials) => {
    const used = "clientSecret" in presented ? "client_credentials" : "private_key_jwt"
    return prove(presented, (registered) => registered === used)
  })

  const trim = Effect.gen(function* () {
    const before = DateTime.subtract(yield* DateTime.now, trimMargin)
    yield* execute(sql`delete from used_assertions where expires_at < ${timestamp(before)}`)
  }).pipe(Effect.withSpan("Tokens.trim"))

  return { verifyCredentials, proveForToken, trim }
})

/** Addresses hold no space, so this is none. */
const agentAtAddress = (address: string, agentId: string) => `${address} ${agentId.toLowerCase()}`

/**
 * Refused credentials, which count towards `token_failures` twice: of an agent at an address, so that guessing is bounded,
 * and of the address in all. Only the first refuses before credentials are looked at: who has the right ones does not
 * depend on what others at the address send, unless they guess at the same agent.
 */
export const makeTokenFailures = Effect.gen(function* () {
  const limits = yield* RateLimiter

  /** Whether this agent may be tried at this address. */
  const checkAgent = (address: string, agentId: string) =>
    isUuid(agentId) ? limits.check("token_failures", agentAtAddress(address, agentId)) : Effect.void

  /** Whether anything that costs more than a comparison may be done for this address. */
  const checkAddress = (address: string) => limits.check("token_failures", address)

  /** Counts one. An agent that does not exist cannot be guessed at, and gets no window of its own. */
  const count = Effect.fnUntraced(function* (address: string, agentId: AgentId | undefined) {
    if (agentId !== undefined) yield* limits.consume("token_failures", agentAtAddress(address, agentId))
    yield* limits.consume("token_failures", address)
  })

  return { checkAgent, checkAddress, count }
})

/** A new client_secret for an agent, as its owner or an administrator has it. */
export const makeSecretRotation = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const agentRow = findOption(Schema.Struct({ id: AgentId }))

  /** The agent that this condition finds, if there is one. All its tokens end, and its live gateway keys if so asked. */
  return Effect.fnUntraced(function* (agent: Statement.Fragment, gatewayKeys: GatewayKeysAtRotation) {
    const secret = makeClientSecret()
    const now = yield* DateTime.now
    const rotated = Effect.gen(function* () {
      const found = yield* agentRow(sql`
        update agents set secret_hash = ${sha256(secret)}, key_set_at = ${timestamp(now)}, token_epoch = token_epoch + 1
         where ${agent} returning id::text`)
      if (Option.isNone(found)) return Option.none<SecretRotation>()
      const { id } = found.value
      // A statement of its own, which sees the key that was made while the first one waited for the agent.
      const revoked =
        gatewayKeys === "revoke"
          ? yield* sql`
              update gateway_keys set revoked_at = ${timestamp(now)}
               where agent_id = ${id}::uuid and revoked_at is null and (expires_at is null or expires_at > ${timestamp(now)})
              returning 1`
          : []
      return Option.some({ agent_id: id, client_secret: secret, revoked_gateway_keys: revoked.length })
    })
    return yield* transaction(sql)(orDie(rotated))
  })
})
