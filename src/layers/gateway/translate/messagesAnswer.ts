/** Translates chat completions to messages: whole answers and streams. */
import { isAbsent, isObject, objectsIn, parsedJson, prefixedId, textOf } from "../json.ts"
import type { Json, JsonObject } from "../json.ts"
import { frame } from "../sse.ts"
import type { ReaderOptions, StreamWriter } from "../types.ts"
import { plainUsage } from "../usage.ts"
import type { Usage } from "../usage.ts"
import { blockSequence } from "./chatBlocks.ts"
import type { Block } from "./chatBlocks.ts"
import { messagesToolId } from "./toolIds.ts"

/** Translates a chat completion to a message. */
export const messageAnswer = (
  completion: JsonObject,
  usage: Usage | undefined,
  { model, requestId }: ReaderOptions
): JsonObject => {
  const [choice] = objectsIn(completion.choices)
  const message = isObject(choice?.message) ? choice.message : {}
  return {
    id: messageId(completion.id, requestId),
    type: "message",
    role: "assistant",
    model,
    content: contentOf(message, requestId),
    stop_reason: textOf(message.refusal) === "" ? stopReason(choice?.finish_reason) : "refusal",
    stop_sequence: null,
    usage: messagesUsageOf(usage ?? plainUsage(0, 0))
  }
}

const inputOf = (text: Json | undefined): Json => {
  const input = parsedJson(textOf(text) || "{}")
  // Arguments that are no object are passed on as text rather than lost.
  return isObject(input) ? input : { arguments: textOf(text) }
}

const contentOf = (message: JsonObject, requestId: string): ReadonlyArray<JsonObject> => {
  const thinking = textOf(message.reasoning_content) || textOf(message.reasoning)
  const text = textOf(message.content) + textOf(message.refusal)
  return [
    ...(thinking === "" ? [] : [{ type: "thinking", thinking, signature: "" }]),
    ...(text === "" ? [] : [{ type: "text", text }]),
    ...objectsIn(message.tool_calls).map(({ function: called, id }, order) => ({
      type: "tool_use",
      id: toolId(id, requestId, order),
      name: isObject(called) ? textOf(called.name) : "",
      input: inputOf(isObject(called) ? called.arguments : undefined)
    }))
  ]
}

const event = (body: { readonly type: string; readonly [name: string]: Json }): string =>
  frame(JSON.stringify(body), body.type)

export const messagesStream = ({ model, requestId }: ReaderOptions, usage: () => Usage): StreamWriter => {
  let started = false
  let ended = false
  let finish: Json | undefined

  const begin = (body: JsonObject): string => {
    if (started) return ""
    started = true
    const message = {
      id: messageId(body.id, requestId),
      type: "message",
      role: "assistant",
      model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: messagesUsageOf(usage())
    }
    return event({ type: "message_start", message })
  }

  const emptyBlock = ({ id, index, key, kind, name }: Block): JsonObject => {
    if (kind === "thinking") return { type: "thinking", thinking: "", signature: "" }
    if (kind !== "tool") return { type: "text", text: "" }
    return { type: "tool_use", id: toolId(id, requestId, Number(key) || index + 1), name, input: {} }
  }

  const deltaOf = (kind: Block["kind"], text: string): JsonObject => {
    if (kind === "tool") return { type: "input_json_delta", partial_json: text }
    return kind === "thinking" ? { type: "thinking_delta", thinking: text } : { type: "text_delta", text }
  }

  const { advance, blocks, take } = blockSequence({
    open: (block) =>
      event({ type: "content_block_start", index: block.index, content_block: emptyBlock(block) }),
    send: ({ index, kind }, unsent) =>
      event({ type: "content_block_delta", index, delta: deltaOf(kind, unsent) }),
    close: ({ index }) => event({ type: "content_block_stop", index })
  })

  const write = (body: JsonObject): string => {
    const beginning = begin(body)
    for (const { delta, finish_reason, index } of objectsIn(body.choices)) {
      if (index !== undefined && index !== 0) continue
      if (isObject(delta)) take(delta)
      if (!isAbsent(finish_reason)) finish = finish_reason
    }
    return beginning + advance("complete")
  }

  const end = (): string => {
    if (ended) return ""
    ended = true
    const isRefused = blocks.some(({ kind }) => kind === "refusal")
    const delta = { stop_reason: isRefused ? "refusal" : stopReason(finish), stop_sequence: null }
    const last = event({ type: "message_delta", delta, usage: messagesUsageOf(usage()) })
    return `${begin({})}${advance("all")}${last}${event({ type: "message_stop" })}`
  }

  return {
    write: (_frame, { body, finished }) => {
      if (body !== undefined) return ended ? undefined : write(body)
      return finished ? end() : undefined
    },
    end
  }
}

const ofChat: Readonly<Record<string, string>> = {
  stop: "end_turn",
  length: "max_tokens",
  tool_calls: "tool_use",
  function_call: "tool_use",
  content_filter: "refusal"
}

export const stopReason = (finishReason: Json | undefined): string =>
  ofChat[textOf(finishReason)] ?? "end_turn"

export const messageId = (id: Json | undefined, requestId: string): string =>
  prefixedId("msg_", id, requestId)

/** The id of a tool call; some providers send none. */
const toolId = (id: Json | undefined, requestId: string, order: number): string =>
  messagesToolId(textOf(id) || `call_${requestId}_${order}`)

/** Zeros stand for a missing usage, because the style always has one. */
const messagesUsageOf = ({ cached, completion, prompt, written, writtenLong }: Usage): JsonObject => ({
  input_tokens: prompt - cached - written - writtenLong,
  cache_creation_input_tokens: written + writtenLong,
  cache_read_input_tokens: cached,
  output_tokens: completion
})
