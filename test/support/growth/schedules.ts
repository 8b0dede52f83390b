/** The schedules' work of years, and their reads at each look for due challenges. */
import { Effect, References } from "effect"
import { SqlClient } from "effect/sql"
import { Prices } from "../../../src/services/Prices.ts"
import { Schedules } from "../../../src/services/Schedules.ts"
import { challengePrefix, uuidText } from "./identifiers.ts"
import type { Read } from "./reads.ts"
import type { Size } from "./seed.ts"

/**
 * A session of gold every day until some days from now, and a flash hour after each event, so that none is due. Other targets have no
 * price to begin from, so a run makes nothing.
 */
export const scheduled = Effect.fnUntraced(function* (size: Size) {
  const sql = yield* SqlClient.SqlClient
  const challenge = (number: string) => sql.literal(uuidText(challengePrefix, number))
  yield* sql`
    insert into scheduled_challenges (schedule, target, period, challenge_id, made_at)
    select 'session', 'GC', to_char(now() at time zone 'UTC' + (7 - n) * interval '1 day', 'YYYY-MM-DD'),
           ${challenge("n")}::uuid, now()
      from generate_series(0, ${size.events - 1}::int) as n`
  yield* sql`
    insert into scheduled_challenges (schedule, target, period, challenge_id, event_id, made_at)
    select 'flash', 'GC', to_char(now() at time zone 'UTC' - n * interval '1 hour', 'YYYY-MM-DD"T"HH24'),
           ${challenge(`${size.events} + n`)}::uuid, 'event-' || n, now()
      from generate_series(0, ${size.events - 1}::int) as n`
  // One release has its challenge, and the other's series has too few prints for its bins.
  yield* sql`
    insert into release_calendar (target, period, release_at, unit, reward_pool)
    values ('CPI', '2026-03', now() + interval '1 day', '', 0), ('CPI', '2026-04', now() + interval '2 days', '', 0)`
})

/** Challenges that wait for a price are logged, which does not matter here. */
const quietly = Effect.provideService(References.MinimumLogLevel, "None")

export const scheduleReads: ReadonlyArray<Read> = [
  {
    route: "schedules",
    variant: "what is due",
    page: "first",
    run: quietly(Schedules.use(({ makeDue }) => makeDue))
  },
  {
    route: "schedules",
    variant: "the latest price",
    page: "first",
    run: Prices.use((prices) => prices.latest("GC"))
  }
]
