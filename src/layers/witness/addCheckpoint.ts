/** The one call of a witness (c2sp.org/tlog-witness): here is a checkpoint, and the proof that the log has only grown. */
import { Duration, Effect, Result } from "effect"
import { ExchangeFailed } from "../boundedPost.ts"
import type { Post } from "../boundedPost.ts"
import type { Verifier } from "../crypto/signedNote.ts"
import { cosignatureOf } from "./cosignature.ts"
import type { Cosignature } from "./cosignature.ts"

/** More than 16 signature lines of the longest kind. */
const maxBytes = "128 KiB"
const patience = Duration.seconds(10)

export interface Witness {
  /** Without a trailing slash. */
  readonly submissionPrefix: string
  readonly verifier: Verifier
}

export interface Submission {
  /** The tree that the witness cosigned last; 0 when it has none, or when that is not known. */
  readonly oldSize: number
  /** From the old tree to the checkpoint's, RFC 6962 section 2.1.2; empty from an empty tree and from the same one. */
  readonly proof: ReadonlyArray<Uint8Array>
  /** The signed note. */
  readonly note: string
  /** What of it is signed. */
  readonly text: string
}

const treeSize = (text: string): number | undefined => {
  const size = /^(?:0|[1-9]\d{0,15})\n?$/.test(text) ? Number(text) : Number.NaN
  return Number.isSafeInteger(size) ? size : undefined
}

/** `OldSize`: the witness cosigned another tree last than the submission says. */
export type WitnessAnswer =
  | { readonly _tag: "Cosigned"; readonly cosignature: Cosignature }
  | { readonly _tag: "OldSize"; readonly size: number }

const requestBody = ({ note, oldSize, proof }: Submission): string => {
  const hashes = proof.map((hash) => `${Buffer.from(hash).toString("base64")}\n`)
  return `old ${oldSize}\n${hashes.join("")}\n${note}`
}

export const addCheckpoint = Effect.fnUntraced(function* (
  post: Post,
  { submissionPrefix, verifier }: Witness,
  submission: Submission
): Effect.fn.Return<WitnessAnswer, ExchangeFailed> {
  const { body, contentType, status } = yield* post({
    url: `${submissionPrefix}/add-checkpoint`,
    contentType: "text/plain; charset=utf-8",
    body: Buffer.from(requestBody(submission), "utf8"),
    statuses: [200, 409],
    maxBytes,
    patience
  })
  const said = Buffer.from(body).toString("utf8")
  if (status === 409) {
    const size = contentType === "text/x.tlog.size" ? treeSize(said) : undefined
    if (size === undefined) return yield* new ExchangeFailed({ reason: "it answered 409" })
    return { _tag: "OldSize", size }
  }
  const cosignature = cosignatureOf(verifier, submission.text, said)
  if (Result.isFailure(cosignature)) return yield* new ExchangeFailed({ reason: cosignature.failure })
  return { _tag: "Cosigned", cosignature: cosignature.success }
})
