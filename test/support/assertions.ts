/** Client assertions, right and wrong: they are signed by hand, so that every bit can be wrong. */
import { constants, generateKeyPairSync, randomUUID, sign } from "node:crypto"
import type { KeyObject } from "node:crypto"
import { Clock, Effect, Schema } from "effect"
import { Settings } from "../../src/services/Settings.ts"
import { IssuedToken, tokenPath } from "../../src/services/Tokens.ts"
import { pass, register } from "./agents.ts"
import { post } from "./requests.ts"

export const assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

export interface KeyPair {
  readonly alg: "RS256" | "ES256"
  readonly publicKey: KeyObject
  readonly privateKey: KeyObject
  readonly pem: string
}

const pairOf = (
  alg: KeyPair["alg"],
  { privateKey, publicKey }: { readonly privateKey: KeyObject; readonly publicKey: KeyObject }
): KeyPair => ({
  alg,
  privateKey,
  publicKey,
  pem: publicKey.export({ format: "pem", type: "spki" }).toString()
})

export const rsaPair = (bits = 2048) => pairOf("RS256", generateKeyPairSync("rsa", { modulusLength: bits }))
export const ecPair = () => pairOf("ES256", generateKeyPairSync("ec", { namedCurve: "P-256" }))

export const base64url = (value: string | Uint8Array): string => Buffer.from(value).toString("base64url")

/** The signature of a text by this algorithm. */
export const signatureOf = (alg: KeyPair["alg"], key: KeyObject, text: string): Buffer =>
  alg === "ES256"
    ? sign("sha256", Buffer.from(text), { key, dsaEncoding: "ieee-p1363" })
    : sign("sha256", Buffer.from(text), { key, padding: constants.RSA_PKCS1_PADDING })

/** A signed JWS of exactly these texts (or bytes). */
export const signed = (
  pair: Pick<KeyPair, "alg" | "privateKey">,
  header: string | Uint8Array,
  payload: string | Uint8Array
): string => {
  const text = `${base64url(header)}.${base64url(payload)}`
  return `${text}.${base64url(signatureOf(pair.alg, pair.privateKey, text))}`
}

/** Changes of members: `undefined` leaves one out. */
export type Changes = Readonly<Record<string, unknown>>

/** The claims of a right assertion at this moment. */
export const rightClaims = Effect.fnUntraced(function* (agentId: string) {
  const { baseUrl } = yield* Settings
  const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
  return {
    iss: agentId,
    sub: agentId,
    aud: baseUrl + tokenPath,
    iat: now,
    exp: now + 60,
    jti: randomUUID()
  }
})

/** An assertion that is right except for the changes. */
export const assertionOf = Effect.fnUntraced(function* (
  agentId: string,
  pair: KeyPair,
  changes: { readonly header?: Changes; readonly claims?: Changes } = {}
) {
  const header = { alg: pair.alg, typ: "JWT", ...changes.header }
  const claims = { ...(yield* rightClaims(agentId)), ...changes.claims }
  return signed(pair, JSON.stringify(header), JSON.stringify(claims))
})

/** Asks for a token as the interface describes it; `changes` apply to the parameters. */
export const askByAssertion = (agentId: string | undefined, assertion: string, changes: Changes = {}) =>
  post(tokenPath, {
    json: {
      grant_type: "client_credentials",
      agent_id: agentId,
      client_assertion_type: assertionType,
      client_assertion: assertion,
      ...changes
    }
  })

/** An agent with a key of its own, that has passed its challenge. */
export const onboardWithKey = Effect.fnUntraced(function* (pair: KeyPair) {
  const registered = yield* register({ auth_method: "private_key_jwt", public_key: pair.pem })
  yield* pass(registered)
  return { agentId: registered.agent_id, secret: registered.client_secret, pair }
})

/** A token that must be issued for an assertion. */
export const issueByAssertion = Effect.fnUntraced(function* (agentId: string, assertion: string) {
  const { json } = yield* askByAssertion(agentId, assertion)
  return yield* Effect.orDie(Schema.decodeUnknownEffect(IssuedToken)(json))
})
