import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/**
 * Transfers find the pending ones that they end one by one. As a join it was planned, where the table had been empty when
 * it was last looked at, as a read of the whole index, so each statement took longer the more transfers there were.
 */
export const pendingLookup = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
    create or replace function transfers_applied() returns trigger language plpgsql
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
      select m.id into wrong from made m left join lateral (select * from transfers where id = m.pending_id limit 1) p on true
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
                from made m left join lateral (select * from transfers where id = m.pending_id limit 1) p on true
              union all
              select credit, amount, 0 from made where kind = 'post') as moves
           group by account) as moved
       where a.id = moved.account;
      return null;
    end
    $$`
})
