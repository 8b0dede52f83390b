/** Operators: sign-in by mail or by an identity provider, and the lifetime of sessions. */
import { assert, layer } from "@effect/vitest"
import { Effect, Option, Result, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { Claims } from "../../src/services/Claims.ts"
import type { OperatorId } from "../../src/services/domain/ids.ts"
import { Operators, ReturnTo, toAccount } from "../../src/services/Operators.ts"
import { times } from "../support/concurrently.ts"
import {
  claimable,
  claimLinks,
  claimWithCode,
  newMails,
  signedIn,
  agentRow,
  tokenOf,
  address
} from "../support/agents.ts"
import { freshWeek, moveTo, plus } from "../support/challenges.ts"
import { asOwner, countOf } from "../support/database.ts"
import { linksIn } from "../support/mailbox.ts"
import { member } from "../support/server.ts"
import { testServices } from "../support/services.ts"

const request = (email: string, from: string = "192.0.2.1", returnTo: ReturnTo = toAccount) =>
  Operators.use((operators) => operators.requestSignIn({ email: address(email), returnTo, address: from }))

/** Asks for a link, and answers its token as the mail has it. */
const linkFor = Effect.fnUntraced(function* (email: string, returnTo?: ReturnTo) {
  yield* request(email, "192.0.2.1", returnTo)
  return tokenOf(linksIn((yield* newMails).at(-1))[1])
})

const signIn = (token: string) => Operators.use((operators) => operators.signIn(token))
const view = (token: string) => Operators.use((operators) => operators.viewSignIn(token))
const whoHas = (secret: string) =>
  Effect.map(
    Operators.use((operators) => operators.session(secret)),
    Option.map(({ operatorId }) => operatorId)
  )
const isSignedIn = (secret: string) => Effect.map(whoHas(secret), Option.isSome)

layer(testServices())("A sign-in link", (it) => {
  it.effect("A sign-in link makes an account at first, and leads back to it ever after", () =>
    Effect.gen(function* () {
      const first = yield* signedIn("ada@example.org")
      const second = yield* signedIn(" ADA@Example.org ")
      assert.strictEqual(first.operatorId, second.operatorId)
      assert.notStrictEqual(first.secret, second.secret)
      const operator = yield* Operators.use((operators) => operators.session(second.secret))
      assert.deepStrictEqual(Option.getOrNull(operator), {
        operatorId: first.operatorId,
        email: address("ada@example.org"),
        plan: "free"
      })
    })
  )

  it.effect("A link to any form of a mailbox signs in to its one account, by mail to its address", () =>
    Effect.gen(function* () {
      const first = yield* signedIn("first.last+auspex@gmail.com")
      for (const form of ["firstlast@gmail.com", "f.irstlast+2@googlemail.com"]) {
        yield* request(form)
        const [mail] = yield* newMails
        assert.strictEqual(mail?.to, "first.last+auspex@gmail.com")
        const { session } = yield* signIn(tokenOf(linksIn(mail)[1]))
        assert.strictEqual(session.operatorId, first.operatorId)
      }
      const operator = yield* Operators.use((operators) => operators.session(first.secret))
      assert.strictEqual(Option.getOrThrow(operator).email, "first.last+auspex@gmail.com")
      assert.notStrictEqual(
        (yield* signedIn("first.last@example.org")).operatorId,
        (yield* signedIn("firstlast@example.org")).operatorId
      )
    })
  )

  it.effect("Links to ten forms of a mailbox that are used at once make one account", () =>
    Effect.gen(function* () {
      yield* newMails
      yield* Effect.forEach(
        times(10, (n) => n),
        (n) => request(`crowd+${n}@pm.me`)
      )
      const tokens = (yield* newMails).map((mail) => tokenOf(linksIn(mail)[1]))
      const ended = yield* Effect.forEach(tokens, (token) => Effect.result(signIn(token)), {
        concurrency: "unbounded"
      })
      assert.lengthOf(ended.filter(Result.isSuccess), 1)
      for (const { failure } of ended.filter(Result.isFailure)) {
        assert.strictEqual(failure.code, "sign_in_link_ended")
      }
    })
  )

  it.effect("A link mailed to one form lets nobody in to an account that another form has made since", () =>
    Effect.gen(function* () {
      const early = yield* linkFor("victim+x@example.org")
      const victim = yield* signedIn("victim@example.org")
      assert.strictEqual((yield* Effect.flip(signIn(early))).code, "sign_in_link_ended")
      yield* request("victim+x@example.org")
      assert.strictEqual((yield* newMails).at(-1)?.to, "victim@example.org")
      assert.strictEqual((yield* signedIn("victim+y@example.org")).operatorId, victim.operatorId)
    })
  )

  it.effect("A link's page shows its account and destination any number of times, and signs nobody in", () =>
    Effect.gen(function* () {
      const claimPage = ReturnTo.make(`/claim/aus_cl_${"A".repeat(43)}`)
      const token = yield* linkFor("scanned@example.org", claimPage)
      for (const _ of times(3, () => 0)) {
        assert.deepStrictEqual(yield* view(token), {
          state: "open",
          email: address("scanned@example.org"),
          returnTo: claimPage
        })
      }
      assert.strictEqual((yield* signIn(token)).returnTo, claimPage)
    })
  )

  it.effect("A sign-in link leads only to the account or to a claim page", () =>
    Effect.gen(function* () {
      const decode = Schema.decodeUnknownEffect(ReturnTo)
      for (const path of [
        "https://evil.example",
        "//evil.example",
        "/claim/../evil",
        "/account/../../evil",
        "/account\n",
        "/account?next=//evil.example",
        "\\\\evil.example",
        "javascript:alert(1)",
        "",
        "/claim/",
        `/claim/aus_cl_${"A".repeat(44)}`
      ]) {
        assert.isTrue(Result.isFailure(yield* Effect.result(decode(path))), path)
      }
    })
  )

  it.effect("A sign-in link works once, also for 20 at once", () =>
    Effect.gen(function* () {
      const token = yield* linkFor("once@example.org")
      const results = yield* Effect.forEach(
        times(20, () => signIn(token)),
        Effect.result,
        { concurrency: "unbounded" }
      )
      assert.strictEqual(results.filter(Result.isSuccess).length, 1)
      for (const each of results.filter(Result.isFailure)) {
        assert.strictEqual(member(each.failure, "reason"), "used")
      }
      assert.deepStrictEqual(yield* view(token), { state: "used" })
    })
  )

  it.effect("A sign-in link works for ten minutes, to the millisecond", () =>
    Effect.gen(function* () {
      const early = yield* linkFor("early@example.org")
      const late = yield* linkFor("late@example.org")
      yield* TestClock.adjust("10 minutes")
      yield* TestClock.adjust("-1 millis")
      yield* signIn(early)
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(yield* view(late), { state: "expired" })
      const error = yield* Effect.flip(signIn(late))
      assert.strictEqual(member(error, "reason"), "expired")
    })
  )

  it.effect("A sign-in link ends with the next one to the same address", () =>
    Effect.gen(function* () {
      const older = yield* linkFor("twice@example.org")
      const other = yield* linkFor("other@example.org")
      const newer = yield* linkFor("twice@example.org")
      assert.deepStrictEqual(yield* view(older), { state: "replaced" })
      assert.strictEqual(member(yield* Effect.flip(signIn(older)), "reason"), "replaced")
      yield* signIn(newer)
      yield* signIn(other)
    })
  )

  it.effect("Of ten sign-in links asked for at once one works", () =>
    Effect.gen(function* () {
      yield* Effect.all(
        times(10, () => request("crowd@example.org")),
        { concurrency: "unbounded" }
      )
      const tokens = (yield* newMails).map((mail) => tokenOf(linksIn(mail)[1]))
      assert.strictEqual(tokens.length, 10)
      const states = yield* Effect.forEach(tokens, view)
      assert.strictEqual(states.filter(({ state }) => state === "open").length, 1)
    })
  )

  it.effect("A sign-in link that nobody made is NotFound, whatever it looks like", () =>
    Effect.gen(function* () {
      for (const token of ["", "x", "\0", `aus_si_${"A".repeat(43)}`, `aus_cl_${"A".repeat(43)}`]) {
        assert.strictEqual((yield* Effect.flip(view(token))).code, "not_found")
        assert.strictEqual((yield* Effect.flip(signIn(token))).code, "not_found")
      }
    })
  )

  it.effect("A sign-in mail is the same for an address with an account and one without", () =>
    Effect.gen(function* () {
      yield* signedIn("known@example.org")
      yield* request("known@example.org")
      yield* request("strange@example.org")
      const [known, strange] = (yield* newMails).map(({ subject, text }) =>
        `${subject} ${text}`.replace(/aus_si_\S+/, "")
      )
      assert.isNotEmpty(known)
      assert.strictEqual(known, strange)
    })
  )

  it.effect("A sign-in link is stored as a hash, and its destination is encrypted", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const returnTo = ReturnTo.make(`/claim/aus_cl_${"B".repeat(43)}`)
      const token = yield* linkFor("stored@example.org", returnTo)
      const { session } = yield* signIn(token)
      const rows = yield* sql`
        select encode(token_hash, 'escape') || encode(return_to, 'escape') as text from sign_in_links
        union all select encode(secret_hash, 'escape') from operator_sessions
        union all select coalesce(encode(encrypted, 'escape'), '') from mails`
      const stored = JSON.stringify(rows)
      for (const secret of [token, session.secret, returnTo, "BBBB"]) assert.notInclude(stored, secret)
    })
  )
})

layer(testServices({ AUSPEX_LIMIT_SIGN_IN_MAILS: "5/hour", AUSPEX_LIMIT_SIGN_INS: "20/hour" }))(
  "Sign-in mails",
  (it) => {
    it.effect("A mailbox gets 5 sign-in mails an hour, whatever suffix it is written with", () =>
      Effect.gen(function* () {
        const now = yield* freshWeek
        for (const n of times(5, (index) => index)) yield* request(`ada+${n}@example.org`, `192.0.2.${n}`)
        const error = yield* Effect.flip(request("ada@example.org", "192.0.2.9"))
        assert.strictEqual(error._tag, "TooManyRequests")
        const forms = [
          "a.da@gmail.com",
          "ad.a@gmail.com",
          "ada@googlemail.com",
          "a.d.a@gmail.com",
          "ada@gmail.com"
        ]
        for (const form of forms) yield* request(form, "192.0.2.8")
        assert.strictEqual(
          (yield* Effect.flip(request("ad.a+x@googlemail.com", "192.0.2.8")))._tag,
          "TooManyRequests"
        )
        yield* newMails
        yield* request("bob@example.org", "192.0.2.9")
        assert.strictEqual((yield* newMails).length, 1)
        yield* moveTo(plus(now, "2 hours"))
        yield* request("ada@example.org", "192.0.2.9")
      })
    )

    it.effect("An address may ask for 20 sign-in mails an hour", () =>
      Effect.gen(function* () {
        yield* freshWeek
        for (const n of times(20, (index) => index)) yield* request(`n${n}@example.org`, "198.51.100.1")
        const error = yield* Effect.flip(request("n21@example.org", "198.51.100.1"))
        assert.strictEqual(error._tag, "TooManyRequests")
        yield* request("n21@example.org", "198.51.100.2")
      })
    )
  }
)

layer(testServices())("A session", (it) => {
  it.effect("A session ends when it is unused for 12 hours, and each use prolongs it", () =>
    Effect.gen(function* () {
      const { secret } = yield* signedIn("idle@example.org")
      for (const _ of times(3, () => 0)) {
        yield* TestClock.adjust("11 hours")
        assert.isTrue(yield* isSignedIn(secret))
      }
      yield* TestClock.adjust("12 hours")
      assert.isFalse(yield* isSignedIn(secret))
    })
  )

  it.effect("A session ends after 7 days even if it is used all the time", () =>
    Effect.gen(function* () {
      const { secret } = yield* signedIn("busy@example.org")
      for (const _ of times(16, () => 0)) {
        assert.isTrue(yield* isSignedIn(secret))
        yield* TestClock.adjust("10 hours")
      }
      assert.isTrue(yield* isSignedIn(secret))
      yield* TestClock.adjust("8 hours")
      assert.isFalse(yield* isSignedIn(secret))
    })
  )

  it.effect("A session ends by signing out, and no other session does", () =>
    Effect.gen(function* () {
      const [here, there] = [yield* signedIn("out@example.org"), yield* signedIn("out@example.org")]
      yield* Operators.use((operators) => operators.signOut(here.secret))
      assert.isFalse(yield* isSignedIn(here.secret))
      assert.isTrue(yield* isSignedIn(there.secret))
      yield* Operators.use((operators) => operators.signOut(here.secret))
    })
  )

  it.effect("A session with an invented secret is nobody's", () =>
    Effect.gen(function* () {
      for (const secret of ["", "\0", "aus_ss_", `aus_ss_${"A".repeat(43)}`, "A".repeat(100_000)]) {
        assert.isFalse(yield* isSignedIn(secret))
      }
    })
  )

  it.effect("Housekeeping forgets sessions that are over, and links a week after their end", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`delete from operator_sessions`
      yield* sql`delete from sign_in_links`
      yield* signedIn("trim@example.org")
      const left = Effect.all([
        countOf((query) => query`select count(*)::int as count from operator_sessions`),
        countOf((query) => query`select count(*)::int as count from sign_in_links`)
      ])
      const trim = Operators.use((operators) => operators.trim)
      yield* TestClock.adjust("7 days")
      yield* TestClock.adjust("-1 millis")
      yield* trim
      assert.deepStrictEqual(yield* left, [1, 1])
      yield* TestClock.adjust("1 hour")
      yield* trim
      assert.deepStrictEqual(yield* left, [0, 0])
    })
  )
})

layer(testServices())("An identity provider's account", (it) => {
  const identify = (issuer: string, subject: string, email: string | null = null) =>
    Operators.use((operators) =>
      operators.signInWithIdentity({
        issuer,
        subject,
        email: email === null ? null : address(email)
      })
    ).pipe(Effect.map(({ operatorId }) => operatorId))

  const emailOf = (operatorId: OperatorId) =>
    Effect.map(
      Operators.use((operators) => operators.owner(operatorId)),
      ({ email }) => email
    )

  it.effect("An identity provider's account is that of issuer and subject, letter by letter", () =>
    Effect.gen(function* () {
      const ada = yield* identify("https://id.example", "ada")
      assert.strictEqual(yield* identify("https://id.example", "ada"), ada)
      const others = yield* Effect.all([
        identify("https://id.example/", "ada"),
        identify("https://id.example", "Ada"),
        identify("https://other.example", "ada")
      ])
      assert.strictEqual(new Set([ada, ...others]).size, 4)
    })
  )

  it.effect("Twenty first sign-ins at once make one account", () =>
    Effect.gen(function* () {
      const found = yield* Effect.all(
        times(20, () => identify("https://id.example", "crowd")),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(new Set(found).size, 1)
    })
  )

  it.effect("An account takes a free verified address, and a mail to it signs in to the same account", () =>
    Effect.gen(function* () {
      const ada = yield* identify("https://id.example", "with-mail", "idp@example.org")
      assert.strictEqual(yield* emailOf(ada), "idp@example.org")
      assert.strictEqual((yield* signedIn("idp@example.org")).operatorId, ada)
    })
  )

  it.effect("No account is made or merged where another one has the mailbox of its address", () =>
    Effect.gen(function* () {
      const { operatorId } = yield* signedIn("held.by.mail@gmail.com")
      for (const form of ["held.by.mail@gmail.com", "heldbymail+x@gmail.com"]) {
        const refused = yield* Effect.flip(identify("https://id.example", form, form))
        assert.strictEqual(refused.code, "sign_in_refused")
      }
      assert.strictEqual((yield* signedIn("held.by.mail@gmail.com")).operatorId, operatorId)
      const ada = yield* identify("https://id.example", "holder", "holder+idp@example.org")
      assert.strictEqual((yield* signedIn("holder@example.org")).operatorId, ada)
      const again = yield* Effect.flip(identify("https://id.example", "her second", "holder+2@example.org"))
      assert.strictEqual(again.code, "sign_in_refused")
    })
  )

  it.effect("Ten sign-ins at once with forms of one mailbox make one account", () =>
    Effect.gen(function* () {
      const found = yield* Effect.all(
        times(10, (index) =>
          Effect.option(identify("https://id.example", `form ${index}`, `forms+${index}@example.org`))
        ),
        { concurrency: "unbounded" }
      )
      assert.lengthOf(found.filter(Option.isSome), 1)
    })
  )

  it.effect("An account keeps its address when the provider names another", () =>
    Effect.gen(function* () {
      const ada = yield* identify("https://id.example", "moving", "before@example.org")
      yield* identify("https://id.example", "moving", "after@example.org")
      assert.strictEqual(yield* emailOf(ada), "before@example.org")
    })
  )
})

layer(testServices({ AUSPEX_DISPOSABLE_DOMAINS: "trash.example,burner.example" }))(
  "A disposable address",
  (it) => {
    it.effect("A disposable address gets no sign-in mail and no account, even by an existing link", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const refused = yield* Effect.flip(request("ada@mx.trash.example"))
        assert.strictEqual(refused._tag, "DisposableAddress")
        assert.include(refused.detail, "Addresses of mx.trash.example are not taken here")
        assert.deepStrictEqual(yield* newMails, [])
        // The link was asked for before the domain was listed.
        const token = yield* linkFor("ada@example.org")
        yield* sql`update sign_in_links set email = 'ada@trash.example' where used_at is null`
        assert.strictEqual((yield* Effect.flip(signIn(token))).code, "disposable_address")
        assert.deepStrictEqual(yield* sql`select 1 from operators where email like '%trash.example'`, [])
      })
    )

    it.effect("An existing account with a disposable address keeps its sign-in, in any form", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { operatorId } = yield* signedIn("old@example.org")
        yield* sql`
          update operators set email = 'old+1@burner.example', mailbox = 'old@burner.example'
           where id = ${operatorId}::uuid`
        assert.strictEqual((yield* signedIn("old+1@burner.example")).operatorId, operatorId)
        assert.strictEqual((yield* signedIn("old@burner.example")).operatorId, operatorId)
      })
    )

    it.effect("A disposable address makes no account by an identity provider either", () =>
      Effect.gen(function* () {
        const refused = yield* Operators.use((operators) =>
          operators.signInWithIdentity({
            issuer: "https://id.example",
            subject: "ada",
            email: address("idp@trash.example")
          })
        ).pipe(Effect.flip)
        assert.strictEqual(refused.code, "disposable_address")
      })
    )

    it.effect("A disposable address is no operator_contact (400), and an earlier one gets no mail", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const refused = yield* Effect.flip(claimable({ operator_contact: "Ada@Trash.example" }))
        assert.include(
          String(member(refused, "detail")),
          "operator_contact: Addresses of trash.example are not taken here"
        )
        const ada = yield* claimable({ operator_contact: "ada@example.org" })
        const [mail] = yield* newMails
        yield* asOwner(
          sql`update agents set operator_contact = 'ada@trash.example' where id = ${ada.agentId}::uuid`
        )
        yield* TestClock.adjust("6 days")
        yield* Claims.use((claims) => claims.remindDue)
        assert.deepStrictEqual(yield* newMails, [])
        // The link of an existing mail signs nobody in, and leaves the agent to the holder of the claim link.
        yield* sql`update mail_claims set email = 'ada@trash.example', expires_at = expires_at + interval '9 days'`
        const claim = Claims.use((claims) => claims.claimByMail(claimLinks(mail).claim))
        assert.strictEqual((yield* Effect.flip(claim)).code, "disposable_address")
        assert.isNull(member(yield* agentRow(ada.agentId), "owner_id"))
      })
    )
  }
)

layer(testServices())("An owner", (it) => {
  it.effect("An owner is shown with plan and agents, and can be put on a plan", () =>
    Effect.gen(function* () {
      const operators = yield* Operators
      const { operatorId } = yield* signedIn("owner@example.org")
      const ada = yield* claimable({ name: "Ada" })
      yield* claimWithCode(ada.token, ada.code, operatorId)
      const owner = yield* operators.owner(operatorId)
      assert.deepInclude(owner, { owner_id: operatorId, plan: "free", email: "owner@example.org" })
      assert.deepStrictEqual(
        owner.agents.map(({ agent_id, name, status }) => [agent_id, name, status]),
        [[ada.agentId, "Ada", "active"]]
      )
      assert.strictEqual((yield* operators.changeOwner(operatorId, { plan: "team" })).plan, "team")
      assert.strictEqual((yield* operators.owner(operatorId)).plan, "team")
    })
  )

  it.effect("An unknown owner is NotFound", () =>
    Effect.gen(function* () {
      const operators = yield* Operators
      for (const id of ["", "nobody", "0190f000-0000-7000-8000-000000000000"]) {
        assert.strictEqual((yield* Effect.flip(operators.owner(id)))._tag, "NotFound")
        assert.strictEqual((yield* Effect.flip(operators.changeOwner(id, { plan: "pro" })))._tag, "NotFound")
      }
    })
  )
})
