/** The cluster is initialised once, completely or not at all, and opened only by the major version that made it. */
import { randomBytes } from "node:crypto"
import { tmpdir } from "node:os"
import { basename, dirname, join } from "node:path"
import { PgClient } from "@effect/sql-pg"
import { Effect, FileSystem, Option, Redacted } from "effect"
import * as Account from "./Account.ts"
import { EmbeddedPostgresError } from "./Account.ts"
import * as Binaries from "./Binaries.ts"
import { sync, writePrivate } from "../node/DurableFile.ts"

export interface Cluster {
  readonly binaries: Binaries.Binaries
  readonly account: Account.Account | null
  readonly clusterDir: string
  /** The password of the superuser `postgres` and of `auspex`, which owns the database. */
  readonly password: string
}

/** The superuser is only used to set up the cluster. */
export const superuser = "postgres"

/**
 * The operating system's letters are for the trigrams of pg_trgm; everything else uses the built-in provider, which is the same
 * everywhere. An operating system without the first two is left with ASCII.
 */
const characterTypes = ["C.UTF-8", "en_US.UTF-8", "C"] as const

/** initdb starts the server through a shell, within double quotes. */
const breaksQuotes = (path: string) => /["$`\\\n]/.test(path)

const harmlessBinaries = Effect.fnUntraced(function* (binaries: Binaries.Binaries) {
  if (!breaksQuotes(binaries.root)) return binaries
  const fs = yield* FileSystem.FileSystem
  const directory = yield* fs.makeTempDirectoryScoped({ directory: tmpdir(), prefix: "auspex-initdb-" })
  yield* fs.chmod(directory, 0o755)
  return yield* Binaries.copyTo(binaries, directory)
})

const giveTo = Effect.fnUntraced(function* (path: string, account: Account.Account | null) {
  const fs = yield* FileSystem.FileSystem
  if (account !== null) yield* fs.chown(path, account.uid, account.gid)
})

/**
 * Removes the unfinished cluster of a start that was killed. Its initdb may still write to it; then this fails, and the
 * next start succeeds.
 */
const removeUnfinished = Effect.fnUntraced(function* (clusterDir: string) {
  const fs = yield* FileSystem.FileSystem
  const home = dirname(clusterDir)
  const unfinished = (yield* fs.readDirectory(home)).filter((name) =>
    name.startsWith(`${basename(clusterDir)}.new-`)
  )
  yield* Effect.forEach(
    unfinished,
    (name) => Effect.ignore(fs.remove(join(home, name), { recursive: true, force: true })),
    { discard: true }
  )
})

const initialise = Effect.fn("Cluster.initialise")(function* (cluster: Cluster) {
  const fs = yield* FileSystem.FileSystem
  const { account, clusterDir, password } = cluster
  const binaries = yield* harmlessBinaries(cluster.binaries)
  const unfinished = `${clusterDir}.new-${randomBytes(6).toString("hex")}`
  yield* fs.makeDirectory(unfinished, { mode: 0o700 })
  yield* Effect.addFinalizer(() => Effect.ignore(fs.remove(unfinished, { recursive: true, force: true })))
  const passwordFile = join(unfinished, "password")
  yield* writePrivate(passwordFile, password)
  yield* giveTo(passwordFile, account)
  yield* giveTo(unfinished, account)
  const initdb = (characterType: (typeof characterTypes)[number]) =>
    Account.runProgram({
      command: Binaries.program(binaries, "initdb"),
      args: [
        `--pgdata=${join(unfinished, "cluster")}`,
        `--username=${superuser}`,
        `--pwfile=${passwordFile}`,
        "--auth=scram-sha-256",
        "--encoding=UTF8",
        "--locale=C",
        `--lc-ctype=${characterType}`,
        "--locale-provider=builtin",
        "--builtin-locale=C.UTF-8",
        "--data-checksums",
        "--no-instructions"
      ],
      account
    })
  let made = yield* initdb(characterTypes[0])
  for (const characterType of characterTypes.slice(1)) {
    if (made.code !== 0 && made.output.includes("invalid locale name")) made = yield* initdb(characterType)
  }
  const { code, output } = made
  if (code !== 0) {
    return yield* new EmbeddedPostgresError({
      message: `PostgreSQL cannot make its cluster ${clusterDir}; initdb says:\n${output}`
    })
  }
  yield* fs.rename(join(unfinished, "cluster"), clusterDir)
  yield* sync(dirname(clusterDir))
}, Effect.scoped)

const versionOf = Effect.fnUntraced(function* (clusterDir: string) {
  const fs = yield* FileSystem.FileSystem
  return yield* fs.readFileString(join(clusterDir, "PG_VERSION")).pipe(
    Effect.map((text) => Option.some(text.trim())),
    Effect.catchReason("PlatformError", "NotFound", () => Effect.succeedNone)
  )
})

/** Tests whether a cluster exists. An empty directory, such as a fresh volume, is none. */
export const exists = Effect.fnUntraced(function* (clusterDir: string) {
  const fs = yield* FileSystem.FileSystem
  if (!(yield* fs.exists(clusterDir))) return false
  return (yield* fs.readDirectory(clusterDir)).length > 0
})

/** Makes the cluster, or checks the existing one. */
export const prepare = Effect.fn("Cluster.prepare")(function* (cluster: Cluster, major: string) {
  const { clusterDir } = cluster
  yield* removeUnfinished(clusterDir)
  if (!(yield* exists(clusterDir))) return yield* initialise(cluster)
  const found = yield* versionOf(clusterDir)
  if (Option.isNone(found)) {
    return yield* new EmbeddedPostgresError({
      message:
        `${clusterDir} is not empty, but holds no PostgreSQL cluster (it has no file PG_VERSION). ` +
        `Move it away for a fresh start, or put the cluster back.`
    })
  }
  if (found.value !== major) {
    return yield* new EmbeddedPostgresError({
      message:
        `The data in ${clusterDir} was made by PostgreSQL ${found.value}, this Auspex has PostgreSQL ${major}. ` +
        `Start the Auspex that made it, dump the database and restore it into a fresh data directory, or move ` +
        `${clusterDir} away.`
    })
  }
})

/** Replaces a lost password in single-user mode, which needs none. */
export const setPassword = Effect.fn("Cluster.setPassword")(function* (cluster: Cluster) {
  const { code, output } = yield* Account.runProgram({
    command: Binaries.program(cluster.binaries, "postgres"),
    args: ["--single", "-D", cluster.clusterDir, "postgres"],
    account: cluster.account,
    stdin: `alter role ${superuser} password '${cluster.password}'\n`
  })
  if (code !== 0) {
    return yield* new EmbeddedPostgresError({
      message: `The password of the cluster ${cluster.clusterDir} is lost and cannot be replaced:\n${output}`
    })
  }
})

/**
 * The database password is random, and stored only in a file that its owner alone can read. Base64url needs no quoting in SQL and no
 * encoding in a URL.
 */
export const makePassword = Effect.sync(() => randomBytes(32).toString("base64url"))

const passwordFile = (dataDir: string) => join(dataDir, "postgres-password")

export const loadPassword = Effect.fnUntraced(function* (dataDir: string) {
  const fs = yield* FileSystem.FileSystem
  const text = yield* fs.readFileString(passwordFile(dataDir)).pipe(
    Effect.map((text) => Option.some(text.trim())),
    Effect.catchReason("PlatformError", "NotFound", () => Effect.succeedNone)
  )
  return Option.filter(text, (password) => /^[\w-]{43}$/.test(password))
})

export const savePassword = (dataDir: string, password: string) =>
  writePrivate(passwordFile(dataDir), `${password}\n`)

/** The database and the role that owns it. */
const databaseName = "auspex"
const runningRole = "auspex_run"

/** The connection has no TLS, because it stays on this machine. */
const url = (user: string, password: string, port: number, database: string) =>
  Redacted.make(`postgres://${user}:${password}@127.0.0.1:${port}/${database}?sslmode=disable`)

/**
 * One role owns the database and migrates it; the other serves, and owns nothing. Neither is a superuser, so a stolen connection can
 * neither read the machine's files nor run programs, and the serving role cannot disable triggers.
 */
export const prepareDatabase = Effect.fn("Cluster.prepareDatabase")(function* (
  cluster: Cluster,
  port: number
) {
  const { password } = cluster
  // Each start sets a new password, so it is stored nowhere.
  const runningPassword = randomBytes(32).toString("base64url")
  yield* Effect.gen(function* () {
    const sql = yield* PgClient.PgClient
    for (const [role, secret, rights] of [
      [databaseName, password, "createdb"],
      [runningRole, runningPassword, "nocreatedb"]
    ] as const) {
      const roles = yield* sql`select from pg_roles where rolname = ${role}`
      if (roles.length === 0) yield* sql`create role ${sql(role)}`
      // The password is set every time, since its file may have been replaced. It stands in the statement, which a trace would contain.
      yield* Effect.withTracerEnabled(
        sql`alter role ${sql(role)} login ${sql.literal(rights)} password ${sql.literal(`'${secret}'`)}`,
        false
      )
    }
    const databases = yield* sql`select from pg_database where datname = ${databaseName}`
    if (databases.length === 0) yield* sql`create database ${sql(databaseName)} owner ${sql(databaseName)}`
  }).pipe(
    Effect.provide(PgClient.layer({ url: url(superuser, password, port, "postgres"), maxConnections: 1 }))
  )
  return {
    url: url(runningRole, runningPassword, port, databaseName),
    ownerUrl: url(databaseName, password, port, databaseName)
  }
})
