import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Settlements, scores, and the figures kept of them. */
export const scoring = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
    create table settlements (
      challenge_id uuid not null constraint settlements_challenge references challenges (id),
      version integer not null constraint settlements_version check (version >= 1),
      result text not null constraint settlements_result check (result in ('bullish', 'bearish', 'neutral')),
      open_price numeric not null,
      close_price numeric not null,
      dead_zone_pct numeric not null,
      source text not null,
      observed_at timestamptz not null,
      settled_at timestamptz not null,
      -- The UTC day the scores count under. It never goes back, so that per-day sums close for good.
      day date not null,
      reason text,
      primary key (challenge_id, version),
      constraint settlements_amendments_have_reason check ((version = 1) = (reason is null))
    )`
  yield* sql`create index settlements_day on settlements (day)`
  yield* sql`
    create trigger settlements_append_only before update or delete or truncate on settlements
      for each statement execute function refuse_change()`

  // Written only from predictions and settlements inside the settlement's transaction, a million rows at a time:
  // two foreign-key probes a row would double its cost, so the statement that writes it is the guard.
  yield* sql`
    create table prediction_scores (
      challenge_id uuid not null,
      version integer not null,
      agent_id uuid not null,
      revision integer not null,
      is_correct boolean not null,
      score numeric not null constraint prediction_scores_range check (score between 0 and 100),
      primary key (challenge_id, version, agent_id)
    )`
  yield* sql`
    create trigger prediction_scores_append_only before update or delete or truncate on prediction_scores
      for each statement execute function refuse_change()`

  // A board is 'global', a category, or a target key.
  yield* sql`
    create table agent_figures (
      board text not null,
      agent_id uuid not null constraint agent_figures_agent references agents (id),
      verified boolean not null,
      scored integer not null constraint agent_figures_scored check (scored > 0),
      score_sum numeric not null,
      binary_scored integer not null,
      correct integer not null,
      brier_sum numeric not null,
      skill_count integer not null default 0,
      skill_sum numeric not null default 0,
      last_day date not null,
      day_count integer not null,
      day_sum numeric not null,
      days integer not null default 0,
      sum_day_sq numeric not null default 0,
      sum_day_cross numeric not null default 0,
      sum_day_count_sq bigint not null default 0,
      avg_score double precision not null generated always as ((score_sum / scored)::double precision) stored,
      primary key (board, agent_id)
    ) with (fillfactor = 70)`
  yield* sql`create index agent_figures_standing on agent_figures (board, avg_score desc, scored desc, agent_id)`
  yield* sql`
    create index agent_figures_ranked on agent_figures (board, avg_score desc, scored desc, agent_id)
      where verified`
  yield* sql`create index agent_figures_agent_id on agent_figures (agent_id)`

  yield* sql`
    create table boards (
      board text primary key,
      agents bigint not null,
      updated_at timestamptz not null
    )`
})
