/** The files that pages refer to. Their names hold a hash of their content, so browsers may cache them for ever; two are asked for by name. */
import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { scripts } from "./scripts.ts"

export interface Asset {
  /** Below the base URL. */
  readonly path: `/${string}`
  readonly contentType: string
  readonly bytes: Uint8Array
}

const asset = (file: string, contentType: string, parts: ReadonlyArray<string> = [file]): Asset => {
  const bytes = Buffer.concat(parts.map((part) => readFileSync(new URL(part, import.meta.url))))
  const hash = createHash("sha256").update(bytes).digest("base64url").slice(0, 12)
  return { path: `/assets/${file.replace(".", `.${hash}.`)}`, contentType, bytes }
}

export const stylesheet = asset("style.css", "text/css; charset=utf-8", [
  "style.css",
  "site.css",
  "charts.css"
])
export const icon = asset("icon.svg", "image/svg+xml")

/** Crawlers read what is for everybody, and neither accounts nor what a query may choose without end. */
const robots = [
  "User-agent: *",
  "Disallow: /account",
  "Disallow: /sign-in",
  "Disallow: /claim",
  "Disallow: /api/",
  ""
]

/** What browsers and crawlers ask for by itself. */
export const wellKnown: ReadonlyArray<Asset> = [
  { ...icon, path: "/favicon.ico" },
  { path: "/robots.txt", contentType: "text/plain; charset=utf-8", bytes: Buffer.from(robots.join("\n")) }
]

export const assets: ReadonlyArray<Asset> = [stylesheet, icon, ...scripts]
