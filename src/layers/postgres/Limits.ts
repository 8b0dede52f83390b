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
  reads: "requests"
}

/** The weight of a window `elapsed` (0 to 1) into its current bucket. */
const weight = (counts: typeof Counts.Type, elapsed: number): number =>
  counts.previous * (1 - elapsed) + counts.current

/** Seconds until one more use fits, when nothing else is counted meanwhile. */
const retryAfter = (limit: RateLimit, counts: typeof Counts.Type, elapsed: number): number => {
  const window = Duration.toSeconds(limit.window)
  const room = limit.count - 1
  // In this bucket only the previous count fades; in the next one the current count is the previous.
  const wait =
    counts.current <= room
      ? (1 - elapsed - (room - counts.current) / Math.max(counts.previous, 1)) * window
      : (1 - elapsed + 1 - room / counts.current) * window
  return Math.max(1, Math.ceil(wait))
}

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const settings = yield* Settings
  const rows = many(Counts)

  const locate = (name: LimitName, subject: string, limit: RateLimit, now: number) => {
    const window = Duration.toMillis(limit.window)
    const bucket = Math.floor(now / window)
    return { key: `${name}:${window}:${subject}`, bucket, window, elapsed: now / window - bucket }
  }

  const refuse = (name: LimitName, limit: RateLimit, counts: typeof Counts.Type, elapsed: number) => {
    const seconds = retryAfter(limit, counts, elapsed)
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
    const { key, bucket, window, elapsed } = locate(name, subject, limit, now)
    const taken = yield* rows(sql`
      insert into rate_limits as r (key, bucket, current, previous, expires_at)
      values (${key}, ${bucket}, 1, 0, ${at(DateTime.makeUnsafe((bucket + 2) * window))})
      on conflict (key) do update set
        previous = case r.bucket when excluded.bucket then r.previous when excluded.bucket - 1 then r.current else 0 end,
        current = case r.bucket when excluded.bucket then r.current + 1 else 1 end,
        bucket = excluded.bucket,
        expires_at = excluded.expires_at
      where case r.bucket
        when excluded.bucket then r.previous * (1 - ${elapsed}::float8) + r.current
        when excluded.bucket - 1 then r.current * (1 - ${elapsed}::float8)
        else 0 end + 1 <= ${limit.count}
      returning current, previous`)
    if (taken.length === 0) {
      const counts = yield* read(key, bucket)
      return yield* refuse(name, limit, counts, elapsed)
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
      const { key, bucket, elapsed } = locate(name, subject, limit, now)
      const counts = yield* read(key, bucket)
      if (weight(counts, elapsed) + 1 > limit.count) return yield* refuse(name, limit, counts, elapsed)
    }
  })

  const trim = Effect.gen(function* () {
    const now = yield* DateTime.now
    yield* run(sql`delete from rate_limits where expires_at < ${at(now)}`)
  }).pipe(Effect.withSpan("Limits.trim"))

  return Limits.of({ take, check, trim })
})

export const layer = Layer.effect(Limits, make)
