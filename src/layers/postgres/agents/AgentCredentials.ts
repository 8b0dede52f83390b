/**
 * Secrets by their hash; assertions by the agent's key, with every check of RFC 7523 and RFC 8725. The signature comes
 * before the claims, and what uses an assertion up comes last, so that a stranger can neither learn nor spend anything.
 */
import { createPublicKey } from "node:crypto"
import { Clock, DateTime, Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { AgentCredentials } from "../../../services/AgentCredentials.ts"
import type {
  PresentedAssertion,
  PresentedCredentials,
  PresentedSecret,
  Proof
} from "../../../services/AgentCredentials.ts"
import { AgentId, isUuid } from "../../../services/identifiers.ts"
import { KeySets } from "../../../services/KeySets.ts"
import type { TooManyRequests } from "../../../services/RateLimiter.ts"
import { AuthMethod } from "../../../services/Registry.ts"
import { Settings } from "../../../services/Settings.ts"
import { InvalidClient, tokenPath } from "../../../services/Tokens.ts"
import { claimsFault, clockSkew, readAssertion } from "../../keys/assertion.ts"
import type { Assertion } from "../../keys/assertion.ts"
import { assertionKey } from "../../keys/publicKeys.ts"
import { sameHash, sha256 } from "../../crypto/secrets.ts"
import { execute, findOption, orDie, timestamp, transaction } from "../sql.ts"
import { makeTokenFailures } from "./tokenFailures.ts"

const Row = Schema.Struct({
  id: AgentId,
  secret_hash: Schema.Uint8Array,
  auth_method: AuthMethod,
  public_key: Schema.NullOr(Schema.String),
  jwks_url: Schema.NullOr(Schema.String),
  epoch: Schema.Int
})
type Row = typeof Row.Type

/** Credentials that were sent, and whose they are said to be. */
interface Attempt {
  readonly agentId: string
  readonly prove: (
    found: Option.Option<Row>
  ) => Effect.Effect<{ readonly agent: Row; readonly once: Proof["once"] }, InvalidClient | TooManyRequests>
}

/** Compared with when the agent is unknown, so that both answers take the same work. */
const nobodysHash = sha256("nobody")

const refused = (detail: string) => new InvalidClient({ detail, error_description: detail })

/** The one answer to whoever has not shown a key or a secret that is right. */
const unknown = () =>
  refused("The agent is unknown, or its client_secret or the signature of its client_assertion is wrong.")

/** Replicas' clocks may differ, so that one trims what another would still take. */
const trimMargin = { minutes: 1 }

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const settings = yield* Settings
  const failures = yield* makeTokenFailures
  const keySets = yield* KeySets
  const row = findOption(Row)
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
  const countingRefusals =
    (address: string, tried: Option.Option<Pick<Row, "id">> = Option.none()) =>
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

  const keyOf = Effect.fnUntraced(function* (agent: Row, { header }: Assertion, address: string) {
    if (agent.public_key !== null) return Option.some(assertionKey(createPublicKey(agent.public_key)))
    if (agent.jwks_url === null || header.kid === undefined) return Option.none()
    return yield* keySets.find(agent.jwks_url, header.kid, failures.checkAddress(address))
  })

  const signer = Effect.fnUntraced(function* (agent: Row, assertion: Assertion, address: string) {
    const now = (yield* Clock.currentTimeMillis) / 1000
    const fault = claimsFault(assertion.claims, { agentId: agent.id, audience, now })
    // No key set is fetched for what would be refused anyway; else the signature comes before the claims.
    if (fault !== undefined && agent.jwks_url !== null) return yield* refused(`client_assertion ${fault}`)
    const key = yield* keyOf(agent, assertion, address)
    const { header, signature, signed } = assertion
    const isSigned = Option.exists(
      key,
      ({ algorithm, verifies }) => algorithm === header.alg && verifies(signed, signature)
    )
    if (!isSigned) return yield* unknown()
    // Whoever gets here has the key, and may know what is wrong.
    if (fault !== undefined) return yield* refused(`client_assertion ${fault}`)
    return agent
  })

  /** The insert decides; it waits for one of another replica that is under way. */
  const take = (agent: Row, { claims }: Assertion) =>
    orDie(sql`
      insert into used_assertions (agent_id, jti, expires_at)
      values (${agent.id}::uuid, ${claims.jti}, ${timestamp(DateTime.makeUnsafe((claims.exp + clockSkew) * 1000))})
      on conflict do nothing returning 1`).pipe(Effect.map((taken) => taken.length > 0))

  const byAssertion = ({ address, agentId, clientAssertion }: PresentedAssertion) =>
    Effect.fromResult(readAssertion(clientAssertion)).pipe(
      Effect.mapError((fault) => refused(`client_assertion ${fault}`)),
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
                Effect.mapError(() => refused("client_assertion claim jti: The assertion was used before")),
                Effect.flatMap(Effect.fromResult),
                countingRefusals(address, Option.some(agent))
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
      : countingRefusals(address)(byAssertion(presented))
    yield* failures.checkAgent(address, attempt.agentId)
    const found = yield* find(attempt.agentId)
    const { agent, once } = yield* attempt.prove(found).pipe(
      Effect.filterOrFail((proven) => isAllowed(proven.agent.auth_method), unknown),
      countingRefusals(address, found)
    )
    const proof: Proof = { agentId: agent.id, epoch: agent.epoch, once }
    return proof
  })

  const verify: AgentCredentials["Service"]["verify"] = Effect.fn("AgentCredentials.verify")(
    function* (presented) {
      const { agentId, once } = yield* prove(presented, () => true)
      return yield* once(Effect.succeed(agentId))
    }
  )

  const proveForToken: AgentCredentials["Service"]["proveForToken"] = Effect.fn(
    "AgentCredentials.proveForToken"
  )((presented) => {
    const used = "clientSecret" in presented ? "client_credentials" : "private_key_jwt"
    return prove(presented, (registered) => registered === used)
  })

  const trim = Effect.gen(function* () {
    const before = DateTime.subtract(yield* DateTime.now, trimMargin)
    yield* execute(sql`delete from used_assertions where expires_at < ${timestamp(before)}`)
  }).pipe(Effect.withSpan("AgentCredentials.trim"))

  return AgentCredentials.of({ verify, proveForToken, trim })
})

export const layer = Layer.effect(AgentCredentials, make)
