/** Which methods a path takes: what 405 and OPTIONS answer with. */
import { FindMyWay } from "effect/http"
import { HttpApi } from "effect/http-api"
import { Api } from "./api/Api.ts"
import { pageMethods } from "./site/paths.ts"
import { gatewayPaths } from "./gateway/clients.ts"
import { assets } from "./site/assets/assets.ts"
import { parseTilePath } from "./tilePaths.ts"

/** Served beside the API. */
export const documents = {
  openapi: "/openapi.json",
  docs: "/docs",
  skill: "/skill.md",
  llms: "/llms.txt"
} as const

/** The log, as others expect to find it. */
export const logPaths = {
  checkpoint: "/log/checkpoint",
  key: "/log/key",
  tiles: "/log/tile/*",
  timeStamps: "/log/timestamps",
  timeStamp: "/log/timestamp/:size",
  stampedText: "/log/timestamp/:size/text"
} as const

/** Where the payment provider tells what came of purchases. */
export const webhookPath = "/api/v1/stripe/webhook"

const methodsByPath = new Map<string, Set<string>>([
  ...Object.values(documents).map((path) => [path, new Set(["GET"])] as const),
  ...Object.values(logPaths).map((path) => [path, new Set(["GET"])] as const),
  ...Object.values(gatewayPaths).map(
    (path) => [path, new Set([path.startsWith(gatewayPaths.models) ? "GET" : "POST"])] as const
  ),
  [webhookPath, new Set(["POST"])],
  ...assets.map(({ path }) => [path, new Set(["GET"])] as const),
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

/** A path is what it says: a proxy in front, and whoever reads its log, tells them apart letter by letter. */
export const matching = { caseSensitive: true, ignoreDuplicateSlashes: false } as const

const takenMethods: ReadonlySet<string> = new Set([...methodsByPath.values()].flatMap((each) => [...each]))

/** A method as metrics name it: of all that a client can send only those that the path takes have a label of their own. */
export const methodLabel = (method: string, known: KnownPath | undefined): string =>
  (known?.methods ?? takenMethods).has(method) ? method : "other"

const router = FindMyWay.make<KnownPath>(matching)
for (const [path, methods] of methodsByPath) {
  if (methods.has("GET")) methods.add("HEAD")
  router.on("GET", `/${path.slice(1)}`, { path, methods })
}

/** Those without parameters: a URL that is one needs no search. */
const plainPaths = new Map(
  [...methodsByPath]
    .filter(([path]) => !/[:*]/.test(path))
    .map(([path, methods]): [string, KnownPath] => [path, { path, methods }])
)

/** The path of a URL, without its query. */
export const pathOf = (url: string): string => url.split("?", 1).join("")

/** The path, as the API writes it, that this URL is of, and the methods it takes. */
export const knownPath = (url: string): KnownPath | undefined => {
  const plain = plainPaths.get(url)
  if (plain !== undefined) return plain
  const known = router.find("GET", url)?.handler
  const isNoTile = known?.path === logPaths.tiles && parseTilePath(url) === undefined
  return isNoTile ? undefined : known
}
