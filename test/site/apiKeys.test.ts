/** The owner's switch for spending on models, the keys of the gateway, and their use, as a person meets them. */
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Layer, Result } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { GatewayKeys } from "../../src/services/GatewayKeys.ts"
import { OperatorId } from "../../src/services/domain/ids.ts"
import { Operators } from "../../src/services/Operators.ts"
import { ownerVisitor, agentOf } from "../support/agents.ts"
import { fundOwnerOf } from "../support/credit.ts"
import { TelemetryRecorder, telemetryRecorder, spanText } from "../support/telemetryRecorder.ts"
import { get, testServer } from "../support/server.ts"
import type { Answer } from "../support/server.ts"
import { formsOf, makeVisitor, textOf, unescaped } from "../support/visitor.ts"

const page = "/account/api-keys"

/** An owner on a plan, with an agent that may spend. */
const owner = Effect.fnUntraced(function* (plan: "free" | "pro" = "pro") {
  const { agent, visitor } = yield* ownerVisitor({ name: "First Light" })
  const id = OperatorId.make(yield* fundOwnerOf(agent.agentId, 50))
  yield* Operators.use((operators) => operators.changeOwner(id, { plan }))
  if (plan === "pro") yield* visitor.fill(yield* visitor.open("/account"), "spending")
  return { agentId: agent.agentId, id, visitor }
})

const authenticate = (key: string) => Effect.result(GatewayKeys.use((keys) => keys.authenticate(key)))

const keyIn = (answer: Answer) => /class="secret">(aus_gw_[^<]+)</.exec(answer.text)?.[1] ?? ""

/** A call of a key that has ended. */
const used = Effect.fnUntraced(function* (key: string, model: string, cost: number, daysAgo: number) {
  const sql = yield* SqlClient.SqlClient
  const at = DateTime.toDateUtc(DateTime.subtract(yield* DateTime.now, { days: daysAgo }))
  yield* sql`
    insert into gateway_calls (id, agent_id, owner_id, key_id, request_id, model, provider, style, stream, prompt_tokens,
                               completion_tokens, cost, status, latency_ms, attempts, estimated, created_at)
    select uuidv7(), agent_id, owner_id, id, 'r', ${model}, 'north', 'openai', false, 10, 20, ${cost * 1e6}::int8, 200, 5, 1,
           false, ${at}
      from gateway_keys where name = ${key}`
})

layer(testServer())("The switch for spending on models", (it) => {
  it.effect("An owner lets an agent spend credit on models, and takes that back", () =>
    Effect.gen(function* () {
      const { visitor } = yield* ownerVisitor({ name: "First Light" })
      const before = yield* visitor.open("/account")
      assert.include(textOf(before), "It may not spend its credit on language models.")
      const sent = yield* visitor.fill(before, "spending")
      assert.deepStrictEqual([sent.status, sent.headers.get("location")], [303, "/account"])
      const after = yield* visitor.open("/account")
      assert.include(textOf(after), "It may spend its credit on language models")
      assert.include(textOf(after), "On the free plan no call is let in, all the same.")
      yield* visitor.fill(after, "spending")
      assert.include(textOf(yield* visitor.open("/account")), "It may not spend")
    })
  )

  it.effect("Nobody but the owner sets the switch (404), and it is set to on or off only (400)", () =>
    Effect.gen(function* () {
      const { visitor } = yield* ownerVisitor()
      const other = yield* ownerVisitor()
      const form = formsOf(yield* visitor.open("/account")).find((each) => "spending" in each.fields)
      assert(form !== undefined)
      for (const id of [other.agent.agentId, "x", "0190f000-0000-7000-8000-000000000000"]) {
        const sent = yield* visitor.submit({ ...form, action: `/account/agents/${id}/spending` })
        assert.strictEqual(sent.status, 404)
      }
      for (const spending of ["", "yes", "\u0000"]) {
        assert.strictEqual((yield* visitor.submit(form, { spending })).status, 400)
      }
      assert.include(textOf(yield* other.visitor.open("/account")), "It may not spend")
    })
  )

  it.effect("The switch stands beside the plan, which says what it comes to", () =>
    Effect.gen(function* () {
      const { id, visitor } = yield* owner("free")
      assert.match(textOf(yield* visitor.open("/account")), /Your plan: free .*not on this plan .*1x /)
      yield* Operators.use((operators) => operators.changeOwner(id, { plan: "team" }))
      assert.match(textOf(yield* visitor.open("/account")), /Your plan: team .*for agents you allow .*1\.25x/)
    })
  )
})

layer(testServer())("A gateway key", (it) => {
  it.effect("A gateway key is made for an agent that may spend, shown once, and works", () =>
    Effect.gen(function* () {
      const { agentId, visitor } = yield* owner()
      const made = yield* visitor.fill(yield* visitor.open(page), "credit_limit", {
        agent_id: agentId,
        name: "laptop",
        credit_limit: "12.5",
        lifetime: "30"
      })
      assert.strictEqual(made.status, 200)
      assert.match(textOf(made), /laptop .*First Light .*12\.5 credits .*31 January 1970/)
      const key = keyIn(made)
      assert.isTrue(Result.isSuccess(yield* authenticate(key)))
      const listed = yield* visitor.open(page)
      assert.match(textOf(listed), /laptop Active .*0 of 12\.5 credits Last used never/)
      assert.notInclude(listed.text, key)
      const sql = yield* SqlClient.SqlClient
      yield* sql`update gateway_keys set expires_at = ${DateTime.toDateUtc(yield* DateTime.now)}`
      yield* TestClock.adjust("1 second")
      assert.isTrue(Result.isFailure(yield* authenticate(key)))
      assert.match(textOf(yield* visitor.open(page)), /laptop Expired/)
    })
  )

  it.effect("A gateway key lives as long as keys usually do unless its owner chooses, never for ever", () =>
    Effect.gen(function* () {
      const { agentId, visitor } = yield* owner()
      const shown = yield* visitor.open(page)
      assert.match(textOf(shown), /Valid 90 days, as usual 7 days 30 days 365 days Create a key/)
      const fields = { agent_id: agentId, name: "n" }
      const usual = yield* visitor.fill(shown, "credit_limit", { ...fields, lifetime: "" })
      assert.match(textOf(usual), /Expires 1 April 1970/)
      const longest = yield* visitor.fill(shown, "credit_limit", { ...fields, lifetime: "365" })
      assert.match(textOf(longest), /Expires 1 January 1971/)
      const sql = yield* SqlClient.SqlClient
      yield* sql`update gateway_keys set expires_at = null`
      assert.include(textOf(yield* visitor.open(page)), "Expires never: it was made before keys had to end")
    })
  )

  it.effect("A gateway key is one of at most 20 live ones of its agent, which the page says", () =>
    Effect.gen(function* () {
      const { agentId, visitor } = yield* owner()
      const shown = yield* visitor.open(page)
      const make = visitor.fill(shown, "credit_limit", { agent_id: agentId, name: "n", lifetime: "" })
      yield* Effect.replicateEffect(make, 20)
      const refused = yield* make
      assert.strictEqual(refused.status, 400)
      assert.include(textOf(refused), "An agent has 20 live gateway keys at most")
    })
  )

  it.effect("A gateway key ends with the agent's secret where its owner leaves that box checked", () =>
    Effect.gen(function* () {
      const { agentId, visitor } = yield* owner()
      const made = visitor.fill(yield* visitor.open(page), "credit_limit", {
        agent_id: agentId,
        name: "n",
        lifetime: ""
      })
      const keys = [keyIn(yield* made), keyIn(yield* made)]
      const live = Effect.map(Effect.forEach(keys, authenticate), (found) => found.map(Result.isSuccess))
      const account = yield* visitor.open("/account")
      assert.match(account.text, /<input type="checkbox" name="gateway_keys" value="revoke" checked/)
      const form = formsOf(account).find(({ button }) => button.startsWith("Replace"))
      assert(form !== undefined)
      const { gateway_keys: checked, ...unchecked } = form.fields
      assert.strictEqual(checked, "revoke")
      const kept = yield* visitor.submit({ ...form, fields: unchecked })
      assert.include(textOf(kept), "API keys revoked none")
      yield* TestClock.adjust("500 millis")
      assert.deepStrictEqual(yield* live, [true, true])
      assert.include(textOf(yield* visitor.submit(form)), "API keys revoked 2")
      yield* TestClock.adjust("500 millis")
      assert.deepStrictEqual(yield* live, [false, false])
      assert.match(textOf(yield* visitor.open(page)), /n Revoked/)
    })
  )

  it.effect("A gateway key is revoked at once, by its owner only", () =>
    Effect.gen(function* () {
      const { agentId, visitor } = yield* owner()
      const made = yield* visitor.fill(yield* visitor.open(page), "credit_limit", {
        agent_id: agentId,
        name: "lost",
        lifetime: ""
      })
      const key = keyIn(made)
      assert.isTrue(Result.isSuccess(yield* authenticate(key)))
      const form = formsOf(yield* visitor.open(page)).find(({ action }) => action.endsWith("/revoke"))
      assert(form !== undefined)
      const stranger = yield* owner()
      const [own] = formsOf(yield* stranger.visitor.open(page))
      assert(own !== undefined)
      assert.strictEqual((yield* stranger.visitor.submit({ ...own, action: form.action })).status, 404)
      assert.strictEqual((yield* visitor.submit(form)).headers.get("location"), page)
      assert.isTrue(Result.isFailure(yield* authenticate(key)))
      const after = yield* visitor.open(page)
      assert.match(textOf(after), /lost Revoked/)
      assert.isUndefined(formsOf(after).find(({ action }) => action.endsWith("/revoke")))
      assert.strictEqual((yield* visitor.submit(form)).status, 303)
    })
  )

  it.effect("A gateway key that is wrongly asked for is not made, and the page says why", () =>
    Effect.gen(function* () {
      const { agentId, id, visitor } = yield* owner()
      const shown = yield* visitor.open(page)
      const ask = (fields: Readonly<Record<string, string>>) =>
        visitor.fill(shown, "credit_limit", { agent_id: agentId, name: "n", lifetime: "", ...fields })
      for (const [fields, status, complaint] of [
        [{ name: "" }, 400, "Enter a name of 1 to 100 characters."],
        [{ name: "x".repeat(101) }, 400, "Enter a name"],
        [{ name: "\u202e" }, 400, "Enter a name"],
        [{ credit_limit: "0" }, 400, "Enter an amount such as 25"],
        [{ credit_limit: "1e3" }, 400, "Enter an amount such as 25"],
        [{ credit_limit: "-1" }, 400, "Enter an amount such as 25"],
        [{ lifetime: "31" }, 400, "Expected one of those"],
        [{ agent_id: "x" }, 404, "There is no agent"],
        [{ agent_id: (yield* owner()).agentId }, 404, "There is no agent"],
        [{ agent_id: yield* agentOf(id) }, 403, "The owner has not enabled"]
      ] as const) {
        const refused = yield* ask(fields)
        assert.strictEqual(refused.status, status, JSON.stringify(fields))
        assert.include(textOf(refused), complaint)
      }
      assert.include(textOf(yield* visitor.open(page)), "There are none yet.")
    })
  )

  it.effect(
    "A gateway key is not offered on the free plan, nor while no agent may spend; strangers are asked to sign in",
    () =>
      Effect.gen(function* () {
        const { id, visitor } = yield* owner("free")
        assert.include(textOf(yield* visitor.open(page)), "needs a paid plan")
        yield* Operators.use((operators) => operators.changeOwner(id, { plan: "pro" }))
        assert.include(textOf(yield* visitor.open(page)), "None of your agents may spend")
        const stranger = yield* get(page)
        assert.deepStrictEqual(
          [stranger.status, stranger.headers.get("location")],
          [303, "/sign-in?return_to=%2Faccount%2Fapi-keys"]
        )
        assert.strictEqual((yield* makeVisitor().ask("POST", page)).status, 415)
      })
  )

  it.effect("A gateway key with a hostile name is text on every page", () =>
    Effect.gen(function* () {
      const { agentId, visitor } = yield* owner()
      const name = "</h3><script>alert(1)</script>"
      const made = yield* visitor.fill(yield* visitor.open(page), "credit_limit", {
        agent_id: agentId,
        name,
        lifetime: ""
      })
      for (const shown of [
        made,
        yield* visitor.open(page),
        yield* visitor.open(`${page}?model=${encodeURIComponent(name)}`)
      ]) {
        assert.notInclude(shown.text, "<script>alert")
      }
    })
  )
})

layer(testServer())("The use of keys", (it) => {
  it.effect("The use of keys is drawn by day and summed by model and by key, or shown for one key", () =>
    Effect.gen(function* () {
      const { agentId, visitor } = yield* owner()
      for (const name of ["laptop", "server"]) {
        yield* visitor.fill(yield* visitor.open(page), "credit_limit", {
          agent_id: agentId,
          name,
          lifetime: ""
        })
      }
      assert.include(textOf(yield* visitor.open(page)), "No calls in the last 30 days.")
      yield* used("laptop", "swift-1", 1.5, 0)
      yield* used("laptop", "deep-1", 2, 1)
      yield* used("server", "swift-1", 0.25, 29)
      yield* used("server", "swift-1", 100, 30)
      const all = yield* visitor.open(page)
      assert.include(all.text, "3.75 credits for 3 calls in 30 days, on the busiest 2.")
      assert.match(
        textOf(all),
        /Model Calls Credits deep-1 1 2 swift-1 2 1\.75 Key Calls Credits laptop 2 3\.5 server 1 0\.25/
      )
      assert.lengthOf([...all.text.matchAll(/class="bar"/g)], 3)
      const model = yield* visitor.open(`${page}?model=swift-1`)
      assert.include(model.text, "1.75 credits for 2 calls in 30 days")
      const [, link = ""] = /href="([^"]*key=[^"]*)">What it was used for/.exec(all.text) ?? []
      assert.include((yield* visitor.open(link)).text, "0.25 credits for 1 call in 30 days")
      assert.include(textOf(yield* visitor.open(`${page}?key=x&model=%00`)), "No calls in the last 30 days.")
    })
  )

  it.effect("The use of keys is of 30 days, or of 7 or 90 on demand, and every number says of which", () =>
    Effect.gen(function* () {
      const { agentId, visitor } = yield* owner()
      yield* visitor.fill(yield* visitor.open(page), "credit_limit", {
        agent_id: agentId,
        name: "production",
        lifetime: ""
      })
      yield* used("production", "swift-1", 1.5, 6)
      yield* used("production", "deep-1", 2, 7)
      yield* used("production", "deep-1", 0.25, 89)
      yield* used("production", "swift-1", 100, 90)
      for (const [path, days, cost, calls, others] of [
        [`${page}?days=7`, 7, "1.5", "1 call", ["", "?days=90"]],
        [page, 30, "3.5", "2 calls", ["?days=7", "?days=90"]],
        [`${page}?days=90`, 90, "3.75", "3 calls", ["?days=7", ""]]
      ] as const) {
        const shown = yield* visitor.open(path)
        const text = textOf(shown)
        // The key says what it spent in this time and in all; its row, the sum and the chart are of this time.
        assert.include(
          text,
          `Spent in the last ${days} days ${cost} credits Spent in all 103.75 credits`,
          path
        )
        assert.include(text, `Usage, last ${days} days 7 days 30 days 90 days`, path)
        assert.include(text, `${cost} credits for ${calls} in the last ${days} days.`, path)
        assert.include(text, `Key Calls Credits production ${calls.replace(/\D+/, "")} ${cost} `, path)
        assert.include(shown.text, `${cost} credits for ${calls} in ${days} days, on the busiest`, path)
        assert.match(shown.text, new RegExp(`aria-current="page"[^>]*>${days} days<`), path)
        for (const other of others) assert.include(shown.text, `href="${page}${other}"`, path)
      }
      // Links keep the period, and the period keeps what is filtered by.
      const ofModel = yield* visitor.open(`${page}?model=deep-1&days=90`)
      assert.include(
        textOf(ofModel),
        "Of deep-1 only. Show all 2.25 credits for 2 calls in the last 90 days."
      )
      for (const link of [`${page}?model=deep-1&amp;days=7`, `${page}?model=deep-1`, `${page}?days=90`]) {
        assert.include(ofModel.text, `href="${link}"`)
      }
      for (const days of ["31", "0", "x"]) {
        assert.strictEqual((yield* visitor.open(`${page}?days=${days}`)).status, 400)
      }
    })
  )

  it.effect("The use of a key is shown with its name, also where another page of keys shows that key", () =>
    Effect.gen(function* () {
      const { agentId, visitor } = yield* owner()
      const sql = yield* SqlClient.SqlClient
      const now = DateTime.toDateUtc(yield* DateTime.now)
      // All keys are made in one moment, so that their ids begin alike.
      yield* sql`
        insert into gateway_keys (id, agent_id, owner_id, name, prefix, key_hash, created_at)
        select ('01a2026c-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, id, owner_id, 'key ' || n, 'aus_gw_key',
               sha256(n::text::bytea), ${now}
          from agents cross join generate_series(1, 60) n where id = ${agentId}::uuid`
      yield* used("key 1", "swift-1", 2, 0)
      yield* used("key 2", "swift-1", 1, 0)
      const first = yield* visitor.open(page)
      assert.notInclude(textOf(first), "key 10 Active")
      assert.include(textOf(first), "Key Calls Credits key 1 1 2 key 2 1 1")
      const [, link = ""] = /<a href="([^"]*key=[^"]*)"><bdi>key 2</.exec(first.text) ?? []
      const ofOne = textOf(yield* visitor.open(link))
      assert.include(ofOne, "Of key 2 only.")
      assert.include(ofOne, "Key Calls Credits key 2 1 1")
      yield* sql`update gateway_keys set name = 'twin', prefix = 'aus_gw_k' || right(name, 1) where name in ('key 1', 'key 2')`
      assert.include(
        textOf(yield* visitor.open(page)),
        "Key Calls Credits twin (aus_gw_k1…) 1 2 twin (aus_gw_k2…) 1 1"
      )
      // A key without use is named by the page that shows it, which stays.
      const [, next = ""] = /href="([^"]*cursor=[^"]*)"\s*>Next page/.exec(first.text) ?? []
      const second = yield* visitor.open(unescaped(next))
      assert.include(textOf(second), "key 10 Active")
      const [, unused = ""] = /href="([^"]*)">What it was used for/.exec(second.text) ?? []
      const ofNone = textOf(yield* visitor.open(unescaped(unused)))
      assert.include(ofNone, "Of key 10 only.")
      assert.include(ofNone, "No calls in the last 30 days.")
      assert.include(ofNone, "key 10 Active")
    })
  )
})

layer(testServer().pipe(Layer.provideMerge(telemetryRecorder)))("The pages of keys", (it) => {
  it.effect("The pages of keys send as many statements for many keys as for one, and log no key", () =>
    Effect.gen(function* () {
      const { agentId, visitor } = yield* owner()
      const { lines, spans } = yield* TelemetryRecorder
      const statements = Effect.fnUntraced(function* (id: string) {
        yield* visitor.ask("GET", page, { headers: { "x-request-id": id } })
        return spans.filter(
          ({ attributes, kind }) =>
            kind === "client" && attributes.get("request.id") === id && attributes.has("db.query.text")
        ).length
      })
      const made: Array<string> = []
      const make = Effect.gen(function* () {
        made.push(
          keyIn(
            yield* visitor.fill(yield* visitor.open(page), "credit_limit", {
              agent_id: agentId,
              name: "n",
              lifetime: ""
            })
          )
        )
      })
      yield* make
      // Statements read the limit and the session; the account and its agents; keys, and their use.
      assert.strictEqual(yield* statements("one"), 6)
      yield* Effect.replicateEffect(make, 4)
      assert.strictEqual(yield* statements("many"), 6)
      for (const text of [...lines, ...spans.map(spanText)]) {
        for (const key of made) assert.notInclude(text, key)
      }
    })
  )
})
