/** Owners that move credit to their agents: to no one else's, once for a key, and never more than there is. */
import { assert, layer } from "@effect/vitest"
import { Array as Arr, Effect, Option, Random, Result } from "effect"
import { SqlClient } from "effect/sql"
import { Audit } from "../../src/services/Audit.ts"
import { Credits } from "../../src/services/Credits.ts"
import type { NewTopUp } from "../../src/services/Credits.ts"
import { OperatorId } from "../../src/services/domain/ids.ts"
import { Operators } from "../../src/services/Operators.ts"
import { concurrently, codesOf, times } from "../support/concurrently.ts"
import { claimedAgent, provisionalAgent, anotherOperator } from "../support/agents.ts"
import { credits, creditFindings, fund, record, stateOf, creditsReplica, ownerOf } from "../support/credit.ts"
import { firstPage } from "../support/paging.ts"
import { sampledWhile } from "../support/ledgerWorkload.ts"
import { testServices } from "../support/services.ts"
import { asOwner } from "../support/database.ts"

const topUp = (owner: OperatorId, agentId: string, fields: Partial<NewTopUp> = {}) =>
  Credits.use((service) =>
    service.topUp(owner, agentId, { amount: credits(5), idempotency_key: "once", ...fields })
  )

const has = Effect.fnUntraced(function* (account: string, amount: bigint) {
  assert.deepStrictEqual(yield* stateOf(account), { posted: amount, held: 0n }, account)
})

const differences = Effect.map(
  Audit.use(({ verifyLedger }) => verifyLedger),
  (checked) => checked.differences
)

layer(testServices())("A top-up", (it) => {
  it.effect("A top-up moves credit from the owner's account to the agent's, and both see it", () =>
    Effect.gen(function* () {
      const { agents, owner } = yield* ownerOf(2, 20)
      const [first, second] = agents
      assert(first !== undefined && second !== undefined)
      const moved = yield* topUp(owner, first)
      assert.deepInclude(moved, { agentId: first, amount: credits(5) })
      yield* has(`owner:${owner}`, credits(15))
      yield* has(`agent:${first}`, credits(5))
      yield* has(`agent:${second}`, 0n)
      const account = yield* Operators.use((operators) => operators.account(owner))
      assert.deepStrictEqual(account.credit, { available: credits(15), frozen: 0n })
      assert.deepStrictEqual(
        Object.fromEntries(account.agents.map(({ agentId, credit }) => [agentId, credit.available])),
        { [first]: credits(5), [second]: 0n }
      )
    })
  )

  it.effect("A top-up is among the agent's transactions, with its reason", () =>
    Effect.gen(function* () {
      const { agents, owner } = yield* ownerOf(1, 20)
      const [agent = ""] = agents
      yield* topUp(owner, agent)
      const { items } = yield* Credits.use((service) => service.transactions(agent, firstPage))
      assert.lengthOf(items, 1)
      assert.deepInclude(items[0], {
        kind: "post",
        amount: credits(5),
        available_change: credits(5),
        frozen_change: 0n,
        reason: "top-up by the owner"
      })
    })
  )

  it.effect("A top-up goes to a claimed agent of this owner only, and any other is 404", () =>
    Effect.gen(function* () {
      const { agents, owner } = yield* ownerOf(1, 20)
      const [own = ""] = agents
      const stranger = yield* anotherOperator
      yield* fund(`owner:${stranger}`, 20)
      for (const [asking, agent] of [
        [stranger, own],
        [owner, yield* claimedAgent()],
        [owner, yield* provisionalAgent()],
        [owner, "0190f000-0000-7000-8000-000000000000"],
        [owner, owner],
        [owner, "x"],
        [owner, ""],
        [OperatorId.make("0190f000-0000-7000-8000-000000000001"), own]
      ] as const) {
        assert.strictEqual((yield* Effect.flip(topUp(asking, agent))).code, "not_found")
      }
      yield* has(`owner:${owner}`, credits(20))
      yield* has(`owner:${stranger}`, credits(20))
      yield* has(`agent:${own}`, 0n)
    })
  )

  it.effect("A top-up happens once for a key: sent again it answers the same and moves nothing", () =>
    Effect.gen(function* () {
      const { agents, owner } = yield* ownerOf(1, 5)
      const [agent = ""] = agents
      const first = yield* topUp(owner, agent)
      // The account is empty by now: a repeated top-up does not ask for the credit again.
      assert.deepStrictEqual(yield* topUp(owner, agent), first)
      assert.deepStrictEqual(yield* topUp(owner, agent.toUpperCase()), first)
      yield* has(`agent:${agent}`, credits(5))
      const known = yield* Credits.use((service) => service.topUpOf(owner, "once"))
      assert.deepStrictEqual(Option.getOrNull(known), first)
      const unknown = yield* Credits.use((service) => service.topUpOf(owner, "another"))
      assert.isTrue(Option.isNone(unknown))
    })
  )

  it.effect("A top-up's key with another amount, or for another agent, is rejected", () =>
    Effect.gen(function* () {
      const { agents, owner } = yield* ownerOf(2, 20)
      const [agent = "", other = ""] = agents
      yield* topUp(owner, agent)
      for (const again of [
        topUp(owner, agent, { amount: credits(6) }),
        topUp(owner, agent, { amount: credits(5) + 1n }),
        topUp(owner, other)
      ]) {
        assert.strictEqual((yield* Effect.flip(again)).code, "idempotency_key_reused")
      }
      yield* has(`owner:${owner}`, credits(15))
    })
  )

  it.effect("The top-up keys of two owners are independent", () =>
    Effect.gen(function* () {
      for (const { agents, owner } of [yield* ownerOf(1, 20), yield* ownerOf(1, 20)]) {
        yield* topUp(owner, agents[0] ?? "")
        yield* has(`owner:${owner}`, credits(15))
      }
    })
  )

  it.effect("A top-up moves the available credit to the last micro-credit, and not one more", () =>
    Effect.gen(function* () {
      const { agents, owner } = yield* ownerOf(1, 20)
      const [agent = ""] = agents
      const rejected = yield* Effect.flip(topUp(owner, agent, { amount: credits(20) + 1n }))
      assert.deepInclude(rejected, { code: "insufficient_credit", available: credits(20) })
      assert.include(rejected.detail, "at most 20 credits")
      yield* topUp(owner, agent, { amount: credits(20) })
      yield* has(`owner:${owner}`, 0n)
      const empty = yield* Effect.flip(topUp(owner, agent, { amount: 1n, idempotency_key: "more" }))
      assert.deepInclude(empty, { code: "insufficient_credit", available: 0n })
    })
  )

  it.effect("A top-up to a full account is rejected, and stays with the owner", () =>
    Effect.gen(function* () {
      const { agents, owner } = yield* ownerOf(1, 20)
      const [agent = ""] = agents
      yield* fund(`agent:${agent}`, 999_999_999)
      const rejected = yield* Effect.flip(topUp(owner, agent, { amount: credits(2) }))
      assert.strictEqual(rejected.code, "invalid_request")
      assert.include(rejected.detail, "no account holds more")
      yield* has(`owner:${owner}`, credits(20))
      yield* topUp(owner, agent, { amount: credits(1) })
    })
  )
})

layer(testServices())("Fifty top-ups at once", (it) => {
  it.effect("Of fifty top-ups with credit for twenty, twenty move, and nobody is ever overdrawn", () =>
    Effect.gen(function* () {
      const { agents, owner } = yield* ownerOf(5, 20)
      const requests = times(50, (index) =>
        topUp(owner, agents[index % 5] ?? "", { amount: credits(1), idempotency_key: `k${index}` })
      )
      const { done, findings } = yield* sampledWhile(concurrently(requests))
      assert.deepStrictEqual(findings, [])
      assert.lengthOf(done.filter(Result.isSuccess), 20)
      assert.deepStrictEqual(
        codesOf(done),
        times(30, () => "insufficient_credit")
      )
      yield* has(`owner:${owner}`, 0n)
      assert.deepStrictEqual(yield* differences, [])
    })
  )

  it.effect("Of fifty top-ups with credit for twenty on two replicas, twenty move", () =>
    Effect.gen(function* () {
      const { agents, owner } = yield* ownerOf(5, 20)
      const replicas = [yield* Credits, yield* creditsReplica]
      const requests = times(50, (index) =>
        replicas[index % 2]?.topUp(owner, agents[index % 5] ?? "", {
          amount: credits(1),
          idempotency_key: `r${index}`
        })
      ).filter((each) => each !== undefined)
      const done = yield* concurrently(requests)
      assert.lengthOf(done.filter(Result.isSuccess), 20)
      yield* has(`owner:${owner}`, 0n)
      assert.deepStrictEqual(yield* differences, [])
    })
  )

  it.effect("Of fifty top-ups with one key on two replicas one moves, and all answer as it does", () =>
    Effect.gen(function* () {
      const { agents, owner } = yield* ownerOf(1, 20)
      const [agent = ""] = agents
      const other = yield* creditsReplica
      const request = { amount: credits(1), idempotency_key: "one" }
      const done = yield* concurrently(
        times(50, (index) =>
          index % 2 === 0 ? topUp(owner, agent, request) : other.topUp(owner, agent, request)
        )
      )
      const answers = done.filter(Result.isSuccess).map(({ success }) => success)
      assert.lengthOf(answers, 50)
      assert.lengthOf(
        Arr.dedupeWith(answers, (a, b) => a.at.epochMilliseconds === b.at.epochMilliseconds),
        1
      )
      yield* has(`agent:${agent}`, credits(1))
    })
  )
})

layer(testServices())("Any top-ups", (it) => {
  it.effect.each([1, 2, 3])(
    "Any top-ups sum up to zero and leave nobody in debt, also when sent again (seed %i)",
    (seed) =>
      Effect.gen(function* () {
        const owners = yield* Effect.replicateEffect(ownerOf(3, 40), 3)
        const turn = Effect.gen(function* () {
          const { agents, owner } = yield* Random.choice(owners)
          const anyone = yield* Random.choice(owners)
          // Mostly to an own agent, and mostly with a new key.
          const agent = yield* Random.choice([...agents, ...agents, ...anyone.agents])
          const amount = BigInt(yield* Random.nextIntBetween(1, 9_000_000))
          const key = `${seed}:${yield* Random.nextIntBetween(0, 40)}`
          return yield* Effect.result(topUp(owner, agent, { amount, idempotency_key: key }))
        })
        const { done, findings } = yield* sampledWhile(
          Effect.replicateEffect(turn, 150, { concurrency: 12 }).pipe(Random.withSeed(String(seed)))
        )
        assert.deepStrictEqual(findings, [])
        assert.deepStrictEqual(yield* creditFindings, [])
        assert.deepStrictEqual(yield* differences, [])
        // Owners and agents together have the credit that the owners were given.
        for (const { agents, owner } of owners) {
          const accounts = [`owner:${owner}`, ...agents.map((id) => `agent:${id}`)]
          const states = yield* Effect.forEach(accounts, stateOf)
          assert.strictEqual(
            states.reduce((sum, { posted }) => sum + posted, 0n),
            credits(40)
          )
        }
        assert.isAtLeast(done.filter(Result.isSuccess).length, 20)
        for (const code of ["not_found", "idempotency_key_reused"]) assert.include(codesOf(done), code)
      })
  )
})

const aTransfer = { kind: "post" as const, amount: 1n, reason: "a test" }

layer(testServices())("The ledger's check", (it) => {
  it.effect("The ledger's check counts the credit that owners moved to agents", () =>
    Effect.gen(function* () {
      const { agents, owner } = yield* ownerOf(1, 20)
      yield* topUp(owner, agents[0] ?? "")
      const checked = yield* Audit.use(({ verifyLedger }) => verifyLedger)
      assert.deepInclude(checked, { top_ups: credits(5), with_owners: credits(15), with_agents: credits(5) })
      assert.deepStrictEqual(checked.differences, [])
    })
  )
})

layer(testServices())("The ledger's check of top-ups", (it) => {
  it.effect("The ledger's check names credit from an owner to an agent of somebody else, or of nobody", () =>
    Effect.gen(function* () {
      const { owner } = yield* ownerOf(1, 20)
      const strangers = [yield* claimedAgent(), yield* provisionalAgent()]
      const ids = strangers.map((id, index) => ({ id: `any:${index}`, credit: `agent:${id}` }))
      yield* record(...ids.map((each) => ({ ...aTransfer, ...each, debit: `owner:${owner}` })))
      const found = (yield* differences).filter((line) => !line.includes("without a recorded reason"))
      assert.lengthOf(found, 2)
      for (const finding of found)
        assert.match(finding, /^transfer any:. from owner:.* which it does not own$/)
    })
  )

  it.effect("The ledger's check names a top-up from before the agent was claimed", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { agents, owner } = yield* ownerOf(1, 20)
      yield* topUp(owner, agents[0] ?? "", { idempotency_key: "early" })
      yield* asOwner(sql`alter table transfers disable trigger user`)
      yield* asOwner(sql`
        update transfers set at = at - interval '1 minute' where id = ${`topup:${owner}:early`}`)
      yield* asOwner(sql`alter table transfers enable trigger user`)
      assert.match((yield* differences).join("\n"), /transfer topup:.*:early .* before it was claimed/)
    })
  )

  it.effect("The ledger's check names a false top-up by its id", () =>
    Effect.gen(function* () {
      const { owner } = yield* ownerOf(1, 20)
      const other = yield* ownerOf(1, 20)
      yield* record({
        ...aTransfer,
        id: `topup:${owner}:x`,
        debit: `owner:${other.owner}`,
        credit: `agent:${other.agents[0]}`
      })
      yield* record({
        ...aTransfer,
        id: `topup:${owner}:y`,
        debit: `owner:${owner}`,
        credit: "gateway_revenue"
      })
      const found = (yield* differences).filter((finding) => finding.includes("is not a top-up by the owner"))
      assert.lengthOf(found, 2)
    })
  )
})
