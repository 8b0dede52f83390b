/** Lists as callers page through them, and forged cursors. */
import { Effect, Option, Redacted, Schema } from "effect"
import { cursorCodecs } from "../../src/layers/crypto/Cursors.ts"
import type { Page, PageOf } from "../../src/services/domain/paging.ts"
import { testTokenSecret } from "./settings.ts"

/** Follows `next_cursor` to the end. */
export const allPages = Effect.fnUntraced(function* <Item, E, R>(
  limit: number,
  read: (page: Page) => Effect.Effect<PageOf<Item>, E, R>
) {
  const pages: Array<ReadonlyArray<Item>> = []
  let cursor: string | undefined
  do {
    const page: PageOf<Item> = yield* read({ limit, cursor })
    pages.push(page.items)
    cursor = page.next_cursor ?? undefined
  } while (cursor !== undefined)
  return pages
})

const codecOf = cursorCodecs({
  tokenSecret: Redacted.make(testTokenSecret),
  tokenSecretPrevious: Option.none()
})

/** A list, and which one of its kind, as its cursors are sealed for it. */
type SealedFor = readonly [list: string, which?: string]

/** Texts that are no `next_cursor`: forged `keys`, also under the seal of the list. */
export const foreignCursors = (
  [list, which]: SealedFor,
  ...keys: ReadonlyArray<unknown>
): ReadonlyArray<string> => [
  ...["1", null, {}, [], ...keys].map((key) => codecOf(list, Schema.Unknown).encode(key, which)),
  "",
  "x",
  "!!!",
  "bm9uc2Vuc2U",
  ...["1", null, {}, [], ...keys].map((key) => Buffer.from(JSON.stringify(key)).toString("base64url"))
]

export const firstPage: Page = { limit: 200, cursor: undefined }
