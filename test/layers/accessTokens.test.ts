/** Our verification of access tokens says what `jose` says, of good tokens and of altered ones. */
import { createHmac } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { SignJWT, jwtVerify } from "jose"
import { headerOf, verifier } from "../../src/layers/accessTokens.ts"

const key = new TextEncoder().encode("a-secret-of-32-bytes-or-more-0123456789")
const verify = verifier(key)

const signed = (claims: Record<string, unknown>, header: object = headerOf(key), by: Uint8Array = key) =>
  new SignJWT(claims).setProtectedHeader({ alg: "HS256", ...header }).sign(by)

/** What jose makes of a token that never expires. */
const verifiedByJose = (token: string): Promise<unknown> =>
  jwtVerify(token, key, { algorithms: ["HS256"] }).then(
    ({ payload }) => payload,
    () => undefined
  )

const Claims = Schema.Struct({ sub: Schema.String, scope: Schema.String, epoch: Schema.Int })

describe("accessTokens", () => {
  it.effect.prop("a signed token verifies to its claims, as with jose", [Claims], ([payload]) =>
    Effect.promise(async () => {
      const token = await signed(payload)
      const sent: unknown = JSON.parse(JSON.stringify(payload))
      assert.deepStrictEqual(verify(token), sent)
      assert.deepStrictEqual(await verifiedByJose(token), sent)
    })
  )

  it.effect.prop(
    "one altered character is refused, wherever it is, as with jose or more strictly",
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
  ])("a header $name", ({ header, accepted }) =>
    Effect.promise(async () => {
      // jose would refuse to sign the last one.
      const head = Buffer.from(JSON.stringify({ ...headerOf(key), ...header })).toString("base64url")
      const body = Buffer.from(JSON.stringify({ sub: "x" })).toString("base64url")
      const token = `${head}.${body}.${createHmac("sha256", key).update(`${head}.${body}`).digest("base64url")}`
      assert.deepStrictEqual(verify(token), accepted ? { sub: "x" } : undefined)
      assert.deepStrictEqual(await verifiedByJose(token), accepted ? { sub: "x" } : undefined)
    })
  )

  it.effect("another key, another algorithm, more parts or none are refused", () =>
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
