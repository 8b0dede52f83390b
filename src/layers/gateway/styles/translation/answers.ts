/** Whole answers in the other style. */
import { isObject, objectsIn, parsedJson, present, textOf } from "../json.ts"
import type { Json, JsonObject } from "../json.ts"
import type { ReaderOptions } from "../types.ts"
import { chatId, messageId, toolId } from "./identifiers.ts"
import { finishReason, stopReason } from "./stopReasons.ts"
import { chatUsageOf, messagesUsageOf } from "./usages.ts"

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

/** A message as a chat completion. */
export const chatAnswer = (message: JsonObject, { created, model, requestId }: ReaderOptions): JsonObject => {
  const blocks = objectsIn(message.content)
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
    finish_reason: finishReason(message.stop_reason)
  }
  return present({
    id: chatId(message.id, requestId),
    object: "chat.completion",
    created,
    model,
    choices: [choice],
    usage: isObject(message.usage) ? chatUsageOf(message.usage) : undefined
  })
}

const inputOf = (text: Json | undefined): Json => {
  const input = parsedJson(textOf(text) || "{}")
  // what is no object is shown as it is rather than lost
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

/** A chat completion as a message. */
export const messageAnswer = (completion: JsonObject, { model, requestId }: ReaderOptions): JsonObject => {
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
    usage: messagesUsageOf(completion.usage)
  }
}
