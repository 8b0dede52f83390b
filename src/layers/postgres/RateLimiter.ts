/**
 * Exact sliding windows. A row keeps the times at which uses of a window were counted, so one function of the database decides under
 * the row's lock, for all replicas; uses that arrive together are counted by one statement. Limits on accepted writes are counted by
 * the statement that records the write (`makeAcceptance`) and only checked before: so a write gets 429 only because of others that
 * were accepted.
 *
 * Windows of up to 1 000 uses are exact to the millisecond. In larger ones a use counts from the end of its hundredth of the window
 * on, so that a row stays small: there are still never too many uses, but room comes up to a hundredth later.
 */
import { Array as Arr, Clock, DateTime, Duration, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { Statement } from "effect/sql"
import { MetQuotas, RateLimiter, TooManyRequests } from "../../services/RateLimiter.ts"
import type { Quota, Use } from "../../services/RateLimiter.ts"
import { Settings } from "../../services/Settings.ts"
import type { LimitName, RateLimit, RateLimits } from "../../services/Settings.ts"
import { cheapSpan } from "../cheapSpan.ts"
import * as RequestBatcher from "./RequestBatcher.ts"
import { boundTime, arraysOf, execute, findAll, rowsOf } from "./sql.ts"
import type { ColumnsOf } from "./sql.ts"

const what: Record<LimitName, string> = {
  predictions: "predictions",
  stakes: "stakes",
  comments: "comments",
  replies: "replies",
  likes: "likes",
  follows: "follows",
  refused_writes: "refused writes",
  tokens: "tokens",
  token_failures: "refused credentials",
  registrations: "registrations",
  claim_refresh: "renewed claim links",
  claim_mails: "claim mails to this mailbox",
  reminder_mails: "reminders to this mailbox",
  alert_mails: "alerts to this mailbox",
  sign_in_mails: "sign-in mails to this mailbox",
  sign_ins: "sign-in mails asked for",
  purchases: "purchases",
  reads: "requests",
  gateway_calls: "calls with this key",
  gateway_agent_calls: "calls of this agent",
  log_reads: "reads of the log"
}

/** These limits count accepted writes, the others count requests. */
const acceptedOnly: ReadonlySet<LimitName> = new Set([
  "predictions",
  "stakes",
  "comments",
  "replies",
  "likes",
  "follows"
])

/** These limits are not reported, since only the owner of a mailbox may know about its mails. */
const neverShown: ReadonlySet<LimitName> = new Set([
  "claim_mails",
  "reminder_mails",
  "alert_mails",
  "sign_in_mails"
])

const maxExact = 1000

/** A window that a caller asks for. */
interface Window {
  readonly key: string
  readonly name: LimitName
  readonly policy: string
  readonly limit: RateLimit
  readonly millis: number
  /** True if a use is counted, false if only room is needed. */
  readonly isCounted: boolean
}

interface Caller {
  readonly now: number
  readonly windows: ReadonlyArray<Window>
}

/** A window after a statement. */
interface Found {
  readonly window: Window
  readonly used: number
  /** The milliseconds until another use has room. */
  readonly wait: number
}

interface Outcome {
  readonly isGranted: boolean
  readonly found: ReadonlyArray<Found>
}

const Row = Schema.Struct({ granted: Schema.Int, used: Schema.Int, wait: Schema.Int })

const units = new Map([
  [1000, "second"],
  [60_000, "minute"],
  [3_600_000, "hour"],
  [86_400_000, "day"]
])

const isFull = ({ used, window }: Found): boolean => used >= window.limit.count

/** Seconds are rounded up, so that a wait this long is enough. */
const seconds = (millis: number): number => Math.max(1, Math.ceil(millis / 1000))

const quotaOf = ({ used, wait, window }: Found): Quota => ({
  count: window.limit.count,
  window: seconds(window.millis),
  remaining: Math.max(0, window.limit.count - used),
  reset: seconds(wait)
})

const tooMany = (found: ReadonlyArray<Found>): TooManyRequests => {
  const [last] = found.filter(isFull).toSorted((a, b) => b.wait - a.wait)
  if (last === undefined) throw new Error("a use was refused, and every window has room")
  const { limit, name } = last.window
  const retry_after = seconds(last.wait)
  return new TooManyRequests({
    detail: `Too many ${what[name]}: at most ${limit.count} in ${Duration.format(limit.window)}. Try again in ${retry_after} s.`,
    retry_after
  })
}

/** Callers that ask for the same windows are sent to the database as one. */
interface Group {
  readonly windows: ReadonlyArray<Window>
  readonly members: Array<number>
}

const countedKeys = ({ windows }: Group): ReadonlyArray<string> =>
  windows.filter(({ isCounted }) => isCounted).map(({ key }) => key)

/** Splits groups into as few turns as possible: within a turn no two count in one window. */
const turnsOf = (groups: Iterable<Group>): ReadonlyArray<ReadonlyArray<Group>> => {
  const turns: Array<{ readonly groups: Array<Group>; readonly keys: Set<string> }> = []
  for (const group of groups) {
    const keys = countedKeys(group)
    let turn = turns.find((each) => !keys.some((key) => each.keys.has(key)))
    if (turn === undefined) {
      turn = { groups: [], keys: new Set() }
      turns.push(turn)
    }
    turn.groups.push(group)
    for (const key of keys) turn.keys.add(key)
  }
  return turns.map(({ groups }) => groups)
}

/** The windows of a use, which needs room in all of them. */
const windowsOf = (limits: RateLimits, [name, subject]: Use, isCounted = true): ReadonlyArray<Window> =>
  limits[name].map((limit) => {
    const millis = Duration.toMillis(limit.window)
    const policy = limits[name].length === 1 ? name : `${name}_${units.get(millis) ?? millis}`
    return { key: `${name}:${millis}:${subject}`, name, policy, limit, millis, isCounted }
  })

/** The time of a use, in milliseconds. A use dated in the future would leave its window only after that time, so it counts as of now. */
const countedAt = (sql: SqlClient.SqlClient, now: number) =>
  sql`least(${BigInt(now)}::int8, floor(extract(epoch from database_time()) * 1000)::int8)`

/** The columns of windows for the functions of the database. */
const columns: ColumnsOf<Window> = {
  key: ["text", ({ key }) => key],
  max_uses: ["int8", ({ limit }) => BigInt(limit.count)],
  window_ms: ["int8", ({ millis }) => BigInt(millis)],
  tick: ["int8", ({ limit, millis }) => BigInt(limit.count > maxExact ? Math.ceil(millis / 100) : 1)]
}

/** The uses that a statement's writes owe, and the writes that it records. */
interface Acceptance {
  /** The owed uses, by the position of each write. */
  readonly owed: ReadonlyArray<ReadonlyArray<Use>>
  /** A query for the positions, from 1, of the writes that the statement records. */
  readonly recorded: Statement.Fragment
}

/**
 * Makes a query that counts the uses owed by accepted writes (`OwedUses`). The statement that records the writes must read its row.
 * If a window has no room, the statement fails with the defect `LimitReached`. Writes that owe to one window must owe the same. The
 * uses count from now, not from the time of receipt, so a write that passed an earlier check has room here, too.
 */
export const makeAcceptance = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { limits } = yield* Settings
  return Effect.fnUntraced(function* ({ owed, recorded }: Acceptance) {
    const now = yield* Clock.currentTimeMillis
    const windows = owed.flatMap((uses, index) =>
      uses.flatMap((use) => windowsOf(limits, use).map((window) => ({ ...window, place: index + 1 })))
    )
    return sql`
      select accept_uses(
               ${countedAt(sql, now)}, array_agg(u.place), array_agg(u.key), array_agg(u.max_uses),
               array_agg(u.window_ms), array_agg(u.tick))
        from ${rowsOf(sql, "u", windows, { place: ["int4", ({ place }) => place], ...columns })}
       where u.place in (${recorded})`
  })
})

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { limits, maxBatch } = yield* Settings
  const rows = findAll(Row)

  const use = (client: SqlClient.SqlClient, now: number, groups: ReadonlyArray<Group>) => {
    const uses = groups.flatMap(({ members, windows }, caller) =>
      windows.map((window) => ({ ...window, caller, uses: members.length }))
    )
    return client`
      use_limits(${countedAt(client, now)}, ${arraysOf(client, uses, {
        caller: ["int4", ({ caller }) => caller],
        ...columns,
        uses: ["int8", ({ uses }) => BigInt(uses)],
        is_counted: ["bool", ({ isCounted }) => isCounted]
      })})`
  }

  const answerAll = Effect.fnUntraced(function* (
    callers: Arr.NonEmptyReadonlyArray<Caller>,
    client: SqlClient.SqlClient
  ) {
    const now = Math.max(...callers.map((caller) => caller.now))
    const outcomes = callers.map((): Outcome => ({ isGranted: true, found: [] }))
    const groups = new Map<string, Group>()
    for (const [index, { windows }] of callers.entries()) {
      const name = windows.map(({ isCounted, key }) => `${key} ${isCounted}`).join(" ")
      const group = groups.get(name)
      if (group === undefined) groups.set(name, { windows, members: [index] })
      else group.members.push(index)
    }
    for (const turn of turnsOf(groups.values())) {
      const found = yield* rows(client`
        select u.granted::float8 as granted, u.used::float8 as used, u.wait_ms::float8 as wait
          from ${use(client, now, turn)} u order by u.place`)
      let place = 0
      for (const { members, windows } of turn) {
        const own = windows.map((window, index) => ({ window, ...Arr.getUnsafe(found, place + index) }))
        place += windows.length
        for (const [nth, member] of members.entries()) {
          outcomes[member] = { isGranted: own.every(({ granted }) => nth < granted), found: own }
        }
      }
    }
    return outcomes
  })

  const answer = yield* RequestBatcher.make({ run: answerAll, maxSize: maxBatch })

  /** Notes the windows that count this request, now or once it is accepted, and other windows once they are full. */
  const note = (found: ReadonlyArray<Found>) =>
    Effect.map(MetQuotas, (quotas) => {
      if (quotas === undefined) return
      for (const each of found) {
        const { isCounted, name, policy } = each.window
        const isShown = isCounted || acceptedOnly.has(name) || isFull(each)
        if (isShown && !neverShown.has(name)) quotas.set(policy, quotaOf(each))
      }
    })

  const ask = Effect.fnUntraced(function* (windows: ReadonlyArray<Window>) {
    if (windows.length === 0) return []
    const now = yield* Clock.currentTimeMillis
    const { found, isGranted } = yield* answer({ now, windows })
    yield* note(found)
    if (!isGranted) return yield* tooMany(found)
    return found
  })

  const consumeAll: RateLimiter["Service"]["consumeAll"] = (uses) =>
    ask(uses.flatMap((each) => windowsOf(limits, each))).pipe(Effect.asVoid, cheapSpan("RateLimiter.consume"))

  const admitWrite = Effect.fnUntraced(function* (agentId: string, uses: ReadonlyArray<Use>) {
    const found = yield* ask([
      ...uses.flatMap((each) => windowsOf(limits, each, !acceptedOnly.has(each[0]))),
      ...windowsOf(limits, ["refused_writes", agentId], false)
    ])
    const owed = found.filter(({ window }) => acceptedOnly.has(window.name))
    return { accepted: note(owed.map((each) => ({ ...each, used: each.used + 1 }))) }
  }, cheapSpan("RateLimiter.admitWrite"))

  const admitWrites = Effect.fnUntraced(function* (
    agentId: string,
    writes: ReadonlyArray<ReadonlyArray<Use>>
  ) {
    const needed = writes.map((uses) => [
      ...uses.flatMap((each) => windowsOf(limits, each, false)),
      ...windowsOf(limits, ["refused_writes", agentId], false)
    ])
    const windows = [...new Map(needed.flat().map((window) => [window.key, window])).values()]
    const now = yield* Clock.currentTimeMillis
    const found = windows.length === 0 ? [] : (yield* answer({ now, windows })).found
    yield* note(found)
    const needs = (place: number, { window: { key } }: Found) =>
      needed[place]?.some((window) => window.key === key) === true
    return {
      refusals: writes.map((_, place) => {
        const full = found.filter((each) => needs(place, each) && isFull(each))
        return full.length === 0 ? undefined : tooMany(full)
      }),
      accepted: (places: ReadonlyArray<number>) =>
        note(
          found
            .filter(({ window }) => acceptedOnly.has(window.name))
            .map((each) => ({
              ...each,
              used: each.used + places.filter((place) => needs(place, each)).length
            }))
        )
    }
  }, cheapSpan("RateLimiter.admitWrites"))

  const check = (name: LimitName, subject: string) =>
    ask(windowsOf(limits, [name, subject], false)).pipe(Effect.asVoid, Effect.withSpan("RateLimiter.check"))

  const trim = Effect.gen(function* () {
    const now = boundTime(sql, yield* DateTime.now)
    yield* execute(sql`delete from limit_windows where expires_at < ${now}`)
    // The version before used this table.
    yield* execute(sql`delete from rate_limits where expires_at < ${now}`)
  }).pipe(Effect.withSpan("RateLimiter.trim"))

  return RateLimiter.of({
    consume: (limit, subject) => consumeAll([[limit, subject]]),
    consumeAll,
    admitWrite,
    admitWrites,
    check,
    trim
  })
})

export const layer = Layer.effect(RateLimiter, make)
