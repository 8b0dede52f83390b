// @effect-diagnostics processEnv:off -- the package that unpacks the browser takes its place from the environment
/**
 * A real headless Chromium. On Linux (x64) it comes from an npm package, together with its libraries and font, so that nothing has to
 * be installed; elsewhere the machine's own Chrome is used.
 */
import { existsSync, mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { inflate } from "@sparticuz/chromium"
import { assert } from "@effect/vitest"
import { Clock, Context, Effect, Layer } from "effect"
import { chromium } from "playwright-core"
import type { Browser, BrowserContextOptions, LaunchOptions, Page } from "playwright-core"
import { inject } from "vitest"
import { until } from "./process.ts"
import { TestServer } from "./requests.ts"

export class Chromium extends Context.Service<Chromium, Browser>()("auspex/test/Chromium") {}

const archives = ["chromium.br", "fonts.tar.br", "al2023.tar.br"]

const packed = (file: string) =>
  fileURLToPath(new URL(`../bin/${file}`, import.meta.resolve("@sparticuz/chromium")))

/** The package's own configuration looks for the font in `/tmp`; pages crash if neither that nor the machine has one. */
const fontconfigOf = (fonts: string) =>
  `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>${fonts}</dir><cachedir>${join(fonts, "cache")}</cachedir></fontconfig>
`

/** The package unpacks into the temporary directory under fixed names, where runs and accounts would collide. */
const unpackInto = async (directory: string) => {
  const usual = process.env["TMPDIR"]
  process.env["TMPDIR"] = directory
  try {
    await Promise.all(archives.map((archive) => inflate(packed(archive))))
  } finally {
    if (usual === undefined) delete process.env["TMPDIR"]
    else process.env["TMPDIR"] = usual
  }
}

/** Unpacks once in a run, at the first call. */
const unpacked = Effect.gen(function* () {
  const directory = join(inject("scratch"), "chromium")
  const done = join(directory, "unpacked")
  if (mkdirSync(directory, { recursive: true }) === undefined) {
    // This uses the live clock: under a test clock the wait would never end.
    yield* until(
      "the browser is unpacked",
      Effect.sync(() => existsSync(done))
    ).pipe(Effect.provideService(Clock.Clock, Clock.Clock.defaultValue()))
    return directory
  }
  yield* Effect.promise(() => unpackInto(directory))
  writeFileSync(join(directory, "fonts", "fonts.conf"), fontconfigOf(join(directory, "fonts")))
  writeFileSync(done, "")
  return directory
})

const launchOptions =
  process.platform === "linux" && process.arch === "x64"
    ? Effect.map(unpacked, (directory): LaunchOptions => ({
        executablePath: join(directory, "chromium"),
        // It shows our own pages only, and a sandbox is available neither to root nor in most containers.
        args: ["--no-sandbox"],
        env: {
          LD_LIBRARY_PATH: join(directory, "al2023", "lib"),
          FONTCONFIG_FILE: join(directory, "fonts", "fonts.conf")
        }
      }))
    : Effect.succeed<LaunchOptions>({ channel: "chrome" })

export const layer = Layer.effect(
  Chromium,
  Effect.gen(function* () {
    const options = yield* launchOptions
    return yield* Effect.acquireRelease(
      Effect.promise(() => chromium.launch(options)),
      (browser) => Effect.promise(() => browser.close())
    )
  })
)

/**
 * A person with a browser of their own. Every complaint of the browser fails the test, except console messages with
 * `expected`.
 */
export const reader = Effect.fnUntraced(function* (expected: string, options: BrowserContextOptions = {}) {
  const browser = yield* Chromium
  const { url } = yield* TestServer
  const complaints: Array<string> = []
  const context = yield* Effect.acquireRelease(
    Effect.promise(() => browser.newContext({ baseURL: url, ...options })),
    (opened) => Effect.promise(() => opened.close())
  )
  const page = yield* Effect.promise(() => context.newPage())
  page.on("console", (message) => {
    if (message.type() === "error" && !message.text().includes(expected)) complaints.push(message.text())
  })
  page.on("pageerror", (error) => void complaints.push(error.message))
  const does = (steps: (page: Page) => Promise<unknown>) =>
    Effect.andThen(
      Effect.promise(() => steps(page)),
      Effect.sync(() => assert.deepStrictEqual(complaints, []))
    )
  return { complaints, context, page, does }
})
