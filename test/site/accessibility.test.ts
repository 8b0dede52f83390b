/**
 * In a real Chromium: no violation that axe finds, in light and dark, nothing wider than the screen, nothing loaded from
 * elsewhere. Every other page is looked at in accessibility.long.test.ts.
 */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { pagePaths } from "../../src/http/site/paths.ts"
import { lookAt } from "../support/accessibility.ts"
import * as chromium from "../support/chromium.ts"
import { publicWorld } from "../support/publicFixture.ts"
import { testServer, TestServer } from "../support/server.ts"

layer(Layer.mergeAll(testServer(), chromium.layer), { timeout: "60 seconds" })("In a browser", (it) => {
  it.effect(
    "pages for everybody are accessible, fit any screen, and load nothing from elsewhere",
    () =>
      Effect.gen(function* () {
        const { url } = yield* TestServer
        const browser = yield* chromium.Chromium
        const world = yield* publicWorld
        const complaints = yield* Effect.promise(() =>
          lookAt(browser, url, [
            pagePaths.home,
            pagePaths.leaderboard,
            `/challenges/${world.settled.id}`,
            `/challenges/${world.pool.id}`,
            `/agents/${world.first}`,
            `/events/${world.event}`
          ])
        )
        assert.deepStrictEqual(complaints, [])
      }),
    60_000
  )

  it.effect("the API reference loads nothing from elsewhere", () =>
    Effect.gen(function* () {
      const { url } = yield* TestServer
      const browser = yield* chromium.Chromium
      const asked = yield* Effect.promise(async () => {
        const page = await browser.newPage({ baseURL: url })
        const others: Array<string> = []
        page.on("request", (request) => {
          if (!/^(data|blob):/.test(request.url()) && !request.url().startsWith(url))
            others.push(request.url())
        })
        await page.goto("/docs")
        await page.getByText("Registration").first().waitFor()
        await page.close()
        return others
      })
      assert.deepStrictEqual(asked, [])
    })
  )
})
