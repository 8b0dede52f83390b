/**
 * Most frames of a stream are alike but for one text, that which was generated. What was found out of one of them, by parsing
 * it, holds for the next ones as long as all other bytes are the same, so that these need not be parsed.
 */
import { frameSplitter } from "./frames.ts"
import type { Frame } from "./frames.ts"
import { parsedJson } from "./json.ts"
import type { Understanding } from "./understanding.ts"
import type { Writer, Writing } from "./writer.ts"

/** A frame that was recognised. */
export interface Alike {
  /** What it generated, which is something. */
  readonly text: string
  /** For the client. */
  readonly bytes: Buffer
  /** Behind it in the bytes that were looked at. */
  readonly end: number
}

/** Recognises a frame that begins there, if all of it is there and nothing but its text is new. */
export type Likeness = (bytes: Buffer, from: number) => Alike | undefined

const lineFeed = 0x0a
const quote = 0x22
const backslash = 0x5c
const space = 0x20

/** Where the text of JSON ends that begins there, at its quote; -1 if it does not, or holds what no text of JSON may. */
const endOfText = (bytes: Buffer, from: number): number => {
  for (let at = from; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0
    if (byte === quote) return at
    if (byte < space) return -1
    if (byte === backslash) at += 1
  }
  return -1
}

/** What bytes between quotes say; undefined where they are no text of JSON in UTF-8, or may be none. */
const decoded = (bytes: Buffer, from: number, end: number): string | undefined => {
  const text = bytes.toString("utf8", from, end)
  if (text.includes("\uFFFD")) return undefined
  if (!text.includes("\\")) return text
  const parsed = parsedJson(`"${text}"`)
  return typeof parsed === "string" ? parsed : undefined
}

/** The bytes around a text, the quotes among them. */
interface Around {
  readonly before: Buffer
  readonly after: Buffer
}

const likeness =
  (received: Around, shown: Around): Likeness =>
  (bytes, from) => {
    const { after, before } = received
    const start = from + before.length
    if (bytes.length <= start || bytes.compare(before, 0, before.length, from, start) !== 0) return undefined
    const textEnd = endOfText(bytes, start)
    const end = textEnd + after.length
    if (textEnd <= start || end > bytes.length) return undefined
    if (bytes.compare(after, 0, after.length, textEnd, end) !== 0) return undefined
    const text = decoded(bytes, start, textEnd)
    if (text === undefined) return undefined
    const isAsReceived = shown === received
    const written = isAsReceived
      ? bytes.subarray(from, end)
      : Buffer.concat([shown.before, bytes.subarray(start, textEnd), shown.after])
    return { text, bytes: written, end }
  }

/** In place of a text, to see what else a frame says and what else is written of it. */
const probe = "what was generated"

/** Bytes with the probe in them once. */
const aroundProbe = (bytes: Buffer): Around | undefined => {
  const at = bytes.indexOf(probe)
  if (at === -1 || bytes.includes(probe, at + 1)) return undefined
  return { before: bytes.subarray(0, at), after: bytes.subarray(at + probe.length) }
}

const bytesOf = (writing: Writing): Buffer | undefined =>
  typeof writing === "string" ? Buffer.from(writing) : writing

/** What the writer makes of a frame that says that the probe was generated, and nothing else. */
const writtenOf = (
  bytes: Buffer,
  understanding: Understanding,
  write: Writer["write"]
): Around | undefined => {
  const [frame, ...others] = frameSplitter().push(bytes)
  if (frame === undefined || others.length > 0 || frame.bytes.length !== bytes.length) return undefined
  const said = understanding.read(frame)
  if (said.fault !== undefined || said.finished || !said.content) return undefined
  if (understanding.generated() !== probe || understanding.promptTokens() !== undefined) return undefined
  const written = bytesOf(write(frame, said))
  return written && aroundProbe(written)
}

/** What is usual in a stream is short; of longer ones parsing several more would be felt. */
const largestLearned = 16 * 1024

/** A frame has few texts that are the same as the one that was generated. */
const mostPlaces = 4

/**
 * What frames have in common with this one, in which that text was generated; undefined where it says anything else. An
 * understanding that has heard nothing, of an answer with one choice, says whether it does; the writer must not remember
 * anything from frame to frame.
 */
export const likenessOf = (
  { bytes }: Frame,
  text: string,
  newUnderstanding: () => Understanding,
  write: Writer["write"]
): Likeness | undefined => {
  if (bytes.length > largestLearned) return undefined
  const literal = Buffer.from(`"${text}"`)
  // A frame that ends in a carriage return may go on in a line feed.
  if (text === "" || bytes.at(-1) !== lineFeed || bytes.includes(probe)) return undefined
  let at = bytes.indexOf(literal)
  for (let place = 0; place < mostPlaces && at !== -1; place += 1) {
    const before = bytes.subarray(0, at + 1)
    const after = bytes.subarray(at + literal.length - 1)
    const written = writtenOf(Buffer.concat([before, Buffer.from(probe), after]), newUnderstanding(), write)
    if (written !== undefined) {
      // Kept for as long as the stream: not with all else that came in the same chunk.
      const received = { before: Buffer.from(before), after: Buffer.from(after) }
      const isAsReceived = written.before.equals(before) && written.after.equals(after)
      return likeness(received, isAsReceived ? received : written)
    }
    at = bytes.indexOf(literal, at + 1)
  }
  return undefined
}
