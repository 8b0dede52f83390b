/** What of a prediction its reveal is compared with, whether that is in the log or waits. */
import type { SqlClient } from "effect/sql"
import { canonicalJson } from "../../crypto/canonicalJson.ts"

export interface Sealed {
  readonly challenge_id: string
  readonly agent_id: string
  readonly revision: number
  readonly salt: Uint8Array
  readonly body: Uint8Array
}

export const nameOf = (row: Omit<Sealed, "salt" | "body">): string =>
  `prediction of agent ${row.agent_id} on challenge ${row.challenge_id}, revision ${row.revision}`

/** What the log says when it reveals the commit in entry `committed`. */
export const revealOf = (row: Sealed, committed: number) => ({
  body: Buffer.from(row.body).toString("utf8"),
  commit_index: committed,
  salt: Buffer.from(row.salt).toString("hex")
})

/** Whether an entry is this reveal, byte for byte. */
export const isPlainReveal = (entry: Uint8Array, reveal: ReturnType<typeof revealOf>): boolean =>
  Buffer.from(canonicalJson({ ...reveal, type: "prediction.reveal" })).equals(entry)

export const revealedTooSoon = "it is revealed, and log_reveals says that it is not"

/** Whether the challenge of prediction `p` is closed in the log (entry `x`), and its reveals (row `w`) have come past it. */
export const mustBeRevealed = (sql: SqlClient.SqlClient) =>
  sql.literal(`
    (x.index is not null
     and (w.challenge_id is null
          or coalesce((p.agent_id, p.revision) <= (w.last_agent_id, w.last_revision), false)))`)
