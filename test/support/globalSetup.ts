// @effect-diagnostics processEnv:off globalConsole:off -- what vitest runs by itself takes and tells its settings as any program
/** One embedded PostgreSQL for the whole run, with a migrated template that every test database is copied from. */
import { spawnSync } from "node:child_process"
import { createHash, randomInt } from "node:crypto"
import { chmodSync, existsSync, globSync, mkdirSync, readFileSync, renameSync } from "node:fs"
import { join } from "node:path"
import { Effect, Exit, Redacted, Scope } from "effect"
import type { TestProject } from "vitest/node"
import * as EmbeddedPostgres from "../../src/layers/embedded/EmbeddedPostgres.ts"
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
  // Making and dropping a database looks through all of them.
  shared_buffers: "64MB",
  // More iterations make a password hard to guess, but each of thousands of connections slow.
  scram_iterations: "1"
}

const templateDatabase = "auspex_template"

const project = join(import.meta.dirname, "../..")

/** Runs follow each other faster when each finds the work of those before it. */
const cache = join(project, "node_modules/.cache")

const clusters = join(cache, "test-cluster")

/** The files that decide what the cluster and its template hold. */
const sources = [
  "package-lock.json",
  "src/layers/embedded/*.ts",
  "src/layers/postgres/{Database,connection}.ts",
  "src/layers/postgres/schema/**/*.ts",
  "test/support/{databaseTime,globalSetup,template}.ts"
]

/** Where the cluster of these files is kept for the next runs of this account. */
const keptCluster = () => {
  const hash = createHash("sha256").update(String(process.getuid?.()))
  for (const path of globSync(sources, { cwd: project }).sort()) {
    hash.update(path).update(readFileSync(join(project, path)))
  }
  return join(clusters, `${hash.digest("hex").slice(0, 16)}.tar`)
}

const tar = (...words: ReadonlyArray<string>) => spawnSync("tar", words).status === 0

/** Unpacks the kept cluster, if there is one; another run may remove it meanwhile. */
const unpacked = (kept: string, dataDir: string) => {
  mkdirSync(dataDir)
  if (existsSync(kept) && tar("-xpf", kept, "-C", dataDir)) return true
  removed(dataDir)
  return false
}

/** Keeps this cluster in place of those of other files: an archive, since two thousand files take longer to read. */
const keep = (dataDir: string, kept: string) => {
  // A copy would name the cluster of the original.
  if (existsSync(join(dataDir, "postgres-location"))) return
  removed(clusters)
  mkdirSync(clusters, { recursive: true })
  // The archive has the cluster's password.
  chmodSync(clusters, 0o700)
  const unfinished = `${kept}.new-${process.pid}`
  if (!tar("-cf", unfinished, "-C", dataDir, ".")) return removed(unfinished)
  try {
    renameSync(unfinished, kept)
  } catch {
    // Another run has removed it, to keep its own.
  }
}

const started = (dataDir: string) => EmbeddedPostgres.start({ dataDir, settings: impatient })

export default async function setup(vitest: TestProject) {
  const scratch = scratchDirectory()
  const dataDir = join(scratch, "postgres")
  const kept = keptCluster()
  if (!unpacked(kept, dataDir)) {
    // Most runs need none of the modules that migrate.
    const { makeTemplate } = await import("./template.ts")
    await Effect.runPromise(Effect.scoped(Effect.flatMap(started(dataDir), makeTemplate(templateDatabase))))
    keep(dataDir, kept)
  }
  const scope = Scope.makeUnsafe()
  const { ownerUrl, url } = await Effect.runPromise(
    Effect.provideService(started(dataDir), Scope.Scope, scope)
  )
  vitest.provide("ownerUrl", Redacted.value(ownerUrl))
  vitest.provide("runningUrl", Redacted.value(url))
  vitest.provide("templateDatabase", templateDatabase)
  vitest.provide("scratch", scratch)
  const compiled = join(cache, "node")
  vitest.provide("compiled", compiled)
  const breadthSeed = Number(process.env["BREADTH_SEED"] ?? randomInt(1_000_000))
  console.log(`BREADTH_SEED=${breadthSeed}`)
  vitest.provide("breadthSeed", breadthSeed)
  // This is for the programs that inherit the environment of the tests.
  process.env["NODE_COMPILE_CACHE"] = compiled
  return async () => {
    await Effect.runPromise(Scope.close(scope, Exit.void))
    removed(scratch)
  }
}
