/**
 * The scripts for browsers: live pages, the verifier, and the page around it. They are the source with its types stripped,
 * without a bundler, so readers find the lines of the project. Modules keep their relative names in one folder, whose name
 * is a hash of all of them.
 */
import { createHash } from "node:crypto"
import { readFileSync, readdirSync } from "node:fs"
import { stripTypeScriptTypes } from "node:module"

const source = new URL("../../../", import.meta.url)
const folders = ["scoring/verifier", "http/site/assets/inBrowser"]

/** Suppresses Node's warning that the function is experimental. */
const withoutTypes = (text: string): string => {
  const { emitWarning } = process
  process.emitWarning = () => {}
  try {
    return stripTypeScriptTypes(text)
  } finally {
    process.emitWarning = emitWarning
  }
}

const modules = folders
  .flatMap((folder) => readdirSync(new URL(folder, source)).map((file) => `${folder}/${file}`))
  .sort()
  .map((path) => ({ path, text: withoutTypes(readFileSync(new URL(path, source), "utf8")) }))

const hash = modules
  .reduce((digest, { path, text }) => digest.update(`${path}\0${text}\0`), createHash("sha256"))
  .digest("base64url")
  .slice(0, 12)

const pathOf = (path: string) => `/assets/scripts.${hash}/${path}` as const

export const scripts = modules.map(({ path, text }) => ({
  path: pathOf(path),
  contentType: "text/javascript; charset=utf-8",
  bytes: Buffer.from(text)
}))

/** The entry modules. */
export const verifyScript = pathOf("http/site/assets/inBrowser/verifyPage.ts")
export const sortingScript = pathOf("http/site/assets/inBrowser/sorting.ts")
/** The module that only Chinese pages of the verifier load. */
export const chineseScript = pathOf("http/site/assets/inBrowser/verifierInChinese.ts")
export const liveScript = pathOf("http/site/assets/inBrowser/live.ts")
