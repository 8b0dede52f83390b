/**
 * The clock of test databases: `database_time()` follows the clock of the fiber that runs the statement where that is a TestClock, and
 * is real otherwise, as for processes that a test starts.
 */
import { Clock, Context, DateTime, Duration, Effect, Layer, Predicate } from "effect"
import { SqlClient, Statement } from "effect/sql"

/** The owner of the template replaces the function by one that reads the time at the end of the statement that calls it. */
export const followingTestClock = SqlClient.SqlClient.use(
  (sql) => sql`
    create or replace function database_time() returns timestamptz stable language sql as $$
      select coalesce(to_timestamp(t.millis / 1000) + t.millis % 1000 * interval '1 millisecond', clock_timestamp())
        from (select substring(current_query() from 'database time (-?[0-9]+)')::bigint as millis) t
    $$`
)

/** What the database's clock says to a fiber, where a test has it differ from the fiber's own. */
const OtherTime = Context.Reference<(own: number) => number>("auspex/test/OtherTime", {
  defaultValue: () => (own) => own
})

/** To this work the database's clock stands at this moment. */
export const withDatabaseAt = (moment: DateTime.Utc) =>
  Effect.provideService(OtherTime, () => DateTime.toEpochMillis(moment))

/** To whoever is built on this the database's clock is so far ahead of its own. */
export const databaseAhead = (by: Duration.Input) =>
  Layer.succeed(OtherTime, (own) => own + Duration.toMillis(by))

/** Tells each statement that asks for the database's time the one of its fiber. */
export const toldTime = Layer.succeed(Statement.CurrentTransformer, (statement, sql, fiber) => {
  const [text] = statement.compile()
  const clock = fiber.getRef(Clock.Clock)
  const own = clock.currentTimeMillisUnsafe()
  const told = fiber.getRef(OtherTime)(own)
  const isTold = Predicate.hasProperty(clock, "setTime") || told !== own
  if (!text.includes("database_time()") || !isTold) return Effect.succeed(statement)
  const millis = Math.floor(told)
  return Effect.succeed(sql`${statement} ${sql.literal(`/* database time ${millis} */`)}`)
})
