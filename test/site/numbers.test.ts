/** Numbers stay whole, and an owner's agents fit their column, measured in a real Chromium on screens of every width. */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { OperatorId } from "../../src/services/domain/ids.ts"
import { Skill } from "../../src/services/Skill.ts"
import { agentOf, ownerVisitor } from "../support/agents.ts"
import { breadth, oneIn } from "../support/breadth.ts"
import * as chromium from "../support/chromium.ts"
import { fundOwnerOf } from "../support/credit.ts"
import { publicFixture } from "../support/publicFixture.ts"
import { testServer, TestServer } from "../support/server.ts"

/** The numbers, percents and times of the page that stand on more than one line. */
const brokenNumbers = () => {
  const found: Array<string> = []
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  const number = /[-−+±#]?\d[\d.,:]*(?:[\s\u00A0]?%)?|[▲▼■]\s\S+/g
  for (let node = texts.nextNode(); node !== null; node = texts.nextNode()) {
    const holder = node.parentElement
    if (
      holder === null ||
      holder.closest("svg, pre, code, bdi, blockquote, .long-text, script, style, .unseen") !== null
    )
      continue
    const shown = node.textContent ?? ""
    const parts =
      holder.tagName === "TIME"
        ? [{ index: 0, text: shown }]
        : [...shown.matchAll(number)].map((match) => ({ index: match.index, text: match[0] }))
    for (const { index, text } of parts) {
      const range = document.createRange()
      range.setStart(node, index)
      range.setEnd(node, index + text.length)
      const lines = new Set(
        [...range.getClientRects()].filter(({ width }) => width > 0).map(({ top }) => Math.round(top))
      )
      if (lines.size > 1) found.push(`${text} in ${holder.tagName} ${holder.className}`)
    }
  }
  return found
}

layer(Layer.mergeAll(testServer(), chromium.layer))("A number", (it) => {
  it.effect(
    "A number never breaks, on no page of either language, and no page is wider than its screen of 390 or 1280 px",
    () =>
      Effect.gen(function* () {
        const world = yield* publicFixture
        yield* Skill.use((skill) => skill.countDue)
        const paths = oneIn(4, [
          "/",
          "/challenges",
          "/challenges?status=resolved",
          "/leaderboard",
          "/assets/GC",
          "/assets/CPI",
          `/agents/${world.first}`,
          `/agents/${world.first}/predictions`,
          `/challenges/${world.settled.id}`,
          `/challenges/${world.pool.id}`,
          `/challenges/${world.barrier.id}`,
          `/events/${world.event}`,
          "/search?q=gold",
          "/scoring",
          "/how-it-works",
          "/status",
          "/leaderboard?order=average"
        ])
        for (const width of [390, 1280]) {
          const { does } = yield* chromium.reader("", { viewport: { width, height: 900 } })
          for (const path of paths.flatMap((each) => [
            each,
            `${each}${each.includes("?") ? "&" : "?"}lang=zh`
          ])) {
            yield* does(async (page) => {
              await page.goto(path)
              await page.evaluate(() => {
                for (const details of document.querySelectorAll("details")) details.open = true
              })
              assert.deepStrictEqual(await page.evaluate(brokenNumbers), [], `${path} at ${width}`)
              const wide = await page.evaluate(() => document.documentElement.scrollWidth)
              assert.isAtMost(wide, width, `${path} at ${width}`)
            })
          }
        }
      }).pipe(Effect.scoped)
  )
})

layer(Layer.mergeAll(testServer(), chromium.layer))("An owner's dashboard", (it) => {
  it.effect("An owner's dashboard fits its column at every width, and nothing in it overlaps", () =>
    Effect.gen(function* () {
      const { url } = yield* TestServer
      const browser = yield* chromium.Chromium
      const { agent, visitor } = yield* ownerVisitor({ name: "First Light" })
      const owner = OperatorId.make(yield* fundOwnerOf(agent.agentId, 1234))
      yield* agentOf(owner)
      yield* agentOf(owner)
      yield* Effect.promise(async () => {
        for (const width of breadth([1180, 320], [1280, 1180, 1024, 390, 320])) {
          for (const lang of ["en", "zh"]) {
            const context = await browser.newContext({ baseURL: url, viewport: { width, height: 900 } })
            await context.addCookies([...visitor.cookies].map(([name, value]) => ({ name, value, url })))
            const page = await context.newPage()
            await page.goto(`/account?lang=${lang}`)
            const told = `${lang} at ${width}`
            assert.isAtMost(await page.evaluate(() => document.documentElement.scrollWidth), width, told)
            const board = await page.locator(".dashboard").boundingBox()
            const column = await page.locator("main").boundingBox()
            assert(board !== null && column !== null)
            assert.isAtMost(board.x + board.width, column.x + column.width, told)
            assert.strictEqual(await page.locator(".dashboard tbody tr").count(), 3, told)
            const problems = await page.evaluate(() => {
              const boxes = [...document.querySelectorAll(".dashboard tbody td, .dashboard tbody th")].map(
                (cell) => {
                  const range = document.createRange()
                  range.selectNodeContents(cell)
                  const inside = range.getBoundingClientRect()
                  const box = cell.getBoundingClientRect()
                  return { name: cell.textContent ?? "", box, isWide: inside.right > box.right + 1 }
                }
              )
              const overlaps = boxes.flatMap((one, index) =>
                boxes
                  .slice(index + 1)
                  .filter(
                    ({ box }) =>
                      box.left < one.box.right - 1 &&
                      one.box.left < box.right - 1 &&
                      box.top < one.box.bottom - 1 &&
                      one.box.top < box.bottom - 1
                  )
                  .map(({ name }) => `${one.name} on ${name}`)
              )
              return [
                ...overlaps,
                ...boxes.filter(({ isWide }) => isWide).map(({ name }) => `${name} is too wide`)
              ]
            })
            assert.deepStrictEqual(problems, [], told)
            await context.close()
          }
        }
      })
    })
  )
})
