/** Requests that are wrong in several places, from a seeded generator. */
import { Effect } from "effect"
import type { Schema } from "effect"
import type { Operation } from "./document.ts"
import { replaceAt, places } from "./generate.ts"
import { strangeHeaders } from "./methods.ts"
import { hostileTexts } from "./mutate.ts"
import { makeRandom } from "./prng.ts"
import type { Draw, Random } from "./prng.ts"
import { bodyOf, bodySchemas, jsonType, outgoing, pathOf } from "./requests.ts"
import type { Session } from "./session.ts"
import type { Fixture } from "./fixture.ts"

type Json = Schema.Json

const numbers = [0, -0, 1, -1, 0.5, 1e-7, 1e15, 1e308, -1e308, 5e-324, 2 ** 31, 2 ** 53, 2 ** 63] as const

const characters = [
  "a",
  "0",
  " ",
  "\n",
  "\t",
  "'",
  '"',
  "\\",
  "%",
  "<",
  "&",
  ";",
  "\u00e9",
  "e\u0301",
  "\u4e2d",
  "\u{1f600}",
  "\u200d",
  "\ufeff",
  "\u0000",
  "\u001b",
  "\u202e",
  "\ud800",
  "\udc00",
  "\u2028",
  "\u0958"
] as const

const randomText = (random: Random): string => {
  const length = random.pick([0, 1, 2, 3, 8, 20, 21, 80, 81, 200, 201, 1000, 5000])
  return Array.from({ length }, () => random.pick(characters)).join("")
}

const randomValue = (random: Random, depth: number): Json => {
  switch (random.below(depth > 3 ? 6 : 8)) {
    case 0:
      return null
    case 1:
      return random.chance(50)
    case 2:
      return random.pick(numbers)
    case 3:
      return random.below(2 ** 31) / 1000
    case 4:
      return random.pick([
        "GC",
        "bullish",
        "2026-01-31T12:00:00Z",
        "https://example.com",
        "true",
        "",
        "known-1",
        "1h"
      ])
    case 5:
      return random.chance(30) ? (hostileTexts[random.below(hostileTexts.length)] ?? "") : randomText(random)
    case 6:
      return Array.from({ length: random.below(6) }, () => randomValue(random, depth + 1))
    default:
      return Object.fromEntries(
        Array.from({ length: random.below(5) }, () => [
          randomText(random).slice(0, 20),
          randomValue(random, depth + 1)
        ])
      )
  }
}

/** A few bytes replaced, dropped, doubled or cut off. */
const scrambled = (random: Random, text: string): Uint8Array => {
  const bytes = [...Buffer.from(text)]
  for (let times = 1 + random.below(4); times > 0; times--) {
    const at = random.below(bytes.length + 1)
    switch (random.below(4)) {
      case 0:
        bytes.splice(at, 1, random.below(256))
        break
      case 1:
        bytes.splice(at, random.below(4))
        break
      case 2:
        bytes.splice(at, 0, ...bytes.slice(at, at + random.below(20)))
        break
      default:
        bytes.splice(at, 0, random.pick([0x22, 0x7b, 0x7d, 0x5b, 0x5d, 0x2c, 0x3a, 0x5c, 0x00, 0xff]))
    }
  }
  return Buffer.from(bytes)
}

/** One request: a right one of some operation, spoiled in some places. */
export const randomRequest = Effect.fnUntraced(function* (
  session: Session,
  fixture: Fixture,
  operations: readonly [Operation, ...ReadonlyArray<Operation>],
  draw: Draw
) {
  const random = makeRandom(draw)
  const operation = random.pick(operations)
  const sample = yield* fixture.waysOf(operation)[0]
  const schemas = bodySchemas(session.document, operation)
  const schema = schemas[random.below(Math.max(1, schemas.length))]
  let body: string | Uint8Array | undefined
  if (schema !== undefined) {
    let value = bodyOf(session.document, schema, sample, random.chance(50) ? "all" : "required")
    for (let times = random.below(4); times > 0; times--) {
      const all = places(session.document, schema, value)
      const place = all[random.below(all.length)]
      if (place !== undefined) value = replaceAt(value, place.path, randomValue(random, 0))
    }
    const text = JSON.stringify(value)
    body = random.chance(15) ? scrambled(random, text) : text
  }
  const names = operation.parameters.filter(({ in: where }) => where === "query").map(({ name }) => name)
  const query = names
    .filter(() => random.chance(60))
    .map(
      (name) =>
        `${name}=${encodeURIComponent((random.chance(50) ? (sample.query[name] ?? "1") : randomText(random)).slice(0, 300).toWellFormed())}`
    )
  const spoiled = Object.keys(sample.params).filter(() => random.chance(20))
  const encoded = Object.fromEntries(
    // An empty segment would make another path: a slash at the end is ignored.
    spoiled.map((name) => [name, encodeURIComponent(randomText(random).slice(0, 200).toWellFormed()) || "-"])
  )
  const headers = [
    ...(body === undefined
      ? []
      : [
          random.chance(95)
            ? jsonType
            : ([
                "content-type",
                randomText(random)
                  .replaceAll(/[^ -~]/g, "")
                  .slice(0, 60)
              ] as const)
        ]),
    ...Array.from({ length: random.below(3) }, () => random.pick(strangeHeaders))
  ]
  const sent = outgoing(
    fixture,
    { operation, sample, body: undefined },
    {
      path: pathOf(operation, sample.params, encoded),
      query: query.length === 0 ? "" : `?${query.join("&")}`,
      headers,
      ...(body !== undefined && { body }),
      ...(random.chance(5) && { credential: [] })
    }
  )
  yield* session.exchange(operation, `request ${draw.index} of FUZZ_SEED=${draw.seed}`, sent)
})
