import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** What paper-trade signals enter their virtual positions at, and tournaments that are over. */
export const paperAndArchive = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // GC and ES simulate an actual position, other assets are only recorded.
  yield* sql`
    alter table targets
      add column simulates_positions boolean not null default false,
      add constraint targets_positions_of_assets check (kind = 'asset' or not simulates_positions)`
  yield* sql`update targets set simulates_positions = true where key in ('GC', 'ES')`

  // A signal with an entry takes a position: its size follows from what it says, and its exit is the entry of the
  // agent's next one on the challenge, or the closing price. So nothing has to be closed, and nothing is ever changed.
  yield* sql`
    alter table paper_signals
      add column entry_price numeric constraint paper_signals_entry_price check (entry_price > 0 and entry_price < 'Infinity'),
      add column entry_source text,
      add column entry_observed_at timestamptz,
      add column entry_fetched_at timestamptz,
      add constraint paper_signals_whole_entry check (
        num_nonnulls(entry_price, entry_source, entry_observed_at, entry_fetched_at) in (0, 4))`
  yield* sql`
    create index paper_signals_positions on paper_signals (challenge_id, agent_id, id)
      where entry_price is not null`

  yield* sql`
    create table archived_tournaments (
      slug text primary key constraint archived_tournaments_slug check (slug ~ '^[a-z0-9]+(-[a-z0-9]+)*$'),
      title text not null,
      summary text,
      ended_at timestamptz not null,
      archived_at timestamptz not null,
      challenge_count integer not null constraint archived_tournaments_some check (challenge_count > 0),
      -- Of the canonical JSON of what was imported: the same again is a no-op, anything else is refused.
      digest bytea not null constraint archived_tournaments_digest check (octet_length(digest) = 32),
      constraint archived_tournaments_over check (ended_at <= archived_at),
      -- Lets a challenge prove, by a foreign key, that it is one of those imported with the tournament.
      constraint archived_tournaments_count unique (slug, challenge_count)
    )`
  yield* sql`create index archived_tournaments_newest on archived_tournaments (ended_at desc, slug desc)`
  // Positions 1 to challenge_count are all taken by the import, so nothing is ever added.
  yield* sql`
    create table archived_challenges (
      tournament text not null,
      position integer not null constraint archived_challenges_position check (position > 0),
      challenge_count integer not null,
      stage text,
      question text not null,
      resolution_criteria text,
      opened_at timestamptz,
      deadline timestamptz not null,
      resolved_at timestamptz,
      result text,
      void_reason text,
      -- What could be predicted, and how many did: [{ outcome, prediction_count }].
      outcomes jsonb not null constraint archived_challenges_outcomes check (jsonb_typeof(outcomes) = 'array'),
      primary key (tournament, position),
      constraint archived_challenges_tournament foreign key (tournament, challenge_count)
        references archived_tournaments (slug, challenge_count),
      constraint archived_challenges_imported_together check (position <= challenge_count),
      constraint archived_challenges_times check (opened_at < deadline and deadline <= resolved_at),
      constraint archived_challenges_one_end check (num_nonnulls(result, void_reason) = 1)
    )`
  for (const table of ["archived_tournaments", "archived_challenges"]) {
    yield* sql`
      create trigger ${sql(`${table}_append_only`)} before update or delete or truncate on ${sql(table)}
        for each statement execute function refuse_change()`
  }
})
