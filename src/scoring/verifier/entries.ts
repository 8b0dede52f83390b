/** Reads the log's entries, and the bodies of predictions under their commits. */
import { Malformed, fromHex, hexOf, sha256, utf8 } from "./bytes.ts"
import { canonicalText, fromCanonicalJson, fromJson, hexIn, isObject, textIn } from "./json.ts"
import type { JsonObject } from "./json.ts"
import type { Opening } from "./proof.ts"

export interface Entry {
  /** The type of record: `prediction.commit`, `settlement`, and so on. */
  readonly type: string
  readonly members: JsonObject
}

export const parseEntry = (text: string): Entry => {
  const what = "The entry"
  const members = fromCanonicalJson(text, what)
  return { type: textIn(members, "type", what), members }
}

export interface Prediction {
  readonly agentId: string
  readonly challengeId: string
  readonly kind: string
  readonly values: JsonObject
  readonly revision: number
  readonly receivedAt: string
  readonly reasoningSha256: string | null
}

/** Reads the committed text as a prediction. */
export const parseBody = (text: string): Prediction => {
  const what = "The prediction's body"
  const body = fromCanonicalJson(text, what)
  const { reasoning_sha256: reasoning, revision, values } = body
  if (!isObject(values)) throw new Malformed(`${what} has no "values".`)
  if (typeof revision !== "number" || !Number.isSafeInteger(revision) || revision < 0) {
    throw new Malformed(`${what} has no "revision".`)
  }
  return {
    agentId: textIn(body, "agent_id", what),
    challengeId: textIn(body, "challenge_id", what),
    kind: textIn(body, "kind", what),
    values,
    revision,
    receivedAt: textIn(body, "received_at", what),
    reasoningSha256: reasoning === null ? null : hexIn(body, "reasoning_sha256", 32, what)
  }
}

/** SHA-256("auspex/commit/v1" 0x00 salt body), in hex. */
export const commitOf = async ({ body, salt }: Opening): Promise<string> =>
  hexOf(await sha256(utf8("auspex/commit/v1\0"), fromHex(salt), utf8(body)))

/** The receipt that answers an agent's prediction. */
export interface Receipt extends Opening {
  readonly commit: string
  readonly leafIndex: number | null
}

const maxReceipt = 600_000

/** Reads a receipt alone, or the whole answer that contains it. */
export const parseReceipt = (text: string): Receipt => {
  const what = "The receipt"
  if (text.length > maxReceipt) throw new Malformed(`${what} is larger than any that is given out.`)
  const answer = fromJson(text, what)
  const receipt = isObject(answer) && isObject(answer["receipt"]) ? answer["receipt"] : answer
  if (!isObject(receipt)) throw new Malformed(`${what} is not a JSON object.`)
  const leafIndex = receipt["leaf_index"] ?? null
  if (leafIndex !== null && typeof leafIndex !== "number")
    throw new Malformed(`"leaf_index" of ${what} is no number.`)
  return {
    commit: hexIn(receipt, "commit", 32, what),
    salt: hexIn(receipt, "salt", 32, what),
    body: textIn(receipt, "body", what),
    leafIndex
  }
}

/** The two entries that a receipt may have: the usual commit, or the import of a prediction older than the log. */
export const entriesFor = (receipt: Receipt): ReadonlyArray<string> => {
  const { challengeId } = parseBody(receipt.body)
  const recorded = { c: receipt.commit, challenge_id: challengeId }
  return [
    canonicalText({ ...recorded, type: "prediction.commit" }),
    canonicalText({ ...recorded, of: "prediction.commit", type: "import" })
  ]
}
