/** Attacks on the forms by other sites, replays and malformed bodies; and the headers of every page. */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, References } from "effect"
import { formTokenOf } from "../../src/http/site/siteLayer.ts"
import { pageMethods, pagePaths, topUpPage } from "../../src/http/site/paths.ts"
import { assets } from "../../src/http/site/assets/assets.ts"
import { Claims } from "../../src/services/Claims.ts"
import { StoreUnavailable } from "../../src/services/domain/errors.ts"
import { claimableByHttp, linksMailedTo, wrongCode, signInFrom, signInLink } from "../support/agents.ts"
import { isFull } from "../support/breadth.ts"
import { fundOwnerOf } from "../support/credit.ts"
import { timesHealth } from "../support/requestCost.ts"
import { get, post, send, testServer } from "../support/server.ts"
import type { Answer } from "../support/server.ts"
import { formsOf, makeVisitor, sameOrigin, textOf } from "../support/visitor.ts"
import type { Form } from "../support/visitor.ts"

const formOf = (page: Answer, what: string): Form => {
  const form = formsOf(page).find((each) => what in each.fields || each.button.startsWith(what))
  if (form === undefined) throw new Error(`the page has no form ${what}`)
  return form
}

/** Every form of the site, filled in validly, with a check of its effect. */
const everyForm = Effect.gen(function* () {
  const agent = yield* claimableByHttp({ operator_contact: "mailed@example.org" })
  const stranger = makeVisitor()
  const operator = makeVisitor()
  const account = yield* operator.follow(yield* signInFrom(operator, "/sign-in", "owner@example.org"))
  yield* claimableByHttp({ operator_contact: "rotator@example.org" })
  const rotator = makeVisitor()
  const mailed = (yield* linksMailedTo("rotator@example.org")).find((link) => /mail\/[^/]+$/.test(link)) ?? ""
  yield* rotator.fill(yield* rotator.open(mailed), "Claim")
  const [, owned = ""] = /agents\/([^/]+)\/topup/.exec((yield* rotator.open("/account")).text) ?? []
  yield* fundOwnerOf(owned, 20)
  const claimMail =
    (yield* linksMailedTo("mailed@example.org")).find((link) => /mail\/[^/]+$/.test(link)) ?? ""
  const signIn = formOf(yield* stranger.open("/sign-in"), "email")
  yield* stranger.submit(signIn, { email: "linked@example.org" })
  return [
    ["sign-in", stranger, signIn, { email: "mail@example.org" }],
    [
      "sign-in from a claim page",
      stranger,
      formOf(yield* stranger.open(agent.path), "email"),
      { email: "mail@example.org" }
    ],
    [
      "the sign-in link",
      stranger,
      formOf(yield* stranger.open(yield* signInLink("linked@example.org")), "Sign in"),
      {}
    ],
    [
      "the pairing code",
      operator,
      formOf(yield* operator.open(agent.path), "pairing_code"),
      { pairing_code: agent.code }
    ],
    ["the claim mail", stranger, formOf(yield* stranger.open(claimMail), "Claim"), {}],
    ["sign-out", operator, formOf(account, "Sign out"), {}],
    ["a new secret", rotator, formOf(yield* rotator.open("/account"), "Replace"), {}],
    ["a top-up", rotator, formOf(yield* rotator.open(topUpPage(owned)), "amount"), { amount: "5" }]
  ] as const
})

layer(testServer())("Forms", (it) => {
  it.effect("Forms of other sites do nothing, whatever they hold", () =>
    Effect.gen(function* () {
      const hostile: ReadonlyArray<Readonly<Record<string, string>>> = [
        { "sec-fetch-site": "cross-site" },
        { "sec-fetch-site": "same-site" },
        { "sec-fetch-site": "none" },
        { "sec-fetch-site": "cross-site", origin: "http://127.0.0.1:8080" },
        { origin: "https://evil.example" },
        { origin: "http://127.0.0.1:8080.evil.example" },
        { origin: "http://127.0.0.1:8081" }
      ]
      for (const [name, visitor, form, fields] of yield* everyForm) {
        for (const headers of hostile) {
          const body = new URLSearchParams({ ...form.fields, ...fields })
          const answer = yield* visitor.ask("POST", form.action, { headers, body })
          assert.strictEqual(answer.status, 403, name)
          assert.include(textOf(answer), "came from another site")
          assert.deepStrictEqual(answer.headers.getSetCookie(), [])
        }
      }
    })
  )

  it.effect("Forms without the page's token, or with another's, do nothing", () =>
    Effect.gen(function* () {
      const foreign = formOf(yield* makeVisitor().open("/sign-in"), "email").fields["form_token"] ?? ""
      for (const [name, visitor, form, fields] of yield* everyForm) {
        for (const form_token of ["", "x", foreign, "x".repeat(1000)]) {
          const answer = yield* visitor.submit(form, { ...fields, form_token })
          assert.strictEqual(answer.status, 403, name)
          assert.include(textOf(answer), "out of date")
        }
        const body = new URLSearchParams(fields)
        assert.strictEqual(
          (yield* visitor.ask("POST", form.action, { headers: sameOrigin, body })).status,
          403
        )
        for (const cookie of ["auspex_form=", "auspex_form=x"]) {
          const form_token = formTokenOf(cookie.replace("auspex_form=", ""))
          const guessed = new URLSearchParams({ ...form.fields, ...fields, form_token })
          const answer = yield* post(form.action, { headers: { ...sameOrigin, cookie }, body: guessed })
          assert.strictEqual(answer.status, 403)
        }
        const cookieless = new URLSearchParams({ ...form.fields, ...fields })
        assert.strictEqual((yield* post(form.action, { headers: sameOrigin, body: cookieless })).status, 403)
      }
    })
  )

  it.effect("Forms of the page itself work, also where the browser does not say where they come from", () =>
    Effect.gen(function* () {
      const origins: ReadonlyArray<Readonly<Record<string, string>>> = [
        sameOrigin,
        {},
        { origin: "null" },
        { origin: "http://127.0.0.1:8080" }
      ]
      for (const headers of origins) {
        const visitor = makeVisitor()
        const form = formOf(yield* visitor.open("/sign-in"), "email")
        const body = new URLSearchParams({ ...form.fields, email: "ada@example.org" })
        assert.strictEqual((yield* visitor.ask("POST", form.action, { headers, body })).status, 202)
      }
    })
  )

  it.effect("Forms of a session are worth nothing in another one", () =>
    Effect.gen(function* () {
      const one = makeVisitor()
      const other = makeVisitor()
      const agent = yield* claimableByHttp()
      yield* signInFrom(one, agent.path, "one@example.org")
      yield* signInFrom(other, agent.path, "other@example.org")
      const form = formOf(yield* one.open(agent.path), "pairing_code")
      assert.strictEqual((yield* other.submit(form, { pairing_code: agent.code })).status, 403)
      assert.include(textOf(yield* one.open(agent.path)), "5 tries left")
    })
  )

  it.effect.each([
    ["a body that is too large", "application/x-www-form-urlencoded", `email=${"a".repeat(300_000)}`, 413],
    ["JSON", "application/json", '{"email":"ada@example.org"}', 415],
    ["plain text", "text/plain", "email=ada@example.org", 415],
    ["multipart", "multipart/form-data; boundary=x", "--x--", 415],
    ["no type", "", "email=ada@example.org", 415],
    ["a field twice", "application/x-www-form-urlencoded", "email=a@example.org&email=b@example.org", 400],
    ["nothing", "application/x-www-form-urlencoded", "", 403]
  ] as const)("Forms answer %s with a page", ([, type, body, status]) =>
    Effect.gen(function* () {
      const bytes = new TextEncoder().encode(body)
      const headers = { ...sameOrigin, ...(type !== "" && { "content-type": type }) }
      for (const path of ["/sign-in", "/claim/x", "/sign-out"]) {
        const answer = yield* post(path, { headers, body: bytes })
        assert.strictEqual(answer.status, status, path)
        assert.strictEqual(answer.headers.get("content-type"), "text/html; charset=utf-8")
      }
    })
  )

  const manyFields = (size: number) => {
    const names = Array.from({ length: size / 4 }, (_, index) => index.toString(36).padStart(3, "0"))
    return post("/claim/x", {
      headers: { ...sameOrigin, "content-type": "application/x-www-form-urlencoded" },
      body: names.join("&").padEnd(size, "x")
    })
  }

  it.effect("Forms may have 16 KiB", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* manyFields(16 * 1024)).status, 403)
      assert.strictEqual((yield* manyFields(16 * 1024 + 4)).status, 413)
    })
  )

  it.effect.runIf(isFull)("The fields of a form of 16 KiB cost a few requests to tell apart", () =>
    Effect.map(timesHealth(manyFields(16 * 1024)), (times) => assert.isBelow(times, 40))
  )

  it.effect("Forms that are not UTF-8 are refused", () =>
    Effect.gen(function* () {
      const answer = yield* post("/sign-in", {
        headers: { ...sameOrigin, "content-type": "application/x-www-form-urlencoded" },
        body: new Uint8Array([0x65, 0x3d, 0xff])
      })
      assert.strictEqual(answer.status, 400)
    })
  )

  it.effect("Forms of a session that has ended ask to sign in again, and try no code", () =>
    Effect.gen(function* () {
      const agent = yield* claimableByHttp()
      const visitor = makeVisitor()
      const page = yield* visitor.follow(yield* signInFrom(visitor, agent.path, "gone@example.org"))
      const form = formOf(page, "pairing_code")
      yield* visitor.fill(page, "Sign out")
      const answer = yield* visitor.submit(form, { pairing_code: wrongCode(agent.code) })
      assert.strictEqual(answer.status, 403)
      assert.include(textOf(answer), "out of date")
    })
  )

  it.effect("Forms lead back nowhere but to pages of ours", () =>
    Effect.gen(function* () {
      const visitor = makeVisitor()
      const form = formOf(yield* visitor.open("/sign-in"), "email")
      yield* visitor.submit(form, { email: "ada@example.org", return_to: "https://evil.example/" })
      const link = yield* visitor.open(`${yield* signInLink("ada@example.org")}?return_to=//evil.example`)
      const answer = yield* visitor.fill(link, "Sign in", { return_to: "//evil.example" })
      assert.strictEqual(answer.headers.get("location"), "/account")
    })
  )
})

const policy =
  "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
const scriptsOfOurs =
  "script-src 'self'; connect-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'"

const everybodysPages: ReadonlySet<string> = new Set([
  pagePaths.home,
  pagePaths.leaderboard,
  pagePaths.compare,
  pagePaths.methods,
  pagePaths.howItWorks,
  pagePaths.scoring,
  pagePaths.start,
  pagePaths.log,
  pagePaths.status,
  pagePaths.challenges,
  pagePaths.search,
  pagePaths.events,
  pagePaths.archive,
  pagePaths.verify
])

const filesForEverybody: ReadonlySet<string> = new Set([
  pagePaths.picture,
  pagePaths.sitemap,
  pagePaths.robots
])

layer(testServer())("Every page", (it) => {
  const paths = Object.entries(pageMethods).map(([template, methods]) => ({
    path: template.replace(/:[a-z_]+/, "x"),
    methods
  }))

  it.effect(
    "Every page runs only our modules, fits no frame, stores nothing, sends no referrer, and serves no other site",
    () =>
      Effect.gen(function* () {
        for (const { methods, path } of paths) {
          for (const method of methods) {
            const { headers, status, text } = yield* send(method, path, { headers: sameOrigin })
            assert.isBelow(status, 500, path)
            // A public page may be cached for the time that the service states; no other page may.
            const isForAll = status === 200 && everybodysPages.has(path)
            assert.strictEqual(
              headers.get("content-security-policy"),
              isForAll ? `${policy}; ${scriptsOfOurs}` : policy
            )
            assert.strictEqual(headers.get("x-frame-options"), "DENY")
            assert.strictEqual(headers.get("referrer-policy"), "no-referrer")
            const isKept = isForAll || filesForEverybody.has(path)
            assert.strictEqual(headers.get("cache-control"), isKept ? "no-cache" : "no-store")
            assert.strictEqual(headers.get("x-content-type-options"), "nosniff")
            assert.strictEqual(headers.get("cross-origin-opener-policy"), "same-origin")
            assert.isNull(headers.get("access-control-allow-origin"))
            assert.notMatch(text, /<script>|<style| style=| on[a-z]+=|javascript:/i)
            assert.strictEqual(text.includes("<script"), isForAll)
          }
        }
      })
  )

  it.effect("Every page takes its methods only, and says which", () =>
    Effect.gen(function* () {
      for (const { methods, path } of paths) {
        for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE"]) {
          if (methods.includes(method)) continue
          const answer = yield* send(method, path)
          assert.strictEqual(answer.status, 405, `${method} ${path}`)
          assert.strictEqual(answer.headers.get("content-type"), "text/html; charset=utf-8")
          for (const allowed of methods) assert.include(answer.headers.get("allow") ?? "", allowed)
        }
        const head = yield* send("HEAD", path)
        assert.strictEqual(head.text, "")
        assert.strictEqual(head.status, methods.includes("GET") ? (yield* get(path)).status : 405)
      }
    })
  )

  it.effect("Every page finds its stylesheet, its icon and its scripts, which browsers keep for a year", () =>
    Effect.gen(function* () {
      // In Chinese the page needs every script.
      const { text } = yield* get("/verify?lang=zh")
      for (const { contentType, path } of assets) {
        assert.include(text, `href="${path}"`)
        const file = yield* get(path)
        assert.strictEqual(file.status, 200)
        assert.strictEqual(file.headers.get("content-type"), contentType)
        assert.strictEqual(file.headers.get("cache-control"), "public, max-age=31536000, immutable")
      }
    })
  )

  it.effect("Every page shows agents' texts as text, whatever they hold", () =>
    Effect.gen(function* () {
      const hostile = [
        "<script>alert(1)</script>",
        '"><img src=x onerror=alert(1)>',
        "'><svg/onload=alert(1)>",
        "</title><script>alert(1)</script>",
        "</h1></main><form action=//evil.example>",
        "<!--",
        "&lt;b&gt;",
        "${7*7}{{7*7}}",
        "javascript:alert(1)",
        "<a href='https://evil.example'>claim here</a>"
      ]
      for (const text of hostile) {
        const agent = yield* claimableByHttp({ name: text, bio: text, model_name: text, owner_org: text })
        const visitor = makeVisitor()
        const before = yield* visitor.open(agent.path)
        const signedIn = yield* visitor.follow(
          yield* signInFrom(visitor, agent.path, `${agent.agentId}@example.org`)
        )
        yield* visitor.fill(signedIn, "pairing_code", { pairing_code: agent.code })
        const pages = [before, signedIn, yield* visitor.open(agent.path), yield* visitor.open("/account")]
        for (const page of pages) {
          assert.notMatch(page.text, /<script|<img|<svg\/|<b>|<a href='|<form action=\/\/|<!--/)
          assert.include(
            page.text,
            text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;")
          )
        }
      }
    })
  )
})

layer(testServer({ environment: { AUSPEX_BASE_URL: "https://arena.example/base" } }))(
  "A site below an https base URL",
  (it) => {
    it.effect("Links keep the path of the base URL, and cookies are of this host and TLS only", () =>
      Effect.gen(function* () {
        const page = yield* get("/sign-in")
        assert.include(page.text, 'action="/base/sign-in"')
        assert.include(page.text, 'href="/base/assets/')
        assert.match(
          page.headers.getSetCookie().join(),
          /^__Host-auspex_form=[\w-]{43}; Path=\/; HttpOnly; Secure; SameSite=Lax$/
        )
        assert.strictEqual(page.headers.get("strict-transport-security"), "max-age=31536000")
        assert.strictEqual((yield* get("/account")).headers.get("location"), "/base/sign-in")
      })
    )

    it.effect("A session under the plain name is none", () =>
      Effect.gen(function* () {
        const visitor = makeVisitor()
        const form = formOf(yield* visitor.open("/sign-in"), "email")
        const here = { ...form, action: "/sign-in" }
        assert.strictEqual((yield* visitor.submit(here, { email: "ada@example.org" })).status, 202)
        const path = yield* signInLink("ada@example.org", "/base")
        const link = formOf(yield* visitor.open(path), "Sign in")
        yield* visitor.submit({ ...link, action: path })
        const secret = visitor.cookies.get("__Host-auspex_session") ?? ""
        assert.match(secret, /^aus_ss_/)
        const answered = yield* Effect.all([
          get("/account", { headers: { cookie: `__Host-auspex_session=${secret}` } }),
          get("/account", { headers: { cookie: `auspex_session=${secret}` } })
        ])
        assert.deepStrictEqual(
          answered.map(({ status }) => status),
          [200, 303]
        )
      })
    )
  }
)

const broken = Layer.mock(Claims, {
  view: () => Effect.die(new Error("at secret/place.ts:1")),
  viewMailClaim: () => Effect.die(new StoreUnavailable({ cause: "connection refused" }))
})

layer(testServer({ swap: broken }))("A page whose service fails", (it) => {
  it.effect("A page whose service fails has 500, or 503 without the database, and tells no insides", () =>
    Effect.gen(function* () {
      for (const [path, status] of [
        ["/claim/x", 500],
        ["/claim/mail/x", 503]
      ] as const) {
        const page = yield* get(path)
        assert.strictEqual(page.status, status)
        assert.strictEqual(page.headers.get("content-type"), "text/html; charset=utf-8")
        assert.notMatch(page.text, /secret\/place|refused|Error/)
        assert.include(textOf(page), page.headers.get("x-request-id") ?? "?")
        assert.strictEqual(page.headers.get("retry-after"), status === 503 ? "1" : null)
      }
    }).pipe(Effect.provideService(References.MinimumLogLevel, "None"))
  )
})

layer(testServer())("A request that cannot be answered", (it) => {
  it.effect("A request that cannot be answered gets a page in a browser, and JSON in programs", () =>
    Effect.gen(function* () {
      const accept = "text/html,application/xhtml+xml,*/*;q=0.8"
      const seen = yield* get("/nothing/here", { headers: { accept } })
      assert.strictEqual(seen.status, 404)
      assert.strictEqual(seen.headers.get("content-type"), "text/html; charset=utf-8")
      assert.include(textOf(seen), "Page not found")
      assert.include(textOf(seen), seen.headers.get("x-request-id") ?? "?")
      for (const answer of [
        yield* get("/nothing/here"),
        yield* get("/api/v1/nothing", { headers: { accept } })
      ])
        assert.strictEqual(answer.json["code"], "not_found")
    })
  )
})
