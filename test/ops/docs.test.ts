/** The documentation is held to the code wherever a machine can. */
import { spawnSync } from "node:child_process"
import { existsSync, globSync, readFileSync, readdirSync } from "node:fs"
import { dirname, join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { configurationPage } from "../../scripts/configurationPage.ts"
import { allSettings } from "../../src/config.ts"
import { migrations } from "../../src/layers/postgres/schema/index.ts"

const root = join(import.meta.dirname, "../..")
const read = (path: string) => readFileSync(join(root, path), "utf8")
const pages = ["README.md", ...readdirSync(join(root, "docs")).map((name) => `docs/${name}`)].filter((path) =>
  path.endsWith(".md")
)

describe("The documentation", () => {
  it("The page docs/configuration.md says what src/config.ts says", () => {
    assert.strictEqual(read("docs/configuration.md"), configurationPage())
  })

  it("The documentation has no link to a file that is not there", () => {
    for (const page of pages) {
      for (const [, target] of read(page).matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)/g)) {
        if (target === undefined || /^https?:/.test(target)) continue
        assert.isTrue(existsSync(join(root, dirname(page), target)), `${page} links to ${target}`)
      }
    }
  })

  it("The documentation shows TypeScript that a test has, so that the compiler checks it", () => {
    const unindented = (text: string) => text.replaceAll(/^ +/gm, "")
    const tests = globSync("test/**/*.test.ts", { cwd: root }).map((path) => unindented(read(path)))
    for (const page of pages) {
      for (const [, block = ""] of read(page).matchAll(/^```ts\n([^]*?)^```$/gm)) {
        const parts = unindented(block.trim()).split("\n\n")
        const isChecked = tests.some((test) => parts.every((part) => test.includes(part)))
        assert.isTrue(isChecked, `no test has these lines of ${page}:\n${block}`)
      }
    }
  })

  it("The documentation names npm scripts that exist", () => {
    const { scripts } = JSON.parse(read("package.json"))
    for (const page of [...pages, "AGENTS.md"]) {
      for (const [, name] of read(page).matchAll(/npm run ([a-z:]+)/g)) {
        assert.property(scripts, String(name), `${page} names npm run ${String(name)}`)
      }
    }
  })

  it("The documentation sizes connections to PostgreSQL by the defaults of the settings", () => {
    const page = read("docs/operations.md")
    const fallback = (name: string) => Number(allSettings.find((each) => each.name === name)?.defaultText)
    const [requests, background] = [
      fallback("AUSPEX_DATABASE_CONNECTIONS"),
      fallback("AUSPEX_DATABASE_BACKGROUND_CONNECTIONS")
    ]
    assert.include(page, `${requests} connections for requests`)
    assert.include(page, `and ${background} for settlements`)
    // One connection listens for notices, beside both pools.
    const each = requests + background + 1
    const pooler = read("docs/examples/pgbouncer.ini")
    const pooled = Number(/^default_pool_size = (\d+)$/m.exec(pooler)?.[1])
    const [, section = ""] = page.split("### Connections to PostgreSQL")
    const rows = [...section.matchAll(/^\| (\d)\D.*?\| +(\d+) \| +(\d+) \| +(\d+)/gm)].map((row) =>
      row.slice(1).map(Number)
    )
    assert.lengthOf(rows, 3)
    for (const [instances = 0, sum = 0, limit = 0, max = 0] of rows) {
      assert.deepStrictEqual([sum, limit], [instances * each, Math.ceil(sum * 1.5)])
      assert.isAtLeast(max, limit + 10)
    }
    // The page shows a set-up of two instances with jobs, and a pooler for the others.
    const shown = Math.ceil((2 * each + pooled) * 1.5)
    assert.include(page, `connection limit ${shown};`)
    assert.isTrue(rows.some(([, , limit]) => limit === shown))
  })

  it("Kubernetes gives a start two minutes and more, and asks where any instance listens", () => {
    const page = read("docs/examples/kubernetes.yaml")
    const [, probe = ""] = /startupProbe:\s*\{(.*)\}/.exec(page) ?? []
    const number = (name: string) => Number(new RegExp(`${name}: (\\d+)`).exec(probe)?.[1])
    assert.isAtLeast(number("periodSeconds") * number("failureThreshold"), 120)
    assert.include(probe, "path: /health/live")
    assert.strictEqual(
      number("port"),
      Number(allSettings.find((each) => each.name === "AUSPEX_OPS_PORT")?.defaultText)
    )
  })

  it("The documentation has a reason for every dependency", () => {
    const { dependencies, devDependencies } = JSON.parse(read("package.json"))
    for (const name of Object.keys({ ...dependencies, ...devDependencies })) {
      assert.include(read("docs/dependencies.md"), `\`${name}\``)
    }
  })
})

describe("The list of released versions", () => {
  const git = (...args: ReadonlyArray<string>) => spawnSync("git", args, { cwd: root, encoding: "utf8" })

  it("The list of versions names the commit of each earlier one, with its number and its tag", () => {
    const named = Object.entries<string>(JSON.parse(read("docs/versions.json")))
    assert.isNotEmpty(named)
    for (const [version, commit] of named) {
      assert.match(commit, /^[0-9a-f]{40}$/)
      const manifest = git("show", `${commit}:package.json`)
      // A shallow clone, or an archive, has no history.
      if (manifest.status === 0) assert.strictEqual(JSON.parse(manifest.stdout).version, version)
      const tag = git("rev-parse", "--verify", "--quiet", `v${version}^{commit}`)
      if (tag.status === 0) assert.strictEqual(tag.stdout.trim(), commit)
    }
    const tags = git("tag", "--list", "v*").stdout ?? ""
    const known = new Set([JSON.parse(read("package.json")).version, ...named.map(([version]) => version)])
    assert.deepStrictEqual(
      tags.split("\n").filter((tag) => tag !== "" && !known.has(tag.slice(1))),
      []
    )
  })
})

describe("Migrations", () => {
  it("Migrations are numbered densely in order, since the migrator runs only those above its highest", () => {
    const numbers = Object.keys(migrations).map((name) => Number(name.slice(0, 4)))
    assert.deepStrictEqual(
      numbers,
      numbers.map((_, index) => index + 1)
    )
  })
})
