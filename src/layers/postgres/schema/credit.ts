import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { appendOnly, asOwner, kept } from "./guards.ts"

/**
 * Credit as a double-entry ledger in micro-credits, the pools that agents stake it in, and the purchases of owners. Balances move
 * only by the trigger on `transfers`, in the statement that writes the transfers, so neither can be without the other.
 */
export const credit = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const asTablesOwner = yield* asOwner

  // Accounts of agents, owners and pools are named after them, those of the system after their purpose.
  yield* sql`
    create table accounts (
      id text collate "C" primary key,
      kind text not null constraint accounts_kind
        check (kind in ('agent', 'owner', 'pool', 'gateway_revenue', 'treasury')),
      agent_id uuid generated always as (case kind when 'agent' then substr(id, 7)::uuid end) stored
        constraint accounts_agent references agents (id),
      owner_id uuid generated always as (case kind when 'owner' then substr(id, 7)::uuid end) stored
        constraint accounts_owner references operators (id),
      challenge_id uuid generated always as (case kind when 'pool' then substr(id, 6)::uuid end) stored
        constraint accounts_pool references challenges (id),
      posted bigint not null default 0,
      -- Pending transfers out of the account hold this amount; it is not available from the first moment.
      held bigint not null default 0 constraint accounts_held check (held >= 0),
      constraint accounts_id check (
        id = kind || coalesce(':' || coalesce(agent_id, owner_id, challenge_id)::text, '')),
      -- All credit comes from the treasury, so its debt is the sum of all other accounts.
      constraint accounts_covered check (kind = 'treasury' or posted >= held),
      -- Up to this amount a number of credits has 15 digits, which every reader of JSON keeps.
      constraint accounts_exact check (kind not in ('agent', 'owner') or posted <= 1000000000000000)
    ) with (fillfactor = 70)`
  yield* sql`
    create function only_transfers_move_credit() returns trigger language plpgsql as $$
    begin
      raise exception 'only transfers move credit: % of accounts refused', lower(tg_op)
        using errcode = 'restrict_violation';
    end
    $$`
  yield* sql`
    create trigger accounts_opened_empty before insert on accounts for each row
      when (new.posted <> 0 or new.held <> 0) execute function only_transfers_move_credit()`
  yield* sql`
    create trigger accounts_moved_by_transfers before update on accounts for each statement
      when (pg_trigger_depth() = 0) execute function only_transfers_move_credit()`
  yield* kept("accounts")
  yield* sql`insert into accounts (id, kind) select kind, kind from unnest(array['treasury', 'gateway_revenue']) as kind`

  // Agents have an account from their registration, owners from their first sign-in, macro challenges from their creation.
  yield* sql`
    create function account_opened() returns trigger language plpgsql ${asTablesOwner} as $$
    begin
      insert into accounts (id, kind) select tg_argv[0] || ':' || opened.id, tg_argv[0] from opened;
      return null;
    end
    $$`
  yield* sql`
    create trigger agents_account_opened after insert on agents referencing new table as opened
      for each statement execute function account_opened('agent')`
  yield* sql`
    create trigger operators_account_opened after insert on operators referencing new table as opened
      for each statement execute function account_opened('owner')`
  yield* sql`
    create function pool_account_opened() returns trigger language plpgsql ${asTablesOwner} as $$
    begin
      insert into accounts (id, kind) select 'pool:' || id, 'pool' from opened where type = 'macro';
      return null;
    end
    $$`
  yield* sql`
    create trigger challenges_pool_account_opened after insert on challenges referencing new table as opened
      for each statement execute function pool_account_opened()`

  // 'pending' holds credit; 'post' moves it, directly or out of a pending transfer; 'void' releases it.
  yield* sql`
    create table transfers (
      seq bigint generated always as identity,
      -- The id is derived from the purpose, so that a repeated transfer is rejected or changes nothing.
      id text collate "C" primary key constraint transfers_id check (length(id) between 1 and 300),
      kind text not null constraint transfers_kind check (kind in ('pending', 'post', 'void')),
      debit text collate "C" not null,
      credit text collate "C" not null,
      amount bigint not null constraint transfers_amount check (amount > 0),
      pending_id text collate "C",
      reason text not null,
      at timestamptz not null,
      constraint transfers_two_accounts check (debit <> credit),
      constraint transfers_resolving check (
        case kind when 'pending' then pending_id is null when 'void' then pending_id is not null else true end)
    )`
  yield* sql`
    create unique index transfers_resolved_once on transfers (pending_id) where pending_id is not null`
  yield* sql`create index transfers_debit on transfers (debit, seq desc)`
  yield* sql`create index transfers_credit on transfers (credit, seq desc) where kind = 'post'`
  yield* appendOnly("transfers")

  // The probes of this function replace foreign keys. A session plans it once for all statements: sequential scans and joins are off
  // and pending transfers are looked up one by one. A plan for a settlement, or for a table that was empty when it was last analyzed,
  // would read all of it for a single transfer.
  yield* sql`
    create function transfers_applied() returns trigger language plpgsql
      set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off ${asTablesOwner} as $$
    declare
      wrong text;
    begin
      select m.id into wrong from made m
       where not exists (select 1 from accounts where id = m.debit)
          or not exists (select 1 from accounts where id = m.credit)
       limit 1;
      if found then
        raise exception 'transfer % names an account that does not exist', wrong
          using errcode = 'foreign_key_violation', constraint = 'transfers_accounts';
      end if;
      select m.id into wrong from made m left join lateral (select * from transfers where id = m.pending_id limit 1) p on true
       where m.pending_id is not null
         and ((p.kind, p.debit, p.credit) is distinct from ('pending', m.debit, m.credit) or m.amount > p.amount
              or (m.kind = 'void' and m.amount < p.amount))
       limit 1;
      if found then
        raise exception 'transfer % does not fit the pending one that it ends', wrong
          using errcode = 'check_violation', constraint = 'transfers_fit_pending';
      end if;
      -- Rows are locked in the order of ids, so that no two statements wait for each other.
      perform 1 from accounts
        where id in (select debit from made union select credit from made where kind = 'post')
        order by id for no key update;
      update accounts a set posted = a.posted + moved.posted, held = a.held + moved.held
        from (
          select account, sum(posted)::bigint as posted, sum(held)::bigint as held
            from (
              select m.debit as account, case m.kind when 'post' then -m.amount else 0 end as posted,
                     case m.kind when 'pending' then m.amount else -coalesce(p.amount, 0) end as held
                from made m left join lateral (select * from transfers where id = m.pending_id limit 1) p on true
              union all
              select credit, amount, 0 from made where kind = 'post') as moves
           group by account) as moved
       where a.id = moved.account;
      return null;
    end
    $$`
  yield* sql`
    create trigger transfers_applied after insert on transfers referencing new table as made
      for each statement execute function transfers_applied()`

  yield* sql`
    create table stakes (
      challenge_id uuid not null,
      agent_id uuid not null,
      id uuid not null constraint stakes_id unique,
      -- The order in which the stakes of a pool were taken: the check replays them by the 50 % rule.
      position integer not null constraint stakes_position check (position > 0),
      -- The owner of the agent when it staked; the agents of one owner count as one.
      owner_id uuid constraint stakes_owner references operators (id),
      predicted_value numeric not null constraint stakes_value check (abs(predicted_value) < 'Infinity'),
      bin integer not null constraint stakes_bin check (bin >= 0),
      amount bigint not null constraint stakes_amount check (amount > 0),
      received_at timestamptz not null,
      deadline timestamptz not null,
      -- An agent that stakes has predicted.
      revision integer not null default 0 constraint stakes_first_prediction check (revision = 0),
      constraint stakes_one_per_agent_and_pool primary key (challenge_id, agent_id),
      constraint stakes_in_order unique (challenge_id, position),
      constraint stakes_challenge foreign key (challenge_id, deadline) references challenges (id, deadline),
      constraint stakes_prediction foreign key (challenge_id, agent_id, revision)
        references predictions (challenge_id, agent_id, revision),
      constraint stakes_before_deadline check (received_at < deadline)
    )`
  yield* sql`create unique index stakes_of_agent on stakes (agent_id, id)`
  // This index finds the stakes of an owner's agents in a pool.
  yield* sql`create index stakes_of_owner on stakes (challenge_id, owner_id, bin) where owner_id is not null`
  yield* appendOnly("stakes")

  // The odds of a pool, moved in the transaction that takes the stake.
  yield* sql`
    create table pool_bins (
      challenge_id uuid not null constraint pool_bins_challenge references challenges (id),
      bin integer not null,
      staked bigint not null constraint pool_bins_staked check (staked > 0),
      stakers integer not null constraint pool_bins_stakers check (stakers > 0),
      primary key (challenge_id, bin)
    ) with (fillfactor = 70)`
  // The public odds of an open pool are updated in steps: live odds would reveal single stakes.
  yield* sql`
    create table published_odds (
      challenge_id uuid primary key constraint published_odds_challenge references challenges (id),
      published_at timestamptz not null,
      stakers integer not null constraint published_odds_stakers check (stakers > 0),
      -- The bins with stakes: [{ bin, staked, stakers }], with staked as text.
      bins jsonb not null
    )`

  yield* sql`
    create table pool_settlements (
      challenge_id uuid primary key constraint pool_settlements_challenge references challenges (id),
      outcome text not null constraint pool_settlements_outcome check (outcome in ('paid', 'void')),
      -- Null if the challenge is void.
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
      -- The pool was funded with this: the rewards at the highest coefficient.
      constraint pool_settlements_covered check (paid <= ceil(reward_pool * 1.25))
    )`
  yield* appendOnly("pool_settlements")
  yield* sql`
    create table pool_rewards (
      challenge_id uuid not null,
      agent_id uuid not null,
      score numeric not null constraint pool_rewards_score check (score between 0 and 100),
      -- The coefficient of the owner's plan at the settlement.
      coefficient numeric not null constraint pool_rewards_coefficient check (coefficient > 0),
      -- The amount that was paid.
      reward bigint not null constraint pool_rewards_reward check (reward >= 0),
      -- The amount that was earned but exceeds the limit of the account.
      withheld bigint not null constraint pool_rewards_withheld check (withheld >= 0),
      primary key (challenge_id, agent_id),
      constraint pool_rewards_settlement foreign key (challenge_id) references pool_settlements (challenge_id),
      constraint pool_rewards_stake foreign key (challenge_id, agent_id) references stakes (challenge_id, agent_id)
    )`
  yield* appendOnly("pool_rewards")

  // A purchase with its terms at that moment: a later payment is compared with them.
  yield* sql`
    create table purchases (
      id uuid primary key,
      owner_id uuid not null constraint purchases_owner references operators (id),
      -- The key of the form: a form that is sent twice is one purchase.
      key text not null,
      credits bigint not null constraint purchases_credits check (credits > 0),
      -- The amount in the smallest unit of the currency.
      amount bigint not null constraint purchases_amount check (amount > 0),
      currency text not null constraint purchases_currency check (currency ~ '^[a-z]{3}$'),
      created_at timestamptz not null,
      constraint purchases_one_per_form unique (owner_id, key)
    )`
  yield* sql`create index purchases_of_owner on purchases (owner_id, id desc)`
  yield* appendOnly("purchases")
  // This function locks a purchase: its payments take turns.
  yield* sql`
    create function purchase_held(purchase uuid) returns setof purchases language sql ${asTablesOwner} as $$
      select * from purchases where id = purchase for no key update
    $$`

  // The page where the provider takes the money for a purchase. It may be requested twice, with the same answer.
  yield* sql`
    create table checkout_sessions (
      purchase_id uuid primary key constraint checkout_sessions_purchase references purchases (id),
      session_id text not null constraint checkout_sessions_one_per_id unique,
      url text not null,
      created_at timestamptz not null,
      constraint checkout_sessions_of_purchase unique (purchase_id, session_id)
    )`
  yield* appendOnly("checkout_sessions")
  // Checkouts whose end the provider has not reported, and the time of the next request about each.
  yield* sql`
    create table awaited_checkouts (
      purchase_id uuid primary key constraint awaited_checkouts_session references checkout_sessions (purchase_id),
      due_at timestamptz not null
    )`
  yield* sql`create index awaited_checkouts_due on awaited_checkouts (due_at, purchase_id)`

  // The provider's messages, each once, whatever followed from it.
  yield* sql`
    create table payment_events (
      event_id text primary key constraint payment_events_id check (length(event_id) between 1 and 255),
      kind text not null constraint payment_events_kind check (kind in
        ('paid', 'processing', 'failed', 'expired', 'refunded', 'disputed', 'dispute_won', 'dispute_lost')),
      -- Null if the message names no purchase and no payment does.
      purchase_id uuid constraint payment_events_purchase references purchases (id),
      payment_id text,
      -- The amount of money that was paid, has been refunded so far, or is in dispute.
      amount bigint constraint payment_events_amount check (amount >= 0),
      currency text,
      outcome text not null constraint payment_events_outcome check (outcome in
        ('credited', 'noted', 'taken_back', 'already_paid', 'mismatch')),
      -- Times by the provider's clock, and by ours.
      happened_at timestamptz not null,
      received_at timestamptz not null
    )`
  yield* sql`
    create index payment_events_of_purchase on payment_events (purchase_id, received_at) where purchase_id is not null`
  yield* sql`
    create index payment_events_of_payment on payment_events (payment_id) where payment_id is not null`
  yield* appendOnly("payment_events")

  // A purchase is paid once, by the session that was begun for it.
  yield* sql`
    create table payments (
      purchase_id uuid primary key constraint payments_purchase references purchases (id),
      session_id text not null constraint payments_one_per_session unique,
      -- Refunds and disputes refer to this payment.
      payment_id text constraint payments_one_per_payment unique,
      event_id text not null constraint payments_one_per_event unique
        constraint payments_event references payment_events (event_id),
      paid_at timestamptz not null,
      constraint payments_of_session foreign key (purchase_id, session_id)
        references checkout_sessions (purchase_id, session_id)
    )`
  yield* appendOnly("payments")
})
