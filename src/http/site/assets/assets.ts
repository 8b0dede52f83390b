/** The files that pages refer to. Their names hold a hash of their content, so browsers may cache them for ever; one file has a fixed name. */
import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { scripts } from "./scripts.ts"

export interface Asset {
  /** The path below the base URL. */
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

/** Browsers request this path by themselves. */
export const wellKnown: ReadonlyArray<Asset> = [{ ...icon, path: "/favicon.ico" }]

export const assets: ReadonlyArray<Asset> = [stylesheet, icon, ...scripts]
