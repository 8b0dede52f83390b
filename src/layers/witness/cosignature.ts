/**
 * Witnesses: the call of c2sp.org/tlog-witness, which submits a checkpoint with a consistency proof, and its answer, the timestamped
 * Ed25519 cosignature of c2sp.org/tlog-cosignature.
 */
import { verify } from "node:crypto"
import { Duration, Effect, Option, Result } from "effect"
import type { WitnessSetting } from "../../services/Settings.ts"
import { parseNote, parseVerifierKey, signatureLine } from "../crypto/signedNote.ts"
import type { Verifier } from "../crypto/signedNote.ts"
import { ExchangeFailed, parsePostUrl } from "./boundedPost.ts"
import type { Post } from "./boundedPost.ts"

/** The signature type of timestamped Ed25519 cosignatures. */
export const cosignatureType = 0x04

const signatureLength = 64
const timeLength = 8

/** Parses the verifier key of a witness. */
export const parseWitnessKey = (text: string): Option.Option<Verifier> =>
  Option.filter(parseVerifierKey(text), ({ type }) => type === cosignatureType)

export interface Cosignature {
  /** The signature line, with its newline. */
  readonly line: string
  /** The witness's time of signing, in seconds since 1970. */
  readonly seconds: bigint
}

/** The signed bytes: two lines, then the note's text. */
export const cosignedMessage = (seconds: bigint, text: string): Buffer =>
  Buffer.from(`cosignature/v1\ntime ${seconds}\n${text}`, "utf8")

/**
 * The witness's cosignature of a note's text among signature lines, or the reason why there is none. Lines of other keys are ignored; an
 * invalid one of this key invalidates all, as the specification of signed notes says.
 */
export const cosignatureOf = (
  witness: Verifier,
  text: string,
  lines: string
): Result.Result<Cosignature, string> => {
  const note = Option.filter(parseNote(`${text}\n${lines}`), (parsed) => parsed.text === text)
  if (Option.isNone(note)) return Result.fail("it answered something else than signature lines")
  const theirs = note.value.signatures.filter(
    ({ id, name }) => name === witness.name && id.equals(witness.id)
  )
  const cosignatures = theirs.map(({ signature }) => {
    const seconds = signature.length === timeLength + signatureLength ? signature.readBigUInt64BE() : 0n
    const isRight =
      signature.length === timeLength + signatureLength &&
      seconds < 2n ** 63n &&
      verify(null, cosignedMessage(seconds, text), witness.publicKey, signature.subarray(timeLength))
    return { isRight, seconds, line: signatureLine(witness.name, witness.id, signature) }
  })
  const [first] = cosignatures
  if (first === undefined) return Result.fail("it answered no cosignature of its key")
  return cosignatures.every(({ isRight }) => isRight)
    ? Result.succeed({ line: first.line, seconds: first.seconds })
    : Result.fail("it answered a cosignature that does not verify")
}

/** The answer has room for more than 16 signature lines of the longest kind. */
const maxBytes = "128 KiB"
const patience = Duration.seconds(10)

export interface Witness {
  /** The prefix without a trailing slash. */
  readonly submissionPrefix: string
  readonly verifier: Verifier
}

export interface Submission {
  /** The size of the tree that the witness cosigned last; 0 if there is none or it is unknown. */
  readonly oldSize: number
  /** The consistency proof (RFC 6962, 2.1.2); empty from an empty tree or the same one. */
  readonly proof: ReadonlyArray<Uint8Array>
  /** The signed note. */
  readonly note: string
  /** The note's signed text. */
  readonly text: string
}

const treeSize = (text: string): number | undefined => {
  const size = /^(?:0|[1-9]\d{0,15})\n?$/.test(text) ? Number(text) : Number.NaN
  return Number.isSafeInteger(size) ? size : undefined
}

/** `OldSize`: the witness last cosigned a tree of another size than the submission states. */
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
  const text = Buffer.from(body).toString("utf8")
  if (status === 409) {
    const size = contentType === "text/x.tlog.size" ? treeSize(text) : undefined
    if (size === undefined) return yield* new ExchangeFailed({ reason: "it answered 409", status })
    return { _tag: "OldSize", size }
  }
  const cosignature = cosignatureOf(verifier, submission.text, text)
  if (Result.isFailure(cosignature)) return yield* new ExchangeFailed({ reason: cosignature.failure })
  return { _tag: "Cosigned", cosignature: cosignature.success }
})

/** Parses a submission prefix and drops its trailing slash. */
const parsePrefix = (text: string): Option.Option<string> =>
  parsePostUrl(text).pipe(
    Option.filter(({ search }) => search === ""),
    Option.as(text.replace(/\/+$/, ""))
  )

const parseWitness = (text: string): Option.Option<WitnessSetting> => {
  const [prefix = "", verifierKey = "", ...rest] = text.trim().split(/\s+/)
  return rest.length === 0 && Option.isSome(parseWitnessKey(verifierKey))
    ? Option.map(parsePrefix(prefix), (url) => ({ url, verifierKey }))
    : Option.none()
}

/** Parses an operator's list of witnesses: prefix and verifier key, with commas between; each key has another name. */
export const parseWitnesses = (text: string): Option.Option<ReadonlyArray<WitnessSetting>> => {
  const parts = text.split(",").filter((part) => part.trim() !== "")
  return Option.filter(Option.all(parts.map(parseWitness)), (witnesses) => {
    const names = witnesses.map(({ verifierKey }) => verifierKey.split("+")[0])
    return new Set(names).size === witnesses.length
  })
}
