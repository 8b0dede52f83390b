/** Lists are read in pages: `limit` and an opaque `cursor`; `next_cursor` is null at the end. */
import { Context, Schema } from "effect"
import type { Option } from "effect"
import { InvalidRequest } from "./errors.ts"

export const maximumLimit = 200
export const defaultLimit = 50

export interface Page {
  readonly limit: number
  readonly cursor: string | undefined
}

/** The query parameters of every list. */
export const pageQuery = {
  limit: Schema.optional(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: maximumLimit }))).annotate({
    description: "1 to 200, default 50"
  }),
  cursor: Schema.optional(Schema.String.check(Schema.isMaxLength(1000))).annotate({
    description: "next_cursor of the page before"
  })
}

export const pageOf = (query: {
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}): Page => ({
  limit: query.limit ?? defaultLimit,
  cursor: query.cursor
})

/** The predictions of a results answer come in the largest pages, since readers expect all of them. */
export const longPageOf = (query: {
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}): Page => ({ limit: query.limit ?? maximumLimit, cursor: query.cursor })

/** The answer of a list without a specified name. */
export const pageSchema = <Item extends Schema.Constraint>(item: Item) =>
  Schema.Struct({ items: Schema.Array(item), next_cursor: Schema.NullOr(Schema.String) })

export interface PageOf<Item> {
  readonly items: ReadonlyArray<Item>
  readonly next_cursor: string | null
}

/** Cursors of one kind of list. */
export interface CursorCodec<Key> {
  readonly encode: (key: Key) => string
  /** The key to continue after; `undefined` at the beginning, and none where the cursor is none of ours. */
  readonly decode: (cursor: string | undefined) => Option.Option<Key | undefined>
}

/**
 * A cursor holds the sort key of the last item shown: the next page begins after it, so nothing is repeated or skipped while
 * new items arrive. It is opaque to clients, and signed: only what a page handed out is taken.
 */
export class Cursors extends Context.Service<
  Cursors,
  {
    readonly codec: <Key>(key: Schema.Codec<Key, unknown>) => CursorCodec<Key>
    /** Of lists that are ordered by id alone. */
    readonly ids: CursorCodec<string>
  }
>()("auspex/services/Cursors") {}

/** 400: the cursor is none of ours. */
export const invalidCursor = (): InvalidRequest =>
  InvalidRequest.of("cursor", "Expected the next_cursor of an earlier page, unchanged")

/** Cuts `limit + 1` fetched rows into a page. */
export const cutPage = <Row>(
  rows: ReadonlyArray<Row>,
  limit: number,
  cursorOf: (last: Row) => string
): PageOf<Row> => {
  const items = rows.slice(0, limit)
  const last = items.at(-1)
  return { items, next_cursor: rows.length > limit && last !== undefined ? cursorOf(last) : null }
}
