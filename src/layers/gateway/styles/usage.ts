/** Tokens as providers report them. What is not a whole number of at least 0 was not reported. */
import { isObject } from "./json.ts"
import type { JsonObject } from "./json.ts"
import type { Usage } from "./types.ts"

const count = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined

/**
 * The `usage` of chat completions. Some providers leave reasoning tokens out of `completion_tokens` and show them in the
 * total alone; they were generated and are counted.
 */
export const chatUsage = (usage: unknown): Usage | undefined => {
  if (!isObject(usage)) return undefined
  const prompt = count(usage.prompt_tokens)
  const completion = count(usage.completion_tokens)
  if (prompt === undefined || completion === undefined) return undefined
  const total = count(usage.total_tokens) ?? 0
  return { prompt, completion: Math.max(completion, total - prompt) }
}

/** The prompt in the `usage` of messages, which counts what was written to or read from the cache apart. */
export const messagesPrompt = (usage: JsonObject): number | undefined => {
  const fresh = count(usage.input_tokens)
  if (fresh === undefined) return undefined
  return fresh + (count(usage.cache_creation_input_tokens) ?? 0) + (count(usage.cache_read_input_tokens) ?? 0)
}

export const messagesCompletion = (usage: JsonObject): number | undefined => count(usage.output_tokens)

/** The `usage` of a whole message. */
export const messagesUsage = (usage: unknown): Usage | undefined => {
  if (!isObject(usage)) return undefined
  const prompt = messagesPrompt(usage)
  const completion = messagesCompletion(usage)
  return prompt === undefined || completion === undefined ? undefined : { prompt, completion }
}
