import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { appendOnly, kept } from "./guards.ts"

/** Operators and their sign-in, agents, their registration and authentication, and their claims. */
export const agents = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
    create table operators (
      id uuid primary key,
      -- This address is verified and in lower case: a sign-in link to it signs in to this account.
      email text constraint operators_one_per_email unique
        constraint operators_email_lower_case check (email = lower(email)),
      -- A mailbox has one account, whichever form of its address is used.
      mailbox text constraint operators_one_per_mailbox unique,
      plan text not null default 'free' constraint operators_plan check (plan in ('free', 'pro', 'team')),
      -- The credit of its plan that the owner got, and the month of it; '-infinity' before the first.
      credited_month date not null default '-infinity',
      credited bigint not null default 0 constraint operators_credited check (credited >= 0),
      created_at timestamptz not null,
      constraint operators_mailbox_of_email check ((mailbox is null) = (email is null))
    )`
  yield* sql`create index operators_plan_credit on operators (plan, credited_month, credited, id)`

  yield* sql`
    create table operator_identities (
      issuer text not null,
      subject text not null,
      operator_id uuid not null constraint operator_identities_operator references operators (id),
      created_at timestamptz not null,
      constraint operator_identities_one_account primary key (issuer, subject)
    )`
  yield* sql`create index operator_identities_operator_id on operator_identities (operator_id)`

  yield* sql`
    create table operator_sessions (
      secret_hash bytea primary key constraint operator_sessions_secret_is_sha256 check (length(secret_hash) = 32),
      operator_id uuid not null constraint operator_sessions_operator references operators (id),
      created_at timestamptz not null,
      last_used_at timestamptz not null,
      expires_at timestamptz not null
    )`
  yield* sql`create index operator_sessions_operator_id on operator_sessions (operator_id)`
  yield* sql`create index operator_sessions_expires_at on operator_sessions (expires_at)`

  yield* sql`
    create table sign_in_links (
      token_hash bytea primary key constraint sign_in_links_token_is_sha256 check (length(token_hash) = 32),
      email text not null,
      -- This is encrypted, because the path of a claim page holds a secret.
      return_to bytea not null,
      created_at timestamptz not null,
      expires_at timestamptz not null,
      superseded_at timestamptz,
      used_at timestamptz
    )`
  // Only the newest link to an address works.
  yield* sql`
    create unique index sign_in_links_one_live on sign_in_links (email)
      where superseded_at is null and used_at is null`
  yield* sql`create index sign_in_links_expires_at on sign_in_links (expires_at)`

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
      requested_scopes text[] not null,
      auth_method text not null constraint agents_auth_method
        check (auth_method in ('client_credentials', 'private_key_jwt')),
      -- Agents of both methods have a secret: it renews claim links.
      secret_hash bytea not null constraint agents_secret_is_sha256 check (length(secret_hash) = 32),
      public_key text,
      jwks_url text,
      -- The time of the last change of the agent's credentials; null if they are those of its registration.
      key_set_at timestamptz,
      token_epoch integer not null default 0,
      first_token_at timestamptz,
      created_at timestamptz not null,
      challenge_passed_at timestamptz,
      provisional_until timestamptz not null,
      -- The limit that the agent was promised when it registered; null once it is claimed.
      prediction_limit integer,
      predictions_used integer not null default 0,
      -- The number of notices about the end of the provisional period so far.
      grace_notices smallint not null default 0
        constraint agents_grace_notices check (grace_notices between 0 and 3),
      issuance_paused_at timestamptz,
      -- The operator that claimed it; this is final.
      owner_id uuid constraint agents_owner references operators (id),
      claimed_at timestamptz,
      claim_grant bigint,
      -- True if the owner lets it spend its credit on models.
      credit_arena_enabled boolean not null default false,
      suspended_at timestamptz,
      constraint agents_key_by_method check (
        num_nonnulls(public_key, jwks_url) = case auth_method when 'private_key_jwt' then 1 else 0 end),
      constraint agents_provisional_limit check (prediction_limit is null or predictions_used <= prediction_limit),
      constraint agents_claimed_by_owner check ((claimed_at is null) = (owner_id is null)),
      constraint agents_claimed_without_limit check (claimed_at is null or prediction_limit is null),
      constraint agents_claim_grant check (claim_grant is null or (claim_grant >= 0 and claimed_at is not null))
    )`
  yield* sql`create index agents_owner_id on agents (owner_id, claimed_at desc, id) where owner_id is not null`
  yield* sql`create index agents_claimed_at on agents (claimed_at) where claimed_at is not null`
  yield* sql`
    create index agents_grace_ends on agents (grace_notices, provisional_until, id)
      where claimed_at is null and challenge_passed_at is not null and grace_notices < 3`

  yield* sql`
    create function agents_claimed_once() returns trigger language plpgsql as $$
    begin
      raise exception 'an agent is claimed once' using errcode = 'restrict_violation';
    end
    $$`
  yield* sql`
    create trigger agents_claimed_once before update of claimed_at, owner_id on agents for each row
      when ((new.claimed_at, new.owner_id) is distinct from (old.claimed_at, old.owner_id) and old.claimed_at is not null)
      execute function agents_claimed_once()`
  // A track record belongs to the agent that registered.
  yield* sql`
    create function agents_stay() returns trigger language plpgsql as $$
    begin
      raise exception 'an agent keeps its id, its name, its auth_method and the time of its registration'
        using errcode = 'restrict_violation';
    end
    $$`
  yield* sql`
    create trigger agents_stay before update of id, name, auth_method, created_at on agents for each row
      when ((new.id, new.name, new.auth_method, new.created_at)
            is distinct from (old.id, old.name, old.auth_method, old.created_at))
      execute function agents_stay()`
  yield* kept("agents")

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
  yield* appendOnly("registration_attempts")

  // This table is logged, unlike rate_limits: an assertion that a crash forgot could be used again.
  yield* sql`
    create table used_assertions (
      agent_id uuid not null constraint used_assertions_agent references agents (id),
      jti text not null constraint used_assertions_jti check (char_length(jti) between 1 and 128),
      expires_at timestamptz not null,
      constraint used_assertions_once primary key (agent_id, jti)
    )`
  yield* sql`create index used_assertions_expires_at on used_assertions (expires_at)`

  // Links that agents hand to their operators. An agent has at most one live link.
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
  yield* sql`
    create unique index claim_links_one_live on claim_links (agent_id)
      where superseded_at is null and used_at is null`
  yield* sql`create index claim_links_agent_id on claim_links (agent_id)`

  // Links in mails, which sign in and claim in one step. An agent has at most one live link.
  yield* sql`
    create table mail_claims (
      token_hash bytea primary key constraint mail_claims_token_is_sha256 check (length(token_hash) = 32),
      agent_id uuid not null constraint mail_claims_agent references agents (id),
      email text not null,
      created_at timestamptz not null,
      expires_at timestamptz not null,
      superseded_at timestamptz,
      used_at timestamptz
    )`
  yield* sql`
    create unique index mail_claims_one_live on mail_claims (agent_id)
      where superseded_at is null and used_at is null`
  yield* sql`create index mail_claims_agent_id on mail_claims (agent_id)`

  // Mailboxes whose holders said "not mine": agents cause no more mails to them.
  yield* sql`
    create table declined_mailboxes (
      mailbox text primary key,
      declined_at timestamptz not null
    )`
})
