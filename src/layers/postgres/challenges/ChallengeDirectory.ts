import { DateTime, Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { ChallengeDirectory } from "../../../services/ChallengeDirectory.ts"
import { ChallengeSummary } from "../../../services/domain/Challenge.ts"
import type { DirectoryFilter, DirectoryStatus } from "../../../services/domain/Challenge.ts"
import { Cursors, cutPage, invalidCursor } from "../../../services/paging.ts"
import { InstantText } from "../../../services/text.ts"
import { countsOfChallenge, hasStatus, statusOf } from "./challengeRows.ts"
import { findAll, isoTimestamp } from "../sql.ts"

/** An event is about a day or two, and so are its challenges. */
const maxOfEvent = 20

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const summaries = findAll(ChallengeSummary)
  // Where a page ended. Lists by deadline need both, the others the id alone.
  const cursor = (yield* Cursors).codec(
    "directory",
    Schema.Struct({ deadline: InstantText, id: Schema.String.check(Schema.isGUID()) })
  )

  const columns = (now: DateTime.Utc) => sql`
    c.id::text, c.type, c.kind, c.target as asset, c.question, ${statusOf(sql, now)} as status,
    ${isoTimestamp(sql, "c.deadline")} as deadline, ${isoTimestamp(sql, "c.resolve_at")} as resolve_at,
    ${isoTimestamp(sql, "coalesce(c.resolved_at, c.cancelled_at)")} as ended_at,
    n.bullish + n.bearish + n.neutral + n.forecasts as prediction_count, s.result,
    s.actual_value::float8 as actual_value, c.unit`

  /** What the columns are of, for challenges `c` that are chosen before. */
  const joined = sql`
    ${countsOfChallenge(sql)}
    left join lateral (
      select result, actual_value from settlements where challenge_id = c.id order by version desc limit 1) s on true`

  /** Literals, because an index of one type serves a condition that names it. */
  const types = {
    directional: sql`and c.type = 'directional'`,
    macro: sql`and c.type = 'macro'`,
    price_event: sql`and c.type = 'price_event'`
  }

  const orders: Readonly<Record<DirectoryStatus, ReturnType<typeof sql.and>>> = {
    open: sql`c.deadline, c.id`,
    closed: sql`c.deadline desc, c.id desc`,
    resolved: sql`c.id desc`,
    ended: sql`c.id desc`
  }

  const beyond = (status: DirectoryStatus, last: { readonly deadline: string; readonly id: string }) => {
    switch (status) {
      case "open":
        return sql`and (c.deadline, c.id) > (${last.deadline}::timestamptz, ${last.id}::uuid)`
      case "closed":
        return sql`and (c.deadline, c.id) < (${last.deadline}::timestamptz, ${last.id}::uuid)`
      case "resolved":
      case "ended":
        return sql`and c.id < ${last.id}::uuid`
    }
  }

  const list: ChallengeDirectory["Service"]["list"] = Effect.fn("ChallengeDirectory.list")(function* (
    { status, type }: DirectoryFilter,
    page
  ) {
    const after = Option.getOrNull(cursor.decode(page.cursor, status))
    if (after === null) return yield* invalidCursor()
    const now = yield* DateTime.now
    const rows = yield* summaries(sql`
        select ${columns(now)}
          from (
            select * from challenges c
             where ${hasStatus(sql, status === "ended" ? "void" : status, now)}
               ${type === undefined ? sql`` : types[type]}
               ${after === undefined ? sql`` : beyond(status, after)}
             order by ${orders[status]}
             limit ${page.limit + 1}) c
          ${joined}
         order by ${orders[status]}`)
    return cutPage(rows, page.limit, (last) =>
      cursor.encode({ deadline: last.deadline, id: last.id }, status)
    )
  })

  const settledLast: ChallengeDirectory["Service"]["settledLast"] = Effect.fn(
    "ChallengeDirectory.settledLast"
  )(function* (limit) {
    const now = yield* DateTime.now
    return yield* summaries(sql`
        select ${columns(now)}
          from (
            select * from challenges where resolved_at is not null
             order by resolved_at desc, id desc
             limit ${limit}) c
          ${joined}
         order by c.resolved_at desc, c.id desc`)
  })

  const ofEvent: ChallengeDirectory["Service"]["ofEvent"] = Effect.fn("ChallengeDirectory.ofEvent")(
    function* (eventId) {
      const now = yield* DateTime.now
      return yield* summaries(sql`
        select ${columns(now)}
          from (select * from challenges c where c.event_id = ${eventId} order by c.id desc limit ${maxOfEvent}) c
          ${joined}
         order by c.id desc`)
    }
  )

  return ChallengeDirectory.of({ list, settledLast, ofEvent })
})

export const layer = Layer.effect(ChallengeDirectory, make)
