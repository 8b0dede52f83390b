/** What an audit finds: all differences are counted, the first are named. */
import { Effect, Schema } from "effect"
import type { Statement } from "effect/sql"
import { maxDifferences } from "../../../services/LogAudit.ts"
import { findAll } from "../sql.ts"

export class Findings {
  readonly #lines: Array<string> = []
  #count = 0

  add(line: string): void {
    this.#count += 1
    if (this.#lines.length < maxDifferences) this.#lines.push(line)
  }

  /** Lines of a statement that named the first of `count`. */
  addFirst(lines: ReadonlyArray<string>, count: number): void {
    for (const line of lines) this.add(line)
    this.#count += Math.max(0, count - lines.length)
  }

  get lines(): ReadonlyArray<string> {
    return this.#lines
  }

  get count(): number {
    return this.#count
  }
}

const strays = findAll(Schema.Struct({ what: Schema.String, count: Schema.Int }))

/** Adds what a statement finds: it selects its first findings as `what`, and with each how many there are as `count`. */
export const addStrays =
  (findings: Findings) =>
  (statement: Statement.Statement<object>): Effect.Effect<void> =>
    Effect.map(strays(statement), (rows) =>
      findings.addFirst(
        rows.map(({ what }) => what),
        rows[0]?.count ?? 0
      )
    )
