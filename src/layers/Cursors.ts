/**
 * Cursors under an HMAC that is keyed from the token secret: the key of the page, then its seal, in base64url. The seal is over
 * the name of the list, too, so no other list takes the cursor.
 */
import { createHmac, timingSafeEqual } from "node:crypto"
import { Effect, Layer, Option, Schema } from "effect"
import { Cursors } from "../services/paging.ts"
import type { CursorCodec } from "../services/paging.ts"
import { Settings } from "../services/Settings.ts"
import { derivedKey } from "./secrets.ts"

/** What stays of SHA-256: 128 bits, as texts of this length. */
const sealLength = 22

/** By these secrets. */
export const cursorsOf = (
  settings: Pick<Settings["Service"], "tokenSecret" | "tokenSecretPrevious">
): Cursors["Service"] => {
  const key = derivedKey(settings.tokenSecret, "cursors")
  // A change of the token secret ends nobody's walk through a list.
  const keys = [key, ...Option.toArray(settings.tokenSecretPrevious).map((old) => derivedKey(old, "cursors"))]

  const seal = (text: string, by: Buffer): string =>
    createHmac("sha256", by).update(text).digest("base64url").slice(0, sealLength)

  const isSealed = (text: string, given: string): boolean =>
    keys.some((each) => {
      const [one, other] = [Buffer.from(seal(text, each)), Buffer.from(given)]
      return one.length === other.length && timingSafeEqual(one, other)
    })

  const codec = <Key>(list: string, schema: Schema.Codec<Key, unknown>): CursorCodec<Key> => {
    const text = Schema.StringFromBase64Url.pipe(
      Schema.decodeTo(Schema.fromJsonString(Schema.toCodecJson(schema)))
    )
    const decode = Schema.decodeUnknownOption(text)
    const encode = Schema.encodeSync(text)
    // The list as JSON ends where it ends, whatever stands in it.
    const sealed = (which: string, payload: string) => `${JSON.stringify([list, which])}${payload}`
    return {
      encode: (value, which = "") => {
        const payload = encode(value)
        return `${payload}.${seal(sealed(which, payload), key)}`
      },
      decode: (cursor, which = "") => {
        if (cursor === undefined) return Option.some(undefined)
        const [payload = "", given = "", ...more] = cursor.split(".")
        return more.length === 0 && isSealed(sealed(which, payload), given) ? decode(payload) : Option.none()
      }
    }
  }

  return { codec, ids: (list) => codec(list, Schema.String.check(Schema.isGUID())) }
}

export const layer = Layer.effect(Cursors, Effect.map(Settings, cursorsOf))
