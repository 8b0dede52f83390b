/** Translates answers of messages to chat completions: whole answers and streams. */
import { isAbsent, isObject, objectsIn, prefixedId, present, textOf } from "../json.ts"
import type { Json, JsonObject } from "../json.ts"
import { frame } from "../sse.ts"
import type { ReaderOptions, StreamWriter } from "../types.ts"
import type { Usage } from "../usage.ts"
import { jsonTool } from "./messagesRequest.ts"

/** Translates a message to a chat completion. */
export const chatAnswer = (
  message: JsonObject,
  usage: Usage | undefined,
  options: ReaderOptions
): JsonObject => {
  const { asksJson, created, model, requestId } = options
  const blocks = objectsIn(message.content).map((block) => (asksJson ? jsonAsText(block) : block))
  const text = textsOf(blocks, "text")
  const thinking = textsOf(blocks, "thinking")
  const calls = blocks.filter(({ type }) => type === "tool_use").map(toolCall)
  const answer = present({
    role: "assistant",
    content: text.length === 0 ? null : text.join(""),
    refusal: null,
    reasoning_content: thinking.length === 0 ? undefined : thinking.join(""),
    thinking_blocks: nonEmpty(blocks.filter(isThinking)),
    tool_calls: nonEmpty(calls)
  })
  const choice = {
    index: 0,
    message: answer,
    logprobs: null,
    finish_reason: endOf(message.stop_reason, calls.length, options)
  }
  return present({
    id: chatId(message.id, requestId),
    object: "chat.completion",
    created,
    model,
    choices: [choice],
    usage: usage === undefined ? undefined : chatUsageOf(usage)
  })
}

const isJson = ({ name, type }: JsonObject): boolean => type === "tool_use" && name === jsonTool.name

/** The call of the tool that stands for JSON without a schema becomes text. */
const jsonAsText = (block: JsonObject): JsonObject =>
  isJson(block) ? { type: "text", text: JSON.stringify(block.input ?? {}) } : block

const textsOf = (blocks: ReadonlyArray<JsonObject>, type: string): ReadonlyArray<string> =>
  blocks.filter((block) => block.type === type).map((block) => textOf(block[type]))

const toolCall = ({ id, input, name }: JsonObject): JsonObject => ({
  id: textOf(id),
  type: "function",
  function: { name: textOf(name), arguments: JSON.stringify(input ?? {}) }
})

const isThinking = ({ type }: JsonObject): boolean => type === "thinking" || type === "redacted_thinking"

const nonEmpty = <Value>(list: ReadonlyArray<Value>): ReadonlyArray<Value> | undefined =>
  list.length === 0 ? undefined : list

interface Tool {
  /** The index is undefined if the tool's input is the answer's text. */
  readonly index: number | undefined
  /** The input at the block's start; it is sent if no partial input follows. */
  readonly input: Json
  hasArguments: boolean
}

export const chatStream = (options: ReaderOptions, usage: () => Usage): StreamWriter => {
  const { asksJson, asksUsage, created, model, requestId } = options
  let id = chatId(undefined, requestId)
  let started = false
  let finish: string | undefined
  const tools = new Map<Json | undefined, Tool>()
  let calls = 0
  /** Thinking that has no signature yet. */
  let thought = ""
  let thoughts = 0

  const chunk = (rest: { readonly [name: string]: Json }): string =>
    frame(JSON.stringify({ id, object: "chat.completion.chunk", created, model, ...rest }))

  const choice = (delta: JsonObject, finish_reason: string | null): string =>
    chunk({ choices: [{ index: 0, delta, logprobs: null, finish_reason }] })

  const delta = (fields: JsonObject): string => choice(fields, null)

  const start = (message: JsonObject): string => {
    id = chatId(message.id, requestId)
    return begin()
  }

  const begin = (): string => {
    if (started) return ""
    started = true
    return delta({ role: "assistant", content: "", refusal: null })
  }

  const toolDelta = (index: number, called: JsonObject, head: JsonObject = {}): string =>
    delta({ tool_calls: [{ index, ...head, function: called }] })

  const inputDelta = ({ index }: Tool, text: string): string =>
    index === undefined ? delta({ content: text }) : toolDelta(index, { arguments: text })

  const blockStart = (at: Json | undefined, block: JsonObject): string => {
    if (block.type === "text") return block.text === "" ? "" : delta({ content: textOf(block.text) })
    if (block.type === "thinking") return block.thinking === "" ? "" : thinking(textOf(block.thinking))
    if (block.type === "redacted_thinking") return thinkingBlock(block)
    if (block.type !== "tool_use") return ""
    const tool = { input: block.input ?? {}, hasArguments: false }
    if (asksJson && isJson(block)) {
      tools.set(at, { ...tool, index: undefined })
      return ""
    }
    const index = calls
    calls += 1
    tools.set(at, { ...tool, index })
    const head = { id: textOf(block.id), type: "function" }
    return toolDelta(index, { name: textOf(block.name), arguments: "" }, head)
  }

  /**
   * A block of thinking is sent whole, with the index by which clients collect deltas: the client must be able to send it back unchanged.
   */
  const thinkingBlock = (block: JsonObject): string => {
    thoughts += 1
    return delta({ thinking_blocks: [{ index: thoughts - 1, ...block }] })
  }

  const thinking = (text: string): string => {
    thought += text
    return delta({ reasoning_content: text })
  }

  const signed = (signature: string): string => {
    const block = { type: "thinking", thinking: thought, signature }
    thought = ""
    return thinkingBlock(block)
  }

  const blockDelta = (at: Json | undefined, change: JsonObject): string => {
    if (change.type === "text_delta") return delta({ content: textOf(change.text) })
    if (change.type === "thinking_delta") return thinking(textOf(change.thinking))
    if (change.type === "signature_delta") return signed(textOf(change.signature))
    const tool = tools.get(at)
    if (change.type !== "input_json_delta" || tool === undefined || change.partial_json === "") return ""
    tool.hasArguments = true
    return inputDelta(tool, textOf(change.partial_json))
  }

  const blockStop = (at: Json | undefined): string => {
    const tool = tools.get(at)
    if (tool === undefined || tool.hasArguments) return ""
    tool.hasArguments = true
    return inputDelta(tool, JSON.stringify(tool.input))
  }

  const messageDelta = (body: JsonObject): string => {
    const reason = isObject(body.delta) ? body.delta.stop_reason : undefined
    if (isAbsent(reason) || finish !== undefined) return ""
    finish = endOf(reason, calls, options)
    return begin() + choice({}, finish)
  }

  const end = (): string => {
    const finished = finish === undefined ? choice({}, "stop") : ""
    const reported = asksUsage ? chunk({ choices: [], usage: chatUsageOf(usage()) }) : ""
    return `${begin()}${finished}${reported}${frame("[DONE]")}`
  }

  const written = (body: JsonObject): string => {
    switch (body.type) {
      case "message_start":
        return start(isObject(body.message) ? body.message : {})
      case "content_block_start":
        return begin() + blockStart(body.index, isObject(body.content_block) ? body.content_block : {})
      case "content_block_delta":
        return begin() + blockDelta(body.index, isObject(body.delta) ? body.delta : {})
      case "content_block_stop":
        return blockStop(body.index)
      case "message_delta":
        return messageDelta(body)
      case "message_stop":
        return end()
      default:
        return ""
    }
  }

  return {
    write: (_frame, { body }) => (body === undefined ? undefined : written(body)),
    end: () => undefined
  }
}

const ofMessages: Readonly<Record<string, string>> = {
  end_turn: "stop",
  stop_sequence: "stop",
  pause_turn: "stop",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  tool_use: "tool_calls",
  refusal: "content_filter"
}

export const finishReason = (stopReason: Json | undefined): string => ofMessages[textOf(stopReason)] ?? "stop"

/** An answer in JSON ends as a call of a tool, although no tool of the caller's was called. */
const endOf = (stopReason: Json | undefined, calls: number, { asksJson }: ReaderOptions): string => {
  const reason = finishReason(stopReason)
  return asksJson && calls === 0 && reason === "tool_calls" ? "stop" : reason
}

const chatId = (id: Json | undefined, requestId: string): string => prefixedId("chatcmpl-", id, requestId)

const chatUsageOf = ({ cached, completion, prompt, reasoning, written, writtenLong }: Usage): JsonObject => ({
  prompt_tokens: prompt,
  completion_tokens: completion,
  total_tokens: prompt + completion,
  prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: written + writtenLong },
  completion_tokens_details: { reasoning_tokens: reasoning }
})
