/** Mails that owners choose, and end by one click. */
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { OwnerMails } from "../../src/services/OwnerMails.ts"
import { Registry } from "../../src/services/Registry.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import type { Message } from "../../src/services/Mailer.ts"
import { address, agentOf, newMails, ownerVisitor, signedIn, tokenOf } from "../support/agents.ts"
import { freshWeek, importQuotes, moveTo, newChallenge, plus, predict } from "../support/challenges.ts"
import { rowsOf } from "../support/database.ts"
import { testServer } from "../support/server.ts"
import { formsOf, makeVisitor, textOf } from "../support/visitor.ts"

const page = "/account/notices"

let people = 0
/** An owner with an agent. */
const owner = Effect.gen(function* () {
  people += 1
  const email = address(`owner-${people}@example.org`)
  const { operatorId } = yield* signedIn(email)
  return { agent: yield* agentOf(operatorId), email, operatorId }
})

const suspend = (agentId: string, reason?: string) =>
  Registry.use((registry) =>
    Effect.andThen(
      registry.amend(agentId, { suspended: false }),
      registry.amend(agentId, { suspended: true, ...(reason !== undefined && { reason }) })
    )
  )

const subjects = (mails: ReadonlyArray<Message>) => mails.map(({ subject }) => subject)

const below = (url: string | null | undefined) => new URL(url ?? "").pathname

layer(testServer())("An owner", (it) => {
  it.effect("An owner is mailed of a suspension and its reason, once, unless it chose otherwise", () =>
    Effect.gen(function* () {
      const { agent, email, operatorId } = yield* owner
      const mails = yield* OwnerMails
      yield* suspend(agent, "It spams.")
      const [told] = yield* newMails
      assert.deepInclude(told, { to: email, subject: "Suspended: agent" })
      assert.include(told?.text, "They say why: It spams.")
      yield* Registry.use((registry) => registry.amend(agent, { suspended: true }))
      assert.deepStrictEqual(yield* newMails, [])
      yield* mails.choose(operatorId, ["credit_low"])
      yield* suspend(agent)
      assert.deepStrictEqual(yield* newMails, [])
    })
  )

  it.effect("An owner ends mails by one click without cookie or form token, or on a page", () =>
    Effect.gen(function* () {
      const { agent, operatorId } = yield* owner
      const mails = yield* OwnerMails
      yield* suspend(agent)
      const [told] = yield* newMails
      const path = below(told?.unsubscribeUrl)
      assert.include(told?.text, path)
      const visitor = makeVisitor()
      const shown = yield* visitor.open(path)
      assert.include(textOf(shown), "You get a mail when one of your agents is suspended.")
      assert.include(yield* mails.chosen(operatorId), "agent_suspended")
      const clicked = yield* makeVisitor().ask("POST", path, {
        body: new URLSearchParams({ "List-Unsubscribe": "One-Click" })
      })
      assert.strictEqual(clicked.status, 200)
      assert.deepStrictEqual(yield* mails.chosen(operatorId), ["credit_low", "webhook_disabled"])
      assert.include(textOf(yield* visitor.open(path)), "No more of these mails")
      yield* suspend(agent)
      assert.deepStrictEqual(yield* newMails, [])
      for (const wrong of [
        `${path}x`,
        path.replace("agent_suspended", "digest"),
        "/unsubscribe/x/y",
        "/unsubscribe/x"
      ]) {
        assert.strictEqual((yield* visitor.open(wrong)).status, 404, wrong)
        assert.strictEqual((yield* visitor.ask("POST", wrong)).status, 404, wrong)
      }
      const pressed = yield* visitor.fill(shown, "End these mails")
      assert.strictEqual(pressed.status, 200)
    })
  )

  it.effect("An owner chooses mails on the page of notices", () =>
    Effect.gen(function* () {
      const { visitor } = yield* ownerVisitor()
      const checked = Effect.map(visitor.open(page), ({ text }) =>
        Array.from(text.matchAll(/name="mails" value="(\w+)" checked/g), ([, mail]) => mail)
      )
      assert.deepStrictEqual(yield* checked, ["credit_low", "agent_suspended", "webhook_disabled"])
      const form = formsOf(yield* visitor.open(page)).find(({ action }) => action.endsWith("/mails"))
      yield* visitor.submit(form, { mails: "digest" })
      assert.deepStrictEqual(yield* checked, ["digest"])
      yield* visitor.submit(form, { mails: "nothing" })
      assert.deepStrictEqual(yield* checked, [])
    })
  )

  it.effect("An owner is mailed a digest of each week with scores, each score once", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const { agent, email, operatorId } = yield* owner
      const silent = yield* owner
      const mails = yield* OwnerMails
      for (const each of [operatorId, silent.operatorId]) yield* mails.choose(each, ["digest"])
      const scored = Effect.fnUntraced(function* (at: DateTime.Utc, price: number) {
        const challenge = yield* newChallenge()
        yield* predict(agent, challenge)
        const deadline = DateTime.makeUnsafe(challenge.deadline)
        yield* moveTo(deadline)
        yield* importQuotes("GC", [[deadline, price]])
        yield* Scoring.use(({ settleDue }) => settleDue)
        yield* moveTo(at)
      })
      yield* scored(plus(monday, "26 hours"), 110)
      yield* scored(plus(monday, "6 days"), 90)
      assert.strictEqual(yield* mails.sendDigests, 0)
      yield* moveTo(plus(monday, "7 days"))
      yield* scored(plus(monday, "7 days"), 110)
      // These are two instances.
      yield* Effect.all([mails.sendDigests, mails.sendDigests], { concurrency: 2 })
      yield* moveTo(plus(monday, { days: 7, hours: 2 }))
      const sent = yield* newMails
      assert.deepStrictEqual(subjects(sent), ["2 of your agents' predictions were scored"])
      assert.deepInclude(sent[0], { to: email })
      assert.match(
        sent[0]?.text ?? "",
        /"agent": 2 scored, on average \d+\.\d; of all time 3, on average \d+\.\d\./
      )
      yield* moveTo(plus(monday, "15 days"))
      yield* mails.sendDigests
      yield* moveTo(plus(monday, { days: 15, hours: 1 }))
      assert.deepStrictEqual(subjects(yield* newMails), ["1 of your agents' predictions were scored"])
      const token = tokenOf(sent[0]?.unsubscribeUrl ?? undefined)
      assert.strictEqual(yield* mails.unsubscribe({ mail: "digest", token }), "digest")
      assert.deepStrictEqual(yield* mails.chosen(operatorId), [])
    })
  )
})

layer(testServer())("Digests", (it) => {
  it.effect("Digests of many owners are due in every part of the following hour", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const mails = yield* OwnerMails
      const now = DateTime.toDateUtc(monday)
      yield* SqlClient.SqlClient.use(
        (sql) => sql`
          insert into operators (id, email, mailbox, created_at, mails, digest_day)
          select gen_random_uuid(), 'd' || n || '@example.org', 'd' || n || '@example.org', ${now}, '{digest}', '2026-01-01'
            from generate_series(1, 300) n`
      )
      const owners = yield* rowsOf(
        Schema.Struct({ id: Schema.String }),
        (sql) => sql`select id::text from operators`
      )
      yield* Effect.forEach(owners, ({ id }) =>
        mails.enqueue(id, "digest", { subject: "A week", text: "News\n" })
      )
      const parts = yield* rowsOf(
        Schema.Struct({ part: Schema.Int, count: Schema.Int }),
        (sql) => sql`
          select floor(extract(epoch from due_at - ${now}::timestamptz) / 600)::int as part, count(*)::int as count
            from mails where kind = 'digest' group by 1 order by 1`
      )
      assert.deepStrictEqual(
        parts.map(({ part }) => part),
        [0, 1, 2, 3, 4, 5]
      )
      for (const { count } of parts) assert.isAtLeast(count, 20)
    })
  )
})
