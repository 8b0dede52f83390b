/**
 * Splits server-sent events, received as bytes in chunks of any size, at their blank lines. A frame keeps its bytes, because it
 * is forwarded unchanged, beside the fields that `eventsource-parser` reads in it.
 */
import { createParser } from "eventsource-parser"

export interface Frame {
  /** The bytes include the blank line. */
  readonly bytes: Buffer
  readonly event: string | undefined
  /** Comments and some other frames have no data. */
  readonly data: string | undefined
  /** A line in the frame is neither a field of an event nor a comment. */
  readonly strange: boolean
}

interface FrameSplitter {
  /** The frames that these bytes complete. */
  readonly push: (chunk: Uint8Array) => ReadonlyArray<Frame>
  /** The bytes after the last blank line, as a frame, if there are any. */
  readonly end: () => ReadonlyArray<Frame>
  /** A frame exceeded the maximum size; the splitter stops there. */
  readonly overflown: () => boolean
}

const lineFeed = 0x0a
const carriageReturn = 0x0d

/** A frame has room for an image in base64. */
const maxFrameBytes = 10 * 1024 * 1024

export const frameSplitter = (): FrameSplitter => {
  let pending: Array<Buffer> = []
  let pendingBytes = 0
  /** The current line is empty so far. Blank lines at the beginning make empty frames, which are harmless. */
  let lineIsEmpty = true
  /** A chunk ended with a carriage return: a line feed at the start of the next chunk belongs to it. */
  let afterReturn = false
  let overflown = false

  let read: { readonly event: string | undefined; readonly data: string } | undefined
  let strange = false
  const parser = createParser({
    onEvent: ({ data, event }) => {
      read = { data, event }
    },
    onError: ({ type }) => {
      if (type === "unknown-field") strange = true
    }
  })

  const frameOf = (bytes: Buffer): Frame => {
    read = undefined
    strange = false
    parser.feed(bytes.toString())
    // The parser's callbacks set `read`, which the type checker does not see.
    const { data, event } = read ?? { data: undefined, event: undefined }
    return { bytes, event, data, strange }
  }

  const take = (last: Buffer): Frame => {
    const bytes = pending.length === 0 ? last : Buffer.concat([...pending, last])
    pending = []
    pendingBytes = 0
    return frameOf(bytes)
  }

  /** The index after the next line end, or -1. */
  const behindLine = (bytes: Buffer, from: number, hasReturns: boolean): number => {
    const feed = bytes.indexOf(lineFeed, from)
    if (!hasReturns) return feed + 1 || -1
    const back = bytes.indexOf(carriageReturn, from)
    if (back === -1 || (feed !== -1 && feed < back)) return feed + 1 || -1
    return bytes[back + 1] === lineFeed ? back + 2 : back + 1
  }

  const push = (chunk: Uint8Array): ReadonlyArray<Frame> => {
    if (overflown) return []
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    const frames: Array<Frame> = []
    const hasReturns = bytes.includes(carriageReturn)
    let frameStart = 0
    let at = 0
    if (afterReturn && bytes.length > 0) {
      afterReturn = false
      if (bytes[0] === lineFeed) at = 1
    }
    while (at < bytes.length) {
      const end = behindLine(bytes, at, hasReturns)
      if (end === -1) {
        lineIsEmpty = false
        break
      }
      const first = bytes[at]
      const isBlank = lineIsEmpty && (first === lineFeed || first === carriageReturn)
      if (isBlank) {
        frames.push(take(bytes.subarray(frameStart, end)))
        frameStart = end
      }
      lineIsEmpty = true
      at = end
      if (at === bytes.length && bytes[at - 1] === carriageReturn) afterReturn = true
    }
    if (frameStart < bytes.length) {
      const rest = bytes.subarray(frameStart)
      pending.push(rest)
      pendingBytes += rest.length
      if (pendingBytes > maxFrameBytes) {
        overflown = true
        pending = []
      }
    }
    return frames
  }

  return {
    push,
    overflown: () => overflown,
    end: () => (pendingBytes === 0 || overflown ? [] : [take(Buffer.from("\n\n"))])
  }
}

/** Writes a frame with this data. */
export const frame = (data: string, event?: string): string =>
  `${event === undefined ? "" : `event: ${event}\n`}data: ${data}\n\n`
