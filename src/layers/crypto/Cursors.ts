/**
 * Cursors with an HMAC whose key derives from the token secret: the key of the page, then its MAC, in base64url. The MAC also covers the
 * name of the list, so no other list accepts the cursor.
 */
import { createHmac, createSecretKey, timingSafeEqual } from "node:crypto"
import type { KeyObject } from "node:crypto"
import { Effect, Layer, Option, Schema } from "effect"
import type { Redacted } from "effect"
import { Cursors } from "../../services/domain/paging.ts"
import type { PagedList } from "../../services/domain/paging.ts"
import { InvalidRequest } from "../../services/domain/errors.ts"
import { Settings } from "../../services/Settings.ts"
import { derivedKey } from "./secrets.ts"

/** The MAC is cut to 128 bits, which makes texts of this length. */
const macLength = 22

/** The key is made once: node:crypto would make one from plain bytes at each use, which takes longer than the HMAC. */
const keyOf = (secret: Redacted.Redacted): KeyObject => createSecretKey(derivedKey(secret, "cursors"))

/** The cursors of one list. */
interface CursorCodec<Key> {
  readonly encode: (key: Key, which?: string) => string
  /** The key to continue after: `undefined` at the beginning, none if the cursor is not of this list. */
  readonly decode: (cursor: string | undefined, which?: string) => Option.Option<Key | undefined>
}

export const cursorCodecs = (settings: Pick<Settings["Service"], "tokenSecret" | "tokenSecretPrevious">) => {
  const key = keyOf(settings.tokenSecret)
  // Cursors outlive a change of the token secret.
  const keys = [key, ...Option.toArray(settings.tokenSecretPrevious).map(keyOf)]

  const mac = (text: string, by: KeyObject): string =>
    createHmac("sha256", by).update(text).digest("base64url").slice(0, macLength)

  const isAuthentic = (text: string, given: string): boolean =>
    keys.some((each) => {
      const [one, other] = [Buffer.from(mac(text, each)), Buffer.from(given)]
      return one.length === other.length && timingSafeEqual(one, other)
    })

  return <Key>(list: string, schema: Schema.Codec<Key, unknown>): CursorCodec<Key> => {
    const json = Schema.toCodecJson(schema)
    const decode = Schema.decodeUnknownOption(
      Schema.StringFromBase64Url.pipe(Schema.decodeTo(Schema.fromJsonString(json)))
    )
    const encode = Schema.encodeSync(json)
    // JSON delimits the list's name, whatever it contains.
    const covered = (which: string, payload: string) => `${JSON.stringify([list, which])}${payload}`
    return {
      encode: (value, which = "") => {
        const payload = Buffer.from(JSON.stringify(encode(value))).toString("base64url")
        return `${payload}.${mac(covered(which, payload), key)}`
      },
      decode: (cursor, which = "") => {
        if (cursor === undefined) return Option.some(undefined)
        const [payload = "", given = "", ...more] = cursor.split(".")
        return more.length === 0 && isAuthentic(covered(which, payload), given)
          ? decode(payload)
          : Option.none()
      }
    }
  }
}

const make = Effect.gen(function* () {
  const codecOf = cursorCodecs(yield* Settings)

  const list = <Key>(name: string, key: Schema.Codec<Key, unknown>): PagedList<Key> => {
    const codec = codecOf(name, key)
    return {
      decode: (page, which) =>
        Option.match(codec.decode(page.cursor, which), {
          onNone: () =>
            Effect.fail(
              InvalidRequest.of(
                "cursor",
                "Expected the next_cursor of an earlier page of this list, unchanged"
              )
            ),
          onSome: (after) =>
            Effect.succeed({
              after,
              limit: page.limit + 1,
              cursorAfter: (key) => codec.encode(key, which),
              toPage: (rows, keyOf) => {
                const items = rows.slice(0, page.limit)
                const last = items.at(-1)
                const isLast = rows.length <= page.limit || last === undefined
                return { items, next_cursor: isLast ? null : codec.encode(keyOf(last), which) }
              }
            })
        })
    }
  }

  return Cursors.of({ list, listById: (name) => list(name, Schema.String.check(Schema.isGUID())) })
})

export const layer = Layer.effect(Cursors, make)
