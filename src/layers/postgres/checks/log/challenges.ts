/** Compares challenges with the entries of their creation, close and cancellation. */
import { Effect, Schema, Struct } from "effect"
import { SqlClient } from "effect/sql"
import { loggedTerms } from "../../../../scoring/kinds/kinds.ts"
import { noTerms } from "../../../../scoring/kinds/kind.ts"
import { termsColumns, TermsRow } from "../../challenges/rows.ts"
import { arrayParam, findAll, whenGiven } from "../../sql.ts"
import { challengeCreate, encode, voided } from "../../log/entries.ts"
import { At, Entry, Index, checkEmpty, compare, membersOf, moment } from "./entry.ts"
import { eachPage } from "./findings.ts"
import type { Findings } from "./findings.ts"
import { makeAuditPools } from "./pools.ts"

const pageSize = 1000

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
  ...Struct.omit(TermsRow.fields, ["scale", "window_from"]),
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

const Pending = Schema.Struct({
  challenge_id: Schema.String,
  type: Schema.String,
  entry: Entry,
  closed_at: At
})

const termColumns = Struct.keys(noTerms)

/** Checks the columns that are not in the entry of creation. */
const checkOtherColumns = (findings: Findings, what: string, row: typeof Row.Type): void => {
  const { always, since } = loggedTerms(row.kind, row.type, row)
  const own: ReadonlySet<string> = new Set([...always, ...since])
  checkEmpty(
    findings,
    what,
    row,
    termColumns.filter((name) => !own.has(name))
  )
  if (row.type !== "directional" && row.close_price_until !== row.cancel_at) {
    findings.add(`${what}: close_price_until is not its cancel_at`)
  }
}

export const auditChallenges = Effect.fnUntraced(function* (findings: Findings) {
  const sql = yield* SqlClient.SqlClient
  const rows = findAll(Row)
  const pendingRows = findAll(Pending)
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
             ${termsColumns(sql)}, ${moment(sql, "c.window_from")} as window_from,
             ${moment(sql, "c.closed_at")} as closed_at, ${moment(sql, "c.resolved_at")} as resolved_at,
             ${moment(sql, "c.cancelled_at")} as cancelled_at, c.cancel_reason,
             ${moment(sql, "s.settled_at")} as settled_at,
             m.index::float8 as made, m.entry as made_entry, x.index::float8 as closed, x.entry as closed_entry,
             v.index::float8 as voided, v.entry as voided_entry
        from (select * from challenges ${whenGiven(sql, after, (last) => sql`where id > ${last.id}::uuid`)}
               order by id limit ${pageSize}) c
        left join settlements s on s.challenge_id = c.id and s.version = 1
        ${logged("m", "challenge.create")} ${logged("x", "challenge.close")} ${logged("v", "void")}
       order by c.id`)

  const checkPage = Effect.fnUntraced(function* (page: ReadonlyArray<typeof Row.Type>) {
    const isIncomplete = (row: typeof Row.Type) => {
      const ended = row.closed_at !== null || row.cancelled_at !== null
      return (
        row.made === null ||
        (ended && row.closed === null) ||
        (row.cancelled_at !== null && row.voided === null)
      )
    }
    const missing = page.filter(isIncomplete).map(({ id }) => id)
    // The outbox has no index by challenge, so it is read only where an entry is missing.
    const found =
      missing.length === 0
        ? []
        : yield* pendingRows(sql`
            select challenge_id::text, type, entry, ${moment(sql, "closed_at")} as closed_at from log_pending
             where type in ('challenge.create', 'challenge.close', 'void')
               and challenge_id = any(${arrayParam("uuid", missing)})`)
    const pending = new Map(found.map((entry) => [`${entry.type} ${entry.challenge_id}`, entry]))
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
        composed: Uint8Array
      ) => {
        const outbox = pending.get(`${type} ${row.id}`)
        const bytes = entry ?? outbox?.entry ?? null
        if (bytes !== null) compare(findings, what, { index, entry: bytes }, composed)
        else if (outbox === undefined) findings.add(`${what}: ${name} is not in the log`)
      }
      const created = challengeCreate({
        ...row,
        asset: row.target,
        challenge_id: row.id,
        challenge_type: row.type
      })
      against("challenge.create", "its creation", row.made, row.made_entry, created)
      checkOtherColumns(findings, what, row)

      const closedAt = row.closed_at ?? row.cancelled_at
      if (closedAt !== null) {
        const outbox = pending.get(`challenge.close ${row.id}`)
        if (row.closed_entry !== null) {
          // `auditTree` compares the members about commits.
          compare(
            findings,
            what,
            { index: row.closed, entry: row.closed_entry },
            encode("challenge.close", {
              ...membersOf(row.closed_entry),
              challenge_id: row.id,
              closed_at: closedAt
            })
          )
        } else if (outbox === undefined) findings.add(`${what}: its close is not in the log`)
        else if (outbox.closed_at !== closedAt) {
          findings.add(`${what}: closed_at is not what its pending entry recorded`)
        }
      } else if (row.closed !== null) {
        findings.add(`${what}: entry ${row.closed} records its close, but it is open`)
      }

      if (row.cancelled_at !== null) {
        const cancelled = voided({
          challenge_id: row.id,
          pool: pools.get(row.id) ?? null,
          reason: row.cancel_reason ?? "",
          voided_at: row.cancelled_at
        })
        against("void", "its cancellation", row.voided, row.voided_entry, cancelled)
      } else if (row.voided !== null) {
        findings.add(`${what}: entry ${row.voided} records its cancellation, but it is not cancelled`)
      }
      if ((row.cancelled_at === null) !== (row.cancel_reason === null)) {
        findings.add(`${what}: cancel_reason must be set for cancelled challenges, and for no others`)
      }
      if (row.resolved_at !== row.settled_at) {
        findings.add(`${what}: resolved_at is not the time of its settlement`)
      }
    }
  })

  yield* eachPage(pageSize, read, checkPage)
  return counts
})
