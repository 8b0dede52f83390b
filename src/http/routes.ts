/** The methods of each path, for 405 and OPTIONS. */
import { FindMyWay } from "effect/http"
import { HttpApi } from "effect/http-api"
import { Api } from "./api/Api.ts"
import { pageMethods } from "./site/paths.ts"
import { gatewayPaths } from "./gateway/clients.ts"
import { assets, wellKnown } from "./site/assets/assets.ts"
import { nearest } from "../services/domain/nearest.ts"
import { tileWidth } from "../services/TransparencyLog.ts"

/** Paths outside of the HttpApi. */
export const documents = {
  openapi: "/openapi.json",
  docs: "/docs",
  skill: "/skill.md",
  calls: "/skill/calls.md",
  llms: "/llms.txt"
} as const

/** The log, at the paths of C2SP. */
export const logPaths = {
  checkpoint: "/log/checkpoint",
  key: "/log/key",
  tiles: "/log/tile/*",
  timeStamps: "/log/timestamps",
  timeStamp: "/log/timestamp/:size",
  stampedText: "/log/timestamp/:size/text"
} as const

/** The payment provider's webhook. */
export const webhookPath = "/api/v1/stripe/webhook"

/** Paths that only clients written for another service of the same interface call; the published API does not have them. */
export const compatibilityPaths = {
  rankings: "/api/v1/eval/rankings",
  odds: "/api/v1/eval/challenges/:challenge_id/odds",
  ownerBalance: "/api/v1/agent/owner/balance",
  ownerTopUp: "/api/v1/agent/owner/topup",
  ownerPolicy: "/api/v1/agent/owner/wallet-policy"
} as const

/** The paths about the owner's account, with their methods. */
export const ownerPaths = [
  [compatibilityPaths.ownerBalance, ["GET"]],
  [compatibilityPaths.ownerTopUp, ["POST"]],
  [compatibilityPaths.ownerPolicy, ["GET", "POST"]]
] as const

const methodsByPath = new Map<string, Set<string>>([
  ...Object.values(documents).map((path) => [path, new Set(["GET"])] as const),
  ...Object.values(logPaths).map((path) => [path, new Set(["GET"])] as const),
  ...Object.values(gatewayPaths).map(
    (path) => [path, new Set([path.startsWith(gatewayPaths.models) ? "GET" : "POST"])] as const
  ),
  [webhookPath, new Set(["POST"])],
  [compatibilityPaths.rankings, new Set(["GET"])],
  [compatibilityPaths.odds, new Set(["GET"])],
  ...ownerPaths.map(([path, methods]) => [path, new Set<string>(methods)] as const),
  ...[...assets, ...wellKnown].map(({ path }) => [path, new Set(["GET"])] as const),
  ...Object.entries(pageMethods).map(([path, methods]) => [path, new Set(methods)] as const)
])

HttpApi.reflect(Api, {
  onGroup: () => {},
  onEndpoint: ({ endpoint }) => {
    const methods = methodsByPath.get(endpoint.path) ?? new Set()
    methodsByPath.set(endpoint.path, methods.add(endpoint.method))
  }
})

interface KnownPath {
  readonly path: string
  readonly methods: ReadonlySet<string>
}

/** Paths are case-sensitive, as in proxies and log readers. */
export const matching = { caseSensitive: true, ignoreDuplicateSlashes: false } as const

const takenMethods: ReadonlySet<string> = new Set([...methodsByPath.values()].flatMap((each) => [...each]))

/** The label of a method in metrics; methods that the path does not accept share one label. */
export const methodLabel = (method: string, known: KnownPath | undefined): string =>
  (known?.methods ?? takenMethods).has(method) ? method : "other"

const router = FindMyWay.make<KnownPath>(matching)
for (const [path, methods] of methodsByPath) {
  if (methods.has("GET")) methods.add("HEAD")
  router.on("GET", `/${path.slice(1)}`, { path, methods })
}

/** Paths without parameters are found without a search. */
const plainPaths = new Map(
  [...methodsByPath]
    .filter(([path]) => !/[:*]/.test(path))
    .map(([path, methods]): [string, KnownPath] => [path, { path, methods }])
)

const isParameter = (segment: string): boolean => /^[:*]/.test(segment)

/** The segments of a request at the places of the template's fixed segments. */
const fixedSegments = (template: ReadonlyArray<string>, segments: ReadonlyArray<string>): string =>
  segments.filter((_, index) => !isParameter(template[index] ?? "")).join("/")

const segmentsOf = (path: string): ReadonlyArray<string> =>
  path
    .replaceAll(/\/{2,}/g, "/")
    .replace(/\/+$/, "")
    .replace(/^(?:\/api)?(?:\/v1)?\//, "")
    .split("/")

const calledAs = (path: string, methods: ReadonlySet<string>): string =>
  `${[...methods].filter((each) => each !== "HEAD").join(", ")} ${path.replaceAll(/:(\w+)/g, "{$1}")}`

/** Paths that agents and readers do not call by themselves. */
const notSuggested: ReadonlySet<string> = new Set([webhookPath, ...Object.values(compatibilityPaths)])
const named = [...methodsByPath]
  .filter(([path]) => !notSuggested.has(path))
  .map(([path, methods]) => ({ path, template: segmentsOf(path), called: calledAs(path, methods) }))

const challengePaths = ["challenges", "macro/challenges", "price-events/challenges"]

/** The call at the same path of another challenge type. */
const ofAnotherType = (path: string): string | undefined => {
  const known = challengePaths
    .map((each) =>
      knownPath(path.replace(/\/eval\/(?:(?:macro|price-events)\/)?challenges\//, `/eval/${each}/`))
    )
    .find((each) => each !== undefined && !notSuggested.has(each.path))
  if (known === undefined) return undefined
  const called = calledAs(known.path, known.methods)
  return /\/(?:odds|stake)$/.test(path) ? `${called}, for only macro challenges have a pool` : called
}

type Segments = ReadonlyArray<string>

const withoutEach = (segments: Segments): ReadonlyArray<Segments> =>
  segments.map((_, index) => segments.toSpliced(index, 1))

/** Pairs of a template and a path of equal length: if one has a segment more, each of its segments is left out in turn. */
const aligned = (template: Segments, segments: Segments): ReadonlyArray<readonly [Segments, Segments]> => {
  switch (template.length - segments.length) {
    case 0:
      return [[template, segments]]
    case 1:
      return withoutEach(template).map((each) => [each, segments])
    case -1:
      return withoutEach(segments).map((each) => [template, each])
    default:
      return []
  }
}

/** The call whose path lacks its beginning or a segment, or has one too many; the one with the longest match. */
const misplaced = (segments: Segments, among: typeof named): string | undefined => {
  const [best] = among
    .flatMap(({ called, template }) =>
      aligned(template, segments)
        .filter(([each, sent]) => fixedSegments(each, each) === fixedSegments(each, sent))
        .map(([each]) => ({ called, length: fixedSegments(each, each).length }))
    )
    .filter(({ length }) => length > 0)
    .sort((one, other) => other.length - one.length)
  return best?.called
}

/** The call that was probably meant by an unknown path. */
export const nearestPath = (path: string): string | undefined => {
  const segments = segmentsOf(path)
  // A request to the API does not mean a page of the site.
  const among = path.startsWith("/api/") ? named.filter((each) => each.path.startsWith("/api/")) : named
  return (
    ofAnotherType(path) ??
    misspelt(
      path,
      segments,
      // A parameter would match any misspelt word.
      among.filter(({ template }) => !template.some(isParameter))
    ) ??
    misplaced(segments, among) ??
    misspelt(path, segments, among)
  )
}

const misspelt = (path: string, segments: Segments, among: typeof named): string | undefined => {
  const candidates = among
    .filter(({ template }) => template.length === segments.length)
    .map(({ called, template }) => {
      const meant = fixedSegments(template, template)
      return { called, meant, isNear: nearest(fixedSegments(template, segments), [meant]) !== undefined }
    })
    .filter(({ isNear }) => isNear)
  const best =
    nearest(
      path,
      candidates.map(({ meant }) => meant)
    ) ?? candidates[0]?.meant
  return candidates.find(({ meant }) => meant === best)?.called
}

/** The path of a URL, without its query. */
export const pathOf = (url: string): string => url.split("?", 1).join("")

/** The path template that matches a URL, and its methods. */
export const knownPath = (url: string): KnownPath | undefined => {
  const plain = plainPaths.get(url)
  if (plain !== undefined) return plain
  const known = router.find("GET", url)?.handler
  const isNoTile = known?.path === logPaths.tiles && parseTilePath(url) === undefined
  return isNoTile ? undefined : known
}

/**
 * The paths of tiles as C2SP tlog-tiles writes them: `/log/tile/<L>/<N>[.p/<W>]` and `/log/tile/entries/<N>[.p/<W>]`,
 * with the index in groups of three digits, all but the last after an `x`: 1234067 is `x001/x234/067`. Each has
 * one spelling, so that caches keep one copy. `entries` are the bundles below level 0.
 */
interface TilePath {
  readonly level: number | "entries"
  readonly n: number
  /** 256 for a full tile. */
  readonly width: number
}

const level = "entries|\\d|[1-5]\\d|6[0-3]"
// Five groups number more tiles than any log has; the number of six would not be exact.
const index = "(?!x000/)(?:x\\d{3}/){0,4}\\d{3}"
const width = "[1-9]\\d{0,2}"
const tileShape = new RegExp(
  `^/log/tile/(?<level>${level})/(?<index>${index})(?:\\.p/(?<width>${width}))?(?:\\?|$)`
)

/** The tile that a path names; `undefined` for another spelling. */
export const parseTilePath = (url: string): TilePath | undefined => {
  const parts = tileShape.exec(url)?.groups
  if (parts === undefined) return undefined
  const wide = parts["width"] === undefined ? tileWidth : Number(parts["width"])
  if (parts["width"] !== undefined && wide >= tileWidth) return undefined
  return {
    level: parts["level"] === "entries" ? "entries" : Number(parts["level"]),
    n: Number(parts["index"]?.replaceAll(/[x/]/g, "")),
    width: wide
  }
}
