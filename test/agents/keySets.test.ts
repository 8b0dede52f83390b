/** Key sets in memory: when they are fetched, how often at most, and which of their keys count. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Option, Result } from "effect"
import { TestClock } from "effect/testing"
import { FetchFailed } from "../../src/layers/keys/fetchDocument.ts"
import { readKeySet } from "../../src/layers/keys/publicKeys.ts"
import { make } from "../../src/layers/keys/KeySets.ts"
import type { Source } from "../../src/layers/keys/KeySets.ts"
import { ecPair, rsaPair } from "../support/assertions.ts"
import { publicJwk } from "../support/hostileAssertions.ts"
import { settings } from "../support/settings.ts"

const url = "https://keys.example.com/jwks"
const rsa = rsaPair()
const ec = ecPair()
const bytes = (value: unknown) =>
  new TextEncoder().encode(typeof value === "string" ? value : JSON.stringify(value))
const setOf = (...kids: ReadonlyArray<string>) => bytes({ keys: kids.map((kid) => publicJwk(ec, { kid })) })
const awhile = TestClock.adjust("20000 days")

/** A place that publishes what it is given, and counts who asks. */
const publisher = () => {
  const state: { document: Uint8Array | undefined; asked: number } = { document: setOf("a"), asked: 0 }
  const fetch = () =>
    Effect.suspend(() => {
      state.asked += 1
      return state.document === undefined
        ? Effect.fail(new FetchFailed({ reason: "away" }))
        : Effect.succeed(state.document)
    })
  return { state, fetch }
}

/** Key sets of places that are at these addresses; each at one of its own unless said. */
const keySets = (fetchAt: Source["fetchAt"], addressOf?: (url: URL) => string) => {
  const addresses = new Map<string, string>()
  const own = ({ hostname }: URL) => {
    const known = addresses.get(hostname) ?? `198.51.100.${addresses.size}`
    addresses.set(hostname, known)
    return known
  }
  return make({
    addressesOf: (url) => Effect.succeed([{ address: (addressOf ?? own)(url), family: 4 }]),
    fetchAt
  })
}

describe("Key sets", () => {
  it.effect("are kept for five minutes, then fetched again", () =>
    Effect.gen(function* () {
      yield* awhile
      const { fetch, state } = publisher()
      const { find } = yield* keySets(fetch)
      for (let count = 0; count < 3; count++) assert.isTrue(Option.isSome(yield* find(url, "a")))
      yield* TestClock.adjust("299 seconds")
      assert.isTrue(Option.isSome(yield* find(url, "a")))
      assert.strictEqual(state.asked, 1)
      state.document = setOf("b")
      yield* TestClock.adjust("1 second")
      assert.isTrue(Option.isNone(yield* find(url, "a")))
      assert.isTrue(Option.isSome(yield* find(url, "b")))
      assert.strictEqual(state.asked, 2)
    }).pipe(Effect.provide(settings()))
  )

  it.effect("are fetched once for a kid that is not known, not more often than once a minute", () =>
    Effect.gen(function* () {
      yield* awhile
      const { fetch, state } = publisher()
      const { find } = yield* keySets(fetch)
      yield* find(url, "a")
      state.document = setOf("a", "b")
      assert.isTrue(Option.isNone(yield* find(url, "b")))
      assert.strictEqual(state.asked, 1)
      yield* TestClock.adjust("60 seconds")
      assert.isTrue(Option.isSome(yield* find(url, "b")))
      for (let count = 0; count < 10; count++)
        assert.isTrue(Option.isNone(yield* find(url, `unknown ${count}`)))
      assert.strictEqual(state.asked, 2)
      yield* TestClock.adjust("60 seconds")
      yield* find(url, "unknown")
      assert.strictEqual(state.asked, 3)
    }).pipe(Effect.provide(settings()))
  )

  it.effect("are good for a day when they cannot be fetched again", () =>
    Effect.gen(function* () {
      yield* awhile
      const { fetch, state } = publisher()
      const { find } = yield* keySets(fetch)
      yield* find(url, "a")
      state.document = undefined
      yield* TestClock.adjust("23 hours")
      assert.isTrue(Option.isSome(yield* find(url, "a")))
      assert.strictEqual(state.asked, 2)
      yield* TestClock.adjust("1 hour")
      assert.isTrue(Option.isNone(yield* find(url, "a")))
      // Once they are back, so are the keys: after the minute that an attempt costs.
      state.document = setOf("a")
      assert.isTrue(Option.isNone(yield* find(url, "a")))
      yield* TestClock.adjust("1 minute")
      assert.isTrue(Option.isSome(yield* find(url, "a")))
    }).pipe(Effect.provide(settings()))
  )

  it.effect("are not changed by what is no key set", () =>
    Effect.gen(function* () {
      yield* awhile
      const { fetch, state } = publisher()
      const { find } = yield* keySets(fetch)
      yield* find(url, "a")
      state.document = bytes("<html>")
      yield* TestClock.adjust("6 minutes")
      assert.isTrue(Option.isSome(yield* find(url, "a")))
    }).pipe(Effect.provide(settings()))
  )

  it.effect("are fetched once for all who wait for them, also when the first of those hangs up", () =>
    Effect.gen(function* () {
      yield* awhile
      const gate = yield* Deferred.make<void>()
      let asked = 0
      const { find } = yield* keySets(() =>
        Effect.suspend(() => {
          asked += 1
          return Effect.as(Deferred.await(gate), setOf("a"))
        })
      )
      const first = yield* Effect.forkChild(find(url, "a"), { startImmediately: true })
      const others = yield* Effect.forEach(Array.from({ length: 50 }), () =>
        Effect.forkChild(find(url, "a"), { startImmediately: true })
      )
      yield* Fiber.interrupt(first)
      yield* Deferred.succeed(gate, undefined)
      for (const fiber of others) assert.isTrue(Option.isSome(yield* Fiber.join(fiber)))
      assert.strictEqual(asked, 1)
    }).pipe(Effect.provide(settings()))
  )

  it.effect("are fetched 64 at once; who has to wait longer than 5 s is asked to come again", () =>
    Effect.gen(function* () {
      yield* awhile
      let asked = 0
      const { find } = yield* keySets(() =>
        Effect.suspend(() => {
          asked += 1
          return Effect.never
        })
      )
      const waiting = yield* Effect.forEach(Array.from({ length: 100 }), (_, index) =>
        Effect.forkChild(Effect.result(find(`https://keys${index}.example.com/jwks`, "a")), {
          startImmediately: true
        })
      )
      yield* TestClock.adjust("4 seconds")
      assert.strictEqual(asked, 64)
      yield* TestClock.adjust("1 second")
      for (const fiber of waiting) {
        const result = yield* Fiber.join(fiber)
        assert.isTrue(Result.isFailure(result) && result.failure.retry_after === 5)
      }
      assert.strictEqual(asked, 64)
    }).pipe(Effect.provide(settings()))
  )

  it.effect.each([
    ["one host", 2, (index: number) => `${url}/${index}`, () => "198.51.100.1"],
    ["one address", 8, (index: number) => `https://keys${index}.example.com/jwks`, () => "198.51.100.1"],
    [
      "one network of IPv6",
      8,
      (index: number) => `https://keys${index}.example.com/jwks`,
      ({ hostname }: URL) => `2606:4700:1:1::${hostname.replaceAll(/\D/g, "")}`
    ]
  ] as const)(
    "of %s that hangs are fetched %i at a time, and others' meanwhile",
    ([, most, urlOf, hanging]) =>
      Effect.gen(function* () {
        yield* awhile
        const other = "https://other.example.org/jwks"
        let hung = 0
        const { find } = yield* keySets(
          ({ href }) =>
            Effect.suspend(() => {
              if (href === other) return Effect.succeed(setOf("a"))
              hung += 1
              return Effect.never
            }),
          (place) => (place.href === other ? "203.0.114.1" : hanging(place))
        )
        for (let index = 0; index < 200; index++) {
          yield* Effect.forkChild(Effect.result(find(urlOf(index), "a")), { startImmediately: true })
        }
        assert.isTrue(Option.isSome(yield* find(other, "a")))
        assert.strictEqual(hung, most)
      }).pipe(Effect.provide(settings()))
  )

  it.effect("are not fetched from a place that is not allowed, whatever was registered", () =>
    Effect.gen(function* () {
      yield* awhile
      const { fetch, state } = publisher()
      const { find } = yield* keySets(fetch)
      assert.isTrue(Option.isNone(yield* find("http://127.0.0.1:4000/jwks", "a")))
      assert.strictEqual(state.asked, 0)
    }).pipe(Effect.provide(settings({ AUSPEX_HOST: "0.0.0.0", AUSPEX_BASE_URL: "https://auspex.example" })))
  )
})

describe("A key set", () => {
  const kids = (document: Uint8Array) => Option.map(readKeySet(document), (keys) => [...keys.keys()])

  it("has the RSA and P-256 keys that are for signatures, by their kid", () => {
    const document = bytes({
      keys: [
        publicJwk(rsa, { kid: "rsa" }),
        publicJwk(rsa, { kid: "rsa sig", use: "sig", alg: "RS256", key_ops: ["verify"], x5t: "x" }),
        publicJwk(ec, { kid: "ec", alg: "ES256" })
      ],
      more: true
    })
    assert.deepStrictEqual(kids(document), Option.some(["rsa", "rsa sig", "ec"]))
  })

  it("leaves out every other key", () => {
    const privateJwk = { ...rsa.privateKey.export({ format: "jwk" }), kid: "private" }
    const weak = rsaPair(1024)
    for (const key of [
      privateJwk,
      { ...ec.privateKey.export({ format: "jwk" }), kid: "private" },
      publicJwk(rsa),
      publicJwk(rsa, { kid: "" }),
      publicJwk(rsa, { kid: 5 }),
      publicJwk(rsa, { kid: "x".repeat(257) }),
      publicJwk(rsa, { kid: "x", use: "enc" }),
      publicJwk(rsa, { kid: "x", use: null }),
      publicJwk(rsa, { kid: "x", key_ops: ["encrypt"] }),
      publicJwk(rsa, { kid: "x", key_ops: "verify" }),
      publicJwk(rsa, { kid: "x", alg: "PS256" }),
      publicJwk(rsa, { kid: "x", alg: "ES256" }),
      publicJwk(rsa, { kid: "x", alg: "none" }),
      publicJwk(rsa, { kid: "x", n: `${String(publicJwk(rsa)["n"])}=` }),
      publicJwk(rsa, { kid: "x", n: "AQAB" }),
      publicJwk(rsa, { kid: "x", e: "AQ" }),
      publicJwk(rsa, { kid: "x", kty: "oct", k: "AAAA" }),
      publicJwk(rsa, { kid: "x", k: "AAAA" }),
      publicJwk(ec, { kid: "x", crv: "P-384" }),
      publicJwk(ec, { kid: "x", y: publicJwk(ec)["x"] }),
      publicJwk(ec, { kid: "x", x: "AA" }),
      publicJwk(ec, { kid: "x", kty: "OKP", crv: "Ed25519" }),
      publicJwk(weak, { kid: "weak" })
    ]) {
      assert.deepStrictEqual(kids(bytes({ keys: [key] })), Option.some([]), JSON.stringify(key))
    }
  })

  it("of two keys with one kid has neither", () => {
    const twice = {
      keys: [publicJwk(rsa, { kid: "x" }), publicJwk(ec, { kid: "x" }), publicJwk(ec, { kid: "y" })]
    }
    assert.deepStrictEqual(kids(bytes(twice)), Option.some(["y"]))
  })

  it("is a JSON object with at most 20 keys, and nothing else", () => {
    const key = publicJwk(ec, { kid: "x" })
    const many = (count: number) => ({
      keys: Array.from({ length: count }, (_, index) => ({ ...key, kid: String(index) }))
    })
    assert.strictEqual(Option.getOrThrow(kids(bytes(many(20)))).length, 20)
    for (const document of [
      many(21),
      {},
      { keys: null },
      { keys: {} },
      { keys: [null] },
      { keys: ["x"] },
      [key],
      null,
      "",
      "nonsense",
      `{"keys":[],"keys":[${JSON.stringify(key)}]}`,
      `\ufeff{"keys":[]}`,
      `{"keys":[${"[".repeat(100)}${"]".repeat(100)}]}`,
      `{"__proto__":{},"keys":[]}`
    ]) {
      assert.deepStrictEqual(kids(bytes(document)), Option.none(), JSON.stringify(document)?.slice(0, 60))
    }
    assert.deepStrictEqual(kids(new Uint8Array([0x7b, 0xff, 0x7d])), Option.none())
  })
})
