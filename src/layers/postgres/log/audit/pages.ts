/** Reading a table of any size page by page, in the order of a key. */
import { Effect } from "effect"

/** `read` answers at most `size` rows that come after the one it is given. */
export const eachPage = Effect.fnUntraced(function* <Row>(
  size: number,
  read: (after: Row | undefined) => Effect.Effect<ReadonlyArray<Row>>,
  look: (rows: ReadonlyArray<Row>) => Effect.Effect<void>
) {
  let last: Row | undefined
  let rows = yield* read(last)
  while (rows.length > 0) {
    yield* look(rows)
    last = rows.at(-1)
    rows = rows.length < size ? [] : yield* read(last)
  }
})
