import { DateTime, Duration, Effect, Layer, Ref, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { firstProgram, Instances } from "../../services/Instances.ts"
import { maxPlainName } from "./connection.ts"
import { latestMigration } from "./Database.ts"
import { arrayParam, boundTime, execute, findAll } from "./sql.ts"

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
  const lastHeld = yield* Ref.make("")

  /** Sessions of a program from before heartbeats: they bear the name of this one without a program behind it. */
  const unmarked = sql`
    select from pg_stat_activity
     where datname = current_database() and application_name !~ '/[0-9]+$'
       and left(application_name, ${maxPlainName}::int) = regexp_replace(current_setting('application_name'), '/[0-9]+$', '')`

  const beat: Instances["Service"]["beat"] = Effect.fnUntraced(function* ({ id, name, roles, version }) {
    const now = boundTime(sql, yield* DateTime.now)
    yield* execute(sql`
      insert into instances (id, name, version, program, roles, started_at, seen_at)
      select *, ${now}, ${now} from (
        select ${id}::uuid, ${name}::text, ${version}::text, ${latestMigration}::int, ${arrayParam("text", roles)}
         union all
        select '00000000-0000-0000-0000-000000000000', 'no heartbeat', 'unknown', 0, '{}' where exists (${unmarked})) seen
      on conflict (id) do update set seen_at = greatest(instances.seen_at, excluded.seen_at)`)
    // Not traced: it runs every few seconds.
  }, Effect.withTracerEnabled(false))

  const allRead: Instances["Service"]["allRead"] = Effect.fn("Instances.allRead")(function* (what) {
    const now = yield* DateTime.now
    const [older] = yield* olderRows(sql`
      select name, version, program from instances
       where program < ${firstProgram[what]} and seen_at > ${boundTime(sql, now, seenFor)}
       union all
      select 'no heartbeat', 'unknown', 0 where exists (${unmarked})
       limit 1`)
    const held = older === undefined ? "" : `${older.name} ${older.version}`
    if ((yield* Ref.getAndSet(lastHeld, held)) !== held && older !== undefined) {
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
