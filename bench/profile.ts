/** Where the time goes: a .cpuprofile of the server under load, summed up by function and by area. */
import { mkdirSync, readFileSync, readdirSync } from "node:fs"
import { join, resolve } from "node:path"
import { Effect, Schema } from "effect"
import { BenchFailed, auspex, stopped } from "./machine/processes.ts"

const Profile = Schema.fromJsonString(
  Schema.Struct({
    nodes: Schema.Array(
      Schema.Struct({
        id: Schema.Int,
        callFrame: Schema.Struct({
          functionName: Schema.String,
          url: Schema.String,
          lineNumber: Schema.Int
        }),
        children: Schema.optionalKey(Schema.Array(Schema.Int))
      })
    ),
    startTime: Schema.Finite,
    samples: Schema.Array(Schema.Int),
    timeDeltas: Schema.Array(Schema.Finite)
  })
)
type Frame = (typeof Profile.Type)["nodes"][number]["callFrame"]

const areas: ReadonlyArray<readonly [area: string, url: RegExp]> = [
  ["ours: http", /\/src\/http\//],
  ["ours: layers", /\/src\/layers\//],
  ["ours: other", /\/(src|bench)\/[^:]*\.ts$/],
  ["sql-pg", /node_modules\/@effect\/sql-pg\//],
  ["effect/sql", /node_modules\/effect\/dist\/sql\//],
  [
    "effect/http, http-api, platform-node",
    /node_modules\/(effect\/dist\/(http|http-api)\/|@effect\/platform-node)/
  ],
  ["effect/schema", /node_modules\/effect\/dist\/(schema\/|internal\/schema\/|Schema)/],
  [
    "effect/observability, tracer, metric",
    /node_modules\/effect\/dist\/(observability\/|Metric|Tracer|Logger)/
  ],
  ["effect core", /node_modules\/effect\//],
  ["jose", /node_modules\/jose\//],
  ["other packages", /node_modules\//],
  ["node crypto, webcrypto", /^node:(internal\/)?(crypto|webcrypto)/],
  ["node http", /^node:(_http|internal\/http|http)/],
  [
    "node net, streams",
    /^node:(net|internal\/(stream|net)|_stream|stream|internal\/js_stream|events|buffer|internal\/buffer)/
  ],
  ["node other", /^node:/]
]

const areaOf = ({ functionName, url }: Frame): string | undefined => {
  if (url === "") {
    if (functionName === "(garbage collector)") return "garbage collection"
    if (functionName === "(idle)") return "idle"
    if (functionName === "(program)") return "native, outside of functions"
    return undefined
  }
  return areas.find(([, pattern]) => pattern.test(url))?.[0]
}

/** Whose sockets they are: the statements' or the requests'. */
const callerOf = ({ url }: Frame): string | undefined => {
  if (/\/sql-pg\//.test(url)) return "to PostgreSQL"
  return /^node:_http|platform-node/.test(url) ? "to clients" : undefined
}

const nameOf = ({ functionName, lineNumber, url }: Frame): string => {
  const place = url.replace(/^.*\/node_modules\//, "").replace(/^.*\/(src|bench)\//, "$1/")
  return `${functionName === "" ? "(anonymous)" : functionName}${place === "" ? "" : ` ${place}:${lineNumber + 1}`}`
}

const sorted = (sums: ReadonlyMap<string, number>) => [...sums].sort(([, one], [, other]) => other - one)

const add = (sums: Map<string, number>, key: string, value: number) =>
  sums.set(key, (sums.get(key) ?? 0) + value)

/** Shares of the time the main thread was busy between two moments (microseconds of the monotonic clock). */
export const summary = (
  profile: typeof Profile.Type,
  window: { readonly from: number; readonly to: number },
  requests: number
): string => {
  const frames = new Map(profile.nodes.map((node) => [node.id, node.callFrame]))
  const parents = new Map(
    profile.nodes.flatMap((node) => (node.children ?? []).map((child) => [child, node.id]))
  )
  const self = new Map<number, number>()
  let now = profile.startTime
  for (const [index, id] of profile.samples.entries()) {
    const took = profile.timeDeltas[index] ?? 0
    now += took
    if (now >= window.from && now <= window.to) self.set(id, (self.get(id) ?? 0) + took)
  }
  const byArea = new Map<string, number>()
  const byFunction = new Map<string, number>()
  const within = new Map<string, number>()
  for (const [id, took] of self) {
    const frame = frames.get(id)
    if (frame === undefined) continue
    let [area, at]: [string | undefined, number | undefined] = [areaOf(frame), id]
    let whose: string | undefined
    const seen = new Set<string>()
    for (; at !== undefined; at = parents.get(at)) {
      const each = frames.get(at)
      if (each === undefined) continue
      area ??= areaOf(each)
      whose ??= callerOf(each)
      if (/\/src\/|\/jose\/|\/sql-pg\//.test(each.url)) seen.add(nameOf(each))
    }
    const isNet = area?.startsWith("node net") ?? false
    add(byArea, `${area ?? "native, outside of functions"}${isNet ? `, ${whose ?? "others"}` : ""}`, took)
    if (area !== "idle") add(byFunction, nameOf(frame), took)
    for (const name of seen) add(within, name, took)
  }
  const total = [...self.values()].reduce((sum, took) => sum + took, 0)
  const busy = total - (byArea.get("idle") ?? 0)
  byArea.delete("idle")
  const line = ([name, took]: readonly [string, number]) =>
    `  ${((took / busy) * 100).toFixed(1).padStart(5)} %  ${(took / requests).toFixed(1).padStart(6)} us  ${name}`
  return [
    `main thread busy ${((busy / total) * 100).toFixed(0)} % of ${(total / 1e6).toFixed(1)} s, ${(busy / requests).toFixed(1)} us a request`,
    "by area (self time; native functions count as their caller's)",
    ...sorted(byArea).map(line),
    "functions by self time",
    ...sorted(byFunction).slice(0, 25).map(line),
    "our functions, jose and sql-pg with everything they call at once",
    ...sorted(within).slice(0, 25).map(line)
  ].join("\n")
}

const monotonicMicros = () => Number(process.hrtime.bigint() / 1000n)

/** Runs a load against a profiled server and sums up its last measured seconds. */
export const profiled = Effect.fnUntraced(function* <E, R>(
  folder: string,
  name: string,
  environment: Readonly<Record<string, string>>,
  run: (start: (url: string) => ReturnType<typeof auspex>) => Effect.Effect<
    {
      readonly server: Effect.Success<ReturnType<typeof auspex>>
      readonly measured: { readonly requests: number; readonly perSecond: number }
    },
    E,
    R
  >
) {
  const directory = join(resolve(folder), name)
  mkdirSync(directory, { recursive: true })
  const before = new Set(readdirSync(directory))
  const flags = ["--cpu-prof", "--cpu-prof-interval", "200", "--cpu-prof-dir", directory]
  const { measured, server } = yield* run((url) => auspex(url, flags, environment))
  const to = monotonicMicros()
  yield* stopped(server)
  const file = readdirSync(directory).find((each) => each.endsWith(".cpuprofile") && !before.has(each))
  if (file === undefined)
    return yield* new BenchFailed({ message: `the server wrote no profile into ${directory}` })
  const path = join(directory, file)
  const profile = yield* Schema.decodeEffect(Profile)(readFileSync(path, "utf8"))
  const from = to - (measured.requests / measured.perSecond) * 1e6
  return `${name}: ${path}, ${measured.perSecond.toFixed(0)} requests/s under the profiler\n${summary(profile, { from, to }, measured.requests)}`
}, Effect.scoped)
