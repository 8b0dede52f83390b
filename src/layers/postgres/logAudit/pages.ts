/** Reading a table of any size page by page, in the order of a key. */
import { Effect, Fiber } from "effect"

/**
 * `read` answers at most `size` rows that come after the one it is given. The database reads the next page while this
 * process looks at one.
 */
export const eachPage = Effect.fnUntraced(function* <Row>(
  size: number,
  read: (after: Row | undefined) => Effect.Effect<ReadonlyArray<Row>>,
  look: (rows: ReadonlyArray<Row>) => Effect.Effect<void>
) {
  let rows = yield* read(undefined)
  while (rows.length > 0) {
    const next =
      rows.length < size
        ? Effect.succeed([])
        : Fiber.join(yield* Effect.forkChild(read(rows.at(-1)), { startImmediately: true }))
    yield* look(rows)
    rows = yield* next
  }
})
