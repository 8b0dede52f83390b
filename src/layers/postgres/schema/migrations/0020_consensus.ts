import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { appendOnly } from "../guards.ts"

/** The consensus of all claimed agents on a question, one voice an owner, as it was at the deadline. */
export const consensus = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create table challenge_consensus (
      challenge_id uuid primary key constraint challenge_consensus_challenge references challenges (id),
      owners integer not null constraint challenge_consensus_owners check (owners >= 0),
      -- The mean vector, in the order of the outcomes; for a number the mean.
      odds numeric[],
      value numeric,
      -- The skill of the consensus for each outcome, and the same divided by its span; null without a reference.
      skills numeric[],
      bounded numeric[],
      made_at timestamptz not null,
      constraint challenge_consensus_one_form check (num_nonnulls(odds, value) <= 1 and num_nonnulls(skills, bounded) in (0, 2)),
      constraint challenge_consensus_outcomes check (cardinality(skills) = cardinality(odds))
    )`
  yield* appendOnly("challenge_consensus")
})
