/**
 * The clock of the season's own database. Its server runs jobs only while their clocks agree, so the database's clock follows the one
 * that the season moves: the owner of the schema replaces `database_time()`.
 */
import { PgClient } from "@effect/sql-pg"
import { Clock, Context, DateTime, Effect, FileSystem, Layer, Path, Redacted } from "effect"
import { CommandFailed } from "../../client/connection.ts"

/** The name of both the embedded database and its owner. */
const name = "auspex"

/** The URL of this data directory's embedded database, for the role that owns it. */
const ownersUrl = Effect.fnUntraced(function* (data: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const password = (yield* fs.readFileString(path.join(data, "postgres-password"))).trim()
  // The fourth line contains the port.
  const [, , , port] = (yield* fs.readFileString(path.join(data, "postgres", "postmaster.pid"))).split("\n")
  return Redacted.make(`postgres://${name}:${password}@127.0.0.1:${port}/${name}?sslmode=disable`)
})

/** Makes an effect that moves the database's clock, which otherwise runs at its usual pace. */
export const movedDatabase = Effect.fn("demo.season.databaseClock")(
  function* (data: string) {
    const url = yield* ownersUrl(data)
    const sql = yield* Effect.map(
      Layer.build(PgClient.layer({ url, maxConnections: 1 })),
      Context.get(PgClient.PgClient)
    )
    yield* sql`create table season_clock (ahead interval not null)`
    yield* sql`insert into season_clock values ('0')`
    yield* sql`
      create or replace function database_time() returns timestamptz language sql stable security definer as
        'select clock_timestamp() + ahead from season_clock'`
    return (time: DateTime.Utc) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const ahead = DateTime.toEpochMillis(time) - now
        return sql`update season_clock set ahead = ${ahead}::float8 * interval '1 millisecond'`
      }).pipe(Effect.orDie)
  },
  Effect.mapError(
    (error) =>
      new CommandFailed({ message: `The clock of the season's database cannot be moved: ${error.message}` })
  )
)
