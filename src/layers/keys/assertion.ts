/**
 * Client assertions (RFC 7523, RFC 8725): their shape is checked first, and their claims after the signature is verified. `Tokens` checks
 * last that an assertion is used only once.
 */
import { Option, Predicate, Result, Schema, SchemaIssue } from "effect"
import { assertionAlgorithms } from "../../services/KeySets.ts"
import { parseStrictJson } from "../../services/domain/strictJson.ts"

const maxAssertion = 8192
const shape = /^([\w-]+)\.([\w-]+)\.([\w-]+)$/

/** Tolerated clock skew in seconds. */
export const clockSkew = 30
/** The maximum seconds from `iat` to `exp`. */
const maxLife = 60

/** Types are case-insensitive, with or without "application/" (RFC 7515 4.1.9); the second is of rfc7523bis. */
const ownTypes: ReadonlySet<string> = new Set(["jwt", "client-authentication+jwt"])
const isOwnType = (type: string) => ownTypes.has(type.toLowerCase().replace(/^application\//, ""))

/** Members that change the meaning of the rest, or name a key that the agent did not register (RFC 7515 4.1, 7516, 7797). */
const refusedMembers = ["crit", "b64", "zip", "enc", "jwk", "jku", "x5u", "x5c", "cty"]

/** Unknown members are ignored (RFC 7515 4). */
const Header = Schema.Struct({
  alg: Schema.Literals(assertionAlgorithms),
  typ: Schema.optionalKey(
    Schema.String.check(
      Schema.makeFilter((type: string) =>
        isOwnType(type) ? undefined : "Expected JWT or client-authentication+jwt"
      )
    )
  ),
  kid: Schema.optionalKey(Schema.String.check(Schema.isBetweenCodePoints(1, 256)))
})

const refusedIn = (header: unknown): string | undefined =>
  Predicate.isObject(header) ? refusedMembers.find((name) => Object.hasOwn(header, name)) : undefined

// oxlint-disable-next-line no-control-regex -- naming control characters is the purpose
const control = /[\u0000-\u001f\u007f-\u009f]/

const Jti = Schema.String.check(
  Schema.isBetweenCodePoints(1, 128),
  Schema.makeFilter((jti: string) =>
    jti.isWellFormed() && !control.test(jti)
      ? undefined
      : "Expected well-formed text without control characters"
  )
)

/** The claims; unknown ones are ignored. */
const Claims = Schema.Struct({
  iss: Schema.String,
  sub: Schema.String,
  aud: Schema.String,
  iat: Schema.Int,
  exp: Schema.Int,
  nbf: Schema.optionalKey(Schema.Int),
  jti: Jti
})
type Claims = typeof Claims.Type

export interface Assertion {
  readonly header: typeof Header.Type
  readonly claims: Claims
  readonly signed: Uint8Array
  readonly signature: Uint8Array
}

const formatted = SchemaIssue.makeFormatterStandardSchemaV1()

/** The name of the first wrong member, never its value. */
const faultOf =
  (where: string) =>
  (error: Schema.SchemaError): string => {
    const [issue] = formatted(error.issue).issues
    const path = (issue?.path ?? [])
      .map((part) => String(typeof part === "object" ? part.key : part))
      .join(".")
    return `${where}${path === "" ? "" : ` ${path.slice(0, 100)}`}: ${(issue?.message ?? "malformed").slice(0, 300)}`
  }

const decodeHeader = Schema.decodeUnknownResult(Header)
const decodeClaims = Schema.decodeUnknownResult(Claims)

/** Decodes strict base64url: each value has one text, without padding or stray bits. */
const bytesOf = (part: string): Option.Option<Buffer> => {
  const bytes = Buffer.from(part, "base64url")
  return bytes.toString("base64url") === part ? Option.some(bytes) : Option.none()
}

const jsonOf = (part: string): unknown =>
  Option.getOrUndefined(Option.flatMap(bytesOf(part), parseStrictJson))

const headerOf = (part: string): Result.Result<typeof Header.Type, string> => {
  const sent = jsonOf(part)
  const refused = refusedIn(sent)
  return refused === undefined
    ? Result.mapError(decodeHeader(sent), faultOf("header"))
    : Result.fail(`header ${refused}: Expected no such member`)
}

/** Parses an assertion, or fails with the fault of its shape. It verifies nothing. */
export const readAssertion = (text: string): Result.Result<Assertion, string> => {
  const [, header = "", claims = "", signature = ""] =
    (text.length > maxAssertion ? null : shape.exec(text)) ?? []
  const signatureBytes = bytesOf(signature)
  if (header === "" || Option.isNone(signatureBytes)) {
    return Result.fail(
      `Expected a JWS in compact serialization, base64url without padding, of at most ${maxAssertion} characters`
    )
  }
  return Result.all({
    header: headerOf(header),
    claims: Result.mapError(decodeClaims(jsonOf(claims)), faultOf("claim")),
    signed: Result.succeed(Buffer.from(`${header}.${claims}`, "latin1")),
    signature: Result.succeed(signatureBytes.value)
  })
}

/** The fault of the claims, if any. `now` is in seconds; the bounds are those of the interface, with skew. */
export const claimsFault = (
  { aud, exp, iat, iss, nbf, sub }: Claims,
  expected: { readonly agentId: string; readonly audience: string; readonly now: number }
): string | undefined => {
  const { agentId, audience, now } = expected
  if (iss !== agentId || sub !== agentId) return "claims iss and sub: Expected both to be the agent_id"
  if (aud !== audience) return `claim aud: Expected exactly ${audience}`
  if (exp <= iat || exp > iat + maxLife) return `claim exp: Expected 1 to ${maxLife} seconds after iat`
  if (exp <= now - clockSkew) return "claim exp: The assertion has expired"
  if (exp > now + maxLife + clockSkew) return `claim exp: Expected at most ${maxLife} seconds from now`
  if (iat > now + clockSkew) return "claim iat: The assertion is from the future"
  if (iat < now - maxLife - clockSkew) return `claim iat: Expected at most ${maxLife} seconds ago`
  if (nbf !== undefined && nbf > now + clockSkew) return "claim nbf: The assertion is not valid yet"
  return undefined
}
