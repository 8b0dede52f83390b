/** Usage in the words of the other style, with what was read from a cache and what was reasoning. */
import { isObject, present } from "../json.ts"
import type { Json, JsonObject } from "../json.ts"
import { chatUsage, messagesPrompt, messagesCompletion } from "../usage.ts"

const numberIn = (object: Json | undefined, name: string): number | undefined => {
  const value = isObject(object) ? object[name] : undefined
  return typeof value === "number" ? value : undefined
}

/** `usage` of chat completions from that of messages. */
export const chatUsageOf = (usage: JsonObject): JsonObject => {
  const prompt = messagesPrompt(usage) ?? 0
  const completion = messagesCompletion(usage) ?? 0
  const cached = numberIn(usage, "cache_read_input_tokens")
  const reasoning = numberIn(usage.output_tokens_details, "thinking_tokens")
  return present({
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: cached === undefined ? undefined : { cached_tokens: cached },
    completion_tokens_details: reasoning === undefined ? undefined : { reasoning_tokens: reasoning }
  })
}

/** `usage` of messages from that of chat completions; zeros where there is none, for the style always has it. */
export const messagesUsageOf = (usage: Json | undefined): JsonObject => {
  const known = chatUsage(usage)
  const details = isObject(usage) ? usage.prompt_tokens_details : undefined
  const cached = Math.min(numberIn(details, "cached_tokens") ?? 0, known?.prompt ?? 0)
  return {
    input_tokens: (known?.prompt ?? 0) - cached,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cached,
    output_tokens: known?.completion ?? 0
  }
}
