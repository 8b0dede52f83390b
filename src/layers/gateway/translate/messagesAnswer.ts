/** Chat completions as messages: whole answers, and streams. */
import { isAbsent, isObject, objectsIn, parsedJson, prefixedId, textOf } from "../json.ts"
import type { Json, JsonObject } from "../json.ts"
import { frame } from "../sse.ts"
import type { ReaderOptions, StreamWriter } from "../types.ts"
import { plainUsage } from "../usage.ts"
import type { Usage } from "../usage.ts"
import { messagesToolId } from "./toolIds.ts"

/** A chat completion as a message. */
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

/*
 * Blocks of a message follow each other, while chat completions may mix the arguments of several tools: a block waits
 * until the arguments before it are complete.
 */

interface Block {
  readonly kind: "text" | "thinking" | "tool"
  /** Identifies the provider's call. */
  readonly key: Json
  id: string
  name: string
  /** All text so far, and how many characters of it were sent. */
  text: string
  sent: number
  state: "waiting" | "open" | "closed"
}

const event = (body: { readonly type: string; readonly [name: string]: Json }): string =>
  frame(JSON.stringify(body), body.type)

export const messagesStream = ({ model, requestId }: ReaderOptions, usage: () => Usage): StreamWriter => {
  const blocks: Array<Block> = []
  let started = false
  let ended = false
  let refused = false
  /** The number of blocks opened. */
  let opened = 0
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

  const emptyBlock = ({ id, key, kind, name }: Block): JsonObject => {
    if (kind === "text") return { type: "text", text: "" }
    if (kind === "thinking") return { type: "thinking", thinking: "", signature: "" }
    return { type: "tool_use", id: toolId(id, requestId, Number(key) || opened), name, input: {} }
  }

  const deltaOf = (kind: Block["kind"], text: string): JsonObject => {
    if (kind === "tool") return { type: "input_json_delta", partial_json: text }
    return { type: `${kind}_delta`, [kind]: text }
  }

  const open = (block: Block): string => {
    block.state = "open"
    opened += 1
    return event({ type: "content_block_start", index: opened - 1, content_block: emptyBlock(block) })
  }

  const send = (block: Block): string => {
    const unsent = block.text.slice(block.sent)
    block.sent = block.text.length
    if (unsent === "") return ""
    return event({ type: "content_block_delta", index: opened - 1, delta: deltaOf(block.kind, unsent) })
  }

  const close = (block: Block): string => {
    block.state = "closed"
    return event({ type: "content_block_stop", index: opened - 1 })
  }

  const isComplete = ({ kind, text }: Block): boolean => kind !== "tool" || isObject(parsedJson(text))

  /** Sends the blocks that are complete so far, or all. */
  const advance = (all: "all" | "complete"): string => {
    let written = ""
    let current: Block | undefined
    for (const block of blocks) {
      if (block.state === "closed") continue
      if (current !== undefined) {
        if (all === "complete" && !isComplete(current)) return written
        written += close(current)
      }
      if (block.state === "waiting") written += open(block)
      written += send(block)
      current = block
    }
    return all === "all" && current !== undefined ? written + close(current) : written
  }

  const add = (kind: Block["kind"], key: Json): Block => {
    const block: Block = { kind, key, id: "", name: "", text: "", sent: 0, state: "waiting" }
    blocks.push(block)
    return block
  }

  const speak = (kind: "text" | "thinking", text: string) => {
    if (text === "") return
    const last = blocks.at(-1)
    const block = last?.kind === kind ? last : add(kind, null)
    block.text += text
  }

  const call = (called: JsonObject) => {
    // Some providers leave out the index and send each call whole.
    const key = called.index ?? textOf(called.id)
    const tool = blocks.find((block) => block.kind === "tool" && block.key === key) ?? add("tool", key)
    const target = isObject(called.function) ? called.function : {}
    tool.id ||= textOf(called.id)
    tool.name ||= textOf(target.name)
    tool.text += textOf(target.arguments)
  }

  const take = (delta: JsonObject) => {
    const refusal = textOf(delta.refusal)
    if (refusal !== "") refused = true
    speak("thinking", textOf(delta.reasoning_content) || textOf(delta.reasoning))
    speak("text", textOf(delta.content) + refusal)
    for (const called of objectsIn(delta.tool_calls)) call(called)
  }

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
    const delta = { stop_reason: refused ? "refusal" : stopReason(finish), stop_sequence: null }
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

/** Of a call of a tool, which some providers leave unnamed. */
const toolId = (id: Json | undefined, requestId: string, order: number): string =>
  messagesToolId(textOf(id) || `call_${requestId}_${order}`)

/** Zeros where there is none, for the style always has it. */
const messagesUsageOf = ({ cached, completion, prompt, written, writtenLong }: Usage): JsonObject => ({
  input_tokens: prompt - cached - written - writtenLong,
  cache_creation_input_tokens: written + writtenLong,
  cache_read_input_tokens: cached,
  output_tokens: completion
})
