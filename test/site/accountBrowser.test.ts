/** The pages of an owner's account in a real Chromium: accessible, legible on any screen, and leading to Stripe and back. */
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { OperatorId } from "../../src/services/domain/ids.ts"
import { Operators } from "../../src/services/Operators.ts"
import { Webhooks } from "../../src/services/Webhooks.ts"
import { apiKeysPage, noticesPage, topUpPage, webhookPage, withLanguage } from "../../src/http/site/paths.ts"
import { creditPage } from "../../src/services/Payments.ts"
import { lookAt } from "../support/accessibility.ts"
import { isFull } from "../support/breadth.ts"
import * as chromium from "../support/chromium.ts"
import { ownerVisitor, agentOf } from "../support/agents.ts"
import { fundOwnerOf } from "../support/credit.ts"
import { freePort } from "../support/process.ts"
import { testServer, TestServer } from "../support/server.ts"
import { selling, stripeServer } from "../support/stripe.ts"

/** Stripe sends buyers back to the base URL, so it has to be known before the server listens. */
const everything = Layer.unwrap(
  Effect.map(freePort, (port) =>
    Layer.mergeAll(
      testServer({
        port,
        environment: { AUSPEX_BASE_URL: `http://127.0.0.1:${port}` },
        swap: selling.pipe(Layer.provide(stripeServer))
      }),
      chromium.layer
    ).pipe(Layer.provideMerge(stripeServer))
  )
)

/** An owner with two agents, moved credit, a purchase, keys and calls. */
const busyOwner = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { agent, visitor } = yield* ownerVisitor({
    name: "First Light",
    model_provider: "example",
    model_name: "model-1"
  })
  const id = OperatorId.make(yield* fundOwnerOf(agent.agentId, 1234))
  yield* agentOf(id)
  yield* Operators.use((operators) => operators.changeOwner(id, { plan: "pro" }))
  yield* sql`update agents set credit_arena_enabled = true where id = ${agent.agentId}::uuid`
  const topUp = topUpPage(agent.agentId)
  const moved = yield* visitor.fill(yield* visitor.open(topUp), "amount", { amount: "12.5" })
  for (const name of ["laptop", "server with a name that is longer than others"]) {
    yield* visitor.fill(yield* visitor.open(apiKeysPage()), "credit_limit", {
      agent_id: agent.agentId,
      name,
      lifetime: "30",
      credit_limit: "100"
    })
  }
  const now = DateTime.toDateUtc(yield* DateTime.now)
  yield* sql`
    insert into gateway_calls (id, agent_id, owner_id, key_id, request_id, model, provider, style, stream, prompt_tokens,
                               completion_tokens, cost, status, latency_ms, attempts, estimated, created_at)
    select uuidv7(), agent_id, owner_id, id, 'r', case n % 3 when 0 then 'swift-1' else 'deep-1' end, 'north', 'openai', false,
           10, 20, (n % 7) * 340000 + 1000, 200, 5, 1, false, ${now}::timestamptz - n * interval '1 day'
      from gateway_keys cross join generate_series(0, 25) n where owner_id = ${id}::uuid`
  const webhooks = yield* Webhooks
  const by = { kind: "owner", id } as const
  const { webhook_id: hook } = yield* webhooks.create(by, {
    url: "https://hooks.example.com/a/path/that/is/longer/than/a/narrow/screen/is/wide?token=0123456789",
    types: ["prediction.settled", "challenge.settled"]
  })
  yield* webhooks.test(by, hook)
  return { hook, moved: moved.headers.get("location") ?? "", topUp, visitor }
})

layer(everything, { excludeTestServices: true })("The account in a browser", (it) => {
  it.effect("The head is one line, with or without a session, at the same place on every page", () =>
    Effect.gen(function* () {
      const { url } = yield* TestServer
      const browser = yield* chromium.Chromium
      const { visitor } = yield* busyOwner
      yield* Effect.promise(async () => {
        const context = await browser.newContext({ baseURL: url, viewport: { width: 1280, height: 900 } })
        const page = await context.newPage()
        const places: Array<number> = []
        const look = async (path: string) => {
          await page.goto(path)
          const masthead = await page.locator(".masthead").boundingBox()
          const wordmark = await page.locator(".wordmark").boundingBox()
          assert.isBelow(masthead?.height ?? 0, 80, path)
          places.push(wordmark?.x ?? 0)
        }
        for (const path of ["/", "/verify", "/sign-in", "/challenges"]) await look(path)
        await context.addCookies([...visitor.cookies].map(([name, value]) => ({ name, value, url })))
        for (const path of ["/account", creditPage()]) await look(path)
        assert.lengthOf(new Set(places), 1)
        // A panel that begins with a form has no more room above than beside it.
        await page.context().clearCookies()
        await page.goto("/sign-in")
        const panel = await page.locator(".panel").first().boundingBox()
        const label = await page.locator(".panel label").first().boundingBox()
        assert(panel !== null && label !== null)
        assert.isAtMost(label.y - panel.y, label.x - panel.x + 6)
        await context.close()
      })
    })
  )

  it.effect.runIf(isFull)("An owner's pages are accessible and fit any screen", () =>
    Effect.gen(function* () {
      const { url } = yield* TestServer
      const browser = yield* chromium.Chromium
      const { hook, moved, topUp, visitor } = yield* busyOwner
      const quarter = apiKeysPage({ days: "90" })
      const paths = [
        "/account",
        moved,
        topUp,
        creditPage(),
        apiKeysPage(),
        quarter,
        noticesPage,
        webhookPage(hook)
      ]
      const inChinese = paths.map((path) => withLanguage(path, "zh"))
      const complaints = yield* Effect.promise(() =>
        lookAt(browser, url, [...paths, ...inChinese], visitor.cookies)
      )
      assert.deepStrictEqual(complaints, [])
    })
  )

  it.effect("An owner is led to the page of Stripe's that takes the payment, and back", () =>
    Effect.gen(function* () {
      const { url } = yield* TestServer
      const browser = yield* chromium.Chromium
      const { visitor } = yield* ownerVisitor()
      const seen = yield* Effect.promise(async () => {
        const context = await browser.newContext({ baseURL: url, javaScriptEnabled: false })
        await context.addCookies([...visitor.cookies].map(([name, value]) => ({ name, value, url })))
        const page = await context.newPage()
        await page.goto(creditPage())
        await page.getByRole("button", { name: "Buy 500 credits for €5.00" }).click()
        await page.getByRole("link", { name: "I have paid" }).click()
        const text = await page.innerText("body")
        await context.close()
        return text
      })
      assert.include(seen, "We are waiting for the payment.")
    })
  )
})
