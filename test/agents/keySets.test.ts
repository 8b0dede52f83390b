/** Key sets in memory: when and how often they are fetched, and which of their keys count. */
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
const wanted = (kid: string) => ({ algorithm: "ES256" as const, kid })
const setOf = (...kids: ReadonlyArray<string>) => bytes({ keys: kids.map((kid) => publicJwk(ec, { kid })) })
const awhile = TestClock.adjust("20000 days")

/** A place that publishes this document, and counts requests. */
const publisher = () => {
  const state: { document: Uint8Array | undefined; fetches: number } = { document: setOf("a"), fetches: 0 }
  const fetch = () =>
    Effect.suspend(() => {
      state.fetches += 1
      return state.document === undefined
        ? Effect.fail(new FetchFailed({ reason: "away" }))
        : Effect.succeed(state.document)
    })
  return { state, fetch }
}

/** Key sets of places at these addresses, by default each at one of its own. */
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
  it.effect("Key sets are kept for five minutes, then fetched again", () =>
    Effect.gen(function* () {
      yield* awhile
      const { fetch, state } = publisher()
      const { find } = yield* keySets(fetch)
      for (let count = 0; count < 3; count++) assert.isTrue(Option.isSome(yield* find(url, wanted("a"))))
      yield* TestClock.adjust("299 seconds")
      assert.isTrue(Option.isSome(yield* find(url, wanted("a"))))
      assert.strictEqual(state.fetches, 1)
      state.document = setOf("b")
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Effect.flip(find(url, wanted("a"))))._tag, "NoSuchKey")
      assert.isTrue(Option.isSome(yield* find(url, wanted("b"))))
      assert.strictEqual(state.fetches, 2)
    }).pipe(Effect.provide(settings()))
  )

  it.effect("Key sets are fetched once for an unknown kid, not more often than once a minute", () =>
    Effect.gen(function* () {
      yield* awhile
      const { fetch, state } = publisher()
      const { find } = yield* keySets(fetch)
      yield* find(url, wanted("a"))
      state.document = setOf("a", "b")
      assert.strictEqual((yield* Effect.flip(find(url, wanted("b"))))._tag, "NoSuchKey")
      assert.strictEqual(state.fetches, 1)
      yield* TestClock.adjust("60 seconds")
      assert.isTrue(Option.isSome(yield* find(url, wanted("b"))))
      for (let count = 0; count < 10; count++)
        assert.strictEqual((yield* Effect.flip(find(url, wanted(`unknown ${count}`))))._tag, "NoSuchKey")
      assert.strictEqual(state.fetches, 2)
      yield* TestClock.adjust("60 seconds")
      yield* Effect.flip(find(url, wanted("unknown")))
      assert.strictEqual(state.fetches, 3)
    }).pipe(Effect.provide(settings()))
  )

  it.effect("Key sets are good for a day when they cannot be fetched again", () =>
    Effect.gen(function* () {
      yield* awhile
      const { fetch, state } = publisher()
      const { find } = yield* keySets(fetch)
      yield* find(url, wanted("a"))
      state.document = undefined
      yield* TestClock.adjust("23 hours")
      assert.isTrue(Option.isSome(yield* find(url, wanted("a"))))
      assert.strictEqual(state.fetches, 2)
      yield* TestClock.adjust("1 hour")
      assert.isTrue(Option.isNone(yield* find(url, wanted("a"))))
      // Once the place is back, so are the keys: after the minute that an attempt costs.
      state.document = setOf("a")
      assert.isTrue(Option.isNone(yield* find(url, wanted("a"))))
      yield* TestClock.adjust("1 minute")
      assert.isTrue(Option.isSome(yield* find(url, wanted("a"))))
    }).pipe(Effect.provide(settings()))
  )

  it.effect("A document that is no key set does not change the key set in memory", () =>
    Effect.gen(function* () {
      yield* awhile
      const { fetch, state } = publisher()
      const { find } = yield* keySets(fetch)
      yield* find(url, wanted("a"))
      state.document = bytes("<html>")
      yield* TestClock.adjust("6 minutes")
      assert.isTrue(Option.isSome(yield* find(url, wanted("a"))))
    }).pipe(Effect.provide(settings()))
  )

  it.effect("A key set is fetched once for all who wait for it, also when the first of them hangs up", () =>
    Effect.gen(function* () {
      yield* awhile
      const gate = yield* Deferred.make<void>()
      let fetches = 0
      const { find } = yield* keySets(() =>
        Effect.suspend(() => {
          fetches += 1
          return Effect.as(Deferred.await(gate), setOf("a"))
        })
      )
      const first = yield* Effect.forkChild(find(url, wanted("a")), { startImmediately: true })
      const others = yield* Effect.forEach(Array.from({ length: 50 }), () =>
        Effect.forkChild(find(url, wanted("a")), { startImmediately: true })
      )
      yield* Fiber.interrupt(first)
      yield* Deferred.succeed(gate, undefined)
      for (const fiber of others) assert.isTrue(Option.isSome(yield* Fiber.join(fiber)))
      assert.strictEqual(fetches, 1)
    }).pipe(Effect.provide(settings()))
  )

  it.effect("At most 64 key sets are fetched at once; after a wait of 5 s the error is to be retried", () =>
    Effect.gen(function* () {
      yield* awhile
      let fetches = 0
      const { find } = yield* keySets(() =>
        Effect.suspend(() => {
          fetches += 1
          return Effect.never
        })
      )
      const waiting = yield* Effect.forEach(Array.from({ length: 100 }), (_, index) =>
        Effect.forkChild(Effect.result(find(`https://keys${index}.example.com/jwks`, wanted("a"))), {
          startImmediately: true
        })
      )
      yield* TestClock.adjust("4 seconds")
      assert.strictEqual(fetches, 64)
      yield* TestClock.adjust("1 second")
      for (const fiber of waiting) {
        const result = yield* Fiber.join(fiber)
        assert.isTrue(
          Result.isFailure(result) &&
            result.failure._tag === "TooManyRequests" &&
            result.failure.retry_after === 5
        )
      }
      assert.strictEqual(fetches, 64)
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
    "Key sets of %s that hangs are fetched %i at a time, and others go on",
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
          yield* Effect.forkChild(Effect.result(find(urlOf(index), wanted("a"))), { startImmediately: true })
        }
        assert.isTrue(Option.isSome(yield* find(other, wanted("a"))))
        assert.strictEqual(hung, most)
      }).pipe(Effect.provide(settings()))
  )

  it.effect("A key set is not fetched from a forbidden place, whatever was registered", () =>
    Effect.gen(function* () {
      yield* awhile
      const { fetch, state } = publisher()
      const { find } = yield* keySets(fetch)
      assert.isTrue(Option.isNone(yield* find("http://127.0.0.1:4000/jwks", wanted("a"))))
      assert.strictEqual(state.fetches, 0)
    }).pipe(Effect.provide(settings({ AUSPEX_HOST: "0.0.0.0", AUSPEX_BASE_URL: "https://auspex.example" })))
  )
})

describe("A key set", () => {
  const kids = (document: Uint8Array) =>
    Option.map(readKeySet(document), ({ keys }) => keys.map(({ kid }) => kid))

  it("A key set has the RSA and P-256 keys that are for signatures, by their kid", () => {
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

  it("A key set leaves out every other key", () => {
    const privateJwk = { ...rsa.privateKey.export({ format: "jwk" }), kid: "private" }
    const weak = rsaPair(1024)
    for (const key of [
      privateJwk,
      { ...ec.privateKey.export({ format: "jwk" }), kid: "private" },
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

  it("A key set tells keys apart by kid and algorithm, and has a key that stands there twice once", () => {
    const document = {
      keys: [
        publicJwk(rsa, { kid: "x" }),
        publicJwk(ec, { kid: "x" }),
        publicJwk(ec, { kid: "x", use: "sig" }),
        publicJwk(rsa)
      ]
    }
    assert.deepStrictEqual(kids(bytes(document)), Option.some(["x", "x", undefined]))
  })

  it.effect.each([
    ["one key, and no kid asked for", [publicJwk(ec, { kid: "1" })], undefined, "found"],
    ["one key without a kid", [publicJwk(ec)], undefined, "found"],
    ["keys of two algorithms, and no kid", [publicJwk(ec), publicJwk(rsa)], undefined, "found"],
    ["one kid for two algorithms", [publicJwk(rsa, { kid: "1" }), publicJwk(ec, { kid: "1" })], "1", "found"],
    [
      "several keys, and no kid",
      [publicJwk(ec, { kid: "1" }), publicJwk(ecPair(), { kid: "2" })],
      undefined,
      "several ES256 keys: expected the kid of one"
    ],
    [
      "one kid for several keys",
      [publicJwk(ec, { kid: "1" }), publicJwk(ecPair(), { kid: "1" })],
      "1",
      "several ES256 keys with this kid"
    ],
    ["no key of the algorithm", [publicJwk(rsa)], undefined, "has no ES256 key"],
    ["another kid", [publicJwk(ec, { kid: "1" })], "2", "has no ES256 key with this kid"],
    [
      "25 keys, the last of which is asked for",
      Array.from({ length: 25 }, (_, index) => publicJwk(ec, { kid: String(index) })),
      "24",
      "of whose keys the last 5 are not read"
    ],
    [
      "25 keys, the first of which is asked for",
      Array.from({ length: 25 }, (_, index) => publicJwk(ec, { kid: String(index) })),
      "0",
      "found"
    ],
    ["no key at all", [], undefined, "has no ES256 key"],
    [
      "one key, and another kid asked for",
      [publicJwk(ec, { kid: "a" })],
      "A",
      "has no ES256 key with this kid"
    ],
    ["one key with an empty kid", [publicJwk(ec, { kid: "" })], undefined, "has no ES256 key"],
    ["a key without a kid, where one is asked for", [publicJwk(ec)], "1", "has no ES256 key with this kid"],
    [
      "a key without a kid beside one that has the kid",
      [publicJwk(ecPair()), publicJwk(ec, { kid: "1" })],
      "1",
      "found"
    ],
    ["the same key twice, and no kid", [publicJwk(ec), publicJwk(ec)], undefined, "found"],
    [
      "a key for encryption beside it",
      [publicJwk(ecPair(), { use: "enc" }), publicJwk(ec, { use: "sig" })],
      undefined,
      "found"
    ],
    ["a key for encryption alone", [publicJwk(ec, { use: "enc" })], undefined, "has no ES256 key"]
  ] as const)("A key set with %s gives the key, or says what would be right", ([, keys, kid, told]) =>
    Effect.gen(function* () {
      yield* awhile
      const { find } = yield* keySets(() => Effect.succeed(bytes({ keys })))
      const outcome = yield* Effect.result(find(url, { algorithm: "ES256", kid }))
      const outcomeText = Result.match(outcome, {
        onFailure: (error) => error.detail,
        onSuccess: (key) => (Option.isSome(key) ? "found" : "none")
      })
      assert.include(outcomeText, told)
    }).pipe(Effect.provide(settings()))
  )

  it("A key set is a JSON object with a list of keys, and the first 20 different ones are read", () => {
    const key = publicJwk(ec, { kid: "x" })
    const many = (count: number) => ({
      keys: Array.from({ length: count }, (_, index) => ({ ...key, kid: String(index) }))
    })
    const lengths = Option.map(readKeySet(bytes(many(21))), ({ keys, unread }) => [keys.length, unread])
    assert.deepStrictEqual(lengths, Option.some([20, 1]))
    for (const document of [
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
