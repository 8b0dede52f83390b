/** Reads a key set (RFC 7517 5): which keys of it can verify assertions, by their `kid`. */
import { Option, Schema } from "effect"
import type { AssertionKey } from "../../services/KeySets.ts"
import { list } from "../../services/text.ts"
import { parseStrictJson } from "./strictParse.ts"
import { fromJwk } from "./publicKeys.ts"

const maxKeys = 20

const KeySet = Schema.Struct({ keys: list(Schema.Record(Schema.String, Schema.Json), { maximum: maxKeys }) })
const decode = Schema.decodeUnknownOption(KeySet)

/** None when the document is no key set. A key that is not for this is left out; two with one `kid` both are. */
export const readKeySet = (document: Uint8Array): Option.Option<ReadonlyMap<string, AssertionKey>> =>
  Option.flatMap(parseStrictJson(document), decode).pipe(
    Option.map(({ keys }) => {
      const usable = keys.map(fromJwk).filter(Option.isSome)
      const byKid = Map.groupBy(usable, ({ value }) => value.kid)
      return new Map(
        [...byKid].flatMap(([kid, [only, ...others]]) =>
          only === undefined || others.length > 0 ? [] : [[kid, only.value.key] as const]
        )
      )
    })
  )
