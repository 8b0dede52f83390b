/**
 * Portkey's open gateway, installed into a temporary folder with the versions that `portkey/package-lock.json` names: a
 * fresh install of it takes a newer Hono, with which its streams fail ("immutable").
 */
import { copyFileSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Console, Effect, Option, Schedule } from "effect"
import { ended, freePort, program } from "../machine/processes.ts"
import type { Server } from "../machine/processes.ts"

const here = new URL("./portkey/", import.meta.url)

const folder = Effect.acquireRelease(
  Effect.sync(() => {
    const directory = mkdtempSync(join(tmpdir(), "auspex-bench-portkey-"))
    for (const name of ["package.json", "package-lock.json"]) {
      copyFileSync(new URL(name, here), join(directory, name))
    }
    return directory
  }),
  (directory) => Effect.sync(() => rmSync(directory, { recursive: true, force: true }))
)

const answers = (port: number) =>
  Effect.tryPromise(() => fetch(`http://127.0.0.1:${port}/`)).pipe(
    Effect.retry({ schedule: Schedule.spaced("100 millis"), times: 100 })
  )

/** None when npm cannot reach its registry: it is then left out. */
export const portkey = Effect.gen(function* () {
  const directory = yield* folder
  // in the bench's environment, which says how the registry is reached
  // in the bench's environment, which says how the registry is reached
  const options = ["--ignore-scripts", "--omit=dev", "--no-audit", "--no-fund", "--fetch-retries=0"]
  const install = yield* program("npm", ["ci", "--prefix", directory, ...options])
  yield* ended("npm ci", install)
  const port = yield* freePort
  const start = join(directory, "node_modules/@portkey-ai/gateway/build/start-server.js")
  const started = yield* program(process.execPath, [start, `--port=${port}`, "--headless"], {
    PATH: "/usr/bin:/bin",
    NODE_ENV: "production"
  })
  yield* answers(port)
  const server: Server = { pid: started.pid, port, process: started }
  return Option.some(server)
}).pipe(
  Effect.catch(() =>
    Effect.as(Console.log("@portkey-ai/gateway is left out: npm could not install it"), Option.none<Server>())
  )
)
