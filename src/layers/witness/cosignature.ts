/** Ed25519 cosignatures of checkpoints (c2sp.org/tlog-cosignature): what a witness says, and until when it said it. */
import { verify } from "node:crypto"
import { Option, Result } from "effect"
import { parseNote, parseVerifierKey, signatureLine } from "../crypto/signedNote.ts"
import type { Verifier } from "../crypto/signedNote.ts"

/** The signature type of timestamped Ed25519 cosignatures. */
export const cosignatureType = 0x04

const signatureLength = 64
const timeLength = 8

/** Reads the verifier key of a witness; nothing when it is not one. */
export const parseWitnessKey = (text: string): Option.Option<Verifier> =>
  Option.filter(parseVerifierKey(text), ({ type }) => type === cosignatureType)

export interface Cosignature {
  /** As it stands under the note, with its newline. */
  readonly line: string
  /** When the witness says that this was the largest tree it knew, in seconds since 1970. */
  readonly seconds: bigint
}

/** What is signed: two lines, then the note's text. */
export const cosignedMessage = (seconds: bigint, text: string): Buffer =>
  Buffer.from(`cosignature/v1\ntime ${seconds}\n${text}`, "utf8")

/**
 * The witness's cosignature of a note's text among signature lines, or why there is none. Those of other keys are passed
 * over; one of this key that is wrong refuses them all, as the specification of signed notes says.
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
