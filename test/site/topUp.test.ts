/** The credit on the account page, and the page that moves it to an agent, as a browser shows them. */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Credits } from "../../src/services/Credits.ts"
import { AgentId, OperatorId } from "../../src/services/domain/ids.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import { Skill } from "../../src/services/Skill.ts"
import { topUpPage } from "../../src/http/site/paths.ts"
import { freshWeek, importQuotes, moveTo, newChallenge, plus, predict } from "../support/challenges.ts"
import { times } from "../support/concurrently.ts"
import { ownerVisitor, agentOf, signInFrom } from "../support/agents.ts"
import { fundOwnerOf } from "../support/credit.ts"
import { firstPage } from "../support/paging.ts"
import { TelemetryRecorder, telemetryRecorder } from "../support/telemetryRecorder.ts"
import { get, testServer } from "../support/server.ts"
import { formsOf, makeVisitor, sameOrigin, textOf } from "../support/visitor.ts"
import type { Visitor } from "../support/visitor.ts"

const balanceOf = (agentId: string) =>
  Effect.map(
    Credits.use((credits) => credits.balance(agentId)),
    ({ available_balance }) => Number(available_balance) / 1e6
  )

/** An owner with credit, and an agent with the claim's grant. */
const fundedOwner = Effect.fnUntraced(function* (amount: number) {
  const { agent, visitor } = yield* ownerVisitor({ name: "First Light" })
  yield* fundOwnerOf(agent.agentId, amount)
  return { agentId: agent.agentId, path: topUpPage(agent.agentId), visitor }
})

const move = (visitor: Visitor, path: string, amount: string) =>
  Effect.flatMap(visitor.open(path), (page) => visitor.fill(page, "amount", { amount }))

layer(testServer())("The account page", (it) => {
  it.effect("The account page shows what the owner has, what each agent has, and leads to moving it", () =>
    Effect.gen(function* () {
      const { path, visitor } = yield* fundedOwner(70)
      const page = yield* visitor.open("/account")
      assert.match(textOf(page), /Your credit 70 credits/)
      assert.match(textOf(page), /Credit 500 credits/)
      assert.include(page.text, `href="${path}"`)
    })
  )
})

layer(testServer({ environment: { AUSPEX_RANK_MIN_DAYS: "1" } }))("An owner's board of agents", (it) => {
  it.effect("The board says of each agent whether it answers, how it does, and what to look at", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const { agent, visitor } = yield* ownerVisitor({ name: "First Light" })
      const id = AgentId.make(agent.agentId)
      const first = yield* newChallenge({ deadline: plus(monday, "1 hour") })
      yield* predict(id, first, { direction: "bullish", confidence: 0.5 })
      yield* moveTo(plus(monday, "1 hour"))
      yield* importQuotes("GC", [[plus(monday, "1 hour"), 110]])
      yield* Scoring.use((scoring) => scoring.settleDue)
      yield* newChallenge({ deadline: plus(monday, { days: 5 }) })
      const open = yield* newChallenge({ deadline: plus(monday, { days: 5 }) })
      yield* predict(id, open)
      yield* moveTo(plus(monday, { days: 1, hours: 1 }))
      yield* Skill.use((skill) => skill.countDue)
      // A session ends once it was unused for a day.
      const opened = Effect.gen(function* () {
        yield* visitor.follow(yield* signInFrom(visitor, "/sign-in", `${agent.agentId}@example.org`))
        return textOf(yield* visitor.open("/account"))
      })
      const board = yield* opened
      assert.match(
        board,
        /First Light Settings #1 [+−]\d\.\d{3} 75\.0 1 right 1 of 2 2 March 2026 at 01:00 UTC 500 credits/
      )
      assert.notInclude(board, "silent")
      yield* moveTo(plus(monday, { days: 4, hours: 2 }))
      assert.match(yield* opened, /First Light silent for days/)
    })
  )
})

layer(testServer())("The top-up page", (it) => {
  it.effect("The top-up page moves nothing until the owner confirms that there is no way back", () =>
    Effect.gen(function* () {
      const { agentId, path, visitor } = yield* fundedOwner(70)
      const page = yield* visitor.open(path)
      assert.match(page.text, /<input type="checkbox" name="sure" value="yes" required/)
      const sent = yield* visitor.fill(page, "amount", { amount: "1", sure: "" })
      assert.strictEqual(sent.status, 400)
      assert.include(textOf(sent), "Nothing was moved")
      assert.strictEqual(yield* balanceOf(agentId), 500)
    })
  )

  it.effect("The top-up page shows both balances, moves an amount and says so", () =>
    Effect.gen(function* () {
      const { agentId, path, visitor } = yield* fundedOwner(70)
      const page = yield* visitor.open(path)
      assert.match(textOf(page), /Your account 70 credits First Light 500 credits/)
      const sent = yield* visitor.fill(page, "amount", { amount: " 12.5 " })
      assert.strictEqual(sent.status, 303)
      const location = sent.headers.get("location") ?? ""
      const after = yield* visitor.open(location)
      assert.strictEqual(after.status, 200)
      assert.match(textOf(after), /12\.5 credits moved to First Light/)
      assert.match(textOf(after), /Your account 57\.5 credits First Light 512\.5 credits/)
      assert.strictEqual(yield* balanceOf(agentId), 512.5)
      const { items } = yield* Credits.use((credits) => credits.transactions(agentId, firstPage))
      assert.strictEqual(items[0]?.reason, "top-up by the owner")
    })
  )

  it.effect("A form sent twice, or ten times at once, moves credit once", () =>
    Effect.gen(function* () {
      const { agentId, path, visitor } = yield* fundedOwner(70)
      const page = yield* visitor.open(path)
      const answers = yield* Effect.all(
        times(10, () => visitor.fill(page, "amount", { amount: "10" })),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(
        new Set(answers.map(({ headers, status }) => `${status} ${headers.get("location")}`)).size,
        1
      )
      assert.strictEqual(yield* balanceOf(agentId), 510)
      // Another page is another form.
      yield* move(visitor, path, "10")
      assert.strictEqual(yield* balanceOf(agentId), 520)
    })
  )

  it.effect("A form that moved one amount is refused with another (409), and offers a new one", () =>
    Effect.gen(function* () {
      const { agentId, path, visitor } = yield* fundedOwner(70)
      const page = yield* visitor.open(path)
      yield* visitor.fill(page, "amount", { amount: "10" })
      const other = yield* visitor.fill(page, "amount", { amount: "11" })
      assert.strictEqual(other.status, 409)
      assert.include(textOf(other), "nothing was moved now")
      assert.strictEqual(yield* balanceOf(agentId), 510)
      assert.strictEqual((yield* visitor.fill(other, "amount", { amount: "11" })).status, 303)
      assert.strictEqual(yield* balanceOf(agentId), 521)
    })
  )

  it.effect("An amount above the balance is refused (400), and the page says what there is", () =>
    Effect.gen(function* () {
      const { agentId, path, visitor } = yield* fundedOwner(70)
      const refused = yield* move(visitor, path, "70.000001")
      assert.strictEqual(refused.status, 400)
      assert.include(textOf(refused), "Enter at most 70: your account has no more.")
      assert.include(refused.text, 'aria-invalid="true"')
      assert.include(refused.text, 'value="70.000001"')
      assert.strictEqual(yield* balanceOf(agentId), 500)
    })
  )

  it.effect("An empty account has nothing to move, and no form for it", () =>
    Effect.gen(function* () {
      const { path, visitor } = yield* fundedOwner(5)
      const form = formsOf(yield* visitor.open(path)).find((each) => "amount" in each.fields)
      yield* move(visitor, path, "5")
      const page = yield* visitor.open(path)
      assert.include(textOf(page), "Your account is empty")
      assert.isUndefined(formsOf(page).find((each) => "amount" in each.fields))
      const late = yield* visitor.submit(form, { amount: "1" })
      assert.strictEqual(late.status, 400)
      assert.include(textOf(late), "there is nothing to move")
    })
  )

  it.effect("A text that is no amount is refused (400) with an example of one", () =>
    Effect.gen(function* () {
      const { agentId, path, visitor } = yield* fundedOwner(70)
      const hostile = [
        "",
        "0",
        "-5",
        "+5",
        "1e1",
        "0x10",
        "5,5",
        "1_0",
        "5.",
        ".5",
        "0.0000001",
        "NaN",
        "∞",
        "５"
      ]
      for (const amount of [...hostile, "10000000.5", "9".repeat(400), "5 5", "<script>", "\u0000"]) {
        const refused = yield* move(visitor, path, amount)
        assert.strictEqual(refused.status, 400, amount)
        assert.include(textOf(refused), "Enter an amount such as 25 or 12.5", amount)
        assert.notInclude(refused.text, "<script>")
      }
      const form = formsOf(yield* visitor.open(path)).find((each) => "amount" in each.fields)
      for (const idempotency_key of ["", "a b", "x".repeat(129), "\u0000"]) {
        assert.strictEqual((yield* visitor.submit(form, { amount: "5", idempotency_key })).status, 400)
      }
      assert.strictEqual(yield* balanceOf(agentId), 500)
    })
  )

  it.effect(
    "The top-up page is the owner's only: another's agent is unknown (404), and strangers are asked to sign in",
    () =>
      Effect.gen(function* () {
        const owner = yield* fundedOwner(70)
        const other = yield* fundedOwner(70)
        for (const path of [other.path, topUpPage("x"), topUpPage("0190f000-0000-7000-8000-000000000000")]) {
          assert.strictEqual((yield* owner.visitor.open(path)).status, 404)
          const own = formsOf(yield* owner.visitor.open(owner.path)).find((each) => "amount" in each.fields)
          assert(own !== undefined)
          const sent = yield* owner.visitor.submit({ ...own, action: path }, { amount: "5" })
          assert.strictEqual(sent.status, 404)
        }
        assert.strictEqual(yield* balanceOf(other.agentId), 500)
        const stranger = yield* get(owner.path)
        assert.strictEqual(stranger.status, 303)
        assert.match(stranger.headers.get("location") ?? "", /^\/sign-in\?return_to=/)
        const visitor = makeVisitor()
        const [signIn] = formsOf(yield* visitor.open("/sign-in"))
        assert(signIn !== undefined)
        const sent = yield* visitor.submit(
          { ...signIn, action: owner.path },
          { amount: "5", idempotency_key: "k" }
        )
        assert.deepStrictEqual([sent.status, sent.headers.get("location")], [303, "/sign-in"])
      })
  )

  it.effect("The top-up page says that credit was moved only to the owner who moved it", () =>
    Effect.gen(function* () {
      const owner = yield* fundedOwner(70)
      const other = yield* fundedOwner(70)
      const sent = yield* move(other.visitor, other.path, "7")
      const key = new URL(sent.headers.get("location") ?? "", "http://x").searchParams.get("moved") ?? ""
      for (const moved of [key, "nothing", "a b", "%00", ""]) {
        const page = yield* owner.visitor.open(`${owner.path}?moved=${moved}`)
        assert.strictEqual(page.status, 200)
        assert.notInclude(textOf(page), "moved to")
      }
    })
  )
})

/** The statements of the request that has this id. */
const statementsOf = (id: string) =>
  Effect.map(
    TelemetryRecorder,
    ({ spans }) =>
      spans.filter(
        ({ attributes, kind }) =>
          kind === "client" && attributes.get("request.id") === id && attributes.has("db.query.text")
      ).length
  )

layer(testServer().pipe(Layer.provideMerge(telemetryRecorder)))("An owner's page", (it) => {
  it.effect("An owner's page sends as many statements for eight agents as for one", () =>
    Effect.gen(function* () {
      const { agent, visitor } = yield* ownerVisitor()
      const owner = yield* fundOwnerOf(agent.agentId, 50)
      const path = topUpPage(agent.agentId)
      const opened = Effect.fnUntraced(function* (round: string) {
        const counts: Array<number> = []
        for (const [index, page] of ["/account", path].entries()) {
          const id = `${round}-${index}`
          yield* visitor.ask("GET", page, { headers: { "x-request-id": id } })
          counts.push(yield* statementsOf(id))
        }
        const form = formsOf(yield* visitor.open(path)).find((each) => "amount" in each.fields)
        assert(form !== undefined)
        const id = `${round}-post`
        yield* visitor.submit(form, { amount: "1" }, { ...sameOrigin, "x-request-id": id })
        counts.push(yield* statementsOf(id))
        return counts
      })
      // Limit, session, account, its agents and how they do; a transfer: the agent, the transfer, its result.
      const expected = [5, 4, 5]
      assert.deepStrictEqual(yield* opened("one"), expected)
      yield* Effect.replicateEffect(agentOf(OperatorId.make(owner)), 7)
      assert.deepStrictEqual(yield* opened("eight"), expected)
    })
  )
})
