/**
 * What runs in browsers: the verifier of the track record, and the page around it. It is the source itself with its
 * types stripped, as Node runs it: no bundler, and whoever looks at what a browser got finds the lines of the project.
 * Modules keep their relative names below one folder, which is named by a hash of them all.
 */
import { createHash } from "node:crypto"
import { readFileSync, readdirSync } from "node:fs"
import { stripTypeScriptTypes } from "node:module"

const source = new URL("../../../", import.meta.url)
const folders = ["scoring/verifier", "http/site/assets/inBrowser"]
const entrance = "http/site/assets/inBrowser/verifyPage.ts"

/** Node warns that the function is experimental, while it is how Node runs this program: nobody has to read that. */
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

const pathOf = (path: string) => `/assets/verifier.${hash}/${path}` as const

export const scripts = modules.map(({ path, text }) => ({
  path: pathOf(path),
  contentType: "text/javascript; charset=utf-8",
  bytes: Buffer.from(text)
}))

/** The module that a page names; it imports the others. */
export const verifyScript = pathOf(entrance)
