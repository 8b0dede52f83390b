/** Reads a provider's stream and writes the client's: frames, what they say, and what the client gets of them. */
import { malformed } from "./faults.ts"
import { frameSplitter } from "./frames.ts"
import type { Frame } from "./frames.ts"
import { parsedJson } from "./json.ts"
import { likenessOf } from "./likeness.ts"
import type { Likeness } from "./likeness.ts"
import { nativeChat, nativeMessages } from "./nativeStream.ts"
import { chatStream } from "./translation/chatStream.ts"
import { messagesStream } from "./translation/messagesStream.ts"
import type { Piece, ReaderOptions, StreamFault, StreamReader } from "./types.ts"
import { chatUnderstanding, messagesUnderstanding } from "./understanding.ts"
import type { Understanding } from "./understanding.ts"
import type { Writer, Writing } from "./writer.ts"

const native = (write: Writer["write"]): Writer => ({ write, end: () => undefined })

const writerFor = (options: ReaderOptions): Writer => {
  if (options.clientStyle === "openai") {
    return options.providerStyle === "openai" ? native(nativeChat(options)) : chatStream(options)
  }
  return options.providerStyle === "anthropic" ? native(nativeMessages(options)) : messagesStream(options)
}

const newUnderstanding = ({ providerStyle }: ReaderOptions, choices: number): Understanding =>
  providerStyle === "openai" ? chatUnderstanding(choices) : messagesUnderstanding()

/** So often it is looked for what frames of a stream have in common. */
const mostLooks = 8

/** Frames of the client out of frames of the provider, whatever cuts its bytes come in. */
export const streamReader = (options: ReaderOptions): StreamReader => {
  const splitter = frameSplitter()
  const understanding = newUnderstanding(options, options.choices)
  const writer = writerFor(options)
  const isNative = options.clientStyle === options.providerStyle
  let content = false
  let finished = false
  let fault: StreamFault | undefined
  let likeness: Likeness | undefined
  let looks = 0

  const looked = (frame: Frame, text: string): Likeness | undefined => {
    looks += 1
    return likenessOf(frame, text, () => newUnderstanding(options, 1), writer.write)
  }

  const piece = (frames: ReadonlyArray<Frame>, written: Array<Buffer> = []): Piece => {
    const alike = written.length
    const add = (writing: Writing) => {
      if (writing !== undefined) written.push(typeof writing === "string" ? Buffer.from(writing) : writing)
    }
    for (const frame of frames) {
      if (fault !== undefined) break
      const heard = understanding.generated().length
      const said = understanding.read(frame)
      // an error behind the end changes nothing about an answer that is complete
      if (said.fault !== undefined && finished) continue
      fault = said.fault
      // not of the first content, which is waited for
      if (content && said.content && isNative && looks < mostLooks) {
        likeness = looked(frame, understanding.generated().slice(heard)) ?? likeness
      }
      content ||= said.content
      finished ||= said.finished
      if (fault === undefined) add(writer.write(frame, said))
    }
    if (fault === undefined && splitter.overflown() && !finished) fault = malformed("a frame without an end")
    const [only] = written
    const bytes = written.length === 1 && only !== undefined ? only : Buffer.concat(written)
    return { bytes, frames: alike + frames.length, content, finished, fault }
  }

  const push = (chunk: Uint8Array): Piece => {
    if (likeness === undefined || fault !== undefined || !splitter.isBetween())
      return piece(splitter.push(chunk))
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    const written: Array<Buffer> = []
    let at = 0
    for (let alike = likeness(bytes, 0); alike !== undefined; alike = likeness(bytes, at)) {
      understanding.hear(alike.text)
      written.push(alike.bytes)
      at = alike.end
    }
    return piece(at === bytes.length ? [] : splitter.push(bytes.subarray(at)), written)
  }

  return {
    push,
    end: () => {
      // some providers leave out the last blank line; half a frame says nothing
      const last = piece(splitter.end().filter(({ data }) => data !== undefined && isWhole(data)))
      const end = fault === undefined && finished ? writer.end() : undefined
      if (end === undefined) return last
      return { ...last, bytes: Buffer.concat([last.bytes, typeof end === "string" ? Buffer.from(end) : end]) }
    },
    usage: understanding.usage,
    promptTokens: understanding.promptTokens,
    generated: understanding.generated
  }
}

const isWhole = (data: string): boolean => data.trim() === "[DONE]" || parsedJson(data) !== undefined
