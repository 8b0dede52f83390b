/**
 * Settles the credit pool of a macro challenge, within the transaction that ends the challenge: all stakes return, stakes on
 * the bin of the value are rewarded, and the rest goes back to the treasury. Accounts are locked in the order of their ids:
 * the agents' by the return of their stakes, then the pool's, then the treasury's.
 */
import { DateTime, Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { planCoefficients, poolRewards } from "../../../scoring/pools.ts"
import type { WinningStake } from "../../../scoring/pools.ts"
import { Plan } from "../../../services/Operators.ts"
import { poolAccount, release, remainder, reward, makeTransfers, maxPosted } from "../credit/transfers.ts"
import type { Transfer } from "../credit/transfers.ts"
import { arrayParam, execute, findAll, findOne, pageAfter, rowsOf, timestamp } from "../sql.ts"

/** Stakes are read, returned and rewarded in pages, so that no statement is long. */
const page = 5000

const Pool = Schema.Struct({
  reward_pool: Schema.BigInt,
  owner_rule: Schema.Boolean,
  stakes: Schema.Int,
  staked: Schema.BigInt
})

const StakeRow = Schema.Struct({ agent_id: Schema.String, amount: Schema.BigInt })

const WinnerRow = Schema.Struct({
  ...StakeRow.fields,
  owner_id: Schema.NullOr(Schema.String),
  owner_amount: Schema.BigInt,
  score: Schema.String,
  plan: Plan
})

const Room = Schema.Struct({ agent_id: Schema.String, room: Schema.BigInt })

interface WinningBin {
  readonly challengeId: string
  readonly bin: number
  readonly ownerRule: boolean
}

interface Reward {
  readonly winner: WinningStake
  readonly reward: bigint
  readonly withheld: bigint
}

export const makeSettlePool = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const transfers = yield* makeTransfers
  const pools = findOne(Pool)
  const stakeRows = findAll(StakeRow)
  const winnerRows = findAll(WinnerRow)
  const roomRows = findAll(Room)
  const left = findOne(Schema.Struct({ posted: Schema.BigInt }))

  // A challenge ends once, so no other transfer can be recorded under its ids.
  const record = (made: ReadonlyArray<Transfer>) =>
    made.length === 0 ? Effect.void : Effect.orDie(transfers.record(made))

  const winnersAfter = ({ challengeId, bin, ownerRule }: WinningBin, after: string | undefined) =>
    winnerRows(sql`
      select s.agent_id::text, s.amount, h.owner_id::text, p.score::text, coalesce(w.plan, 'free') as plan,
             case when h.owner_id is null then s.amount
                  else (select sum(o.amount)::bigint from stakes o
                         where o.challenge_id = s.challenge_id and o.owner_id = h.owner_id) end as owner_amount
        from (
          select * from stakes
           where challenge_id = ${challengeId}::uuid and bin = ${bin}
             ${pageAfter(sql, "agent_id >", after)}
           order by agent_id
           limit ${page}) s
       cross join lateral (select case when ${ownerRule}::boolean then s.owner_id end as owner_id) h
        -- Every staker has predicted, and so has a score.
        left join prediction_scores p
          on p.challenge_id = s.challenge_id and p.version = 1 and p.agent_id = s.agent_id
        left join operators w on w.id = s.owner_id
       order by s.agent_id`)

  /** Reads all winners into memory, since each weight depends on all of them. */
  const allWinners = Effect.fnUntraced(function* (winning: WinningBin) {
    const winners: Array<WinningStake> = []
    let rows = yield* winnersAfter(winning, undefined)
    while (rows.length > 0) {
      for (const { plan, ...stake } of rows) winners.push({ ...stake, coefficient: planCoefficients[plan] })
      rows = rows.length < page ? [] : yield* winnersAfter(winning, rows.at(-1)?.agent_id)
    }
    return winners
  })

  const returnStakes = Effect.fnUntraced(function* (challengeId: string) {
    const next = (after: string | undefined) =>
      stakeRows(sql`
        select agent_id::text, amount from stakes
         where challenge_id = ${challengeId}::uuid
           ${pageAfter(sql, "agent_id >", after)}
         order by agent_id limit ${page}`)
    let rows = yield* next(undefined)
    while (rows.length > 0) {
      yield* record(rows.map(({ agent_id, amount }) => release({ challengeId, agentId: agent_id, amount })))
      rows = rows.length < page ? [] : yield* next(rows.at(-1)?.agent_id)
    }
  })

  /**
   * The part of each reward that the winner's account has room for, since a full account must not stop a settlement. The
   * accounts are locked, so their room stays as it is read.
   */
  const withinRoom = Effect.fnUntraced(function* (
    winners: ReadonlyArray<WinningStake>,
    earned: (winner: WinningStake) => bigint
  ) {
    const rewards: Array<Reward> = []
    for (let from = 0; from < winners.length; from += page) {
      const some = winners.slice(from, from + page)
      const rows = yield* roomRows(sql`
        select agent_id::text, ${maxPosted} - posted as room from accounts
         where id = any(${arrayParam(
           "text",
           some.map(({ agent_id }) => `agent:${agent_id}`)
         )})`)
      const rooms = new Map(rows.map(({ agent_id, room }) => [agent_id, room]))
      for (const winner of some) {
        const amount = earned(winner)
        const room = rooms.get(winner.agent_id) ?? 0n
        const paid = amount < room ? amount : room
        rewards.push({ winner, reward: paid, withheld: amount - paid })
      }
    }
    return rewards
  })

  const payRewards = Effect.fnUntraced(function* (challengeId: string, rewards: ReadonlyArray<Reward>) {
    for (let from = 0; from < rewards.length; from += page) {
      const some = rewards.slice(from, from + page)
      yield* execute(sql`
        insert into pool_rewards (challenge_id, agent_id, score, coefficient, reward, withheld)
        select ${challengeId}::uuid, agent_id, score, coefficient, reward, withheld
          from ${rowsOf(sql, "r", some, {
            agent_id: ["uuid", ({ winner }) => winner.agent_id],
            score: ["numeric", ({ winner }) => winner.score],
            coefficient: ["numeric", ({ winner }) => winner.coefficient],
            reward: ["int8", (each) => each.reward],
            withheld: ["int8", (each) => each.withheld]
          })}`)
      yield* record(
        some
          .filter((each) => each.reward > 0n)
          .map((each) => reward({ challengeId, agentId: each.winner.agent_id, amount: each.reward }))
      )
    }
  })

  /**
   * Settles the pool of a challenge that ends in this transaction, which ends with `returnRest`. A pool without a winning
   * bin, or without stakes on it, is void: everything returns.
   */
  const settlePool = Effect.fn("Scoring.settlePool")(function* (
    challengeId: string,
    winningBin: number | null,
    now: DateTime.Utc
  ) {
    const pool = yield* pools(sql`
      select c.reward_pool, coalesce(c.pool_owner_rule, true) as owner_rule, s.stakes, s.staked
        from challenges c
       cross join lateral (
         select count(*)::int as stakes, coalesce(sum(amount), 0)::bigint as staked
           from stakes where challenge_id = c.id) s
       where c.id = ${challengeId}::uuid`)
    const winners =
      winningBin === null
        ? []
        : yield* allWinners({ challengeId, bin: winningBin, ownerRule: pool.owner_rule })
    const earned = poolRewards(pool.reward_pool, winners)
    yield* returnStakes(challengeId)
    const rewards = yield* withinRoom(winners, earned)
    const paid = rewards.reduce((sum, each) => sum + each.reward, 0n)
    yield* execute(sql`
      insert into pool_settlements
        (challenge_id, outcome, winning_bin, reward_pool, stakes, staked, winners, paid, settled_at)
      values (${challengeId}::uuid, ${winners.length > 0 ? "paid" : "void"}, ${winningBin}::int, ${pool.reward_pool},
              ${pool.stakes}, ${pool.staked}, ${winners.length}, ${paid}, ${timestamp(now)})`)
    yield* payRewards(challengeId, rewards)
  })

  /**
   * Returns the rest of the pool. It is the last step of the transaction, after the log entry, since claims and new
   * challenges wait for the treasury's row.
   */
  const returnRest = Effect.fnUntraced(function* (challengeId: string) {
    const { posted } = yield* left(sql`select posted from accounts where id = ${poolAccount(challengeId)}`)
    yield* record(posted > 0n ? [remainder(challengeId, posted)] : [])
  })

  return { settlePool, returnRest }
})
