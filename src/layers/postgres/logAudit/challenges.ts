/** Challenges beside the entries of their making, their close and their cancellation. */
import { createHash } from "node:crypto"
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { canonicalJson } from "../../crypto/canonicalJson.ts"
import { arrayParam, findAll } from "../sql.ts"
import { QuestionTerms, questionTerms } from "../log/recorded.ts"
import { compare, exact, membersOf, moment } from "./entry.ts"
import type { Findings } from "./findings.ts"
import { eachPage } from "./pages.ts"
import { makeAuditPools } from "./pools.ts"

const pageSize = 1000

const At = Schema.NullOr(Schema.String)
const Index = Schema.NullOr(Schema.Finite)
const Entry = Schema.NullOr(Schema.Uint8Array)

const Row = Schema.Struct({
  id: Schema.String,
  type: Schema.String,
  kind: Schema.String,
  target: Schema.String,
  event_id: Schema.NullOr(Schema.String),
  question: Schema.String,
  resolution_criteria: Schema.NullOr(Schema.String),
  resolution_criteria_zh: Schema.NullOr(Schema.String),
  created_at: Schema.String,
  deadline: Schema.String,
  resolve_at: Schema.String,
  close_price_until: Schema.String,
  cancel_at: Schema.String,
  open_price: Schema.NullOr(Schema.String),
  dead_zone_pct: Schema.NullOr(Schema.String),
  ...QuestionTerms.fields,
  window_from: At,
  closed_at: At,
  resolved_at: At,
  cancelled_at: At,
  cancel_reason: Schema.NullOr(Schema.String),
  settled_at: At,
  made: Index,
  made_entry: Entry,
  closed: Index,
  closed_entry: Entry,
  voided: Index,
  voided_entry: Entry
})

const Waiting = Schema.Struct({
  challenge_id: Schema.String,
  type: Schema.String,
  entry: Entry,
  closed_at: At
})

const sha256 = (text: string): string => createHash("sha256").update(text, "utf8").digest("hex")

/** What a row has of the other types: nothing, or that shows as a difference. */
const foreign = (row: typeof Row.Type, names: ReadonlyArray<keyof typeof Row.Type>) =>
  Object.fromEntries(names.flatMap((name) => (row[name] === null ? [] : [[name, row[name]]])))

/** What nobody waits for apart is no member of an entry. */
const untilCancelled = ({ cancel_at, close_price_until }: typeof Row.Type) =>
  close_price_until === cancel_at ? {} : { close_price_until }

/** What a challenge of each type settles by. */
const termsOf = (row: typeof Row.Type) => {
  const { bin_edges, close_price_until, dead_zone_pct, decimal_step, level, open_price } = row
  const { period, reference_scale, reward_pool, unit, window_from } = row
  switch (row.type) {
    case "macro":
      return {
        bin_edges,
        decimal_step,
        period,
        reference_scale,
        reward_pool,
        unit,
        ...foreign(row, ["open_price", "dead_zone_pct", "level", "window_from"]),
        ...untilCancelled(row)
      }
    case "price_event":
      return {
        decimal_step,
        level,
        reference_scale,
        window_from,
        ...foreign(row, ["open_price", "dead_zone_pct", "bin_edges", "period", "reward_pool", "unit"]),
        ...untilCancelled(row)
      }
    default:
      return {
        close_price_until,
        dead_zone_pct,
        open_price,
        ...foreign(row, ["bin_edges", "decimal_step", "period", "reference_scale", "reward_pool", "unit"]),
        ...foreign(row, ["level", "window_from"])
      }
  }
}

const madeOf = (row: typeof Row.Type) => ({
  ...termsOf(row),
  asset: row.target,
  cancel_at: row.cancel_at,
  challenge_id: row.id,
  challenge_type: row.type,
  created_at: row.created_at,
  deadline: row.deadline,
  event_id: row.event_id,
  frozen_sha256: sha256(
    canonicalJson({
      question: row.question,
      resolution_criteria: row.resolution_criteria,
      resolution_criteria_zh: row.resolution_criteria_zh
    })
  ),
  kind: row.kind,
  resolve_at: row.resolve_at,
  scoring_version: 1,
  source: null
})

export const auditChallenges = Effect.fnUntraced(function* (findings: Findings) {
  const sql = yield* SqlClient.SqlClient
  const rows = findAll(Row)
  const waiting = findAll(Waiting)
  const auditPools = yield* makeAuditPools
  const counts = { challenges: 0, pools: 0 }

  const logged = (alias: string, type: string) => sql`
    left join log_entries ${sql.literal(alias)}
           on ${sql.literal(alias)}.challenge_id = c.id and ${sql.literal(alias)}.type = ${type}
          and ${sql.literal(alias)}.version = 1`

  const read = (after: typeof Row.Type | undefined) =>
    rows(sql`
      select c.id::text, c.type, c.kind, c.target, c.event_id, c.question, c.resolution_criteria,
             c.resolution_criteria_zh, ${moment(sql, "c.created_at")} as created_at,
             ${moment(sql, "c.deadline")} as deadline, ${moment(sql, "c.resolve_at")} as resolve_at,
             ${moment(sql, "c.close_price_until")} as close_price_until, ${moment(sql, "c.cancel_at")} as cancel_at,
             ${exact(sql, "c.open_price")} as open_price, ${exact(sql, "c.dead_zone_pct")} as dead_zone_pct,
             ${questionTerms(sql)}, ${moment(sql, "c.window_from")} as window_from,
             ${moment(sql, "c.closed_at")} as closed_at, ${moment(sql, "c.resolved_at")} as resolved_at,
             ${moment(sql, "c.cancelled_at")} as cancelled_at, c.cancel_reason,
             ${moment(sql, "s.settled_at")} as settled_at,
             m.index::float8 as made, m.entry as made_entry, x.index::float8 as closed, x.entry as closed_entry,
             v.index::float8 as voided, v.entry as voided_entry
        from (select * from challenges ${after === undefined ? sql`` : sql`where id > ${after.id}::uuid`}
               order by id limit ${pageSize}) c
        left join settlements s on s.challenge_id = c.id and s.version = 1
        ${logged("m", "challenge.create")} ${logged("x", "challenge.close")} ${logged("v", "void")}
       order by c.id`)

  const look = Effect.fnUntraced(function* (page: ReadonlyArray<typeof Row.Type>) {
    const isWaiting = (row: typeof Row.Type) => {
      const ended = row.closed_at !== null || row.cancelled_at !== null
      return (
        row.made === null ||
        (ended && row.closed === null) ||
        (row.cancelled_at !== null && row.voided === null)
      )
    }
    const missing = page.filter(isWaiting).map(({ id }) => id)
    // The queue has no index for it, so it is read only where something is missing.
    const queued =
      missing.length === 0
        ? []
        : yield* waiting(sql`
            select challenge_id::text, type, entry, ${moment(sql, "closed_at")} as closed_at from log_pending
             where type in ('challenge.create', 'challenge.close', 'void')
               and challenge_id = any(${arrayParam("uuid", missing)})`)
    const waits = new Map(queued.map((entry) => [`${entry.type} ${entry.challenge_id}`, entry]))
    const pools = yield* auditPools(
      findings,
      page
        .filter(({ cancelled_at, type }) => cancelled_at !== null && type === "macro")
        .map((row) => ({ challenge_id: row.id, winning_bin: null, at: row.cancelled_at }))
    )
    counts.pools += pools.size
    for (const row of page) {
      counts.challenges += 1
      const what = `challenge ${row.id}`
      const against = (
        type: string,
        name: string,
        index: number | null,
        entry: Uint8Array | null,
        expected: Readonly<Record<string, unknown>>
      ) => {
        const queue = waits.get(`${type} ${row.id}`)
        const bytes = entry ?? queue?.entry ?? null
        if (bytes !== null) compare(findings, what, { index, entry: bytes }, expected)
        else if (queue === undefined) findings.add(`${what}: ${name} is not in the log`)
      }
      against("challenge.create", "its making", row.made, row.made_entry, madeOf(row))

      const closedAt = row.closed_at ?? row.cancelled_at
      if (closedAt !== null) {
        const queue = waits.get(`challenge.close ${row.id}`)
        if (row.closed_entry !== null) {
          // What it says of the commits is compared with them where the tree is.
          compare(
            findings,
            what,
            { index: row.closed, entry: row.closed_entry },
            { ...membersOf(row.closed_entry), challenge_id: row.id, closed_at: closedAt }
          )
        } else if (queue === undefined) findings.add(`${what}: its close is not in the log`)
        else if (queue.closed_at !== closedAt) {
          findings.add(`${what}: closed_at is not what its waiting entry recorded`)
        }
      } else if (row.closed !== null) {
        findings.add(`${what}: entry ${row.closed} records its close, and it is open`)
      }

      if (row.cancelled_at !== null) {
        const pool = pools.get(row.id)
        against("void", "its cancellation", row.voided, row.voided_entry, {
          challenge_id: row.id,
          ...(pool === undefined ? {} : { pool }),
          reason_sha256: row.cancel_reason === null ? null : sha256(row.cancel_reason),
          voided_at: row.cancelled_at
        })
      } else if (row.voided !== null) {
        findings.add(`${what}: entry ${row.voided} records its cancellation, and it is not cancelled`)
      }
      if ((row.cancelled_at === null) !== (row.cancel_reason === null)) {
        findings.add(`${what}: cancel_reason is there for cancelled challenges, and for them only`)
      }
      if (row.resolved_at !== row.settled_at) {
        findings.add(`${what}: resolved_at is not when its settlement was made`)
      }
    }
  })

  yield* eachPage(pageSize, read, look)
  return counts
})
