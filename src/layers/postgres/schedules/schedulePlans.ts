/** Challenges that are due now, schedule by schedule, and how each is made. */
import { Data, Effect, DateTime, Duration, Schema, BigDecimal, Option, Struct, Record } from "effect"
import { EventId } from "../../../services/domain/ids.ts"
import type { ChallengeId } from "../../../services/domain/ids.ts"
import type { Scheduled } from "../../../services/Schedules.ts"
import { SqlClient } from "effect/sql"
import {
  mayRoll,
  nextSession,
  tradesThrough,
  nextMonday,
  dateText,
  lastClose
} from "../../../scoring/calendar.ts"
import { Arenas } from "../../../services/Arenas.ts"
import { Settings } from "../../../services/Settings.ts"
import type { Target } from "../../../services/Targets.ts"
import { findAll, timestamp, findOne } from "../sql.ts"
import { closeScale, countedDays, day, hour, scaleReturns, levelsAround } from "../../../scoring/candles.ts"
import { flashQuestion, ladderQuestion, sessionQuestion } from "../../../scoring/kinds/direction.ts"
import { deadZoneOf } from "../../../scoring/reference.ts"
import { ladderHours, OrderedCategory } from "../../../services/domain/Challenge.ts"
import type { ChallengeType } from "../../../services/domain/Challenge.ts"
import type { firstProgram } from "../../../services/Instances.ts"
import { Prices } from "../../../services/Prices.ts"
import { decimalStep, minSurprises, referenceScale, edgesAround } from "../../../scoring/macro.ts"
import { categoriesOf } from "../challenges/challengeRows.ts"
import { makeEarlierPrints } from "../challenges/macroTerms.ts"
import { makeDailyCloses } from "../challenges/priceEventTerms.ts"
import { makeReferences } from "../challenges/reference.ts"
import { candleFacts, weeklyQuestions } from "../../../scoring/kinds/facts.ts"

/** A challenge is due and cannot be made, for a reason that may pass. */
export class NotYet extends Data.TaggedError("NotYet")<{ readonly reason: string }> {}

export interface Plan extends Scheduled {
  /** The event that a flash challenge is made of. */
  readonly eventId: string | null
  /** The program that an instance needs to read the challenge; absent if every instance can read it. */
  readonly needs?: keyof typeof firstProgram
  readonly make: Effect.Effect<{ readonly id: ChallengeId }, NotYet>
}

/** Turns the arena's error into the reason. */
const orNotYet = (
  create: Effect.Effect<{ readonly id: ChallengeId }, { readonly detail: string }>
): Plan["make"] => Effect.mapError(create, ({ detail }) => new NotYet({ reason: detail }))

const Named = Schema.Struct({ target: Schema.String, event_id: EventId })

/** A challenge that a schedule will make on a target, and the time. */
export interface Expected {
  readonly target: Pick<Target, "key" | "category">
  readonly type: ChallengeType
  readonly kind: string
  readonly at: number
}

/** No new directional challenges are made on a paused target. */
const hasSessions = ({ kind, paused }: Target): boolean => kind === "asset" && !paused

/** Plans sessions and flash hours. */
export const makeDirectionalPlans = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const settings = yield* Settings
  const arenas = yield* Arenas
  const freshPrice = yield* makeFreshPrice
  const named = findAll(Named)
  const sessionLead = Duration.toMillis(settings.sessionLead)

  /** The next session after a time that begins and ends within one contract: the lead is short, so there is one each month. */
  const sessionAfter = (target: string, time: number): ReturnType<typeof nextSession> => {
    const session = nextSession(target, time)
    const { from, until } = session
    return mayRoll(target, from - sessionLead, until) ? sessionAfter(target, from) : session
  }

  const sessions = (targets: ReadonlyArray<Target>, now: DateTime.Utc): ReadonlyArray<Plan> =>
    targets.filter(hasSessions).flatMap((target): ReadonlyArray<Plan> => {
      const moment = DateTime.toEpochMillis(now)
      const { date, from, until } = sessionAfter(target.key, moment)
      const opens = from - sessionLead
      const lastCall = from - Duration.toMillis(settings.scheduleNotice)
      if (moment < opens || moment > lastCall) return []
      const create = arenas.create("directional", {
        asset: target.key,
        kind: "session",
        question: sessionQuestion(target.key, target.name, date),
        deadline: DateTime.makeUnsafe(from),
        resolve_at: DateTime.makeUnsafe(until)
      })
      return [
        {
          kind: "session",
          target: target.key,
          period: date,
          eventId: null,
          make: Effect.andThen(freshPrice(target.key), orNotYet(create))
        }
      ]
    })

  const nextSessions = (targets: ReadonlyArray<Target>, now: DateTime.Utc): ReadonlyArray<Expected> =>
    targets.filter(hasSessions).map((target) => {
      const moment = DateTime.toEpochMillis(now)
      const { from } = sessionAfter(target.key, moment + sessionLead)
      return { target, type: "directional", kind: "session", at: from - sessionLead }
    })

  /** The newest event of each target that has no flash challenge on the target yet; none if this hour has one. */
  const newestEvents = (period: string, now: DateTime.Utc) =>
    named(sql`
      select distinct on (a.target) a.target, e.id as event_id
        from events e cross join lateral unnest(e.assets) as a (target)
       where e.published_at > ${timestamp(DateTime.subtractDuration(now, settings.flashWithin))} and e.published_at <= ${timestamp(now)}
         and e.published_at_known
         and not exists (
           select 1 from scheduled_challenges s
            where s.schedule = 'flash' and s.target = a.target and s.period = ${period})
         and not exists (select 1 from scheduled_challenges s where s.event_id = e.id and s.target = a.target)
       order by a.target, e.published_at desc, e.id desc`)

  const isOpen = (target: string, from: number): boolean =>
    tradesThrough(target, from, from + hour) && !mayRoll(target, from, from + hour)

  const flashes = Effect.fnUntraced(function* (targets: ReadonlyArray<Target>, now: DateTime.Utc) {
    const moment = DateTime.toEpochMillis(DateTime.startOf(now, "second"))
    const resolveAt = DateTime.makeUnsafe(moment + hour)
    const period = DateTime.formatIso(now).slice(0, 13)
    const events = yield* newestEvents(period, now)
    return targets.filter(hasSessions).flatMap((target): ReadonlyArray<Plan> => {
      const event = events.find((each) => each.target === target.key)
      if (event === undefined || !isOpen(target.key, moment)) return []
      const create = arenas.create("directional", {
        asset: target.key,
        kind: "flash",
        event_id: event.event_id,
        question: flashQuestion(target.key, target.name, DateTime.toEpochMillis(resolveAt)),
        deadline: DateTime.min(DateTime.addDuration(now, settings.flashTime), resolveAt),
        resolve_at: resolveAt
      })
      return [
        {
          kind: "flash",
          target: target.key,
          period,
          eventId: event.event_id,
          make: Effect.andThen(freshPrice(target.key), orNotYet(create))
        }
      ]
    })
  })

  return { sessions, nextSessions, flashes }
})

/** Predictions on a question of the ladder end this long after the price from which it begins. */
const ladderOpens = hour

const steps = Struct.keys(ladderHours).map((kind) => [kind, ladderHours[kind]] as const)

const Priced = Schema.Struct({ target: Schema.String, price: Schema.Finite })

/** Plans questions that end 1, 4 and 24 hours after their deadline, on every target whose price of the hour is known. */
export const makeLadderPlans = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const settings = yield* Settings
  const arenas = yield* Arenas
  const { volatilityOf } = yield* makeReferences
  const priced = findAll(Priced)
  const hourly = findAll(Schema.Struct({ target: Schema.String }))

  const trades = (target: string, begins: number, hours: number): boolean => {
    if (mayRoll(target, begins, begins + ladderOpens + hours * hour)) return false
    return hours < 24
      ? tradesThrough(target, begins, begins + ladderOpens + hours * hour)
      : tradesThrough(target, begins, begins + ladderOpens) &&
          tradesThrough(target, begins + hours * hour, begins + ladderOpens + hours * hour)
  }

  const make = (
    target: Target,
    kind: keyof typeof ladderHours,
    { begins, price }: { readonly begins: number; readonly price: number }
  ): Plan["make"] =>
    Effect.gen(function* () {
      const deadline = DateTime.makeUnsafe(begins + ladderOpens)
      const resolveAt = DateTime.addDuration(deadline, Duration.hours(ladderHours[kind]))
      const volatility = yield* volatilityOf({
        target: target.key,
        created_at: DateTime.makeUnsafe(begins),
        resolve_at: resolveAt
      })
      if (volatility === undefined) {
        return yield* new NotYet({ reason: `too few prices of ${target.key} are known for its dead zone` })
      }
      return yield* orNotYet(
        arenas.create("directional", {
          asset: target.key,
          kind,
          open_price: price,
          dead_zone_pct: deadZoneOf(volatility, ladderHours[kind] + ladderOpens / hour),
          question: ladderQuestion(target.key, target.name, DateTime.toEpochMillis(resolveAt)),
          deadline,
          resolve_at: resolveAt
        })
      )
    })

  const ladders = Effect.fnUntraced(function* (targets: ReadonlyArray<Target>, now: DateTime.Utc) {
    const moment = DateTime.toEpochMillis(now)
    const begins = Math.floor(moment / hour) * hour
    if (moment > begins + ladderOpens - Duration.toMillis(settings.scheduleNotice)) return []
    // A question begins from the price of this hour, once that is known.
    const known = yield* priced(sql`
      select distinct on (asset) asset as target, close::float8 as price from price_points
       where interval = '1h' and observed_at = ${timestamp(DateTime.makeUnsafe(begins))} and close > 0
       order by asset, source, revision desc`)
    return targets.filter(hasSessions).flatMap((target) => {
      const found = known.find((each) => each.target === target.key)
      if (found === undefined) return []
      return steps
        .filter(([, hours]) => begins % (hours * hour) === 0 && trades(target.key, begins, hours))
        .map(([kind]): Plan => ({
          kind,
          target: target.key,
          period: DateTime.formatIso(DateTime.makeUnsafe(begins)).slice(0, 13),
          eventId: null,
          needs: "ladder",
          make: make(target, kind, { begins, price: found.price })
        }))
    })
  })

  /** The next questions of the ladder on targets that had hourly prices in the last days. */
  const nextLadders = Effect.fnUntraced(function* (targets: ReadonlyArray<Target>, now: DateTime.Utc) {
    const known = yield* hourly(sql`
      select t.key as target from targets t
       where exists (
         select from price_points
          where asset = t.key and interval = '1h' and observed_at > ${timestamp(DateTime.subtract(now, { days: 4 }))})`)
    const moment = DateTime.toEpochMillis(now)
    return targets
      .filter((target) => hasSessions(target) && known.some((each) => each.target === target.key))
      .flatMap((target) =>
        steps.flatMap(([kind, hours]): ReadonlyArray<Expected> => {
          const period = hours * hour
          const first = (Math.floor(moment / period) + 1) * period
          const at = Array.from({ length: 168 }, (_, index) => first + index * period).find((each) =>
            trades(target.key, each, hours)
          )
          return at === undefined ? [] : [{ target, type: "directional", kind, at }]
        })
      )
  })

  return { ladders, nextLadders }
})

/** Plans the questions on a week of a crypto asset, with levels around its price. */
export const makeWeekPlans = Effect.gen(function* () {
  const settings = yield* Settings
  const closesUntil = yield* makeDailyCloses
  const arenas = yield* Arenas
  const freshPrice = yield* makeFreshPrice

  /** A week is expected to move the price as the last 60 days did. */
  const levelsOf = Effect.fnUntraced(function* (target: string, now: DateTime.Utc) {
    const price = yield* freshPrice(target)
    const lastMidnight = Math.floor(DateTime.toEpochMillis(now) / day) * day
    const closes = yield* closesUntil(target, lastMidnight)
    const deviation = closeScale(price, closes, countedDays * 24)
    const levels = deviation === undefined ? undefined : levelsAround(price, deviation)
    if (levels !== undefined) return levels
    return yield* new NotYet({
      reason: `levels are computed from the last ${scaleReturns + 1} daily closes of ${target}, of which ${closes.length} are known, and from their moves`
    })
  })

  const nextWeeks = (targets: ReadonlyArray<Target>, now: DateTime.Utc): ReadonlyArray<Expected> => {
    const lead = Duration.toMillis(settings.weeklyLead)
    const at = nextMonday(DateTime.toEpochMillis(now) + lead) - lead
    return targets
      .filter(({ category }) => category === "crypto")
      .flatMap((target) => weeklyQuestions.map(({ kind }) => ({ target, type: "price_event", kind, at })))
  }

  const weeks = Effect.fnUntraced(function* (targets: ReadonlyArray<Target>, now: DateTime.Utc) {
    const moment = DateTime.toEpochMillis(now)
    const monday = nextMonday(moment)
    const opens = monday - Duration.toMillis(settings.weeklyLead)
    const lastCall = monday - Duration.toMillis(settings.scheduleNotice)
    if (moment < opens || moment > lastCall) return []
    const deadline = DateTime.makeUnsafe(monday)
    const plans: Array<Plan> = []
    // A pause concerns sessions and flash hours only.
    for (const { key } of targets.filter(({ category }) => category === "crypto")) {
      // The questions of a week share one price.
      const levels = yield* Effect.cached(levelsOf(key, now))
      for (const { kind, levels: named, name, needs } of weeklyQuestions) {
        const make = Effect.flatMap(levels, (known) =>
          orNotYet(
            arenas.create("price_event", {
              kind,
              asset: key,
              deadline,
              resolve_at: DateTime.makeUnsafe(monday + countedDays * day),
              ...Record.fromEntries(named.map(([level, place]) => [level, known[place]] as const)),
              ...(candleFacts[kind].hasWindow && { window_from: deadline })
            })
          )
        )
        plans.push({
          kind: name,
          target: key,
          period: dateText(monday / day),
          eventId: null,
          ...(needs !== undefined && { needs }),
          make
        })
      }
    }
    return plans
  })

  return { weeks, nextWeeks }
})

const Due = Schema.Struct({
  target: Schema.String,
  period: Schema.String,
  unit: Schema.NullOr(Schema.String),
  release_at: Schema.DateTimeUtcFromDate,
  deadline: Schema.NullOr(Schema.DateTimeUtcFromDate),
  question: Schema.NullOr(Schema.String),
  decimal_step: Schema.NullOr(Schema.Finite),
  categories: Schema.NullOr(Schema.Array(OrderedCategory)),
  reference_scale: Schema.NullOr(Schema.Finite),
  bin_edges: Schema.NullOr(Schema.Array(Schema.Finite)),
  reward_pool: Schema.Finite
})
type Due = typeof Due.Type

/** The period of a release in `scheduled_challenges`: one value may be published in several units. */
export const releasePeriod = "period || case when unit = '' then '' else ' ' || unit end"

const known = <Value>(value: Value | null): Value | undefined => value ?? undefined

const exact = (value: number): BigDecimal.BigDecimal => BigDecimal.fromStringUnsafe(String(value))

/** Plans the macro challenges of planned releases. */
export const makeReleasePlans = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const settings = yield* Settings
  const arenas = yield* Arenas
  const due = findAll(Due)
  const ahead = findAll(Due.mapFields(Struct.pick(["target", "release_at"])))
  const earlierPrints = yield* makeEarlierPrints

  const deadlineOf = ({ deadline, release_at }: Due) =>
    deadline ?? DateTime.subtractDuration(release_at, settings.releaseClose)

  /** Releases that are due, without paused series and without releases whose challenge an administrator has made. */
  const planned = (now: DateTime.Utc) =>
    due(sql`
      select r.target, r.period, nullif(r.unit, '') as unit, r.release_at, r.deadline, r.question,
             r.decimal_step::float8 as decimal_step, r.reference_scale::float8 as reference_scale,
             r.bin_edges::float8[] as bin_edges, ${categoriesOf(sql, "r")} as categories,
             r.reward_pool::float8 / 1000000 as reward_pool
        from release_calendar r join targets t on t.key = r.target and not t.paused
       where r.release_at > ${timestamp(now)}
         and r.release_at <= ${timestamp(DateTime.addDuration(now, settings.releaseLead))}
         -- Each release is looked up by itself: an anti join would read every macro challenge there ever was.
         and (select true from challenges c
               where c.type = 'macro' and c.target = r.target and c.period = r.period
                 and c.unit is not distinct from nullif(r.unit, '') and c.cancelled_at is null
               limit 1) is null
       order by r.release_at, r.target, r.period, r.unit`)

  /** The categories or the bin edges of the release's challenge. */
  const binsOf = Effect.fnUntraced(function* (release: Due) {
    const { bin_edges, categories } = release
    if (categories !== null) return { categories }
    if (bin_edges !== null) return { bin_edges }
    const prints = yield* earlierPrints(release.target, known(release.unit))
    const step = release.decimal_step === null ? decimalStep(prints) : exact(release.decimal_step)
    const scale =
      release.reference_scale === null ? referenceScale(prints, step) : exact(release.reference_scale)
    const last = prints.at(-1)
    if (last !== undefined && scale !== undefined) {
      return { bin_edges: edgesAround(last, scale, step) }
    }
    return yield* new NotYet({
      reason: `the bins of ${release.target} for ${release.period} are not in the release calendar, and are computed from ${minSurprises + 1} or more first prints in this unit, of which ${prints.length} are known`
    })
  })

  const make = (release: Due): Plan["make"] =>
    Effect.flatMap(binsOf(release), (bins) => {
      const { decimal_step, period, question, reference_scale, release_at, reward_pool, target, unit } =
        release
      return orNotYet(
        arenas.create("macro", {
          asset: target,
          period,
          deadline: deadlineOf(release),
          release_at,
          ...bins,
          reward_pool,
          ...(question !== null && { question }),
          ...(unit !== null && { unit }),
          ...(decimal_step !== null && { decimal_step }),
          ...(reference_scale !== null && { reference_scale })
        })
      )
    })

  const releases = Effect.fnUntraced(function* (now: DateTime.Utc) {
    const lastCall = DateTime.addDuration(now, settings.scheduleNotice)
    return (yield* planned(now))
      .filter((release) => DateTime.isGreaterThanOrEqualTo(deadlineOf(release), lastCall))
      .map((release): Plan => {
        const period = release.unit === null ? release.period : `${release.period} ${release.unit}`
        return {
          kind: "macro",
          target: release.target,
          period,
          eventId: null,
          ...(release.categories !== null && { needs: "forms" as const }),
          make: make(release)
        }
      })
  })

  /** The first release of each series beyond the lead. */
  const nextReleases = Effect.fnUntraced(function* (targets: ReadonlyArray<Target>, now: DateTime.Utc) {
    const rows = yield* ahead(sql`
      select target, min(release_at) as release_at from release_calendar
       where release_at > ${timestamp(DateTime.addDuration(now, settings.releaseLead))}
       group by target`)
    return targets
      .filter(({ paused }) => !paused)
      .flatMap((target) =>
        rows
          .filter((row) => row.target === target.key)
          .map(({ release_at }): Expected => {
            const at = DateTime.toEpochMillis(DateTime.subtractDuration(release_at, settings.releaseLead))
            return { target, type: "macro", kind: "macro", at }
          })
      )
  })

  return { releases, nextReleases }
})

const Fetched = Schema.Struct({ hourly: Schema.Boolean })

/** The price that a scheduled challenge begins from, if it is recent enough. */
const makeFreshPrice = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const prices = yield* Prices
  const settings = yield* Settings
  const fetched = findOne(Fetched)

  /** Hourly prices must be recent; daily ones must be of the last close. */
  const oldest = Effect.fnUntraced(function* (target: string, now: DateTime.Utc) {
    const { hourly } = yield* fetched(sql`
      select exists (select 1 from expected_candles where asset = ${target} and interval = '1h') as hourly`)
    return hourly
      ? DateTime.subtractDuration(now, settings.schedulePriceWithin)
      : DateTime.makeUnsafe(lastClose(target, DateTime.toEpochMillis(now)))
  })

  return Effect.fnUntraced(function* (target: string) {
    const latest = yield* prices.latest(target)
    if (Option.isNone(latest)) return yield* new NotYet({ reason: `no price of ${target} is known` })
    const { observedAt, price } = latest.value
    const now = yield* DateTime.now
    if (DateTime.isLessThan(observedAt, yield* oldest(target, now))) {
      return yield* new NotYet({
        reason: `the latest price of ${target} is of ${DateTime.formatIso(observedAt)}, which is too old to begin from`
      })
    }
    return BigDecimal.toNumberUnsafe(price)
  })
})
