import { Cause, Data, DateTime, Effect, Layer, Metric, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { Instances } from "../../../services/Instances.ts"
import { Schedules } from "../../../services/Schedules.ts"
import type { Scheduled, ScheduleReport } from "../../../services/Schedules.ts"
import { Settings } from "../../../services/Settings.ts"
import { Targets } from "../../../services/Targets.ts"
import { boundNow, findAll, rowsOf, timestamp, transaction } from "../sql.ts"
import {
  makeDirectionalPlans,
  makeLadderPlans,
  NotYet,
  makeReleasePlans,
  makeWeekPlans
} from "./schedulePlans.ts"
import type { Plan } from "./schedulePlans.ts"

const madeTotal = Metric.counter("scheduled_challenges_total", {
  description: "Challenges that schedules made, by kind and target",
  incremental: true
})
const waitingTotal = Metric.counter("scheduled_challenges_waiting_total", {
  description:
    "Runs in which a challenge was due and could not be made, by kind and target; the log says why",
  incremental: true
})

/** Another replica has made the challenge. */
class MadeBefore extends Data.TaggedError("MadeBefore") {}

const Key = Schema.Struct({ kind: Schema.String, target: Schema.String, period: Schema.String })

const nameOf = ({ kind, period, target }: Scheduled | typeof Key.Type): string =>
  `${kind} ${target} ${period}`

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const settings = yield* Settings
  const targets = yield* Targets
  const instances = yield* Instances
  const { flashes, nextSessions, sessions } = yield* makeDirectionalPlans
  const { ladders, nextLadders } = yield* makeLadderPlans
  const { nextWeeks, weeks } = yield* makeWeekPlans
  const { nextReleases, releases } = yield* makeReleasePlans
  const keys = findAll(Key)
  const isOn = (name: (typeof settings.schedules)[number]) => settings.schedules.includes(name)

  const everyTarget = Effect.map(targets.catalog, ({ categories }) =>
    categories.flatMap((category) => category.targets)
  )

  /** The plans of the enabled schedules that are due now, also those whose challenge exists already. */
  const plans = Effect.fnUntraced(function* (now: DateTime.Utc) {
    const all = yield* everyTarget
    return [
      ...(isOn("session") ? sessions(all, now) : []),
      ...(isOn("flash") ? yield* flashes(all, now) : []),
      ...(isOn("ladder") ? yield* ladders(all, now) : []),
      ...(isOn("price_event") ? yield* weeks(all, now) : []),
      ...(isOn("macro") ? yield* releases(now) : [])
    ]
  })

  const notMade = Effect.fnUntraced(function* (due: ReadonlyArray<Plan>) {
    if (due.length === 0) return []
    const before = yield* keys(sql`
      select schedule as kind, target, period
        from scheduled_challenges
       where (schedule, target, period) in (
         select kind, target, period
           from ${rowsOf(sql, "due", due, {
             kind: ["text", ({ kind }) => kind],
             target: ["text", ({ target }) => target],
             period: ["text", ({ period }) => period]
           })})`)
    const names = new Set(before.map(nameOf))
    return due.filter((plan) => !names.has(nameOf(plan)))
  })

  /** Inserts the challenge and the record that it was made, or neither. */
  const recorded = Effect.fnUntraced(function* (plan: Plan) {
    const now = yield* boundNow(sql)
    if (plan.needs !== undefined && !(yield* instances.allRead(plan.needs))) {
      return yield* new NotYet({
        reason: "an instance that could not read it was seen in the last 10 minutes"
      })
    }
    const { id } = yield* plan.make
    const written = yield* keys(sql`
      insert into scheduled_challenges (schedule, target, period, challenge_id, event_id, made_at)
      values (${plan.kind}, ${plan.target}, ${plan.period}, ${id}::uuid, ${plan.eventId}, ${timestamp(now)})
      on conflict do nothing
      returning schedule as kind, target, period`)
    return written.length === 1 ? id : yield* new MadeBefore()
  })

  /** A challenge that cannot be made delays no other. */
  const attempted = (plan: Plan) =>
    transaction(sql)(recorded(plan)).pipe(
      Effect.asSome,
      Effect.catchTag("MadeBefore", () => Effect.succeedNone),
      Effect.catchCauseIf(
        (cause) => Cause.hasDies(cause) && !Cause.hasInterrupts(cause),
        (cause) =>
          Effect.logError(
            "a scheduled challenge could not be made; it is tried again at the next run",
            cause
          ).pipe(
            Effect.annotateLogs({ kind: plan.kind, target: plan.target, period: plan.period }),
            Effect.andThen(new NotYet({ reason: "it failed, as the log says" }))
          )
      ),
      Effect.result
    )

  let lastReasons = new Set<string>()

  /** Logs each reason once, not at every run. */
  const logWaiting = Effect.fnUntraced(function* (waiting: ScheduleReport["waiting"]) {
    const before = lastReasons
    lastReasons = new Set(waiting.map((each) => `${nameOf(each)}: ${each.reason}`))
    for (const { kind, period, reason, target } of waiting) {
      yield* Metric.update(Metric.withAttributes(waitingTotal, { kind, target }), 1)
      if (before.has(`${nameOf({ kind, target, period })}: ${reason}`)) continue
      yield* Effect.logWarning("a scheduled challenge is due and cannot be made yet").pipe(
        Effect.annotateLogs({ kind, target, period, reason })
      )
    }
  })

  const makeDue: Schedules["Service"]["makeDue"] = Effect.gen(function* () {
    const now = yield* boundNow(sql)
    const made: Array<ScheduleReport["made"][number]> = []
    const waiting: Array<ScheduleReport["waiting"][number]> = []
    for (const plan of yield* notMade(yield* plans(now))) {
      const { kind, period, target } = plan
      const outcome = yield* attempted(plan)
      if (outcome._tag === "Failure") {
        waiting.push({ kind, target, period, reason: outcome.failure.reason })
      } else if (Option.isSome(outcome.success)) {
        made.push({ kind, target, period, challengeId: outcome.success.value })
        yield* Metric.update(Metric.withAttributes(madeTotal, { kind, target }), 1)
      }
    }
    if (made.length > 0) {
      yield* Effect.logInfo("scheduled challenges were made").pipe(
        Effect.annotateLogs({ challenges: made.map(nameOf) })
      )
    }
    yield* logWaiting(waiting)
    return { made, waiting }
  }).pipe(Effect.withSpan("Schedules.makeDue"))

  const nextExpected: Schedules["Service"]["nextExpected"] = Effect.fn("Schedules.nextExpected")(function* ({
    asset,
    category,
    kind,
    type
  }) {
    const now = yield* DateTime.now
    const all = yield* everyTarget
    const expected = [
      ...(isOn("session") ? nextSessions(all, now) : []),
      ...(isOn("ladder") ? yield* nextLadders(all, now) : []),
      ...(isOn("price_event") ? nextWeeks(all, now) : []),
      ...(isOn("macro") ? yield* nextReleases(all, now) : [])
    ].filter(
      (each) =>
        (asset ?? each.target.key) === each.target.key &&
        (category ?? each.target.category) === each.target.category &&
        (type ?? each.type) === each.type &&
        (kind ?? each.kind) === each.kind
    )
    return expected.length === 0
      ? Option.none()
      : Option.some(DateTime.makeUnsafe(Math.min(...expected.map(({ at }) => at))))
  })

  return Schedules.of({ makeDue, nextExpected })
})

export const layer = Layer.effect(Schedules, make)
