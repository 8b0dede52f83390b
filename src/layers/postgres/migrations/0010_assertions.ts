import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Agents with keys of their own, and the assertions they have used. */
export const assertions = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
    alter table agents
      add column public_key text,
      add column jwks_url text,
      add constraint agents_key_by_method check (
        num_nonnulls(public_key, jwks_url) = case auth_method when 'private_key_jwt' then 1 else 0 end)`

  // Logged, unlike the windows of limits: what a crash forgot could be used again.
  yield* sql`
    create table used_assertions (
      agent_id uuid not null constraint used_assertions_agent references agents (id),
      jti text not null constraint used_assertions_jti check (char_length(jti) between 1 and 128),
      expires_at timestamptz not null,
      constraint used_assertions_once primary key (agent_id, jti)
    )`
  yield* sql`create index used_assertions_expires_at on used_assertions (expires_at)`
})
