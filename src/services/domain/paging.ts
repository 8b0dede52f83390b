/** Lists are read in pages: `limit` and an opaque `cursor`; `next_cursor` is null at the end. */
import { Context, Schema } from "effect"
import type { Effect } from "effect"
import type { InvalidRequest } from "./errors.ts"

export const maximumLimit = 200
export const defaultLimit = 50

export interface Page {
  readonly limit: number
  readonly cursor: string | undefined
}

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

/** Results are read in pages of the maximum size, since readers expect all predictions. */
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

/** One page while it is read. */
export interface PageRead<Key> {
  /** The sort key of the item to continue after; `undefined` at the beginning of the list. */
  readonly after: Key | undefined
  /** The number of rows to read: one more than the page shows, so that another page is noticed. */
  readonly limit: number
  /** Makes the page of these rows. */
  readonly toPage: <Row>(rows: ReadonlyArray<Row>, keyOf: (last: Row) => Key) => PageOf<Row>
  /** The cursor of the page after an item, which need not be on this page. */
  readonly cursorAfter: (key: Key) => string
}

/** One kind of list. `which` distinguishes the lists of a kind: those of several events, or of one thing in several orders. */
export interface PagedList<Key> {
  /** Fails if the cursor is not of this list. */
  readonly decode: (page: Page, which?: string) => Effect.Effect<PageRead<Key>, InvalidRequest>
}

/**
 * A cursor holds the sort key of the last item shown: the next page begins after it, so nothing is repeated or skipped while new
 * items arrive. It is opaque to clients, and signed with the name of its list: a list takes only its own cursors.
 */
export class Cursors extends Context.Service<
  Cursors,
  {
    readonly list: <Key>(name: string, key: Schema.Codec<Key, unknown>) => PagedList<Key>
    /** A list that is ordered by id alone. */
    readonly listById: (name: string) => PagedList<string>
  }
>()("auspex/services/Cursors") {}
