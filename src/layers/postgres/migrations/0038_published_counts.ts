import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/**
 * What everybody sees of open challenges: counts by direction and odds as they were at the last step. Live ones would tell
 * what each single prediction or stake says.
 */
export const publishedCounts = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
    create table published_counts (
      challenge_id uuid primary key constraint published_counts_challenge references challenges (id),
      published_at timestamptz not null,
      bullish integer not null constraint published_counts_bullish check (bullish >= 0),
      bearish integer not null constraint published_counts_bearish check (bearish >= 0),
      neutral integer not null constraint published_counts_neutral check (neutral >= 0)
    )`
  yield* sql`
    create table published_odds (
      challenge_id uuid primary key constraint published_odds_challenge references challenges (id),
      published_at timestamptz not null,
      stakers integer not null constraint published_odds_stakers check (stakers > 0),
      -- Of the bins that somebody has staked on: [{ bin, staked, stakers }], staked as text.
      bins jsonb not null
    )`
})
