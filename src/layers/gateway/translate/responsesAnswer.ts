/** Translates chat completions to responses: whole answers and streams, whose numbered events come in OpenAI's order. */
import { isAbsent, isObject, objectsIn, prefixedId, present, textOf } from "../json.ts"
import type { Json, JsonObject } from "../json.ts"
import { frame } from "../sse.ts"
import type { ReaderOptions, ShownError, StreamWriter } from "../types.ts"
import type { Usage } from "../usage.ts"
import { blockSequence } from "./chatBlocks.ts"
import type { Block } from "./chatBlocks.ts"
import { closedReasoning, includesReasoning } from "./responsesRequest.ts"

/** Translates a chat completion to a response: the one at the end of its stream. */
export const responseAnswer = (
  completion: JsonObject,
  usage: Usage | undefined,
  options: ReaderOptions
): JsonObject => {
  const { end, take } = responseOf(options, () => usage)
  const [choice] = objectsIn(completion.choices)
  const message = isObject(choice?.message) ? choice.message : {}
  const tool_calls = objectsIn(message.tool_calls).map((call, index) => ({ ...call, index }))
  take(present({ id: completion.id, choices: [{ ...choice, delta: { ...message, tool_calls } }] }))
  return end().response
}

export const responsesStream = (options: ReaderOptions, usage: () => Usage | undefined): StreamWriter => {
  const { end, error, take } = responseOf(options, usage)
  let ended = false
  const finish = () => {
    if (ended) return ""
    ended = true
    return end().events
  }
  return {
    write: (_frame, { body, finished }) => {
      if (body !== undefined) return ended ? undefined : take(body)
      return finished ? finish() : undefined
    },
    end: finish,
    error
  }
}

/** Builds a response and its events. */
const responseOf = (options: ReaderOptions, usage: () => Usage | undefined) => {
  const { created, model, requested = {}, requestId } = options
  const output: Array<JsonObject> = []
  let id: string | undefined
  let number = 0
  let finish: Json | undefined

  const event = (type: string, fields: JsonObject): string => {
    number += 1
    return frame(JSON.stringify({ type, ...fields, sequence_number: number - 1 }), type)
  }

  const snapshot = (status: string, others: JsonObject = {}): JsonObject => ({
    ...shell(requested),
    id: id ?? responseId(undefined, requestId),
    created_at: created,
    model,
    status,
    output: [...output],
    usage: null,
    ...others
  })

  const begin = (body: JsonObject): string => {
    if (id !== undefined) return ""
    id = responseId(body.id, requestId)
    const response = snapshot("in_progress")
    return event("response.created", { response }) + event("response.in_progress", { response })
  }

  const itemId = ({ index, kind }: Block): string =>
    `${prefixOf[kind]}_${(id ?? "").replace("resp_", "")}_${index}`

  const blocks = blockSequence({
    open: (block) => {
      const at = { output_index: block.index }
      const item = itemOf(block, itemId(block), requestId, "in_progress")
      const added = event("response.output_item.added", {
        ...at,
        item: { ...item, ...nothingYet[block.kind] }
      })
      if (block.kind === "tool" || block.kind === "thinking") return added
      const part = partOf(block.kind, "")
      return added + event("response.content_part.added", { ...at, ...inContent(itemId(block)), part })
    },
    send: (block, delta) => {
      const at = { output_index: block.index }
      const item_id = itemId(block)
      switch (block.kind) {
        case "tool":
          return event("response.function_call_arguments.delta", { ...at, item_id, delta })
        case "thinking": {
          const where = { ...at, ...inSummary(item_id) }
          const part = { type: "summary_text", text: "" }
          const added =
            block.sent === 0 ? event("response.reasoning_summary_part.added", { ...where, part }) : ""
          return added + event("response.reasoning_summary_text.delta", { ...where, delta })
        }
        case "text":
          return event("response.output_text.delta", { ...at, ...inContent(item_id), delta, logprobs: [] })
        case "refusal":
          return event("response.refusal.delta", { ...at, ...inContent(item_id), delta })
      }
    },
    close: (block) => {
      const at = { output_index: block.index }
      const isCut = isIncomplete(finish) && block === blocks.blocks.at(-1)
      const item = {
        ...itemOf(block, itemId(block), requestId, isCut ? "incomplete" : "completed"),
        ...(block.kind === "thinking" && includesReasoning(requested) && encrypted(block))
      }
      output.push(item)
      return doneOf(block) + event("response.output_item.done", { ...at, item })
    }
  })

  const doneOf = (block: Block): string => {
    const at = { output_index: block.index }
    const item_id = itemId(block)
    const { kind, name, text } = block
    switch (kind) {
      case "tool":
        return event("response.function_call_arguments.done", {
          ...at,
          item_id,
          name,
          arguments: argumentsOf(text)
        })
      case "thinking": {
        if (text === "") return ""
        const where = { ...at, ...inSummary(item_id) }
        return (
          event("response.reasoning_summary_text.done", { ...where, text }) +
          event("response.reasoning_summary_part.done", { ...where, part: { type: "summary_text", text } })
        )
      }
      case "text":
      case "refusal": {
        const where = { ...at, ...inContent(item_id) }
        const done =
          kind === "text"
            ? event("response.output_text.done", { ...where, text, logprobs: [] })
            : event("response.refusal.done", { ...where, refusal: text })
        return done + event("response.content_part.done", { ...where, part: partOf(kind, text) })
      }
    }
  }

  return {
    take: (body: JsonObject): string => {
      const beginning = begin(body)
      for (const { delta, finish_reason, index } of objectsIn(body.choices)) {
        if (index !== undefined && index !== 0) continue
        if (isObject(delta)) blocks.take(delta)
        if (!isAbsent(finish_reason)) finish = finish_reason
      }
      return beginning + blocks.advance("complete")
    },
    error: ({ code, message, param }: ShownError): string => event("error", { code, message, param }),
    end: (): { readonly events: string; readonly response: JsonObject } => {
      const before = begin({}) + blocks.advance("all")
      const status = isIncomplete(finish) ? "incomplete" : "completed"
      const used = usage()
      const response = snapshot(status, {
        incomplete_details: incompleteDetails(finish),
        usage: used === undefined ? null : responsesUsageOf(used)
      })
      return { events: before + event(`response.${status}`, { response }), response }
    }
  }
}

/** The members of the request that a response repeats. */
const shell = (requested: JsonObject): JsonObject => {
  const member = (name: string): Json => requested[name] ?? null
  const reasoning = isObject(requested.reasoning) ? requested.reasoning : {}
  return {
    object: "response",
    background: false,
    error: null,
    incomplete_details: null,
    instructions: member("instructions"),
    max_output_tokens: member("max_output_tokens"),
    max_tool_calls: member("max_tool_calls"),
    metadata: requested.metadata ?? {},
    parallel_tool_calls: requested.parallel_tool_calls ?? true,
    previous_response_id: null,
    reasoning: { effort: reasoning.effort ?? null, summary: reasoning.summary ?? null },
    store: false,
    temperature: member("temperature"),
    text: requested.text ?? { format: { type: "text" } },
    tool_choice: requested.tool_choice ?? "auto",
    tools: requested.tools ?? [],
    top_p: member("top_p"),
    truncation: "disabled"
  }
}

const responseId = (id: Json | undefined, requestId: string): string => prefixedId("resp_", id, requestId)

const prefixOf = { text: "msg", refusal: "msg", thinking: "rs", tool: "fc" } as const

const inContent = (item_id: string) => ({ item_id, content_index: 0 })
const inSummary = (item_id: string) => ({ item_id, summary_index: 0 })

/** The empty members of an item at its beginning, even if some of its content has come. */
const nothingYet = {
  text: { content: [] },
  refusal: { content: [] },
  thinking: { summary: [] },
  tool: { arguments: "" }
} as const

const partOf = (kind: "text" | "refusal", text: string): JsonObject =>
  kind === "text"
    ? { type: "output_text", text, annotations: [], logprobs: [] }
    : { type: "refusal", refusal: text }

/** A tool without parameters may be called with an empty text. */
const argumentsOf = (text: string): string => (text === "" ? "{}" : text)

const itemOf = (block: Block, id: string, requestId: string, status: string): JsonObject => {
  const { kind, text } = block
  switch (kind) {
    case "thinking":
      return { id, type: "reasoning", summary: text === "" ? [] : [{ type: "summary_text", text }] }
    case "tool": {
      const call_id = block.id || `call_${requestId}_${block.index}`
      return { id, type: "function_call", status, call_id, name: block.name, arguments: argumentsOf(text) }
    }
    case "text":
    case "refusal":
      return { id, type: "message", status, role: "assistant", content: [partOf(kind, text)] }
  }
}

const encrypted = ({ signed, text }: Block): JsonObject => ({
  encrypted_content: closedReasoning({ thinking: signed, thought: text })
})

const isIncomplete = (finish: Json | undefined): boolean => finish === "length" || finish === "content_filter"

const incompleteDetails = (finish: Json | undefined): JsonObject | null => {
  if (!isIncomplete(finish)) return null
  return { reason: textOf(finish) === "length" ? "max_output_tokens" : "content_filter" }
}

const responsesUsageOf = ({
  cached,
  completion,
  prompt,
  reasoning,
  written,
  writtenLong
}: Usage): JsonObject => ({
  input_tokens: prompt,
  input_tokens_details: { cached_tokens: cached, cache_write_tokens: written + writtenLong },
  output_tokens: completion,
  output_tokens_details: { reasoning_tokens: reasoning },
  total_tokens: prompt + completion
})
