// @effect-diagnostics processEnv:off globalConsole:off -- what vitest runs by itself takes and tells its settings as any program
/** One embedded PostgreSQL for the whole run, with a migrated template that every test database is copied from. */
import { randomInt } from "node:crypto"
import { join } from "node:path"
import { Effect, Exit, Redacted, Scope } from "effect"
import { SqlClient } from "effect/sql"
import type { TestProject } from "vitest/node"
import * as EmbeddedPostgres from "../../src/layers/embedded/EmbeddedPostgres.ts"
import * as Database from "../../src/layers/postgres/Database.ts"
import { followingTestClock } from "./databaseTime.ts"
import { removed, scratchDirectory } from "./scratch.ts"

declare module "vitest" {
  export interface ProvidedContext {
    /** The server's maintenance database, for the role that owns all databases of the tests. */
    ownerUrl: string
    /** The same database for the running role. */
    runningUrl: string
    templateDatabase: string
    /** The directory for all files of tests; it is removed when the run ends. */
    scratch: string
    /** The directory of Node's compile cache, for all programs that the tests start. */
    compiled: string
    /** The share of many cases that is tried (`breadth.ts`). */
    breadthSeed: number
  }
}

/** Crash safety costs time and has its own tests; here a crash of the machine only loses test data. */
const impatient = {
  fsync: "off",
  synchronous_commit: "off",
  full_page_writes: "off",
  max_connections: "300",
  // More iterations make a password hard to guess, but each of thousands of connections slow.
  scram_iterations: "1"
}

const templateDatabase = "auspex_template"

export default async function setup(project: TestProject) {
  const scratch = scratchDirectory()
  const compiled = join(scratch, "compiled")
  const scope = Scope.makeUnsafe()
  const started = EmbeddedPostgres.start({ dataDir: join(scratch, "postgres"), settings: impatient }).pipe(
    Effect.provideService(Scope.Scope, scope)
  )
  const { ownerUrl, url } = await Effect.runPromise(started)
  const owner = Database.client(ownerUrl)
  const running = new URL(Redacted.value(url))
  const template = new URL(Redacted.value(ownerUrl))
  template.pathname = `/${templateDatabase}`
  await Effect.runPromise(
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`create database ${sql(templateDatabase)}`
    }).pipe(Effect.provide(owner))
  )
  await Effect.runPromise(
    Database.migrate({ url: Redacted.make(template.href), site: "global", runsAs: running.username })
  )
  await Effect.runPromise(
    followingTestClock.pipe(Effect.provide(Database.client(Redacted.make(template.href))))
  )
  project.provide("ownerUrl", Redacted.value(ownerUrl))
  project.provide("runningUrl", running.href)
  project.provide("templateDatabase", templateDatabase)
  project.provide("scratch", scratch)
  project.provide("compiled", compiled)
  const breadthSeed = Number(process.env["BREADTH_SEED"] ?? randomInt(1_000_000))
  console.log(`BREADTH_SEED=${breadthSeed}`)
  project.provide("breadthSeed", breadthSeed)
  // This is for the programs that inherit the environment of the tests.
  process.env["NODE_COMPILE_CACHE"] = compiled
  return async () => {
    await Effect.runPromise(Scope.close(scope, Exit.void))
    removed(scratch)
  }
}
