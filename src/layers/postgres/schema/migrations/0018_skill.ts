import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { appendOnly } from "../guards.ts"

/** Skill against the reference (docs/scoring.md): the values frozen with a question, stored with its scores, and summed by board. */
export const skill = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // The method of a reference agent, which has no owner and no credentials.
  yield* sql`
    alter table agents
      add column reference text,
      add constraint agents_reference_unclaimed check (reference is null or num_nonnulls(claimed_at, owner_id) = 0) not valid`
  yield* sql`create unique index agents_reference on agents (reference) where reference is not null`

  // These are null for questions without a reference, and for those that an older program made.
  yield* sql`
    alter table challenges
      -- The volatility of the logarithm of the price, per square root of an hour; null if too few prices were known.
      add column volatility numeric constraint challenges_volatility check (volatility > 0 and volatility < 'Infinity'),
      -- The reference's probability of each outcome when the question was made; null for numbers.
      add column odds numeric[],
      -- The loss that the reference expected then.
      add column reference_loss numeric constraint challenges_reference_loss check (reference_loss > 0)`
  // One step for each price that was known before the deadline, as it was at the first settlement.
  yield* sql`
    create table challenge_references (
      challenge_id uuid primary key constraint challenge_references_challenge references challenges (id),
      steps jsonb not null constraint challenge_references_steps check (jsonb_array_length(steps) > 0),
      made_at timestamptz not null
    )`
  yield* appendOnly("challenge_references")
  yield* sql`
    alter table prediction_scores
      add column reference_skill double precision,
      add column bounded_skill double precision,
      add constraint prediction_scores_bounded check (bounded_skill between -1 and 1) not valid,
      add constraint prediction_scores_skills check ((reference_skill is null) = (bounded_skill is null)) not valid`

  // The total skill of all claimed agents on each question, from which the skill of an agent's peers follows.
  yield* sql`
    create table challenge_skill (
      challenge_id uuid primary key,
      answers integer not null,
      skill_sum numeric not null
    )`
  // Settlement days whose skill is counted, with the number of settlements and amendments that they had then.
  yield* sql`
    create table skill_days (
      day date primary key,
      settlements integer not null
    )`
  // Questions with a reference, by the day of their deadline: answered ones are shown as a share of these.
  yield* sql`
    create table skill_questions (
      board text not null,
      day date not null,
      questions integer not null,
      -- The total up to this day.
      total integer not null,
      primary key (board, day)
    )`
  // A board is 'global', a category, a target, a horizon, or a category and a horizon.
  const sums = sql.literal(`
      answered integer not null,
      skill_sum numeric not null,
      peer_count integer not null,
      peer_sum numeric not null,
      days integer not null,
      score_sum double precision not null,
      deviation double precision not null,
      weight double precision not null,
      weighted double precision not null,
      penalty double precision not null,
      log_wealth double precision not null`)
  yield* sql`
    create table agent_skill (
      board text not null,
      agent_id uuid not null,
      last_day date not null,
      ${sums},
      volume double precision not null,
      -- The agent is claimed, and so ranked; references are not.
      verified boolean not null,
      skill double precision not null generated always as ((skill_sum / answered)::double precision) stored,
      peer double precision generated always as ((peer_sum / nullif(peer_count, 0))::double precision) stored,
      primary key (agent_id, board)
    )`
  yield* sql`create index agent_skill_order on agent_skill (board, skill desc, answered desc, agent_id) include (verified)`
  yield* sql`
    create index agent_skill_peer on agent_skill (board, peer desc, answered desc, agent_id) include (verified)
      where peer is not null`
  // The same sums by month, which add up.
  yield* sql`
    create table agent_skill_months (
      board text not null,
      month date not null,
      agent_id uuid not null,
      ${sums},
      primary key (board, month, agent_id)
    )`
  yield* sql`create index agent_skill_months_of_agent on agent_skill_months (agent_id)`
})
