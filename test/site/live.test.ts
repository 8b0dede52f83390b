/** Open pages in a real browser: they count down, show the reader's own time, and update themselves. */
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Layer } from "effect"
import { Notices } from "../../src/services/Notices.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import { liveScript, scripts } from "../../src/http/site/assets/scripts.ts"
import { claimedAgent } from "../support/agents.ts"
import {
  freshWeek,
  importCandles,
  importQuotes,
  moveTo,
  newChallenge,
  plus,
  predict
} from "../support/challenges.ts"
import * as chromium from "../support/chromium.ts"
import { testServer } from "../support/server.ts"

const everything = Layer.merge(testServer(), chromium.layer)

const reader = (timezoneId: string) =>
  chromium.reader("Cross-Origin-Opener-Policy header has been ignored", { timezoneId, locale: "en-GB" })

layer(everything, { excludeTestServices: false })("A page that is left open", (it) => {
  it.effect("An open page shows a settlement within two seconds, and no more than a new one does", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const ada = yield* claimedAgent("Ada")
      const challenge = yield* newChallenge({ deadline: plus(monday, "1 minute") })
      yield* predict(ada, challenge)
      // Every instance watches for notices.
      yield* Effect.forkScoped(Notices.use(({ watch }) => watch))
      const { does, page } = yield* reader("UTC")
      yield* does(async () => {
        await page.goto(`/challenges/${challenge.id}`)
      })
      const deadline = DateTime.makeUnsafe(challenge.deadline)
      yield* moveTo(deadline)
      yield* importQuotes("GC", [[deadline, 110]])
      yield* Scoring.use(({ settleDue }) => settleDue)
      yield* does(async () => {
        await page.locator(".answer", { hasText: "Called it" }).waitFor({ timeout: 2000 })
        assert.include(await page.locator(".answer").innerText(), "Up")
        assert.strictEqual(await page.locator("#live").innerText(), "This page was brought up to date.")
      })
    }).pipe(Effect.scoped)
  )

  it.effect.each([
    ["America/New_York", / 2026 at (09|10):30 GMT-[45]$/],
    ["Asia/Shanghai", / 2026 at 22:30 GMT\+8$/]
  ] as const)("An open page shows times as they are in %s, with those of UTC beside them", ([zone, words]) =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const challenge = yield* newChallenge({ deadline: plus(monday, { hours: 14, minutes: 30 }) })
      const { does } = yield* reader(zone)
      yield* does(async (page) => {
        await page.goto(`/challenges/${challenge.id}`)
        const time = page.locator('.facts time[datetime$="T14:30:00.000Z"]:not(.countdown)').first()
        assert.match(await time.innerText(), words)
        assert.match((await time.getAttribute("title")) ?? "", / 2026 at 14:30 UTC$/)
      })
    }).pipe(Effect.scoped)
  )

  it.effect("An open page counts down", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const challenge = yield* newChallenge()
      const { does } = yield* reader("UTC")
      yield* does(async (page) => {
        await page.clock.install({ time: challenge.created_at })
        await page.goto(`/challenges/${challenge.id}`)
        const left = page.locator("time.countdown").first()
        const before = await left.innerText()
        await page.clock.runFor("02:00")
        assert.notStrictEqual(await left.innerText(), before)
        await page.clock.setSystemTime(challenge.deadline)
        await page.clock.runFor("00:02")
        assert.strictEqual(await left.innerText(), "a moment")
      })
    }).pipe(Effect.scoped)
  )
})

layer(everything)("A chart under a pointer", (it) => {
  it.effect("A chart under a pointer says the time and the value of what is nearest", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const hours = Array.from({ length: 30 }, (_, hour) => hour)
      yield* importCandles(
        "GC",
        "1h",
        hours.map((hour) => [plus(monday, { hours: hour }), 100 + hour])
      )
      yield* moveTo(plus(monday, { hours: 30 }))
      const { does } = yield* reader("UTC")
      yield* does(async (page) => {
        await page.goto("/assets/GC")
        const drawing = page.locator("svg.drawing[data-points]")
        const box = await drawing.boundingBox()
        assert(box !== null)
        await page.mouse.move(box.x + box.width - 8, box.y + 100)
        assert.match(await page.locator(".readout").innerText(), /^129 · \d+ March 2026 at 06:00 UTC$/)
        await page.mouse.move(box.x + 0.05 * box.width, box.y + 100)
        assert.match(await page.locator(".readout").innerText(), /^10\d · \d+ March 2026/)
      })
    }).pipe(Effect.scoped)
  )

  it.effect("The head of a column sorts the rows of a page, one way and then the other", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const agent = yield* claimedAgent("First Light")
      for (const [day, confidence] of [0.2, 0.8, 0.5].entries()) {
        const [now, deadline] = [plus(monday, { days: day }), plus(monday, { days: day, hours: 1 })]
        yield* moveTo(now)
        const question = yield* newChallenge({ deadline })
        yield* predict(agent, question, { confidence })
        yield* moveTo(deadline)
        yield* importQuotes("GC", [[deadline, 110]])
        yield* Scoring.use((scoring) => scoring.settleDue)
      }
      const { does } = yield* reader("UTC")
      yield* does(async (page) => {
        await page.goto(`/agents/${agent}/predictions`)
        const cells = (column: number) => page.locator(`tbody tr > :nth-child(${column})`).allInnerTexts()
        const points = (await cells(4)).map(Number)
        assert.strictEqual(new Set(points).size, 3)
        const head = page.getByRole("columnheader", { name: "Points" })
        await head.getByRole("button").click()
        const falling = points.toSorted((a, b) => b - a)
        assert.deepStrictEqual((await cells(4)).map(Number), falling)
        assert.strictEqual(await head.getAttribute("aria-sort"), "descending")
        await head.getByRole("button").click()
        assert.deepStrictEqual((await cells(4)).map(Number), falling.toReversed())
        await page.getByRole("columnheader", { name: "Predicted" }).getByRole("button").click()
        const days = [2, 1, 0].map((day) => DateTime.formatIsoDateUtc(plus(monday, { days: day })))
        assert.deepStrictEqual(
          await page
            .locator("tbody td:nth-child(5) time")
            .evaluateAll((times) => times.map((time) => time.getAttribute("datetime")?.slice(0, 10))),
          days
        )
        assert.isNull(await head.getAttribute("aria-sort"))
      })
    }).pipe(Effect.scoped)
  )

  it.effect("A press copies a line for an agent", () =>
    Effect.gen(function* () {
      const { does } = yield* reader("UTC")
      yield* does(async (page) => {
        await page.goto("/start")
        await page.context().grantPermissions(["clipboard-read", "clipboard-write"])
        await page.getByRole("button", { name: "Copy" }).click()
        await page.getByRole("button", { name: "Copied" }).waitFor()
        assert.match(
          await page.evaluate(() => navigator.clipboard.readText()),
          /^Read http.*skill\.md and follow it\.$/
        )
      })
    }).pipe(Effect.scoped)
  )
})

layer(Layer.empty)("The module of live pages", (it) => {
  it.effect("The module of live pages has less than 8 kB, with all that it takes", () =>
    Effect.sync(() => {
      const folder = liveScript.slice(0, liveScript.lastIndexOf("/") + 1)
      const parts = scripts.filter(({ path }) => [liveScript, `${folder}lengths.ts`].includes(path))
      assert.lengthOf(parts, 2)
      assert.isBelow(
        parts.reduce((sum, { bytes }) => sum + bytes.length, 0),
        8000
      )
    })
  )
})
