/** Restarts and upgrades, one replica after the other, that nobody notices. */
import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
import { SqlClient } from "effect/sql"
import * as Database from "../../src/layers/postgres/Database.ts"
import { emptyDatabase, poolOn } from "../support/database.ts"
import {
  project,
  readyAuspex,
  replicaEnvironment,
  startAuspex,
  statusOf,
  temporaryDirectory
} from "../support/process.ts"
import { rolling } from "../support/rolling.ts"

const minRequests = 3000

/** What the first version with a tag, 0.2.0, is upgraded from. */
const beforeTags = "338bc37a99c3316b7eca6359eda1d19dbb6f3dc1"

const run = Effect.fnUntraced(function* (command: string, args: ReadonlyArray<string>, folder = project) {
  const { error, status, stderr, stdout } = spawnSync(command, args, { cwd: folder, encoding: "utf8" })
  if (status === 0) return stdout.trim()
  return yield* Effect.die(
    new Error(
      `The version before is made from the history (git fetch --unshallow --tags) and npm's registry, but ` +
        `${command} ${args.join(" ")} failed: ${error?.message ?? stderr}`
    )
  )
})

/** The folder of the version before this commit, with its own dependencies. */
const versionBefore = Effect.gen(function* () {
  const newestFirst = ["--sort=-version:refname", "--merged", "HEAD^"]
  const [tag] = (yield* run("git", ["tag", "--list", "v[0-9]*", ...newestFirst])).split("\n")
  const folder = join(yield* temporaryDirectory, "before")
  yield* FileSystem.FileSystem.use((fs) => fs.makeDirectory(folder))
  yield* run("git", ["archive", "--output", `${folder}.tar`, tag || beforeTags])
  yield* run("tar", ["-xf", `${folder}.tar`, "-C", folder])
  yield* run("npm", ["ci", "--omit=dev"], folder)
  return { folder }
})

describe("Two replicas behind a balancer", () => {
  it.live("answer every request while one after the other is restarted, and lose no prediction", () =>
    Effect.gen(function* () {
      const { failures, lost, problems } = yield* rolling({ minRequests })
      assert.deepStrictEqual({ failures, lost, problems }, { failures: [], lost: [], problems: [] })
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.live("answer every request while they are upgraded from the version before", () =>
    Effect.gen(function* () {
      const before = yield* versionBefore
      const { failures, lost, problems } = yield* rolling({ minRequests, before })
      assert.deepStrictEqual({ failures, lost, problems }, { failures: [], lost: [], problems: [] })
    }).pipe(Effect.provide(NodeServices.layer))
  )
})

describe("An instance of the version before", () => {
  it.live("serves on, and starts again, when a newer one has migrated and then failed", () =>
    Effect.gen(function* () {
      const before = yield* versionBefore
      const url = yield* emptyDatabase
      const environment = replicaEnvironment(url)
      const old = yield* readyAuspex({ environment, ...before })
      const canary = yield* startAuspex({
        environment: { ...environment, AUSPEX_EVENT_FEEDS: join(before.folder, "nowhere.yaml") }
      })
      assert.notStrictEqual((yield* canary.ended).code, 0)
      assert.match(canary.stderr(), /^auspex: .*nowhere\.yaml/)
      const newest = SqlClient.SqlClient.use(
        (sql) => sql`select max(migration_id) as newest from effect_sql_migrations`
      )
      assert.deepStrictEqual(yield* Effect.provide(newest, poolOn(url)), [
        { newest: Database.latestMigration }
      ])
      // What the database says is told for a second.
      yield* Effect.sleep("2 seconds")
      assert.strictEqual(yield* statusOf(`${old.url}/health/ready`), 200)
      yield* readyAuspex({ environment, ...before })
    }).pipe(Effect.provide(NodeServices.layer))
  )
})
