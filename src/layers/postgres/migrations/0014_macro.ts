import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/**
 * Macro challenges and numeric forecasts, in the tables of the directional ones, so that results, scorecards, caps, the
 * log and its audit stay one path: a row has the columns of its form, and none of the other's.
 */
export const macro = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
    create function is_ascending(edges numeric[]) returns boolean language sql immutable strict parallel safe as $$
      select cardinality(edges) > 0
         and coalesce(bool_and(edge < next), true) and coalesce(bool_and(abs(edge) < 'Infinity'), true)
        from (select edge, lead(edge) over (order by position) as next
                from unnest(edges) with ordinality as e (edge, position)) pairs
    $$`
  yield* sql`
    alter table challenges
      alter column open_price drop not null,
      drop constraint challenges_type,
      drop constraint challenges_kind,
      drop constraint challenges_frozen_texts,
      add column period text,
      add column unit text,
      add column bin_edges numeric[],
      -- Null in challenges from before scales were frozen: they are scored with the spread of their bins.
      add column reference_scale numeric,
      -- The distance between two neighbouring values as they are published; null when they are as good as continuous.
      add column decimal_step numeric,
      -- In micro-credits.
      add column reward_pool bigint,
      add constraint challenges_type check (type in ('directional', 'macro')),
      add constraint challenges_kind check (
        case type when 'directional' then kind in ('session', 'flash') else kind = type end),
      add constraint challenges_frozen_texts check (
        (resolution_criteria is null) = (resolution_criteria_zh is null)
        and (resolution_criteria is null) = (type = 'directional' and dead_zone_pct is null)),
      add constraint challenges_terms check (
        case type
          when 'directional' then
            open_price is not null
            and num_nonnulls(period, unit, bin_edges, reference_scale, decimal_step, reward_pool) = 0
          else num_nonnulls(open_price, dead_zone_pct, event_id) = 0 and num_nulls(period, bin_edges, reward_pool) = 0
        end),
      add constraint challenges_bins check (is_ascending(bin_edges)),
      add constraint challenges_reference_scale check (reference_scale > 0 and reference_scale < 'Infinity'),
      -- Without a scale there is a spread to score with.
      add constraint challenges_some_scale check (reference_scale is not null or cardinality(bin_edges) > 1),
      add constraint challenges_decimal_step check (decimal_step > 0 and decimal_step < 'Infinity'),
      add constraint challenges_reward_pool check (reward_pool >= 0)`
  yield* sql`create index challenges_macro on challenges (id desc) where type = 'macro'`
  // The earlier prints of a series, newest first.
  yield* sql`
    create index challenges_series on challenges (target, resolve_at desc)
      where type = 'macro' and resolved_at is not null`

  yield* sql`
    alter table predictions
      alter column direction drop not null,
      alter column confidence drop not null,
      add column predicted_value numeric,
      add column predicted_std numeric,
      add constraint predictions_one_form check (
        num_nulls(direction, confidence) = num_nonnulls(predicted_value, predicted_std)
        and num_nulls(direction, confidence) in (0, 2)),
      add constraint predictions_value check (abs(predicted_value) < 'Infinity'),
      add constraint predictions_std check (predicted_std > 0 and predicted_std < 'Infinity')`
  yield* sql`
    alter table prediction_counts add column forecasts integer not null default 0`

  yield* sql`
    alter table settlements
      alter column result drop not null,
      alter column open_price drop not null,
      alter column close_price drop not null,
      alter column dead_zone_pct drop not null,
      add column actual_value numeric,
      -- What the forecasts are scored with: that of the challenge, or the spread of its bins.
      add column reference_scale numeric constraint settlements_reference_scale check (reference_scale > 0),
      add constraint settlements_one_form check (
        num_nonnulls(result, open_price, close_price, dead_zone_pct) = case when actual_value is null then 4 else 0 end
        and (actual_value is null) = (reference_scale is null))`
  yield* sql`
    alter table prediction_scores
      alter column is_correct drop not null,
      add column crps numeric constraint prediction_scores_crps check (crps >= 0),
      add column skill numeric constraint prediction_scores_skill check (skill <= 1),
      add constraint prediction_scores_one_form check (
        (is_correct is null) = (crps is not null) and (crps is null) = (skill is null))`

  // Lists are of one type, so their totals are too.
  yield* sql`
    alter table challenge_counts
      add column type text not null default 'directional',
      drop constraint challenge_counts_pkey,
      add constraint challenge_counts_pkey primary key (target, type)`
  yield* sql`
    create or replace function challenges_counted() returns trigger language plpgsql as $$
    begin
      insert into challenge_counts as n (target, type, created, resolved, cancelled)
      values (
        new.target,
        new.type,
        (tg_op = 'INSERT')::int,
        (new.resolved_at is not null and (tg_op = 'INSERT' or old.resolved_at is null))::int,
        (new.cancelled_at is not null and (tg_op = 'INSERT' or old.cancelled_at is null))::int
      )
      on conflict (target, type) do update set
        created = n.created + excluded.created,
        resolved = n.resolved + excluded.resolved,
        cancelled = n.cancelled + excluded.cancelled;
      return null;
    end
    $$`

  // Kept with every settlement, of numeric forecasts whose challenge has a frozen scale: one row for each agent, and
  // one, without an agent, over all.
  yield* sql`
    create table calibration_figures (
      agent_id uuid constraint calibration_figures_one unique nulls not distinct,
      count integer not null constraint calibration_figures_count check (count > 0),
      pit numeric[] not null constraint calibration_figures_pit check (cardinality(pit) = 10),
      within_50 integer not null,
      within_80 integer not null,
      within_95 integer not null,
      abs_z_sum numeric not null,
      sharpness_sum numeric not null
    ) with (fillfactor = 70)`
})
