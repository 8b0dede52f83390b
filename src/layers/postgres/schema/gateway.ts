import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { appendOnly } from "./guards.ts"

/** The language-model gateway: its keys, the reservations of open calls, and the record of every call. */
export const gateway = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
    create table gateway_keys (
      id uuid primary key,
      agent_id uuid not null constraint gateway_keys_agent references agents (id),
      owner_id uuid not null constraint gateway_keys_owner references operators (id),
      name text not null,
      prefix text not null,
      key_hash bytea not null constraint gateway_keys_key_is_sha256 check (length(key_hash) = 32)
        constraint gateway_keys_one_per_hash unique,
      expires_at timestamptz,
      revoked_at timestamptz,
      -- The limit is in micro-credits; null leaves only the limit of the agent's balance.
      credit_limit bigint constraint gateway_keys_credit_limit check (credit_limit > 0),
      -- Counts only if there is a limit: the charges of ended calls and the reservations of open ones.
      spent bigint not null default 0 constraint gateway_keys_spent check (spent >= 0),
      held bigint not null default 0 constraint gateway_keys_held check (held >= 0),
      created_at timestamptz not null,
      constraint gateway_keys_within_limit check (spent + held <= credit_limit)
    ) with (fillfactor = 80)`
  yield* sql`create index gateway_keys_of_agent on gateway_keys (agent_id, id desc)`
  yield* sql`create index gateway_keys_of_owner on gateway_keys (owner_id, id desc)`
  // The live keys of an agent are counted when it gets another key.
  yield* sql`
    create index gateway_keys_live on gateway_keys (agent_id, expires_at) where revoked_at is null`

  // Calls in flight: a row is deleted when its call is settled, together with its pending transfer.
  yield* sql`
    create table gateway_reservations (
      call_id uuid primary key,
      key_id uuid not null constraint gateway_reservations_key references gateway_keys (id),
      agent_id uuid not null,
      request_id text not null,
      model text not null,
      style text not null,
      stream boolean not null,
      amount bigint not null constraint gateway_reservations_amount check (amount > 0),
      created_at timestamptz not null,
      -- The time of the last sign of life from the process that makes the call.
      alive_at timestamptz not null
    ) with (fillfactor = 80)`
  yield* sql`create index gateway_reservations_key_id on gateway_reservations (key_id)`
  yield* sql`create index gateway_reservations_alive_at on gateway_reservations (alive_at)`
  // Rows are locked in the order of ids, so that no two statements wait for each other. They are read by key, because a join would be
  // planned as a scan of the whole table if the table was empty when it was last analyzed.
  yield* sql`
    create function end_reservations(ids uuid[]) returns table (call_id uuid, amount bigint) language plpgsql
      set enable_seqscan = off as $$
    begin
      perform 1 from gateway_reservations r where r.call_id = any(ids) order by r.call_id for update;
      return query delete from gateway_reservations r where r.call_id = any(ids) returning r.call_id, r.amount;
    end
    $$`

  // Every admitted call has a row, also one that failed and cost nothing.
  yield* sql`
    create table gateway_calls (
      id uuid constraint gateway_calls_settled_once primary key,
      agent_id uuid not null,
      owner_id uuid not null constraint gateway_calls_owner references operators (id),
      key_id uuid not null constraint gateway_calls_key references gateway_keys (id),
      request_id text not null,
      model text not null,
      provider text,
      style text not null constraint gateway_calls_style check (style in ('openai', 'anthropic')),
      stream boolean not null,
      prompt_tokens integer not null constraint gateway_calls_prompt_tokens check (prompt_tokens >= 0),
      completion_tokens integer not null constraint gateway_calls_completion_tokens check (completion_tokens >= 0),
      cost bigint not null constraint gateway_calls_cost check (cost >= 0),
      status smallint not null,
      error text,
      latency_ms integer not null,
      first_byte_ms integer,
      attempts smallint not null,
      estimated boolean not null,
      created_at timestamptz not null
    )`
  yield* sql`create index gateway_calls_of_agent on gateway_calls (agent_id, created_at desc, id desc)`
  yield* sql`create index gateway_calls_of_owner on gateway_calls (owner_id, created_at desc, id desc)`
  yield* sql`create index gateway_calls_of_key on gateway_calls (key_id, created_at desc)`
  yield* appendOnly("gateway_calls")

  // Sums of calls by day spare the totals of a year a read of every call.
  yield* sql`
    create table gateway_days (
      agent_id uuid not null,
      day date not null,
      key_id uuid not null constraint gateway_days_key references gateway_keys (id),
      model text not null,
      owner_id uuid not null,
      calls integer not null,
      failed_calls integer not null,
      prompt_tokens bigint not null,
      completion_tokens bigint not null,
      cost bigint not null,
      primary key (agent_id, day, key_id, model)
    ) with (fillfactor = 70)`
  yield* sql`create index gateway_days_of_owner on gateway_days (owner_id, day)`
  yield* sql`create index gateway_days_key_id on gateway_days (key_id)`
  yield* sql`
    create function gateway_calls_counted() returns trigger language plpgsql as $$
    begin
      insert into gateway_days as d (agent_id, day, key_id, model, owner_id, calls, failed_calls,
                                     prompt_tokens, completion_tokens, cost)
      select agent_id, (created_at at time zone 'UTC')::date as day, key_id, model, owner_id, count(*)::int,
             (count(*) filter (where error is not null))::int, sum(prompt_tokens), sum(completion_tokens), sum(cost)::bigint
        from made
       group by agent_id, day, key_id, model, owner_id
       order by agent_id, day, key_id, model
      on conflict (agent_id, day, key_id, model) do update
        set calls = d.calls + excluded.calls, failed_calls = d.failed_calls + excluded.failed_calls,
            prompt_tokens = d.prompt_tokens + excluded.prompt_tokens,
            completion_tokens = d.completion_tokens + excluded.completion_tokens, cost = d.cost + excluded.cost;
      return null;
    end
    $$`
  yield* sql`
    create trigger gateway_calls_counted after insert on gateway_calls referencing new table as made
      for each statement execute function gateway_calls_counted()`
})
