/** Checks pages for people with poor sight or small screens: axe's findings, and parts that do not fit. */
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import type { AxeResults, RunOptions } from "axe-core"
import type { Browser, Page } from "playwright-core"

const axe = readFileSync(fileURLToPath(import.meta.resolve("axe-core/axe.min.js")), "utf8")

declare global {
  interface Window {
    readonly axe: { readonly run: (options: RunOptions) => Promise<AxeResults> }
  }
}

/** The violations that axe finds, each with its place. */
export const violations = async (page: Page, options: RunOptions): Promise<ReadonlyArray<string>> => {
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axe)
  const found = await page.evaluate((wanted) => window.axe.run(wanted), options)
  return found.violations.flatMap(({ help, id, nodes }) =>
    nodes.map(({ html }) => `${id}: ${help}: ${html.slice(0, 200)}`)
  )
}

export const everything: RunOptions = {
  runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
  resultTypes: ["violations"]
}
/** Options for a page that differs from the other only in its colours. */
const coloursOnly: RunOptions = {
  runOnly: { type: "rule", values: ["color-contrast", "link-in-text-block"] }
}

export const overflow = (page: Page) =>
  page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)

/** The innermost element that extends farthest to the right. */
const widestPart = (page: Page) =>
  page.evaluate(() => {
    const parts = [...document.querySelectorAll("body *")].filter(
      (part) => part.parentElement?.closest(".wide") === null
    )
    const ends = parts.map((part) => part.getBoundingClientRect().right)
    return parts[ends.lastIndexOf(Math.max(...ends))]?.outerHTML.slice(0, 200)
  })

/**
 * Machine texts in texts for people: ISO time stamps, and numbers with more than six decimals, or below a hundredth with six digits.
 * Code may have both.
 */
const machineText = (page: Page): Promise<ReadonlyArray<string>> =>
  page.evaluate(() => {
    const found: Array<string> = []
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
      const text = node.textContent ?? ""
      if (node.parentElement?.closest("code, pre, script, .written") !== null) continue
      if (/\d{4}-\d\d-\d\dT\d|\d\.(?!0{2,}[1-9]\d{0,5}(?!\d))\d{7}/.test(text))
        found.push(`text for machines: ${text.trim().slice(0, 80)}`)
    }
    return found
  })

/** Texts that overlap: labels of drawings, and lines of a page. */
const collisions = (page: Page): Promise<ReadonlyArray<string>> =>
  page.evaluate(() => {
    /** True for texts that only screen readers get. */
    const isUnseen = (element: Element | null): boolean =>
      element !== null && (element.getBoundingClientRect().width <= 1 || isUnseen(element.parentElement))
    const shown: Array<{ readonly text: string; readonly box: DOMRect; readonly node: Node }> = []
    const walker = document.createTreeWalker(
      document.querySelector("main") ?? document.body,
      NodeFilter.SHOW_TEXT
    )
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
      const text = node.textContent?.trim() ?? ""
      // The text in a scrolling box continues below other elements.
      if (text === "" || isUnseen(node.parentElement) || node.parentElement?.closest("pre") !== null) continue
      const range = document.createRange()
      range.selectNodeContents(node)
      for (const box of range.getClientRects()) if (box.width > 1) shown.push({ text, box, node })
    }
    shown.sort((a, b) => a.box.top - b.box.top)
    return shown.flatMap(({ box, node, text }, index) => {
      const found: Array<string> = []
      for (const other of shown.slice(index + 1)) {
        // A box includes the line's own space above and below its letters.
        if (other.box.top >= box.bottom - 4) break
        if (other.node !== node && box.left < other.box.right - 1 && other.box.left < box.right - 1) {
          found.push(`texts collide: "${text.slice(0, 40)}" and "${other.text.slice(0, 40)}"`)
        }
      }
      return found
    })
  })

/** Checks pages one after the other, with everything open that can be opened. */
export const lookAt = async (
  browser: Browser,
  baseURL: string,
  paths: ReadonlyArray<string>,
  cookies: ReadonlyMap<string, string> = new Map()
) => {
  const complaints: Array<string> = []
  const context = await browser.newContext({
    baseURL,
    viewport: { width: 1280, height: 900 },
    // A colour in transition would have the wrong contrast.
    reducedMotion: "reduce"
  })
  await context.addCookies([...cookies].map(([name, value]) => ({ name, value, url: baseURL })))
  const page = await context.newPage()
  page.on("console", (message) => {
    if (message.type() === "error" && !message.text().includes("status of 4")) complaints.push(message.text())
  })
  page.on("request", (request) => {
    if (!request.url().startsWith(baseURL)) complaints.push(`${page.url()} asks ${request.url()}`)
  })
  for (const path of paths) {
    const of = (found: ReadonlyArray<string>) => complaints.push(...found.map((each) => `${path}: ${each}`))
    await page.goto(path)
    await page.evaluate(() => {
      for (const details of document.querySelectorAll("details")) details.open = true
    })
    await page.emulateMedia({ colorScheme: "light" })
    of(await violations(page, everything))
    await page.emulateMedia({ colorScheme: "dark" })
    of(await violations(page, coloursOnly))
    of(await machineText(page))
    for (const width of [1280, 390, 320]) {
      await page.setViewportSize({ width, height: 900 })
      const wider = await overflow(page)
      if (wider > 0)
        complaints.push(`${path}: at ${width} px ${wider} px too wide: ${await widestPart(page)}`)
      if (width >= 390) of((await collisions(page)).map((each) => `at ${width} px ${each}`))
    }
    await page.setViewportSize({ width: 1280, height: 900 })
  }
  await context.close()
  return complaints
}
