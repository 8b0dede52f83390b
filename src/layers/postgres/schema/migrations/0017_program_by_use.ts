import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { asOwner } from "../guards.ts"

/**
 * The program before the forms runs beside them until the first answer or question that it could not score: it would score quantiles
 * and samples by their standard deviation, and knows no categories.
 */
export const programByUse = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create function needs_program_of_forms() returns trigger language plpgsql ${yield* asOwner} as $$
    begin
      update instance set min_program = 14 where min_program < 14;
      return null;
    end
    $$`
  yield* sql`
    create trigger predictions_need_program after insert on predictions
      for each row when (new.form is not null) execute function needs_program_of_forms()`
  yield* sql`
    create trigger challenges_need_program after insert on challenges
      for each row when (new.categories is not null) execute function needs_program_of_forms()`
})
