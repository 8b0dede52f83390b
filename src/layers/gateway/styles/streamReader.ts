/** Reads a provider's stream and writes the client's: frames, what they say, and what the client gets of them. */
import { malformed } from "./faults.ts"
import { frame, frameSplitter } from "./frames.ts"
import type { Frame } from "./frames.ts"
import { isAbsent, isObject, parsedJson } from "./json.ts"
import type { JsonObject } from "./json.ts"
import { chatParser, messagesParser } from "./streamParser.ts"
import type { ParsedFrame } from "./streamParser.ts"
import { chatStream } from "./translation/chatStream.ts"
import { messagesStream } from "./translation/messagesStream.ts"
import type { Piece, ReaderOptions, StreamFault, StreamReader, StreamWriter, Written } from "./types.ts"

/** Frames of the client out of frames of the provider, whatever cuts its bytes come in. */
export const streamReader = (options: ReaderOptions): StreamReader => {
  const splitter = frameSplitter()
  const parser = options.providerStyle === "openai" ? chatParser(options.choices) : messagesParser()
  const writer = writerFor(options)
  let content = false
  let finished = false
  let fault: StreamFault | undefined

  const piece = (frames: ReadonlyArray<Frame>): Piece => {
    const written: Array<Uint8Array> = []
    for (const each of frames) {
      const parsed = parser.read(each)
      // An error behind the end changes nothing about an answer that is complete.
      if (parsed.fault !== undefined && finished) continue
      fault = parsed.fault
      if (fault !== undefined) break
      content ||= parsed.content
      finished ||= parsed.finished
      written.push(bytesOf(writer.write(each, parsed)))
    }
    if (fault === undefined && splitter.overflown() && !finished) fault = malformed("a frame without an end")
    return { bytes: Buffer.concat(written), frames: frames.length, content, finished, fault }
  }

  return {
    push: (chunk) => piece(fault === undefined ? splitter.push(chunk) : []),
    end: () => {
      // Some providers leave out the last blank line; half a frame says nothing.
      const last = piece(splitter.end().filter(({ data }) => data !== undefined && isWhole(data)))
      if (fault !== undefined || !finished) return last
      return { ...last, bytes: Buffer.concat([last.bytes, bytesOf(writer.end())]) }
    },
    usage: parser.usage,
    promptTokens: parser.promptTokens,
    generated: parser.generated
  }
}

const isWhole = (data: string): boolean => data.trim() === "[DONE]" || parsedJson(data) !== undefined

const nothing = Buffer.alloc(0)

const bytesOf = (written: Written): Uint8Array =>
  typeof written === "string" ? Buffer.from(written) : (written ?? nothing)

const writerFor = (options: ReaderOptions): StreamWriter => {
  if (options.clientStyle === "openai") {
    return options.providerStyle === "openai" ? native(nativeChat(options)) : chatStream(options)
  }
  return options.providerStyle === "anthropic" ? native(nativeMessages(options)) : messagesStream(options)
}

/** For a client of the provider's style frames go on as they came, but for the model, which gets the client's name back. */
const native = (write: StreamWriter["write"]): StreamWriter => ({ write, end: () => undefined })

/** The event that only reports usage; a choice beside it is content and stays. */
const isUsageEvent = ({ choices, usage }: JsonObject): boolean =>
  !isAbsent(usage) && (isAbsent(choices) || (Array.isArray(choices) && choices.length === 0))

const hasAnotherModel = (body: JsonObject, model: string): boolean =>
  typeof body.model === "string" && body.model !== model

const nativeChat =
  ({ asksUsage, model }: ReaderOptions) =>
  ({ bytes, event }: Frame, { body }: ParsedFrame): Written => {
    if (body === undefined) return bytes
    if (!asksUsage && isUsageEvent(body)) return undefined
    return hasAnotherModel(body, model) ? frame(JSON.stringify({ ...body, model }), event) : bytes
  }

const nativeMessages =
  ({ model }: ReaderOptions) =>
  ({ bytes, event }: Frame, { body }: ParsedFrame): Written => {
    if (body?.type !== "message_start" || !isObject(body.message)) return bytes
    if (!hasAnotherModel(body.message, model)) return bytes
    return frame(JSON.stringify({ ...body, message: { ...body.message, model } }), event)
  }
