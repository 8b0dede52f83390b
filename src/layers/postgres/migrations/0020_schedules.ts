import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Challenges that schedules make, each once, and the macro releases that they make some of them for. */
export const schedules = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // Written with the challenge, in one transaction: of two replicas that make the same one, one is rolled back.
  yield* sql`
    create table scheduled_challenges (
      schedule text not null constraint scheduled_challenges_schedule check (schedule in (
        'session', 'flash', 'numeric_close', 'threshold', 'count_days', 'barrier_up', 'barrier_down', 'macro')),
      target text not null constraint scheduled_challenges_target references targets (key),
      -- A trading day, an hour, a Monday, or the period of a figure with its unit.
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
  yield* sql`
    create trigger scheduled_challenges_append_only before update or delete or truncate on scheduled_challenges
      for each statement execute function refuse_change()`

  // What administrators plan. A challenge that was made of a release keeps the terms that it was made with.
  yield* sql`
    create table release_calendar (
      target text not null constraint release_calendar_target references targets (key),
      period text not null,
      release_at timestamptz not null,
      deadline timestamptz,
      question text,
      -- Empty without one: a figure may be published in several, as the change over a month and over a year.
      unit text not null,
      decimal_step numeric constraint release_calendar_decimal_step check (decimal_step > 0 and decimal_step < 'Infinity'),
      reference_scale numeric
        constraint release_calendar_reference_scale check (reference_scale > 0 and reference_scale < 'Infinity'),
      bin_edges numeric[] constraint release_calendar_bins check (is_ascending(bin_edges)),
      -- In micro-credits.
      reward_pool bigint not null constraint release_calendar_reward_pool check (reward_pool >= 0),
      primary key (target, period, unit),
      constraint release_calendar_deadline check (deadline <= release_at)
    )`
  yield* sql`create index release_calendar_in_order on release_calendar (release_at, target, period, unit)`
})
