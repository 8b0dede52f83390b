/**
 * Chooses the places of the cluster and of PostgreSQL's programs, and the account that runs them. Usually the cluster is in the data
 * directory, the programs are in node_modules, and the account is the caller's. Root runs PostgreSQL as another account; files that only
 * root could reach are then put in a directory that everybody can enter and only root can change.
 */
import { randomBytes } from "node:crypto"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { Effect, FileSystem, Option } from "effect"
import type { PlatformError } from "effect"
import * as Account from "./Account.ts"
import { EmbeddedPostgresError } from "./Account.ts"
import * as Binaries from "./Binaries.ts"
import * as Cluster from "./Cluster.ts"
import { writePrivate } from "../node/DurableFile.ts"

export interface DataDirectory {
  readonly binaries: Binaries.Binaries
  readonly account: Account.Account | null
  readonly clusterDir: string
  /** Major version of PostgreSQL. */
  readonly major: string
  /** Sentences for the operator about unusual choices and their reasons. */
  readonly remarks: ReadonlyArray<string>
}

/** Persistent directories come first: the system may empty temporary ones. */
const sharedParents = ["/var/lib", "/var/db", "/var/tmp", tmpdir()]

/** The file names the cluster's place if that is not the data directory. */
const pointer = (dataDir: string) => join(dataDir, "postgres-location")

/**
 * Tests whether only root can replace this path: root owns every directory above it, and where others may write, the sticky bit (as of /tmp)
 * protects root's files.
 */
const isOnlyRoots: (
  path: string,
  sticky?: number
) => Effect.Effect<boolean, PlatformError.PlatformError, FileSystem.FileSystem> = Effect.fnUntraced(
  function* (path, sticky = 0) {
    const fs = yield* FileSystem.FileSystem
    const { mode, type, uid } = yield* fs.lstat(path)
    const closed = (mode & 0o022) === 0 || (mode & sticky) !== 0
    if (type !== "Directory" || !Option.contains(uid, 0) || !closed) return false
    return dirname(path) === path || (yield* isOnlyRoots(dirname(path), 0o1000))
  }
)

/** Makes a directory that everybody can enter and only root can list or change. */
const makeRoots = Effect.fnUntraced(function* (path: string) {
  const fs = yield* FileSystem.FileSystem
  const made = yield* fs.makeDirectory(path).pipe(
    Effect.as(true),
    Effect.catchReason("PlatformError", "AlreadyExists", () => Effect.succeed(false))
  )
  if (made) yield* fs.chmod(path, 0o711)
  return yield* isOnlyRoots(path)
})

const sharedDirectory = Effect.fnUntraced(function* (
  account: Account.Account,
  parents: ReadonlyArray<string>
) {
  const fs = yield* FileSystem.FileSystem
  const found = yield* Effect.findFirst(parents, (parent) =>
    Effect.gen(function* () {
      const real = yield* fs.realPath(parent)
      if (Option.isSome(yield* Account.barrier(real, account, Account.enter))) return false
      return yield* makeRoots(join(real, "auspex"))
    }).pipe(Effect.orElseSucceed(() => false))
  )
  if (Option.isSome(found)) return join(yield* fs.realPath(found.value), "auspex")
  return yield* new EmbeddedPostgresError({
    message:
      `PostgreSQL must run as ${account.name} because it refuses to run as root, and needs a directory both can ` +
      `reach. None of ${parents.map((parent) => join(parent, "auspex")).join(", ")} can be made so that only root may change it. ` +
      `Make one of them (owner root, mode 0711), or start Auspex as an ordinary user.`
  })
})

/** The place of a cluster that an earlier start made. */
const remembered = Effect.fnUntraced(function* (dataDir: string) {
  const fs = yield* FileSystem.FileSystem
  const home = yield* fs.readFileString(pointer(dataDir)).pipe(
    Effect.map((text) => Option.some(text.trimEnd())),
    Effect.catchReason("PlatformError", "NotFound", () => Effect.succeedNone)
  )
  if (Option.isNone(home)) return home
  const sound = yield* isOnlyRoots(home.value).pipe(Effect.orElseSucceed(() => false))
  if (sound) return home
  return yield* new EmbeddedPostgresError({
    message:
      `The data of ${dataDir} is in ${home.value}, as ${pointer(dataDir)} says, but that is not (or no longer) a ` +
      `directory that only root can change. Put it back, or remove ${pointer(dataDir)} to start with an empty database.`
  })
})

const newHome = Effect.fnUntraced(function* (
  dataDir: string,
  account: Account.Account,
  parents: ReadonlyArray<string>
) {
  const fs = yield* FileSystem.FileSystem
  const barrier = yield* Account.barrier(dataDir, account, Account.enter)
  if (Option.isNone(barrier)) return dataDir
  const home = join(yield* sharedDirectory(account, parents), randomBytes(6).toString("hex"))
  yield* makeRoots(home)
  yield* fs.writeFileString(join(home, "belongs-to"), `${dataDir}\n`)
  yield* writePrivate(pointer(dataDir), `${home}\n`)
  return home
})

/** The programs in a place where `account` can run them, and their major version. */
const runnable = Effect.fnUntraced(function* (
  binaries: Binaries.Binaries,
  account: Account.Account,
  parents: ReadonlyArray<string>
) {
  const barrier = yield* Binaries.barrier(binaries, account)
  const reachable = Option.isNone(barrier)
    ? binaries
    : yield* Binaries.copyTo(binaries, yield* sharedDirectory(account, parents))
  return { account, binaries: reachable, major: yield* Binaries.serverMajor(reachable, account) }
})

/** The account that owns the cluster, which runs it. */
const ownerOf = Effect.fnUntraced(function* (clusterDir: string) {
  const fs = yield* FileSystem.FileSystem
  const { gid, uid } = yield* fs.stat(clusterDir)
  const owner = yield* Account.named(
    Option.getOrElse(uid, () => 0),
    Option.getOrElse(gid, () => 0)
  )
  if (owner.uid === 0) {
    return yield* new EmbeddedPostgresError({
      message:
        `${clusterDir} belongs to root, but PostgreSQL refuses to run as root. Give it back to the account it ` +
        `belonged to, for instance: chown -R postgres '${clusterDir}'`
    })
  }
  const barrier = yield* Account.barrier(clusterDir, owner, Account.enter)
  if (Option.isSome(barrier)) {
    return yield* new EmbeddedPostgresError({
      message:
        `${clusterDir} belongs to ${owner.name}, who cannot pass ${barrier.value}. ` +
        `Grant access (chmod o+x '${barrier.value}'), or move the data directory.`
    })
  }
  return owner
})

const forRoot = Effect.fnUntraced(function* (
  dataDir: string,
  installed: Binaries.Binaries,
  parents: ReadonlyArray<string>
) {
  const known = yield* remembered(dataDir)
  const present = join(
    Option.getOrElse(known, () => dataDir),
    "postgres"
  )
  const isOld = yield* Cluster.exists(present)
  const accounts = isOld ? [yield* ownerOf(present)] : yield* Account.candidates
  if (accounts.length === 0) {
    return yield* new EmbeddedPostgresError({
      message:
        "PostgreSQL refuses to run as root, and this machine has no account postgres or nobody to run it as. " +
        "Make one (useradd --system postgres), start Auspex as an ordinary user, or set DATABASE_URL."
    })
  }
  // A container may know an account by name and still be unable to become it; then the next one is tried.
  const { account, binaries, major } = yield* Effect.firstSuccessOf(
    accounts.map((account) => runnable(installed, account, parents))
  )
  const home = isOld || Option.isSome(known) ? dirname(present) : yield* newHome(dataDir, account, parents)
  const remarks = [`PostgreSQL runs as ${account.name}, because it refuses to run as root.`]
  if (home !== dataDir) {
    remarks.push(`The database is in ${home}, because ${account.name} cannot get into ${dataDir}.`)
  }
  if (binaries.root !== installed.root) {
    remarks.push(
      `PostgreSQL's programs were copied to ${binaries.root}, because ${account.name} cannot run them in ${installed.root}.`
    )
  }
  return { account, binaries, major, clusterDir: join(home, "postgres"), remarks }
})

const forUser = Effect.fnUntraced(function* (dataDir: string, binaries: Binaries.Binaries, uid: number) {
  const fs = yield* FileSystem.FileSystem
  const clusterDir = join(dataDir, "postgres")
  if (yield* fs.exists(clusterDir)) {
    const { gid, uid: ownerUid } = yield* fs.stat(clusterDir)
    if (!Option.contains(ownerUid, uid)) {
      const owner = yield* Account.named(
        Option.getOrElse(ownerUid, () => 0),
        Option.getOrElse(gid, () => 0)
      )
      return yield* new EmbeddedPostgresError({
        message:
          `${clusterDir} belongs to ${owner.name}. Start Auspex as ${owner.name} or as root, or with another data ` +
          `directory (AUSPEX_DATA_DIR).`
      })
    }
  }
  return {
    account: null,
    binaries,
    major: yield* Binaries.serverMajor(binaries, null),
    clusterDir,
    remarks: []
  }
})

export const locate = Effect.fn("dataDirectory.locate")(function* (
  dataDir: string,
  parents: ReadonlyArray<string> = sharedParents
) {
  const installed = yield* Binaries.installed()
  const uid = Account.ownUid
  if (uid === undefined) {
    return yield* new EmbeddedPostgresError({
      message:
        "Auspex brings PostgreSQL for Linux and macOS only. Use WSL, or set DATABASE_URL to a server of your own."
    })
  }
  const directory: DataDirectory = yield* uid === 0
    ? forRoot(dataDir, installed, parents)
    : forUser(dataDir, installed, uid)
  return directory
})
