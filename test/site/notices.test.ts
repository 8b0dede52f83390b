/** The webhooks of an owner, as a person meets them. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Webhooks } from "../../src/services/Webhooks.ts"
import { ownerVisitor } from "../support/agents.ts"
import { testServer } from "../support/server.ts"
import type { Answer } from "../support/server.ts"
import { formsOf, makeVisitor, sameOrigin, textOf } from "../support/visitor.ts"

const page = "/account/notices"
const url = "https://hooks.example.com/auspex"

const secretIn = (answer: Answer) => /class="secret">(whsec_[^<]+)</.exec(answer.text)?.[1]

const made = Effect.gen(function* () {
  const { agent, visitor } = yield* ownerVisitor()
  const answer = yield* visitor.fill(yield* visitor.open(page), "url", { url, types: "prediction.settled" })
  const [, path = ""] = /href="([^"]*\/webhooks\/[^"]+)"/.exec(answer.text) ?? []
  return { agent, answer, path, visitor }
})

layer(testServer())("The page of notices", (it) => {
  it.effect("The page of notices makes a webhook, and shows its secret once", () =>
    Effect.gen(function* () {
      const { answer, path, visitor } = yield* made
      assert.match(secretIn(answer) ?? "", /^whsec_[A-Za-z0-9+/]{43}=$/)
      assert.strictEqual(answer.headers.get("cache-control"), "no-store")
      const list = yield* visitor.open(page)
      assert.include(textOf(list), `${url} On A prediction was scored.`)
      for (const each of [list, yield* visitor.open(path)]) assert.notInclude(each.text, "whsec_")
    })
  )

  it.effect("The page of notices tests a webhook, shows what was delivered, and sends it again", () =>
    Effect.gen(function* () {
      const { path, visitor } = yield* made
      const sent = yield* visitor.fill(yield* visitor.open(path), "Send a test")
      assert.deepStrictEqual([sent.status, sent.headers.get("location")], [303, path])
      const one = yield* visitor.open(path)
      assert.match(textOf(one), /webhook\.test [0-9a-f-]{36} Waiting 0 next .* Send again/)
      assert.strictEqual((yield* visitor.fill(one, "notice_id")).status, 303)
    })
  )

  it.effect("The page of notices replaces a webhook's secret, switches it off and on, and deletes it", () =>
    Effect.gen(function* () {
      const { answer, path, visitor } = yield* made
      const rotated = yield* visitor.fill(yield* visitor.open(path), "Replace the secret")
      assert.notStrictEqual(secretIn(rotated), secretIn(answer))
      assert.include(textOf(rotated), "The old one signs, too, until")
      yield* visitor.fill(yield* visitor.open(path), "Switch it off")
      const off = yield* visitor.open(path)
      assert.include(textOf(off), "Why it was switched off")
      const refused = yield* visitor.submit({
        action: `${path}/test`,
        button: "",
        fields: formsOf(off)[0]?.fields ?? {}
      })
      assert.deepStrictEqual([refused.status, textOf(refused).includes("Nothing was sent.")], [409, true])
      yield* visitor.fill(off, "Switch it on")
      const gone = yield* visitor.fill(yield* visitor.open(path), "Delete the webhook")
      assert.deepStrictEqual([gone.status, gone.headers.get("location")], [303, page])
      assert.strictEqual((yield* visitor.open(path)).status, 404)
    })
  )

  it.effect("The page of notices names a wrong address, a wrong choice or one too many, and keeps it", () =>
    Effect.gen(function* () {
      const { visitor } = yield* ownerVisitor()
      const empty = yield* visitor.open(page)
      const wrong = yield* visitor.fill(empty, "url", { url: "http://10.0.0.1/x", types: "key.revoked" })
      assert.strictEqual(wrong.status, 400)
      assert.include(textOf(wrong), "Expected an https URL.")
      assert.include(wrong.text, `value="http://10.0.0.1/x"`)
      const none = yield* visitor.fill(empty, "url", { url, types: "nothing" })
      assert.deepStrictEqual([none.status, textOf(none).includes("Choose one at least.")], [400, true])
      for (let count = 0; count < 20; count++)
        yield* visitor.fill(empty, "url", { url, types: "key.revoked" })
      const many = yield* visitor.fill(empty, "url", { url, types: "key.revoked" })
      assert.deepStrictEqual([many.status, textOf(many).includes("No webhook was made.")], [400, true])
    })
  )

  it.effect.each([
    [["prediction.settled", "stake.settled"], "A prediction was scored; A stake was paid or returned."],
    [["key.revoked", "key.revoked"], "A gateway key was revoked."],
    [["challenge.opened", "nothing"], undefined]
  ] as const)("The page of notices takes as many types as are chosen: %o", ([types, words]) =>
    Effect.gen(function* () {
      const { visitor } = yield* ownerVisitor()
      const form = formsOf(yield* visitor.open(page)).find(({ fields }) => "types" in fields)
      const body = new URLSearchParams({ ...form?.fields, url })
      body.delete("types")
      for (const type of types) body.append("types", type)
      const sent = yield* visitor.ask("POST", page, { headers: sameOrigin, body })
      assert.strictEqual(sent.status, words === undefined ? 400 : 200)
      if (words !== undefined) assert.include(textOf(yield* visitor.open(page)), `${url} On ${words}`)
      body.append("url", url)
      const twice = yield* visitor.ask("POST", page, { headers: sameOrigin, body })
      assert.deepStrictEqual([twice.status, textOf(twice).includes("Expected this field once")], [400, true])
    })
  )

  it.effect("The page of notices takes as many mails as are chosen, and shows them chosen", () =>
    Effect.gen(function* () {
      const { visitor } = yield* ownerVisitor()
      const form = formsOf(yield* visitor.open(page)).find(({ fields }) => "mails" in fields)
      const body = new URLSearchParams({ ...form?.fields })
      body.delete("mails")
      for (const mail of ["digest", "credit_low", "digest"]) body.append("mails", mail)
      assert.strictEqual(
        (yield* visitor.ask("POST", form?.action ?? "", { headers: sameOrigin, body })).status,
        303
      )
      const { text } = yield* visitor.open(page)
      const chosen = [...text.matchAll(/<input[^>]*name="mails"[^>]*>/g)].filter(([input]) =>
        / checked/.test(input)
      )
      assert.deepStrictEqual(
        chosen.map(([input]) => /value="([^"]*)"/.exec(input)?.[1]),
        ["credit_low", "digest"]
      )
    })
  )

  it.effect("The page of notices shows the webhooks of one's agents, and deletes them", () =>
    Effect.gen(function* () {
      const { agent, visitor } = yield* ownerVisitor()
      yield* Webhooks.use((webhooks) =>
        webhooks.create(
          { kind: "agent", id: agent.agentId },
          { url: "https://thief.example.com/", types: ["key.revoked"] }
        )
      )
      const list = yield* visitor.open(page)
      assert.include(textOf(list), "Webhooks of your agents")
      assert.include(textOf(list), "https://thief.example.com/ On")
      assert.strictEqual((yield* visitor.fill(list, "Delete it")).status, 303)
      assert.notInclude(textOf(yield* visitor.open(page)), "thief")
    })
  )

  it.effect("The page of notices is the owner's only: 404 for others, sign-in for strangers", () =>
    Effect.gen(function* () {
      const { path } = yield* made
      const other = yield* ownerVisitor()
      assert.strictEqual((yield* other.visitor.open(path)).status, 404)
      const form = formsOf(yield* other.visitor.open(page))[0]
      for (const action of ["test", "rotate", "enable", "disable", "delete", "redeliver", "x"]) {
        const sent = yield* other.visitor.submit({
          action: `${path}/${action}`,
          button: "",
          fields: form?.fields ?? {}
        })
        assert.strictEqual(sent.status, 404, action)
      }
      const sql = yield* SqlClient.SqlClient
      const [kept] = yield* sql`select count(*)::int from webhooks where disabled_at is null`.values
      assert.isAtLeast(Number(kept?.[0]), 1)
      assert.strictEqual((yield* makeVisitor().open(path)).status, 303)
    })
  )
})
