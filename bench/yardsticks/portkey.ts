/**
 * Portkey's open gateway, installed into a temporary folder with the versions in `portkey/package-lock.json`: a fresh install takes a
 * newer Hono, with which its streams fail ("immutable").
 */
import { copyFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, Schedule } from "effect"
import { ended, freePort, program, temporaryFolder } from "../machine/processes.ts"
import type { Server } from "../machine/processes.ts"

const here = new URL("./portkey/", import.meta.url)

const answers = (port: number) =>
  Effect.tryPromise(() => fetch(`http://127.0.0.1:${port}/`)).pipe(
    Effect.retry({ schedule: Schedule.spaced("100 millis"), times: 100 })
  )

/** The result is none if npm cannot reach its registry; then Portkey is omitted. */
export const portkey = Effect.gen(function* () {
  const directory = yield* temporaryFolder
  for (const name of ["package.json", "package-lock.json"]) {
    copyFileSync(new URL(name, here), join(directory, name))
  }
  // The bench's own environment says how to reach the registry.
  const options = ["--ignore-scripts", "--omit=dev", "--no-audit", "--no-fund", "--fetch-retries=0"]
  yield* ended("npm ci", yield* program("npm", ["ci", "--prefix", directory, ...options]))
  const port = yield* freePort
  const start = join(directory, "node_modules/@portkey-ai/gateway/build/start-server.js")
  const started = yield* program(process.execPath, [start, `--port=${port}`, "--headless"], {
    PATH: "/usr/bin:/bin",
    NODE_ENV: "production"
  })
  yield* answers(port)
  const server: Server = { pid: started.pid, port, process: started }
  return server
}).pipe(Effect.option)
