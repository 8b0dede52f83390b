import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Directional challenges, the predictions on them, and the paper-trade signals that come too late. */
export const arenas = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
    create table challenges (
      id uuid primary key,
      type text not null constraint challenges_type check (type in ('directional')),
      kind text not null constraint challenges_kind check (kind in ('session', 'flash')),
      target text not null constraint challenges_target references targets (key),
      event_id text constraint challenges_event references events (id),
      question text not null,
      created_at timestamptz not null,
      deadline timestamptz not null,
      resolve_at timestamptz not null,
      -- How late a closing price may be, and when waiting for one ends: frozen, as the criteria text says them.
      close_price_until timestamptz not null,
      cancel_at timestamptz not null,
      open_price numeric not null constraint challenges_open_price check (open_price > 0),
      dead_zone_pct numeric constraint challenges_dead_zone check (dead_zone_pct >= 0 and dead_zone_pct < 100),
      resolution_criteria text,
      resolution_criteria_zh text,
      closed_at timestamptz,
      resolved_at timestamptz,
      cancelled_at timestamptz,
      cancel_reason text,
      constraint challenges_times check (
        deadline <= resolve_at and resolve_at <= close_price_until and resolve_at <= cancel_at
      ),
      constraint challenges_frozen_texts check (
        (dead_zone_pct is null) = (resolution_criteria is null)
        and (dead_zone_pct is null) = (resolution_criteria_zh is null)
      ),
      constraint challenges_one_end check (resolved_at is null or cancelled_at is null),
      constraint challenges_cancelled_with_reason check ((cancelled_at is null) = (cancel_reason is null)),
      constraint challenges_closed_after_deadline check (closed_at is null or closed_at >= deadline),
      constraint challenges_resolved_when_closed check (resolved_at is null or closed_at is not null),
      -- Lets a prediction prove, by a foreign key, that its stamp lies before this deadline.
      constraint challenges_id_deadline unique (id, deadline)
    )`
  yield* sql`create index challenges_event_id on challenges (event_id, id desc)`
  yield* sql`create index challenges_target_open on challenges (target, id desc) where resolved_at is null and cancelled_at is null`
  yield* sql`create index challenges_unsettled on challenges (deadline) where resolved_at is null and cancelled_at is null`
  yield* sql`create index challenges_target_id on challenges (target, id desc)`

  // Resolution text, dead zone, deadline and open price are frozen at creation; an end is final.
  yield* sql`
    create function challenges_frozen() returns trigger language plpgsql as $$
    declare
      ends constant text[] := array['closed_at', 'resolved_at', 'cancelled_at', 'cancel_reason'];
    begin
      if to_jsonb(new) - ends is distinct from to_jsonb(old) - ends
        or (old.closed_at is not null and new.closed_at is distinct from old.closed_at)
        or (old.resolved_at is not null and new.resolved_at is distinct from old.resolved_at)
        or (old.cancelled_at is not null and (new.cancelled_at, new.cancel_reason) is distinct from (old.cancelled_at, old.cancel_reason))
      then
        raise exception 'challenges are frozen at creation and ended once' using errcode = 'restrict_violation';
      end if;
      return new;
    end
    $$`
  yield* sql`
    create trigger challenges_frozen before update on challenges
      for each row execute function challenges_frozen()`
  yield* sql`
    create trigger challenges_kept before delete or truncate on challenges
      for each statement execute function refuse_change()`

  // One row for the first prediction (revision 0) and one for each revision; the highest is the one that counts.
  yield* sql`
    create table predictions (
      challenge_id uuid not null,
      agent_id uuid not null constraint predictions_agent references agents (id),
      revision integer not null constraint predictions_revision check (revision >= 0),
      id uuid not null,
      direction text not null constraint predictions_direction check (direction in ('bullish', 'bearish', 'neutral')),
      confidence numeric not null constraint predictions_confidence check (confidence between 0 and 1),
      reasoning text,
      received_at timestamptz not null,
      deadline timestamptz not null,
      salt bytea not null constraint predictions_salt check (length(salt) = 32),
      body bytea not null,
      commit bytea not null constraint predictions_commit
        check (commit = sha256('\\x6175737065782f636f6d6d69742f763100'::bytea || salt || body)),
      constraint predictions_one_per_agent_and_challenge primary key (challenge_id, agent_id, revision),
      constraint predictions_challenge foreign key (challenge_id, deadline) references challenges (id, deadline),
      constraint predictions_before_deadline check (received_at < deadline)
    )`
  yield* sql`create unique index predictions_of_agent on predictions (agent_id, id)`
  yield* sql`
    create trigger predictions_append_only before update or delete or truncate on predictions
      for each statement execute function refuse_change()`

  // Counts of a challenge, in shards, so that a challenge everybody predicts has no hot row. The sum is exact.
  yield* sql`
    create table prediction_counts (
      challenge_id uuid not null constraint prediction_counts_challenge references challenges (id),
      shard smallint not null,
      bullish integer not null,
      bearish integer not null,
      neutral integer not null,
      primary key (challenge_id, shard)
    ) with (fillfactor = 50)`

  yield* sql`
    create table paper_signals (
      id uuid primary key,
      challenge_id uuid not null constraint paper_signals_challenge references challenges (id),
      agent_id uuid not null constraint paper_signals_agent references agents (id),
      direction text not null constraint paper_signals_direction check (direction in ('bullish', 'bearish', 'neutral')),
      confidence numeric not null constraint paper_signals_confidence check (confidence between 0 and 1),
      reasoning text,
      received_at timestamptz not null
    )`
  yield* sql`create index paper_signals_of_agent on paper_signals (agent_id, challenge_id, id desc)`
  yield* sql`create index paper_signals_challenge_id on paper_signals (challenge_id)`
  yield* sql`
    create trigger paper_signals_append_only before update or delete or truncate on paper_signals
      for each statement execute function refuse_change()`

  // When an agent last sent a paper-trade signal to a challenge: one conditional update keeps them apart.
  yield* sql`
    create table paper_signal_spacing (
      challenge_id uuid not null constraint paper_signal_spacing_challenge references challenges (id),
      agent_id uuid not null constraint paper_signal_spacing_agent references agents (id),
      last_at timestamptz not null,
      primary key (challenge_id, agent_id)
    )`
  yield* sql`create index paper_signal_spacing_agent_id on paper_signal_spacing (agent_id)`
})
