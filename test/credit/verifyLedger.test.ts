/** The check of the ledger names every fault, and nothing else. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Audit } from "../../src/services/Audit.ts"
import { Credits } from "../../src/services/Credits.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import { claimedAgent, claimedAgents, anOperator, someOperator, agentsApart } from "../support/agents.ts"
import { freshWeek, moveTo, newMacro, plus } from "../support/challenges.ts"
import {
  askedFor,
  credits,
  fund,
  grant,
  ledgerFindings,
  payClaimGrants,
  record,
  creditFor,
  forecastsOn,
  stakeOn
} from "../support/credit.ts"
import { oneIn } from "../support/breadth.ts"
import { times } from "../support/concurrently.ts"
import { asOwner } from "../support/database.ts"
import { testServices } from "../support/services.ts"
import { restored, unguarded } from "../support/tampering.ts"

const check = Audit.use(({ verifyLedger }) => verifyLedger)
const differences = Effect.map(check, (checked) => checked.differences)

layer(testServices())("The check of the ledger", (it) => {
  it.effect("The check of the ledger says how much credit there is, and where", () =>
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

  it.effect("The check of the ledger sees one moment of a ledger in use", () =>
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

  it.effect("The check of the ledger names triggers that are switched off or gone", () =>
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

layer(testServices())("The check of given credit", (it) => {
  it.effect("The ledger's check finds the request for a grant in any way of writing", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const agent = yield* claimedAgent()
      const bodies = [
        `{ "idempotency_key" : "a.b:c-1_2", "amount" : 1e-6, "reason": "\\u0000 \\"amount\\": 3" }`,
        `{"reason":"${"\\u6da8".repeat(1000)}","amount":0.25E+1,\n"idempotency_key":"late"}`,
        // A rejected request is recorded, too, and may contain anything.
        `{"amount":"1e999999","idempotency_key":7}`,
        `{"amount":99e99,"idempotency_key":"late"}`,
        "not json"
      ]
      for (const [n, body] of bodies.entries()) {
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

  it.effect(
    "The ledger's check names credit given without a recorded reason, if all balances are right",
    () =>
      Effect.gen(function* () {
        const agent = `agent:${yield* claimedAgent()}`
        const owner = yield* someOperator
        const other = yield* claimedAgent()
        const given = yield* grant({ kind: "agent", id: other }, { amount: 12_500_000n })
        assert.deepStrictEqual(yield* differences, [])
        const forged = (id: string, credit: string, debit = "treasury") =>
          record({ id, kind: "post", debit, credit, amount: credits(7), reason: "a prize" })
        // The three forged grants: without a request, for another amount under this key, and for another agent.
        const key = given.id.split(":").at(-1) ?? ""
        yield* askedFor([agent], credits(8), "less")
        const unasked = [`${agent}:none`, `${agent}:less`, `${agent}:${key}`].map(
          (end) => `grant:admin:${end}`
        )
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
            `transfer ${id} gives ${agent} 7000000 micro-credits without a recorded call of an administrator`
          )
        }
        for (const id of [...unfounded, "between"]) {
          assert.include(
            found,
            `transfer ${id} gives ${agent} 7000000 micro-credits without a recorded reason`
          )
        }
        assert.include(found, `transfer plan:${owner}:1970-02:7000000 was made in 1970-01`)
        assert.include(
          found,
          `transfer plan:${owner}:1970-01:7000000 is for a month after the last one that its owner was credited for`
        )
        assert.strictEqual(found.length, unasked.length + unfounded.length + 3)
      })
  )

  it.effect("The ledger's check names credit taken or frozen without a recorded reason", () =>
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
        (line) => /^transfer (\S+) .* without a recorded reason$/.exec(line)?.[1] ?? []
      )
      const ids = [...forged.map(([id]) => id), "fee:4"].filter((id) => !id.startsWith("gw:"))
      assert.deepStrictEqual(named, ids.toSorted())
    })
  )
})

/** Statements that change records, each with the finding about it; names in braces are ids of the fixture. */
type Tampering = ReadonlyArray<readonly [change: string, finding: RegExp]>

/** Every change is found with the triggers switched off, one after the other, and nothing once it is undone. */
const findsEach = Effect.fnUntraced(function* (
  tables: ReadonlyArray<string>,
  tampering: Tampering,
  checked: Effect.Effect<ReadonlyArray<string>, never, Audit>,
  ids: Readonly<Record<string, string>> = {}
) {
  const sql = yield* SqlClient.SqlClient
  // All triggers of these tables are switched off here.
  const findings = Effect.map(checked, (found) => found.filter((line) => !line.startsWith("the trigger ")))
  yield* unguarded(tables)
  assert.deepStrictEqual(yield* findings, [])
  const unnamed: Array<string> = []
  for (const [template, finding] of oneIn(4, tampering)) {
    const change = template.replaceAll(/\{(\w+)\}/g, (_, name) => ids[String(name)] ?? "")
    yield* asOwner(sql`${sql.literal(change)}`)
    const found = yield* findings
    if (!found.some((line) => finding.test(line))) unnamed.push(`${change}: ${found.join("\n    ")}`)
    const [, table = ""] = /(?:update|delete from|insert into) (\w+)/.exec(change) ?? []
    yield* restored(table)
  }
  assert.deepStrictEqual(unnamed, [])
  assert.deepStrictEqual(yield* findings, [])
})

const copied = (table: string, where: string, changes: string) => `
  insert into ${table} overriding system value
  select (jsonb_populate_record(t, jsonb_build_object(${changes}))).* from ${table} t where ${where}`

const transferTampering: Tampering = [
  ["update transfers set amount = amount + 1 where id like 'grant:%:x'", /has .* its transfers sum to/],
  [
    "update transfers set credit = 'gateway_revenue' where id like 'grant:%:x'",
    /has .* its transfers sum to/
  ],
  ["delete from transfers where id like 'grant:%:x'", /has .* its transfers sum to/],
  [
    "insert into transfers (id, kind, debit, credit, amount, reason, at) select 'y', kind, debit, credit, amount, reason, at from transfers where id like 'grant:%:x'",
    /has .* its transfers sum to/
  ],
  [
    "update transfers set credit = 'agent:x' where id like 'grant:%:x'",
    /transfers name agent:x, which is no account/
  ],
  ["update accounts set posted = posted + 1 where posted > 0", /the sum of all balances is/],
  [
    "update accounts set held = held + 1 where kind = 'gateway_revenue' and posted > held",
    /holds .* its transfers sum to/
  ],
  ["update transfers set amount = amount + 1 where id = 'end'", /does not fit the pending one it ends, hold/],
  [
    "update transfers set debit = 'treasury', kind = 'void' where id = 'end'",
    /does not fit the pending one it ends, hold/
  ],
  [
    "update transfers set amount = amount - 1 where id like 'grant:claim:%'",
    /records a claim grant of 500000000 .* moved 499999999/
  ],
  ["delete from accounts where posted = 0 and kind = 'owner'", /account owner:.* is missing/]
]

layer(testServices())("The check of balances and transfers", (it) => {
  it.effect("The ledger's check names every change made with the triggers off, and nothing once undone", () =>
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
      yield* findsEach(["transfers", "accounts"], transferTampering, ledgerFindings)
    })
  )
})

/** A pool that is paid, one that is void with its challenge, and one that is open, with the same stakes on each. */
const pools = Effect.gen(function* () {
  const deadline = plus(yield* freshWeek, "1 hour")
  const agents = yield* agentsApart(3)
  yield* creditFor(agents)
  const [paid, voided, open] = [
    yield* newMacro({ deadline, reward_pool: 1000 }),
    yield* newMacro({ deadline, reward_pool: 10 }),
    yield* newMacro({ deadline: plus(deadline, "1 day"), reward_pool: 20 })
  ]
  const [first = "", second = "", third = ""] = agents
  for (const pool of [paid, voided, open]) {
    yield* forecastsOn(
      pool,
      agents.map((agentId) => ({ agentId, value: 3.1, std: 0.1 }))
    )
    yield* stakeOn(pool, [
      { agentId: first, bin: 2, amount: credits(150) },
      { agentId: second, bin: 2, amount: credits(100) },
      { agentId: third, bin: 0, amount: credits(50) }
    ])
  }
  yield* moveTo(deadline)
  yield* Scoring.use((scoring) => scoring.resolveMacro(paid.id, 3.1))
  yield* Scoring.use((scoring) => scoring.void("macro", voided.id, "never published"))
  return { paid: paid.id, voided: voided.id, open: open.id, first, second, third }
})

const poolTampering: Tampering = [
  ["update stakes set amount = amount + 1 where challenge_id = '{paid}'", /does not fit its stake/],
  ["delete from stakes where challenge_id = '{paid}' and bin = 0", /does not fit any stake/],
  [
    copied(
      "stakes",
      "challenge_id = '{paid}' and bin = 0",
      "'agent_id', gen_random_uuid(), 'id', gen_random_uuid(), 'position', 9"
    ),
    /its transfer is missing/
  ],
  [
    "update stakes set position = case position when 1 then 7 else position end where challenge_id = '{open}' and bin = 2",
    /was accepted on a bin that held 100000000/
  ],
  [
    "update stakes s set owner_id = a.owner_id from agents a where a.id = '{first}' and s.challenge_id = '{open}' and s.bin = 2",
    /of which .* were its owner's/
  ],
  [
    "update pool_bins set staked = staked + 1 where challenge_id = '{open}' and bin = 2",
    /records 250000001 micro-credits of 2/
  ],
  ["update pool_bins set stakers = stakers + 1 where challenge_id = '{paid}'", /its stakes are/],
  ["delete from pool_bins where challenge_id = '{paid}'", /records 0/],
  ["delete from transfers where id = 'release:{paid}:{first}'", /not released whole/],
  ["update transfers set amount = amount - 1 where id = 'release:{voided}:{first}'", /not released whole/],
  ["update transfers set kind = 'post' where id = 'release:{paid}:{first}'", /not released whole/],
  [
    copied(
      "transfers",
      "id = 'release:{paid}:{first}'",
      "'id', 'release:{open}:{first}', 'credit', 'pool:{open}', 'pending_id', 'stake:{open}:{first}'"
    ),
    /released before its pool was settled/
  ],
  [copied("transfers", "id = 'stake:{paid}:{first}'", "'id', 'stake:{open}:x'"), /does not fit any stake/],
  ["delete from pool_rewards where agent_id = '{second}'", /is on the winning bin but has no reward/],
  [
    copied("pool_rewards", "agent_id = '{first}'", "'agent_id', '{third}', 'reward', 0"),
    /is not on the winning bin/
  ],
  ["update pool_rewards set reward = reward + 1 where agent_id = '{first}'", /is recorded as/],
  ["update pool_rewards set withheld = 1 where agent_id = '{first}'", /its account was never full/],
  ["delete from transfers where id = 'reward:{paid}:{first}'", /its transfer moved 0/],
  [
    copied(
      "transfers",
      "id = 'reward:{paid}:{first}'",
      "'id', 'reward:{paid}:{third}', 'credit', 'agent:{third}'"
    ),
    /is recorded as 0/
  ],
  ["update transfers set credit = 'agent:{third}' where id = 'reward:{paid}:{first}'", /is recorded as/],
  [
    "update pool_settlements set winning_bin = 1 where challenge_id = '{paid}'",
    /its winning bin is not where the value lies/
  ],
  [
    "update pool_settlements set winning_bin = 1 where challenge_id = '{voided}'",
    /its winning bin is not where the value lies/
  ],
  [
    "update pool_settlements set outcome = 'void' where challenge_id = '{paid}'",
    /its outcome does not fit its winners/
  ],
  [
    "update pool_settlements set staked = staked + 1 where challenge_id = '{paid}'",
    /stakes and staked are not the number/
  ],
  [
    "update pool_settlements set stakes = stakes + 1 where challenge_id = '{voided}'",
    /stakes and staked are not the number/
  ],
  [
    "update pool_settlements set winners = 1 where challenge_id = '{paid}'",
    /winners and paid are not the number/
  ],
  [
    "update pool_settlements set paid = paid + 1 where challenge_id = '{paid}'",
    /winners and paid are not the number/
  ],
  [
    "update pool_settlements set paid = paid + 250000001 where challenge_id = '{paid}'",
    /more than it was funded with/
  ],
  [
    "update pool_settlements set reward_pool = reward_pool + 1 where challenge_id = '{paid}'",
    /its reward pool is not that of its challenge/
  ],
  [
    "delete from pool_settlements where challenge_id = '{voided}'",
    /it is not settled, but its challenge has ended/
  ],
  [
    copied("pool_settlements", "challenge_id = '{voided}'", "'challenge_id', '{open}'"),
    /it is settled, but its challenge has not ended/
  ],
  ["delete from transfers where id = 'fund:{open}'", /it is not funded with 25000000 micro-credits/],
  [
    "update transfers set amount = amount + 1 where id = 'fund:{paid}'",
    /it is not funded with 1250000000 micro-credits/
  ],
  ["delete from transfers where id = 'return:{voided}'", /its unpaid credit was not returned/],
  [
    copied("transfers", "id = 'return:{voided}'", "'id', 'return:{open}', 'debit', 'pool:{open}'"),
    /its credit was returned before it was settled/
  ],
  ["update accounts set posted = 1 where id = 'pool:{paid}'", /it is settled, but not empty/],
  ["delete from accounts where id = 'pool:{open}'", /it has no account/]
]

layer(testServices())("The check of pools", (it) => {
  it.effect("The check of pools reports stakes and payments, and finds nothing where nothing changed", () =>
    Effect.gen(function* () {
      yield* pools
      const { open_stakes, pools_settled, rewards, stakes, ...checked } = yield* Audit.use(
        ({ verifyLedger }) => verifyLedger
      )
      assert.deepStrictEqual(checked.differences, [])
      assert.deepStrictEqual(
        { open_stakes, pools_settled, rewards, stakes, frozen: checked.frozen, in_pools: checked.in_pools },
        {
          open_stakes: credits(300),
          pools_settled: 2,
          rewards: credits(1000),
          stakes: 9,
          frozen: credits(300),
          in_pools: credits(25)
        }
      )
    })
  )
})

layer(testServices({ AUSPEX_POOL_OWNER_RULE: "on" }))("The check of pools and their transfers", (it) => {
  it.effect("The check of pools names every change made with the triggers off, and nothing once undone", () =>
    Effect.gen(function* () {
      yield* findsEach(
        ["stakes", "pool_bins", "pool_settlements", "pool_rewards", "transfers", "accounts"],
        poolTampering,
        differences,
        yield* pools
      )
    })
  )

  it.effect("The check of pools names triggers that are switched off", () =>
    Effect.gen(function* () {
      const checked = yield* Audit.use(({ verifyLedger }) => verifyLedger)
      for (const trigger of ["stakes_append_only of stakes", "pool_rewards_append_only of pool_rewards"]) {
        assert.include(checked.differences, `the trigger ${trigger} is missing or switched off`)
      }
    })
  )
})
