/**
 * The paths of tiles as C2SP tlog-tiles writes them: `/log/tile/<L>/<N>[.p/<W>]` and `/log/tile/entries/<N>[.p/<W>]`,
 * with the index in groups of three digits, all but the last after an `x`: 1234067 is `x001/x234/067`. There is one
 * way to write each, so that a cache in between keeps one copy.
 */
import { tileWidth } from "../services/TransparencyLog.ts"

/** What a tile path names; `entries` are the bundles below level 0. */
export interface TilePath {
  readonly level: number | "entries"
  readonly n: number
  /** 256 for a full tile. */
  readonly width: number
}

const level = "entries|\\d|[1-5]\\d|6[0-3]"
// Five groups number more tiles than any log has; one group more would no longer be an exact number.
const index = "(?!x000/)(?:x\\d{3}/){0,4}\\d{3}"
const width = "[1-9]\\d{0,2}"
const shape = new RegExp(
  `^/log/tile/(?<level>${level})/(?<index>${index})(?:\\.p/(?<width>${width}))?(?:\\?|$)`
)

/** What the target of a request names; `undefined` when it is not written as it must be. */
export const parseTilePath = (url: string): TilePath | undefined => {
  const parts = shape.exec(url)?.groups
  if (parts === undefined) return undefined
  const wide = parts["width"] === undefined ? tileWidth : Number(parts["width"])
  if (parts["width"] !== undefined && wide >= tileWidth) return undefined
  return {
    level: parts["level"] === "entries" ? "entries" : Number(parts["level"]),
    n: Number(parts["index"]?.replaceAll(/[x/]/g, "")),
    width: wide
  }
}
