import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Credit pools of macro challenges: who staked how much on which bin, in which order, and what came of it. */
export const pools = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
    create table stakes (
      challenge_id uuid not null,
      agent_id uuid not null,
      id uuid not null constraint stakes_id unique,
      -- Places of a pool in the order in which its stakes were taken: the 50 % rule is checked again by replaying them.
      position integer not null constraint stakes_position check (position > 0),
      -- Whose agent it was when it staked; the agents of one owner count as one.
      owner_id uuid constraint stakes_owner references operators (id),
      predicted_value numeric not null constraint stakes_value check (abs(predicted_value) < 'Infinity'),
      bin integer not null constraint stakes_bin check (bin >= 0),
      -- In micro-credits.
      amount bigint not null constraint stakes_amount check (amount > 0),
      received_at timestamptz not null,
      deadline timestamptz not null,
      -- Whoever stakes has predicted.
      revision integer not null default 0 constraint stakes_first_prediction check (revision = 0),
      constraint stakes_one_per_agent_and_pool primary key (challenge_id, agent_id),
      constraint stakes_in_order unique (challenge_id, position),
      constraint stakes_challenge foreign key (challenge_id, deadline) references challenges (id, deadline),
      constraint stakes_prediction foreign key (challenge_id, agent_id, revision)
        references predictions (challenge_id, agent_id, revision),
      constraint stakes_before_deadline check (received_at < deadline)
    )`
  // What an owner's agents hold of a pool.
  yield* sql`create index stakes_of_owner on stakes (challenge_id, owner_id, bin) where owner_id is not null`

  // The odds of a pool, moved in the transaction that takes the stake.
  yield* sql`
    create table pool_bins (
      challenge_id uuid not null constraint pool_bins_challenge references challenges (id),
      bin integer not null,
      staked bigint not null constraint pool_bins_staked check (staked > 0),
      stakers integer not null constraint pool_bins_stakers check (stakers > 0),
      primary key (challenge_id, bin)
    ) with (fillfactor = 70)`

  yield* sql`
    create table pool_settlements (
      challenge_id uuid primary key constraint pool_settlements_challenge references challenges (id),
      outcome text not null constraint pool_settlements_outcome check (outcome in ('paid', 'void')),
      -- Null where the challenge is void.
      winning_bin integer,
      reward_pool bigint not null constraint pool_settlements_reward_pool check (reward_pool >= 0),
      stakes integer not null constraint pool_settlements_stakes check (stakes >= 0),
      staked bigint not null constraint pool_settlements_staked check (staked >= 0),
      winners integer not null,
      paid bigint not null,
      settled_at timestamptz not null,
      constraint pool_settlements_void check (
        case outcome when 'paid' then winners between 1 and stakes and winning_bin is not null and paid >= 0
                     else winners = 0 and paid = 0 end),
      -- What it was funded with.
      constraint pool_settlements_covered check (paid <= ceil(reward_pool * 1.25))
    )`
  yield* sql`
    create table pool_rewards (
      challenge_id uuid not null,
      agent_id uuid not null,
      score numeric not null constraint pool_rewards_score check (score between 0 and 100),
      -- Of the owner's plan at the settlement.
      coefficient numeric not null constraint pool_rewards_coefficient check (coefficient > 0),
      -- What was paid.
      reward bigint not null constraint pool_rewards_reward check (reward >= 0),
      -- Earned, and more than an account may hold.
      withheld bigint not null constraint pool_rewards_withheld check (withheld >= 0),
      primary key (challenge_id, agent_id),
      constraint pool_rewards_settlement foreign key (challenge_id) references pool_settlements (challenge_id),
      constraint pool_rewards_stake foreign key (challenge_id, agent_id) references stakes (challenge_id, agent_id)
    )`
  for (const table of ["stakes", "pool_settlements", "pool_rewards"]) {
    yield* sql`
      create trigger ${sql(`${table}_append_only`)} before update or delete or truncate on ${sql(table)}
        for each statement execute function refuse_change()`
  }

  // Every macro challenge has an account, from which its rewards are paid.
  yield* sql`
    create function pool_account_opened() returns trigger language plpgsql as $$
    begin
      insert into accounts (id, kind) select 'pool:' || id, 'pool' from opened where type = 'macro';
      return null;
    end
    $$`
  yield* sql`
    create trigger challenges_pool_account_opened after insert on challenges referencing new table as opened
      for each statement execute function pool_account_opened()`
  yield* sql`insert into accounts (id, kind) select 'pool:' || id, 'pool' from challenges where type = 'macro'`
  // Pools that are under way are funded as new ones are: with the highest coefficient.
  yield* sql`
    insert into transfers (id, kind, debit, credit, amount, reason, at)
    select 'fund:' || id, 'post', 'treasury', 'pool:' || id, ceil(reward_pool * 1.25)::bigint, 'reward pool', created_at
      from challenges
     where type = 'macro' and resolved_at is null and cancelled_at is null and reward_pool > 0
     order by id`
})
