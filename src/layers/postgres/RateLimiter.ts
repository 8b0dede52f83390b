/**
 * Sliding windows in two buckets: what was counted in the bucket before weighs as much as of it still lies within the
 * window. One upsert decides, so bursts over any number of replicas are counted exactly; uses that arrive together are
 * counted by one.
 */
import { Array as Arr, Clock, DateTime, Duration, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { RateLimiter, TooManyRequests } from "../../services/RateLimiter.ts"
import { Settings } from "../../services/Settings.ts"
import type { LimitName, RateLimit } from "../../services/Settings.ts"
import { cheapSpan } from "../cheapSpan.ts"
import * as RequestBatcher from "./RequestBatcher.ts"
import { execute, findAll, rowsOf, timestamp } from "./sql.ts"

/** Uses in the bucket of now, and in the one before. */
const Counts = Schema.Struct({ current: Schema.Int, previous: Schema.Int })

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

/** A use that is asked for. */
interface Use {
  readonly name: LimitName
  readonly subject: string
  readonly limit: RateLimit
  readonly now: number
}

/** A use that its window has no room for. */
interface Full extends Use {
  readonly counts: typeof Counts.Type
  readonly moment: Moment
}

const locate = ({ limit, name, subject }: Use, now: number): Moment => {
  const window = Duration.toMillis(limit.window)
  const bucket = Math.floor(now / window)
  return { key: `${name}:${window}:${subject}`, bucket, window, elapsed: now - bucket * window }
}

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

interface Unused extends Pick<typeof Window.Type, "key" | "bucket"> {
  readonly left: number
}

const tooMany = ({ counts, limit, moment, name }: Full) => {
  const seconds = retryAfter(limit, counts, moment)
  return new TooManyRequests({
    detail: `Too many ${what[name]}: at most ${limit.count} in ${Duration.format(limit.window)}. Try again in ${seconds} s.`,
    retry_after: seconds
  })
}

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const settings = yield* Settings
  const rows = findAll(Counts)
  const windows = findAll(Window)

  /**
   * Answers the first full window of each caller's uses; undefined: all of them are counted. A caller that is refused by
   * one window counts in none of them, so that waiting is enough.
   */
  const countAll = Effect.fnUntraced(function* (
    callers: Arr.NonEmptyReadonlyArray<ReadonlyArray<Use>>,
    client: SqlClient.SqlClient
  ) {
    const now = Math.max(...callers.flatMap((uses) => uses.map((use) => use.now)))
    const located = callers.map((uses) => uses.map((use) => ({ use, moment: locate(use, now) })))
    const asked = [...Map.groupBy(located.flat(), ({ moment }) => moment.key).values()].flatMap((same) =>
      same.slice(0, 1).map((first) => ({ ...first, uses: same.length }))
    )
    const counted = yield* windows(client`
      insert into rate_limits as r (key, window_ms, max_uses, bucket, current, previous, expires_at)
      select key, window_ms, max_uses, bucket, least(uses, max_uses), 0, expires_at
        from ${rowsOf(client, "w", asked, {
          key: ["text", ({ moment }) => moment.key],
          window_ms: ["int8", ({ moment }) => BigInt(moment.window)],
          max_uses: ["int4", ({ use }) => use.limit.count],
          bucket: ["int8", ({ moment }) => BigInt(moment.bucket)],
          uses: ["int4", (each) => each.uses],
          expires_at: [
            "timestamptz",
            ({ moment }) => timestamp(DateTime.makeUnsafe((moment.bucket + 2) * moment.window))
          ]
        })}
       order by key
      on conflict (key) do update set
        (window_ms, max_uses, bucket, expires_at, previous, current) = (
          select excluded.window_ms, excluded.max_uses, n.bucket, greatest(r.expires_at, excluded.expires_at), n.previous,
                 n.current + least(excluded.current, greatest(0,
                   (excluded.max_uses * excluded.window_ms
                      - n.previous * (excluded.window_ms - greatest(0, ${BigInt(now)}::int8 - n.bucket * excluded.window_ms)))
                   / excluded.window_ms - n.current))
            from (select greatest(r.bucket, excluded.bucket) as bucket,
                         case when r.bucket >= excluded.bucket then r.previous
                              when r.bucket = excluded.bucket - 1 then r.current else 0 end as previous,
                         case when r.bucket >= excluded.bucket then r.current else 0 end as current) n)
      returning key, new.current, new.previous, new.bucket::float8 as bucket,
                new.current - case old.bucket when new.bucket then old.current else 0 end as granted`)
    const byKey = new Map(counted.map((window) => [window.key, { ...window, left: window.granted }]))
    const fullWindows = located.map((uses): Full | undefined => {
      const wanted = uses.map(({ moment, use }) => {
        const window = byKey.get(moment.key)
        if (window === undefined) throw new Error(`the window ${moment.key} was not counted`)
        return { moment, use, window }
      })
      const full = wanted.find(({ window }) => window.left <= 0)
      if (full === undefined) {
        for (const { window } of wanted) window.left -= 1
        return undefined
      }
      // A replica whose clock is ahead may have begun the next bucket: this use is taken as one at its beginning.
      const { bucket } = full.window
      const elapsed = Math.max(0, now - bucket * full.moment.window)
      return { ...full.use, counts: full.window, moment: { ...full.moment, bucket, elapsed } }
    })
    yield* release(
      [...byKey.values()].filter(({ left }) => left > 0),
      client
    )
    return fullWindows
  })

  /** What was counted for callers that another window refused. In a bucket that has ended meanwhile it stays counted. */
  const release = (windows: ReadonlyArray<Unused>, client: SqlClient.SqlClient) =>
    windows.length === 0
      ? Effect.void
      : execute(client`
          with unused as (
            select r.key, u.count
              from rate_limits r
              join ${rowsOf(client, "u", windows, {
                key: ["text", ({ key }) => key],
                bucket: ["int8", ({ bucket }) => BigInt(bucket)],
                count: ["int4", ({ left }) => left]
              })} on u.key = r.key and u.bucket = r.bucket
             order by r.key for no key update of r
          )
          update rate_limits r set current = r.current - u.count from unused u where r.key = u.key`)

  const countOne = yield* RequestBatcher.make({ run: countAll, maxSize: settings.maxBatch })

  const read = ({ bucket, key }: Moment) =>
    rows(sql`
      select case when bucket >= ${bucket} then current else 0 end as current,
             case when bucket >= ${bucket} then previous when bucket = ${bucket} - 1 then current else 0 end as previous
        from rate_limits where key = ${key}`).pipe(
      Effect.map(([counts]) => counts ?? { current: 0, previous: 0 })
    )

  const consumeAll = Effect.fnUntraced(function* (
    uses: ReadonlyArray<readonly [limit: LimitName, subject: string]>
  ) {
    const now = yield* Clock.currentTimeMillis
    const asked = uses.flatMap(([name, subject]) =>
      settings.limits[name].map((limit) => ({ name, subject, limit, now }))
    )
    if (asked.length === 0) return
    const full = yield* countOne(asked)
    if (full !== undefined) return yield* tooMany(full)
  }, cheapSpan("RateLimiter.consume"))

  const consume: RateLimiter["Service"]["consume"] = (limit, subject) => consumeAll([[limit, subject]])

  const check = Effect.fn("RateLimiter.check")(function* (name: LimitName, subject: string) {
    const now = yield* Clock.currentTimeMillis
    for (const limit of settings.limits[name]) {
      const use = { name, subject, limit, now }
      const moment = locate(use, now)
      const counts = yield* read(moment)
      if (weight(counts, moment) > (limit.count - 1) * moment.window) {
        return yield* tooMany({ ...use, counts, moment })
      }
    }
  })

  const trim = Effect.gen(function* () {
    const now = yield* DateTime.now
    yield* execute(sql`delete from rate_limits where expires_at < ${timestamp(now)}`)
  }).pipe(Effect.withSpan("RateLimiter.trim"))

  return RateLimiter.of({ consume, consumeAll, check, trim })
})

export const layer = Layer.effect(RateLimiter, make)
