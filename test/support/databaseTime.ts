/**
 * The clock of test databases: `database_time()` follows the clock of the fiber that runs the statement if that is a TestClock, and
 * is real otherwise, as for processes that a test starts.
 */
import { Clock, Context, DateTime, Duration, Effect, Layer, Predicate } from "effect"
import { SqlClient, Statement } from "effect/sql"

/** The owner of the template replaces the function by one that reads the time at the end of the calling statement. */
export const followingTestClock = SqlClient.SqlClient.use(
  (sql) => sql`
    create or replace function database_time() returns timestamptz stable language sql as $$
      select coalesce(to_timestamp(t.millis / 1000) + t.millis % 1000 * interval '1 millisecond', clock_timestamp())
        from (select substring(current_query() from 'database time (-?[0-9]+)')::bigint as millis) t
    $$`
)

/** The database's time for a fiber, if a test makes it differ from the fiber's own. */
const OtherTime = Context.Reference<(own: number) => number>("auspex/test/OtherTime", {
  defaultValue: () => (own) => own
})

/** Sets the database's clock to this moment for this work. */
export const withDatabaseAt = (moment: DateTime.Utc) =>
  Effect.provideService(OtherTime, () => DateTime.toEpochMillis(moment))

/** Sets the database's clock ahead by this much for the layers built on this. */
export const databaseAhead = (by: Duration.Input) =>
  Layer.succeed(OtherTime, (own) => own + Duration.toMillis(by))

/** Gives each statement that asks for the database's time the one of its fiber. */
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
