/**
 * Public keys of agents: RSA (RS256) and EC P-256 (ES256), as PEM or JWK. Weak and malformed keys are rejected at registration as PEM,
 * and omitted from a key set.
 */
import { constants, createPublicKey, verify } from "node:crypto"
import type { KeyObject } from "node:crypto"
import { Option, Result, Schema } from "effect"
import type { AssertionKey } from "../../services/KeySets.ts"
import { parseStrictJson } from "../../services/domain/strictJson.ts"
import { InvalidRequest } from "../../services/domain/errors.ts"
import type { Registration } from "../../services/Registry.ts"
import { publicUrlFault } from "./publicUrl.ts"

const maxPem = 4096
const minModulus = 2048
/** A larger modulus only makes verification slow. */
const maxModulus = 8192
const minExponent = 65_537n
/** Verifiers commonly accept these exponents; OpenSSL accepts at most 64 bits with a large modulus. */
const maxExponent = 2n ** 32n

/** One block, SubjectPublicKeyInfo or PKCS #1, with only white space around it. The pattern excludes `-`, and so a second block. */
const onePem = /^\s*-----BEGIN ((?:RSA )?PUBLIC KEY)-----([A-Za-z0-9+/=\s]+)-----END \1-----\s*$/

/** Line breaks as two characters, which tools that write JSON or environment files by hand leave. */
const writtenLineBreak = /\\+[rn]/g

/** Frequent mistakes, each with the right form. */
const pemMistakes: ReadonlyArray<readonly [found: RegExp, message: string]> = [
  [
    /PRIVATE KEY-----|"d"\s*:/,
    "This is a private key, which others have seen now that it was sent: make a new pair, and send its public half"
  ],
  [
    /-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----/,
    "Expected a public key, got a certificate: openssl x509 -in FILE -noout -pubkey prints its key"
  ],
  [
    /^\s*(?:ssh-|ecdsa-sha2-)|-----BEGIN SSH2|---- BEGIN SSH2/,
    "Expected a PEM, got a key of SSH: ssh-keygen -e -m PKCS8 -f FILE prints it as one"
  ],
  [/-----BEGIN PGP/, "Expected a PEM of a public key, got a key of PGP"],
  [/^\s*\{/, "Expected a PEM, got JSON: publish a JWK in a key set, and send its address as jwks_url"],
  [/^\s*["']/, "Expected a PEM without quotes around it"],
  [/-----BEGIN[^]*-----BEGIN/, "Expected exactly one PEM block, got several"],
  [/^[A-Za-z0-9+/=\s]{64,}$/, "The lines -----BEGIN PUBLIC KEY----- and -----END PUBLIC KEY----- are missing"]
]

/** Partial validation of NIST SP 800-89 5.3.3: a modulus with a small factor is no product of two large primes. */
const hasSmallFactor = (modulus: bigint): boolean => {
  if (modulus % 2n === 0n) return true
  for (let divisor = 3n; divisor < 752n; divisor += 2n) if (modulus % divisor === 0n) return true
  return false
}

const Rsa = Schema.Struct({ kty: Schema.Literal("RSA"), n: Schema.String, e: Schema.String })
const P256 = Schema.Struct({
  kty: Schema.Literal("EC"),
  crv: Schema.Literal("P-256"),
  x: Schema.String,
  y: Schema.String
})
/** A point with a publicly known private key: 1 or -1. */
const generator = "axfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpY"

const asRsa = Schema.decodeUnknownOption(Rsa)
const asP256 = Schema.decodeUnknownOption(P256)
const asMaterial = Schema.decodeUnknownOption(Schema.Union([Rsa, P256]))

/** The fault of a key, if any. */
const weakness = (key: KeyObject): string | undefined => {
  const details = key.asymmetricKeyDetails ?? {}
  const { modulusLength = 0, namedCurve, publicExponent = 0n } = details
  if (key.asymmetricKeyType === "ec") {
    if (namedCurve !== "prime256v1") return "Expected an EC key on the curve P-256"
    const point = asP256(key.export({ format: "jwk" }))
    return Option.isNone(point) || point.value.x === generator
      ? "Expected an EC key that only its owner knows"
      : undefined
  }
  if (key.asymmetricKeyType !== "rsa") return "Expected an RSA or an EC P-256 key"
  if (modulusLength < minModulus || modulusLength > maxModulus)
    return `Expected an RSA key of ${minModulus} to ${maxModulus} bits, got ${modulusLength}`
  if (publicExponent < minExponent || publicExponent > maxExponent || publicExponent % 2n === 0n)
    return `Expected an RSA key with an odd public exponent from ${minExponent} to ${maxExponent}`
  const rsa = asRsa(key.export({ format: "jwk" }))
  return Option.isNone(rsa) ||
    hasSmallFactor(BigInt(`0x${Buffer.from(rsa.value.n, "base64url").toString("hex")}`))
    ? "Expected an RSA modulus without small factors"
    : undefined
}

/** OpenSSL's re-export of the key. The point at infinity, for example, fails only when its coordinates are read. */
const strong = (make: () => KeyObject): Result.Result<KeyObject, string> =>
  Result.try({
    try: () => {
      const key = make()
      return { key, problem: weakness(key) }
    },
    catch: () => "Expected a public key, which this is not"
  }).pipe(
    Result.flatMap(({ key, problem }) => (problem === undefined ? Result.succeed(key) : Result.fail(problem)))
  )

/** The canonical encoding: no explicit curve parameters, no compressed point, no bytes after it. */
const canonical = (key: KeyObject, type: "spki" | "pkcs1"): Buffer =>
  createPublicKey({ key: key.export({ format: "jwk" }), format: "jwk" }).export({ format: "der", type })

/** The key of a PEM, or a message with the right form. */
const fromPem = (sent: string): Result.Result<KeyObject, string> => {
  if (sent.length > maxPem) return Result.fail(`Expected a PEM of at most ${maxPem} characters`)
  const pem = sent.replaceAll(writtenLineBreak, "\n")
  const [, label, lines] = onePem.exec(pem) ?? []
  if (lines === undefined) {
    const [, message] = pemMistakes.find(([found]) => found.test(pem)) ?? []
    return Result.fail(
      message ??
        "Expected exactly one PEM block of a public key, from -----BEGIN PUBLIC KEY----- to -----END PUBLIC KEY-----"
    )
  }
  const base64 = lines.replaceAll(/\s/g, "")
  const der = Buffer.from(base64, "base64")
  const type = label === "PUBLIC KEY" ? "spki" : "pkcs1"
  const key = strong(() => createPublicKey({ key: der, format: "der", type }))
  return Result.flatMap(key, (key) =>
    der.toString("base64") === base64 && der.equals(canonical(key, type))
      ? Result.succeed(key)
      : Result.fail("Expected a public key in its canonical encoding (SubjectPublicKeyInfo or PKCS #1, DER)")
  )
}

/** A key with the one algorithm of its type. */
export const assertionKey = (key: KeyObject): AssertionKey =>
  key.asymmetricKeyType === "ec"
    ? {
        algorithm: "ES256",
        verifies: (signed, signature) =>
          verify("sha256", signed, { key, dsaEncoding: "ieee-p1363" }, signature)
      }
    : {
        algorithm: "RS256",
        verifies: (signed, signature) =>
          verify("sha256", signed, { key, padding: constants.RSA_PKCS1_PADDING }, signature)
      }

const maxKid = 256
const base64url = /^[\w-]+$/

const JwkHeader = Schema.Struct({
  kid: Schema.optionalKey(Schema.String.check(Schema.isBetweenCodePoints(1, maxKid))),
  use: Schema.optionalKey(Schema.Literal("sig")),
  key_ops: Schema.optionalKey(
    Schema.Array(Schema.String).check(Schema.makeFilter((uses) => uses.includes("verify")))
  ),
  alg: Schema.optionalKey(Schema.String)
})
const asHeader = Schema.decodeUnknownOption(JwkHeader)

/** Members of private and symmetric keys, which must not be published. */
const secretMembers = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"]

/** A JWK (RFC 7517), judged by its own members; none if it cannot verify assertions. */
const candidate = (jwk: object) => {
  if (secretMembers.some((name) => Object.hasOwn(jwk, name))) return Option.none()
  const { header, material } = { header: asHeader(jwk), material: asMaterial(jwk) }
  if (Option.isNone(header) || Option.isNone(material)) return Option.none()
  const numbers = Object.entries(material.value).filter(([name]) => name !== "kty" && name !== "crv")
  return numbers.every(([, value]) => base64url.test(value))
    ? Option.some({ header: header.value, material: material.value })
    : Option.none()
}

/** A key that an agent publishes, with its `kid` if it has one. */
export interface PublishedKey {
  readonly kid: string | undefined
  readonly key: AssertionKey
}

/** The keys of a key set that can verify assertions, and the number of unread keys. */
export interface KeySet {
  readonly keys: ReadonlyArray<PublishedKey>
  readonly unread: number
}

/** Computing with a key costs more than reading it, so only the first keys of a set are read. */
const maxKeys = 20

const KeySetDocument = Schema.Struct({ keys: Schema.Array(Schema.Record(Schema.String, Schema.Json)) })
const decode = Schema.decodeUnknownOption(KeySetDocument)

/**
 * The keys of a key set (RFC 7517 5) that can verify assertions; other keys are omitted, and a repeated key counts once. None if the
 * document is no key set.
 */
export const readKeySet = (document: Uint8Array): Option.Option<KeySet> =>
  Option.map(Option.flatMap(parseStrictJson(document), decode), (set) => {
    const candidates = set.keys.map(candidate).filter(Option.isSome)
    const different = new Map(
      candidates.map(({ value }) => [JSON.stringify([value.header.kid, value.material]), value])
    )
    const keys = [...different.values()].slice(0, maxKeys).flatMap(({ header, material }) => {
      const key = Result.map(
        strong(() => createPublicKey({ key: material, format: "jwk" })),
        assertionKey
      )
      return Result.isSuccess(key) && (header.alg === undefined || header.alg === key.success.algorithm)
        ? [{ kid: header.kid, key: key.success }]
        : []
    })
    return { keys, unread: Math.max(0, different.size - maxKeys) }
  })

interface RegisteredKey {
  readonly public_key: string | null
  readonly jwks_url: string | null
}

const wrong = (...errors: ReadonlyArray<{ readonly path: string; readonly message: string }>) =>
  Result.fail(
    new InvalidRequest({
      detail: errors.map(({ path, message }) => `${path}: ${message}`).join("; "),
      errors
    })
  )

/** The key in a registration: exactly one of `public_key` and `jwks_url`, or neither. */
export const registeredKey = (
  sent: Registration,
  allow: { readonly ownMachine: boolean }
): Result.Result<RegisteredKey, InvalidRequest> => {
  const { auth_method = "client_credentials", jwks_url, public_key } = sent
  const given = Object.entries({ public_key, jwks_url }).filter(([, value]) => value !== undefined)
  if (auth_method === "client_credentials") {
    const message = "Expected only with auth_method private_key_jwt"
    return given.length === 0
      ? Result.succeed({ public_key: null, jwks_url: null })
      : wrong(...given.map(([path]) => ({ path, message })))
  }
  if (given.length !== 1) {
    const message = "Expected exactly one of public_key and jwks_url with auth_method private_key_jwt"
    return wrong({ path: "public_key", message }, { path: "jwks_url", message })
  }
  if (public_key !== undefined) {
    const key = fromPem(public_key)
    return Result.isSuccess(key)
      ? // The key is always stored in one form, whatever white space it came with.
        Result.succeed({
          public_key: key.success.export({ format: "pem", type: "spki" }).toString(),
          jwks_url: null
        })
      : wrong({ path: "public_key", message: key.failure })
  }
  const url = jwks_url ?? ""
  const message = publicUrlFault(url, allow)
  return message === undefined
    ? Result.succeed({ public_key: null, jwks_url: url })
    : wrong({ path: "jwks_url", message })
}
