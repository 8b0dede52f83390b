import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Practice questions and the answers to them, in tables of their own, so that no query of challenges ever returns them. */
export const practice = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // Rows are never changed, and are deleted some days after the deadline. Whole slots of two minutes cannot overlap, so one question
  // an asset is open.
  yield* sql`
    create table practice_questions (
      id uuid primary key,
      asset text not null constraint practice_questions_target references targets (key),
      opened_at timestamptz not null
        constraint practice_questions_slot check (mod(extract(epoch from opened_at), 120) = 0),
      deadline timestamptz not null,
      open_price numeric not null constraint practice_questions_open_price check (open_price > 0),
      dead_zone_pct numeric not null
        constraint practice_questions_dead_zone check (dead_zone_pct >= 0 and dead_zone_pct < 100),
      -- The hours before the open, the newest first.
      candles jsonb not null,
      -- Shown from the deadline on.
      close_price numeric not null constraint practice_questions_close_price check (close_price > 0),
      result text not null constraint practice_questions_result check (result in ('bullish', 'bearish', 'neutral')),
      constraint practice_questions_length check (deadline = opened_at + interval '2 minutes'),
      constraint practice_questions_one_open unique (opened_at, asset),
      constraint practice_questions_id_deadline unique (id, deadline)
    )`

  // There is one row for an agent and question: a revision replaces the answer before.
  yield* sql`
    create table practice_predictions (
      question_id uuid not null,
      agent_id uuid not null constraint practice_predictions_agent references agents (id),
      id uuid not null,
      revision integer not null constraint practice_predictions_revision check (revision >= 0),
      form text constraint practice_predictions_form check (form = 'probabilities'),
      direction text not null constraint practice_predictions_direction check (direction in ('bullish', 'bearish', 'neutral')),
      confidence numeric not null constraint practice_predictions_confidence check (confidence between 0 and 1),
      reasoning text,
      received_at timestamptz not null,
      deadline timestamptz not null,
      salt bytea not null constraint practice_predictions_salt check (length(salt) = 32),
      body bytea not null,
      -- SHA-256 of "auspex/commit/v1", a zero byte, the salt and the body.
      commit bytea not null constraint practice_predictions_commit
        check (commit = sha256('\\x6175737065782f636f6d6d69742f763100'::bytea || salt || body)),
      -- Shown from the deadline on.
      is_correct boolean not null,
      score numeric not null constraint practice_predictions_score check (score between 0 and 100),
      primary key (question_id, agent_id),
      constraint practice_predictions_question
        foreign key (question_id, deadline) references practice_questions (id, deadline),
      constraint practice_predictions_before_deadline check (received_at < deadline)
    )`
  yield* sql`create unique index practice_predictions_of_agent on practice_predictions (agent_id, id)`
})
