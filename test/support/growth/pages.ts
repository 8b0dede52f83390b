/** The pages that are read: the first of a list, and those that begin after an item further down. */
import { Effect, Option, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { cursorCodecs } from "../../../src/layers/crypto/Cursors.ts"
import type { Page } from "../../../src/services/domain/paging.ts"
import { testTokenSecret } from "../settings.ts"

export const pageSize = 20
/** The last page of a list begins this many items before its end: room enough for a full one. */
export const fromTheEnd = 25

export const firstPage: Page = { limit: pageSize, cursor: undefined }

const codecOf = cursorCodecs({
  tokenSecret: Redacted.make(testTokenSecret),
  tokenSecretPrevious: Option.none()
})
const keyOf = Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.Json))

/** An item of a list. */
export interface Item {
  /** The name of the list in the service's cursors, and which one of that name. */
  readonly list: string
  readonly which?: string | undefined
  /** A query for the sort key of the item, as JSON. */
  readonly key: string
}

/** The page after an item, with the cursor that the service writes. */
export const pageAfter = Effect.fnUntraced(function* ({ key, list, which }: Item) {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql.unsafe(`select (${key})::text as key`).values
  const cursor = codecOf(list, Schema.Json).encode(yield* keyOf(row?.[0]), which)
  const page: Page = { limit: pageSize, cursor }
  return page
})

export const best = "avg_score desc, scored desc, agent_id"
export const worst = "avg_score, scored, agent_id desc"

/** The agent at this place of a leaderboard. */
export const leaderboardRow = (board: string, order: string, offset: number): Item => ({
  list: "leaderboard",
  which: `${board} average`,
  key: `
  select json_build_object('score', avg_score, 'count', scored, 'agent_id', agent_id, 'ranked', true)
    from agent_stats where board = '${board}' order by ${order} offset ${offset} limit 1`
})

/** The agent at this place of a leaderboard in the order of skill or against peers. */
export const skillRow = (board: string, order: "skill" | "peer", offset: number): Item => ({
  list: "leaderboard",
  which: `${board} ${order}`,
  key: `
  select json_build_object('score', ${order}, 'count', answered, 'agent_id', agent_id, 'ranked', true)
    from agent_skill where board = '${board}' order by ${order}, answered, agent_id desc offset ${offset} limit 1`
})
