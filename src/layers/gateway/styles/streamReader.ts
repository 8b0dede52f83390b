/** Reads a provider's stream and writes the client's: frames, what they say, and what the client gets of them. */
import { malformed } from "./faults.ts"
import { frameSplitter } from "./frames.ts"
import type { Frame } from "./frames.ts"
import { parsedJson } from "./json.ts"
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

/** Frames of the client out of frames of the provider, whatever cuts its bytes come in. */
export const streamReader = (options: ReaderOptions): StreamReader => {
  const splitter = frameSplitter()
  const understanding: Understanding =
    options.providerStyle === "openai" ? chatUnderstanding(options.choices) : messagesUnderstanding()
  const writer = writerFor(options)
  let content = false
  let finished = false
  let fault: StreamFault | undefined

  const piece = (frames: ReadonlyArray<Frame>): Piece => {
    const written: Array<Buffer> = []
    const add = (writing: Writing) => {
      if (writing !== undefined) written.push(typeof writing === "string" ? Buffer.from(writing) : writing)
    }
    for (const frame of frames) {
      if (fault !== undefined) break
      const said = understanding.read(frame)
      // an error behind the end changes nothing about an answer that is complete
      if (said.fault !== undefined && finished) continue
      fault = said.fault
      content ||= said.content
      finished ||= said.finished
      if (fault === undefined) add(writer.write(frame, said))
    }
    if (fault === undefined && splitter.overflown() && !finished) fault = malformed("a frame without an end")
    const [only] = written
    const bytes = written.length === 1 && only !== undefined ? only : Buffer.concat(written)
    return { bytes, frames: frames.length, content, finished, fault }
  }

  return {
    push: (chunk) => piece(splitter.push(chunk)),
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
