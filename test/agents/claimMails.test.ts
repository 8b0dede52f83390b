/** Mails that agents cause: the one-click claim, its limits, and the notices about the end of the grace window. */
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Option } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { Claims } from "../../src/services/Claims.ts"
import { Operators } from "../../src/services/Operators.ts"
import { Registry } from "../../src/services/Registry.ts"
import { passingAnswer } from "../support/responses.ts"
import {
  anOperator,
  claimable,
  claimLinks,
  claimWithCode,
  newMails,
  signedIn,
  agentRow
} from "../support/agents.ts"
import { moveTo, plus } from "../support/challenges.ts"
import { linksIn } from "../support/mailbox.ts"
import { member } from "../support/server.ts"
import { testServices } from "../support/services.ts"
import { asOwner } from "../support/database.ts"

const claimByMail = (token: string) => Claims.use((claims) => claims.claimByMail(token))
const viewMail = (token: string) => Claims.use((claims) => claims.viewMailClaim(token))
const remind = Claims.use((claims) => claims.remindDue)

/** An agent of an operator with an address, and the links of the mail that came for it. */
const invited = Effect.fnUntraced(function* (contact: string, name = "Ada") {
  const agent = yield* claimable({ name, operator_contact: contact })
  const [mail] = yield* newMails
  return { ...agent, mail, ...claimLinks(mail) }
})

layer(testServices())("A claim mail", (it) => {
  it.effect("A claim mail goes to an operator_contact that is an e-mail address, after the challenge", () =>
    Effect.gen(function* () {
      const registry = yield* Registry
      yield* registry.register({ name: "Waiting", operator_contact: "ada@example.org" })
      assert.deepStrictEqual(yield* newMails, [])
      const { mail } = yield* invited("Ada@Example.org", "Ada")
      assert.strictEqual(mail?.to, "ada@example.org")
      assert.include(mail?.subject, "Ada")
    })
  )

  it.effect("A claim mail goes to no phone, no chat handle and no two addresses", () =>
    Effect.gen(function* () {
      for (const contact of [
        "+49 171 1234567",
        "@ada",
        "ada@example.org, eve@example.com",
        "Ada <ada@example.org>",
        "ada@example.org\nBcc: eve@example.com"
      ]) {
        yield* claimable({ operator_contact: contact })
      }
      yield* claimable()
      assert.deepStrictEqual(yield* newMails, [])
    })
  )

  it.effect("A claim mail is sent once a registration: the agent passes a refreshed link on itself", () =>
    Effect.gen(function* () {
      const ada = yield* invited("one@example.org")
      yield* Claims.use((claims) => claims.refresh(ada.agentId))
      assert.deepStrictEqual(yield* newMails, [])
      // The mail's link is the operator's, and the agent has no use of it.
      assert.strictEqual((yield* viewMail(ada.claim)).state, "open")
    })
  )

  it.effect("The mail's page shows the agent and its operator any number of times, and claims nothing", () =>
    Effect.gen(function* () {
      const ada = yield* invited("scanner@example.org")
      for (const _ of [1, 2, 3]) {
        const view = yield* viewMail(ada.claim)
        assert.strictEqual(view.state, "open")
        assert.strictEqual(view.email, "scanner@example.org")
        assert.strictEqual(view.agent.agentId, ada.agentId)
      }
      assert.isNull(member(yield* agentRow(ada.agentId), "owner_id"))
    })
  )

  it.effect("A claim mail signs in and claims in one step, for a new operator and a known one", () =>
    Effect.gen(function* () {
      const operators = yield* Operators
      const known = yield* signedIn("known@example.org")
      for (const contact of ["new@example.org", "known@example.org"]) {
        const ada = yield* invited(contact)
        const { agent, session } = yield* claimByMail(ada.claim)
        assert.strictEqual(agent.agentId, ada.agentId)
        const operator = Option.getOrNull(yield* operators.session(session.secret))
        assert.strictEqual(operator?.email, contact)
        assert.strictEqual(member(yield* agentRow(ada.agentId), "owner_id"), operator?.operatorId)
        if (contact === "known@example.org") assert.strictEqual(operator?.operatorId, known.operatorId)
        const again = yield* Effect.flip(claimByMail(ada.claim))
        assert.strictEqual(again.code, "already_claimed")
        assert.strictEqual((yield* Claims.use((claims) => claims.view(ada.token))).state, "claimed")
      }
    })
  )

  it.effect("A claim mail for a form of an account's address goes to that address, and older ones end", () =>
    Effect.gen(function* () {
      const early = yield* invited("owner+agents@example.org")
      yield* signedIn("owner@example.org")
      assert.strictEqual((yield* Effect.flip(claimByMail(early.claim))).code, "claim_link_ended")
      const later = yield* invited("owner+agents@example.org")
      assert.strictEqual(later.mail?.to, "owner@example.org")
    })
  )

  it.effect("A claim mail of an agent that is claimed already signs nobody in", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const ada = yield* invited("late@example.org")
      yield* claimWithCode(ada.token, ada.code, yield* anOperator)
      assert.strictEqual((yield* viewMail(ada.claim)).state, "claimed")
      assert.strictEqual((yield* Effect.flip(claimByMail(ada.claim))).code, "already_claimed")
      assert.deepStrictEqual(yield* sql`select 1 from operators where email = 'late@example.org'`, [])
    })
  )

  it.effect("A claim mail works for 48 hours, to the millisecond", () =>
    Effect.gen(function* () {
      const [early, late] = [yield* invited("early@example.org"), yield* invited("later@example.org")]
      yield* TestClock.adjust("48 hours")
      yield* TestClock.adjust("-1 millis")
      yield* claimByMail(early.claim)
      yield* TestClock.adjust("1 millis")
      assert.strictEqual((yield* viewMail(late.claim)).state, "expired")
      assert.strictEqual(member(yield* Effect.flip(claimByMail(late.claim)), "reason"), "expired")
    })
  )

  it.effect("A claim mail that could not be written costs the agent nothing", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* asOwner(sql`alter table mails add constraint broken check (false) not valid`)
      const ada = yield* claimable({ operator_contact: "broken@example.org" })
      assert.strictEqual((yield* Claims.use((claims) => claims.view(ada.token))).state, "open")
      yield* asOwner(sql`alter table mails drop constraint broken`)
    })
  )
})

layer(testServices({ AUSPEX_LIMIT_CLAIM_MAILS: "3/day" }))("Claim mails that nobody asked for", (it) => {
  it.effect("A mailbox gets 3 claim mails a day, whatever its suffix, and the agents pass all the same", () =>
    Effect.gen(function* () {
      yield* moveTo(DateTime.makeUnsafe("2026-03-02T00:00:00Z"))
      for (const n of [1, 2, 3, 4, 5]) yield* claimable({ operator_contact: `victim+${n}@example.org` })
      yield* claimable({ operator_contact: "victim@example.org" })
      assert.strictEqual((yield* newMails).length, 3)
      yield* claimable({ operator_contact: "other@example.org" })
      assert.strictEqual((yield* newMails).length, 1)
      yield* TestClock.adjust("2 days")
      yield* claimable({ operator_contact: "victim@example.org" })
      assert.strictEqual((yield* newMails).length, 1)
    })
  )

  it.effect("Reminders cover every agent, also one whose claim mail was over the day's limit", () =>
    Effect.gen(function* () {
      yield* moveTo(DateTime.makeUnsafe("2026-04-06T00:00:00Z"))
      for (const _ of [1, 2, 3, 4]) yield* claimable({ operator_contact: "many@example.org" })
      assert.strictEqual((yield* newMails).length, 3)
      yield* TestClock.adjust("5 days")
      yield* remind
      assert.strictEqual((yield* newMails).filter(({ to }) => to === "many@example.org").length, 4)
    })
  )

  it.effect(`The answer "not mine" ends mails and the link for good, and may be repeated`, () =>
    Effect.gen(function* () {
      const claims = yield* Claims
      const ada = yield* invited("declining+a@example.org")
      for (const _ of [1, 2])
        assert.strictEqual(yield* claims.notMine(ada.decline), "declining+a@example.org")
      assert.strictEqual((yield* viewMail(ada.claim)).state, "declined")
      assert.strictEqual(member(yield* Effect.flip(claimByMail(ada.claim)), "reason"), "declined")
      yield* claimable({ operator_contact: "declining@example.org" })
      yield* claimable({ operator_contact: "declining+b@example.org" })
      assert.deepStrictEqual(yield* newMails, [])
      const bob = yield* invited("de.clining@gmail.com")
      yield* claims.notMine(bob.decline)
      yield* claimable({ operator_contact: "d.e.clining+x@googlemail.com" })
      assert.deepStrictEqual(yield* newMails, [])
      yield* TestClock.adjust("6 days")
      yield* remind
      const further = (yield* newMails).filter(({ to }) => to.startsWith("declining"))
      assert.deepStrictEqual(further, [])
    })
  )

  it.effect(`The answer "not mine" hinders neither a sign-in nor a claim by link and code`, () =>
    Effect.gen(function* () {
      const ada = yield* invited("undecided@example.org")
      yield* Claims.use((claims) => claims.notMine(ada.decline))
      const { operatorId } = yield* signedIn("undecided@example.org")
      yield* claimWithCode(ada.token, ada.code, operatorId)
    })
  )

  it.effect("A mail whose link has ended can still be declined", () =>
    Effect.gen(function* () {
      const ada = yield* invited("slow@example.org")
      yield* TestClock.adjust("3 days")
      yield* Claims.use((claims) => claims.notMine(ada.decline))
      yield* claimable({ operator_contact: "slow@example.org" })
      assert.deepStrictEqual(yield* newMails, [])
    })
  )
})

layer(testServices())("The end of the grace window", (it) => {
  it.effect("Operators are told two days before the end, one day before and at the end, once each", () =>
    Effect.gen(function* () {
      const now = yield* DateTime.now
      const ada = yield* invited("grace@example.org", "Grace")
      const told: Array<readonly [hours: number, subject: string]> = []
      for (let hours = 0; hours <= 9 * 24; hours += 1) {
        yield* moveTo(plus(now, `${hours} hours`))
        yield* remind
        for (const { subject } of yield* newMails) told.push([hours, subject])
      }
      assert.deepStrictEqual(told, [
        [120, "Two days left to claim your agent: Grace"],
        [144, "One day left to claim your agent: Grace"],
        [168, "Paused until you claim it: Grace"]
      ])
      assert.isNotNull(member(yield* agentRow(ada.agentId), "issuance_paused_at"))
    })
  )

  it.effect("Each notice has a link of its own that claims, and ends the one before", () =>
    Effect.gen(function* () {
      const ada = yield* invited("fresh@example.org")
      yield* TestClock.adjust("5 days")
      yield* remind
      const second = claimLinks((yield* newMails)[0])
      assert.strictEqual((yield* viewMail(ada.claim)).state, "replaced")
      yield* TestClock.adjust("2 days")
      yield* remind
      const third = claimLinks((yield* newMails)[0])
      assert.strictEqual((yield* viewMail(second.claim)).state, "replaced")
      yield* claimByMail(third.claim)
      const profile = yield* Registry.use((registry) => registry.profile(ada.agentId))
      assert.strictEqual(profile.status, "active")
    })
  )

  it.effect("Notices leave out claimed agents", () =>
    Effect.gen(function* () {
      const ada = yield* invited("claimed@example.org")
      yield* claimByMail(ada.claim)
      yield* TestClock.adjust("8 days")
      assert.deepStrictEqual(yield* remind, { reminded: 0, paused: 0 })
      assert.isNull(member(yield* agentRow(ada.agentId), "issuance_paused_at"))
    })
  )

  it.effect("Notices are recorded for agents without mail too, but not for agents that never passed", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const ada = yield* claimable()
      yield* claimable({ operator_contact: "+49 171 1234567" })
      const waiting = yield* Registry.use((registry) =>
        registry.register({ name: "Waiting", operator_contact: "waiting@example.org" })
      )
      yield* TestClock.adjust("7 days")
      yield* TestClock.adjust("-1 millis")
      assert.strictEqual((yield* remind).paused, 0)
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(yield* remind, { reminded: 0, paused: 2 })
      assert.deepStrictEqual(yield* remind, { reminded: 0, paused: 0 })
      assert.deepStrictEqual(yield* newMails, [])
      const paused = yield* agentRow(ada.agentId)
      assert.deepStrictEqual(member(paused, "issuance_paused_at"), member(paused, "provisional_until"))
      const [row] = yield* sql`select grace_notices from agents where id = ${waiting.agent_id}::uuid`
      assert.strictEqual(member(row, "grace_notices"), 0)
    })
  )

  it.effect("A notice after an outage tells the present state, not the missed ones", () =>
    Effect.gen(function* () {
      yield* invited("outage@example.org", "Late")
      yield* TestClock.adjust("20 days")
      yield* remind
      const mails = yield* newMails
      assert.deepStrictEqual(
        mails.map(({ subject }) => subject),
        ["Paused until you claim it: Late"]
      )
    })
  )

  it.effect("More than a hundred agents of one day are told once each, also by two replicas at once", () =>
    Effect.gen(function* () {
      const count = 102
      yield* Effect.forEach(
        Array.from({ length: count }, (_, index) => index),
        (index) => claimable({ operator_contact: `many-${index}@example.org` }),
        { concurrency: 8 }
      )
      yield* newMails
      yield* TestClock.adjust("6 days")
      yield* Effect.all([remind, remind], { concurrency: "unbounded" })
      const mails = yield* newMails
      assert.strictEqual(mails.length, count)
      assert.strictEqual(new Set(mails.map(({ to }) => to)).size, count)
    })
  )
})

layer(testServices({ AUSPEX_PROVISIONAL_GRACE: "36 hours" }))("A short grace window", (it) => {
  it.effect("A short grace window has no reminder that is dated before the registration", () =>
    Effect.gen(function* () {
      const now = yield* DateTime.now
      yield* invited("short@example.org", "Short")
      const told: Array<readonly [hours: number, subject: string]> = []
      for (let hours = 0; hours <= 48; hours += 1) {
        yield* moveTo(plus(now, `${hours} hours`))
        yield* remind
        for (const { subject } of yield* newMails) told.push([hours, subject])
      }
      assert.deepStrictEqual(told, [
        [12, "One day left to claim your agent: Short"],
        [36, "Paused until you claim it: Short"]
      ])
    })
  )

  it.effect("The claim mail tells of a window that ended before the challenge was passed, and no other", () =>
    Effect.gen(function* () {
      const registry = yield* Registry
      const registered = yield* registry.register({
        name: "Slow",
        operator_contact: "passing-late@example.org"
      })
      yield* TestClock.adjust("3 days")
      yield* registry.submit(registered.challenge_id, passingAnswer(registered.challenge_prompt))
      assert.strictEqual((yield* newMails).length, 1)
      assert.strictEqual((yield* remind).paused, 1)
      assert.deepStrictEqual(yield* newMails, [])
    })
  )
})

layer(testServices({ AUSPEX_BASE_URL: "https://auspex.example/base" }))("Links in mails", (it) => {
  it.effect("Links in mails are built from the configured base URL", () =>
    Effect.gen(function* () {
      const { mail } = yield* invited("base@example.org")
      for (const link of linksIn(mail)) assert.match(link, /^https:\/\/auspex\.example\/base(\/|$)/)
      assert.match(
        String(mail?.unsubscribeUrl),
        /^https:\/\/auspex\.example\/base\/claim\/mail\/aus_mc_[\w-]{43}\/not-mine$/
      )
    })
  )
})
