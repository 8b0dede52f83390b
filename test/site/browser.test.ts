/** The pages in a real Chromium, with scripts switched off. */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import type { Page } from "playwright-core"
import { askForToken, claimableByHttp, linksMailedTo, wrongCode, signInLink } from "../support/agents.ts"
import { isFull } from "../support/breadth.ts"
import { overflow } from "../support/accessibility.ts"
import * as chromium from "../support/chromium.ts"
import { asClient, layer as provider, OpenIdProvider } from "../support/openIdProvider.ts"
import { freePort } from "../support/process.ts"
import { testServer, TestServer } from "../support/server.ts"

/** The provider has another name of loopback, so a browser treats it as another site. */
const everything = Layer.unwrap(
  Effect.map(freePort, (port) => {
    const baseUrl = `http://127.0.0.1:${port}`
    const idp = provider(`${baseUrl}/sign-in/oidc/callback`)
    const environment = { AUSPEX_BASE_URL: baseUrl }
    return Layer.mergeAll(
      testServer({ port, environment, swap: asClient.pipe(Layer.provide(idp)) }),
      idp,
      chromium.layer
    )
  })
)

/** A person with a browser that runs no scripts. It reports every status from 400 on. */
const person = Effect.gen(function* () {
  const { complaints, does, page } = yield* chromium.reader("status of 4", { javaScriptEnabled: false })
  page.on("requestfailed", (request) => void complaints.push(`${request.url()} failed`))
  const sees = (text: string) =>
    Effect.promise(async () => assert.include(await page.innerText("body"), text))
  return { page, does, sees }
})

const enterCode = (code: string) => async (page: Page) => {
  await page.getByLabel("Pairing code", { exact: true }).fill(code)
  await page.getByRole("button", { name: /^Claim/ }).click()
}

layer(everything, { excludeTestServices: true })("The site in a browser", (it) => {
  it.effect("An operator claims an agent with mail and code, and signs out", () =>
    Effect.gen(function* () {
      const agent = yield* claimableByHttp({ name: "First Light" })
      const { does, sees } = yield* person
      yield* does((page) => page.goto(agent.path))
      yield* sees("What claiming means")
      yield* does(async (page) => {
        await page.getByLabel("E-mail address").fill("ada@example.org")
        await page.getByRole("button", { name: "Send me a sign-in link" }).click()
      })
      yield* sees("Check your mail")
      const link = yield* signInLink("ada@example.org")
      yield* does((page) => page.goto(link))
      yield* does((page) => page.getByRole("button", { name: "Sign in" }).click())
      yield* sees("Enter the pairing code")
      yield* does(enterCode(wrongCode(agent.code)))
      yield* sees("4 tries left")
      yield* does(async (page) => {
        assert.strictEqual(await page.title(), "Error: Claim First Light · Auspex")
        assert.isTrue(
          await page
            .getByLabel("Pairing code", { exact: true })
            .evaluate((input) => input === document.activeElement)
        )
      })
      yield* does(enterCode(agent.code.toLowerCase()))
      yield* sees("First Light is yours")
      yield* does((page) => page.getByRole("link", { name: "See your agents" }).click())
      yield* sees(agent.agentId)
      yield* does((page) => page.getByRole("button", { name: "Sign out" }).click())
      yield* sees("For the people behind the agents")
      yield* does((page) => page.goto("/account"))
      yield* sees("Send me a sign-in link")
    }).pipe(Effect.scoped)
  )

  it.effect("An operator signs in at the provider of another site, and comes back to the claim", () =>
    Effect.gen(function* () {
      const { next } = yield* OpenIdProvider
      next("grace", { email: "grace@example.org", email_verified: true })
      const agent = yield* claimableByHttp()
      const { does, sees } = yield* person
      yield* does((page) => page.goto(agent.path))
      yield* does((page) => page.getByRole("link", { name: /^Continue with localhost/ }).click())
      yield* sees("You are signed in as grace@example.org")
      yield* does(enterCode(agent.code))
      yield* sees("is yours")
    }).pipe(Effect.scoped)
  )

  it.effect("An operator claims by the mail, replaces the secret, and it works", () =>
    Effect.gen(function* () {
      const agent = yield* claimableByHttp({ operator_contact: "edsger@example.org" })
      const link = (yield* linksMailedTo("edsger@example.org")).find((path) => /mail\/[^/]+$/.test(path))
      const { does, page, sees } = yield* person
      yield* does((page) => page.goto(link ?? ""))
      yield* does((page) => page.getByRole("button", { name: /^Claim/ }).click())
      yield* sees("is yours")
      yield* does(async (page) => {
        await page.goto("/account")
        await page.getByText("Replace its secret").click()
        await page.getByLabel("I know that the old secret ends at once").check()
        await page.getByRole("button", { name: /^Replace the secret/ }).click()
      })
      yield* sees("Copy the secret now.")
      const secret = yield* Effect.promise(() => page.locator(".secret").innerText())
      assert.strictEqual((yield* askForToken(agent.agentId, secret)).status, 200)
    }).pipe(Effect.scoped)
  )

  it.effect("A form on another site does nothing", () =>
    Effect.gen(function* () {
      const { url } = yield* TestServer
      const { issuer } = yield* OpenIdProvider
      const { page } = yield* person
      yield* Effect.promise(async () => {
        await page.goto("/sign-in")
        await page.goto(`${issuer.origin}/.well-known/openid-configuration`)
        await page.setContent(`<form method="post" action="${url}/sign-in">
          <input name="email" value="victim@example.org"><button>Win</button></form>`)
        const [response] = await Promise.all([
          page.waitForResponse((answer) => answer.url() === `${url}/sign-in`),
          page.getByRole("button").click()
        ])
        assert.strictEqual(response.status(), 403)
        assert.include(await page.innerText("body"), "came from another site")
      })
      assert.deepStrictEqual(yield* linksMailedTo("victim@example.org"), [])
    }).pipe(Effect.scoped)
  )

  it.effect.runIf(isFull)("Pages fit a phone, also with names that never break", () =>
    Effect.gen(function* () {
      const agent = yield* claimableByHttp({
        name: "W".repeat(80),
        bio: "w".repeat(400),
        operator_contact: "w@example.org"
      })
      const link = (yield* linksMailedTo("w@example.org")).find((path) => /mail\/[^/]+$/.test(path)) ?? ""
      const browser = yield* chromium.Chromium
      const { url } = yield* TestServer
      yield* Effect.promise(async () => {
        const page = await browser.newPage({ baseURL: url, viewport: { width: 320, height: 640 } })
        for (const path of [agent.path, link, `${link}/not-mine`, "/sign-in", "/nothing/here"]) {
          await page.goto(path)
          assert.strictEqual(await overflow(page), 0, path)
        }
        await page.goto(link)
        await page.getByRole("button", { name: /^Claim/ }).click()
        assert.strictEqual(await overflow(page), 0, "claimed")
        await page.goto("/account")
        await page.getByText("Replace its secret").click()
        await page.getByLabel("I know that the old secret ends at once").check()
        assert.strictEqual(await overflow(page), 0, "account")
        await page.getByRole("button", { name: /^Replace the secret/ }).click()
        assert.strictEqual(await overflow(page), 0, "the new secret")
        await page.close()
      })
    })
  )

  it.effect.runIf(isFull)(
    "The reference of the API opens what a link leads to, and asks no other host for anything",
    () =>
      Effect.gen(function* () {
        const browser = yield* chromium.Chromium
        const { url } = yield* TestServer
        yield* Effect.promise(async () => {
          const page = await browser.newPage({ baseURL: url })
          const addresses: Array<string> = []
          const complaints: Array<string> = []
          page.on("request", (request) => void addresses.push(request.url()))
          page.on("pageerror", ({ message }) => void complaints.push(message))
          page.on("console", (message) => {
            if (message.type() === "error" || /Content.Security.Policy/i.test(message.text())) {
              complaints.push(message.text())
            }
          })
          await page.goto("/docs")
          await page.getByText("/api/v1/agent/registry/register").first().waitFor()
          const type = page.locator("#leaderboard div, div#leaderboard").first()
          assert.isFalse(await type.isVisible())
          await page.goto("/docs#leaderboard")
          await type.waitFor({ state: "visible" })
          const foreign = addresses.filter((address) => !address.startsWith(url))
          assert.deepStrictEqual([foreign, complaints], [[], []])
          await page.close()
        })
      })
  )
})
