/** Credit as agents, owners and administrators meet it: grants, balances, transactions, and the check of it all. */
import { assert, layer } from "@effect/vitest"
import { Effect, Result } from "effect"
import { SqlClient } from "effect/sql"
import type { Statement } from "effect/sql"
import { Credits } from "../../src/services/Credits.ts"
import type { Holder, NewGrant } from "../../src/services/Credits.ts"
import { concurrently, codesOf, times } from "../support/concurrently.ts"
import {
  allPages,
  claimedAgent,
  claimedAgents,
  countOf,
  firstPage,
  foreignCursors
} from "../support/builders.ts"
import { anOperator, claimable, claimLinks, claimWithCode, newMails } from "../support/claims.ts"
import {
  askedFor,
  credits,
  fund,
  ledgerFindings,
  payClaimGrants,
  record,
  stateOf
} from "../support/ledger.ts"
import { someOperator } from "../support/operators.ts"
import { testServices } from "../support/services.ts"
import { asOwner } from "../support/database.ts"
import { Claims } from "../../src/services/Claims.ts"

const balanceOf = (agentId: string) => Credits.use((service) => service.balance(agentId))
const transactionsOf = (agentId: string, page = firstPage) =>
  Effect.map(
    Credits.use((service) => service.transactions(agentId, page)),
    ({ items }) => items
  )
const check = Credits.use((service) => service.check)
const differences = Effect.map(check, (checked) => checked.differences)

const grant = Effect.fnUntraced(function* (to: Holder, fields: Partial<NewGrant> = {}) {
  const asked = { amount: credits(25), reason: "a prize", idempotency_key: "prize-1", ...fields }
  yield* Effect.orDie(askedFor([`${to.kind}:${to.id}`], asked.amount, asked.idempotency_key))
  return yield* Credits.use((service) => service.grant(to, asked))
})

const changeOf = (
  transactions: ReadonlyArray<{ readonly available_change: bigint; readonly frozen_change: bigint }>
) => ({
  available: transactions.reduce((sum, { available_change }) => sum + available_change, 0n),
  frozen: transactions.reduce((sum, { frozen_change }) => sum + frozen_change, 0n)
})

layer(testServices())("The claim grant", (it) => {
  it.effect("comes with the claim, by link and code", () =>
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

  it.effect("comes with the claim by mail, too", () =>
    Effect.gen(function* () {
      const ada = yield* claimable({ operator_contact: "ada@example.org" })
      const link = claimLinks((yield* newMails).at(-1))
      yield* Claims.use((claims) => claims.claimByMail(link.claim))
      assert.strictEqual((yield* balanceOf(ada.agentId)).available_balance, credits(500))
    })
  )

  it.effect("comes once, however many claim at once", () =>
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

  it.effect("to a full account is what it has room for, and stops no claim", () =>
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

  it.effect("and the claim are one: neither is without the other", () =>
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
  it.effect("a claim moves no credit", () =>
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
  it.effect("gives to an agent or an owner, and answers the same when it is sent again", () =>
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

  it.effect("is no other by the same key", () =>
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

  it.effect("by one key gives each receiver its own", () =>
    Effect.gen(function* () {
      for (const id of yield* claimedAgents(2)) {
        yield* grant({ kind: "agent", id })
        assert.strictEqual((yield* balanceOf(id)).available_balance, credits(25))
      }
    })
  )

  it.effect("sent sixty times at once is one, and sixty grants at once are sixty", () =>
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

  it.effect("to nobody is 404, whatever the id", () =>
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

  it.effect("that an account cannot hold is refused, by the name of the field", () =>
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
  it.effect("say what became available and what was frozen, newest first, and sum up to the balance", () =>
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

  it.effect("come in pages that neither repeat nor skip while new ones arrive, and show nobody else's", () =>
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

  it.effect("refuse a cursor that is none of ours", () =>
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

/** Somebody with the rights to do so changes what is recorded, past the triggers. */
const tamper = Effect.fnUntraced(function* (
  table: "accounts" | "transfers",
  change: (sql: SqlClient.SqlClient) => Statement.Statement<object>
) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`alter table ${sql(table)} disable trigger user`
  yield* change(sql)
  yield* sql`alter table ${sql(table)} enable trigger user`
}, asOwner)

const tampered = [
  [
    "an amount",
    "transfers",
    "update transfers set amount = amount + 1 where id like 'grant:%:x'",
    /has .* its transfers say/
  ],
  [
    "a receiver",
    "transfers",
    "update transfers set credit = 'gateway_revenue' where id like 'grant:%:x'",
    /has .* its transfers say/
  ],
  [
    "a transfer that is gone",
    "transfers",
    "delete from transfers where id like 'grant:%:x'",
    /has .* its transfers say/
  ],
  [
    "a transfer that nobody recorded",
    "transfers",
    "insert into transfers (id, kind, debit, credit, amount, reason, at) select 'y', kind, debit, credit, amount, reason, at from transfers where id like 'grant:%:x'",
    /has .* its transfers say/
  ],
  [
    "a transfer to no account",
    "transfers",
    "update transfers set credit = 'agent:x' where id like 'grant:%:x'",
    /transfers name agent:x, which is no account/
  ],
  [
    "a balance",
    "accounts",
    "update accounts set posted = posted + 1 where posted > 0",
    /all balances together are/
  ],
  [
    "what is held",
    "accounts",
    "update accounts set held = held + 1 where kind = 'gateway_revenue' and posted > held",
    /holds .* its transfers say/
  ],
  [
    "a post of more than was pending",
    "transfers",
    "update transfers set amount = amount + 1 where id = 'end'",
    /does not fit the pending one it ends, hold/
  ],
  [
    "a void that lets go another's",
    "transfers",
    "update transfers set debit = 'treasury', kind = 'void' where id = 'end'",
    /does not fit the pending one it ends, hold/
  ],
  [
    "a claim grant",
    "transfers",
    "update transfers set amount = amount - 1 where id like 'grant:claim:%'",
    /claim grant of agent .* said to be 500000000 .* says 499999999/
  ],
  [
    "an account that is gone",
    "accounts",
    "delete from accounts where posted = 0 and kind = 'owner'",
    /owner:.* is not there/
  ]
] as const

tampered.forEach(([what, table, change, finding]) => {
  layer(testServices())(`The check finds ${what}`, (it) => {
    it.effect("with the triggers switched off meanwhile, and nothing before", () =>
      Effect.gen(function* () {
        const id = yield* claimedAgent()
        yield* anOperator
        yield* payClaimGrants
        yield* grant({ kind: "agent", id }, { idempotency_key: "x" })
        const hold = {
          id: "hold",
          kind: "pending",
          debit: `agent:${id}`,
          credit: "gateway_revenue",
          amount: credits(3),
          reason: "a call"
        } as const
        yield* record(hold)
        yield* record({ ...hold, id: "end", kind: "post", pendingId: "hold" })
        assert.deepStrictEqual(yield* ledgerFindings, [])
        yield* tamper(table, (sql) => sql`${sql.literal(change)}`)
        assert.match((yield* ledgerFindings).join("\n"), finding)
      })
    )
  })
})

layer(testServices())("The check", (it) => {
  it.effect("says how much there is, and where", () =>
    Effect.gen(function* () {
      const [first = "", second = ""] = yield* claimedAgents(2)
      yield* payClaimGrants
      yield* grant({ kind: "owner", id: yield* someOperator }, { amount: credits(70) })
      yield* record({
        id: "hold",
        kind: "pending",
        debit: `agent:${first}`,
        credit: "gateway_revenue",
        amount: credits(9),
        reason: "a call"
      })
      yield* record({
        id: "paid",
        kind: "post",
        debit: `agent:${second}`,
        credit: "gateway_revenue",
        amount: credits(4),
        reason: "a call"
      })
      assert.deepStrictEqual(
        { ...(yield* check), differences: yield* ledgerFindings },
        {
          accounts: 5,
          transfers: 5,
          open_pendings: 1,
          issued: credits(1070),
          with_agents: credits(996),
          with_owners: credits(70),
          in_pools: 0n,
          gateway_revenue: credits(4),
          frozen: credits(9),
          claim_grants: credits(1000),
          claim_grants_due: 0,
          plan_credit: 0n,
          purchases: 0n,
          refunds: 0n,
          top_ups: 0n,
          stakes: 0,
          open_stakes: 0n,
          pools_settled: 0,
          rewards: 0n,
          gateway_calls: 0,
          gateway_reserved: 0n,
          differences: []
        }
      )
    })
  )

  it.effect("sees one moment of a ledger in use", () =>
    Effect.gen(function* () {
      const agents = yield* claimedAgents(4)
      const grants = times(80, (index) =>
        grant({ kind: "agent", id: agents[index % 4] ?? "" }, { idempotency_key: `k${index}` })
      )
      const [checks] = yield* Effect.all(
        [Effect.replicateEffect(ledgerFindings, 8), Effect.all(grants, { concurrency: 8, discard: true })],
        { concurrency: "unbounded" }
      )
      for (const found of checks) assert.deepStrictEqual(found, [])
    })
  )

  it.effect("names triggers that are switched off or gone", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* asOwner(sql`alter table transfers disable trigger transfers_append_only`)
      yield* asOwner(sql`drop trigger accounts_kept on accounts`)
      assert.deepStrictEqual(yield* ledgerFindings, [
        "the trigger accounts_kept of accounts is missing or switched off",
        "the trigger transfers_append_only of transfers is missing or switched off"
      ])
    })
  )
})

layer(testServices())("The check of what was given", (it) => {
  it.effect("finds the request for a grant however it was written", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const agent = yield* claimedAgent()
      const asked = [
        `{ "idempotency_key" : "a.b:c-1_2", "amount" : 1e-6, "reason": "\\u0000 \\"amount\\": 3" }`,
        `{"reason":"${"\\u6da8".repeat(1000)}","amount":0.25E+1,\n"idempotency_key":"late"}`,
        // What was refused is recorded, too, and may be anything.
        `{"amount":"1e999999","idempotency_key":7}`,
        `{"amount":99e99,"idempotency_key":"late"}`,
        "not json"
      ]
      for (const [n, body] of asked.entries()) {
        yield* sql`
          insert into audit_log (id, at, action, path, request_id, body)
          values (gen_random_uuid(), '2026-01-01', 'grantAgent',
                  ${`/api/v1/admin/agents/${n === 0 ? agent.toUpperCase() : agent}/credits?x=1`}, 'r', ${body})`
      }
      const service = yield* Credits
      for (const [idempotency_key, amount] of [
        ["a.b:c-1_2", 1n],
        ["late", 2_500_000n]
      ] as const) {
        yield* service.grant({ kind: "agent", id: agent }, { idempotency_key, amount, reason: "r" })
      }
      assert.deepStrictEqual(
        (yield* differences).filter((line) => line.includes(agent)),
        []
      )
    })
  )

  it.effect("names credit that was given for no reason that is recorded, though all balances are right", () =>
    Effect.gen(function* () {
      const agent = `agent:${yield* claimedAgent()}`
      const owner = yield* someOperator
      const other = yield* claimedAgent()
      const given = yield* grant({ kind: "agent", id: other }, { amount: 12_500_000n })
      assert.deepStrictEqual(yield* differences, [])
      const forged = (id: string, credit: string, debit = "treasury") =>
        record({ id, kind: "post", debit, credit, amount: credits(7), reason: "a prize" })
      // Nobody asked for it; somebody asked for other credit under this key; another agent was to get it.
      const key = given.id.split(":").at(-1) ?? ""
      yield* askedFor([agent], credits(8), "less")
      const unasked = [`${agent}:none`, `${agent}:less`, `${agent}:${key}`].map((end) => `grant:admin:${end}`)
      for (const id of unasked) yield* forged(id, agent)
      const unfounded = ["bonus:1", "fund:1"]
      for (const id of unfounded) yield* forged(id, agent)
      yield* forged("between", agent, `agent:${other}`)
      yield* forged(`plan:${owner}:1970-02:7000000`, `owner:${owner}`)
      yield* forged(`plan:${owner}:1970-01:7000000`, `owner:${owner}`)
      const found = yield* differences
      for (const id of unasked) {
        assert.include(
          found,
          `transfer ${id} gives ${agent} 7000000 micro-credits, and no call of an administrator is recorded that asked for it`
        )
      }
      for (const id of [...unfounded, "between"]) {
        assert.include(
          found,
          `transfer ${id} gives ${agent} 7000000 micro-credits for no reason that is recorded`
        )
      }
      assert.include(found, `transfer plan:${owner}:1970-02:7000000 is of 1970-01`)
      assert.include(
        found,
        `transfer plan:${owner}:1970-01:7000000, and the last month for which its owner got anything is an earlier one`
      )
      assert.strictEqual(found.length, unasked.length + unfounded.length + 3)
    })
  )

  it.effect(
    "names credit that was taken or frozen for no reason that is recorded, though all balances are right",
    () =>
      Effect.gen(function* () {
        const agentId = yield* claimedAgent()
        const agent = `agent:${agentId}`
        const owner = `owner:${yield* someOperator}`
        for (const account of [agent, owner]) yield* fund(account, 100)
        const before = yield* differences
        const callId = "0190f000-0000-7000-8000-00000000000a"
        const forged = [
          ["fee:1", "post", agent, "gateway_revenue"],
          ["release:1", "post", agent, "gateway_revenue"],
          ["fee:2", "post", owner, "treasury"],
          ["return:2", "post", owner, "treasury"],
          ["fee:3", "pending", agent, "gateway_revenue"],
          [`stake:${callId}:${agentId}`, "pending", agent, "gateway_revenue"],
          [`gw:${callId}`, "pending", agent, "gateway_revenue"]
        ] as const
        for (const [id, kind, debit, credit] of forged) {
          yield* record({ id, kind, debit, credit, amount: credits(7), reason: "a fee" })
        }
        yield* record({
          id: "fee:4",
          kind: "post",
          debit: agent,
          credit: "gateway_revenue",
          amount: credits(7),
          pendingId: `gw:${callId}`,
          reason: "a fee"
        })
        const found = (yield* differences).filter((line) => !before.includes(line))
        const named = found.flatMap(
          (line) => /^transfer (\S+) .* for no reason that is recorded$/.exec(line)?.[1] ?? []
        )
        const ids = [...forged.map(([id]) => id), "fee:4"].filter((id) => !id.startsWith("gw:"))
        assert.deepStrictEqual(named, ids.toSorted())
      })
  )
})
