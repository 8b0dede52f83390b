/** The claim page, as decisions.md 4 and interface.md "Operator claim" describe it, over HTTP. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import {
  askForToken,
  register,
  claimableByHttp,
  linksMailedTo,
  wrongCode,
  signInFrom,
  signInLink
} from "../support/agents.ts"
import { get, member, post, testServer } from "../support/server.ts"
import { formsOf, makeVisitor, textOf } from "../support/visitor.ts"

const email = "ada@example.org"

/** A visitor who is signed in and looks at the claim page of a new agent. */
const atClaimPage = Effect.fnUntraced(function* (fields: Readonly<Record<string, unknown>> = {}) {
  const agent = yield* claimableByHttp(fields)
  const visitor = makeVisitor()
  const signedIn = yield* signInFrom(visitor, agent.path, `${agent.agentId}@example.org`)
  return { agent, visitor, page: yield* visitor.follow(signedIn) }
})

const refresh = ({ agentId, secret }: { readonly agentId: string; readonly secret: string }) =>
  post("/api/v1/agent/registry/claim-link/refresh", { json: { agent_id: agentId, client_secret: secret } })

layer(testServer())("The claim page", (it) => {
  it.effect("The claim page shows who the agent is and what a claim means, before anybody signs in", () =>
    Effect.gen(function* () {
      const agent = yield* claimableByHttp({
        name: "First Light",
        bio: "I read freight rates.",
        model_provider: "example",
        model_name: "model-1",
        owner_org: "Light Ltd"
      })
      const page = yield* get(agent.path)
      assert.strictEqual(page.status, 200)
      const text = textOf(page)
      for (const sentence of [
        "First Light",
        "I read freight rates.",
        "example · model-1",
        "Light Ltd",
        agent.agentId
      ])
        assert.include(text, sentence)
      for (const meaning of ["You answer for it", "Its record stays as it is", "It happens once"])
        assert.include(text, meaning)
      const forms = formsOf(page)
      assert.deepStrictEqual(Object.keys(forms[0]?.fields ?? {}), ["form_token", "email"])
      assert.notInclude(page.text, "pairing_code")
    })
  )

  it.effect("The claim page leads by mail and pairing code to the agent's full scopes", () =>
    Effect.gen(function* () {
      const agent = yield* claimableByHttp()
      const visitor = makeVisitor()
      const sent = yield* visitor.fill(yield* visitor.open(agent.path), "email", { email })
      assert.strictEqual(sent.status, 202)
      assert.include(textOf(sent), email)
      const link = yield* signInLink(email)
      assert.include(textOf(yield* visitor.open(link)), email)
      const signedIn = yield* visitor.fill(yield* visitor.open(link), "Sign in")
      assert.strictEqual(signedIn.status, 303)
      assert.strictEqual(signedIn.headers.get("location"), agent.path)
      const page = yield* visitor.follow(signedIn)
      assert.include(textOf(page), "5 tries left")
      const claimed = yield* visitor.fill(page, "pairing_code", {
        pairing_code: ` ${agent.code.toLowerCase().replace("-", " ")} `
      })
      assert.strictEqual(claimed.status, 303)
      assert.include(textOf(yield* visitor.follow(claimed)), "is yours")
      const { json } = yield* askForToken(agent.agentId, agent.secret)
      assert.include(String(json["scope"]), "comment:like")
      assert.strictEqual(json["agent_status"], "active")
      assert.include(textOf(yield* visitor.open("/account")), agent.agentId)
    })
  )

  it.effect("The claim page says how many tries are left, and locks the link with the fifth", () =>
    Effect.gen(function* () {
      const { agent, page, visitor } = yield* atClaimPage()
      const wrong = { pairing_code: wrongCode(agent.code) }
      for (const left of ["4 tries left", "3 tries left", "2 tries left", "1 try left"]) {
        const again = yield* visitor.fill(page, "pairing_code", wrong)
        assert.strictEqual(again.status, 400)
        assert.include(textOf(again), left)
        assert.include(textOf(again), "not the code that came with this link")
        assert.include(again.text, 'aria-invalid="true"')
      }
      const locked = yield* visitor.fill(page, "pairing_code", wrong)
      assert.strictEqual(locked.status, 403)
      assert.include(textOf(locked), "This link is locked")
      const right = yield* visitor.fill(page, "pairing_code", { pairing_code: agent.code })
      assert.strictEqual(right.status, 403)
      assert.strictEqual((yield* get(agent.path)).status, 403)
    })
  )

  it.effect("The claim page evaluates five of 50 codes that come at once", () =>
    Effect.gen(function* () {
      const { agent, page, visitor } = yield* atClaimPage()
      const answers = yield* Effect.all(
        Array.from({ length: 50 }, () =>
          visitor.fill(page, "pairing_code", { pairing_code: wrongCode(agent.code) })
        ),
        { concurrency: "unbounded" }
      )
      // A page shows how things stand when it is made, so the first four may already say that the link is locked.
      assert.isAtMost(answers.filter(({ status }) => status === 400).length, 4)
      assert.isTrue(answers.every(({ status }) => status === 400 || status === 403))
      const sql = yield* SqlClient.SqlClient
      assert.deepStrictEqual(
        yield* sql`select wrong_codes from claim_links where agent_id = ${agent.agentId}::uuid`,
        [{ wrong_codes: 5 }]
      )
      assert.strictEqual(
        (yield* visitor.fill(page, "pairing_code", { pairing_code: agent.code })).status,
        403
      )
    })
  )

  it.effect("The claim page does not count an empty code as a try", () =>
    Effect.gen(function* () {
      const { page, visitor } = yield* atClaimPage()
      for (const pairing_code of ["", "  ", "\u0000", "x".repeat(65)]) {
        const answer = yield* visitor.fill(page, "pairing_code", { pairing_code })
        assert.strictEqual(answer.status, 400)
        assert.include(textOf(answer), "Enter the pairing code.")
        assert.include(textOf(answer), "5 tries left")
      }
    })
  )

  it.effect("The claim page ends after 48 hours, and names the way to a fresh link", () =>
    Effect.gen(function* () {
      const agent = yield* claimableByHttp()
      const visitor = makeVisitor()
      const before = yield* visitor.open(agent.path)
      yield* TestClock.adjust("48 hours")
      const page = yield* get(agent.path)
      assert.strictEqual(page.status, 410)
      assert.include(textOf(page), "This link has expired")
      assert.include(textOf(page), "claim-link/refresh")
      assert.strictEqual((yield* visitor.fill(before, "email", { email: "late@example.org" })).status, 410)
      assert.deepStrictEqual(yield* linksMailedTo("late@example.org"), [])
    })
  )

  it.effect("The claim page of a replaced link says that there is a newer one", () =>
    Effect.gen(function* () {
      const { agent, page, visitor } = yield* atClaimPage()
      const { json } = yield* refresh(agent)
      const old = yield* visitor.open(agent.path)
      assert.strictEqual(old.status, 410)
      assert.include(textOf(old), "There is a newer link")
      const late = yield* visitor.fill(page, "pairing_code", { pairing_code: agent.code })
      assert.strictEqual(late.status, 410)
      assert.strictEqual((yield* visitor.open(new URL(String(json["claim_url"])).pathname)).status, 200)
    })
  )

  it.effect("The claim page of a claimed agent tells its owner so, and others that it is claimed", () =>
    Effect.gen(function* () {
      const { agent, page, visitor } = yield* atClaimPage({ name: "Owned" })
      const late = makeVisitor()
      const latePage = yield* late.follow(yield* signInFrom(late, agent.path, "late@example.org"))
      yield* visitor.fill(page, "pairing_code", { pairing_code: agent.code })
      assert.include(textOf(yield* visitor.open(agent.path)), "Owned is yours")
      assert.include(textOf(yield* late.open(agent.path)), "Already claimed")
      assert.include(textOf(yield* get(agent.path)), "Already claimed")
      const second = yield* late.fill(latePage, "pairing_code", { pairing_code: agent.code })
      assert.strictEqual(second.status, 200)
      assert.include(textOf(second), "Already claimed")
      assert.notInclude(textOf(yield* late.open("/account")), agent.agentId)
    })
  )

  it.effect("The claim page takes no code from a visitor who is not signed in", () =>
    Effect.gen(function* () {
      const agent = yield* claimableByHttp()
      const visitor = makeVisitor()
      const [form] = formsOf(yield* visitor.open(agent.path))
      const answer = yield* visitor.submit(form, { pairing_code: agent.code })
      assert.strictEqual(answer.status, 400)
      assert.include(textOf(yield* visitor.open(agent.path)), "Step 1 of 2")
    })
  )

  it.effect("A claim page that does not exist is a page with 404, whatever the token looks like", () =>
    Effect.gen(function* () {
      const { agentId } = yield* claimableByHttp()
      const tokens = [
        "nothing",
        `aus_cl_${"A".repeat(43)}`,
        agentId,
        "%00",
        "%ff",
        "..%2f..",
        "a".repeat(5000),
        "<b>"
      ]
      for (const token of tokens) {
        const page = yield* get(`/claim/${token}`)
        assert.strictEqual(page.status, 404, token)
        assert.strictEqual(page.headers.get("content-type"), "text/html; charset=utf-8", token)
      }
    })
  )
})

layer(testServer({ environment: { AUSPEX_AGENTS_PER_OPERATOR: "1" } }))("An operator's agents", (it) => {
  it.effect("An operator's agents are as many as one may own: a further claim is refused with a page", () =>
    Effect.gen(function* () {
      const { agent, page, visitor } = yield* atClaimPage()
      yield* visitor.fill(page, "pairing_code", { pairing_code: agent.code })
      const second = yield* claimableByHttp()
      const refused = yield* visitor.fill(yield* visitor.open(second.path), "pairing_code", {
        pairing_code: second.code
      })
      assert.strictEqual(refused.status, 403)
      assert.include(textOf(refused), "That was refused")
      // The refusing page, too, shows whose it is, and the way to leave it.
      assert.include(textOf(refused), "Your agents Sign out")
      assert.strictEqual((yield* visitor.open(second.path)).status, 200)
    })
  )
})

layer(testServer())("The one-click mail", (it) => {
  const invite = Effect.fnUntraced(function* (address: string, name = "Ada") {
    const agent = yield* claimableByHttp({ name, operator_contact: address })
    const links = yield* linksMailedTo(address)
    const claim = links.find((link) => /^\/claim\/mail\/[^/]+$/.test(link)) ?? ""
    return { agent, claim, notMine: `${claim}/not-mine` }
  })

  it.effect("The one-click mail signs in and claims in one step, without a code", () =>
    Effect.gen(function* () {
      const { agent, claim } = yield* invite("grace@example.org", "Grace's agent")
      const visitor = makeVisitor()
      const page = yield* visitor.open(claim)
      assert.strictEqual(page.status, 200)
      assert.include(textOf(page), "grace@example.org")
      assert.include(textOf(page), "What claiming means")
      const claimed = yield* visitor.fill(page, "Claim")
      assert.strictEqual(claimed.status, 303)
      assert.include(textOf(yield* visitor.follow(claimed)), "Grace's agent is yours")
      assert.include(textOf(yield* visitor.open("/account")), agent.agentId)
      assert.include(textOf(yield* get(agent.path)), "Already claimed")
    })
  )

  it.effect("The one-click mail claims nothing when its link is only opened, however often", () =>
    Effect.gen(function* () {
      const { agent, claim, notMine } = yield* invite("scanned@example.org")
      for (const path of [claim, notMine, claim]) assert.strictEqual((yield* get(path)).status, 200)
      assert.strictEqual(
        member((yield* askForToken(agent.agentId, agent.secret)).json, "agent_status"),
        "active_provisional"
      )
      assert.include(textOf(yield* get(claim)), "Claim it with one click")
    })
  )

  it.effect("The one-click mail works once: a claimed agent stays claimed", () =>
    Effect.gen(function* () {
      const { claim } = yield* invite("once@example.org")
      const first = makeVisitor()
      const second = makeVisitor()
      const pages = [yield* first.open(claim), yield* second.open(claim)] as const
      const answers = yield* Effect.all([first.fill(pages[0], "Claim"), second.fill(pages[1], "Claim")], {
        concurrency: 2
      })
      assert.deepStrictEqual(answers.map(({ status }) => status).sort(), [200, 303])
    })
  )

  it.effect("'Not mine' ends the link and further mails, also when a mail program posts it by itself", () =>
    Effect.gen(function* () {
      const { claim, notMine } = yield* invite("stranger@example.org")
      assert.include(textOf(yield* get(notMine)), "stranger@example.org")
      const declined = yield* post(notMine, {
        body: new URLSearchParams({ "List-Unsubscribe": "One-Click" })
      })
      assert.strictEqual(declined.status, 200)
      assert.include(textOf(declined), "no more of these mails")
      assert.strictEqual((yield* get(claim)).status, 410)
      assert.include(textOf(yield* get(claim)), "declined")
      const before = yield* linksMailedTo("stranger@example.org")
      yield* claimableByHttp({ operator_contact: "stranger@example.org" })
      assert.deepStrictEqual(yield* linksMailedTo("stranger@example.org"), before)
    })
  )

  it.effect("The one-click mail's link with an unknown token is a page with 404", () =>
    Effect.gen(function* () {
      for (const path of ["/claim/mail/x", "/claim/mail/x/not-mine", `/claim/mail/aus_mc_${"A".repeat(43)}`])
        assert.strictEqual((yield* get(path)).status, 404)
      assert.strictEqual((yield* post("/claim/mail/x/not-mine")).status, 404)
    })
  )

  it.effect("The one-click mail is not sent before the challenge is passed", () =>
    Effect.gen(function* () {
      yield* register({ operator_contact: "early@example.org" })
      assert.deepStrictEqual(yield* linksMailedTo("early@example.org"), [])
    })
  )
})
