/**
 * Sliding windows in two buckets: what was counted in the bucket before weighs as much as of it still lies within the
 * window. One upsert decides, so bursts over any number of replicas are counted exactly; uses that arrive together are
 * counted by one.
 */
import { Array as Arr, Clock, DateTime, Duration, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { Limits, TooManyRequests } from "../../services/Limits.ts"
import { Settings } from "../../services/Settings.ts"
import type { LimitName, RateLimit } from "../../services/Settings.ts"
import { hotSpan } from "../hotSpan.ts"
import { leaseDuration, makeLeases } from "./leases.ts"
import type { Unused, Wanted } from "./leases.ts"
import { Counts, isHalfFull, locate, retryAfter, weight } from "./limitWindows.ts"
import type { Moment, Subject, Taken, Use } from "./limitWindows.ts"
import * as naturalBatch from "./naturalBatch.ts"
import { at, column, many, run } from "./query.ts"

/** Those whose subjects come often enough for a statement each to be the largest part of what a request costs. */
const leased: ReadonlySet<LimitName> = new Set(["gateway_calls", "gateway_agent_calls"])

const what: Record<LimitName, string> = {
  predictions: "predictions",
  stakes: "stakes",
  comments: "comments",
  replies: "replies",
  likes: "likes",
  follows: "follows",
  tokens: "tokens",
  token_failures: "refused credentials",
  registrations: "registrations",
  claim_refresh: "renewed claim links",
  claim_mails: "claim mails to this mailbox",
  reminder_mails: "reminders to this mailbox",
  sign_in_mails: "sign-in mails to this mailbox",
  sign_ins: "sign-in mails asked for",
  purchases: "purchases",
  reads: "requests",
  gateway_calls: "calls with this key",
  gateway_agent_calls: "calls of this agent",
  log_reads: "reads of the log"
}

const Window = Schema.Struct({
  ...Counts.fields,
  key: Schema.String,
  bucket: Schema.Int,
  granted: Schema.Int
})

const refuse = ({ limit, name }: Use, { counts, moment }: Taken) => {
  const seconds = retryAfter(limit, counts, moment)
  return new TooManyRequests({
    detail: `Too many ${what[name]}: at most ${limit.count} in ${Duration.format(limit.window)}. Try again in ${seconds} s.`,
    retry_after: seconds
  })
}

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const settings = yield* Settings
  const clock = yield* Clock.Clock
  const rows = many(Counts)
  const windows = many(Window)

  /**
   * Counts as many of the uses as their windows have room for. What a full window refuses is not counted, so that
   * waiting is enough.
   */
  const takeAll = Effect.fnUntraced(function* (
    uses: Arr.NonEmptyReadonlyArray<Use>,
    client: SqlClient.SqlClient
  ) {
    const now = Math.max(...uses.map((use) => use.now))
    const located = uses.map((use) => ({ use, moment: locate(use, now) }))
    const asked = [...Map.groupBy(located, ({ moment }) => moment.key).values()].flatMap(([first, ...more]) =>
      first === undefined
        ? []
        : [{ ...first, uses: more.reduce((sum, { use }) => sum + use.uses, first.use.uses) }]
    )
    const counted = yield* windows(client`
      insert into rate_limits as r (key, window_ms, most, bucket, current, previous, expires_at)
      select key, window_ms, most, bucket, least(uses, most), 0, expires_at
        from unnest(
          ${column(
            "text",
            asked.map(({ moment }) => moment.key)
          )},
          ${column(
            "int8",
            asked.map(({ moment }) => BigInt(moment.window))
          )},
          ${column(
            "int4",
            asked.map(({ use }) => use.limit.count)
          )},
          ${column(
            "int8",
            asked.map(({ moment }) => BigInt(moment.bucket))
          )},
          ${column(
            "int4",
            asked.map((each) => each.uses)
          )},
          ${column(
            "timestamptz",
            asked.map(({ moment }) => at(DateTime.makeUnsafe((moment.bucket + 2) * moment.window)))
          )}
        ) as w (key, window_ms, most, bucket, uses, expires_at)
       order by key
      on conflict (key) do update set
        (window_ms, most, bucket, expires_at, previous, current) = (
          select excluded.window_ms, excluded.most, n.bucket, greatest(r.expires_at, excluded.expires_at), n.previous,
                 n.current + least(excluded.current, greatest(0,
                   (excluded.most * excluded.window_ms
                      - n.previous * (excluded.window_ms - greatest(0, ${BigInt(now)}::int8 - n.bucket * excluded.window_ms)))
                   / excluded.window_ms - n.current))
            from (select greatest(r.bucket, excluded.bucket) as bucket,
                         case when r.bucket >= excluded.bucket then r.previous
                              when r.bucket = excluded.bucket - 1 then r.current else 0 end as previous,
                         case when r.bucket >= excluded.bucket then r.current else 0 end as current) n)
      returning key, new.current, new.previous, new.bucket::float8 as bucket,
                new.current - case old.bucket when new.bucket then old.current else 0 end as granted`)
    const byKey = new Map(counted.map((window) => [window.key, { counts: window, left: window.granted }]))
    return located.map(({ moment, use }): Taken => {
      const window = byKey.get(moment.key)
      if (window === undefined) throw new Error(`the window ${moment.key} was not counted`)
      const granted = Math.min(use.uses, window.left)
      window.left -= granted
      // A replica whose clock is ahead may have begun the next bucket: this use is taken as one at its beginning.
      const { bucket } = window.counts
      const elapsed = Math.max(0, now - bucket * moment.window)
      return { granted, counts: window.counts, moment: { ...moment, bucket, elapsed } }
    })
  })

  const takeOne = yield* naturalBatch.make({ run: takeAll, largest: settings.largestBatch })

  const leases = makeLeases<Subject>()

  /** What was leased and not used is free again, in whichever bucket it is counted by now. */
  const giveBack = (unused: Arr.NonEmptyReadonlyArray<Unused>) =>
    run(sql`
      update rate_limits r
         set current = case when r.bucket = w.bucket then greatest(0, r.current - w.uses) else r.current end,
             previous = case when r.bucket = w.bucket + 1 then greatest(0, r.previous - w.uses) else r.previous end
        from (select w.*
                from unnest(
                  ${column(
                    "text",
                    unused.map(({ key }) => key)
                  )},
                  ${column(
                    "int8",
                    unused.map(({ bucket }) => BigInt(bucket))
                  )},
                  ${column(
                    "int4",
                    unused.map(({ uses }) => uses)
                  )}
                ) as w (key, bucket, uses)
                join rate_limits o on o.key = w.key
               order by w.key for update of o) w
       where r.key = w.key`)

  /** Of those that come steadily, counted before they come. */
  const fill = Effect.fnUntraced(function* (wanted: ReadonlyArray<Wanted<Subject>>) {
    const now = yield* Clock.currentTimeMillis
    for (const some of Arr.chunksOf(wanted, settings.largestBatch)) {
      const uses = Arr.map(some, (each): Use => ({ ...each.of, uses: each.uses, now }))
      for (const [use, taken] of Arr.zip(uses, yield* takeAll(uses, sql))) {
        leases.fill(taken.moment, taken.granted, isHalfFull(use, taken))
      }
    }
  })

  const tidied = Effect.gen(function* () {
    const { unused, wanted } = leases.look(yield* Clock.currentTimeMillis)
    if (Arr.isReadonlyArrayNonEmpty(unused)) {
      yield* Effect.catchCause(giveBack(unused), (cause) =>
        Effect.logWarning("unused leases were lost", cause)
      )
    }
    yield* Effect.catchCause(fill(wanted), (cause) => Effect.logWarning("leases were not filled up", cause))
  })
  yield* Effect.forkScoped(Effect.forever(Effect.delay(leases.busy.whenOpen(tidied), leaseDuration)))

  const read = ({ bucket, key }: Moment) =>
    rows(sql`
      select case when bucket >= ${bucket} then current else 0 end as current,
             case when bucket >= ${bucket} then previous when bucket = ${bucket} - 1 then current else 0 end as previous
        from rate_limits where key = ${key}`).pipe(
      Effect.map(([counts]) => counts ?? { current: 0, previous: 0 })
    )

  /** Those that have no lease for it, the first of which is known to have none. */
  const takeFrom = Effect.fnUntraced(function* (
    limits: ReadonlyArray<RateLimit>,
    name: LimitName,
    subject: string,
    now: number
  ) {
    const isLeased = leased.has(name)
    for (const [index, limit] of limits.entries()) {
      const moment = locate({ name, subject, limit }, now)
      if (isLeased && index > 0 && leases.take(moment)) continue
      const uses = isLeased ? leases.next(moment, limit.count) : 1
      const use = { name, subject, limit, now, uses }
      const taken = yield* takeOne(use)
      if (taken.granted === 0) return yield* refuse(use, taken)
      if (isLeased) {
        leases.keep({ name, subject, limit }, taken.moment, now, taken.granted - 1, isHalfFull(use, taken))
      }
    }
  }, hotSpan("Limits.take"))

  const take = (name: LimitName, subject: string) =>
    Effect.withFiber<void, TooManyRequests>((fiber) => {
      const now = fiber.getRef(Clock.Clock).currentTimeMillisUnsafe()
      const limits = settings.limits[name]
      const hasLease = (limit: RateLimit) => leases.take(locate({ name, subject, limit }, now))
      const first = leased.has(name) ? limits.findIndex((limit) => !hasLease(limit)) : 0
      if (first === -1) return Effect.void
      const taken = takeFrom(limits.slice(first), name, subject, now)
      // A lease that was counted is kept, also where whoever asked first has left: others of the subject use it.
      return leased.has(name) ? Effect.uninterruptible(taken) : taken
    })

  const takeLeased: Limits["Service"]["takeLeased"] = (name, subject) => {
    if (!leased.has(name)) return false
    const now = clock.currentTimeMillisUnsafe()
    const places = settings.limits[name].map((limit) => locate({ name, subject, limit }, now))
    // All or none of them: what is taken of one window only would count for nothing.
    return places.every(leases.has) && places.every(leases.take)
  }

  const check = Effect.fn("Limits.check")(function* (name: LimitName, subject: string) {
    const now = yield* Clock.currentTimeMillis
    for (const limit of settings.limits[name]) {
      const use = { name, subject, limit, now, uses: 1 }
      const moment = locate(use, now)
      const counts = yield* read(moment)
      if (weight(counts, moment) > (limit.count - 1) * moment.window) {
        return yield* refuse(use, { granted: 0, counts, moment })
      }
    }
  })

  const trim = Effect.gen(function* () {
    const now = yield* DateTime.now
    yield* run(sql`delete from rate_limits where expires_at < ${at(now)}`)
  }).pipe(Effect.withSpan("Limits.trim"))

  return Limits.of({ take, takeLeased, check, trim })
})

export const layer = Layer.effect(Limits, make)
