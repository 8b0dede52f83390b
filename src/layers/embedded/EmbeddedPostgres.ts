/**
 * An embedded PostgreSQL, so that nothing has to be installed first: initialised once, kept between starts, restarted when it dies,
 * stopped with the scope.
 */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { dirname, join, resolve } from "node:path"
import { Clock, Context, Effect, FileSystem, Option } from "effect"
import type { Redacted, Scope } from "effect"
import * as Account from "./Account.ts"
import { EmbeddedPostgresError } from "./Account.ts"
import * as Cluster from "./Cluster.ts"
import * as dataDirectory from "./dataDirectory.ts"
import * as orphanProcesses from "./orphanProcesses.ts"
import * as Postmaster from "./Postmaster.ts"
import { rootCause } from "../../services/domain/errors.ts"
import { lock } from "../node/directoryLock.ts"

export { EmbeddedPostgresError } from "./Account.ts"

export interface Options {
  readonly dataDir: string
  /** These settings of PostgreSQL override ours. */
  readonly settings?: Readonly<Record<string, string>>
  /** Root makes the directory `auspex` in one of these if PostgreSQL's account cannot reach a place. */
  readonly sharedParents?: ReadonlyArray<string>
}

export interface RunningPostgres {
  /** The URL of the database for the serving role. It survives restarts of the server. */
  readonly url: Redacted.Redacted
  /** The URL for the role that owns the database. */
  readonly ownerUrl: Redacted.Redacted
  readonly clusterDir: string
  /** The pid of the current postmaster. */
  readonly pid: number
  /** The account that runs PostgreSQL if the caller is root; else null. */
  readonly runsAs: string | null
  /** The usual place of the cluster if PostgreSQL's account cannot reach it; else null. */
  readonly relocatedFrom: string | null
  /** Sentences for the banner about unusual choices and their reasons. */
  readonly remarks: ReadonlyArray<string>
}

/** The lock's limit (512 in SQLite; PostgreSQL's own is 1024), minus the length of what we append. */
const maxPath = 480

const makeDataDir = Effect.fnUntraced(function* (path: string) {
  const fs = yield* FileSystem.FileSystem
  if (/[\0\r\n]/.test(path) || Buffer.byteLength(path) > maxPath) {
    return yield* new EmbeddedPostgresError({
      message:
        `PostgreSQL cannot use the data directory ${JSON.stringify(path)}: ` +
        `its path may have ${maxPath} bytes and no line breaks.`
    })
  }
  if (!(yield* fs.exists(path))) {
    yield* fs.makeDirectory(path, { recursive: true })
    yield* fs.chmod(path, 0o700)
  }
  const isNew = (yield* fs.readDirectory(path)).length === 0
  // PostgreSQL's account must be able to enter. The secrets in the directory have their own modes.
  if (isNew && Account.ownUid === 0) yield* fs.chmod(path, 0o711)
  return yield* fs.realPath(path)
})

const run = Effect.fnUntraced(function* (options: Options) {
  const fs = yield* FileSystem.FileSystem
  const dataDir = yield* makeDataDir(resolve(options.dataDir))
  yield* lock(dataDir)

  const directory = yield* dataDirectory.locate(dataDir, options.sharedParents)
  const home = dirname(directory.clusterDir)
  // A copied data directory still names the original's cluster.
  if (home !== dataDir) yield* lock(home)

  const known = yield* Cluster.loadPassword(dataDir)
  const password = Option.isSome(known) ? known.value : yield* Cluster.makePassword
  const isOld = yield* Cluster.exists(directory.clusterDir)
  if (Option.isNone(known) && !isOld) yield* Cluster.savePassword(dataDir, password)

  const cluster = { ...directory, password }
  yield* Cluster.prepare(cluster, directory.major)
  const clusterDir = yield* fs.realPath(directory.clusterDir)
  if (Option.isNone(known) && isOld) {
    yield* orphanProcesses.end(clusterDir)
    yield* Cluster.setPassword(cluster)
    yield* Cluster.savePassword(dataDir, password)
  }

  const server = yield* Postmaster.supervise({ ...cluster, clusterDir }, options.settings ?? {})
  yield* Effect.forkScoped(Postmaster.pruneLog(clusterDir))
  const running: RunningPostgres = {
    ...(yield* Cluster.prepareDatabase(cluster, server.port)),
    clusterDir,
    get pid() {
      return server.pid()
    },
    runsAs: directory.account?.name ?? null,
    relocatedFrom: home === dataDir ? null : join(dataDir, "postgres"),
    remarks: directory.remarks
  }
  return running
})

/** The server needs real time, even if a test stops the program's clock. */
const realTime = Effect.provideService(Clock.Clock, Context.get(Context.empty(), Clock.Clock))

export const start: (options: Options) => Effect.Effect<RunningPostgres, EmbeddedPostgresError, Scope.Scope> =
  Effect.fn("EmbeddedPostgres.start")(
    run,
    (effect, { dataDir }) =>
      Effect.mapError(effect, (error) => {
        if (error._tag === "EmbeddedPostgresError") return error
        if (error._tag === "DataDirectoryUnusable") {
          return new EmbeddedPostgresError({ message: error.message, cause: error })
        }
        return new EmbeddedPostgresError({
          message: `The embedded PostgreSQL cannot use the data directory ${dataDir}: ${rootCause(error).message}`,
          cause: error
        })
      }),
    Effect.provide(NodeFileSystem.layer),
    realTime
  )
