/**
 * Secrets by their hash; assertions by the agent's key, with every check of RFC 7523 and RFC 8725. The signature comes
 * before the claims, and what uses an assertion up comes last, so that a stranger can neither learn nor spend anything.
 */
import { createPublicKey } from "node:crypto"
import { Clock, DateTime, Effect, Layer, Option, Result, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { AgentCredentials } from "../../services/AgentCredentials.ts"
import type {
  PresentedAssertion,
  PresentedCredentials,
  PresentedSecret,
  Proof
} from "../../services/AgentCredentials.ts"
import { AgentId, isUuid } from "../../services/identifiers.ts"
import { KeySets } from "../../services/KeySets.ts"
import { Limits } from "../../services/Limits.ts"
import { AuthMethod } from "../../services/Registry.ts"
import { Settings } from "../../services/Settings.ts"
import { InvalidClient, tokenPath } from "../../services/Tokens.ts"
import { claimsFault, clockSkew, readAssertion } from "../keys/assertion.ts"
import type { Assertion } from "../keys/assertion.ts"
import { assertionKey } from "../keys/publicKeys.ts"
import { sameHash, sha256 } from "../secrets.ts"
import { at, maybe, orDefect, run } from "./query.ts"

const Row = Schema.Struct({
  id: AgentId,
  secret_hash: Schema.Uint8Array,
  auth_method: AuthMethod,
  public_key: Schema.NullOr(Schema.String),
  jwks_url: Schema.NullOr(Schema.String),
  epoch: Schema.Int
})
type Row = typeof Row.Type

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
  const limits = yield* Limits
  const keySets = yield* KeySets
  const row = maybe(Row)
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

  const bySecret = Effect.fnUntraced(function* (presented: PresentedSecret) {
    const found = yield* find(presented.agentId)
    const hash = Option.match(found, { onNone: () => nobodysHash, onSome: (agent) => agent.secret_hash })
    const matches = sameHash(sha256(presented.clientSecret), hash)
    return Option.isSome(found) && matches ? found.value : yield* unknown()
  })

  const keyOf = Effect.fnUntraced(function* (agent: Row, { header }: Assertion) {
    if (agent.public_key !== null) return Option.some(assertionKey(createPublicKey(agent.public_key)))
    if (agent.jwks_url === null || header.kid === undefined) return Option.none()
    return yield* keySets.find(agent.jwks_url, header.kid)
  })

  const byAssertion = Effect.fnUntraced(function* (presented: PresentedAssertion) {
    const read = readAssertion(presented.clientAssertion)
    if (Result.isFailure(read)) return yield* refused(`client_assertion ${read.failure}`)
    const assertion = read.success
    const found = yield* find(presented.agentId ?? assertion.claims.sub)
    if (Option.isNone(found)) return yield* unknown()
    const agent = found.value
    const now = (yield* Clock.currentTimeMillis) / 1000
    const fault = claimsFault(assertion.claims, { agentId: agent.id, audience, now })
    // No key set is fetched for what would be refused anyway; else the signature comes before the claims.
    if (fault !== undefined && agent.jwks_url !== null) return yield* refused(`client_assertion ${fault}`)
    const key = yield* keyOf(agent, assertion)
    const { header, signature, signed } = assertion
    const isSigned = Option.exists(
      key,
      ({ algorithm, verifies }) => algorithm === header.alg && verifies(signed, signature)
    )
    if (!isSigned) return yield* unknown()
    // Whoever gets here has the key, and may know what is wrong.
    if (fault !== undefined) return yield* refused(`client_assertion ${fault}`)
    return { agent, assertion }
  })

  const countingRefusals =
    (address: string) =>
    <A, E, R>(effect: Effect.Effect<A, E, R>) =>
      Effect.tapError(effect, (error) =>
        error instanceof InvalidClient ? limits.take("token_failures", address) : Effect.void
      )

  /** The insert decides; it waits for one of another replica that is under way. */
  const take = ({ agent, assertion: { claims } }: { readonly agent: Row; readonly assertion: Assertion }) =>
    orDefect(sql`
      insert into used_assertions (agent_id, jti, expires_at)
      values (${agent.id}::uuid, ${claims.jti}, ${at(DateTime.makeUnsafe((claims.exp + clockSkew) * 1000))})
      on conflict do nothing returning 1`).pipe(Effect.map((taken) => taken.length > 0))

  const proofBySecret = Effect.fnUntraced(function* (presented: PresentedSecret) {
    const agent = yield* bySecret(presented)
    const proof: Proof = { agentId: agent.id, epoch: agent.epoch, once: (work) => work }
    return { agent, proof }
  })

  const proofByAssertion = Effect.fnUntraced(function* (presented: PresentedAssertion) {
    const proven = yield* byAssertion(presented)
    const { agent } = proven
    const proof: Proof = {
      agentId: agent.id,
      epoch: agent.epoch,
      once: (work) =>
        Effect.gen(function* () {
          const isFirst = yield* take(proven)
          return isFirst ? Option.some(yield* Effect.result(work)) : Option.none()
        }).pipe(
          sql.withTransaction,
          orDefect,
          Effect.flatMap(Effect.fromOption),
          Effect.mapError(() => refused("client_assertion claim jti: The assertion was used before")),
          Effect.flatMap(Effect.fromResult),
          countingRefusals(presented.address)
        )
    }
    return { agent, proof }
  })

  const prove = Effect.fnUntraced(function* (
    presented: PresentedCredentials,
    isAllowed: (method: typeof AuthMethod.Type) => boolean
  ) {
    yield* limits.check("token_failures", presented.address)
    const proven = "clientSecret" in presented ? proofBySecret(presented) : proofByAssertion(presented)
    return yield* proven.pipe(
      Effect.filterOrFail(({ agent }) => isAllowed(agent.auth_method), unknown),
      Effect.map(({ proof }) => proof),
      countingRefusals(presented.address)
    )
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
    yield* run(sql`delete from used_assertions where expires_at < ${at(before)}`)
  }).pipe(Effect.withSpan("AgentCredentials.trim"))

  return AgentCredentials.of({ verify, proveForToken, trim })
})

export const layer = Layer.effect(AgentCredentials, make)
