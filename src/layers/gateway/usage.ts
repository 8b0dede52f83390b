/**
 * Turns a provider's report of tokens, in either style, into one usage, from which the call is charged and clients of the other
 * style are answered. A stream may report in parts and more than once: the larger value of each member counts.
 */
import { tokensOf } from "../../scoring/tokenPrices.ts"
import type { PromptTokens, Tokens } from "../../scoring/tokenPrices.ts"
import { isObject } from "./json.ts"
import type { Json, JsonObject } from "./json.ts"

/** The number of uses of each tool that the provider runs itself. */
export interface Uses {
  readonly uses: Readonly<Record<string, number>>
}

/** Usage reported by a provider, or counted by the gateway. */
export interface Usage extends Tokens, Uses {}

/** Usage that is known before an answer is complete. */
export interface PromptUsage extends PromptTokens, Uses {}

/** A usage with only these tokens. */
export const plainUsage = (prompt: number, completion: number): Usage => ({
  ...tokensOf(prompt, completion),
  uses: {}
})

/** Merges two reports: the larger of each number counts. */
export const mergedReports = (before: JsonObject, report: Json | undefined): JsonObject => {
  if (!isObject(report)) return before
  const merged: Record<string, Json> = { ...before }
  for (const [name, value] of Object.entries(report)) {
    const known = merged[name]
    if (isObject(value)) merged[name] = mergedReports(isObject(known) ? known : {}, value)
    else if (tokenCount(value) !== undefined) merged[name] = Math.max(tokenCount(known) ?? 0, Number(value))
  }
  return merged
}

/** Anything but a whole number of at least 0 counts as unreported. */
const tokenCount = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined

const countIn = (object: Json | undefined, ...names: ReadonlyArray<string>): number =>
  names.map((name) => (isObject(object) ? tokenCount(object[name]) : undefined)).find((each) => each) ?? 0

/** Some providers report parts that are larger than the whole. */
const promptOf = (prompt: number, cached: number, written: number, long: number): PromptTokens => {
  const read = Math.min(cached, prompt)
  const writtenLong = Math.min(long, prompt - read)
  return { prompt, cached: read, written: Math.min(written, prompt - read - writtenLong), writtenLong }
}

/**
 * Reads the `usage` of chat completions. Some providers leave reasoning tokens out of `completion_tokens` and include them only
 * in the total; they were generated and are counted.
 */
export const chatUsage = (usage: Json | undefined): Usage | undefined => {
  if (!isObject(usage)) return undefined
  const prompt = tokenCount(usage.prompt_tokens)
  const shown = tokenCount(usage.completion_tokens)
  if (prompt === undefined || shown === undefined) return undefined
  const { completion_tokens_details, prompt_tokens_details } = usage
  const completion = Math.max(shown, countIn(usage, "total_tokens") - prompt)
  const reasoning = Math.max(countIn(completion_tokens_details, "reasoning_tokens"), completion - shown)
  // DeepSeek and Moonshot use other names for tokens read from a cache, OpenRouter and LiteLLM for tokens written to it.
  const cached =
    countIn(prompt_tokens_details, "cached_tokens") ||
    countIn(usage, "prompt_cache_hit_tokens", "cached_tokens")
  const written = countIn(prompt_tokens_details, "cache_write_tokens", "cache_creation_tokens")
  return {
    ...promptOf(prompt, cached, written, 0),
    completion,
    reasoning: Math.min(reasoning, completion),
    uses: {}
  }
}

/** Reads the `usage` of embeddings, which is all prompt. */
export const embeddingsUsage = (usage: Json | undefined): Usage | undefined => {
  if (!isObject(usage)) return undefined
  const prompt = tokenCount(usage.prompt_tokens) ?? tokenCount(usage.total_tokens)
  return prompt === undefined ? undefined : plainUsage(prompt, 0)
}

/** Reads the prompt's `usage` of messages, which count tokens written to or read from the cache apart. */
export const messagesPrompt = (usage: Json | undefined): PromptUsage | undefined => {
  const fresh = isObject(usage) ? tokenCount(usage.input_tokens) : undefined
  if (!isObject(usage) || fresh === undefined) return undefined
  const cached = countIn(usage, "cache_read_input_tokens")
  const written = countIn(usage, "cache_creation_input_tokens")
  const long = Math.min(countIn(usage.cache_creation, "ephemeral_1h_input_tokens"), written)
  return { ...promptOf(fresh + written + cached, cached, written - long, long), uses: usesIn(usage) }
}

/** Reads the `usage` of messages. */
export const messagesUsage = (usage: Json | undefined): Usage | undefined => {
  const prompt = messagesPrompt(usage)
  const completion = isObject(usage) ? tokenCount(usage.output_tokens) : undefined
  if (!isObject(usage) || prompt === undefined || completion === undefined) return undefined
  const reasoning = countIn(usage.output_tokens_details, "thinking_tokens")
  return { ...prompt, completion, reasoning: Math.min(reasoning, completion) }
}

/** Reads, for example, `server_tool_use: { web_search_requests: 3 }`. */
const usesIn = ({ server_tool_use }: JsonObject): Uses["uses"] =>
  Object.fromEntries(
    Object.entries(isObject(server_tool_use) ? server_tool_use : {}).map(([name, count]) => [
      name.replace(/_requests$/, ""),
      tokenCount(count) ?? 0
    ])
  )
