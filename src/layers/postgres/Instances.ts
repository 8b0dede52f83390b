import { DateTime, Duration, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { firstProgram, Instances } from "../../services/Instances.ts"
import { maxPlainName } from "./connection.ts"
import { latestMigration } from "./Database.ts"
import { arrayParam, boundTime, execute, findAll, findOne } from "./sql.ts"

/**
 * An instance counts for this long after its last heartbeat. Meanwhile it may be restarted, and an operator may have to go back to
 * the version before.
 */
const seenFor = Duration.minutes(10)

/** Operators can look up for this long which instances ran. */
const retention = Duration.days(7)

const Older = Schema.Struct({ name: Schema.String, version: Schema.String, program: Schema.Int })

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const olderRows = findAll(Older)
  const instanceRow = findOne(Schema.Struct({ min_program: Schema.Int }))
  const lastHeld = new Map<string, string>()
  /** The oldest program that the database accepts, as last read: it never accepts an older one again. */
  let minProgram = 0

  /**
   * Selects sessions of programs from before heartbeats: they have this one's role or application name, and no program behind that
   * name. PostgreSQL's own clients are left out. A pooler may append an address to names; if it names sessions itself, such sessions
   * cannot be recognized.
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
    // This uses the database's clock: an instance is alive however wrong its own clock is.
    yield* execute(sql`
      insert into instances (id, name, version, program, roles, started_at, seen_at)
      select *, ${databaseNow}, ${databaseNow} from (
        select ${id}::uuid, ${name}::text, ${version}::text, ${latestMigration}::int, ${arrayParam("text", roles)}
         union all
        select '00000000-0000-0000-0000-000000000000', name, 'unknown', 0, '{}' from (${unmarked}) u) seen
      on conflict (id) do update set name = excluded.name, seen_at = greatest(instances.seen_at, excluded.seen_at)`)
    // It runs every few seconds, so it is not traced.
  }, Effect.withTracerEnabled(false))

  const allRead: Instances["Service"]["allRead"] = Effect.fn("Instances.allRead")(function* (what) {
    // Once an answer in the form is written, older programs are not ready any more, so further answers need no query.
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
