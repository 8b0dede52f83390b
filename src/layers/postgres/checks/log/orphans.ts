/** Finds entries, in the log or pending, whose record is missing, and derived rows that contradict the records. */
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { maxDifferences } from "../../../../services/Audit.ts"
import { findAll, whenGiven } from "../../sql.ts"
import { auditLoggedHeads } from "./adminAudit.ts"
import type { LoggedHead } from "./adminAudit.ts"
import type { RecordedContinuation } from "./continuations.ts"
import { StoredEntry, checkColumns, entryColumns } from "./entry.ts"
import { addFound, eachPage } from "./findings.ts"
import type { Findings } from "./findings.ts"
import type { Rotation } from "./tree.ts"

const pageSize = 4096

const Pending = Schema.Struct({
  ...StoredEntry.fields,
  id: Schema.Finite,
  is_closing: Schema.Boolean,
  entry: Schema.NullOr(Schema.Uint8Array)
})

/** Checks the columns of pending entries, and collects the entries that other parts of the audit compare. */
export const auditPending = Effect.fnUntraced(function* (findings: Findings) {
  const sql = yield* SqlClient.SqlClient
  const pending = findAll(Pending)
  const rotations: Array<Rotation> = []
  const continuations: Array<RecordedContinuation> = []
  let count = 0
  yield* eachPage(
    pageSize,
    (after: typeof Pending.Type | undefined) =>
      pending(sql`
        select id::float8 as id, null::float8 as index, closed_at is not null as is_closing,
               ${entryColumns(sql)}
          from log_pending
         ${whenGiven(sql, after, (last) => sql`where id > ${BigInt(last.id)}::int8`)}
         order by id limit ${pageSize}`),
    (page) =>
      Effect.gen(function* () {
        const auditHeads: Array<LoggedHead> = []
        for (const { entry, ...row } of page) {
          count += 1
          const what = `a pending entry (${row.type})`
          if (row.is_closing !== (row.type === "challenge.close")) {
            findings.add(`${what}: closed_at must be set for closes, and for no others`)
          }
          if ((entry === null) !== (row.type === "challenge.close")) {
            findings.add(
              `${what}: closes must have no bytes before they have an index, and others must have them`
            )
          }
          const members = entry === null ? undefined : checkColumns(findings, { ...row, entry })
          if (members === undefined || entry === null) continue
          if (members["type"] === "log.continue") {
            continuations.push({ index: null, number: members["number"], entry })
          }
          if (members["type"] === "key.rotate") {
            rotations.push({ place: "a pending entry", old: members["old"], new: members["new"] })
          }
          if (members["type"] === "admin.audit") {
            auditHeads.push({ place: "a pending entry", count: members["count"], head: members["head"] })
          }
        }
        yield* auditLoggedHeads(sql, findings, auditHeads)
      })
  )
  return { count, rotations, continuations }
})

/** Each statement selects its first findings as `what`, and the number of all as `count`. */
export const auditOrphans = Effect.fnUntraced(function* (findings: Findings) {
  const sql = yield* SqlClient.SqlClient
  const found = addFound(findings)
  const place = sql`coalesce('entry ' || index, 'a pending entry')`
  const recorded = (types: ReadonlyArray<string>) => sql`(
    select index, type, challenge_id, version, commit, commit_index from log_entries where type in ${sql.in(types)}
     union all
    select null, type, challenge_id, version, commit, commit_index from log_pending where type in ${sql.in(types)}) r`

  yield* found(sql`
    select ${place} || ': there is no prediction with its commit' as what, (count(*) over ())::int as count
      from ${recorded(["prediction.commit"])}
     where not exists (select from predictions p where p.commit = r.commit)
     order by index limit ${maxDifferences}`)
  yield* found(sql`
    select ${place} || ': entry ' || commit_index || ' is no commit that it could reveal' as what,
           (count(*) over ())::int as count
      from ${recorded(["prediction.reveal"])}
     where not exists (
       select from log_entries e where e.index = r.commit_index and e.type = 'prediction.commit')
     order by index limit ${maxDifferences}`)
  yield* found(sql`
    select ${place} || ': there is no challenge ' || challenge_id as what, (count(*) over ())::int as count
      from ${recorded(["challenge.create", "challenge.close", "void"])}
     where not exists (select from challenges c where c.id = r.challenge_id)
     order by index limit ${maxDifferences}`)
  yield* found(sql`
    select 'a pending entry: challenge ' || c.id
           || case r.type when 'void' then ' is not cancelled' else ' is not closed' end as what,
           (count(*) over ())::int as count
      from log_pending r join challenges c on c.id = r.challenge_id
     where c.cancelled_at is null
       and (r.type = 'void' or (r.type = 'challenge.close' and c.closed_at is null))
     limit ${maxDifferences}`)
  yield* found(sql`
    select ${place} || ': there is no settlement of challenge ' || challenge_id || ', version ' || version as what,
           (count(*) over ())::int as count
      from ${recorded(["settlement", "amendment"])}
     where not exists (
       select from settlements s
        where s.challenge_id = r.challenge_id and s.version = r.version
          and r.type = case when s.version = 1 then 'settlement' else 'amendment' end)
     order by index limit ${maxDifferences}`)
  yield* found(sql`
    select 'a pending entry (' || type || ') is pending ' || count(*) || ' times' as what,
           (count(*) over ())::int as count
      from log_pending
     where type not in ('key.rotate', 'agent.register', 'agent.claim', 'agent.key', 'admin.audit', 'log.continue')
     group by type, commit, commit_index, challenge_id, version having count(*) > 1
     limit ${maxDifferences}`)
  yield* found(sql`
    select 'a pending entry (' || type || ') is in the log as entry ' || index as what,
           (count(*) over ())::int as count
      from (
        select q.type, e.index from log_pending q
          join log_entries e on e.commit = q.commit and e.type = 'prediction.commit'
         where q.type = 'prediction.commit'
         union all
        select q.type, e.index from log_pending q join log_entries e on e.commit_index = q.commit_index
         union all
        select q.type, e.index from log_pending q
          join log_entries e on e.challenge_id = q.challenge_id and e.type = q.type and e.version = q.version) as twice
     limit ${maxDifferences}`)

  yield* found(sql`
    select 'challenge ' || coalesce(k.challenge_id, p.challenge_id)
           || ': its counts (prediction_counts) are not those of its predictions' as what,
           (count(*) over ())::int as count
      from (
        select challenge_id, sum(bullish) as bullish, sum(bearish) as bearish, sum(neutral) as neutral,
               sum(forecasts) as forecasts
          from prediction_counts group by challenge_id) k
      full join (
        select challenge_id, count(*) filter (where direction = 'bullish') as bullish,
               count(*) filter (where direction = 'bearish') as bearish,
               count(*) filter (where direction = 'neutral') as neutral,
               count(*) filter (where direction is null) as forecasts
          from (
            select distinct on (challenge_id, agent_id) challenge_id, direction
              from predictions order by challenge_id, agent_id, revision desc) l
         group by challenge_id) p on p.challenge_id = k.challenge_id
     where (coalesce(k.bullish, 0), coalesce(k.bearish, 0), coalesce(k.neutral, 0), coalesce(k.forecasts, 0))
           is distinct from (coalesce(p.bullish, 0), coalesce(p.bearish, 0), coalesce(p.neutral, 0),
                             coalesce(p.forecasts, 0))
     limit ${maxDifferences}`)
  // Settlements take turns and their days never decrease, so a settlement has its own day or the day of an earlier one. An
  // amendment keeps the day of the first version.
  yield* found(sql`
    select 'settlement of challenge ' || challenge_id || ', version ' || version
           || ': day is neither the day of settled_at nor that of an earlier settlement' as what,
           (count(*) over ())::int as count
      from settlements s
     where version = 1 and day <> (settled_at at time zone 'UTC')::date
       and (day < (settled_at at time zone 'UTC')::date or not exists (
         select from settlements o
          where o.version = 1 and o.day = s.day and (o.settled_at at time zone 'UTC')::date = s.day))
     limit ${maxDifferences}`)
  yield* found(sql`
    select 'settlement of challenge ' || s.challenge_id || ', version ' || s.version
           || ': day is not that of the first settlement' as what,
           (count(*) over ())::int as count
      from settlements s
      left join settlements f on f.challenge_id = s.challenge_id and f.version = 1
     where s.version <> 1 and s.day is distinct from f.day
     limit ${maxDifferences}`)
  yield* found(sql`
    select 'log_reveals: ' || case
             when x.index is null then 'challenge ' || w.challenge_id || ' is not closed in the log'
             when c.id is null or w.due_at <> c.deadline then 'due_at of challenge ' || w.challenge_id || ' is not its deadline'
             else 'the last revealed prediction of challenge ' || w.challenge_id || ' is not one of its predictions' end as what,
           (count(*) over ())::int as count
      from log_reveals w
      left join challenges c on c.id = w.challenge_id
      left join log_entries x on x.challenge_id = w.challenge_id and x.type = 'challenge.close' and x.version = 1
     where x.index is null or c.id is null or w.due_at <> c.deadline
        or num_nonnulls(w.last_agent_id, w.last_revision) = 1
        or (w.last_agent_id is not null and not exists (
              select from predictions p
               where p.challenge_id = w.challenge_id and p.agent_id = w.last_agent_id and p.revision = w.last_revision))
     limit ${maxDifferences}`)
})
