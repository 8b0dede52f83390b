/**
 * Checks a proof of the track record with nothing but the file and the keys that the reader trusts: no server, no library,
 * no clock. Strangers rely on this folder, so it imports nothing from outside and recomputes hashes, signatures and JSON by
 * code of its own, independent of the program that wrote the log. The sources run in Node and, with their types stripped, in
 * browsers.
 */
import { Malformed, plain, same, textOf, utf8 } from "./bytes.ts"
import { commitOf, entriesFor, parseBody, parseEntry, parseReceipt } from "./entries.ts"
import type { Entry, Prediction, Receipt } from "./entries.ts"
import { label, parseVerifierKey } from "./keys.ts"
import { leafHash, rootFromPath } from "./merkle.ts"
import { cosignedBy, signedBy } from "./note.ts"
import { parseProof } from "./proof.ts"
import type { Opening, Proof } from "./proof.ts"
import { statementOf } from "./statement.ts"
import type { Statement } from "./statement.ts"

export interface Request {
  /** The content of a `.tlog-proof` file. */
  readonly proof: Uint8Array | string
  /** The log's verifier keys that the reader trusts; one of them must have signed. */
  readonly keys: ReadonlyArray<string>
  /** Verifier keys of witnesses; each must have cosigned. */
  readonly witnesses?: ReadonlyArray<string>
  /** The receipt that answered the agent's prediction (JSON). */
  readonly receipt?: Uint8Array | string
}

const titles = {
  file: "The file is a proof",
  signature: "The log's head is signed",
  witnesses: "Witnesses saw this log",
  inclusion: "The entry is in the log",
  commit: "The prediction is the one that was sealed",
  receipt: "It is what the receipt says"
} as const

export type CheckName = keyof typeof titles

export interface Check {
  readonly name: CheckName
  readonly title: string
  readonly outcome: "passed" | "failed" | "not_made"
  /** The finding, or the reason why the check was not made. */
  readonly says: string
}

export interface Verification {
  /** True if every check that was made passed, and the necessary ones were made. */
  readonly holds: boolean
  readonly checks: ReadonlyArray<Check>
  /** It is null unless the proof holds. */
  readonly statement: Statement | null
}

type Finding = Pick<Check, "outcome" | "says">

const passed = (says: string): Finding => ({ outcome: "passed", says })
const notMade = (says: string): Finding => ({ outcome: "not_made", says })

const isNamed = (error: unknown, name: string) => error instanceof Error && error.name === name

const failure = (error: unknown): Finding => {
  if (error instanceof Malformed) return { outcome: "failed", says: error.message }
  return isNamed(error, "NotSupportedError")
    ? { outcome: "failed", says: "This program cannot check Ed25519 signatures: use a newer one." }
    : { outcome: "failed", says: "It cannot be read." }
}

const list = (labels: ReadonlyArray<string>): string => labels.join(", ")

const checkSignature = async ({ checkpoint }: Proof, keys: ReadonlyArray<string>): Promise<Finding> => {
  const named = list(checkpoint.signatures.map(label))
  if (keys.length === 0) {
    return notMade(
      `You gave no key of the log. The file names ${named} as its signers, which anybody can write.`
    )
  }
  const trusted = await Promise.all(keys.map((key) => parseVerifierKey(key, "note")))
  for (const key of trusted) {
    const signed = await signedBy(checkpoint, key)
    if (signed === "wrong")
      throw new Malformed(`The signature of ${label(key)} does not fit: something was changed.`)
    if (signed === "signed") {
      if (key.name !== checkpoint.origin)
        throw new Malformed(`The head is of another log than the key ${label(key)}.`)
      return passed(`${label(key)}, which you trust, signed a log of ${checkpoint.size} entries.`)
    }
  }
  const renamed = trusted.find(({ name }) => checkpoint.signatures.some((line) => line.name === name))
  throw new Malformed(
    renamed === undefined
      ? `It is not signed by ${list(trusted.map(label))}; it names ${named} instead.`
      : `It names another key of the same log, ${named}, and not yours, ${label(renamed)}. A log that has changed its key says so in an entry key.rotate, which its old key signed, too: if you can trust the new key, check with that. Otherwise do not.`
  )
}

const checkWitnesses = async ({ checkpoint }: Proof, witnesses: ReadonlyArray<string>): Promise<Finding> => {
  if (witnesses.length === 0) {
    // After a change of keys the log signs with both for a time.
    const others = checkpoint.signatures.filter(({ name }) => name !== checkpoint.origin)
    return notMade(
      others.length === 0
        ? "The file has no cosignature, and you gave no key of a witness."
        : `You gave no key of a witness; besides the log's own, the file names ${list(others.map(label))}.`
    )
  }
  const seen: Array<string> = []
  for (const key of await Promise.all(witnesses.map((witness) => parseVerifierKey(witness, "cosignature")))) {
    const cosigned = await cosignedBy(checkpoint, key)
    if (cosigned === "absent") throw new Malformed(`${label(key)} has not cosigned this head.`)
    if (cosigned === "wrong") throw new Malformed(`The cosignature of ${label(key)} does not fit.`)
    seen.push(`${label(key)} at ${timeOf(cosigned.at)}`)
  }
  return passed(`Cosigned by ${list(seen)}.`)
}

const instants = new Intl.DateTimeFormat("en-GB", { dateStyle: "long", timeStyle: "long", timeZone: "UTC" })

/** Formats seconds since 1970; a time after the year 9999 stays a number. */
const timeOf = (seconds: number): string =>
  seconds < 253_402_300_800 ? instants.format(seconds * 1000) : `${seconds} s after 1970`

/** The entries that may stand at the proof's index. */
const candidatesOf = (proof: Proof, receipt: Receipt | null): ReadonlyArray<string> => {
  if (proof.entry !== null) return [proof.entry]
  return receipt === null ? [] : entriesFor(receipt)
}

/** The candidate from which the path leads to the signed root. */
const included = async (proof: Proof, candidates: ReadonlyArray<string>): Promise<string> => {
  const { checkpoint, index, path } = proof
  for (const entry of candidates) {
    const leaf = await leafHash(utf8(entry))
    const root = await rootFromPath({ leaf, index, size: checkpoint.size, path })
    if (same(root, checkpoint.root)) return entry
  }
  throw new Malformed("The hashes do not lead from the entry to the root of the signed head.")
}

const checkCommit = async (
  entry: Entry,
  { opening, receipt }: { readonly opening: Opening | null; readonly receipt: Receipt | null }
): Promise<Finding & { prediction?: Prediction }> => {
  if (entry.type !== "prediction.commit") {
    if (opening !== null) throw new Malformed("The file opens a commit, but its entry is none.")
    return notMade(`The entry is no prediction but of the type ${plain(entry.type)}.`)
  }
  // If the file has no opening, a receipt of this prediction has one. `checkReceipt` reports a receipt of another prediction.
  const opens = opening ?? (receipt !== null && entry.members["c"] === receipt.commit ? receipt : null)
  if (opens === null) {
    return notMade("The prediction is still sealed: salt and body are published after the deadline.")
  }
  const prediction = parseBody(opens.body)
  if (entry.members["c"] !== (await commitOf(opens))) {
    if (opening === null) return notMade("The receipt does not open it: see below.")
    throw new Malformed("The entry's commit is not the hash of this salt and body.")
  }
  if (entry.members["challenge_id"] !== prediction.challengeId) {
    throw new Malformed("The body is of another challenge than the entry.")
  }
  return { ...passed("SHA-256 of the salt and the body is the commit in the entry."), prediction }
}

const checkReceipt = async (
  receipt: Receipt | null,
  found: { readonly entry: Entry; readonly proof: Proof }
): Promise<Finding> => {
  if (receipt === null) return notMade("You gave no receipt.")
  const { entry, proof } = found
  if (entry.type !== "prediction.commit") {
    throw new Malformed(`A receipt is of a prediction, and this is the proof of a ${plain(entry.type)}.`)
  }
  if ((await commitOf(receipt)) !== receipt.commit) {
    throw new Malformed(
      "The receipt contradicts itself: its commit is not the hash of its salt and body. It was changed, or not copied whole."
    )
  }
  if (entry.members["c"] !== receipt.commit) {
    throw new Malformed(
      "The receipt is of another prediction, or of another revision of this one: its commit is not the one in the entry."
    )
  }
  const { opening } = proof
  if (opening !== null && (opening.body !== receipt.body || opening.salt !== receipt.salt)) {
    throw new Malformed("The file's salt and body are not the receipt's.")
  }
  if (receipt.leafIndex !== null && receipt.leafIndex !== proof.index) {
    throw new Malformed(
      `The receipt names entry ${receipt.leafIndex} as its place in the log, the proof entry ${proof.index}.`
    )
  }
  return passed("The receipt's commit, salt and body are those of the entry.")
}

/** Reads a receipt, or null: only `checkReceipt` reports the problem of an unreadable one. */
const readable = (read: () => Receipt | null): Receipt | null => {
  try {
    return read()
  } catch {
    return null
  }
}

const needed: ReadonlySet<CheckName> = new Set(["file", "signature", "inclusion"])

/** Checks a proof. The promise never rejects: every problem is a failed check. */
export const verify = async (request: Request): Promise<Verification> => {
  const checks: Array<Check> = []
  /** Makes a check and returns its finding, or undefined if it failed. */
  const check = async <Found extends Finding>(name: CheckName, work: () => Promise<Found>) => {
    try {
      const found = await work()
      checks.push({ name, title: titles[name], outcome: found.outcome, says: found.says })
      return found
    } catch (error) {
      checks.push({ name, title: titles[name], ...failure(error) })
      return undefined
    }
  }
  const passOver = (names: ReadonlyArray<CheckName>, why: string) => {
    for (const name of names) checks.push({ name, title: titles[name], ...notMade(why) })
  }

  const read = await check("file", async () => ({
    ...passed("It is a proof in the public format c2sp.org/tlog-proof@v1."),
    proof: parseProof(request.proof)
  }))
  if (read === undefined) {
    passOver(["signature", "witnesses", "inclusion", "commit", "receipt"], "The file cannot be read.")
    return { holds: false, checks, statement: null }
  }
  const { proof } = read
  const given = request.receipt
  const receipt = () => (given === undefined ? null : parseReceipt(textOf(given)))

  await check("signature", () => checkSignature(proof, request.keys))
  await check("witnesses", () => checkWitnesses(proof, request.witnesses ?? []))
  const inLog = await check("inclusion", async () => {
    const candidates = candidatesOf(proof, proof.entry === null ? receipt() : null)
    if (candidates.length === 0) {
      return { ...notMade("The file does not say what was recorded: give the receipt with it."), entry: null }
    }
    const entry = parseEntry(await included(proof, candidates))
    return {
      ...passed(`${proof.path.length} hashes lead from entry ${proof.index} to the signed root.`),
      entry
    }
  })
  const entry = inLog?.entry ?? null
  if (entry === null) {
    passOver(["commit", "receipt"], "The entry is not known to be in the log.")
    return { holds: false, checks, statement: null }
  }
  const opened = await check("commit", async () =>
    checkCommit(entry, { opening: proof.opening, receipt: readable(receipt) })
  )
  await check("receipt", async () => checkReceipt(receipt(), { entry, proof }))

  const holds =
    checks.every(({ outcome }) => outcome !== "failed") &&
    checks.every(({ name, outcome }) => outcome === "passed" || !needed.has(name))
  const { index } = proof
  const prediction = opened?.prediction ?? null
  return {
    holds,
    checks,
    statement: holds ? statementOf({ entry, prediction, index, size: proof.checkpoint.size }) : null
  }
}
