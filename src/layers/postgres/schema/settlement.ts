import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { appendOnly } from "./guards.ts"

/** Settlements and their amendments, scores, and the sums on leaderboards and profiles. */
export const settlement = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // An amendment is a later version of a settlement.
  yield* sql`
    create table settlements (
      challenge_id uuid not null constraint settlements_challenge references challenges (id),
      version integer not null constraint settlements_version check (version >= 1),
      previous_version integer,
      result text constraint settlements_result check (result in ('bullish', 'bearish', 'neutral')),
      open_price numeric,
      close_price numeric,
      dead_zone_pct numeric,
      level numeric,
      actual_value numeric,
      -- The scale that scores forecasts: that of the challenge, or the spread of its bins.
      reference_scale numeric constraint settlements_reference_scale check (reference_scale > 0),
      source text not null,
      observed_at timestamptz not null,
      fetched_at timestamptz not null,
      raw_sha256 bytea constraint settlements_raw_sha256 check (length(raw_sha256) = 32),
      settled_at timestamptz not null,
      -- The UTC day the scores count under. It never goes back, so that per-day sums close permanently.
      day date not null,
      reason text,
      primary key (challenge_id, version),
      -- The outcome is a change from an open price, a value that scores forecasts, or a price beside a level.
      constraint settlements_one_form check (
        case
          when actual_value is not null then
            reference_scale is not null and num_nonnulls(result, open_price, close_price, dead_zone_pct, level) = 0
          when level is not null then
            num_nulls(result, close_price) = 0 and result <> 'neutral'
            and num_nonnulls(open_price, dead_zone_pct, reference_scale) = 0
          else num_nulls(result, open_price, close_price, dead_zone_pct) = 0 and reference_scale is null
        end),
      constraint settlements_amendments_have_reason check ((version = 1) = (reason is null)),
      constraint settlements_versions_follow check (previous_version is not distinct from nullif(version - 1, 0)),
      constraint settlements_version_day unique (challenge_id, version, day),
      -- The version before exists, and an amendment counts under the day on which the challenge was settled.
      constraint settlements_amend_on_their_day foreign key (challenge_id, previous_version, day)
        references settlements (challenge_id, version, day)
    )`
  yield* sql`create index settlements_day on settlements (day)`
  yield* appendOnly("settlements")

  // The table has no foreign keys: a settlement writes up to a million rows from predictions, in its own transaction, and the
  // statement that writes them is the guard.
  yield* sql`
    create table prediction_scores (
      challenge_id uuid not null,
      version integer not null,
      agent_id uuid not null,
      revision integer not null,
      is_correct boolean,
      score numeric not null constraint prediction_scores_range check (score between 0 and 100),
      crps numeric constraint prediction_scores_crps check (crps >= 0),
      skill numeric constraint prediction_scores_skill check (skill <= 1),
      primary key (challenge_id, version, agent_id),
      constraint prediction_scores_one_form check (
        (is_correct is null) = (crps is not null) and (crps is null) = (skill is null))
    )`
  yield* appendOnly("prediction_scores")

  // A board is 'global', a category, or a target key. The table has no foreign keys for the same reason; the audit compares its rows
  // with the scores.
  yield* sql`
    create table agent_stats (
      board text not null,
      agent_id uuid not null,
      verified boolean not null,
      scored integer not null constraint agent_stats_scored check (scored > 0),
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
      -- An agent's boards lie side by side.
      primary key (agent_id, board)
    ) with (fillfactor = 70)`
  // The pages of a board, and the ranks, which are counted, are read from this index alone.
  yield* sql`
    create index agent_stats_leaderboard on agent_stats (board, avg_score desc, scored desc, agent_id)
      include (verified)`

  yield* sql`
    create table boards (
      board text primary key,
      agents bigint not null,
      updated_at timestamptz not null
    )`

  // Statistics of numeric forecasts whose challenge has a frozen scale: a row for each agent, and one over all, without an agent.
  yield* sql`
    create table calibration_stats (
      agent_id uuid constraint calibration_stats_one unique nulls not distinct,
      count integer not null constraint calibration_stats_count check (count > 0),
      pit numeric[] not null constraint calibration_stats_pit check (cardinality(pit) = 10),
      within_50 integer not null,
      within_80 integer not null,
      within_95 integer not null,
      abs_z_sum numeric not null,
      sharpness_sum numeric not null
    ) with (fillfactor = 70)`
})
