import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { appendOnly, kept } from "./guards.ts"

const ends = [
  ["unended", "resolved_at is null and cancelled_at is null"],
  ["resolved", "resolved_at is not null"],
  ["cancelled", "cancelled_at is not null"]
] as const

/**
 * Targets, challenges of every type, the predictions on them, the schedules that make challenges, and the archive. A row of
 * `challenges` or `predictions` has the columns of its type only.
 */
export const challenges = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
    create table targets (
      key text primary key,
      name text not null,
      category text not null constraint targets_category
        check (category in ('commodities', 'equity', 'rates', 'economics', 'crypto')),
      kind text not null constraint targets_kind check (kind in ('asset', 'macro')),
      position integer not null constraint targets_position unique,
      dead_zone_pct numeric constraint targets_dead_zone check (dead_zone_pct >= 0 and dead_zone_pct < 100),
      paused boolean not null default false,
      -- True if paper-trade signals take positions, false if they are only recorded.
      simulates_positions boolean not null default false,
      constraint targets_assets_have_dead_zone check ((kind = 'asset') = (dead_zone_pct is not null)),
      constraint targets_positions_of_assets check (kind = 'asset' or not simulates_positions)
    )`
  yield* sql`
    insert into targets (position, key, name, category, kind, dead_zone_pct, paused, simulates_positions) values
      (1, 'GC', 'Gold', 'commodities', 'asset', 0.3, false, true),
      (2, 'ES', 'E-mini S&P 500', 'equity', 'asset', 0.3, false, true),
      (3, 'CL', 'Crude oil', 'commodities', 'asset', 0.6, false, false),
      (4, 'ZN', '10-year T-note', 'rates', 'asset', 0.1, false, false),
      (5, 'HG', 'Copper', 'commodities', 'asset', 0.5, false, false),
      (6, 'NG', 'Natural gas', 'commodities', 'asset', 1.0, false, false),
      (7, 'BTC', 'Bitcoin', 'crypto', 'asset', 1.0, true, false),
      (8, 'ZS', 'Soybean', 'commodities', 'asset', 0.5, false, false),
      (9, 'DXY', 'US dollar index', 'rates', 'asset', 0.15, false, false),
      (10, 'ETH', 'Ethereum', 'crypto', 'asset', 1.2, false, false),
      (11, 'CPI', 'Consumer price index', 'economics', 'macro', null, false, false),
      (12, 'CORE_CPI', 'Core consumer price index', 'economics', 'macro', null, false, false),
      (13, 'PPI', 'Producer price index', 'economics', 'macro', null, false, false),
      (14, 'NFP', 'Nonfarm payrolls', 'economics', 'macro', null, false, false),
      (15, 'UNRATE', 'Unemployment rate', 'economics', 'macro', null, false, false),
      (16, 'PCE', 'Personal consumption expenditures', 'economics', 'macro', null, false, false),
      (17, 'GDP', 'Gross domestic product', 'economics', 'macro', null, false, false),
      (18, 'FOMC', 'Federal funds target rate', 'economics', 'macro', null, false, false)`

  yield* sql`
    create table prediction_scopes (
      agent_id uuid not null constraint prediction_scopes_agent references agents (id),
      target text not null constraint prediction_scopes_target references targets (key),
      created_at timestamptz not null,
      primary key (agent_id, target)
    )`
  yield* sql`create index prediction_scopes_target_agent on prediction_scopes (target, agent_id)`

  yield* sql`
    create function is_ascending(edges numeric[]) returns boolean language sql immutable strict parallel safe as $$
      select cardinality(edges) > 0
         and coalesce(bool_and(edge < next), true) and coalesce(bool_and(abs(edge) < 'Infinity'), true)
        from (select edge, lead(edge) over (order by position) as next
                from unnest(edges) with ordinality as e (edge, position)) pairs
    $$`

  // A challenge is frozen at its creation, except for its end, which is final.
  yield* sql`
    create table challenges (
      id uuid primary key,
      type text not null constraint challenges_type check (type in ('directional', 'macro', 'price_event')),
      kind text not null,
      target text not null constraint challenges_target references targets (key),
      event_id text constraint challenges_event references events (id),
      question text not null,
      created_at timestamptz not null,
      deadline timestamptz not null,
      resolve_at timestamptz not null,
      -- The latest time of a closing price, and the end of the wait for one.
      close_price_until timestamptz not null,
      cancel_at timestamptz not null,
      -- Directional challenges use these columns. Both texts are null without a frozen dead zone.
      open_price numeric constraint challenges_open_price check (open_price > 0),
      dead_zone_pct numeric constraint challenges_dead_zone check (dead_zone_pct >= 0 and dead_zone_pct < 100),
      resolution_criteria text,
      resolution_criteria_zh text,
      -- Macro challenges use these columns.
      period text,
      unit text,
      bin_edges numeric[] constraint challenges_bins check (is_ascending(bin_edges)),
      -- The reward is in micro-credits.
      reward_pool bigint constraint challenges_reward_pool check (reward_pool >= 0),
      -- Challenges on a number use this scale. A macro challenge without one is scored with the spread of its bins.
      reference_scale numeric
        constraint challenges_reference_scale check (reference_scale > 0 and reference_scale < 'Infinity'),
      -- The distance between two neighbouring published values; null if values are practically continuous.
      decimal_step numeric constraint challenges_decimal_step check (decimal_step > 0 and decimal_step < 'Infinity'),
      -- Price events use these columns.
      level numeric constraint challenges_level check (level > 0 and level < 'Infinity'),
      -- The opening time of the first candle that decides a barrier.
      window_from timestamptz,
      closed_at timestamptz,
      resolved_at timestamptz,
      cancelled_at timestamptz,
      cancel_reason text,
      constraint challenges_kind check (
        case type
          when 'directional' then kind in ('session', 'flash')
          when 'price_event' then kind in ('numeric_close', 'barrier', 'count_days', 'threshold')
          else kind = type
        end),
      -- A price event may be about the past: only the deadline bounds its predictions.
      constraint challenges_times check (
        (deadline <= resolve_at or type = 'price_event') and deadline <= cancel_at
        and resolve_at <= close_price_until and resolve_at <= cancel_at),
      constraint challenges_terms check (
        case type
          when 'directional' then
            open_price is not null
            and num_nonnulls(period, unit, bin_edges, reference_scale, decimal_step, reward_pool, level, window_from) = 0
          when 'macro' then
            num_nonnulls(open_price, dead_zone_pct, event_id, level, window_from) = 0
            and num_nulls(period, bin_edges, reward_pool) = 0
          else
            num_nonnulls(open_price, dead_zone_pct, event_id, period, unit, bin_edges, reward_pool) = 0
            and (kind in ('barrier', 'threshold')) = (level is not null)
            and (kind in ('numeric_close', 'count_days')) = (reference_scale is not null)
            and (kind = 'barrier') = (window_from is not null)
            and (kind = 'count_days') = (decimal_step is not null)
        end),
      constraint challenges_frozen_texts check (
        (resolution_criteria is null) = (resolution_criteria_zh is null)
        and (resolution_criteria is null) = (type = 'directional' and dead_zone_pct is null)),
      constraint challenges_some_scale check (reference_scale is not null or cardinality(bin_edges) > 1),
      -- Candles decide these, so their times are whole hours.
      constraint challenges_window check (
        window_from is null
        or (window_from < resolve_at
            and mod(extract(epoch from window_from), 3600) = 0 and mod(extract(epoch from resolve_at), 3600) = 0)),
      constraint challenges_one_end check (resolved_at is null or cancelled_at is null),
      constraint challenges_cancelled_with_reason check ((cancelled_at is null) = (cancel_reason is null)),
      constraint challenges_closed_after_deadline check (closed_at is null or closed_at >= deadline),
      constraint challenges_resolved_when_closed check (resolved_at is null or closed_at is not null),
      -- A prediction refers to this key to prove that it was received before this deadline.
      constraint challenges_id_deadline unique (id, deadline)
    )`
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
  yield* kept("challenges")

  // Every list of challenges is of one type, and its index is partial: the planner prefers the primary key to an index that begins
  // with the type, and would filter all other rows out.
  for (const [end, condition] of ends) {
    for (const type of ["directional", "macro", "price_event"]) {
      yield* sql`
        create index ${sql(`challenges_${type}_${end}`)} on challenges (id desc)
          where type = ${sql.literal(`'${type}' and ${condition}`)}`
    }
    yield* sql`
      create index ${sql(`challenges_target_${end}`)} on challenges (target, id desc)
        where type = 'directional' and ${sql.literal(condition)}`
  }
  yield* sql`create index challenges_directional on challenges (id desc) where type = 'directional'`
  yield* sql`create index challenges_target_directional on challenges (target, id desc) where type = 'directional'`
  yield* sql`create index challenges_macro on challenges (id desc) where type = 'macro'`
  yield* sql`create index challenges_price_events on challenges (id desc) where type = 'price_event'`
  yield* sql`create index challenges_target_id on challenges (target, id desc)`
  yield* sql`create index challenges_event_id on challenges (event_id, id desc)`
  yield* sql`
    create index challenges_settled on challenges (resolved_at desc, id desc) where resolved_at is not null`
  // Open challenges are counted, and due ones are found, by their deadline.
  yield* sql`
    create index challenges_unended_deadline on challenges (type, deadline, id) include (target)
      where resolved_at is null and cancelled_at is null`
  yield* sql`
    create index challenges_unsettled on challenges (deadline, id) where resolved_at is null and cancelled_at is null`
  // This finds the earlier prints of a series, newest first.
  yield* sql`
    create index challenges_series on challenges (target, resolve_at desc)
      where type = 'macro' and resolved_at is not null`
  yield* sql`
    create index challenges_macro_period on challenges (target, period)
      where type = 'macro' and cancelled_at is null`

  // These rows hold the totals of the lists.
  yield* sql`
    create table challenge_counts (
      target text not null constraint challenge_counts_target references targets (key),
      type text not null,
      created bigint not null,
      resolved bigint not null,
      cancelled bigint not null,
      primary key (target, type)
    )`
  yield* sql`
    create function challenges_counted() returns trigger language plpgsql as $$
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
  // The trigger is deferred to the commit: otherwise a long settlement would block others from the count of its target.
  yield* sql`
    create constraint trigger challenges_counted after insert or update of resolved_at, cancelled_at on challenges
      deferrable initially deferred for each row execute function challenges_counted()`

  // The first prediction of an agent has revision 0; the highest revision counts.
  yield* sql`
    create table predictions (
      challenge_id uuid not null,
      agent_id uuid not null constraint predictions_agent references agents (id),
      revision integer not null constraint predictions_revision check (revision >= 0),
      id uuid not null,
      direction text constraint predictions_direction check (direction in ('bullish', 'bearish', 'neutral')),
      confidence numeric constraint predictions_confidence check (confidence between 0 and 1),
      predicted_value numeric constraint predictions_value check (abs(predicted_value) < 'Infinity'),
      predicted_std numeric constraint predictions_std check (predicted_std > 0 and predicted_std < 'Infinity'),
      reasoning text,
      received_at timestamptz not null,
      deadline timestamptz not null,
      salt bytea not null constraint predictions_salt check (length(salt) = 32),
      body bytea not null,
      -- SHA-256 of "auspex/commit/v1", a zero byte, the salt and the body.
      commit bytea not null constraint predictions_commit
        check (commit = sha256('\\x6175737065782f636f6d6d69742f763100'::bytea || salt || body)),
      constraint predictions_one_per_agent_and_challenge primary key (challenge_id, agent_id, revision),
      constraint predictions_challenge foreign key (challenge_id, deadline) references challenges (id, deadline),
      constraint predictions_before_deadline check (received_at < deadline),
      constraint predictions_one_form check (
        num_nulls(direction, confidence) = num_nonnulls(predicted_value, predicted_std)
        and num_nulls(direction, confidence) in (0, 2))
    )`
  yield* sql`create unique index predictions_of_agent on predictions (agent_id, id)`
  yield* appendOnly("predictions")

  // Counts are in shards, so that a popular challenge has no hot row. The sum is exact.
  yield* sql`
    create table prediction_counts (
      challenge_id uuid not null constraint prediction_counts_challenge references challenges (id),
      shard smallint not null,
      bullish integer not null,
      bearish integer not null,
      neutral integer not null,
      forecasts integer not null default 0,
      primary key (challenge_id, shard)
    ) with (fillfactor = 50)`
  // The public counts of an open challenge are updated in steps: live counts would reveal single predictions.
  yield* sql`
    create table published_counts (
      challenge_id uuid primary key constraint published_counts_challenge references challenges (id),
      published_at timestamptz not null,
      bullish integer not null constraint published_counts_bullish check (bullish >= 0),
      bearish integer not null constraint published_counts_bearish check (bearish >= 0),
      neutral integer not null constraint published_counts_neutral check (neutral >= 0)
    )`

  // A signal with an entry takes a position. Its size follows from its values, and its exit is the entry of the agent's next signal
  // on the challenge, or the closing price: nothing has to be closed, and nothing is ever changed.
  yield* sql`
    create table paper_signals (
      id uuid primary key,
      challenge_id uuid not null constraint paper_signals_challenge references challenges (id),
      agent_id uuid not null constraint paper_signals_agent references agents (id),
      direction text not null constraint paper_signals_direction check (direction in ('bullish', 'bearish', 'neutral')),
      confidence numeric not null constraint paper_signals_confidence check (confidence between 0 and 1),
      reasoning text,
      received_at timestamptz not null,
      entry_price numeric constraint paper_signals_entry_price check (entry_price > 0 and entry_price < 'Infinity'),
      entry_source text,
      entry_observed_at timestamptz,
      entry_fetched_at timestamptz,
      constraint paper_signals_whole_entry check (
        num_nonnulls(entry_price, entry_source, entry_observed_at, entry_fetched_at) in (0, 4))
    )`
  yield* sql`create index paper_signals_of_agent on paper_signals (agent_id, challenge_id, id desc)`
  yield* sql`create unique index paper_signals_by_agent on paper_signals (agent_id, id)`
  yield* sql`create index paper_signals_challenge_id on paper_signals (challenge_id)`
  yield* sql`
    create index paper_signals_positions on paper_signals (challenge_id, agent_id, id)
      where entry_price is not null`
  yield* appendOnly("paper_signals")
  // The time of an agent's last signal on a challenge: one conditional update keeps signals apart.
  yield* sql`
    create table paper_signal_spacing (
      challenge_id uuid not null constraint paper_signal_spacing_challenge references challenges (id),
      agent_id uuid not null constraint paper_signal_spacing_agent references agents (id),
      last_at timestamptz not null,
      primary key (challenge_id, agent_id)
    )`
  yield* sql`create index paper_signal_spacing_agent_id on paper_signal_spacing (agent_id)`

  // The row is written with the challenge, in one transaction: if two replicas make the same one, one is rolled back.
  yield* sql`
    create table scheduled_challenges (
      schedule text not null constraint scheduled_challenges_schedule check (schedule in (
        'session', 'flash', 'numeric_close', 'threshold', 'count_days', 'barrier_up', 'barrier_down', 'macro')),
      target text not null constraint scheduled_challenges_target references targets (key),
      -- The period is a trading day, an hour, a Monday, or that of a release with its unit.
      period text not null,
      challenge_id uuid not null constraint scheduled_challenges_challenge references challenges (id),
      event_id text constraint scheduled_challenges_event references events (id),
      made_at timestamptz not null,
      constraint scheduled_challenges_once primary key (schedule, target, period),
      constraint scheduled_challenges_of_one_schedule unique (challenge_id),
      constraint scheduled_challenges_flash_has_event check ((schedule = 'flash') = (event_id is not null))
    )`
  // An event makes one flash challenge a target, however often it is imported or edited.
  yield* sql`
    create unique index scheduled_challenges_once_per_event on scheduled_challenges (event_id, target)
      where event_id is not null`
  yield* sql`create index scheduled_challenges_of_target on scheduled_challenges (target)`
  yield* appendOnly("scheduled_challenges")

  // Administrators plan releases. A challenge keeps the terms that it was made with from its release.
  yield* sql`
    create table release_calendar (
      target text not null constraint release_calendar_target references targets (key),
      period text not null,
      release_at timestamptz not null,
      deadline timestamptz,
      question text,
      -- This is empty without a unit: a release may have several values, as the change over a month and over a year.
      unit text not null,
      decimal_step numeric constraint release_calendar_decimal_step check (decimal_step > 0 and decimal_step < 'Infinity'),
      reference_scale numeric
        constraint release_calendar_reference_scale check (reference_scale > 0 and reference_scale < 'Infinity'),
      bin_edges numeric[] constraint release_calendar_bins check (is_ascending(bin_edges)),
      -- The reward is in micro-credits.
      reward_pool bigint not null constraint release_calendar_reward_pool check (reward_pool >= 0),
      primary key (target, period, unit),
      constraint release_calendar_deadline check (deadline <= release_at)
    )`
  yield* sql`create index release_calendar_in_order on release_calendar (release_at, target, period, unit)`

  yield* sql`
    create table archived_tournaments (
      slug text primary key constraint archived_tournaments_slug check (slug ~ '^[a-z0-9]+(-[a-z0-9]+)*$'),
      title text not null,
      summary text,
      ended_at timestamptz not null,
      archived_at timestamptz not null,
      challenge_count integer not null constraint archived_tournaments_some check (challenge_count > 0),
      -- The hash of the canonical JSON of the import: a repeated import changes nothing, a different one is rejected.
      digest bytea not null constraint archived_tournaments_digest check (octet_length(digest) = 32),
      constraint archived_tournaments_over check (ended_at <= archived_at),
      -- A challenge refers to this key to prove that it was imported with the tournament.
      constraint archived_tournaments_count unique (slug, challenge_count)
    )`
  yield* sql`create index archived_tournaments_newest on archived_tournaments (ended_at desc, slug desc)`
  yield* appendOnly("archived_tournaments")
  // The import takes all positions from 1 to challenge_count, so nothing is ever added.
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
      -- The possible outcomes and the number of predictions on each: [{ outcome, prediction_count }].
      outcomes jsonb not null constraint archived_challenges_outcomes check (jsonb_typeof(outcomes) = 'array'),
      primary key (tournament, position),
      constraint archived_challenges_tournament foreign key (tournament, challenge_count)
        references archived_tournaments (slug, challenge_count),
      constraint archived_challenges_imported_together check (position <= challenge_count),
      constraint archived_challenges_times check (opened_at < deadline and deadline <= resolved_at),
      constraint archived_challenges_one_end check (num_nonnulls(result, void_reason) = 1)
    )`
  yield* appendOnly("archived_challenges")
})
