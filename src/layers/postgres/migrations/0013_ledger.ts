import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/**
 * Credit as a double-entry ledger, in millionths of a credit. Balances move only by the trigger on `transfers`, in the
 * statement that writes the transfers, so neither can be without the other.
 */
export const ledger = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // An agent's, an owner's or a pool's account is named after it; the system's are named after what they are.
  yield* sql`
    create table accounts (
      id text collate "C" primary key,
      kind text not null constraint accounts_kind
        check (kind in ('agent', 'owner', 'pool', 'gateway_revenue', 'treasury')),
      agent_id uuid generated always as (case kind when 'agent' then substr(id, 7)::uuid end) stored
        constraint accounts_agent references agents (id),
      owner_id uuid generated always as (case kind when 'owner' then substr(id, 7)::uuid end) stored
        constraint accounts_owner references operators (id),
      challenge_id uuid generated always as (case kind when 'pool' then substr(id, 6)::uuid end) stored
        constraint accounts_pool references challenges (id),
      posted bigint not null default 0,
      -- By pending transfers out of the account; counted against it from the first moment.
      held bigint not null default 0 constraint accounts_held check (held >= 0),
      constraint accounts_id check (
        id = kind || coalesce(':' || coalesce(agent_id, owner_id, challenge_id)::text, '')),
      -- All credit comes from the treasury, so what it lacks is what all others have.
      constraint accounts_covered check (kind = 'treasury' or posted >= held),
      -- Up to here a number of credits has 15 digits, which any reader of JSON keeps.
      constraint accounts_exact check (kind not in ('agent', 'owner') or posted <= 1000000000000000)
    ) with (fillfactor = 70)`
  yield* sql`
    create function only_transfers_move_credit() returns trigger language plpgsql as $$
    begin
      raise exception 'only transfers move credit: % of accounts refused', lower(tg_op)
        using errcode = 'restrict_violation';
    end
    $$`
  yield* sql`
    create trigger accounts_opened_empty before insert on accounts for each row
      when (new.posted <> 0 or new.held <> 0) execute function only_transfers_move_credit()`
  yield* sql`
    create trigger accounts_moved_by_transfers before update on accounts for each statement
      when (pg_trigger_depth() = 0) execute function only_transfers_move_credit()`
  yield* sql`
    create trigger accounts_kept before delete or truncate on accounts
      for each statement execute function refuse_change()`

  // 'pending' holds credit, 'post' moves it, at once or out of a pending transfer, 'void' lets it go again.
  yield* sql`
    create table transfers (
      seq bigint generated always as identity,
      -- Derived from what it is for, so that whatever is done twice is refused or changes nothing.
      id text collate "C" primary key constraint transfers_id check (length(id) between 1 and 300),
      kind text not null constraint transfers_kind check (kind in ('pending', 'post', 'void')),
      debit text collate "C" not null,
      credit text collate "C" not null,
      amount bigint not null constraint transfers_amount check (amount > 0),
      pending_id text collate "C",
      reason text not null,
      at timestamptz not null,
      constraint transfers_two_accounts check (debit <> credit),
      constraint transfers_resolving check (
        case kind when 'pending' then pending_id is null when 'void' then pending_id is not null else true end)
    )`
  yield* sql`
    create unique index transfers_resolved_once on transfers (pending_id) where pending_id is not null`
  yield* sql`create index transfers_debit on transfers (debit, seq desc)`
  yield* sql`create index transfers_credit on transfers (credit, seq desc) where kind = 'post'`
  yield* sql`
    create trigger transfers_append_only before update or delete or truncate on transfers
      for each statement execute function refuse_change()`

  // Looks up accounts and pending transfers by key, however many transfers there are: a plan is made once for all
  // statements of a session, and one that is right for a settlement would read all accounts for a single transfer.
  // It stands in the place of foreign keys, which probe row by row.
  yield* sql`
    create function transfers_applied() returns trigger language plpgsql
      set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
    declare
      wrong text;
    begin
      select m.id into wrong from made m
       where not exists (select 1 from accounts where id = m.debit)
          or not exists (select 1 from accounts where id = m.credit)
       limit 1;
      if found then
        raise exception 'transfer % names an account that does not exist', wrong
          using errcode = 'foreign_key_violation', constraint = 'transfers_accounts';
      end if;
      select m.id into wrong from made m left join transfers p on p.id = m.pending_id
       where m.pending_id is not null
         and ((p.kind, p.debit, p.credit) is distinct from ('pending', m.debit, m.credit) or m.amount > p.amount
              or (m.kind = 'void' and m.amount < p.amount))
       limit 1;
      if found then
        raise exception 'transfer % does not fit the pending one that it ends', wrong
          using errcode = 'check_violation', constraint = 'transfers_fit_pending';
      end if;
      -- In the order of ids, so that two statements never wait for each other in a ring.
      perform 1 from accounts
        where id in (select debit from made union select credit from made where kind = 'post')
        order by id for no key update;
      update accounts a set posted = a.posted + moved.posted, held = a.held + moved.held
        from (
          select account, sum(posted)::bigint as posted, sum(held)::bigint as held
            from (
              select m.debit as account, case m.kind when 'post' then -m.amount else 0 end as posted,
                     case m.kind when 'pending' then m.amount else -coalesce(p.amount, 0) end as held
                from made m left join transfers p on p.id = m.pending_id
              union all
              select credit, amount, 0 from made where kind = 'post') as moves
           group by account) as moved
       where a.id = moved.account;
      return null;
    end
    $$`
  yield* sql`
    create trigger transfers_applied after insert on transfers referencing new table as made
      for each statement execute function transfers_applied()`

  // Whoever registers, and whoever signs in, has an account from then on.
  yield* sql`
    create function account_opened() returns trigger language plpgsql as $$
    begin
      insert into accounts (id, kind) select tg_argv[0] || ':' || opened.id, tg_argv[0] from opened;
      return null;
    end
    $$`
  for (const [table, kind] of [
    ["agents", "agent"],
    ["operators", "owner"]
  ] as const) {
    yield* sql`
      create trigger ${sql(`${table}_account_opened`)} after insert on ${sql(table)} referencing new table as opened
        for each statement execute function account_opened(${sql.literal(`'${kind}'`)})`
    yield* sql`
      insert into accounts (id, kind) select ${kind}::text || ':' || id, ${kind} from ${sql(table)}`
  }
  yield* sql`insert into accounts (id, kind) select kind, kind from unnest(array['treasury', 'gateway_revenue']) as kind`

  // What the agent got for its claim, null until it has: those claimed before the ledger existed get it later.
  yield* sql`
    alter table agents
      add column claim_grant bigint,
      add constraint agents_claim_grant check (claim_grant is null or (claim_grant >= 0 and claimed_at is not null))`
  yield* sql`
    create index agents_claim_grant_due on agents (id) where claimed_at is not null and claim_grant is null`
})
