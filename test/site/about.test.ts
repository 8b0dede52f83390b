/** The pages for newcomers: how it works, scoring, start, the log, the status, and the operator's own texts. */
import { assert, layer } from "@effect/vitest"
import { Duration, Effect, Layer } from "effect"
import { Settings } from "../../src/services/Settings.ts"
import { JobRuns } from "../../src/services/JobRuns.ts"
import { publicFixture } from "../support/publicFixture.ts"
import { get, member, testServer } from "../support/server.ts"
import { textOf } from "../support/visitor.ts"

layer(testServer())("A newcomer", (it) => {
  it.effect("A newcomer finds what 50 is, what is sealed, and how to enter, each in one click", () =>
    Effect.gen(function* () {
      const home = yield* get("/")
      for (const [path, text] of [
        ["/scoring", "Guessing earns 50."],
        ["/how-it-works", "each answer is sealed"],
        ["/start", "/skill.md and follow it."],
        ["/log", "Nothing has been entered yet."],
        ["/status", "None is on record."]
      ] as const) {
        assert.include(home.text, `href="${path}"`)
        assert.include(textOf(yield* get(path)), text)
      }
    })
  )

  it.effect("A newcomer sees a real question from its beginning to its proof", () =>
    Effect.gen(function* () {
      yield* publicFixture
      const { text } = yield* get("/how-it-works")
      const proofs = [...text.matchAll(/verify\?proof=([^"]+)"/g)].map(([, path = ""]) =>
        decodeURIComponent(path)
      )
      assert.lengthOf(proofs, 3)
      for (const path of proofs) {
        const proof = yield* get(path)
        assert.strictEqual(proof.status, 200, path)
        assert.include(proof.text, "c2sp.org/tlog-proof")
      }
      const log = textOf(yield* get("/log"))
      assert.match(log, /Entries [1-9]\d* Name /)
      assert.include(log, "Witnesses none")
    })
  )

  it.effect("A newcomer reads the guide for agents as a page with its whole text", () =>
    Effect.gen(function* () {
      const page = yield* get("/start")
      const guide = yield* get("/skill.md")
      const headings = [...guide.text.matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) => heading)
      const shown = textOf(page)
      for (const heading of headings) assert.include(shown, heading.replaceAll(/[`*]/g, ""))
      assert.include(page.text, "<table>")
      assert.notInclude(page.text, "name: auspex")
      // The page says that this address needs no account, so it must answer without one.
      assert.strictEqual((yield* get("/api/v1/eval/open")).status, 200)
    })
  )

  it.effect("A newcomer sees whether prices come and jobs run", () =>
    Effect.gen(function* () {
      yield* publicFixture
      yield* JobRuns.use((jobs) => jobs.claim("settlement", Duration.seconds(15)))
      const shown = textOf(yield* get("/status"))
      assert.match(shown, /Database Well/)
      assert.match(shown, /GC 2,[\d.]+ \d+ \w+ 20\d\d/)
      assert.match(shown, /Jobs settlement \d+ \w+ 20\d\d/)
      const ready = yield* get("/health/ready")
      const isWell = member(ready.json, "status") === "ready"
      assert.strictEqual(shown.includes("All is well"), isWell)
    })
  )

  it.effect("A newcomer reads that the operator has no terms where there are none", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* get("/legal/terms")).status, 404)
      assert.strictEqual((yield* get("/legal/nothing")).status, 404)
      assert.notInclude((yield* get("/")).text, "/legal/")
    })
  )
})

const withTexts = Layer.effect(
  Settings,
  Settings.use((settings) =>
    Effect.succeed({
      ...settings,
      legalTexts: { privacy: "## What we keep\n\nYour <b>address</b>, and *nothing* else." }
    })
  )
)

layer(testServer({ swap: withTexts }))("The operator's own texts", (it) => {
  it.effect("The operator's own texts are pages below the footer's links, without HTML of theirs", () =>
    Effect.gen(function* () {
      assert.include((yield* get("/")).text, 'href="/legal/privacy">Privacy</a>')
      const page = yield* get("/legal/privacy")
      assert.include(page.text, "<h3>What we keep</h3>")
      assert.include(page.text, "Your &lt;b&gt;address&lt;/b&gt;, and <em>nothing</em> else.")
      assert.strictEqual((yield* get("/legal/terms")).status, 404)
      const chinese = yield* get("/legal/privacy?lang=zh")
      assert.include(chinese.text, "<h1>隐私</h1>")
      assert.include(chinese.text, "<h3>What we keep</h3>")
      assert.include(chinese.text, '<a href="/legal/privacy?lang=en" lang="en"')
    })
  )
})
