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

/**
 * Cursors of one kind of list. `which` tells the lists of a kind apart: those of several events, or of one thing in several
 * orders.
 */
export interface CursorCodec<Key> {
  readonly encode: (key: Key, which?: string) => string
  /** The key to continue after; `undefined` at the beginning, and none where the cursor is not of this list. */
  readonly decode: (cursor: string | undefined, which?: string) => Option.Option<Key | undefined>
}

/**
 * A cursor holds the sort key of the last item shown: the next page begins after it, so nothing is repeated or skipped while
 * new items arrive. It is opaque to clients, and signed with the name of its list: only what a page of this list handed out is
 * taken.
 */
export class Cursors extends Context.Service<
  Cursors,
  {
    readonly codec: <Key>(list: string, key: Schema.Codec<Key, unknown>) => CursorCodec<Key>
    /** Of a list that is ordered by id alone. */
    readonly ids: (list: string) => CursorCodec<string>
  }
>()("auspex/services/Cursors") {}

/** 400: the cursor is not of this list. */
export const invalidCursor = (): InvalidRequest =>
  InvalidRequest.of("cursor", "Expected the next_cursor of an earlier page of this list, unchanged")

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
