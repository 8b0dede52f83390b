/** Recomputes settled pools and their rewards from stakes and scores, and compares the stored rows with them. */
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { planCoefficients, poolRewards } from "../../../../scoring/pools.ts"
import type { WinningStake } from "../../../../scoring/pools.ts"
import { maxDifferences } from "../../../../services/Audit.ts"
import { canonicalJson } from "../../../crypto/canonicalJson.ts"
import { arrayParam, credits, findAll, whenGiven } from "../../sql.ts"
import type { SettledPool } from "../../log/entries.ts"
import { Frontier, leafHash } from "../../log/frontier.ts"
import { PoolColumns, poolColumns } from "../../log/settlementEntries.ts"
import { isSameDecimal, moment } from "./entry.ts"
import { addFound, eachPage } from "./findings.ts"
import type { Findings } from "./findings.ts"

const stakesPage = 4096

const Pool = Schema.Struct({
  challenge_id: Schema.String,
  ...PoolColumns.fields,
  winners: Schema.Int,
  micro_staked: Schema.BigInt,
  micro_paid: Schema.BigInt,
  micro_reward_pool: Schema.BigInt,
  of_challenge: Schema.NullOr(Schema.BigInt),
  owner_rule: Schema.Boolean,
  settled_at: Schema.String
})

const StakeRow = Schema.Struct({
  challenge_id: Schema.String,
  agent_id: Schema.String,
  owner_id: Schema.NullOr(Schema.String),
  bin: Schema.Int,
  amount: Schema.BigInt,
  stake: Schema.String,
  paid: Schema.String,
  reward: Schema.NullOr(Schema.BigInt),
  withheld: Schema.NullOr(Schema.BigInt),
  score: Schema.NullOr(Schema.String),
  coefficient: Schema.NullOr(Schema.String),
  earned_by: Schema.NullOr(Schema.String)
})
type StakeRow = typeof StakeRow.Type

/** The outcome of a challenge, as far as its pool depends on it. */
export interface End {
  readonly challenge_id: string
  /** The bin that holds the value; null for a void challenge. */
  readonly winning_bin: number | null
  readonly at: string | null
}

const coefficients: ReadonlyArray<string> = Object.values(planCoefficients)

/** The differences in the columns of a winner's reward other than its amounts. */
const rewardProblems = (row: StakeRow): ReadonlyArray<string> => [
  ...(isSameDecimal(row.score, row.earned_by ?? "none")
    ? []
    : ["score is not what its prediction was given"]),
  ...(coefficients.some((each) => isSameDecimal(row.coefficient, each))
    ? []
    : ["coefficient is that of no plan"])
]

/** A pool whose stakes are being read. */
interface Reading {
  readonly pool: typeof Pool.Type
  readonly end: End
  readonly tree: Frontier
  readonly owners: Map<string, bigint>
  readonly won: Array<StakeRow>
  stakes: number
  staked: bigint
  paid: bigint
}

const nameOf = (row: StakeRow) =>
  `stake of agent ${row.agent_id} in the pool of challenge ${row.challenge_id}`

const addStake = (findings: Findings, reading: Reading, row: StakeRow): void => {
  const { owners } = reading
  reading.tree.append(
    leafHash(Buffer.from(canonicalJson({ agent_id: row.agent_id, reward: row.paid, stake: row.stake })))
  )
  reading.stakes += 1
  reading.staked += row.amount
  reading.paid += row.reward ?? 0n
  if (row.owner_id !== null) owners.set(row.owner_id, (owners.get(row.owner_id) ?? 0n) + row.amount)
  if (row.bin === reading.end.winning_bin) reading.won.push(row)
  else if (row.reward !== null) findings.add(`${nameOf(row)}: it has a reward, but is on another bin`)
}

/** Recomputes the rewards of a pool. */
const checkRewards = (findings: Findings, { owners, pool, won }: Reading): void => {
  const stakes = won.map((row): WinningStake => ({
    agent_id: row.agent_id,
    owner_id: pool.owner_rule ? row.owner_id : null,
    amount: row.amount,
    owner_amount: (pool.owner_rule ? owners.get(row.owner_id ?? "nobody") : undefined) ?? row.amount,
    score: row.score ?? "0",
    coefficient: row.coefficient ?? "0"
  }))
  const earned = stakes.map(poolRewards(pool.micro_reward_pool, stakes))
  for (const [index, row] of won.entries()) {
    if (row.reward === null) {
      findings.add(`${nameOf(row)}: it is on the winning bin, but has no reward`)
      continue
    }
    for (const wrong of rewardProblems(row)) findings.add(`${nameOf(row)}: ${wrong}`)
    if (row.reward + (row.withheld ?? 0n) !== earned[index]) {
      findings.add(`${nameOf(row)}: reward and withheld are not what its stake and score earned`)
    }
  }
}

const checkTotals = (findings: Findings, reading: Reading): void => {
  const { end, pool, won } = reading
  const totals: ReadonlyArray<readonly [name: string, holds: boolean, what: string]> = [
    ["outcome", pool.outcome === (won.length > 0 ? "paid" : "void"), "what its stakes make it"],
    ["winning_bin", pool.winning_bin === end.winning_bin, "where the value lies"],
    ["reward_pool", pool.micro_reward_pool === pool.of_challenge, "that of its challenge"],
    ["stakes", pool.stakes === reading.stakes, "how many it has"],
    ["staked", pool.micro_staked === reading.staked, "what its stakes are together"],
    ["winners", pool.winners === won.length, "how many stakes are on the winning bin"],
    ["paid", pool.micro_paid === reading.paid, "what its rewards are together"],
    ["settled_at", pool.settled_at === end.at, "when its challenge ended"]
  ]
  for (const [name, holds, what] of totals) {
    if (!holds) findings.add(`pool of challenge ${end.challenge_id}: ${name} is not ${what}`)
  }
}

export const makeAuditPools = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const pools = findAll(Pool)
  const stakeRows = findAll(StakeRow)

  const read = (challengeIds: ReadonlyArray<string>) => (after: StakeRow | undefined) =>
    stakeRows(sql`
      select s.challenge_id::text, s.agent_id::text, s.owner_id::text, s.bin, s.amount,
             ${credits(sql, "s.amount")} as stake, ${credits(sql, "coalesce(r.reward, 0)")} as paid, r.reward,
             r.withheld, r.score::text, r.coefficient::text, p.score::text as earned_by
        from stakes s
        left join pool_rewards r on r.challenge_id = s.challenge_id and r.agent_id = s.agent_id
        left join prediction_scores p
          on p.challenge_id = s.challenge_id and p.version = 1 and p.agent_id = s.agent_id
       where s.challenge_id = any(${arrayParam("uuid", challengeIds)})
         ${whenGiven(sql, after, (last) => sql`and (s.challenge_id, s.agent_id) > (${last.challenge_id}::uuid, ${last.agent_id}::uuid)`)}
       order by s.challenge_id, s.agent_id limit ${stakesPage}`)

  /** Audits the pools of these challenges, and returns the pool member of each challenge's final entry. */
  return Effect.fnUntraced(function* (findings: Findings, ends: ReadonlyArray<End>) {
    const settled = new Map<string, SettledPool>()
    if (ends.length === 0) return settled
    const endOf = new Map(ends.map((end) => [end.challenge_id, end]))
    const rows = yield* pools(sql`
      select p.challenge_id::text, ${poolColumns(sql)}, p.winners, p.staked as micro_staked, p.paid as micro_paid,
             p.reward_pool as micro_reward_pool, c.reward_pool as of_challenge,
             coalesce(c.pool_owner_rule, true) as owner_rule,
             ${moment(sql, "p.settled_at")} as settled_at
        from pool_settlements p left join challenges c on c.id = p.challenge_id
       where p.challenge_id = any(${arrayParam("uuid", [...endOf.keys()])})
       order by p.challenge_id`)
    const begun = rows.flatMap((pool): ReadonlyArray<Reading> => {
      const end = endOf.get(pool.challenge_id)
      if (end === undefined) return []
      const empty = { tree: new Frontier(), owners: new Map(), won: [], stakes: 0, staked: 0n, paid: 0n }
      return [{ pool, end, ...empty }]
    })
    const ended = (reading: Reading) => {
      checkRewards(findings, reading)
      checkTotals(findings, reading)
      const { outcome, paid, reward_pool, staked, stakes, winning_bin } = reading.pool
      const root = reading.tree.root()
      settled.set(reading.end.challenge_id, {
        outcome,
        paid,
        reward_pool,
        root,
        staked,
        stakes,
        winning_bin
      })
      // A pool is released before the next one is read.
      reading.owners.clear()
      reading.won.length = 0
    }
    // Pools and stakes come in the same order, so the first stake of a later pool ends this one.
    const rest = begun.values()
    let current = rest.next().value
    yield* eachPage(stakesPage, read(begun.map(({ end }) => end.challenge_id)), (page) =>
      Effect.sync(() => {
        for (const row of page) {
          while (current !== undefined && current.end.challenge_id !== row.challenge_id) {
            ended(current)
            current = rest.next().value
          }
          if (current !== undefined) addStake(findings, current, row)
        }
      })
    )
    while (current !== undefined) {
      ended(current)
      current = rest.next().value
    }
    return settled
  })
})

/** Checks stakes of open pools, and finds rows that belong to no settled pool. */
export const auditPoolRows = Effect.fnUntraced(function* (findings: Findings) {
  const sql = yield* SqlClient.SqlClient
  const found = addFound(findings)
  yield* found(sql`
    select 'stake of agent ' || s.agent_id || ' in the pool of challenge ' || s.challenge_id || ': ' || w.wrong as what,
           (count(*) over ())::int as count
      from stakes s
      left join challenges c on c.id = s.challenge_id and c.type = 'macro'
      left join agents a on a.id = s.agent_id
      left join predictions p on p.challenge_id = s.challenge_id and p.agent_id = s.agent_id and p.revision = 0
     cross join lateral (
       select case
         when c.id is null then 'there is no such challenge'
         when p.id is null then 'its agent has not predicted'
         when s.revision <> 0 then 'revision is not that of a first prediction'
         when s.deadline <> c.deadline then 'deadline is not that of its challenge'
         when s.received_at >= s.deadline then 'received_at is not before its deadline'
         when s.owner_id <> a.owner_id or (s.owner_id is not null and a.owner_id is null)
           then 'owner_id is not whose agent it is'
         when s.bin <> (select count(*) from unnest(c.bin_edges) as edge where edge <= s.predicted_value)
           then 'bin is not where its predicted_value lies' end as wrong) w
     where w.wrong is not null
     limit ${maxDifferences}`)
  yield* found(sql`
    select 'bin ' || coalesce(b.bin, s.bin) || ' of the pool of challenge ' || coalesce(b.challenge_id, s.challenge_id)
           || ': staked or stakers (pool_bins) is not what its stakes are' as what,
           (count(*) over ())::int as count
      from pool_bins b
      full join (
        select challenge_id, bin, sum(amount) as staked, count(*) as stakers from stakes group by challenge_id, bin) s
        on s.challenge_id = b.challenge_id and s.bin = b.bin
     where (b.staked, b.stakers) is distinct from (s.staked, s.stakers)
     limit ${maxDifferences}`)
  yield* found(sql`
    select 'pool of challenge ' || p.challenge_id || ': it is settled, but its challenge has not ended' as what,
           (count(*) over ())::int as count
      from pool_settlements p
      left join challenges c on c.id = p.challenge_id and c.type = 'macro'
     where coalesce(c.resolved_at, c.cancelled_at) is null
     limit ${maxDifferences}`)
  yield* found(sql`
    select 'reward of agent ' || r.agent_id || ' in the pool of challenge ' || r.challenge_id
           || ': there is no such stake in a pool that was settled' as what,
           (count(*) over ())::int as count
      from pool_rewards r
      left join stakes s on s.challenge_id = r.challenge_id and s.agent_id = r.agent_id
      left join pool_settlements p on p.challenge_id = r.challenge_id
     where s.id is null or p.challenge_id is null
     limit ${maxDifferences}`)
})
