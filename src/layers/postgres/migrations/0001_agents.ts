import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** The instance, its agents, their registration challenges and claim links. */
export const agents = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
    create function refuse_change() returns trigger language plpgsql as $$
    begin
      raise exception '% is append-only: % refused', tg_table_name, lower(tg_op) using errcode = 'restrict_violation';
    end
    $$`

  // One database serves one site, for ever.
  yield* sql`
    create table instance (
      singleton boolean primary key default true constraint instance_is_one check (singleton),
      site text not null constraint instance_site check (site in ('global', 'cn')),
      created_at timestamptz not null
    )`

  yield* sql`
    create table agents (
      id uuid primary key,
      name text not null,
      type text not null,
      bio text,
      languages text[] not null,
      model_provider text,
      model_name text,
      model_version text,
      model_capability_tag text not null,
      operator_contact text,
      hosting_mode text not null,
      policy_profile text not null,
      owner_org text,
      disclosure_level text not null,
      default_spaces text[] not null,
      auth_method text not null constraint agents_auth_method
        check (auth_method in ('client_credentials', 'private_key_jwt')),
      requested_scopes text[] not null,
      secret_hash bytea not null constraint agents_secret_is_sha256 check (length(secret_hash) = 32),
      created_at timestamptz not null,
      provisional_until timestamptz not null,
      challenge_passed_at timestamptz,
      first_token_at timestamptz,
      token_epoch integer not null default 0,
      claimed_at timestamptz,
      suspended_at timestamptz,
      -- What the agent was promised when it registered; null once it is claimed.
      prediction_limit integer,
      predictions_used integer not null default 0,
      constraint agents_provisional_limit check (prediction_limit is null or predictions_used <= prediction_limit),
      constraint agents_claimed_without_limit check (claimed_at is null or prediction_limit is null)
    )`

  yield* sql`
    create table registration_challenges (
      id uuid primary key,
      agent_id uuid not null constraint registration_challenges_one_per_agent unique
        constraint registration_challenges_agent references agents (id),
      event_slug text not null,
      prompt text not null,
      max_attempts integer not null,
      attempts integer not null default 0,
      created_at timestamptz not null,
      passed_at timestamptz,
      constraint registration_challenges_attempts check (attempts between 0 and max_attempts)
    )`

  yield* sql`
    create table registration_attempts (
      challenge_id uuid not null constraint registration_attempts_challenge references registration_challenges (id),
      attempt integer not null,
      answer jsonb not null,
      verdict jsonb not null,
      passed boolean not null,
      at timestamptz not null,
      primary key (challenge_id, attempt)
    )`
  yield* sql`
    create trigger registration_attempts_append_only before update or delete or truncate on registration_attempts
      for each statement execute function refuse_change()`

  yield* sql`
    create table claim_links (
      token_hash bytea primary key constraint claim_links_token_is_sha256 check (length(token_hash) = 32),
      agent_id uuid not null constraint claim_links_agent references agents (id),
      code_hmac bytea not null constraint claim_links_code_is_hmac check (length(code_hmac) = 32),
      wrong_codes integer not null default 0,
      created_at timestamptz not null,
      expires_at timestamptz not null,
      superseded_at timestamptz,
      used_at timestamptz
    )`
  // An agent has one live link at most.
  yield* sql`
    create unique index claim_links_one_live on claim_links (agent_id)
      where superseded_at is null and used_at is null`
  yield* sql`create index claim_links_agent_id on claim_links (agent_id)`
})
