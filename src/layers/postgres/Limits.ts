/**
 * Sliding windows in two buckets: what was counted in the bucket before weighs as much as of it still lies within the
 * window. One upsert decides, so bursts over any number of replicas are counted exactly.
 */
import { Clock, DateTime, Duration, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { Limits, TooManyRequests } from "../../services/Limits.ts"
import { Settings } from "../../services/Settings.ts"
import type { LimitName, RateLimit } from "../../services/Settings.ts"
import { at, many, run } from "./query.ts"

const Counts = Schema.Struct({ current: Schema.Int, previous: Schema.Int })

const what: Record<LimitName, string> = {
  predictions: "predictions",
  tokens: "tokens",
  token_failures: "refused credentials",
  registrations: "registrations",
  claim_refresh: "renewed claim links",
  claim_mails: "claim mails to this mailbox",
  sign_in_mails: "sign-in mails to this mailbox",
  sign_ins: "sign-in mails asked for",
  reads: "requests"
}

/** A moment in a window, in milliseconds: whole numbers, so that waiting as long as was said is enough to the digit. */
interface Moment {
  readonly key: string
  readonly bucket: number
  readonly window: number
  /** Since the bucket began. */
  readonly elapsed: number
}

/** Uses times milliseconds: what lies within the window now. */
const weight = (counts: typeof Counts.Type, { window, elapsed }: Moment): number =>
  counts.previous * (window - elapsed) + counts.current * window

/** Seconds until one more use fits, when nothing else is counted meanwhile. */
const retryAfter = (limit: RateLimit, counts: typeof Counts.Type, { window, elapsed }: Moment): number => {
  const room = limit.count - 1
  // In this bucket only the previous count fades; in the next one the current count is the previous.
  const wait =
    counts.current <= room
      ? window - elapsed - ((room - counts.current) * window) / Math.max(counts.previous, 1)
      : window - elapsed + window - (room * window) / counts.current
  return Math.max(1, Math.ceil(Math.ceil(wait) / 1000))
}

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const settings = yield* Settings
  const rows = many(Counts)

  const locate = (name: LimitName, subject: string, limit: RateLimit, now: number): Moment => {
    const window = Duration.toMillis(limit.window)
    const bucket = Math.floor(now / window)
    return { key: `${name}:${window}:${subject}`, bucket, window, elapsed: now - bucket * window }
  }

  const refuse = (name: LimitName, limit: RateLimit, counts: typeof Counts.Type, moment: Moment) => {
    const seconds = retryAfter(limit, counts, moment)
    return new TooManyRequests({
      detail: `Too many ${what[name]}: at most ${limit.count} in ${Duration.format(limit.window)}. Try again in ${seconds} s.`,
      retry_after: seconds
    })
  }

  /** Counts unless the window is full: the condition of the update is the decision. */
  const takeOne = Effect.fnUntraced(function* (
    name: LimitName,
    subject: string,
    limit: RateLimit,
    now: number
  ) {
    const moment = locate(name, subject, limit, now)
    const { key, bucket, window, elapsed } = moment
    const taken = yield* rows(sql`
      insert into rate_limits as r (key, bucket, current, previous, expires_at)
      values (${key}, ${bucket}, 1, 0, ${at(DateTime.makeUnsafe((bucket + 2) * window))})
      on conflict (key) do update set
        previous = case r.bucket when excluded.bucket then r.previous when excluded.bucket - 1 then r.current else 0 end,
        current = case r.bucket when excluded.bucket then r.current + 1 else 1 end,
        bucket = excluded.bucket,
        expires_at = excluded.expires_at
      where case r.bucket
        when excluded.bucket then r.previous::int8 * ${window - elapsed}::int8 + r.current::int8 * ${window}::int8
        when excluded.bucket - 1 then r.current::int8 * ${window - elapsed}::int8
        else 0 end <= ${limit.count - 1}::int8 * ${window}::int8
      returning current, previous`)
    if (taken.length === 0) {
      const counts = yield* read(key, bucket)
      return yield* refuse(name, limit, counts, moment)
    }
  })

  const read = (key: string, bucket: number) =>
    rows(sql`
      select case bucket when ${bucket} then current else 0 end as current,
             case bucket when ${bucket} then previous when ${bucket} - 1 then current else 0 end as previous
        from rate_limits where key = ${key}`).pipe(
      Effect.map(([counts]) => counts ?? { current: 0, previous: 0 })
    )

  const take = Effect.fn("Limits.take")(function* (name: LimitName, subject: string) {
    const now = yield* Clock.currentTimeMillis
    for (const limit of settings.limits[name]) yield* takeOne(name, subject, limit, now)
  })

  const check = Effect.fn("Limits.check")(function* (name: LimitName, subject: string) {
    const now = yield* Clock.currentTimeMillis
    for (const limit of settings.limits[name]) {
      const moment = locate(name, subject, limit, now)
      const counts = yield* read(moment.key, moment.bucket)
      if (weight(counts, moment) > (limit.count - 1) * moment.window) {
        return yield* refuse(name, limit, counts, moment)
      }
    }
  })

  const trim = Effect.gen(function* () {
    const now = yield* DateTime.now
    yield* run(sql`delete from rate_limits where expires_at < ${at(now)}`)
  }).pipe(Effect.withSpan("Limits.trim"))

  return Limits.of({ take, check, trim })
})

export const layer = Layer.effect(Limits, make)
