/** Stakes as tests need them: written past the service that takes them, any number at once. */
import { DateTime, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { poolAccount } from "../../src/layers/postgres/credits/poolTransfers.ts"
import { column } from "../../src/layers/postgres/query.ts"
import { credits, record } from "./ledger.ts"

export interface TestStake {
  readonly agentId: string
  readonly bin: number
  /** Micro-credits. */
  readonly amount: bigint
}

/** Credit for whoever is to stake. */
export const creditFor = (agentIds: ReadonlyArray<string>, amount = 1000) =>
  record(
    ...agentIds.map((id) => ({
      id: `test:credit:${id}`,
      kind: "post" as const,
      debit: "treasury",
      credit: `agent:${id}`,
      amount: credits(amount),
      reason: "a test"
    }))
  )

/** Takes stakes of agents that have predicted, in this order, whatever the rules of the pool say. */
export const stakeOn = Effect.fnUntraced(function* (
  challenge: { readonly id: string },
  stakes: ReadonlyArray<TestStake>
) {
  const sql = yield* SqlClient.SqlClient
  const now = yield* DateTime.now
  yield* sql.withTransaction(
    Effect.gen(function* () {
      yield* sql`
        insert into stakes
          (challenge_id, agent_id, id, position, owner_id, predicted_value, bin, amount, received_at, deadline)
        select c.id, s.agent_id, gen_random_uuid(),
               s.place + (select count(*) from stakes where challenge_id = c.id), a.owner_id,
               coalesce(c.bin_edges[s.bin], c.bin_edges[1] - 1), s.bin, s.amount,
               least(${DateTime.toDateUtc(now)}::timestamptz, c.deadline - interval '1 ms'), c.deadline
          from unnest(${column(
            "uuid",
            stakes.map(({ agentId }) => agentId)
          )}, ${column(
            "int4",
            stakes.map(({ bin }) => bin)
          )}, ${column(
            "int8",
            stakes.map(({ amount }) => amount)
          )}) with ordinality as s (agent_id, bin, amount, place)
          join agents a on a.id = s.agent_id
         cross join challenges c
         where c.id = ${challenge.id}::uuid`
      yield* sql`
        insert into pool_bins as b (challenge_id, bin, staked, stakers)
        select ${challenge.id}::uuid, bin, sum(amount), count(*)
          from unnest(${column(
            "int4",
            stakes.map(({ bin }) => bin)
          )}, ${column(
            "int8",
            stakes.map(({ amount }) => amount)
          )}) as s (bin, amount)
         group by bin
        on conflict (challenge_id, bin) do update
          set staked = b.staked + excluded.staked, stakers = b.stakers + excluded.stakers`
      yield* record(
        ...stakes.map(({ agentId, amount }) => ({
          id: `stake:${challenge.id}:${agentId}`,
          kind: "pending" as const,
          debit: `agent:${agentId}`,
          credit: poolAccount(challenge.id),
          amount,
          reason: "stake"
        }))
      )
    })
  )
})
