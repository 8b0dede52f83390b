/**
 * Pages in a real Chromium, in light and dark: axe finds no violation, nothing is wider than the screen, nothing is loaded
 * from elsewhere. The full run checks every page, other runs one of the most important ones.
 */
import { brotliCompressSync } from "node:zlib"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { pagePaths, withLanguage } from "../../src/http/site/paths.ts"
import { Archive, TournamentImport } from "../../src/services/Archive.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import { Skill } from "../../src/services/Skill.ts"
import { isFull, oneIn } from "../support/breadth.ts"
import { everything, lookAt, violations } from "../support/accessibility.ts"
import { claimableByHttp, linksMailedTo, signInLink } from "../support/agents.ts"
import { moveTo } from "../support/challenges.ts"
import * as chromium from "../support/chromium.ts"
import { publicFixture } from "../support/publicFixture.ts"
import { testServer, TestServer } from "../support/server.ts"
import { tournament } from "../support/tournaments.ts"

/** The first page's first byte comes soon, and all files that it needs at once are small. */
const warmAndSmall = (url: string) =>
  Effect.promise(async () => {
    const page = await (await fetch(url)).text()
    const needed = [...page.matchAll(/<link rel="(?:stylesheet|icon)"[^>]* href="([^"]+)"/g)].map(
      ([, path = ""]) => path
    )
    assert.isAtMost(1 + needed.length, 4)
    const files = await Promise.all(needed.map(async (path) => (await fetch(url + path)).arrayBuffer()))
    const bytes = files.reduce((sum, file) => sum + brotliCompressSync(Buffer.from(file)).byteLength, 0)
    assert.isAtMost(brotliCompressSync(page).byteLength + bytes, 60_000)
  })

layer(Layer.mergeAll(testServer(), chromium.layer))("The site in a browser", (it) => {
  it.effect.skipIf(isFull)(
    "A page of those that are read most is accessible, fits any screen, and loads nothing from elsewhere",
    () =>
      Effect.gen(function* () {
        const { url } = yield* TestServer
        const browser = yield* chromium.Chromium
        const world = yield* publicFixture
        yield* Skill.use((skill) => skill.countDue)
        const complaints = yield* Effect.promise(() =>
          lookAt(
            browser,
            url,
            oneIn(3, [pagePaths.leaderboard, `/challenges/${world.settled.id}`, `/agents/${world.first}`])
          )
        )
        assert.deepStrictEqual(complaints, [])
      })
  )

  it.effect.runIf(isFull)(
    "Every page for everybody is accessible, fits any screen, and loads nothing from elsewhere",
    () =>
      Effect.gen(function* () {
        const { url } = yield* TestServer
        const browser = yield* chromium.Chromium
        const empty = yield* Effect.promise(() =>
          lookAt(browser, url, ["/", "/leaderboard", "/challenges", "/events", "/archive"])
        )
        assert.deepStrictEqual(empty, [])

        const world = yield* publicFixture
        yield* Skill.use((skill) => skill.countDue)
        const cup = yield* Schema.decodeEffect(TournamentImport)(tournament())
        yield* Archive.use((archive) => archive.import(cup))
        const open = yield* Effect.promise(() =>
          lookAt(browser, url, [
            pagePaths.home,
            pagePaths.leaderboard,
            "/leaderboard?order=average",
            `/compare?a=${world.first}&b=${world.agents[1] ?? ""}`,
            pagePaths.methods,
            pagePaths.challenges,
            "/challenges?status=resolved&type=directional",
            "/challenges?category=crypto",
            "/challenges?asset=GC&status=resolved",
            "/assets/GC",
            "/assets/ETH?range=1w",
            "/assets/CPI",
            "/search",
            "/docs",
            pagePaths.howItWorks,
            pagePaths.scoring,
            pagePaths.start,
            pagePaths.log,
            pagePaths.status,
            "/search?q=gold",
            `/challenges/${world.open.id}`,
            `/challenges/${world.settled.id}`,
            `/challenges/${world.pool.id}`,
            `/challenges/${world.openMacro.id}`,
            `/agents/${world.first}`,
            `/agents/${world.newcomer}`,
            `/agents/${world.first}/predictions`,
            "/leaderboard?provider=openlab",
            "/?lang=zh",
            "/scoring?lang=zh",
            "/verify?lang=zh",
            `/challenges/${world.settled.id}?lang=zh`,
            `/challenges/${world.openMacro.id}?lang=zh`,
            `/agents/${world.first}?lang=zh`,
            `/events/${world.event}?lang=zh`,
            pagePaths.events,
            `/events/${world.event}`,
            `/events/${world.event}/comments/${world.thread}`,
            pagePaths.archive,
            `/archive/${cup.slug}`,
            pagePaths.verify,
            "/challenges/nothing"
          ])
        )
        assert.deepStrictEqual(open, [])
        yield* moveTo(world.end)
        yield* Scoring.use((scoring) => scoring.settleDue)
        yield* warmAndSmall(url)
        const ended = yield* Effect.promise(() =>
          lookAt(
            browser,
            url,
            [world.barrier, world.close, world.threshold].map(({ id }) => `/challenges/${id}`)
          )
        )
        assert.deepStrictEqual(ended, [])
      })
  )

  it.effect.runIf(isFull)("Pages for owners are accessible, too", () =>
    Effect.gen(function* () {
      const { url } = yield* TestServer
      const browser = yield* chromium.Chromium
      const agent = yield* claimableByHttp({ name: "First Light", operator_contact: "ada@example.org" })
      const link = (yield* linksMailedTo("ada@example.org")).find((path) => /mail\/[^/]+$/.test(path)) ?? ""
      const paths = [agent.path, link, `${link}/not-mine`, "/sign-in"]
      const inChinese = paths.map((path) => withLanguage(path, "zh"))
      assert.deepStrictEqual(yield* Effect.promise(() => lookAt(browser, url, [...paths, ...inChinese])), [])

      const page = yield* Effect.promise(() => browser.newPage({ baseURL: url }))
      yield* Effect.promise(async () => {
        await page.goto("/sign-in")
        await page.getByLabel("E-mail address").fill("grace@example.org")
        await page.getByRole("button", { name: "Send me a sign-in link" }).click()
      })
      const signIn = yield* signInLink("grace@example.org")
      const signedIn = yield* Effect.promise(async () => {
        await page.goto(signIn)
        const before = await violations(page, everything)
        await page.getByRole("button", { name: "Sign in" }).click()
        const account = await violations(page, everything)
        await page.goto(agent.path)
        return [...before, ...account, ...(await violations(page, everything))]
      })
      assert.deepStrictEqual(signedIn, [])
    })
  )
})
