/** Credit as agents, owners and administrators meet it: grants, balances, transactions, and the ledger's check. */
import { assert, layer } from "@effect/vitest"
import { Effect, Result } from "effect"
import { SqlClient } from "effect/sql"
import { Audit } from "../../src/services/Audit.ts"
import { Credits } from "../../src/services/Credits.ts"
import { concurrently, codesOf, times } from "../support/concurrently.ts"
import {
  claimedAgent,
  claimedAgents,
  anOperator,
  claimable,
  claimLinks,
  claimWithCode,
  newMails,
  someOperator
} from "../support/agents.ts"
import { credits, fund, grant, record, stateOf } from "../support/credit.ts"
import { allPages, firstPage, foreignCursors } from "../support/paging.ts"
import { testServices } from "../support/services.ts"
import { asOwner, countOf } from "../support/database.ts"
import { Claims } from "../../src/services/Claims.ts"

const balanceOf = (agentId: string) => Credits.use((service) => service.balance(agentId))
const transactionsOf = (agentId: string, page = firstPage) =>
  Effect.map(
    Credits.use((service) => service.transactions(agentId, page)),
    ({ items }) => items
  )
const check = Audit.use(({ verifyLedger }) => verifyLedger)
const differences = Effect.map(check, (checked) => checked.differences)

const changeOf = (
  transactions: ReadonlyArray<{ readonly available_change: bigint; readonly frozen_change: bigint }>
) => ({
  available: transactions.reduce((sum, { available_change }) => sum + available_change, 0n),
  frozen: transactions.reduce((sum, { frozen_change }) => sum + frozen_change, 0n)
})

layer(testServices())("The claim grant", (it) => {
  it.effect("The claim grant comes with the claim, by link and code", () =>
    Effect.gen(function* () {
      const ada = yield* claimable()
      assert.deepInclude(yield* balanceOf(ada.agentId), { available_balance: 0n, frozen_balance: 0n })
      yield* claimWithCode(ada.token, ada.code, yield* anOperator)
      assert.deepInclude(yield* balanceOf(ada.agentId), {
        available_balance: credits(500),
        frozen_balance: 0n
      })
      const [first, ...more] = yield* transactionsOf(ada.agentId)
      assert.deepStrictEqual(more, [])
      assert.deepInclude(first, {
        transaction_id: `grant:claim:${ada.agentId}`,
        kind: "post",
        amount: credits(500),
        available_change: credits(500),
        frozen_change: 0n
      })
      assert.deepStrictEqual(yield* differences, [])
    })
  )

  it.effect("The claim grant comes with the claim by mail, too", () =>
    Effect.gen(function* () {
      const ada = yield* claimable({ operator_contact: "ada@example.org" })
      const link = claimLinks((yield* newMails).at(-1))
      yield* Claims.use((claims) => claims.claimByMail(link.claim))
      assert.strictEqual((yield* balanceOf(ada.agentId)).available_balance, credits(500))
    })
  )

  it.effect("The claim grant comes once, however many claim at once", () =>
    Effect.gen(function* () {
      const ada = yield* claimable()
      const operators = yield* Effect.replicateEffect(anOperator, 12)
      const claims = yield* concurrently(
        operators.map((operator) => claimWithCode(ada.token, ada.code, operator))
      )
      assert.lengthOf(claims.filter(Result.isSuccess), 1)
      assert.strictEqual((yield* balanceOf(ada.agentId)).available_balance, credits(500))
      assert.deepStrictEqual(yield* differences, [])
    })
  )

  it.effect("The claim grant to a full account is as much as fits, and stops no claim", () =>
    Effect.gen(function* () {
      for (const [room, granted] of [
        [0, 0n],
        [200, credits(200)],
        [500, credits(500)]
      ] as const) {
        const ada = yield* claimable()
        yield* fund(`agent:${ada.agentId}`, 1_000_000_000 - room)
        yield* claimWithCode(ada.token, ada.code, yield* anOperator)
        assert.strictEqual(
          (yield* stateOf(`agent:${ada.agentId}`)).posted,
          credits(1_000_000_000 - room) + granted
        )
        assert.lengthOf(yield* transactionsOf(ada.agentId), granted === 0n ? 1 : 2)
      }
      assert.strictEqual((yield* check).claim_grants_due, 0)
      assert.deepStrictEqual(yield* differences, [])
    })
  )

  it.effect("The claim and its grant are recorded together or not at all", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const ada = yield* claimable()
      const operator = yield* anOperator
      const claimed = countOf(
        (sql) => sql`select count(claimed_at)::int as count from agents where id = ${ada.agentId}::uuid`
      )
      yield* asOwner(sql`alter table transfers rename to mislaid`)
      assert.isTrue((yield* Effect.exit(claimWithCode(ada.token, ada.code, operator)))._tag === "Failure")
      yield* asOwner(sql`alter table mislaid rename to transfers`)
      assert.strictEqual(yield* claimed, 0)
      yield* claimWithCode(ada.token, ada.code, operator)
      assert.strictEqual(yield* claimed, 1)
      assert.strictEqual((yield* balanceOf(ada.agentId)).available_balance, credits(500))
    })
  )
})

layer(testServices({ AUSPEX_CLAIM_GRANT: "0" }))("Without a claim grant", (it) => {
  it.effect("Without a claim grant a claim moves no credit", () =>
    Effect.gen(function* () {
      const ada = yield* claimable()
      yield* claimWithCode(ada.token, ada.code, yield* anOperator)
      assert.strictEqual((yield* balanceOf(ada.agentId)).available_balance, 0n)
      assert.deepStrictEqual(yield* transactionsOf(ada.agentId), [])
      assert.strictEqual((yield* check).claim_grants_due, 0)
    })
  )
})

layer(testServices())("A grant", (it) => {
  it.effect("A grant gives to an agent or an owner, and answers the same when it is sent again", () =>
    Effect.gen(function* () {
      const agent = yield* claimedAgent()
      const owner = yield* someOperator
      for (const to of [
        { kind: "agent", id: agent },
        { kind: "owner", id: owner }
      ] as const) {
        const account = `${to.kind}:${to.id}`
        const first = yield* grant(to)
        assert.deepInclude(first, { account, amount: credits(25), reason: "a prize" })
        assert.deepStrictEqual(yield* grant(to), first)
        assert.deepStrictEqual(yield* grant({ ...to, id: to.id.toUpperCase() }), first)
        assert.deepStrictEqual(yield* stateOf(account), { posted: credits(25), held: 0n })
        const other = yield* grant(to, { idempotency_key: "prize-2" })
        assert.notStrictEqual(other.id, first.id)
        assert.deepStrictEqual(yield* stateOf(account), { posted: credits(50), held: 0n })
      }
    })
  )

  it.effect("A grant cannot reuse the key of another one", () =>
    Effect.gen(function* () {
      const to = { kind: "agent", id: yield* claimedAgent() } as const
      yield* grant(to)
      for (const fields of [{ amount: credits(25) + 1n }, { reason: "another" }]) {
        const error = yield* Effect.flip(grant(to, fields))
        assert.strictEqual(error.code, "idempotency_key_reused")
        assert.include(error.detail, "prize-1")
      }
      assert.strictEqual((yield* balanceOf(to.id)).available_balance, credits(25))
    })
  )

  it.effect("A grant's key belongs to its receiver: the same key grants to each of several", () =>
    Effect.gen(function* () {
      for (const id of yield* claimedAgents(2)) {
        yield* grant({ kind: "agent", id })
        assert.strictEqual((yield* balanceOf(id)).available_balance, credits(25))
      }
    })
  )

  it.effect("One grant sent sixty times is one, and sixty grants at once are sixty", () =>
    Effect.gen(function* () {
      const [one, many] = yield* claimedAgents(2)
      assert(one !== undefined && many !== undefined)
      const same = yield* concurrently(times(60, () => grant({ kind: "agent", id: one })))
      assert.lengthOf(
        new Set(same.filter(Result.isSuccess).map(({ success }) => JSON.stringify(success.created_at))),
        1
      )
      assert.deepStrictEqual(codesOf(same), [])
      assert.strictEqual((yield* balanceOf(one)).available_balance, credits(25))
      const different = times(60, (index) =>
        grant({ kind: "agent", id: many }, { idempotency_key: `k${index}` })
      )
      assert.deepStrictEqual(codesOf(yield* concurrently(different)), [])
      assert.strictEqual((yield* balanceOf(many)).available_balance, credits(60 * 25))
      assert.deepStrictEqual(yield* differences, [])
    })
  )

  it.effect("A grant to nobody is 404, whatever the id", () =>
    Effect.gen(function* () {
      const agent = yield* claimedAgent()
      for (const to of [
        { kind: "agent", id: "0190f000-0000-7000-8000-000000000abc" },
        { kind: "agent", id: "x" },
        { kind: "owner", id: agent },
        { kind: "owner", id: "treasury" }
      ] as const) {
        assert.strictEqual((yield* Effect.flip(grant(to))).code, "not_found")
      }
    })
  )

  it.effect("A grant that an account cannot hold is rejected, by the name of the field", () =>
    Effect.gen(function* () {
      const id = yield* claimedAgent()
      yield* fund(`agent:${id}`, 999_999_990)
      const error = yield* Effect.flip(grant({ kind: "agent", id }))
      assert.strictEqual(error.code, "invalid_request")
      assert.match(error.detail, /^amount: /)
      assert.strictEqual((yield* balanceOf(id)).available_balance, credits(999_999_990))
    })
  )
})

layer(testServices())("Transactions", (it) => {
  it.effect("Transactions show changes of available and frozen credit, and sum to the balance", () =>
    Effect.gen(function* () {
      const id = yield* claimedAgent()
      const account = `agent:${id}`
      yield* fund(account, 100)
      const hold = (name: string, amount: number) =>
        ({
          id: `${name}:${id}`,
          kind: "pending",
          debit: account,
          credit: "gateway_revenue",
          amount: credits(amount),
          reason: name
        }) as const
      const [voided, posted, open] = [hold("voided", 40), hold("posted", 30), hold("open", 20)]
      yield* record(voided, posted, open)
      yield* record({ ...voided, id: `a:${id}`, kind: "void", pendingId: voided.id })
      yield* record({ ...posted, id: `b:${id}`, kind: "post", pendingId: posted.id, amount: credits(12) })
      const listed = yield* transactionsOf(id)
      assert.deepStrictEqual(
        listed.map(({ amount, available_change, frozen_change, kind }) => [
          kind,
          ...[amount, available_change, frozen_change].map((micro) => Number(micro) / 1e6)
        ]),
        [
          ["post", 12, 18, -30],
          ["void", 40, 40, -40],
          ["pending", 40, -40, 40],
          ["pending", 30, -30, 30],
          ["pending", 20, -20, 20],
          ["post", 100, 100, 0]
        ]
      )
      const { available_balance, frozen_balance } = yield* balanceOf(id)
      assert.deepStrictEqual(changeOf(listed), { available: available_balance, frozen: frozen_balance })
      assert.strictEqual(available_balance, credits(68))
      assert.strictEqual(frozen_balance, credits(20))
    })
  )

  it.effect("Pages of transactions neither repeat nor skip one, and show no other agent's", () =>
    Effect.gen(function* () {
      const [id, other] = yield* claimedAgents(2)
      assert(id !== undefined && other !== undefined)
      for (let n = 0; n < 25; n++) {
        yield* grant({ kind: "agent", id }, { idempotency_key: `n${n}` })
        yield* grant({ kind: "agent", id: other }, { idempotency_key: `n${n}` })
      }
      let late = 0
      const pages = yield* allPages(7, (page) =>
        Effect.gen(function* () {
          const answer = yield* Credits.use((service) => service.transactions(id, page))
          late += 1
          yield* grant({ kind: "agent", id }, { idempotency_key: `late${late}` })
          return answer
        })
      )
      const keys = pages.flat().map(({ transaction_id }) => transaction_id.replace(/.*:/, ""))
      assert.deepStrictEqual(
        keys,
        times(25, (n) => `n${24 - n}`)
      )
    })
  )

  it.effect("The list of transactions rejects a cursor of another list", () =>
    Effect.gen(function* () {
      const id = yield* claimedAgent()
      for (const cursor of foreignCursors(
        ["transfers", "agent"],
        { seq: "12x" },
        { seq: "-1" },
        { seq: "9".repeat(30) },
        { seq: 7 }
      )) {
        const error = yield* Effect.flip(
          Credits.use((service) => service.transactions(id, { limit: 5, cursor }))
        )
        assert.strictEqual(error.code, "invalid_request", cursor)
      }
    })
  )
})
