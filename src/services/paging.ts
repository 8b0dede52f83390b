/** Lists are read in pages: `limit` and an opaque `cursor`; `next_cursor` is null at the end. */
import { Option, Schema } from "effect"
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
 * A cursor that holds the sort key of the last item shown: the next page begins after it, so nothing is repeated or
 * skipped while new items arrive. Opaque to clients.
 */
export const cursorCodec = <A>(key: Schema.Codec<A, unknown>) => {
  const json = Schema.fromJsonString(Schema.toCodecJson(key))
  const decode = Schema.decodeUnknownOption(Schema.StringFromBase64Url.pipe(Schema.decodeTo(json)))
  const encode = Schema.encodeSync(Schema.StringFromBase64Url.pipe(Schema.decodeTo(json)))
  return {
    encode: (value: A): string => encode(value),
    /** The key to continue after; `undefined` at the beginning. */
    decode: (cursor: string | undefined): Option.Option<A | undefined> =>
      cursor === undefined ? Option.some(undefined) : decode(cursor)
  }
}

/** The cursor of a list that is ordered by id alone. */
export const idCursor = cursorCodec(Schema.String.check(Schema.isGUID()))

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
