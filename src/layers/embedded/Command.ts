/** Runs a program of PostgreSQL to its end. The ChildProcess module of Effect cannot change the user id. */
import { spawn } from "node:child_process"
import { Effect } from "effect"
import type { Account } from "./Account.ts"
import { EmbeddedPostgresError } from "./EmbeddedPostgresError.ts"

/** Messages are matched and shown, hence English; nothing of the caller's environment (PGDATA, PGPORT) leaks in. */
export const environment = { PATH: "/usr/bin:/bin:/usr/sbin:/sbin", LC_ALL: "C", TZ: "UTC" }

/** Spawning with these also drops the supplementary groups of root. */
export const identity = (account: Account | null) =>
  account === null ? {} : { uid: account.uid, gid: account.gid }

export const run = (options: {
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
    // A program that ends without reading its input must not end ours.
    child.stdin.on("error", () => {})
    child.stdin.end(options.stdin ?? "")
    return Effect.callback((ended) => {
      child.on("close", () => ended(Effect.void))
      child.kill("SIGTERM")
    })
  })
