/** Agents, forecasts and stakes for credit pools: written past the services that take them, any number at once. */
import { randomUUID } from "node:crypto"
import { DateTime, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { poolAccount } from "../../src/layers/postgres/credit/transfers.ts"
import { arrayParam } from "../../src/layers/postgres/sql.ts"
import { AgentId, OperatorId } from "../../src/services/domain/ids.ts"
import type { Plan } from "../../src/services/Operators.ts"
import { credits, give, record } from "./ledger.ts"

export interface TestStake {
  readonly agentId: string
  readonly bin: number
  /** Micro-credits. */
  readonly amount: bigint
}

/** Owners, one for each plan. */
export const ownersOn = Effect.fnUntraced(function* (plans: ReadonlyArray<Plan>) {
  const sql = yield* SqlClient.SqlClient
  const now = DateTime.toDateUtc(yield* DateTime.now)
  const ids = plans.map(() => OperatorId.make(randomUUID()))
  yield* sql`
    insert into operators (id, created_at, plan)
    select o.id, ${now}, o.plan from unnest(${arrayParam("uuid", ids)}, ${arrayParam("text", plans)}) as o (id, plan)`
  return ids
})

/** An agent of each of these owners, or of nobody. */
export const agentsOf = Effect.fnUntraced(function* (owners: ReadonlyArray<string | null>) {
  const sql = yield* SqlClient.SqlClient
  const now = DateTime.toDateUtc(yield* DateTime.now)
  const ids = owners.map(() => AgentId.make(randomUUID()))
  yield* sql`
    insert into agents
      (id, name, type, languages, model_capability_tag, hosting_mode, policy_profile, disclosure_level, default_spaces,
       auth_method, requested_scopes, secret_hash, created_at, provisional_until, challenge_passed_at, claimed_at,
       owner_id)
    select a.id, 'agent', 'trader', '{en}', 'general', 'self_hosted', 'standard', 'public', '{finance}',
           'client_credentials', '{prediction:submit,llm:keys}', sha256(convert_to(a.id::text, 'UTF8')), ${now}::timestamptz, ${now}::timestamptz, ${now}::timestamptz,
           case when a.owner_id is not null then ${now}::timestamptz end, a.owner_id
      from unnest(${arrayParam("uuid", ids)}, ${arrayParam("uuid", owners)}) as a (id, owner_id)`
  return ids
})

/** So many agents, each of an owner of its own. */
export const agentsApart = (count: number, plan: Plan = "free") =>
  Effect.flatMap(ownersOn(Array.from({ length: count }, () => plan)), agentsOf)

/** Credit for whoever is to stake. */
export const creditFor = (agentIds: ReadonlyArray<string>, amount = 1000) =>
  give(
    agentIds.map((id) => `agent:${id}`),
    credits(amount),
    "staking"
  )

export interface TestForecast {
  readonly agentId: string
  readonly value: number
  readonly std: number
}

/** First forecasts on a challenge as the service writes them, with their counts and their commits in the outbox of the log. */
export const forecastsOn = Effect.fnUntraced(function* (
  challenge: { readonly id: string },
  forecasts: ReadonlyArray<TestForecast>
) {
  const sql = yield* SqlClient.SqlClient
  const now = yield* DateTime.now
  yield* sql`
    with sealed as (
      select c.id as challenge_id, f.agent_id, f.value, f.std, c.deadline, p.salt,
             convert_to('{"agent_id":"' || f.agent_id || '","challenge_id":"' || c.id || '","kind":"macro",'
               || '"reasoning_sha256":null,"received_at":"' || ${DateTime.formatIso(now)}::text
               || '","revision":0,"values":{"predicted_std":' || f.std || ',"predicted_value":' || f.value || '}}',
               'UTF8') as body
        from unnest(${arrayParam(
          "uuid",
          forecasts.map(({ agentId }) => agentId)
        )}, ${arrayParam(
          "text",
          forecasts.map(({ value }) => String(value))
        )}, ${arrayParam(
          "text",
          forecasts.map(({ std }) => String(std))
        )}) as f (agent_id, value, std)
       cross join challenges c
       cross join lateral (select sha256(convert_to(c.id || ' ' || f.agent_id, 'UTF8')) as salt) as p
       where c.id = ${challenge.id}::uuid
    ),
    written as (
      insert into predictions
        (challenge_id, agent_id, revision, id, predicted_value, predicted_std, received_at, deadline, salt, body, commit)
      select challenge_id, agent_id, 0, uuidv7(), value::numeric, std::numeric, ${DateTime.toDateUtc(now)}, deadline,
             salt, body, sha256('\\x6175737065782f636f6d6d69742f763100'::bytea || salt || body)
        from sealed order by agent_id
      returning challenge_id, commit
    ),
    counted as (
      insert into prediction_counts as k (challenge_id, shard, bullish, bearish, neutral, forecasts)
      select challenge_id, 0, 0, 0, 0, count(*) from written group by challenge_id
      on conflict (challenge_id, shard) do update set forecasts = k.forecasts + excluded.forecasts
    )
    insert into log_pending (type, challenge_id, commit, entry)
    select 'prediction.commit', challenge_id, commit,
           convert_to('{"c":"' || encode(commit, 'hex') || '","challenge_id":"' || challenge_id
                      || '","type":"prediction.commit"}', 'UTF8')
      from written`
})

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
          from unnest(${arrayParam(
            "uuid",
            stakes.map(({ agentId }) => agentId)
          )}, ${arrayParam(
            "int4",
            stakes.map(({ bin }) => bin)
          )}, ${arrayParam(
            "int8",
            stakes.map(({ amount }) => amount)
          )}) with ordinality as s (agent_id, bin, amount, place)
          join agents a on a.id = s.agent_id
         cross join challenges c
         where c.id = ${challenge.id}::uuid`
      yield* sql`
        insert into pool_bins as b (challenge_id, bin, staked, stakers)
        select ${challenge.id}::uuid, bin, sum(amount), count(*)
          from unnest(${arrayParam(
            "int4",
            stakes.map(({ bin }) => bin)
          )}, ${arrayParam(
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
