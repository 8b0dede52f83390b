import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Windows of limits that know the time of each counted use. The version before keeps its own, `rate_limits`. */
export const exactLimits = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // Unlogged: after a crash of the database the windows start anew, which costs nothing worth a disk write each.
  yield* sql`
    create unlogged table limit_windows (
      key text primary key,
      -- The times of counted uses, in milliseconds, ascending.
      times bigint[] not null,
      -- The number of uses up to each of these times, since the row was made.
      totals bigint[] not null,
      -- The number of uses before the first of them.
      gone bigint not null,
      -- The end of a window after the last: it changes once a window, so that most updates touch no index.
      expires_at timestamptz not null
    ) with (fillfactor = 50)`
  yield* sql`create index limit_windows_expires_at on limit_windows (expires_at)`

  // Callers ask for windows, all windows of one caller in one order. A caller gets as many uses as every window of its own has room
  // for. A window that is only checked needs room for one and is not used. Windows that are counted belong to one caller only. The
  // upsert that changes nothing makes missing rows and locks all, in one order; later parts see the locked rows.
  yield* sql`
    create function use_limits(
      at_ms bigint, caller_of integer[], key_of text[], max_of bigint[], window_of bigint[], tick_of bigint[],
      uses_of bigint[], counted_of boolean[]
    ) returns table (place bigint, granted bigint, used bigint, stamp bigint, wait_ms bigint)
    language plpgsql as $$
    #variable_conflict use_column
    begin
      insert into limit_windows as w (key, times, totals, gone, expires_at)
      select a.key, '{}', '{}', 0, to_timestamp(at_ms / 1000.0)
        from unnest(key_of, counted_of) a (key, is_counted)
       where a.is_counted
       order by a.key
      on conflict (key) do update set gone = excluded.gone where false;

      return query
      with asked as (
        select a.*, s.*
          from unnest(caller_of, key_of, max_of, window_of, tick_of, uses_of, counted_of)
                 with ordinality a (caller, key, max_uses, window_ms, tick, uses, is_counted, place)
         cross join lateral (
           select w.times, w.totals, w.gone, cardinality(w.times) as entries, w.times[cardinality(w.times)] as last
             from (values (1)) v left join limit_windows w on w.key = a.key limit 1) r
         -- A replica whose clock is behind counts by the newest known time.
         cross join lateral (select greatest(at_ms, r.last - a.tick + 1) as moment) m
         cross join lateral (
           select r.times, r.totals, r.last, r.entries, m.moment,
                  coalesce(width_bucket(m.moment - a.window_ms, r.times), 0) as left_count,
                  greatest((m.moment + a.tick - 1) / a.tick * a.tick, r.last) as stamp,
                  coalesce(r.totals[r.entries], r.gone, 0) as total,
                  r.gone) t
         cross join lateral (
           select t.*, case t.left_count when 0 then coalesce(t.gone, 0) else t.totals[t.left_count] end as floor) s
      ), decided as (
        select a.*, least(a.uses, min(
                 case when a.is_counted then greatest(0, a.max_uses - (a.total - a.floor))
                      when a.total - a.floor < a.max_uses then a.uses
                      else 0 end) over (partition by a.caller)) as granted
          from asked a
      ), counted as (
        insert into limit_windows as w (key, times, totals, gone, expires_at)
        select d.key, d.times[d.left_count + 1:kept] || d.stamp, d.totals[d.left_count + 1:kept] || (d.total + d.granted), d.floor,
               to_timestamp((d.stamp / d.window_ms + 2) * d.window_ms / 1000.0)
          from decided d
         cross join lateral (select d.entries - (d.last is not distinct from d.stamp)::int as kept) k
         where d.is_counted and d.granted > 0
        on conflict (key) do update
          set times = excluded.times, totals = excluded.totals, gone = excluded.gone, expires_at = excluded.expires_at
      )
      select d.place, d.granted, u.used, d.stamp,
             (case when n.nth <= d.total - d.floor
                then d.times[width_bucket(d.floor + n.nth - 1, d.totals) + 1]
                else d.stamp end) + d.window_ms - d.moment
        from decided d
       cross join lateral (
         select d.total - d.floor + case when d.is_counted then d.granted else 0 end as used) u
       -- The use that must leave before there is room for another, or for one more.
       cross join lateral (select greatest(1, u.used - d.max_uses + 1) as nth) n
       order by d.place;
    end
    $$`

  // A use whose time has left the window is subtracted from those that are gone, which changes nothing. A time without a use is
  // removed, too, so that a row holds no more times than uses.
  yield* sql`
    create function return_uses(key_of text[], stamp_of bigint[]) returns void language plpgsql as $$
    begin
      perform from limit_windows w where w.key = any (key_of) order by w.key for no key update;
      update limit_windows w set times = kept.times, totals = kept.totals, gone = early.gone
        from limit_windows o
       cross join lateral (
         select o.gone - count(*) as gone from unnest(key_of, stamp_of) r (key, stamp)
          where r.key = o.key and r.stamp < coalesce(o.times[1], r.stamp + 1)) early
       cross join lateral (
         select coalesce(array_agg(e.counted_at order by e.place) filter (where e.total > e.before), '{}') as times,
                coalesce(array_agg(e.total order by e.place) filter (where e.total > e.before), '{}') as totals
           from (
             select t.place, t.counted_at, t.total, lag(t.total, 1, early.gone) over (order by t.place) as before
               from (
                 select u.place, u.counted_at,
                        u.total - (select count(*) from unnest(key_of, stamp_of) r (key, stamp)
                                    where r.key = o.key and r.stamp <= u.counted_at) as total
                   from unnest(o.times, o.totals) with ordinality u (counted_at, total, place)) t) e) kept
       where o.key = w.key and o.key = any (key_of);
    end
    $$`
})
