/** A change of the token secret: what was signed before is good for as long as tokens live. */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Duration, Effect, Option, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { SignJWT } from "jose"
import * as tokenKeys from "../../src/layers/tokenKeys.ts"

const secrets = { old: "o".repeat(32), new: "n".repeat(32), other: "x".repeat(32) }

const keysOf = (current: string, previous?: string) =>
  tokenKeys.make({
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

describe("The keys of tokens", () => {
  it.effect("the previous one verifies for 60 minutes after the start, and never signs", () =>
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

  it.effect("without a previous one, and with another, what was signed before is not ours", () =>
    Effect.gen(function* () {
      const held = yield* signedBy(yield* keysOf(secrets.old))
      assert.isFalse(yield* verifiedBy(yield* keysOf(secrets.new), held))
      assert.isFalse(yield* verifiedBy(yield* keysOf(secrets.new, secrets.other), held))
    })
  )

  it.effect("a kid does not make a key: one key's kid over another's signature is refused", () =>
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
