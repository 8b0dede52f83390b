/** Pages on the screen of a phone, in a real Chromium. */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Skill } from "../../src/services/Skill.ts"
import { isFull } from "../support/breadth.ts"
import * as chromium from "../support/chromium.ts"
import { publicFixture } from "../support/publicFixture.ts"
import { testServer } from "../support/server.ts"

const phone = { viewport: { width: 390, height: 844 } }

layer(Layer.mergeAll(testServer(), chromium.layer))("Pages on a phone", (it) => {
  it.effect.runIf(isFull)(
    "Intervals have the numbers of their axis above them, and what is read first comes first",
    () =>
      Effect.gen(function* () {
        const world = yield* publicFixture
        yield* Skill.use((skill) => skill.countDue)
        const { does } = yield* chromium.reader("", phone)
        for (const path of ["/leaderboard", "/leaderboard?order=average", `/agents/${world.first}`]) {
          yield* does(async (page) => {
            await page.goto(path)
            const boards = await page.locator("table.board").all()
            assert.isNotEmpty(boards, path)
            for (const board of boards) {
              const head = await board.locator("thead .scale").boundingBox()
              const tick = await board.locator("thead .scale text.tick").first().boundingBox()
              const drawing = await board.locator("tbody svg.interval").first().boundingBox()
              assert.isAbove(head?.width ?? 0, phone.viewport.width / 2, path)
              assert.isBelow(tick?.y ?? Infinity, drawing?.y ?? 0, path)
            }
          })
        }
        for (const path of [`/agents/${world.first}`, `/challenges/${world.settled.id}`, "/assets/GC"]) {
          yield* does(async (page) => {
            await page.goto(path)
            const chart = await page.locator(".first svg.drawing").first().boundingBox()
            const facts = await page.locator(".beside .facts").first().boundingBox()
            const last = await page.locator(".first > :last-child").boundingBox()
            assert.isBelow(chart?.y ?? Infinity, facts?.y ?? 0, path)
            assert.isBelow(facts?.y ?? Infinity, last?.y ?? 0, path)
          })
        }
      }).pipe(Effect.scoped)
  )
})
