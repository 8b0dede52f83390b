/** Compares continuations with their entries. */
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { logContinue } from "../../log/entries.ts"
import { findAll } from "../../sql.ts"
import { compare, moment, placeOf } from "./entry.ts"
import type { Findings } from "./findings.ts"

/** An entry `log.continue`, in the log or pending. */
export interface RecordedContinuation {
  readonly index: number | null
  readonly number: unknown
  readonly entry: Uint8Array
}

const Row = Schema.Struct({
  number: Schema.Int,
  origin: Schema.String,
  size: Schema.Finite,
  root: Schema.Uint8Array,
  lost_size: Schema.NullOr(Schema.Finite),
  lost_root: Schema.NullOr(Schema.Uint8Array),
  reason: Schema.String,
  continued_at: Schema.String
})

export const auditContinuations = Effect.fnUntraced(function* (
  findings: Findings,
  recorded: ReadonlyArray<RecordedContinuation>
) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* findAll(Row)(sql`
    select number, origin, size::float8 as size, root, lost_size::float8 as lost_size, lost_root, reason,
           ${moment(sql, "continued_at")} as continued_at
      from log_continuations order by number`)
  for (const row of rows) {
    const what = `continuation ${row.number}`
    const [entry, ...others] = recorded.filter(({ number }) => number === row.number)
    if (entry === undefined) findings.add(`${what}: no entry records it`)
    else compare(findings, what, entry, logContinue(row))
    for (const { index } of others) findings.add(`${placeOf(index)} records ${what} again`)
  }
  for (const { index, number } of recorded) {
    if (!rows.some((row) => row.number === number)) {
      findings.add(`${placeOf(index)}: there is no continuation ${String(number)} (log_continuations)`)
    }
  }
})
