/** The demonstration's server: its own process with an empty database, removed when the scope closes. */
import { randomBytes } from "node:crypto"
import { createServer } from "node:net"
import { fileURLToPath } from "node:url"
import {
  Config,
  DateTime,
  Duration,
  Effect,
  FileSystem,
  Option,
  Path,
  Queue,
  Redacted,
  Schedule,
  Stream
} from "effect"
import { ChildProcess } from "effect/process"
import { CommandFailed, anonymousClient } from "../client/connection.ts"
import { movedDatabase } from "./season/databaseClock.ts"

const program = fileURLToPath(new URL("../../src/main.ts", import.meta.url))
const movedClock = new URL("season/movedClock.ts", import.meta.url).href

/** Only these variables are passed on, so that none of the operator's settings, such as DATABASE_URL, applies. */
const inherited = ["PATH", "HOME", "USER", "LANG", "TMPDIR", "TEMP", "SYSTEMROOT"]

const environment = Effect.gen(function* () {
  const found: Record<string, string> = {}
  for (const name of inherited) {
    const value = yield* Config.option(Config.String(name))
    if (Option.isSome(value)) found[name] = value.value
  }
  return found
})

const roomy = "1000000/minute"

const settings = (port: number, dataDir: string, adminToken: string) => ({
  AUSPEX_HOST: "127.0.0.1",
  AUSPEX_PORT: String(port),
  AUSPEX_OPS_PORT: "off",
  AUSPEX_DATA_DIR: dataDir,
  AUSPEX_ADMIN_TOKEN: adminToken,
  AUSPEX_JOB_INTERVAL: "1 second",
  // Agents that revise read the others' counts within seconds.
  AUSPEX_COUNTS_EVERY: "off",
  // The demonstration shows only its own agents.
  AUSPEX_REFERENCES: "off",
  AUSPEX_PROVISIONAL_PREDICTION_LIMIT: "1000000",
  AUSPEX_LIMIT_READS: roomy,
  AUSPEX_LIMIT_UNIDENTIFIED: roomy,
  AUSPEX_LIMIT_PREDICTIONS: roomy,
  AUSPEX_LIMIT_REGISTRATIONS: roomy,
  AUSPEX_LIMIT_TOKENS: roomy,
  AUSPEX_LOG_LEVEL: "Warn",
  AUSPEX_LOG_FORMAT: "pretty"
})

const freePort = Effect.callback<number, CommandFailed>((resume) => {
  const server = createServer()
  server.on("error", () =>
    resume(Effect.fail(new CommandFailed({ message: "No port is free on 127.0.0.1 for a server." })))
  )
  server.listen(0, "127.0.0.1", () => {
    const address = server.address()
    const port = address !== null && typeof address === "object" ? address.port : 0
    server.close(() => resume(Effect.succeed(port)))
  })
})

/** Under root another account runs PostgreSQL and needs access. */
const enterable = 0o711

const maxOutputLines = 20

const startTimeout = Duration.minutes(2)
/** The server drains for at most 20 seconds before its database stops. */
const stopTimeout = Duration.seconds(40)

interface Started {
  /** These settings override those of the demonstration. */
  readonly settings: Readonly<Record<string, string>>
  /** Options of Node before the program's path. */
  readonly preloaded: ReadonlyArray<string>
  readonly input: "ignore" | Stream.Stream<Uint8Array>
  /** The server's clock agrees with its database's; otherwise it never reports ready. */
  readonly keepsTime: boolean
}

const start = Effect.fnUntraced(function* ({ input, keepsTime, preloaded, settings: wanted }: Started) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const directory = yield* fs.makeTempDirectoryScoped({ prefix: "auspex-demo-" })
  yield* fs.chmod(directory, enterable)
  const port = yield* freePort
  const data = path.join(directory, "data")
  const adminToken = randomBytes(32).toString("base64url")
  const child = yield* ChildProcess.make(process.execPath, [...preloaded, program], {
    env: { ...(yield* environment), ...settings(port, data, adminToken), ...wanted },
    extendEnv: false,
    stdin: input,
    forceKillAfter: stopTimeout
  })
  const output: Array<string> = []
  yield* child.all.pipe(
    Stream.decodeText(),
    Stream.splitLines,
    Stream.runForEach((line) =>
      Effect.sync(() => {
        output.push(line)
        output.splice(0, output.length - maxOutputLines)
      })
    ),
    Effect.ignore,
    Effect.forkScoped
  )
  const url = `http://127.0.0.1:${port}`
  const client = yield* anonymousClient(url)
  // A starting instance is alive, and refuses everything else.
  const isUp = keepsTime
    ? Effect.map(client.health.ready(), ({ status }) => status === "ready")
    : Effect.as(client.public.targets(), true)
  const ready = isUp.pipe(
    Effect.filterOrFail((isSo) => isSo),
    Effect.retry(Schedule.spaced("100 millis")),
    Effect.timeoutOption(startTimeout)
  )
  const ended = Effect.as(Effect.exit(child.exitCode), Option.none())
  if (Option.isNone(yield* Effect.raceFirst(ready, ended))) {
    return yield* new CommandFailed({
      message: ["The server did not start. Its output:", ...output].join("\n  ")
    })
  }
  return { url, adminToken: Redacted.make(adminToken), data, outbox: path.join(data, "outbox"), output }
})

/** A server with an empty database. */
export const ownServer = start({ settings: {}, preloaded: [], input: "ignore", keepsTime: true })

/** A server whose clock, with its database's, starts at `from` and can be moved. */
export const movedServer = Effect.fnUntraced(function* (
  from: DateTime.Utc,
  wanted: Readonly<Record<string, string>>
) {
  const times = yield* Queue.unbounded<string>()
  const operationsPort = yield* freePort
  const server = yield* start({
    settings: {
      ...wanted,
      AUSPEX_OPS_PORT: String(operationsPort),
      DEMO_NOW: DateTime.formatIso(from)
    },
    preloaded: ["--import", movedClock],
    input: Stream.fromQueue(times).pipe(Stream.encodeText),
    keepsTime: false
  })
  const moveDatabaseTo = yield* movedDatabase(server.data)
  const moveTo = (time: DateTime.Utc) =>
    Effect.andThen(moveDatabaseTo(time), Queue.offer(times, `${DateTime.formatIso(time)}\n`))
  // The server's clock has moved on during the start.
  yield* moveTo(from)
  return { ...server, operationsUrl: `http://127.0.0.1:${operationsPort}`, moveTo }
})
