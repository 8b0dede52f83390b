/** The scheduled fibers of this instance. They stop with it: unfinished work is rolled back, and the next run finds it again. */
import { randomUUID } from "node:crypto"
import { Duration, Effect, Layer, Option, Schedule } from "effect"
import { Tokens } from "../services/Tokens.ts"
import { Arenas } from "../services/Arenas.ts"
import { AdminAudit } from "../services/AdminAudit.ts"
import { Claims } from "../services/Claims.ts"
import { Credits } from "../services/Credits.ts"
import { GatewayAlerts } from "../services/GatewayAlerts.ts"
import { GatewayBilling } from "../services/GatewayBilling.ts"
import { Health } from "../services/Health.ts"
import { Idempotency } from "../services/Idempotency.ts"
import { Instances } from "../services/Instances.ts"
import type { Instance } from "../services/Instances.ts"
import { JobRuns } from "../services/JobRuns.ts"
import { LogSequencer, maxPerPass, watchInterval } from "../services/LogSequencer.ts"
import { RateLimiter } from "../services/RateLimiter.ts"
import { Mailer, maxSends, urgencies } from "../services/Mailer.ts"
import { Notices } from "../services/Notices.ts"
import { Operators } from "../services/Operators.ts"
import { OwnerMails } from "../services/OwnerMails.ts"
import { Payments } from "../services/Payments.ts"
import { FeedIngestion } from "../services/Events.ts"
import { Practice } from "../services/Practice.ts"
import { PriceIngestion } from "../services/Prices.ts"
import { Pools } from "../services/Pools.ts"
import { Schedules } from "../services/Schedules.ts"
import { ReferenceAgents } from "../services/ReferenceAgents.ts"
import { Scoring } from "../services/Scoring.ts"
import { Settings } from "../services/Settings.ts"
import { Skill } from "../services/Skill.ts"
import { Webhooks } from "../services/Webhooks.ts"
import { Witnesses } from "../services/Witnesses.ts"
import { inSteps, poll, repeating, singletonCron } from "./scheduler.ts"

const aMinute = Duration.minutes(1)
const anHour = Duration.hours(1)
const tickMemory = Duration.days(7)
/** Links to sign in and to claim leave within a second of the request that caused them. */
const mailInterval = { urgent: Duration.millis(500), normal: Duration.seconds(1), bulk: Duration.seconds(5) }
const webhookInterval = Duration.millis(500)
/** Entries get an index and a signed checkpoint within about a second. */
const logInterval = Duration.seconds(1)
/** A growing log has a checkpoint every second, and the newest should soon have its cosignatures. */
const witnessInterval = Duration.millis(250)
/** Questions are made ahead, so only the very first one may be this late. */
const practiceInterval = Duration.seconds(5)
const feedInterval = Duration.seconds(10)
const measureInterval = Duration.seconds(15)
const beatInterval = Duration.seconds(10)
/** A clock that jumps is noticed within this time. */
const driftInterval = Duration.seconds(5)

const start = Effect.gen(function* () {
  const { clocksAgree } = yield* Health
  const settings = yield* Settings
  const audit = yield* AdminAudit
  const schedules = yield* Schedules
  const scoring = yield* Scoring
  const arenas = yield* Arenas
  const pools = yield* Pools
  const practice = yield* Practice
  const limits = yield* RateLimiter
  const tokens = yield* Tokens
  const runs = yield* JobRuns
  const claims = yield* Claims
  const credits = yield* Credits
  const alerts = yield* GatewayAlerts
  const billing = yield* GatewayBilling
  const mailer = yield* Mailer
  const notices = yield* Notices
  const operators = yield* Operators
  const ownerMails = yield* OwnerMails
  const sequencer = yield* LogSequencer
  const references = yield* ReferenceAgents
  const skill = yield* Skill
  const webhooks = yield* Webhooks
  const witnesses = yield* Witnesses
  const idempotency = yield* Idempotency
  const instances = yield* Instances
  // The clocks are compared once before the first runs; otherwise each of these would compare them.
  yield* clocksAgree
  // A full batch is followed by the next at once.
  const sequence = Effect.repeat(sequencer.sequence, { while: (taken) => taken === maxPerPass })
  yield* Effect.forkScoped(singletonCron("settlement", settings.jobInterval, scoring.settleDue))
  yield* Effect.forkScoped(
    singletonCron(
      "skill",
      settings.jobInterval,
      inSteps({ consensus: references.poolDue, skill: skill.countDue })
    )
  )
  if (settings.references) {
    yield* Effect.forkScoped(singletonCron("references", settings.jobInterval, references.predictDue))
  }
  if (settings.schedules.length > 0) {
    yield* Effect.forkScoped(singletonCron("schedules", settings.jobInterval, schedules.makeDue))
  }
  if (settings.practice) {
    yield* Effect.forkScoped(poll("practice", practiceInterval, practice.makeDue))
  }
  if (Option.isSome(settings.countsEvery) || Option.isSome(settings.oddsEvery)) {
    const publishCounts = inSteps({ predictions: arenas.publishCounts, pools: pools.publishOdds })
    yield* Effect.forkScoped(singletonCron("counts", settings.jobInterval, publishCounts))
  }
  for (const urgency of urgencies) {
    const send = Effect.repeat(mailer.sendNext(urgency), { while: Option.isSome })
    for (let each = 0; each < maxSends[urgency]; each++) {
      yield* Effect.forkScoped(poll(`${urgency} mail`, mailInterval[urgency], send))
    }
  }
  yield* Effect.forkScoped(poll("mail gauges", measureInterval, mailer.measure))
  yield* Effect.forkScoped(
    poll("webhooks", webhookInterval, inSteps({ dispatch: webhooks.dispatch, send: webhooks.send }))
  )
  yield* Effect.forkScoped(poll("log", logInterval, sequence))
  yield* Effect.forkScoped(poll("checkpoints", logInterval, sequencer.publish))
  yield* Effect.forkScoped(
    poll("reveals", logInterval, Effect.repeat(sequencer.revealDue, { while: (queued) => queued > 0 }))
  )
  yield* Effect.forkScoped(poll("log gauges", measureInterval, sequencer.measure))
  yield* Effect.forkScoped(singletonCron("grace", settings.jobInterval, claims.remindDue))
  yield* Effect.forkScoped(singletonCron("gateway alerts", settings.jobInterval, alerts.sendDue))
  yield* Effect.forkScoped(singletonCron("digests", anHour, ownerMails.sendDigests))
  yield* Effect.forkScoped(singletonCron("audit head", anHour, audit.logHead))
  for (const { ask, name } of witnesses.all) {
    yield* Effect.forkScoped(poll(`log witness ${name}`, witnessInterval, ask))
  }
  yield* Effect.forkScoped(poll("log time stamps", measureInterval, witnesses.stamp))
  yield* Effect.forkScoped(
    singletonCron(
      "housekeeping",
      aMinute,
      inSteps({
        limits: limits.trim,
        tokens: tokens.trim,
        idempotency: idempotency.trim,
        runs: runs.forget(tickMemory),
        ranks: claims.confirmRanks,
        gateway: billing.sweep,
        plans: credits.payPlans,
        mails: mailer.trim,
        notices: notices.trim,
        practice: practice.trim,
        operators: operators.trim,
        log: sequencer.trim,
        webhooks: webhooks.trim,
        instances: instances.trim
      })
    )
  )
})

/** Runs the jobs that every instance with the role `jobs` has, whatever is configured. */
export const layer = Layer.effectDiscard(start)

/** Every instance watches its own clock, by a timer that does not depend on it. */
export const clockWatch = Layer.effectDiscard(
  Effect.gen(function* () {
    const { measureClockDrift } = yield* Health
    yield* Effect.forkScoped(Effect.repeat(measureClockDrift, Schedule.spaced(driftInterval)))
  })
)

/** Every instance reports that it runs, before it does anything else. */
export const heartbeats = (self: Omit<Instance, "id">) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const instances = yield* Instances
      const beat = instances
        .beat({ ...self, id: randomUUID() })
        .pipe(Effect.catchCause((cause) => Effect.logWarning("the heartbeat could not be written", cause)))
      yield* beat
      yield* Effect.forkScoped(Effect.repeat(beat, Schedule.spaced(beatInterval)))
    })
  )

/** Every instance wakes the readers of notices that wait on it. */
export const noticeWatch = Layer.effectDiscard(
  Effect.gen(function* () {
    const notices = yield* Notices
    yield* Effect.forkScoped(notices.watch)
  })
)

/** Every instance records the public log as it sees it; this is for those without the role `jobs`, which do not sequence. */
export const logWatch = Layer.effectDiscard(
  Effect.gen(function* () {
    const sequencer = yield* LogSequencer
    yield* Effect.forkScoped(repeating("log watch", watchInterval, sequencer.watch))
  })
)

/**
 * Asks the payment provider about checkouts whose end its messages did not report. The job is for instances with the role `jobs`, if
 * something is sold.
 */
export const checkouts = Layer.effectDiscard(
  Effect.gen(function* () {
    const settings = yield* Settings
    const payments = yield* Payments
    yield* Effect.forkScoped(singletonCron("checkouts", settings.checkoutInterval, payments.followUp))
  })
)

/**
 * Fetches the feeds that are due. Their rows show the due ones and those being fetched, so every replica may look. The job is for
 * instances with the role `jobs`, if there are feeds.
 */
export const feeds = Layer.effectDiscard(
  Effect.gen(function* () {
    const ingestion = yield* FeedIngestion
    yield* Effect.forkScoped(poll("feeds", feedInterval, ingestion.ingestDue))
  })
)

/**
 * Fetches the candles that are due. Candles end on the hour, so most ticks find nothing. The job is for instances with the role
 * `jobs`, if there is a price source.
 */
export const prices = Layer.effectDiscard(
  Effect.gen(function* () {
    const settings = yield* Settings
    const ingestion = yield* PriceIngestion
    // Each source has separate ticks: three attempts at a source that hangs take longer than a tick.
    for (const place of ingestion.places) {
      yield* Effect.forkScoped(
        singletonCron(`prices of ${place}`, settings.jobInterval, ingestion.ingestDue(place))
      )
    }
    yield* Effect.forkScoped(poll("price gauges", aMinute, ingestion.measure))
  })
)
