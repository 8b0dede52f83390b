/** Browsers run the source without its types, and nothing else. */
import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect } from "effect"
import {
  chineseScript,
  liveScript,
  scripts,
  sortingScript,
  verifyScript
} from "../../src/http/site/assets/scripts.ts"
import { get, testServer } from "../support/server.ts"

const folder = verifyScript.split("/").slice(0, 3).join("/")

describe("Scripts of pages", () => {
  it("Scripts of pages are the modules that the entrances need, and import from nowhere else", () => {
    const needed = new Set<string>([liveScript, sortingScript, verifyScript])
    for (const path of needed) {
      const script = scripts.find((each) => each.path === path)
      assert.isDefined(script, path)
      for (const [, from = ""] of script?.bytes.toString().matchAll(/(?: from |import\()"([^"]+)"/g) ?? []) {
        needed.add(new URL(from, `http://x${path}`).pathname)
      }
    }
    assert.deepStrictEqual([...needed].toSorted(), scripts.map(({ path }) => path).toSorted())
  })

  it("Scripts of pages have the lines of the source", () => {
    for (const { bytes, path } of scripts) {
      const source = readFileSync(new URL(`../../src${path.slice(folder.length)}`, import.meta.url), "utf8")
      assert.strictEqual(bytes.toString().split("\n").length, source.split("\n").length)
    }
  })

  it("Scripts of pages are made without a word on the console, and later warnings are heard", () => {
    const program = 'await import("./src/http/site/assets/scripts.ts"); process.emitWarning("heard")'
    const { stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", program], {
      encoding: "utf8"
    })
    assert.match(stderr, /^\(node:\d+\) Warning: heard\n/)
  })
})

layer(testServer())("Scripts over HTTP", (it) => {
  it.effect("Scripts are JavaScript that may be kept for ever, and run on pages for everybody only", () =>
    Effect.gen(function* () {
      const { headers } = yield* get(verifyScript)
      assert.strictEqual(headers.get("content-type"), "text/javascript; charset=utf-8")
      assert.strictEqual(headers.get("x-content-type-options"), "nosniff")
      assert.include(headers.get("cache-control"), "immutable")
      const page = yield* get("/verify")
      const policy = page.headers.get("content-security-policy") ?? ""
      assert.include(policy, "script-src 'self';")
      assert.notInclude(policy, "unsafe")
      assert.include(page.text, `src="${verifyScript}"`)
      assert.notInclude(page.text, chineseScript)
      const chinese = yield* get("/verify?lang=zh")
      assert.include(chinese.text, `<link rel="modulepreload" href="${chineseScript}"`)
      assert.strictEqual(chinese.headers.get("content-security-policy"), policy)
      assert.notMatch(page.text, /<script>| on[a-z]+="/)
      const home = yield* get("/")
      assert.strictEqual(home.headers.get("content-security-policy"), policy)
      assert.match(home.text, new RegExp(`<script type="module" src="${liveScript}"></script>`))
      assert.strictEqual(home.text.split('<script type="module"').length, 2)
      for (const path of ["/sign-in", "/agents/x", "/challenges/x", "/nothing"]) {
        const other = yield* get(path, { headers: { accept: "text/html" } })
        assert.notInclude(other.headers.get("content-security-policy") ?? "", "script-src", path)
        assert.notInclude(other.text, "<script", path)
      }
    })
  )
})
