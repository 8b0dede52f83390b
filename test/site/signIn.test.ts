/** Signing in and out by mail, and the account, over HTTP. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Mailer } from "../../src/services/Mailer.ts"
import {
  askForToken,
  issue,
  claimableByHttp,
  linksMailedTo,
  signInFrom,
  signInLink
} from "../support/agents.ts"
import { Mailbox } from "../support/mailbox.ts"
import { get, member, testServer } from "../support/server.ts"
import type { Answer } from "../support/server.ts"
import { formsOf, makeVisitor, textOf } from "../support/visitor.ts"
import type { Visitor } from "../support/visitor.ts"

const askFor = Effect.fnUntraced(function* (visitor: Visitor, email: string) {
  return yield* visitor.fill(yield* visitor.open("/sign-in"), "email", { email })
})

const withoutDetails = ({ text }: Answer, ...details: ReadonlyArray<string>) =>
  details.reduce((rest, detail) => rest.replaceAll(detail, ""), text)

layer(testServer())("Sign-in by mail", (it) => {
  it.effect("Sign-in by mail leads to the account of the address", () =>
    Effect.gen(function* () {
      const visitor = makeVisitor()
      const signedIn = yield* signInFrom(visitor, "/sign-in", "ada@example.org")
      assert.strictEqual(signedIn.status, 303)
      assert.strictEqual(signedIn.headers.get("location"), "/account")
      const account = yield* visitor.follow(signedIn)
      assert.include(textOf(account), "ada@example.org")
      assert.include(textOf(account), "No agents yet")
      assert.strictEqual((yield* visitor.open("/sign-in")).headers.get("location"), "/account")
    })
  )

  it.effect("Sign-in by mail answers the same, 202, whether anybody has an account with the address", () =>
    Effect.gen(function* () {
      yield* signInFrom(makeVisitor(), "/sign-in", "known@example.org")
      const known = yield* askFor(makeVisitor(), "known@example.org")
      const unknown = yield* askFor(makeVisitor(), "nobody@example.org")
      assert.deepStrictEqual([known.status, unknown.status], [202, 202])
      assert.strictEqual(
        withoutDetails(known, "known@example.org"),
        withoutDetails(unknown, "nobody@example.org")
      )
    })
  )

  it.effect("Sign-in by mail signs nobody in when the link is only opened", () =>
    Effect.gen(function* () {
      const visitor = makeVisitor()
      yield* askFor(visitor, "scanned@example.org")
      const link = yield* signInLink("scanned@example.org")
      for (let times = 0; times < 3; times++) {
        const page = yield* visitor.open(link)
        assert.strictEqual(page.status, 200)
        assert.isFalse([...visitor.cookies.keys()].some((name) => name.includes("session")))
      }
      assert.strictEqual((yield* visitor.open("/account")).headers.get("location"), "/sign-in")
    })
  )

  it.effect("Sign-in by mail works once: a replayed link says so and starts no session", () =>
    Effect.gen(function* () {
      const visitor = makeVisitor()
      yield* askFor(visitor, "once@example.org")
      const page = yield* visitor.open(yield* signInLink("once@example.org"))
      const other = makeVisitor()
      const pageOfOther = yield* other.open(yield* signInLink("once@example.org"))
      const answers = yield* Effect.all([visitor.fill(page, "Sign in"), other.fill(pageOfOther, "Sign in")], {
        concurrency: 2
      })
      assert.deepStrictEqual(answers.map(({ status }) => status).sort(), [303, 410])
      const loser = answers.find(({ status }) => status === 410)
      assert.deepStrictEqual(loser?.headers.getSetCookie(), [])
      const again = yield* get(yield* signInLink("once@example.org"))
      assert.strictEqual(again.status, 410)
      assert.include(textOf(again), "This link has been used")
    })
  )

  it.effect("Sign-in by mail ends after ten minutes", () =>
    Effect.gen(function* () {
      const visitor = makeVisitor()
      yield* askFor(visitor, "slow@example.org")
      const link = yield* signInLink("slow@example.org")
      const page = yield* visitor.open(link)
      yield* TestClock.adjust("10 minutes")
      const late = yield* visitor.fill(page, "Sign in")
      assert.strictEqual(late.status, 410)
      assert.include(textOf(late), "This link has expired")
      assert.strictEqual((yield* get(link)).status, 410)
    })
  )

  it.effect("Sign-in by mail works by the newest link only", () =>
    Effect.gen(function* () {
      const visitor = makeVisitor()
      yield* askFor(visitor, "twice@example.org")
      const first = yield* signInLink("twice@example.org")
      yield* askFor(visitor, "twice@example.org")
      const second = yield* signInLink("twice@example.org")
      assert.include(textOf(yield* visitor.open(first)), "There is a newer link")
      assert.strictEqual((yield* visitor.fill(yield* visitor.open(second), "Sign in")).status, 303)
    })
  )

  it.effect("Sign-in by mail takes exactly one address, and mails nobody else", () =>
    Effect.gen(function* () {
      const hostile = [
        "",
        "ada",
        "ada@",
        "@example.org",
        "ada@example",
        "two@example.org, eve@example.org",
        "two@example.org;eve@example.org",
        "two@example.org eve@example.org",
        "two@example.org\r\nBcc: eve@example.org",
        "two@example.org\nTo: eve@example.org",
        "Ada <two@example.org>",
        '"two@example.org"@evil.example',
        "two@example.org\u0000",
        "twö@example.org",
        `${"a".repeat(65)}@example.org`,
        `two@${"a".repeat(250)}.org`,
        "<script>alert(1)</script>@example.org"
      ]
      for (const email of hostile) {
        const answer = yield* askFor(makeVisitor(), email)
        assert.strictEqual(answer.status, 400, email)
        assert.match(textOf(answer), /Enter (your|one) e-mail address/)
        assert.include(answer.text, 'aria-invalid="true"')
        assert.notInclude(answer.text, "<script")
      }
      yield* (yield* Mailer).drain
      const { delivered } = yield* Mailbox
      assert.isFalse(delivered.some(({ text, to }) => /eve|two|evil/.test(to + text)))
    })
  )

  it.effect("Sign-in by mail says what is wrong with an address that some mail servers take", () =>
    Effect.gen(function* () {
      for (const [email, told] of [
        ["taro..yamada@docomo.example", "without two dots in a row"],
        ["taro.@docomo.example", "without two dots in a row"],
        ["иван@пример.рф", "with Latin letters before the @"]
      ] as const) {
        assert.include(textOf(yield* askFor(makeVisitor(), email)), told)
      }
    })
  )

  it.effect("Sign-in by an unknown link is a page with 404", () =>
    Effect.gen(function* () {
      for (const path of ["/sign-in/x", `/sign-in/aus_si_${"A".repeat(43)}`])
        assert.strictEqual((yield* get(path)).status, 404)
      const visitor = makeVisitor()
      const [form] = formsOf(yield* visitor.open("/sign-in"))
      const sent = yield* visitor.submit(form && { ...form, action: "/sign-in/x" })
      assert.strictEqual(sent.status, 404)
    })
  )
})

layer(
  testServer({ environment: { AUSPEX_LIMIT_SIGN_IN_MAILS: "2/hour", AUSPEX_LIMIT_READS: "1000/minute" } })
)("The limit on sign-in mails", (it) => {
  it.effect("The limit on sign-in mails is a page with 429 that says when to try again", () =>
    Effect.gen(function* () {
      const visitor = makeVisitor()
      for (let times = 0; times < 2; times++)
        assert.strictEqual((yield* askFor(visitor, "ada@example.org")).status, 202)
      const refused = yield* askFor(visitor, "ada+more@example.org")
      assert.strictEqual(refused.status, 429)
      assert.match(refused.headers.get("retry-after") ?? "", /^\d+$/)
      assert.include(textOf(refused), "Too many requests")
    })
  )
})

layer(testServer())("A session", (it) => {
  it.effect("A session is a cookie that only this host gets, out of reach of scripts", () =>
    Effect.gen(function* () {
      const visitor = makeVisitor()
      const signedIn = yield* signInFrom(visitor, "/sign-in", "ada@example.org")
      const cookie = signedIn.headers.getSetCookie().find((set) => set.includes("session")) ?? ""
      assert.match(cookie, /^auspex_session=aus_ss_[\w-]{43}; /)
      for (const attribute of ["HttpOnly", "Path=/", "SameSite=Lax", "Max-Age=604800"])
        assert.include(cookie, attribute)
      assert.notMatch(cookie, /Domain|Secure/)
    })
  )

  it.effect("A session ends with sign-out, also for a copy of the cookie", () =>
    Effect.gen(function* () {
      const visitor = makeVisitor()
      const account = yield* visitor.follow(yield* signInFrom(visitor, "/sign-in", "ada@example.org"))
      const copy = visitor.cookies.get("auspex_session") ?? ""
      const out = yield* visitor.fill(account, "Sign out")
      assert.strictEqual(out.headers.get("location"), "/sign-in")
      assert.isFalse(visitor.cookies.has("auspex_session"))
      const stolen = yield* get("/account", { headers: { cookie: `auspex_session=${copy}` } })
      assert.strictEqual(stolen.status, 303)
    })
  )

  it.effect("A session is another one after each sign-in, and the one before it ends", () =>
    Effect.gen(function* () {
      const visitor = makeVisitor()
      yield* signInFrom(visitor, "/sign-in", "first@example.org")
      const before = visitor.cookies.get("auspex_session") ?? ""
      const agent = yield* claimableByHttp({ operator_contact: "first@example.org" })
      const claim = (yield* linksMailedTo("first@example.org")).find((link) =>
        link.startsWith("/claim/mail/")
      )
      assert.strictEqual((yield* visitor.fill(yield* visitor.open(claim ?? ""), "Claim")).status, 303)
      assert.notStrictEqual(visitor.cookies.get("auspex_session"), before)
      assert.include(textOf(yield* visitor.open("/account")), agent.agentId)
      const old = yield* get("/account", { headers: { cookie: `auspex_session=${before}` } })
      assert.strictEqual(old.status, 303)
    })
  )

  it.effect("A session ends when it was not used for 12 hours, and after seven days in any case", () =>
    Effect.gen(function* () {
      const visitor = makeVisitor()
      yield* signInFrom(visitor, "/sign-in", "idle@example.org")
      for (let hours = 0; hours < 7 * 24 - 11; hours += 11) {
        yield* TestClock.adjust("11 hours")
        assert.strictEqual((yield* visitor.open("/account")).status, 200, `after ${hours + 11} hours`)
      }
      yield* TestClock.adjust("11 hours")
      assert.strictEqual((yield* visitor.open("/account")).status, 303)
      yield* signInFrom(visitor, "/sign-in", "idle2@example.org")
      yield* TestClock.adjust("12 hours")
      assert.strictEqual((yield* visitor.open("/account")).status, 303)
    })
  )
})

layer(testServer())("The account page", (it) => {
  /** A visitor who owns the agent, and the agent's page. */
  const owner = Effect.fnUntraced(function* (email: string, name: string) {
    const agent = yield* claimableByHttp({ name, operator_contact: email })
    const visitor = makeVisitor()
    const claim = (yield* linksMailedTo(email)).find((link) => /^\/claim\/mail\/[^/]+$/.test(link))
    yield* visitor.fill(yield* visitor.open(claim ?? ""), "Claim")
    return { agent, visitor, account: yield* visitor.open("/account") }
  })

  it.effect("The account page lists the operator's agents with their status, and nobody else's", () =>
    Effect.gen(function* () {
      const { account, agent } = yield* owner("ada@example.org", "Of Ada")
      const { agent: other } = yield* owner("eve@example.org", "Of Eve")
      const text = textOf(account)
      for (const words of ["Of Ada", "Active", agent.agentId, "ada@example.org"]) assert.include(text, words)
      assert.notInclude(text, other.agentId)
    })
  )

  it.effect("The account page replaces an agent's secret, shows the new one once, and ends the old one", () =>
    Effect.gen(function* () {
      const { account, agent, visitor } = yield* owner("rotate@example.org", "Rotated")
      const { access_token } = yield* issue(agent.agentId, agent.secret)
      const page = yield* visitor.fill(account, "Replace the secret")
      assert.strictEqual(page.status, 200)
      assert.strictEqual(page.headers.get("cache-control"), "no-store")
      const secret = /aus_cs_[\w-]+/.exec(page.text)?.[0] ?? ""
      assert.strictEqual((yield* askForToken(agent.agentId, agent.secret)).status, 401)
      assert.strictEqual((yield* askForToken(agent.agentId, secret)).status, 200)
      assert.notInclude((yield* visitor.open("/account")).text, secret)
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual((yield* get("/api/v1/agent/profile/self", { token: access_token })).status, 401)
    })
  )

  it.effect("The account page replaces no secret until the owner confirms that the old one ends", () =>
    Effect.gen(function* () {
      const { account, agent, visitor } = yield* owner("unsure@example.org", "Unsure")
      assert.match(account.text, /<input type="checkbox" name="sure" value="yes" required/)
      const form = formsOf(account).find(({ button }) => button.startsWith("Replace"))
      assert(form !== undefined)
      const { sure: _, ...unsure } = form.fields
      for (const fields of [unsure, { ...unsure, sure: "" }, { ...unsure, sure: "no" }]) {
        const refused = yield* visitor.submit({ ...form, fields })
        assert.strictEqual(refused.status, 400)
        assert.match(
          textOf(refused),
          /No secret was replaced\. Tick that you know that the old one ends at once\./
        )
        assert.notMatch(refused.text, /aus_cs_/)
      }
      assert.strictEqual((yield* askForToken(agent.agentId, agent.secret)).status, 200)
    })
  )

  it.effect("The account page replaces no secret of somebody else's agent: it is as unknown as any", () =>
    Effect.gen(function* () {
      const { agent } = yield* owner("victim@example.org", "Victim")
      const { account, visitor } = yield* owner("thief@example.org", "Thief")
      const form = formsOf(account).find(({ button }) => button.startsWith("Replace"))
      for (const id of [agent.agentId, "0190f000-0000-7000-8000-000000000000", "x", "%00"]) {
        const answer = yield* visitor.submit(
          form && { ...form, action: `/account/agents/${id}/rotate-secret` }
        )
        assert.strictEqual(answer.status, 404, id)
      }
      assert.strictEqual(
        member((yield* askForToken(agent.agentId, agent.secret)).json, "agent_status"),
        "active"
      )
    })
  )

  it.effect("The account page leads a visitor without a session to the sign-in page", () =>
    Effect.gen(function* () {
      const answer = yield* get("/account")
      assert.strictEqual(answer.status, 303)
      assert.strictEqual(answer.headers.get("location"), "/sign-in")
    })
  )
})

layer(testServer({ environment: { AUSPEX_DISPOSABLE_DOMAINS: "trash.example" } }))(
  "A disposable address",
  (it) => {
    it.effect("A disposable address is refused on the sign-in page and on a claim page, which say why", () =>
      Effect.gen(function* () {
        const agent = yield* claimableByHttp()
        for (const path of ["/sign-in", agent.path]) {
          const visitor = makeVisitor()
          const refused = yield* visitor.fill(yield* visitor.open(path), "email", {
            email: "ada@mx.trash.example"
          })
          assert.strictEqual(refused.status, 400, path)
          assert.include(textOf(refused), "Addresses of mx.trash.example are not taken here")
          assert.include(refused.text, 'value="ada@mx.trash.example"')
        }
      })
    )
  }
)
