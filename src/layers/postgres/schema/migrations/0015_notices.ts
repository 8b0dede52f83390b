import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Notices to agents and to everybody, in one order (docs/notices.md). */
export const notices = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
    create table notices (
      id uuid primary key default uuidv7(),
      -- Its place in the order of all notices; null until the sequencer has given it one.
      seq bigint constraint notices_seq unique,
      type text not null,
      -- The agent that it is for; null for everybody.
      agent_id uuid constraint notices_agent references agents (id),
      -- The cause, so that no notice is given twice.
      cause text not null,
      -- The ids of its subject.
      subject jsonb not null,
      data jsonb not null,
      created_at timestamptz not null,
      constraint notices_once unique nulls not distinct (cause, type, agent_id),
      constraint notices_audience check (
        case when agent_id is null
          then type in ('challenge.opened', 'challenge.closed', 'challenge.settled', 'challenge.amended', 'challenge.void',
                        'event.published')
          else type in ('agent.claimed', 'agent.suspended', 'credit.low', 'comment.replied', 'comment.mentioned', 'key.revoked')
        end)
    )`
  yield* sql`create index notices_unsequenced on notices (id) where seq is null`
  yield* sql`create index notices_public on notices (type, seq) where agent_id is null`
  yield* sql`create index notices_own on notices (agent_id, seq) where agent_id is not null`

  yield* sql`
    create table notice_state (
      singleton boolean primary key default true constraint notice_state_one check (singleton),
      -- The last place that was given.
      head bigint not null default 0,
      -- The last place whose notice has been deleted.
      floor bigint not null default 0 constraint notice_state_floor check (floor between 0 and head)
    )`
  yield* sql`insert into notice_state default values`

  // Wakes the sequencers, once the transaction has committed.
  yield* sql`
    create function notices_written() returns trigger language plpgsql as $$
    begin
      if exists (select from written) then perform pg_notify('notices', ''); end if;
      return null;
    end
    $$`
  yield* sql`
    create trigger notices_written after insert on notices referencing new table as written
      for each statement execute function notices_written()`
})
