/**
 * One statement makes rows of deliveries from notices. Each delivery is posted until the receiver takes it, or it is given up. An
 * instance leases a webhook while it sends to it; after an instance is killed, its lease ends and its last deliveries are sent again.
 */
import { createHmac } from "node:crypto"
import {
  Array as Arr,
  Cause,
  Clock,
  DateTime,
  Duration,
  Effect,
  Exit,
  FiberSet,
  Metric,
  Option,
  Result,
  Schema
} from "effect"
import { SqlClient, SqlError } from "effect/sql"
import { StoreUnavailable } from "../../../services/domain/errors.ts"
import { OwnerMails } from "../../../services/OwnerMails.ts"
import { Settings } from "../../../services/Settings.ts"
import type { Webhooks } from "../../../services/Webhooks.ts"
import type { Encryption } from "../../crypto/encryption.ts"
import { addressesOf, dnsLookup, fetchAt, FetchFailed } from "../../keys/fetchDocument.ts"
import type { FetchOptions } from "../../keys/fetchDocument.ts"
import { isOwnMachine, publicUrlFault } from "../../keys/publicUrl.ts"
import { textsOf } from "../../mail/language.ts"
import {
  boundNow,
  execute,
  findAll,
  findOne,
  findOption,
  isoTimestamp,
  rowsOf,
  timestamp,
  transaction,
  withStatementTimeout
} from "../sql.ts"
import { doublingPause } from "../retryPause.ts"
import { settlementNotices, stakeNotices } from "./derived.ts"

/** The number of notices that one statement reads, each for every webhook. */
const maxNotices = 100
/** The maximum number of deliveries that one statement makes: if there would be more, it takes fewer notices, or fewer webhooks. */
const maxSlice = 5000
const dispatchTimeout = Duration.seconds(30)

/** The maximum number of receivers that an instance sends to at once, and of those among them that failed or were slow before. */
const maxReceivers = 256
const maxSlowReceivers = 64
/** The maximum number of requests to one receiver at once, and between two records of results; a failing receiver gets one. */
const maxRequests = 4
const maxRound = 20
const slowAfter = Duration.seconds(2)
const attemptLimits = { maxBytes: 0, maxMillis: 10_000 }
/** A receiver with a backlog makes room for others after this long. */
const turn = Duration.seconds(5)
/** A lease is longer than a turn and the attempts that end it. */
const lease = Duration.seconds(20)

/** The pauses after each failed attempt of a delivery (Standard Webhooks); after the last it is given up. */
const pauses = [
  "5 seconds",
  "5 minutes",
  "30 minutes",
  "2 hours",
  "5 hours",
  "10 hours",
  "14 hours",
  "20 hours",
  "1 day"
] as const
/** No delivery to a failing receiver is attempted for this long. */
const firstRest = Duration.seconds(5)
const maxRest = Duration.minutes(5)
/** A webhook without a success for this long is disabled. */
const maxFailing = Duration.days(1)

const maxError = 300

const HookRow = Schema.Struct({
  id: Schema.String,
  url: Schema.String,
  secret: Schema.Uint8Array,
  previous_secret: Schema.NullOr(Schema.Uint8Array),
  slow: Schema.Boolean,
  failing: Schema.Boolean
})
type Hook = typeof HookRow.Type

const DueRow = Schema.Struct({
  notice_id: Schema.String,
  type: Schema.String,
  payload: Schema.String,
  attempts: Schema.Int,
  challenge_id: Schema.NullOr(Schema.String),
  created_at: Schema.DateTimeUtcFromDate
})
type Due = typeof DueRow.Type

const HeldRow = Schema.Struct({
  failures: Schema.Int,
  failing_since: Schema.NullOr(Schema.DateTimeUtcFromDate),
  disabled: Schema.Boolean,
  owner_id: Schema.NullOr(Schema.String)
})

const attemptsTotal = Metric.counter("webhook_attempts_total", {
  description: "Posts to webhooks, by outcome: delivered, deferred (sent again later), failed (given up)",
  incremental: true
})

const lagSeconds = Metric.histogram("webhook_delivery_lag_seconds", {
  description: "Seconds from when a delivery was made of a notice until it was taken",
  boundaries: [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 7200, 86_400]
})

interface Attempt {
  readonly delivery: Due
  readonly status: number | null
  readonly error: string | null
  readonly tookMillis: number
  readonly outcome: "delivered" | "deferred" | "failed"
}

const outcomeOf = (delivery: Due, status: number | null): Attempt["outcome"] => {
  if (status !== null && status >= 200 && status < 300) return "delivered"
  return delivery.attempts < pauses.length ? "deferred" : "failed"
}

/** Names the reason that a webhook is disabled after these attempts. */
const endOf = (
  attempts: ReadonlyArray<Attempt>,
  failingSince: DateTime.Utc | null,
  now: DateTime.Utc
): string | undefined => {
  if (attempts.some(({ status }) => status === 410)) return "it answered 410, so it wants nothing any more"
  const isLong =
    failingSince !== null && Duration.isGreaterThanOrEqualTo(DateTime.distance(failingSince, now), maxFailing)
  return isLong ? "it took nothing for a day" : undefined
}

/** The signatures `v1`: HMAC-SHA256 of id, time and body (Standard Webhooks). Each valid secret signs. */
const signatures = (secrets: ReadonlyArray<string>, signed: string): string =>
  secrets
    .map((secret) => {
      const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64")
      return `v1,${createHmac("sha256", key).update(signed).digest("base64")}`
    })
    .join(" ")

/** Tests set these. */
export interface DeliveryOptions {
  /** Tests use other name servers and certificates. */
  readonly fetching?: Partial<FetchOptions>
  readonly slice?: number
}

const SliceRow = Schema.Struct({
  dispatched: Schema.Finite,
  head: Schema.Finite,
  /** The last webhook that already has its deliveries of the next notice. */
  after: Schema.NullOr(Schema.String)
})

const WeightRow = Schema.Struct({ weight: Schema.Finite, last: Schema.NullOr(Schema.String) })

const timedOut = (cause: Cause.Cause<unknown>): boolean =>
  cause.reasons.filter(Cause.isDieReason).some(({ defect }) => {
    const error = defect instanceof StoreUnavailable ? defect.cause : defect
    return SqlError.isSqlError(error) && error.reason._tag === "StatementTimeoutError"
  })

export const make = Effect.fnUntraced(function* (
  { decrypt }: Encryption,
  { fetching = {}, slice: wholeSlice = maxSlice }: DeliveryOptions = {}
) {
  const sql = yield* SqlClient.SqlClient
  const mails = yield* OwnerMails
  const { baseUrl, ownMachineUrls: ownMachine, site } = yield* Settings
  const sliceRow = findOption(SliceRow)
  const weightRow = findOne(WeightRow)
  const behind = findOne(Schema.Struct({ behind: Schema.Boolean }))
  const hookRows = findAll(HookRow)
  const dueRows = findAll(DueRow)
  const heldRow = findOption(HeldRow)
  const byDns = dnsLookup()
  const receivers = yield* FiberSet.make<void>()
  const slowReceivers = yield* FiberSet.make<void>()

  const hasMore = Effect.map(
    behind(sql`select s.head > w.dispatched as behind from webhook_state w cross join notice_state s`),
    (state) => state.behind
  )

  /** Measures the webhooks after this one: the deliveries of a notice for all of them, and the last webhook that fits into a slice. */
  const weigh = (after: string | null, size: number) =>
    weightRow(sql`
      with next as (
        select w.id, 1 + (select count(*) from agents a where a.owner_id = w.owner_id) as weight
          from webhooks w
         where w.disabled_at is null and (${after}::uuid is null or w.id > ${after}::uuid)
         order by w.id limit ${size + 1}
      ),
      running as (
        select id, weight, sum(weight) over (order by id) as total from next
      )
      select coalesce(max(total), 0)::float8 as weight,
             (select id::text from running where total <= ${size} or total = weight order by id desc limit 1) as last
        from running`)

  /** Makes the deliveries of one slice; returns the number of finished notices, none while another instance does it. */
  const dispatchSlice = (size: number) =>
    Effect.gen(function* () {
      const state = yield* sliceRow(sql`
        select w.dispatched::float8, s.head::float8,
               case when w.page_seq = w.dispatched + 1 then w.page_hook::text end as after
          from webhook_state w cross join notice_state s
           for update of w skip locked`)
      if (Option.isNone(state) || state.value.head === state.value.dispatched) return Option.none<number>()
      const { after, dispatched: from, head } = state.value
      const { last, weight } = yield* weigh(after, size)
      const until = weight <= size ? null : last
      const notices =
        after === null && until === null
          ? Math.min(maxNotices, Math.max(1, Math.floor(size / Math.max(1, weight))))
          : 1
      const upto = Math.min(head, from + notices)
      const at = yield* boundNow(sql)
      const now = timestamp(at)
      // A longer pause comes from a clock that was ahead.
      const atMost = timestamp(DateTime.addDuration(at, maxRest))
      const own = (type: string) => ({
        source: sql`batch n cross join hooked r`,
        agentId: "r.agent_id",
        columns: sql`r.webhook_id, r.agent_id as told_to, n.created_at, n.seq`,
        condition: sql`n.agent_id is null and ${type}::text = any(r.types) and r.since < n.seq and not r.muted`
      })
      yield* execute(sql`
        with batch as materialized (
          select * from notices where seq > ${from}::int8 and seq <= ${upto}::int8
        ),
        hooks as materialized (
          select w.id, w.agent_id, w.owner_id, w.types, w.since,
                 exists (select from agents a where a.id = w.agent_id and a.suspended_at is not null) as muted
            from webhooks w
           where w.disabled_at is null and (${after}::uuid is null or w.id > ${after}::uuid)
             and (${until}::uuid is null or w.id <= ${until}::uuid)
             for key share of w
        ),
        hooked as materialized (
          select id as webhook_id, agent_id, types, since, muted from hooks where agent_id is not null
          union all
          select h.id, a.id, h.types, h.since, false from hooks h join agents a on a.owner_id = h.owner_id
        ),
        found as (
          select h.id as webhook_id, null::uuid as told_to, n.created_at, n.seq, n.id, n.type, n.subject, n.data
            from batch n join hooks h on n.agent_id is null and n.type = any(h.types) and h.since < n.seq and not h.muted
          union all
          select r.webhook_id, r.agent_id, n.created_at, n.seq, n.id, n.type, n.subject, n.data
            from batch n join hooked r on r.agent_id = n.agent_id and n.type = any(r.types) and r.since < n.seq
             and (not r.muted or n.type = 'agent.suspended')
          union all
          ${settlementNotices(sql, own("prediction.settled"))}
          union all
          ${stakeNotices(sql, own("stake.settled"))}
        ),
        made as (
          insert into webhook_deliveries (webhook_id, notice_id, type, payload, created_at, due_at)
          select webhook_id, id, type,
                 jsonb_build_object('type', type, 'timestamp', ${isoTimestamp(sql, "created_at")}, 'agent_id', told_to,
                   'data', jsonb_build_object('id', id, 'type', type, 'created_at', ${isoTimestamp(sql, "created_at")},
                                              'subject', subject, 'data', data))::text,
                 ${now}, ${now}
            from found order by seq, type
          on conflict do nothing
          returning webhook_id
        )
        update webhooks w
           set due_at = least(w.due_at, greatest(${now}::timestamptz, case when w.rest_until <= ${atMost} then w.rest_until end))
          from (select distinct webhook_id from made) m
         where w.id = m.webhook_id`)
      yield* execute(
        until === null
          ? sql`update webhook_state set dispatched = ${upto}::int8, page_seq = null, page_hook = null`
          : sql`update webhook_state set page_seq = ${upto}::int8, page_hook = ${until}::uuid`
      )
      return Option.some(until === null ? upto - from : 0)
    }).pipe(withStatementTimeout(sql, dispatchTimeout), transaction(sql))

  let slice = wholeSlice

  /** A slice that takes too long is tried with half as many deliveries; the size then grows again by a few each time. */
  const dispatchNext: Effect.Effect<Option.Option<number>> = Effect.suspend(() => dispatchSlice(slice)).pipe(
    Effect.tap(() => Effect.sync(() => (slice = Math.min(wholeSlice, Math.ceil(slice * 1.1))))),
    Effect.catchCauseIf(
      (cause) => slice > 1 && timedOut(cause),
      () => {
        slice = Math.floor(slice / 2)
        return Effect.logWarning(
          "the deliveries of a turn took too long to make; half as many are tried"
        ).pipe(Effect.annotateLogs({ deliveries: slice }), Effect.andThen(dispatchNext))
      }
    )
  )

  const dispatch: Webhooks["Service"]["dispatch"] = Effect.gen(function* () {
    let all = 0
    while (yield* hasMore) {
      const done = yield* dispatchNext
      // Another instance makes deliveries.
      if (Option.isNone(done)) break
      all += done.value
    }
    return all
  })

  const post = Effect.fnUntraced(function* (
    url: string,
    headers: Readonly<Record<string, string>>,
    body: string
  ) {
    const fault = publicUrlFault(url, { ownMachine })
    if (fault !== undefined) return yield* new FetchFailed({ reason: fault })
    const place = new URL(url)
    const options = {
      ...attemptLimits,
      ownMachine,
      ...(!(ownMachine && isOwnMachine(place)) && { resolve: byDns }),
      ...fetching
    }
    const addresses = yield* addressesOf(place, options).pipe(
      // The details of the error could help to map a network.
      Effect.mapError(() => new FetchFailed({ reason: "its name leads to no public address" }))
    )
    return (yield* fetchAt(place, addresses, { ...options, headers, post: body })).status
  })

  const attempt = Effect.fnUntraced(
    function* (hook: Hook, secrets: ReadonlyArray<string>, delivery: Due) {
      const startedAt = yield* Clock.currentTimeMillis
      const seconds = String(Math.floor(startedAt / 1000))
      const headers = {
        accept: "*/*",
        "content-type": "application/json",
        "webhook-id": delivery.notice_id,
        "webhook-timestamp": seconds,
        "webhook-signature": signatures(secrets, `${delivery.notice_id}.${seconds}.${delivery.payload}`)
      }
      const answer = yield* Effect.result(
        secrets.length === 0
          ? new FetchFailed({ reason: "its secret cannot be read any more: replace it" })
          : post(hook.url, headers, delivery.payload)
      )
      const status = Result.isSuccess(answer) ? answer.success : null
      const made: Attempt = {
        delivery,
        status,
        error: Result.isFailure(answer)
          ? answer.failure.reason.replaceAll("\0", "").slice(0, maxError)
          : null,
        tookMillis: (yield* Clock.currentTimeMillis) - startedAt,
        outcome: outcomeOf(delivery, status)
      }
      yield* Metric.update(Metric.withAttributes(attemptsTotal, { outcome: made.outcome }), 1)
      if (made.outcome === "delivered") {
        const lag = (yield* Clock.currentTimeMillis) - DateTime.toEpochMillis(delivery.created_at)
        yield* Metric.update(lagSeconds, Math.max(0, lag / 1000))
      } else {
        yield* Effect.logDebug("a webhook did not take a notice").pipe(
          Effect.annotateLogs({ outcome: made.outcome, status, reason: made.error })
        )
      }
      return made
    },
    (attempted, hook, _, delivery) => {
      const about = { webhook_id: hook.id, notice_id: delivery.notice_id, type: delivery.type }
      const attributes = {
        "webhook.id": hook.id,
        "notice.id": delivery.notice_id,
        "notice.type": delivery.type,
        // This equals the attribute of the settlement's span, which is in another trace.
        ...(delivery.challenge_id !== null && { "challenge.id": delivery.challenge_id })
      }
      return attempted.pipe(
        Effect.annotateLogs(about),
        Effect.withSpan("Webhooks.attempt", { attributes, root: true })
      )
    }
  )

  /** Ends all deliveries that wait for this webhook. */
  const endAll = (hook: Hook) =>
    execute(sql`
      update webhook_deliveries set due_at = null where webhook_id = ${hook.id}::uuid and due_at is not null`)

  const disable = Effect.fnUntraced(function* (
    hook: Hook,
    owner: string | null,
    reason: string,
    now: DateTime.Utc
  ) {
    yield* Effect.logInfo("a webhook was disabled").pipe(Effect.annotateLogs({ webhook_id: hook.id, reason }))
    yield* execute(sql`
      update webhooks set disabled_at = ${timestamp(now)}, disabled_reason = ${reason} where id = ${hook.id}::uuid`)
    if (owner === null) return
    yield* mails.enqueue(
      owner,
      "webhook_disabled",
      textsOf(site).webhookDisabled({ baseUrl, host: new URL(hook.url).host, reason })
    )
  })

  const dueAfter = ({ delivery, outcome }: Attempt, now: DateTime.Utc): Date | null => {
    const pause = outcome === "deferred" ? pauses[delivery.attempts] : undefined
    return pause === undefined ? null : timestamp(DateTime.addDuration(now, Duration.fromInputUnsafe(pause)))
  }

  /** Records attempts; returns true if the receiver may be sent more at once. Attempts that ended after the lease are dropped. */
  const record = Effect.fnUntraced(function* (
    hook: Hook,
    until: DateTime.Utc,
    attempts: ReadonlyArray<Attempt>
  ) {
    const now = yield* boundNow(sql)
    // This is a separate statement: those after it see rows that became due before the row was locked.
    const found = yield* heldRow(sql`
      select w.failures, w.failing_since, w.disabled_at is not null as disabled, coalesce(w.owner_id, a.owner_id)::text as owner_id
        from webhooks w
        left join agents a on a.id = w.agent_id
       where w.id = ${hook.id}::uuid and w.leased_until = ${timestamp(until)}
         for no key update of w`)
    if (Option.isNone(found)) return false
    const { disabled, failing_since, owner_id: owner, failures: before } = found.value
    yield* execute(sql`
      update webhook_deliveries d
         set attempts = d.attempts + 1, attempted_at = ${timestamp(now)}, status = a.status, error = a.error, took_ms = a.took_ms,
             delivered_at = case when a.taken then ${timestamp(now)}::timestamptz end, due_at = a.due_at
        from ${rowsOf(sql, "a", attempts, {
          notice_id: ["uuid", ({ delivery }) => delivery.notice_id],
          taken: ["bool", ({ outcome }) => outcome === "delivered"],
          status: ["int4", ({ status }) => status],
          error: ["text", ({ error }) => error],
          took_ms: ["int4", ({ tookMillis }) => tookMillis],
          due_at: ["timestamptz", (each) => dueAfter(each, now)]
        })}
       where d.webhook_id = ${hook.id}::uuid and d.notice_id = a.notice_id`)
    const isFailing = attempts.every(({ outcome }) => outcome !== "delivered")
    const failures = isFailing ? before + 1 : 0
    const failingSince = isFailing ? (failing_since ?? now) : null
    const isSlow = isFailing || attempts.some(({ tookMillis }) => tookMillis > Duration.toMillis(slowAfter))
    const reason = endOf(attempts, failingSince, now)
    if (reason !== undefined && !disabled) yield* disable(hook, owner, reason, now)
    const isOver = disabled || reason !== undefined
    if (isOver) yield* endAll(hook)
    const restUntil = isFailing
      ? timestamp(DateTime.addDuration(now, doublingPause(failures, firstRest, maxRest)))
      : null
    yield* execute(sql`
      update webhooks w
         set failures = ${failures}::int, failing_since = ${failingSince === null ? null : timestamp(failingSince)}::timestamptz,
             rest_until = ${restUntil}::timestamptz, slow = ${isSlow},
             due_at = case when d.due_at is not null then greatest(d.due_at, ${restUntil}::timestamptz) end
        from (select min(due_at) as due_at from webhook_deliveries
               where webhook_id = ${hook.id}::uuid and due_at is not null) d
       where w.id = ${hook.id}::uuid`)
    return !isFailing && !isOver
  })

  const validSecrets = ({ previous_secret, secret }: Hook): ReadonlyArray<string> =>
    [secret, ...(previous_secret === null ? [] : [previous_secret])].flatMap((each) =>
      Option.toArray(decrypt(each))
    )

  /** Sends to one receiver until nothing is due, it fails, or its turn is over. */
  const sendTo = Effect.fnUntraced(
    function* (hook: Hook, until: DateTime.Utc) {
      const end = DateTime.addDuration(yield* DateTime.now, turn)
      const hasTime = Effect.map(DateTime.now, (now) => DateTime.isLessThan(now, end))
      const secrets = validSecrets(hook)
      let isWell = !hook.failing
      do {
        const due = yield* dueRows(sql`
          select notice_id::text, type, payload, attempts, payload::jsonb #>> '{data,subject,challenge_id}' as challenge_id, created_at
            from webhook_deliveries
           where webhook_id = ${hook.id}::uuid and due_at <= ${timestamp(yield* DateTime.now)}
           order by due_at, place limit ${isWell ? maxRound : 1}`)
        if (due.length === 0) return
        const begun = yield* Effect.forEach(
          due,
          (each) => Effect.when(attempt(hook, secrets, each), hasTime),
          { concurrency: maxRequests }
        )
        const attempts = Arr.getSomes(begun)
        if (attempts.length === 0) return
        isWell = yield* transaction(sql)(record(hook, until, attempts))
      } while (isWell && (yield* hasTime))
    },
    (sent, hook, until) =>
      sent.pipe(
        // A receiver whose answers could not be recorded is left alone until its lease ends.
        Effect.onExitIf(
          (exit) => Exit.isSuccess(exit) || Cause.hasInterrupts(exit.cause),
          () =>
            execute(sql`
              update webhooks set leased_until = null
               where id = ${hook.id}::uuid and leased_until = ${timestamp(until)}`)
        ),
        Effect.catchCauseIf(
          (cause) => !Cause.hasInterrupts(cause),
          (cause) =>
            Effect.logError(
              "answers of a webhook could not be recorded; its deliveries are sent again",
              cause
            ).pipe(Effect.annotateLogs({ webhook_id: hook.id }))
        )
      )
  )

  const send: Webhooks["Service"]["send"] = Effect.gen(function* () {
    const now = yield* DateTime.now
    const until = DateTime.addDuration(now, lease)
    // A lease this long comes from a clock that was ahead and was set back; other instances' clocks may differ a little.
    const absurd = DateTime.addDuration(now, Duration.times(lease, 2))
    const room = {
      slow: maxSlowReceivers - (yield* FiberSet.size(slowReceivers)),
      others: maxReceivers - maxSlowReceivers - (yield* FiberSet.size(receivers))
    }
    const dueHooks = (isSlow: boolean, limit: number) => sql`
      select id from webhooks
       where due_at <= ${timestamp(now)}
         and (leased_until is null or leased_until <= ${timestamp(now)} or leased_until > ${timestamp(absurd)})
         and disabled_at is null and slow = ${isSlow}
       order by due_at limit ${limit} for update skip locked`
    const hooks = yield* hookRows(sql`
      with slow as (${dueHooks(true, room.slow)}),
      others as (${dueHooks(false, room.others)})
      update webhooks w set leased_until = ${timestamp(until)}
       where w.id in (select id from slow union all select id from others)
      returning w.id::text, w.url, w.secret, w.slow, w.failures > 0 as failing,
                case when w.previous_until > ${timestamp(now)} then w.previous_secret end as previous_secret`)
    return yield* Effect.forEach(hooks, (hook) =>
      FiberSet.run(hook.slow ? slowReceivers : receivers, sendTo(hook, until))
    )
  })

  return { dispatch, send }
})
