/**
 * What taking stakes asks the database for and writes, set-based, a statement each within one transaction.
 *
 * Why it cannot be raced: stakes of a pool take turns by `for no key update` on its challenge, which predictions
 * (`for key share`) do not wait for and the resolver (`for update`) does; whatever is read after that lock, in a statement
 * of its own, stays as it is. Rows are locked in the order of their ids, challenges before accounts.
 *
 * Rows are found by key, one probe a stake, since plans are made once for any number of them.
 */
import { Schema } from "effect"
import type { SqlClient } from "effect/sql"
import type { StakeSubmission } from "../../../services/Pools.ts"
import { accountOf } from "./transfers.ts"
import { decimal, rowsOf, timestamp } from "../sql.ts"

/** A stake as it is asked for, under the id that it will have. */
export interface StakeItem extends Omit<StakeSubmission, "challengeId"> {
  readonly id: string
  /** In lower case, as PostgreSQL writes it. */
  readonly challengeId: string
}

/** One in an open pool, with the bin that its value lies in. */
export interface PlacedStake {
  readonly item: StakeItem
  readonly bin: number
}

/** One that is taken. Whose agent it is stays what it was decided by, even if the agent is claimed meanwhile. */
export interface TakenStake extends PlacedStake {
  readonly ownerId: string | null
}

export const PoolRow = Schema.Struct({
  id: Schema.String,
  target: Schema.String,
  period: Schema.String,
  deadline: Schema.DateTimeUtcFromDate,
  bin_edges: Schema.Array(Schema.Finite),
  state: Schema.Literals(["open", "closed", "void"])
})
export type PoolRow = typeof PoolRow.Type

/**
 * The pools of these stakes, locked. One that no stake is in time for is read without a lock: it may be settling just now,
 * for long, and nobody waits for that to be refused.
 */
export const lockPools = (sql: SqlClient.SqlClient, items: ReadonlyArray<StakeItem>) => sql`
  select c.id::text, c.target, c.period, c.deadline, c.bin_edges::float8[] as bin_edges,
         case when coalesce(l.cancelled_at, c.cancelled_at) is not null then 'void'
              when l.id is null or l.closed_at is not null then 'closed' else 'open' end as state
    from (select challenge_id, min(received_at) as earliest
            from ${rowsOf(sql, "i", items, {
              challenge_id: ["uuid", (item) => item.challengeId],
              received_at: ["timestamptz", (item) => timestamp(item.receivedAt)]
            })}
           group by challenge_id order by challenge_id) i
   cross join lateral (
     select id, target, period, deadline, bin_edges, cancelled_at from challenges
      where id = i.challenge_id and type = 'macro' limit 1) c
    left join lateral (
      select id, closed_at, cancelled_at from challenges
       where id = c.id and deadline > i.earliest
         for no key update) l on true`

export const StandingRow = Schema.Struct({
  /** Of the stake, from 1. */
  place: Schema.Int,
  owner_id: Schema.NullOr(Schema.String),
  available: Schema.BigInt,
  frozen: Schema.BigInt,
  predicted: Schema.Boolean,
  staked: Schema.Boolean,
  held: Schema.BigInt,
  held_by_owner: Schema.BigInt
})

/**
 * What stands behind each stake, in their order, with the agents' accounts locked; nothing of those whose account
 * another transaction holds. It may be the settlement of a large pool, and nobody else's stake is to wait for that.
 */
export const standings = (sql: SqlClient.SqlClient, stakes: ReadonlyArray<PlacedStake>) => sql`
  select i.position::int as place, g.owner_id::text, a.posted - a.held as available, a.held as frozen, p.revision is not null as predicted,
         s.position is not null as staked, coalesce(b.staked, 0)::bigint as held, o.amount as held_by_owner
    from (select * from ${rowsOf(sql, "i", stakes, {
      challenge_id: ["uuid", ({ item }) => item.challengeId],
      agent_id: ["uuid", ({ item }) => item.agentId],
      bin: ["int4", ({ bin }) => bin]
    })}
           order by agent_id) i
   cross join lateral (
     select posted, held from accounts where id = 'agent:' || i.agent_id for no key update skip locked) a
   cross join lateral (select owner_id from agents where id = i.agent_id limit 1) g
    left join lateral (
      select revision from predictions where challenge_id = i.challenge_id and agent_id = i.agent_id
       order by revision limit 1) p on true
    left join lateral (
      select position from stakes where challenge_id = i.challenge_id and agent_id = i.agent_id limit 1) s on true
    left join lateral (
      select staked from pool_bins where challenge_id = i.challenge_id and bin = i.bin limit 1) b on true
   cross join lateral (
     select coalesce(sum(t.amount), 0)::bigint as amount from stakes t
      where t.challenge_id = i.challenge_id and t.owner_id = g.owner_id and t.bin = i.bin) o
   order by i.position`

/** Waits until nobody holds the account of an agent. */
export const awaitAccount = (sql: SqlClient.SqlClient, agentId: string) =>
  sql`select 1 from accounts where id = ${accountOf({ kind: "agent", id: agentId })} for no key update`

/** Writes the stakes in their order, each with its place in its pool, and moves the odds. */
export const insertStakes = (sql: SqlClient.SqlClient, stakes: ReadonlyArray<TakenStake>) => sql`
  with item as (
    select * from ${rowsOf(sql, "i", stakes, {
      id: ["uuid", ({ item }) => item.id],
      challenge_id: ["uuid", ({ item }) => item.challengeId],
      agent_id: ["uuid", ({ item }) => item.agentId],
      owner_id: ["uuid", ({ ownerId }) => ownerId],
      predicted_value: ["numeric", ({ item }) => decimal(item.stake.predicted_value)],
      bin: ["int4", ({ bin }) => bin],
      amount: ["int8", ({ item }) => item.stake.amount],
      received_at: ["timestamptz", ({ item }) => timestamp(item.receivedAt)]
    })}
  ),
  pool as (
    select i.challenge_id, c.deadline, coalesce(s.position, 0) as last
      from (select distinct challenge_id from item) i
     cross join lateral (select deadline from challenges where id = i.challenge_id limit 1) c
      left join lateral (
        select position from stakes where challenge_id = i.challenge_id order by position desc limit 1) s on true
  ),
  taken as (
    insert into stakes
      (challenge_id, agent_id, id, position, owner_id, predicted_value, bin, amount, received_at, deadline)
    select i.challenge_id, i.agent_id, i.id,
           p.last + row_number() over (partition by i.challenge_id order by i.position),
           i.owner_id, i.predicted_value, i.bin, i.amount, i.received_at, p.deadline
      from item i
      join pool p on p.challenge_id = i.challenge_id
     order by i.position
  )
  insert into pool_bins as b (challenge_id, bin, staked, stakers)
  select challenge_id, bin, sum(amount)::bigint, count(*)::int from item
   group by challenge_id, bin order by challenge_id, bin
  on conflict (challenge_id, bin) do update set staked = b.staked + excluded.staked, stakers = b.stakers + excluded.stakers`
