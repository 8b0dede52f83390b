/** The verification of access tokens agrees with `jose`, on good tokens and on altered ones. */
import { createHmac } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Duration, Effect, Option, Redacted, Schema } from "effect"
import { TestClock } from "effect/testing"
import { SignJWT, jwtVerify } from "jose"
import { headerOf, make, verifier } from "../../src/layers/crypto/accessTokens.ts"

const key = new TextEncoder().encode("a-secret-of-32-bytes-or-more-0123456789")
const verify = verifier(key)

const signed = (claims: Record<string, unknown>, header: object = headerOf(key), by: Uint8Array = key) =>
  new SignJWT(claims).setProtectedHeader({ alg: "HS256", ...header }).sign(by)

/** The claims that jose finds in a token that never expires. */
const verifiedByJose = (token: string): Promise<unknown> =>
  jwtVerify(token, key, { algorithms: ["HS256"] }).then(
    ({ payload }) => payload,
    () => undefined
  )

const Claims = Schema.Struct({ sub: Schema.String, scope: Schema.String, epoch: Schema.Int })

describe("The verification of access tokens", () => {
  it.effect.prop("A signed token gives its claims, as with jose", [Claims], ([payload]) =>
    Effect.promise(async () => {
      const token = await signed(payload)
      const sent: unknown = JSON.parse(JSON.stringify(payload))
      assert.deepStrictEqual(verify(token), sent)
      assert.deepStrictEqual(await verifiedByJose(token), sent)
    })
  )

  it.effect.prop(
    "A token with one altered character is refused, as with jose or more strictly",
    [
      Claims,
      Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 100_000 })),
      Schema.Literals(["A", "b", "Z", "0", "9", "-", "_", ".", "=", "+", " "])
    ],
    ([payload, at, other]) =>
      Effect.promise(async () => {
        const token = await signed(payload)
        const index = at % token.length
        const altered = `${token.slice(0, index)}${other}${token.slice(index + 1)}`
        if (altered === token) return
        assert.isUndefined(verify(altered))
        // jose takes all four texts that the last character of a signature has for one signature.
        if (index < token.length - 1) assert.isUndefined(await verifiedByJose(altered))
      })
  )

  it.effect.each([
    { name: "without kid and typ", header: { kid: undefined, typ: undefined }, accepted: true },
    { name: "with another kid", header: { kid: "another" }, accepted: true },
    { name: "with an extension that must be understood", header: { crit: ["exp"], exp: 1 }, accepted: false }
  ])("The verification agrees with jose on a header $name", ({ header, accepted }) =>
    Effect.promise(async () => {
      // jose would refuse to sign the last one.
      const head = Buffer.from(JSON.stringify({ ...headerOf(key), ...header })).toString("base64url")
      const body = Buffer.from(JSON.stringify({ sub: "x" })).toString("base64url")
      const token = `${head}.${body}.${createHmac("sha256", key).update(`${head}.${body}`).digest("base64url")}`
      assert.deepStrictEqual(verify(token), accepted ? { sub: "x" } : undefined)
      assert.deepStrictEqual(await verifiedByJose(token), accepted ? { sub: "x" } : undefined)
    })
  )

  it.effect("Another key, another algorithm, more parts, and none are refused", () =>
    Effect.promise(async () => {
      const other = new TextEncoder().encode("another-secret-of-32-bytes-0123456789")
      const token = await signed({ sub: "x" })
      const long = new Uint8Array(64).fill(7)
      for (const bad of [
        await signed({ sub: "x" }, headerOf(other), other),
        await signed({ sub: "x" }, { alg: "HS512" }, long),
        `${token}.`,
        `${token}.${token}`,
        `.${token}`,
        token.split(".").slice(0, 2).join("."),
        `${token.split(".").slice(0, 2).join(".")}.`,
        "..",
        ""
      ]) {
        assert.isUndefined(verify(bad), bad)
        assert.isUndefined(await verifiedByJose(bad), bad)
      }
    })
  )
})

const secrets = { old: "o".repeat(32), new: "n".repeat(32), other: "x".repeat(32) }

const keysOf = (current: string, previous?: string) =>
  make({
    tokenSecret: Redacted.make(current),
    tokenSecretPrevious: Option.map(Option.fromUndefinedOr(previous), (text) => Redacted.make(text)),
    tokenTtl: Duration.minutes(60)
  })

const signedBy = (keys: {
  readonly key: Uint8Array
  readonly header: { alg: string; kid: string; typ: string }
}) => Effect.promise(() => new SignJWT({ sub: "ada" }).setProtectedHeader(keys.header).sign(keys.key))

const verifiedBy = Effect.fnUntraced(function* (
  keys: { readonly verify: (token: string, now: number) => unknown },
  token: string
) {
  return keys.verify(token, yield* Clock.currentTimeMillis) !== undefined
})

describe("A change of the token secret", () => {
  it.effect("The previous token secret verifies for 60 minutes after the start, and never signs", () =>
    Effect.gen(function* () {
      const before = yield* keysOf(secrets.old)
      const held = yield* signedBy(before)
      const after = yield* keysOf(secrets.new, secrets.old)
      assert.notStrictEqual(after.header.kid, before.header.kid)
      yield* TestClock.adjust("59 minutes")
      yield* TestClock.adjust("59 seconds")
      assert.isTrue(yield* verifiedBy(after, held))
      const fresh = yield* signedBy(after)
      assert.isTrue(yield* verifiedBy(after, fresh))
      assert.isFalse(yield* verifiedBy(before, fresh))
      yield* TestClock.adjust("1 second")
      assert.isFalse(yield* verifiedBy(after, held))
      assert.isTrue(yield* verifiedBy(after, fresh))
    })
  )

  it.effect("Without the right previous secret, tokens signed before a change are not ours", () =>
    Effect.gen(function* () {
      const held = yield* signedBy(yield* keysOf(secrets.old))
      assert.isFalse(yield* verifiedBy(yield* keysOf(secrets.new), held))
      assert.isFalse(yield* verifiedBy(yield* keysOf(secrets.new, secrets.other), held))
    })
  )

  it.effect("A kid chooses no key: one key's kid over another's signature is refused", () =>
    Effect.gen(function* () {
      const [old, fresh, other] = [
        yield* keysOf(secrets.old),
        yield* keysOf(secrets.new, secrets.old),
        yield* keysOf(secrets.other)
      ]
      for (const [header, key] of [
        [old.header, fresh.key],
        [fresh.header, old.key],
        [old.header, other.key],
        [fresh.header, other.key]
      ] as const) {
        assert.isFalse(yield* verifiedBy(fresh, yield* signedBy({ header, key })))
      }
    })
  )
})
