/** Sessions and flash hours: which of them are due, and their challenges. */
import { DateTime, Duration, Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { hour, nextSession, tradesThrough } from "../../../../scoring/sessions.ts"
import { Arenas } from "../../../../services/Arenas.ts"
import { EventId } from "../../../../services/identifiers.ts"
import { Settings } from "../../../../services/Settings.ts"
import type { Target } from "../../../../services/Targets.ts"
import { findAll, timestamp } from "../../sql.ts"
import { makeFreshPrice } from "./freshPrice.ts"
import { made } from "./plan.ts"
import type { Plan } from "./plan.ts"

const Named = Schema.Struct({ target: Schema.String, event_id: EventId })

/** No new session or flash challenges are made on a paused target. */
const isPlayed = ({ kind, paused }: Target): boolean => kind === "asset" && !paused

export const makeDirectionalPlans = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const settings = yield* Settings
  const arenas = yield* Arenas
  const freshPrice = yield* makeFreshPrice
  const named = findAll(Named)

  const sessions = (targets: ReadonlyArray<Target>, now: DateTime.Utc): ReadonlyArray<Plan> =>
    targets.filter(isPlayed).flatMap((target): ReadonlyArray<Plan> => {
      const moment = DateTime.toEpochMillis(now)
      const { date, from, until } = nextSession(target.key, moment)
      const opens = from - Duration.toMillis(settings.sessionLead)
      const lastCall = from - Duration.toMillis(settings.scheduleNotice)
      if (moment < opens || moment > lastCall) return []
      const create = arenas.directional.create({
        asset: target.key,
        kind: "session",
        question: `Which way will ${target.name} (${target.key}) move by the close of its session of ${date}?`,
        deadline: DateTime.makeUnsafe(from),
        resolve_at: DateTime.makeUnsafe(until)
      })
      return [
        {
          kind: "session",
          target: target.key,
          period: date,
          eventId: null,
          make: Effect.andThen(freshPrice(target.key), made(create))
        }
      ]
    })

  /** Of each target the newest event that made nothing of it yet, unless this hour has had its flash challenge. */
  const newestEvents = (period: string, now: DateTime.Utc) =>
    named(sql`
      select distinct on (a.target) a.target, e.id as event_id
        from events e cross join lateral unnest(e.assets) as a (target)
       where e.published_at > ${timestamp(DateTime.subtractDuration(now, settings.flashWithin))} and e.published_at <= ${timestamp(now)}
         and not exists (
           select 1 from scheduled_challenges s
            where s.schedule = 'flash' and s.target = a.target and s.period = ${period})
         and not exists (select 1 from scheduled_challenges s where s.event_id = e.id and s.target = a.target)
       order by a.target, e.published_at desc, e.id desc`)

  const flashes = Effect.fnUntraced(function* (targets: ReadonlyArray<Target>, now: DateTime.Utc) {
    const moment = DateTime.toEpochMillis(now)
    const resolveAt = DateTime.makeUnsafe(moment + hour)
    const period = DateTime.formatIso(now).slice(0, 13)
    const events = yield* newestEvents(period, now)
    return targets.filter(isPlayed).flatMap((target): ReadonlyArray<Plan> => {
      const event = events.find((each) => each.target === target.key)
      if (event === undefined || !tradesThrough(target.key, moment, moment + hour)) return []
      const create = arenas.directional.create({
        asset: target.key,
        kind: "flash",
        event_id: event.event_id,
        question: `Which way will ${target.name} (${target.key}) move in the hour until ${DateTime.formatIso(resolveAt)}, after the event?`,
        deadline: DateTime.min(DateTime.addDuration(now, settings.flashTime), resolveAt),
        resolve_at: resolveAt
      })
      return [
        {
          kind: "flash",
          target: target.key,
          period,
          eventId: event.event_id,
          make: Effect.andThen(freshPrice(target.key), made(create))
        }
      ]
    })
  })

  return { sessions, flashes }
})
