/** Relays requests and answers: almost unchanged if client and provider have one style, otherwise translated. */
import { Result } from "effect"
import { styleOf } from "../../services/Gateway.ts"
import type { Endpoint, Style } from "../../services/Gateway.ts"
import { blockText, messagesParser } from "./anthropic.ts"
import { admit } from "./callBody.ts"
import type { ModelSetting, RouteSetting } from "./configuration.ts"
import { streamError } from "./errors.ts"
import { bufferOf, isAbsent, isObject, objectsIn, parsedJson } from "./json.ts"
import type { JsonObject } from "./json.ts"
import { chatParser, chatTexts } from "./openai.ts"
import { frame, frameSplitter } from "./sse.ts"
import type { Frame } from "./sse.ts"
import { faultOf, malformed } from "./streamParser.ts"
import type { ParsedFrame, StreamFault, StreamParser } from "./streamParser.ts"
import { chatThinking, messagesThinking } from "./thinking.ts"
import { chatAnswer, chatStream } from "./translate/chatAnswer.ts"
import { chatRequest } from "./translate/chatRequest.ts"
import { messageAnswer, messagesStream } from "./translate/messagesAnswer.ts"
import { messagesRequest } from "./translate/messagesRequest.ts"
import { responseAnswer, responsesStream } from "./translate/responsesAnswer.ts"
import { translated } from "./translate/untranslatable.ts"
import type {
  Admitted,
  MemberChanges,
  Piece,
  ReaderOptions,
  Rejected,
  StreamReader,
  StreamWriter,
  Target,
  WholeAnswer,
  Written
} from "./types.ts"
import { chatUsage, embeddingsUsage, messagesUsage, plainUsage } from "./usage.ts"
import type { Usage } from "./usage.ts"

export const requestBody = (
  admitted: Admitted,
  target: Target
): Result.Result<Uint8Array | string, Rejected> => {
  if (admitted.style === target.style) return Result.succeed(nativeRequest(admitted, target))
  return translated(() =>
    JSON.stringify(
      changed(
        target.style === "anthropic"
          ? messagesThinking(messagesRequest(admitted, target), target.isThinkingForeign)
          : chatRequest(admitted, target),
        target.changes
      )
    )
  )
}

/** The form in which a route's provider is asked for a model. */
export const targetOf = ({ maxOutputTokens }: ModelSetting, { model, provider }: RouteSetting): Target => ({
  style: provider.style,
  model,
  maxOutputTokens,
  changes: provider.changes,
  reasoningContent: provider.reasoningContent,
  isThinkingForeign: false
})

/** The body of a call of our own, chat completion or embeddings, for a route's provider. */
export const ownRequest = (
  endpoint: Endpoint,
  members: JsonObject,
  model: ModelSetting,
  route: RouteSetting
): Uint8Array | string => {
  const body = Buffer.from(JSON.stringify({ model: model.name, ...members }))
  return Result.getOrThrow(
    Result.flatMap(admit(endpoint, body), (admitted) => requestBody(admitted, targetOf(model, route)))
  )
}

/** A member that already has the new name is dropped, because the reservation is for the maximum under its old name. */
const changed = (body: JsonObject, { omit, rename }: MemberChanges): JsonObject => {
  const names = Object.keys(body)
  if (!names.some((name) => omit.has(name) || rename.has(name))) return body
  const replaced = new Set(names.map((name) => rename.get(name)))
  return Object.fromEntries(
    Object.entries(body)
      .filter(([name]) => !omit.has(name) && (rename.has(name) || !replaced.has(name)))
      .map(([name, value]) => [rename.get(name) ?? name, value])
  )
}

const withUsage = ({ stream_options }: JsonObject) => ({
  stream_options: { ...(isObject(stream_options) && stream_options), include_usage: true }
})

/** Billing needs the usage of a stream, so the gateway requests it even if the client did not. */
const nativeRequest = (admitted: Admitted, target: Target): Uint8Array | string => {
  const { asksUsage, bytes, stream, style } = admitted
  const { changes, isThinkingForeign, model, reasoningContent } = target
  const isUsageMissing = style === "openai" && stream && !asksUsage
  const body =
    style === "openai"
      ? chatThinking(admitted.body, reasoningContent)
      : messagesThinking(admitted.body, isThinkingForeign)
  const whole =
    model === admitted.model && !isUsageMissing
      ? body
      : { ...body, model, ...(isUsageMissing && withUsage(body)) }
  const sent = changed(whole, changes)
  return sent === admitted.body ? bytes : JSON.stringify(sent)
}

const generatedOf = (style: Style, body: JsonObject): string =>
  style === "openai"
    ? objectsIn(body.choices)
        .map(({ message }) => (isObject(message) ? chatTexts(message) : ""))
        .join("")
    : objectsIn(body.content).map(blockText).join("")

const usageOf = (endpoint: Endpoint, style: Style, body: JsonObject): Usage | undefined => {
  if (endpoint === "embeddings") return embeddingsUsage(body.usage)
  return style === "openai" ? chatUsage(body.usage) : messagesUsage(body.usage)
}

const isAnswer = (endpoint: Endpoint, style: Style, body: JsonObject): boolean => {
  if (endpoint === "embeddings") return objectsIn(body.data).length > 0
  return style === "openai" ? objectsIn(body.choices).length > 0 : Array.isArray(body.content)
}

const written = (
  bytes: Buffer,
  body: JsonObject,
  usage: Usage | undefined,
  options: ReaderOptions
): Uint8Array => {
  const { endpoint, model, providerStyle } = options
  const clientStyle = styleOf(endpoint)
  if (endpoint === "responses") {
    const chat = providerStyle === "openai" ? body : chatAnswer(body, usage, options)
    return Buffer.from(JSON.stringify(responseAnswer(chat, usage, options)))
  }
  if (clientStyle !== providerStyle) {
    const answer =
      clientStyle === "openai" ? chatAnswer(body, usage, options) : messageAnswer(body, usage, options)
    return Buffer.from(JSON.stringify(answer))
  }
  const isSame = typeof body.model !== "string" || body.model === model
  return isSame ? bytes : Buffer.from(JSON.stringify({ ...body, model }))
}

/** Some providers answer 200 with an error. */
export const readAnswer = (
  received: Uint8Array,
  options: ReaderOptions
): Result.Result<WholeAnswer, StreamFault> => {
  const bytes = bufferOf(received)
  const body = parsedJson(bytes.toString())
  if (!isObject(body)) return Result.fail(malformed(`${bytes.length} bytes that are no JSON object`))
  if (!isAbsent(body.error)) return Result.fail(faultOf(body.error))
  const { endpoint, providerStyle } = options
  if (!isAnswer(endpoint, providerStyle, body)) return Result.fail(malformed("an answer without content"))
  const usage = usageOf(endpoint, providerStyle, body)
  return Result.succeed({
    bytes: written(bytes, body, usage, options),
    usage,
    generated: usage === undefined ? generatedOf(providerStyle, body) : ""
  })
}

/** Turns the bytes of a provider's stream, in chunks of any size, into frames for the client. */
export const streamReader = (options: ReaderOptions): StreamReader => {
  const splitter = frameSplitter()
  const parser = options.providerStyle === "openai" ? chatParser(options.choices) : messagesParser()
  const writer = writerFor(options, parser)
  let content = false
  let finished = false
  let fault: StreamFault | undefined

  const piece = (frames: ReadonlyArray<Frame>): Piece => {
    const written: Array<Uint8Array> = []
    for (const each of frames) {
      const parsed = parser.read(each)
      // An error after the end does not change a complete answer.
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
      // Some providers leave out the last blank line. An incomplete frame is dropped.
      const last = piece(splitter.end().filter(({ data }) => data !== undefined && isWhole(data)))
      if (fault !== undefined || !finished) return last
      return { ...last, bytes: Buffer.concat([last.bytes, bytesOf(writer.end())]) }
    },
    usage: parser.usage,
    prompt: parser.prompt,
    generated: parser.generated,
    error: (error) => {
      const own = writer.error?.(error)
      return own === undefined ? streamError(styleOf(options.endpoint), error) : Buffer.from(own)
    }
  }
}

const isWhole = (data: string): boolean => data.trim() === "[DONE]" || parsedJson(data) !== undefined

const nothing = Buffer.alloc(0)

const bytesOf = (written: Written): Uint8Array =>
  typeof written === "string" ? Buffer.from(written) : (written ?? nothing)

const writerFor = (options: ReaderOptions, parser: StreamParser): StreamWriter => {
  /** The client sees the usage that is charged, with zeros for unreported numbers. */
  const usage = (): Usage => parser.usage() ?? { ...plainUsage(0, 0), ...parser.prompt() }
  if (options.endpoint === "responses") {
    const writer = responsesStream(options, usage)
    return options.providerStyle === "openai" ? writer : chained(chatStream(options, usage), writer)
  }
  if (styleOf(options.endpoint) === "openai") {
    return options.providerStyle === "openai" ? native(nativeChat(options)) : chatStream(options, usage)
  }
  return options.providerStyle === "anthropic"
    ? native(nativeMessages(options))
    : messagesStream(options, usage)
}

/** The second writer reads the chat completions that the first one writes. */
const chained = (first: StreamWriter, second: StreamWriter): StreamWriter => {
  const splitter = frameSplitter()
  const parser = chatParser(1)
  const through = (written: Written): Uint8Array =>
    Buffer.concat(
      splitter.push(bytesOf(written)).map((each) => bytesOf(second.write(each, parser.read(each))))
    )
  return {
    ...second,
    write: (frame, parsed) => through(first.write(frame, parsed)),
    end: () => Buffer.concat([through(first.end()), bytesOf(second.end())])
  }
}

/** A client of the provider's style gets its frames unchanged except for the model's name. */
const native = (write: StreamWriter["write"]): StreamWriter => ({ write, end: () => undefined })

/** A chunk that only reports usage; a chunk with choices is content and stays. */
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
