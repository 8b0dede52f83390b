/** Nobody notices restarts and upgrades, one replica after the other. */
import { spawnSync } from "node:child_process"
import { join } from "node:path"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
import { SqlClient } from "effect/sql"
import versions from "../../docs/versions.json" with { type: "json" }
import manifest from "../../package.json" with { type: "json" }
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

const run = Effect.fnUntraced(function* (command: string, args: ReadonlyArray<string>, folder = project) {
  const { error, status, stderr, stdout } = spawnSync(command, args, { cwd: folder, encoding: "utf8" })
  if (status === 0) return stdout.trim()
  return yield* Effect.die(
    new Error(
      `The version before is made from the history (git fetch --unshallow) and npm's registry, but ` +
        `${command} ${args.join(" ")} failed: ${error?.message ?? stderr}`
    )
  )
})

/** True for a version that is older than the other. */
const isOlder = (version: string, other: string) => version.localeCompare(other, "en", { numeric: true }) < 0

/** The folder of the newest version before this one, with its own dependencies. */
const versionBefore = Effect.gen(function* () {
  const before = Object.entries(versions)
    .filter(([version]) => isOlder(version, manifest.version))
    .toSorted(([one], [other]) => (isOlder(one, other) ? 1 : -1))
  const [[, commit] = assert.fail("docs/versions.json names no version before this one")] = before
  const folder = join(yield* temporaryDirectory, "before")
  yield* FileSystem.FileSystem.use((fs) => fs.makeDirectory(folder))
  yield* run("git", ["archive", "--output", `${folder}.tar`, commit])
  yield* run("tar", ["-xf", `${folder}.tar`, "-C", folder])
  yield* run("npm", ["ci", "--omit=dev"], folder)
  return { folder }
})

describe("Three replicas behind a balancer, and one of jobs", () => {
  it.live("Three replicas answer every request while each one restarts, and lose no prediction", () =>
    Effect.gen(function* () {
      const { failures, lost, problems } = yield* rolling({ minRequests, order: "jobs last" })
      assert.deepStrictEqual({ failures, lost, problems }, { failures: [], lost: [], problems: [] })
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.live("Three replicas answer every request while they are upgraded, in either order", () =>
    Effect.gen(function* () {
      const before = yield* versionBefore
      for (const order of ["jobs first", "jobs last"] as const) {
        const { failures, lost, problems } = yield* Effect.scoped(rolling({ minRequests, order, before }))
        assert.deepStrictEqual(
          { order, failures, lost, problems },
          { order, failures: [], lost: [], problems: [] }
        )
      }
    }).pipe(Effect.provide(NodeServices.layer))
  )
})

describe("An instance of the version before", () => {
  it.live("An instance of the version before serves on, and starts again, when a newer one failed", () =>
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
      yield* readyAuspex({ environment, ...before })
      assert.strictEqual(yield* statusOf(`${old.url}/health/ready`), 200)
    }).pipe(Effect.provide(NodeServices.layer))
  )
})
