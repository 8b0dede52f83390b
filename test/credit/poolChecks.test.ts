/** The check of the ledger names whatever is not right with credit pools, and nothing else. */
import { Scoring } from "../../src/services/Scoring.ts"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Credits } from "../../src/services/Credits.ts"
import { freshWeek, moveTo, newMacro, plus } from "../support/builders.ts"
import { credits } from "../support/ledger.ts"
import { agentsApart, creditFor, forecastsOn, stakeOn } from "../support/pools.ts"
import { testServices } from "../support/services.ts"
import { restored, unguarded } from "../support/tampering.ts"
import { asOwner } from "../support/database.ts"

const tables = ["stakes", "pool_bins", "pool_settlements", "pool_rewards", "transfers", "accounts"] as const

/** A pool that is paid, one that is void with its challenge, and one that is open, with the same stakes on each. */
const fixture = Effect.gen(function* () {
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
  yield* Scoring.use((scoring) => scoring.voidMacro(voided.id, "never published"))
  return { paid: paid.id, voided: voided.id, open: open.id, first, second, third }
})
type Fixture = Effect.Success<typeof fixture>

/** Differences that are not about the guards, which are all taken away here. */
const differences = Effect.map(
  Credits.use((service) => service.check),
  (checked) => checked.differences.filter((line) => !line.startsWith("the trigger "))
)

const copied = (table: string, where: string, changes: string) => `
  insert into ${table} overriding system value
  select (jsonb_populate_record(t, jsonb_build_object(${changes}))).* from ${table} t where ${where}`

/** What is changed, in which table, and what of it is said. */
const tampered: ReadonlyArray<
  readonly [what: string, table: (typeof tables)[number], change: (of: Fixture) => string, said: string]
> = [
  [
    "a stake's amount",
    "stakes",
    ({ paid }) => `update stakes set amount = amount + 1 where challenge_id = '${paid}'`,
    "does not fit its stake"
  ],
  [
    "a stake that is gone",
    "stakes",
    ({ paid }) => `delete from stakes where challenge_id = '${paid}' and bin = 0`,
    "does not fit any stake"
  ],
  [
    "a stake that nobody took",
    "stakes",
    ({ paid }) =>
      copied(
        "stakes",
        `challenge_id = '${paid}' and bin = 0`,
        `'agent_id', gen_random_uuid(), 'id', gen_random_uuid(), 'position', 9`
      ),
    "its transfer is missing"
  ],
  [
    "the order of stakes",
    "stakes",
    ({ open }) =>
      `update stakes set position = case position when 1 then 7 else position end where challenge_id = '${open}' and bin = 2`,
    "was taken on a bin that held 100000000"
  ],
  [
    "whose a stake is",
    "stakes",
    ({ first, open }) =>
      `update stakes s set owner_id = a.owner_id from agents a where a.id = '${first}' and s.challenge_id = '${open}' and s.bin = 2`,
    "of them its owner's"
  ],
  [
    "what a bin holds",
    "pool_bins",
    ({ open }) => `update pool_bins set staked = staked + 1 where challenge_id = '${open}' and bin = 2`,
    "is said to hold 250000001 micro-credits of 2"
  ],
  [
    "how many are on a bin",
    "pool_bins",
    ({ paid }) => `update pool_bins set stakers = stakers + 1 where challenge_id = '${paid}'`,
    "its stakes say"
  ],
  [
    "a bin that is gone",
    "pool_bins",
    ({ paid }) => `delete from pool_bins where challenge_id = '${paid}'`,
    "is said to hold 0"
  ],
  [
    "a release that is gone",
    "transfers",
    ({ first, paid }) => `delete from transfers where id = 'release:${paid}:${first}'`,
    "not let go whole"
  ],
  [
    "a release of part of a stake",
    "transfers",
    ({ first, voided }) => `update transfers set amount = amount - 1 where id = 'release:${voided}:${first}'`,
    "not let go whole"
  ],
  [
    "a stake that was spent instead",
    "transfers",
    ({ first, paid }) => `update transfers set kind = 'post' where id = 'release:${paid}:${first}'`,
    "not let go whole"
  ],
  [
    "a release from an open pool",
    "transfers",
    ({ first, open, paid }) =>
      copied(
        "transfers",
        `id = 'release:${paid}:${first}'`,
        `'id', 'release:${open}:${first}', 'credit', 'pool:${open}', 'pending_id', 'stake:${open}:${first}'`
      ),
    "let go before its pool is settled"
  ],
  [
    "a pending transfer that no stake is behind",
    "transfers",
    ({ first, open, paid }) =>
      copied("transfers", `id = 'stake:${paid}:${first}'`, `'id', 'stake:${open}:x'`),
    "does not fit any stake"
  ],
  [
    "a reward that is gone",
    "pool_rewards",
    ({ second }) => `delete from pool_rewards where agent_id = '${second}'`,
    "is on the winning bin and has no reward"
  ],
  [
    "a reward for another bin",
    "pool_rewards",
    ({ first, third }) =>
      copied("pool_rewards", `agent_id = '${first}'`, `'agent_id', '${third}', 'reward', 0`),
    "is not on the winning bin"
  ],
  [
    "a reward's amount",
    "pool_rewards",
    ({ first }) => `update pool_rewards set reward = reward + 1 where agent_id = '${first}'`,
    "is said to be"
  ],
  [
    "a reward that was not paid",
    "pool_rewards",
    ({ first }) => `update pool_rewards set withheld = 1 where agent_id = '${first}'`,
    "its account was never full"
  ],
  [
    "the transfer of a reward that is gone",
    "transfers",
    ({ first, paid }) => `delete from transfers where id = 'reward:${paid}:${first}'`,
    "its transfer says 0"
  ],
  [
    "a transfer of a reward that nobody earned",
    "transfers",
    ({ first, paid, third }) =>
      copied(
        "transfers",
        `id = 'reward:${paid}:${first}'`,
        `'id', 'reward:${paid}:${third}', 'credit', 'agent:${third}'`
      ),
    "is said to be 0"
  ],
  [
    "who got a reward",
    "transfers",
    ({ first, paid, third }) =>
      `update transfers set credit = 'agent:${third}' where id = 'reward:${paid}:${first}'`,
    "is said to be"
  ],
  [
    "a winning bin",
    "pool_settlements",
    ({ paid }) => `update pool_settlements set winning_bin = 1 where challenge_id = '${paid}'`,
    "its winning bin is not where the value lies"
  ],
  [
    "a winning bin without a value",
    "pool_settlements",
    ({ voided }) => `update pool_settlements set winning_bin = 1 where challenge_id = '${voided}'`,
    "its winning bin is not where the value lies"
  ],
  [
    "an outcome",
    "pool_settlements",
    ({ paid }) => `update pool_settlements set outcome = 'void' where challenge_id = '${paid}'`,
    "its outcome does not fit its winners"
  ],
  [
    "how much was staked",
    "pool_settlements",
    ({ paid }) => `update pool_settlements set staked = staked + 1 where challenge_id = '${paid}'`,
    "stakes and staked are not those"
  ],
  [
    "how many stakes there were",
    "pool_settlements",
    ({ voided }) => `update pool_settlements set stakes = stakes + 1 where challenge_id = '${voided}'`,
    "stakes and staked are not those"
  ],
  [
    "how many winners there were",
    "pool_settlements",
    ({ paid }) => `update pool_settlements set winners = 1 where challenge_id = '${paid}'`,
    "winners and paid are not those"
  ],
  [
    "what was paid",
    "pool_settlements",
    ({ paid }) => `update pool_settlements set paid = paid + 1 where challenge_id = '${paid}'`,
    "winners and paid are not those"
  ],
  [
    "more paid than there was",
    "pool_settlements",
    ({ paid }) => `update pool_settlements set paid = paid + 250000001 where challenge_id = '${paid}'`,
    "more than it was funded with"
  ],
  [
    "a reward pool",
    "pool_settlements",
    ({ paid }) => `update pool_settlements set reward_pool = reward_pool + 1 where challenge_id = '${paid}'`,
    "its reward pool is not that of its challenge"
  ],
  [
    "a settlement that is gone",
    "pool_settlements",
    ({ voided }) => `delete from pool_settlements where challenge_id = '${voided}'`,
    "it is not settled, and its challenge has ended"
  ],
  [
    "a settlement of an open pool",
    "pool_settlements",
    ({ open, voided }) =>
      copied("pool_settlements", `challenge_id = '${voided}'`, `'challenge_id', '${open}'`),
    "it is settled, and its challenge has not ended"
  ],
  [
    "a funding that is gone",
    "transfers",
    ({ open }) => `delete from transfers where id = 'fund:${open}'`,
    "it is not funded with 25000000 micro-credits"
  ],
  [
    "a funding's amount",
    "transfers",
    ({ paid }) => `update transfers set amount = amount + 1 where id = 'fund:${paid}'`,
    "it is not funded with 1250000000 micro-credits"
  ],
  [
    "a return that is gone",
    "transfers",
    ({ voided }) => `delete from transfers where id = 'return:${voided}'`,
    "what it did not pay did not return"
  ],
  [
    "a return before the end",
    "transfers",
    ({ open, voided }) =>
      copied("transfers", `id = 'return:${voided}'`, `'id', 'return:${open}', 'debit', 'pool:${open}'`),
    "credit returned before it is settled"
  ],
  [
    "what a settled pool has",
    "accounts",
    ({ paid }) => `update accounts set posted = 1 where id = 'pool:${paid}'`,
    "it is settled, and not empty"
  ],
  [
    "a pool without an account",
    "accounts",
    ({ open }) => `delete from accounts where id = 'pool:${open}'`,
    "it has no account"
  ]
]

layer(testServices())("The check of the ledger", (it) => {
  it.effect("says how much is staked and was paid, and finds nothing where nothing was changed", () =>
    Effect.gen(function* () {
      yield* fixture
      const { open_stakes, pools_settled, rewards, stakes, ...checked } = yield* Credits.use(
        (service) => service.check
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

layer(testServices())("The check of the ledger names", (it) => {
  it.effect(
    "whatever was changed of a pool with the triggers switched off, and nothing once it is as it was",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const made = yield* fixture
        yield* unguarded(tables)
        assert.deepStrictEqual(yield* differences, [])
        const unnamed: Array<string> = []
        for (const [what, table, change, said] of tampered) {
          yield* asOwner(sql`${sql.literal(change(made))}`)
          const found = yield* differences
          if (!found.some((line) => line.includes(said))) {
            unnamed.push(`${what}: ${said} in\n    ${found.join("\n    ")}`)
          }
          yield* restored(table)
        }
        assert.deepStrictEqual(unnamed, [])
        assert.deepStrictEqual(yield* differences, [])
      })
  )

  it.effect("triggers of pools that are switched off", () =>
    Effect.gen(function* () {
      const checked = yield* Credits.use((service) => service.check)
      for (const trigger of ["stakes_append_only of stakes", "pool_rewards_append_only of pool_rewards"]) {
        assert.include(checked.differences, `the trigger ${trigger} is missing or switched off`)
      }
    })
  )
})
