/**
 * The project in folders of its own: one that only root can enter, where PostgreSQL's account cannot get at anything,
 * and one that an ordinary user owns.
 */
import { spawnSync } from "node:child_process"
import { join } from "node:path"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Console, Effect, FileSystem } from "effect"
import { cleared, project, readyAuspex, stopped, timed } from "../support/process.ts"

const isRoot = process.getuid?.() === 0

/** The account without privileges on Linux and macOS; initdb wants it to have a name. */
const nobody = { uid: 65_534, gid: 65_534 }

/** Hard links cost nothing; where they cannot be made, for another file system or an old `cp`, it is a real copy. */
const copyOfProject = Effect.fnUntraced(function* (folder: string) {
  const fs = yield* FileSystem.FileSystem
  yield* fs.makeDirectory(folder, { recursive: true })
  yield* Effect.forEach(["src", "package.json", "node_modules", "scripts"], (name) =>
    Effect.sync(() => {
      const from = join(project, name)
      const linked = spawnSync("cp", ["-al", from, folder])
      const { status } = linked.status === 0 ? linked : spawnSync("cp", ["-a", from, folder])
      assert.strictEqual(status, 0, `copying ${name}`)
    })
  )
  return join(folder, "node_modules", ".bin", "node")
})

/** The folder is not in memory: there the project, with all its modules, cannot be linked to and would have to fit. */
const onDisk = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const directory = yield* fs.makeTempDirectoryScoped({ prefix: "auspex-copy-" })
  yield* fs.chmod(directory, 0o755)
  return directory
})

describe.skipIf(!isRoot)("A copy of the project", () => {
  it.live("A copy of the project starts as root in a folder of root's alone, with a space and quotes", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const secluded = join(yield* onDisk, `root's "own" folder`)
      const folder = join(secluded, "auspex")
      const node = yield* copyOfProject(folder)
      yield* fs.chmod(secluded, 0o700)
      yield* cleared(join(folder, ".auspex"))
      const [millis, auspex] = yield* timed(
        readyAuspex({ environment: { AUSPEX_LOG_FORMAT: "pretty" }, folder, node })
      )
      yield* Console.log(`in a private folder: ready after ${millis} ms`)
      assert.match(auspex.stdout(), /^ +The database is in \/.*, because \w+ cannot get into /m)
      assert.deepStrictEqual(yield* stopped(auspex), { code: 0, signal: null })
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.live("A copy of the project starts as an ordinary user in a folder of his own", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const folder = join(yield* onDisk, "auspex")
      const node = yield* copyOfProject(folder)
      yield* fs.chown(folder, nobody.uid, nobody.gid)
      yield* cleared(join(folder, ".auspex"))
      const [millis, auspex] = yield* timed(readyAuspex({ environment: {}, folder, node, user: nobody }))
      yield* Console.log(`as an ordinary user: ready after ${millis} ms`)
      assert.notInclude(auspex.stdout(), "running as")
      const { uid } = yield* fs.stat(join(folder, ".auspex", "postgres"))
      assert.deepInclude(uid, { value: nobody.uid })
      assert.deepStrictEqual(yield* stopped(auspex), { code: 0, signal: null })
    }).pipe(Effect.provide(NodeServices.layer))
  )
})

it.live.runIf(!isRoot)("Copies of the project are started by root only: skipped", () =>
  Console.log("test/ops/privateFolder.long.test.ts needs root, to become another user and to shut one out")
)
