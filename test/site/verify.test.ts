/** Checks of a proof in a real browser: the page shows the verifier's results. */
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { BrowserContextOptions, Page } from "playwright-core"
import { onboardClaimed } from "../support/agents.ts"
import { isFull } from "../support/breadth.ts"
import { overflow } from "../support/accessibility.ts"
import * as chromium from "../support/chromium.ts"
import { freshWeek, newChallenge, newMacro, plus } from "../support/challenges.ts"
import { times } from "../support/concurrently.ts"
import { noteKey } from "../support/provenLog.ts"
import { get, member, post, testServer, TestServer } from "../support/server.ts"
import { completeLog } from "../support/logbook.ts"
import { testAdminToken } from "../support/settings.ts"
import { settledFixture } from "../support/settledFixture.ts"

const everything = Layer.merge(testServer(), chromium.layer)

/** At an untrustworthy address the browser ignores one of our headers and reports that. */
const reader = (options?: BrowserContextOptions) =>
  chromium.reader("Cross-Origin-Opener-Policy header has been ignored", options)

const outcomeOf = async (page: Page) => {
  await page.locator("#outcome").waitFor()
  return page.locator("#outcome").innerText()
}

const changedAt = (text: string, at: number): string =>
  text.slice(0, at) + (text[at] === "A" ? "B" : "A") + text.slice(at + 1)

layer(everything, { excludeTestServices: false })("/verify in a browser", (it) => {
  it.effect("A link to a proof of this site is checked by one click, and shows the prediction", () =>
    Effect.gen(function* () {
      const { ada, challenge } = yield* settledFixture()
      const { does } = yield* reader()
      yield* does(async (page) => {
        await page.goto(`/challenges/${challenge.id}`)
        await page.getByRole("link", { name: "Check Ada's prediction in the browser" }).click()
        const outcome = await outcomeOf(page)
        assert.include(outcome, "The proof holds.")
        for (const words of [ada, challenge.id, "bullish", "0.875"]) assert.include(outcome, words, outcome)
        assert.strictEqual(await page.locator("#outcome li .badge.success").count(), 4)
        assert.isTrue(await page.locator("#outcome").evaluate((found) => found === document.activeElement))
      })
    }).pipe(Effect.scoped)
  )

  it.effect.runIf(isFull)("A reader who comes back, or loads the page again, finds the proof checked", () =>
    Effect.gen(function* () {
      const { challenge } = yield* settledFixture()
      const { does } = yield* reader()
      yield* does(async (page) => {
        for (const visit of ["first", "second", "third"]) {
          await page.goto(`/challenges/${challenge.id}`)
          await page.getByRole("link", { name: "Check Ada's prediction in the browser" }).click()
          assert.include(await outcomeOf(page), "The proof holds.", visit)
          // The browser revalidates its stored copy of the page.
          await page.waitForTimeout(1100)
          await page.reload()
          assert.include(await outcomeOf(page), "The proof holds.", `${visit}, again`)
        }
      })
    }).pipe(Effect.scoped)
  )

  it.effect.runIf(isFull)("A reader of Chinese is told in Chinese, of what holds and of what does not", () =>
    Effect.gen(function* () {
      const { challenge, right } = yield* settledFixture()
      const { text } = yield* get(`/api/v1/log/proof/${right.commit}`)
      const { does } = yield* reader()
      yield* does(async (page) => {
        const sentence = /[A-Za-z]{3,} [a-z]{2,} [a-z]{2,}/
        // A question has its administrator's wording.
        const ownWords = (page: string) => page.replaceAll(challenge.question, "")
        await page.goto(`/verify?proof=/api/v1/log/proof/${right.commit}&lang=zh`)
        const found = await outcomeOf(page)
        for (const words of ["证明成立。", "核对结果", "日志头已签名", "通过", "收到时间", challenge.id]) {
          assert.include(found, words, found)
        }
        assert.notMatch(ownWords(found), sentence)
        await page.getByLabel("证明", { exact: true }).fill(changedAt(text, text.length - 20))
        await page.getByRole("button", { name: "核对", exact: true }).click()
        await page.getByText("证明不成立。").waitFor()
        const failed = await outcomeOf(page)
        assert.match(failed, /“日志头已签名”一项未通过：.*的签名不符：内容被改动过。/)
        assert.notMatch(ownWords(failed), sentence)
        await page.goto("/verify?proof=/openapi.json&lang=zh")
        assert.include(await outcomeOf(page), "此链接所指的不是本站的证明。")
      })
    }).pipe(Effect.scoped)
  )

  it.effect(
    "A proof that is pasted or chosen is checked; one changed character fails, and says which check",
    () =>
      Effect.gen(function* () {
        const { right } = yield* settledFixture()
        const { text } = yield* get(`/api/v1/log/proof/${right.commit}`)
        const { does } = yield* reader()
        const paste = async (page: Page, proof: string) => {
          await page.getByLabel("The proof", { exact: true }).fill(proof)
          await page.getByRole("button", { name: "Check" }).click()
          return outcomeOf(page)
        }
        yield* does(async (page) => {
          await page.goto("/verify")
          assert.include(await paste(page, text), "The proof holds.")
          const ofExtra = changedAt(text, text.indexOf("extra ") + 60)
          assert.match(
            await paste(page, ofExtra),
            /does not hold[^]*(is a proof|in the log|was sealed): this check failed/
          )
          const ofPath = changedAt(text, text.indexOf("\n", text.indexOf("\nindex ") + 1) + 5)
          assert.include(await paste(page, ofPath), "The entry is in the log: this check failed")
          const ofSignature = changedAt(text, text.length - 20)
          assert.include(await paste(page, ofSignature), "The log's head is signed: this check failed")
          assert.notInclude(await paste(page, ofSignature), "bullish")
          const file = (content: string) => ({
            name: "a.tlog-proof",
            mimeType: "text/plain",
            buffer: Buffer.from(content)
          })
          await page.locator("#file").setInputFiles(file(text))
          await page.getByText("The proof holds.").waitFor()
          await page.locator("#file").setInputFiles(file(text.replaceAll("\n", "\r\n")))
          await page.getByText("CR LF").first().waitFor()
        })
      }).pipe(Effect.scoped)
  )

  it.effect("The key can be replaced by one from elsewhere, and a receipt be held against the proof", () =>
    Effect.gen(function* () {
      const { right, wrong, keys } = yield* settledFixture()
      const { does } = yield* reader()
      yield* does(async (page) => {
        await page.goto(`/verify?proof=/api/v1/log/proof/${right.commit}`)
        assert.include(await outcomeOf(page), "The proof holds.")
        // The page names the agent and the question.
        await page.locator('#outcome a[href^="/agents/"]', { hasText: "Ada" }).waitFor()
        await page.locator('#outcome a[href^="/challenges/"]', { hasText: "Gold" }).waitFor()
        const key = page.getByLabel("The log's key")
        assert.strictEqual(await key.inputValue(), keys.join("\n"))
        await key.fill(noteKey(keys[0]?.split("+")[0] ?? "").verifierKey)
        await page.getByRole("button", { name: "Check" }).click()
        await page.getByText("The proof does not hold.").waitFor()
        await key.fill("")
        await page.getByRole("button", { name: "Check" }).click()
        await page.getByText("This proves nothing yet.").waitFor()
        await key.fill(keys.join("\n"))
        await page.getByText("A receipt, and witnesses").click()
        await page.getByLabel("Your receipt").fill(JSON.stringify(right))
        await page.getByRole("button", { name: "Check" }).click()
        await page.getByText("The proof holds.").waitFor()
        await page.getByLabel("Your receipt").fill(JSON.stringify(wrong))
        await page.getByRole("button", { name: "Check" }).click()
        await page.getByText("The receipt is of another prediction").first().waitFor()
      })
    }).pipe(Effect.scoped)
  )

  it.effect("An answer of any form is said in words, from its receipt alone before it is revealed", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const { token } = yield* onboardClaimed()
      const [challenge, value, other] = [yield* newChallenge(), yield* newMacro(), yield* newMacro()]
      const made = yield* post("/api/v1/admin/macro/challenges", {
        token: testAdminToken,
        json: {
          asset: "FOMC",
          reward_pool: 0,
          period: "2026-03",
          deadline: DateTime.formatIso(plus(monday, "1 hour")),
          categories: [
            { name: "cut 25", probability: 0.25 },
            { name: "hold", probability: 0.65 },
            { name: "raise 25", probability: 0.1 }
          ]
        }
      })
      const answers = [
        [challenge.id, { probabilities: { bullish: 0.7, neutral: 0.2, bearish: 0.1 } }, "neutral 20 %"],
        [
          value.id,
          { quantiles: times(3, (index) => ({ p: (index + 1) / 4, value: index })) },
          "50 % at most 1"
        ],
        [other.id, { samples: times(10, (index) => index) }, "10: 0, 1, 2"],
        [
          String(member(made.json, "id")),
          { probabilities: { "cut 25": 0.1, hold: 0.9, "raise 25": 0 } },
          "cut 25 10 %, hold 90 %"
        ]
      ] as const
      const receipts: Array<{ readonly text: string; readonly commit: string; readonly words: string }> = []
      for (const [id, json, words] of answers) {
        const {
          json: receipt,
          status,
          text
        } = yield* post(`/api/v1/eval/challenges/${id}/predict`, { token, json })
        assert.strictEqual(status, 201, text)
        receipts.push({ text, commit: String(member(receipt, "receipt", "commit")), words })
      }
      yield* completeLog
      const { does } = yield* reader()
      yield* does(async (page) => {
        for (const { commit, text, words } of receipts) {
          await page.goto(`/verify?proof=/api/v1/log/proof/${commit}`)
          await outcomeOf(page)
          await page.getByText("A receipt, and witnesses").click()
          await page.getByLabel("Your receipt").fill(text)
          await page.getByRole("button", { name: "Check" }).click()
          await page.getByText("It is what the receipt says").first().waitFor()
          const outcome = await outcomeOf(page)
          assert.include(outcome, "The proof holds.")
          assert.include(outcome, words)
        }
      })
    }).pipe(Effect.scoped)
  )

  it.effect("A link that leads elsewhere fetches nothing", () =>
    Effect.gen(function* () {
      yield* completeLog
      const { does, page } = yield* reader()
      const addresses: Array<string> = []
      page.on("request", (request) => void addresses.push(request.url()))
      const { url } = yield* TestServer
      yield* does(async () => {
        for (const proof of [
          "https://evil.example/x",
          "//evil.example/api/v1/log/x",
          "/openapi.json",
          "/api/v1/log/../../x",
          "\\\\evil"
        ]) {
          await page.goto(`/verify?proof=${encodeURIComponent(proof)}`)
          assert.include(await outcomeOf(page), "names no proof of this site", proof)
        }
      })
      assert.isTrue(
        addresses.every(
          (address) => address.startsWith(`${url}/verify`) || address.startsWith(`${url}/assets/`)
        )
      )
    }).pipe(Effect.scoped)
  )

  it.effect("An empty form, and a site that does not answer, are said for what they are", () =>
    Effect.gen(function* () {
      yield* completeLog
      const { page } = yield* reader()
      yield* Effect.promise(async () => {
        await page.goto("/verify")
        await page.getByRole("button", { name: "Check" }).click()
        assert.include(await outcomeOf(page), "No proof is there.")
        assert.notInclude(await outcomeOf(page), "does not hold")
        await page.route(
          ({ pathname }) => pathname.startsWith("/api/v1/log/"),
          (route) => route.abort()
        )
        await page.goto("/verify?proof=/api/v1/log/proof/x")
        assert.include(await outcomeOf(page), "The proof could not be loaded.")
      })
    }).pipe(Effect.scoped)
  )

  it.effect("A proof with markup in it is shown as text", () =>
    Effect.gen(function* () {
      yield* completeLog
      const { does } = yield* reader()
      yield* does(async (page) => {
        await page.goto("/verify")
        await page.getByLabel("The proof", { exact: true }).fill('<img src=x onerror="alert(1)">')
        await page.getByLabel("The log's key").fill("<script>alert(1)</script>")
        await page.getByRole("button", { name: "Check" }).click()
        assert.include(await outcomeOf(page), "does not begin with")
        assert.strictEqual(await page.locator("#outcome img, #outcome script").count(), 0)
      })
    }).pipe(Effect.scoped)
  )

  it.effect("The page says what to do instead without scripts, and on plain http", () =>
    Effect.gen(function* () {
      const { url } = yield* TestServer
      const still = yield* reader({ javaScriptEnabled: false })
      yield* still.does(async (page) => {
        await page.goto("/verify")
        const shown = await page.innerText("main")
        assert.include(shown, "Your browser runs no scripts here.")
        assert.include(shown, "npm run verify")
        assert.isFalse(await page.locator("#verifier").isVisible())
      })
      const plain = yield* reader({ baseURL: "http://auspex.test" })
      yield* Effect.promise(() =>
        plain.context.route("http://auspex.test/**", async (route) => {
          const { pathname } = new URL(route.request().url())
          await route.fulfill({ response: await plain.context.request.get(url + pathname) })
        })
      )
      yield* plain.does(async (page) => {
        await page.goto("/verify")
        await page.getByText("This address is plain http.").waitFor()
        assert.isFalse(await page.locator("#verifier").isVisible())
      })
    }).pipe(Effect.scoped)
  )

  it.effect.runIf(isFull)("Pages fit a phone, also with names that never break", () =>
    Effect.gen(function* () {
      const { ada, challenge, right } = yield* settledFixture(["W".repeat(80), "Grace"])
      for (const colorScheme of ["light", "dark"] as const) {
        const { does } = yield* reader({ viewport: { width: 320, height: 640 }, colorScheme })
        yield* does(async (page) => {
          for (const path of [
            `/challenges/${challenge.id}`,
            `/agents/${ada}`,
            `/verify?proof=/api/v1/log/proof/${right.commit}`
          ]) {
            await page.goto(path)
            if (path.startsWith("/verify")) await outcomeOf(page)
            for (const summary of await page.locator("summary").all()) await summary.click()
            assert.strictEqual(await overflow(page), 0, path)
          }
        })
      }
    }).pipe(Effect.scoped)
  )

  it.effect("Keys of a log that has changed its key stand on lines of their own", () =>
    Effect.gen(function* () {
      yield* completeLog
      const sql = yield* SqlClient.SqlClient
      yield* sql`
        insert into log_keys (number, verifier_key, added_at)
        select 2, ${noteKey("auspex.test/log/global").verifierKey}, added_at from log_keys`
      const { does } = yield* reader()
      yield* does(async (page) => {
        await page.goto("/verify")
        assert.match(await page.locator("code.secret").innerText(), /^\S+\n\S+$/)
      })
    }).pipe(Effect.scoped)
  )
})
