/** Search, the pages of assets, and lists by asset and category. */
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { modelOf } from "../../src/http/site/views/format.ts"
import { moveTo, plus } from "../support/challenges.ts"
import { asOwner } from "../support/database.ts"
import { newEvent } from "../support/discussion.ts"
import { publicFixture } from "../support/publicFixture.ts"
import { get, testServer } from "../support/server.ts"
import { textOf } from "../support/visitor.ts"

const headings = (text: string) =>
  [...text.matchAll(/<h2[^>]*>([^<]*)<\/h2>/g)].map(([, heading = ""]) => heading)

const firstIn = (text: string, title: string): string => {
  const [, section = ""] = text.split(`${title}</h2>`)
  return section.split("</li>")[0] ?? ""
}

layer(testServer())("Search", (it) => {
  it.effect("Search puts the nearest first: asset by name, agent by model, event by word", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const world = yield* publicFixture
      yield* newEvent({ title: "OPEC cuts its output again", assets: ["CL"] })
      yield* asOwner(sql`
        update agents set model_provider = 'anthropic', model_name = 'claude-opus-5' where id = ${world.first}::uuid`)

      const gold = yield* get("/search?q=gold")
      assert.strictEqual(headings(gold.text)[0], "Assets and figures")
      assert.include(firstIn(gold.text, "Assets and figures"), "Gold")
      assert.include(gold.text, 'href="/assets/GC"')

      const opus = yield* get("/search?q=opus")
      assert.strictEqual(headings(opus.text)[0], "Agents")
      assert.include(firstIn(opus.text, "Agents"), "First Light")

      const opec = yield* get("/search?q=OPEC")
      assert.strictEqual(headings(opec.text)[0], "Events")
      assert.include(firstIn(opec.text, "Events"), "OPEC cuts its output again")

      // Search finds an asset by a misspelt name, and by its key.
      assert.include((yield* get("/search?q=etherium")).text, 'href="/assets/ETH"')
      assert.include((yield* get("/search?q=cpi")).text, 'href="/assets/CPI"')
      // Search does not show a suspended agent.
      yield* asOwner(sql`update agents set suspended_at = created_at where id = ${world.first}::uuid`)
      assert.notInclude((yield* get("/search?q=opus")).text, "First Light")
    })
  )

  it.effect("Pages lead to the asset that they are about, and name it as people name it", () =>
    Effect.gen(function* () {
      const world = yield* publicFixture
      const question = yield* get(`/challenges/${world.settled.id}`)
      assert.match(question.text, /<p class="eyebrow">.*href="\/assets\/GC">Gold<\/a>/s)
      assert.match((yield* get("/")).text, /class="tag" href="\/assets\/GC"/)
      // A model whose name has that of its maker is not called twice.
      assert.deepStrictEqual(modelOf({ model_provider: "mistral", model_name: "mistral-large-4" }), [
        "mistral-large-4"
      ])
      assert.deepStrictEqual(modelOf({ model_provider: "openlab", model_name: "reasoner-2" }), [
        "openlab",
        "reasoner-2"
      ])
      // The last events stay on the first page after midnight.
      yield* moveTo(plus(yield* DateTime.now, { days: 2 }))
      assert.include(textOf(yield* get("/")), "Latest events")
      assert.notInclude(textOf(yield* get("/")), "No news yet.")
      const icon = yield* get("/favicon.ico")
      assert.deepStrictEqual([icon.status, icon.headers.get("content-type")], [200, "image/svg+xml"])
    })
  )

  it.effect("Search takes its text as text, whatever it is, and wants a word at least", () =>
    Effect.gen(function* () {
      for (const text of ["%", "_", "<b>x</b>", "' or 1=1", "\\\\", "  ", "a".repeat(101)]) {
        const answer = yield* get(`/search?q=${encodeURIComponent(text)}`)
        const isTaken = text.trim() === "" || (text.length > 1 && text.length <= 100)
        assert.strictEqual(answer.status, isTaken ? 200 : 400, text)
        assert.notInclude(answer.text, "<b>x</b>")
      }
      const nothing = yield* get("/search?q=qqqqzzzz")
      assert.include(textOf(nothing), "Nothing is called")
      assert.include(nothing.text, 'name="robots" content="noindex"')
    })
  )

  it.effect("The page of an asset has its price, base rates, what is open and what was settled", () =>
    Effect.gen(function* () {
      const gold = yield* get("/assets/GC")
      const text = textOf(gold)
      for (const part of ["Gold GC", "1 week", "How it came out", "Recently settled", "Commodities"]) {
        assert.include(text, part)
      }
      assert.match(text, /▲ Up [\d.]+ % \(\d+\)/)
      assert.match(gold.text, /role="img" aria-label="The price of GC goes from/)
      assert.match(textOf(yield* get("/assets/CPI")), /No figure of it is on record|First print/)
      assert.strictEqual((yield* get("/assets/NOPE")).status, 404)
      assert.strictEqual((yield* get("/assets/GC?range=5y")).status, 400)
    })
  )

  it.effect("A list is narrowed by asset and by category, with how many of each status", () =>
    Effect.gen(function* () {
      const all = textOf(yield* get("/challenges?status=resolved"))
      const ofGold = yield* get("/challenges?status=resolved&asset=GC")
      const ofCrypto = yield* get("/challenges?status=resolved&category=crypto")
      const settled = (text: string) => Number(/Settled \((\d+)\)/.exec(text)?.[1])
      assert.isAbove(settled(all), settled(textOf(ofGold)))
      assert.isAbove(settled(textOf(ofGold)), 0)
      assert.notInclude(ofCrypto.text, 'href="/assets/GC"')
      assert.include(textOf(ofGold), "Of GC only.")
      const byWord = yield* get("/challenges?status=resolved&q=gold")
      assert.include(textOf(byWord), "Of GC only.")
      assert.strictEqual(settled(textOf(byWord)), settled(textOf(ofGold)))
      const ofNothing = textOf(yield* get("/challenges?status=resolved&q=zzzz"))
      assert.include(ofNothing, "Nothing is called “zzzz” here")
      assert.strictEqual(settled(ofNothing), settled(all))
      assert.strictEqual((yield* get("/challenges?q=x")).status, 400)
      const refused = yield* get("/challenges?asset=GOLD")
      assert.strictEqual(refused.status, 400)
      assert.include(textOf(refused), "Expected one of")
    })
  )
})
