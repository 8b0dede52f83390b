/** The findings of an audit, all counted and the first ones named, and the reading of tables page by page. */
import { Effect, Fiber, Schema } from "effect"
import type { Statement } from "effect/sql"
import { maxDifferences } from "../../../../services/Audit.ts"
import { findAll } from "../../sql.ts"

export class Findings {
  readonly #lines: Array<string> = []
  #count = 0

  add(line: string): void {
    this.#count += 1
    if (this.#lines.length < maxDifferences) this.#lines.push(line)
  }

  /** Adds the first findings of a statement that found `count` in all. */
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

const lines = findAll(Schema.Struct({ what: Schema.String, count: Schema.Int }))

/** Adds the findings of a statement that selects the first ones as `what` and the number of all as `count`. */
export const addFound =
  (findings: Findings) =>
  (statement: Statement.Statement<object>): Effect.Effect<void> =>
    Effect.map(lines(statement), (rows) =>
      findings.addFirst(
        rows.map(({ what }) => what),
        rows[0]?.count ?? 0
      )
    )

/**
 * Reads a table page by page in the order of a key, and checks each page: `read` returns at most `size` rows after the row it is
 * given. The database reads the next page while this process checks one.
 */
export const eachPage = Effect.fnUntraced(function* <Row>(
  size: number,
  read: (after: Row | undefined) => Effect.Effect<ReadonlyArray<Row>>,
  check: (rows: ReadonlyArray<Row>) => Effect.Effect<void>
) {
  let rows = yield* read(undefined)
  while (rows.length > 0) {
    const next =
      rows.length < size
        ? Effect.succeed([])
        : Fiber.join(yield* Effect.forkChild(read(rows.at(-1)), { startImmediately: true }))
    yield* check(rows)
    rows = yield* next
  }
})
