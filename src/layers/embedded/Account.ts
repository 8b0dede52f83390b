/** The account that runs PostgreSQL: the caller's, or, since PostgreSQL refuses to run as root, an unprivileged one that root chooses. */
import { spawn } from "node:child_process"
import { dirname } from "node:path"
import { Effect, FileSystem, Option, Schema } from "effect"
import type { PlatformError } from "effect"

/** The message contains all that an operator needs: the fault, its place, and what would be right. */
export class EmbeddedPostgresError extends Schema.TaggedError<EmbeddedPostgresError>()(
  "EmbeddedPostgresError",
  { message: Schema.String, cause: Schema.optionalKey(Schema.Defect()) }
) {}

export interface Account {
  readonly name: string
  readonly uid: number
  readonly gid: number
}

/** The id of the process's user; undefined if the operating system has no user ids. */
export const ownUid = process.getuid?.()

/** The accounts in order of preference. initdb looks its user up by name, so a uid without an account does not work. */
const unprivileged = ["postgres", "_postgres", "nobody", "daemon"]

const accounts = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const lines = yield* fs.readFileString("/etc/passwd").pipe(Effect.orElseSucceed(() => ""))
  return lines.split("\n").flatMap((line): ReadonlyArray<Account> => {
    const [name = "", , uid, gid] = line.split(":")
    const account = { name, uid: Number(uid), gid: Number(gid) }
    return Number.isSafeInteger(account.uid) && Number.isSafeInteger(account.gid) ? [account] : []
  })
})

/** Accounts that may run PostgreSQL for root, best first. */
export const candidates = Effect.map(accounts, (all) =>
  unprivileged.flatMap((name) => all.filter((account) => account.name === name && account.uid > 0))
)

/** The account of a uid, with a made-up name if /etc/passwd has none (the server itself needs no name). */
export const named = (uid: number, gid: number) =>
  Effect.map(accounts, (all) => ({
    name: all.find((account) => account.uid === uid)?.name ?? `uid ${uid}`,
    uid,
    gid
  }))

export const enter = 0o1
export const read = 0o4

/**
 * The first directory or file on the way to `path` that `account` cannot pass; `need` is the required access to `path` itself. Only the
 * nine mode bits count: an account that only an access list admits counts as excluded, and PostgreSQL then runs elsewhere.
 */
export const barrier: (
  path: string,
  account: Account,
  need: number
) => Effect.Effect<Option.Option<string>, PlatformError.PlatformError, FileSystem.FileSystem> =
  Effect.fnUntraced(function* (path, account, need) {
    const fs = yield* FileSystem.FileSystem
    const parent = dirname(path)
    if (parent !== path) {
      const above = yield* barrier(parent, account, enter)
      if (Option.isSome(above)) return above
    }
    return (permissions(yield* fs.stat(path), account) & need) === need ? Option.none() : Option.some(path)
  })

const permissions = (info: FileSystem.File.Info, account: Account): number => {
  if (Option.contains(info.uid, account.uid)) return info.mode >> 6
  if (Option.contains(info.gid, account.gid)) return info.mode >> 3
  return info.mode
}

/** The language is English, because messages are matched; the rest of the caller's environment (PGDATA, PGPORT) is dropped. */
export const environment = { PATH: "/usr/bin:/bin:/usr/sbin:/sbin", LC_ALL: "C", TZ: "UTC" }

/** Spawning with these ids also drops root's supplementary groups. */
export const identity = (account: Account | null) =>
  account === null ? {} : { uid: account.uid, gid: account.gid }

/** Runs a program of PostgreSQL to its end. Effect's ChildProcess cannot change the user id. */
export const runProgram = (options: {
  readonly command: string
  readonly args: ReadonlyArray<string>
  readonly account: Account | null
  readonly stdin?: string
}): Effect.Effect<{ readonly code: number | null; readonly output: string }, EmbeddedPostgresError> =>
  Effect.callback((resume) => {
    const child = spawn(options.command, options.args, {
      ...identity(options.account),
      cwd: "/",
      env: environment,
      stdio: ["pipe", "pipe", "pipe"]
    })
    let output = ""
    const collect = (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-8192)
    }
    child.stdout.on("data", collect)
    child.stderr.on("data", collect)
    child.on("error", (cause) => {
      const who = options.account === null ? "" : ` as ${options.account.name}`
      resume(
        Effect.fail(
          new EmbeddedPostgresError({
            message: `Cannot run ${options.command}${who}: ${cause.message}`,
            cause
          })
        )
      )
    })
    child.on("close", (code) => resume(Effect.succeed({ code, output: output.trim() })))
    // A program that ends without reading its input would end ours by EPIPE.
    child.stdin.on("error", () => {})
    child.stdin.end(options.stdin ?? "")
    return Effect.callback((ended) => {
      child.on("close", () => ended(Effect.void))
      child.kill("SIGTERM")
    })
  })
