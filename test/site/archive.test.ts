/** The public pages of the archive. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Archive } from "../../src/services/Archive.ts"
import { freshWeek, instant } from "../support/challenges.ts"
import { get, post, testServer } from "../support/server.ts"
import type { Answer } from "../support/server.ts"
import { testAdminToken } from "../support/settings.ts"
import { match, tournament } from "../support/tournaments.ts"
import { textOf, unescaped } from "../support/visitor.ts"

const linksOf = ({ text }: Answer): ReadonlyArray<string> =>
  [...text.matchAll(/ href="([^"]*)"/g)].map(([, link = ""]) => unescaped(link))

const imported = (json: unknown) => post("/api/v1/admin/archive", { token: testAdminToken, json })

layer(testServer())("The page of the archive", (it) => {
  it.effect("The page of the archive says that there is nothing, and then leads to each tournament", () =>
    Effect.gen(function* () {
      yield* freshWeek
      assert.include(textOf(yield* get("/archive")), "There are none.")
      yield* imported(tournament({ slug: "cup", title: "World <Cup>", matches: 1 }))
      const page = yield* get("/archive")
      assert.strictEqual(page.status, 200)
      assert.match(textOf(page), /World <Cup> 1 challenge ended 28 February 2026/)
      assert.include(linksOf(page), "/archive/cup")
      assert.include(linksOf(page), "/api/v1/public/archive")
      assert.notInclude(page.text, 'name="robots"')
      // Every page leads to the archive.
      assert.include(linksOf(yield* get("/verify")), "/archive")
    })
  )

  it.effect("The page of the archive leads through many tournaments page by page, each once", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const challenges = [{ question: "?", deadline: instant("2026-01-01T00:00:00Z"), void_reason: "lost" }]
      const slugs = Array.from({ length: 51 }, (_, index) => `league-${index}`)
      yield* Effect.forEach(slugs, (slug) =>
        Archive.use((archive) =>
          archive.import({ slug, title: slug, ended_at: instant("2026-02-01T00:00:00Z"), challenges })
        )
      )
      const first = yield* get("/archive")
      const second = yield* get(linksOf(first).find((link) => link.includes("cursor=")) ?? "")
      const shown = [first, second].flatMap(linksOf).filter((link) => link.startsWith("/archive/league-"))
      assert.deepStrictEqual(shown.toSorted(), slugs.map((slug) => `/archive/${slug}`).toSorted())
      assert.isUndefined(linksOf(second).find((link) => link.includes("cursor=")))
    })
  )
})

layer(testServer())("The page of an archived tournament", (it) => {
  it.effect("The page of an archived tournament shows how each challenge ended, and its predictions", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const unplayed = {
        question: "Who wins the <b>friendly</b>?",
        deadline: "2026-02-02T12:00:00Z",
        void_reason: "It was not played."
      }
      yield* imported(tournament({ slug: "cup", challenges: [match(0), unplayed] }))
      const page = yield* get("/archive/cup")
      assert.strictEqual(page.status, 200)
      const shown = textOf(page)
      assert.match(shown, /World Cup Every match of it\..*Ended 28 February 2026.*Challenges 2/)
      assert.match(
        shown,
        /Group A Who wins match 1\? Result: draw Settled Predicted: home 12, draw 3, away 0 How it was decided After 90 minutes\./
      )
      assert.match(shown, /Who wins the <b>friendly<\/b>\? It was not played\. Void/)
      assert.notInclude(page.text, "<b>")
      assert.include(linksOf(page), "/api/v1/public/archive/cup")
      assert.isUndefined(linksOf(page).find((link) => link.includes("cursor=")))
    })
  )

  it.effect("The page of an archived tournament leads through many challenges page by page, each once", () =>
    Effect.gen(function* () {
      yield* freshWeek
      yield* imported(tournament({ slug: "long", matches: 51 }))
      const first = yield* get("/archive/long")
      const second = yield* get(linksOf(first).find((link) => link.includes("cursor=")) ?? "")
      const anchors = [first, second].flatMap(({ text }) =>
        [...text.matchAll(/id="challenge-(\d+)"/g)].map(([, position]) => Number(position))
      )
      assert.deepStrictEqual(
        anchors,
        Array.from({ length: 51 }, (_, index) => index + 1)
      )
    })
  )

  it.effect(
    "An unknown tournament and a wrong cursor are answered with pages that say so, and no cookie is kept",
    () =>
      Effect.gen(function* () {
        yield* freshWeek
        yield* imported(tournament({ slug: "known" }))
        for (const [path, status] of [
          ["/archive/unknown", 404],
          ["/archive/Known", 404],
          ["/archive/known?cursor=x", 400],
          ["/archive?cursor=x", 400],
          ["/archive/known", 200]
        ] as const) {
          const page = yield* get(path)
          assert.strictEqual(page.status, status, path)
          assert.match(page.headers.get("content-type") ?? "", /^text\/html/)
          assert.isNull(page.headers.get("set-cookie"))
        }
      })
  )
})
