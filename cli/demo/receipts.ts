/** Checking a receipt as anybody can: with SHA-256 and nothing of ours. */
import { createHash } from "node:crypto"
import { Option, Schema } from "effect"
import type { Receipt } from "../../src/services/domain/Prediction.ts"

type Receipt = typeof Receipt.Type

/** SHA-256("auspex/commit/v1" 0x00 salt body), in hex. */
export const commitOf = ({ body, salt }: Receipt): string =>
  createHash("sha256")
    .update("auspex/commit/v1\0", "utf8")
    .update(Buffer.from(salt, "hex"))
    .update(body, "utf8")
    .digest("hex")

/** What a body commits to. */
const Committed = Schema.fromJsonString(
  Schema.Struct({
    agent_id: Schema.String,
    challenge_id: Schema.String,
    received_at: Schema.String,
    values: Schema.Struct({ direction: Schema.String, confidence: Schema.Finite })
  })
)

const decodeBody = Schema.decodeUnknownOption(Committed)

export interface Stated {
  readonly agent_id: string
  readonly challenge_id: string
  readonly direction: string
  readonly confidence: number
  readonly created_at: string
}

/** What is wrong with a receipt for what was sent; nothing when it holds. */
export const faultOf = (receipt: Receipt | null, stated: Stated): string | undefined => {
  if (receipt === null) return "there is no receipt"
  if (commitOf(receipt) !== receipt.commit) return "the commit is not the hash of the body"
  const body = decodeBody(receipt.body)
  if (Option.isNone(body)) return "the body is not what it should be"
  const { agent_id, challenge_id, received_at, values } = body.value
  const same =
    agent_id === stated.agent_id &&
    challenge_id === stated.challenge_id &&
    received_at === stated.created_at &&
    values.direction === stated.direction &&
    values.confidence === stated.confidence
  return same ? undefined : "the body says something else than what was sent"
}
