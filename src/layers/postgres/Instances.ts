import { DateTime, Duration, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { firstProgram, Instances } from "../../services/Instances.ts"
import { maxPlainName } from "./connection.ts"
import { latestMigration } from "./Database.ts"
import { arrayParam, boundTime, execute, findAll, findOne } from "./sql.ts"

/**
 * An instance counts for so long after it was last seen. In between it may be restarted, and an operator may find that the
 * version before has to come back.
 */
const seenFor = Duration.minutes(10)

/** Rows are kept for operators who ask what ran. */
const retention = Duration.days(7)

const Older = Schema.Struct({ name: Schema.String, version: Schema.String, program: Schema.Int })

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const olderRows = findAll(Older)
  const instanceRow = findOne(Schema.Struct({ min_program: Schema.Int }))
  const lastHeld = new Map<string, string>()
  /** The oldest program that the database took when it was asked last: it never takes an older one again. */
  let minProgram = 0

  /**
   * A session of a program from before heartbeats: it has this one's role or name, and no program behind its name, whatever that is.
   * PostgreSQL's own clients are none. A pooler may add an address behind names; where it gives sessions a name of its own, these
   * say nothing.
   */
  const unmarked = sql`
    select 'session "' || application_name || '"' as name
      from pg_stat_activity
     where datname = current_database() and coalesce(backend_type, 'client backend') = 'client backend'
       and application_name !~ '/[0-9]+($| )' and application_name not in ('psql', 'pg_dump', 'pg_restore')
       and (usename = session_user
            or left(application_name, ${maxPlainName}::int) = regexp_replace(current_setting('application_name'), '/[0-9]+$', ''))
       and current_setting('application_name') ~ '/[0-9]+($| )'
     limit 1`

  const databaseNow = sql`date_trunc('milliseconds', database_time())`

  const beat: Instances["Service"]["beat"] = Effect.fnUntraced(function* ({ id, name, roles, version }) {
    // By the database's clock: an instance is there however wrong its own is.
    yield* execute(sql`
      insert into instances (id, name, version, program, roles, started_at, seen_at)
      select *, ${databaseNow}, ${databaseNow} from (
        select ${id}::uuid, ${name}::text, ${version}::text, ${latestMigration}::int, ${arrayParam("text", roles)}
         union all
        select '00000000-0000-0000-0000-000000000000', name, 'unknown', 0, '{}' from (${unmarked}) u) seen
      on conflict (id) do update set name = excluded.name, seen_at = greatest(instances.seen_at, excluded.seen_at)`)
    // Not traced: it runs every few seconds.
  }, Effect.withTracerEnabled(false))

  const allRead: Instances["Service"]["allRead"] = Effect.fn("Instances.allRead")(function* (what) {
    // Once one is written, older programs are not ready any more: nothing is asked for each answer from then on.
    if (minProgram >= firstProgram[what]) return true
    minProgram = (yield* instanceRow(sql`select min_program from instance`)).min_program
    if (minProgram >= firstProgram[what]) return true
    const now = yield* DateTime.now
    const [older] = yield* olderRows(sql`
      select name, version, program from instances
       where program < ${firstProgram[what]} and seen_at > ${boundTime(sql, now, seenFor)}
       union all
      select name, 'unknown', 0 from (${unmarked}) u
       limit 1`)
    const held = older === undefined ? "" : `${older.name} ${older.version}`
    const heldBefore = lastHeld.get(what) ?? ""
    lastHeld.set(what, held)
    if (heldBefore !== held && older !== undefined) {
      yield* Effect.logInfo(
        "an older instance was seen in the last 10 minutes, so nothing is written that it could not read"
      ).pipe(
        Effect.annotateLogs({
          older_instance: older.name,
          older_version: older.version,
          older_program: older.program,
          needed_program: firstProgram[what]
        })
      )
    }
    return older === undefined
  })

  const trim = Effect.gen(function* () {
    const now = yield* DateTime.now
    yield* execute(sql`delete from instances where seen_at < ${boundTime(sql, now, retention)}`)
  }).pipe(Effect.withSpan("Instances.trim"))

  return Instances.of({ beat, allRead, trim })
})

export const layer = Layer.effect(Instances, make)
