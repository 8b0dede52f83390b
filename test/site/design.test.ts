/** The part of the design that a machine can check: every text is legible in light and in dark. */
import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"

const style = readFileSync(new URL("../../src/http/site/assets/style.css", import.meta.url), "utf8")

const coloursIn = (block: string) =>
  Object.fromEntries([...block.matchAll(/--([a-z-]+): (#[0-9a-f]{6});/g)].map(([, name, hex]) => [name, hex]))

const [light = "", dark = ""] = [...style.matchAll(/:root \{[^}]*\}/g)].map(([block]) => block)
const themes = { light: coloursIn(light), dark: { ...coloursIn(light), ...coloursIn(dark) } }

/** Relative luminance and contrast as WCAG 2.2 defines them. */
const luminance = (hex: string): number => {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5]
    .map((at) => Number.parseInt(hex.slice(at, at + 2), 16) / 255)
    .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4))
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

const contrast = (one: string, other: string): number => {
  const [lighter = 0, darker = 0] = [luminance(one), luminance(other)].sort((a, b) => b - a)
  return (lighter + 0.05) / (darker + 0.05)
}

const texts: ReadonlyArray<readonly [text: string, ground: string]> = [
  ...["ground", "surface", "sunken"].flatMap((ground) =>
    ["ink", "quiet", "accent", "problem"].map((text) => [text, ground] as const)
  ),
  ["ink", "info"],
  ["ink", "success-ground"],
  ["ink", "warning-ground"],
  ["ink", "problem-ground"],
  ["success", "surface"],
  ["warning", "surface"],
  ["problem", "problem-ground"],
  ["on-accent", "accent"],
  ["on-accent", "accent-strong"]
]

describe("The design", () => {
  it.each(["light", "dark"] as const)("Every text has a contrast of 4.5 or more, in %s", (theme) => {
    for (const [text, ground] of texts) {
      const ratio = contrast(String(themes[theme][text]), String(themes[theme][ground]))
      assert.isAtLeast(ratio, 4.5, `${text} on ${ground}`)
    }
  })

  it.each(["light", "dark"] as const)("The edges of fields have a contrast of 3 or more, in %s", (theme) => {
    for (const ground of ["ground", "surface"])
      assert.isAtLeast(contrast(String(themes[theme]["edge"]), String(themes[theme][ground])), 3)
  })

  it("The stylesheet loads nothing from elsewhere", () => {
    assert.notMatch(style, /url\(|@import|https?:/)
  })
})
