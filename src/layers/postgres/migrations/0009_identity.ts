import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Operators and how they sign in, the owners of agents, claim mails, the end of grace windows, and the outbox. */
export const identity = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
    create table operators (
      id uuid primary key,
      -- Verified, in lower case: a sign-in link to this address signs in to this account.
      email text constraint operators_one_per_email unique
        constraint operators_email_lower_case check (email = lower(email)),
      plan text not null default 'free' constraint operators_plan check (plan in ('free', 'pro', 'team')),
      created_at timestamptz not null
    )`

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
      -- Sealed, because the path of a claim page holds a secret.
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

  // The operator that claimed an agent is its owner, once and for good.
  yield* sql`
    alter table agents
      add column owner_id uuid constraint agents_owner references operators (id),
      -- How many of the notices about the end of the grace window have been given.
      add column grace_notices smallint not null default 0
        constraint agents_grace_notices check (grace_notices between 0 and 3),
      add column issuance_paused_at timestamptz,
      add constraint agents_claimed_by_owner check ((claimed_at is null) = (owner_id is null))`
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
  yield* sql`create index agents_owner_id on agents (owner_id, claimed_at desc, id) where owner_id is not null`
  yield* sql`create index agents_claimed_at on agents (claimed_at) where claimed_at is not null`
  yield* sql`
    create index agents_grace_ends on agents (grace_notices, provisional_until, id)
      where claimed_at is null and challenge_passed_at is not null and grace_notices < 3`

  // Links in mails, which sign in and claim in one step. An agent has one live one at most.
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

  // Mailboxes whose holders said "not mine": no agent causes a mail to them any more.
  yield* sql`
    create table declined_mailboxes (
      mailbox text primary key,
      declined_at timestamptz not null
    )`

  // What a mail says holds secret links, so it is sealed, and gone once it was sent or given up.
  yield* sql`
    create table mails (
      id uuid primary key,
      kind text not null constraint mails_kind
        check (kind in ('sign_in', 'claim', 'grace_reminder', 'issuance_paused')),
      recipient text not null,
      sealed bytea,
      created_at timestamptz not null,
      expires_at timestamptz not null,
      attempts integer not null default 0,
      due_at timestamptz not null,
      sent_at timestamptz,
      failed_at timestamptz,
      last_error text,
      constraint mails_one_end check (sent_at is null or failed_at is null),
      constraint mails_sealed_until_ended check ((sealed is null) = (sent_at is not null or failed_at is not null))
    )`
  yield* sql`create index mails_due_at on mails (due_at, id) where sent_at is null and failed_at is null`
  yield* sql`create index mails_ended on mails (created_at) where sent_at is not null or failed_at is not null`
})
