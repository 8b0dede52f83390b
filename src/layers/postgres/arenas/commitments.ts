/** What a prediction commits to: its canonical body, and the salt that keeps it from being guessed. */
import { hash, randomBytes } from "node:crypto"
import { DateTime } from "effect"
import type { SqlClient } from "effect/sql"
import type { ChallengeType } from "../../../services/Challenges.ts"
import type { AgentId } from "../../../services/identifiers.ts"
import { canonicalJson } from "../../canonicalJson.ts"

interface Sealed {
  readonly agentId: AgentId
  readonly challengeId: string
  readonly reasoning: string | null
  readonly receivedAt: DateTime.Utc
}

/**
 * The canonical body (RFC 8785) before and after the revision number, which only the statement knows. Members stand in
 * the order of their names, so `revision` falls between `received_at` and `values`.
 */
export const bodyAround = (
  item: Sealed,
  kind: typeof ChallengeType.Type,
  values: Readonly<Record<string, string | number>>
): { readonly head: string; readonly tail: string } => {
  const before = canonicalJson({
    agent_id: item.agentId,
    challenge_id: item.challengeId.toLowerCase(),
    kind,
    reasoning_sha256: item.reasoning === null ? null : hash("sha256", item.reasoning, "hex"),
    received_at: DateTime.formatIso(item.receivedAt)
  })
  return { head: `${before.slice(0, -1)},"revision":`, tail: `,"values":${canonicalJson(values)}}` }
}

const saltBytes = 32

/** As many salts in hexadecimal, of one draw: asking the generator costs more than what it gives. */
export const salts = (count: number): ReadonlyArray<string> => {
  const drawn = randomBytes(saltBytes * count).toString("hex")
  return Array.from({ length: count }, (_, index) =>
    drawn.slice(index * saltBytes * 2, (index + 1) * saltBytes * 2)
  )
}

/**
 * The rows of `sealed` with their `commit`; `salt` names the column of its bytes. `offset 0` keeps them apart: else the
 * planner computes the body and the commit again wherever they are named.
 */
export const committed = (sql: SqlClient.SqlClient, salt: "salt" | "salt_bytes") => sql`
  (select *, sha256('\\x6175737065782f636f6d6d69742f763100'::bytea || ${sql.literal(salt)} || body) as commit
     from (select * from sealed offset 0) s
   offset 0) committed`
