import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Answers by probabilities, quantiles and samples: what they say stands in the sealed body, what follows from it in the columns. */
export const forms = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`alter table predictions add column form text`
  // Rows that are there hold the stricter constraints before these, and need not be read again.
  yield* sql`
    alter table predictions
      add constraint predictions_form check (
        case form when 'probabilities' then predicted_value is null
                  when 'quantiles' then direction is null
                  when 'samples' then direction is null
                  else form is null end) not valid,
      drop constraint predictions_std,
      -- Samples that are all the same have no spread.
      add constraint predictions_std check (
        predicted_std < 'Infinity' and (predicted_std > 0 or (predicted_std = 0 and form is not distinct from 'samples')))
        not valid`
})
