import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Answers by probabilities, quantiles and samples: the sealed body has the values, the columns have those derived from them. */
export const forms = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`alter table predictions add column form text`
  // Existing rows meet the stricter constraints from before, and need not be read again.
  yield* sql`
    alter table predictions
      add constraint predictions_form check (
        case form when 'probabilities' then num_nonnulls(predicted_value, predicted_std) = 0
                  when 'quantiles' then direction is null
                  when 'samples' then direction is null
                  else form is null end) not valid,
      -- Probabilities of categories are neither a direction nor a number.
      drop constraint predictions_one_form,
      add constraint predictions_one_form check (
        num_nonnulls(direction, confidence) in (0, 2) and num_nonnulls(predicted_value, predicted_std) in (0, 2)
        and (num_nonnulls(direction, predicted_value) = 1
             or (form is not distinct from 'probabilities' and num_nonnulls(direction, predicted_value) = 0))) not valid,
      drop constraint predictions_std,
      -- Samples that are all the same have no spread.
      add constraint predictions_std check (
        predicted_std < 'Infinity' and (predicted_std > 0 or (predicted_std = 0 and form is not distinct from 'samples')))
        not valid`

  yield* sql`
    create function sums_to_one(parts numeric[]) returns boolean language sql immutable strict parallel safe as $$
      select coalesce(bool_and(part between 0 and 1), false) and abs(sum(part) - 1) <= 0.000001
        from unnest(parts) as part
    $$`
  // Categories of ordered macro challenges: each is a bin, whose edges lie halfway between the numbers of the categories.
  const ordered = sql.literal(`
      (categories is null) = (reference is null)
      and (categories is null
           or (cardinality(categories) = cardinality(reference) and sums_to_one(reference)
               and array_position(categories, null) is null))`)
  yield* sql`
    alter table challenges
      add column categories text[],
      add column reference numeric[],
      add constraint challenges_ordered check (
        ${ordered}
        and (categories is null
             or (type = 'macro' and cardinality(categories) = cardinality(bin_edges) + 1
                 and num_nonnulls(unit, decimal_step) = 0 and reference_scale is not null))) not valid`
  yield* sql`
    alter table release_calendar
      add column categories text[],
      add column reference numeric[],
      add constraint release_calendar_ordered check (
        ${ordered}
        and (categories is null or (unit = '' and num_nonnulls(decimal_step, reference_scale, bin_edges) = 0)))`
})
