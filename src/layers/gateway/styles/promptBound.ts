/**
 * How many tokens a prompt has at most, without a tokenizer: no tokenizer makes more tokens of a text than it has bytes,
 * so "a text's bytes bound its tokens, plus 16 a message; an image counts as the model's `image_tokens`, not its bytes".
 * What is neither text nor an image of a message counts with the bytes of its JSON, which are never fewer than its text.
 */
import { isObject, objectsIn, members } from "./json.ts"
import type { JsonObject } from "./json.ts"

export interface PromptSize {
  /** At most so many tokens, without images. */
  readonly text: number
  readonly images: number
}

const tokensAMessage = 16

/** Providers explain to a model how to call tools: up to 530 tokens, said once (Anthropic, "Tool use", pricing). */
const tokensForTools = 600

const none: PromptSize = { text: 0, images: 0 }

const sum = (sizes: ReadonlyArray<PromptSize>): PromptSize =>
  sizes.reduce((total, size) => ({ text: total.text + size.text, images: total.images + size.images }), none)

const ofText = (text: string): PromptSize => ({ text: Buffer.byteLength(text), images: 0 })

const ofJson = (value: unknown): PromptSize => (value === undefined ? none : ofText(JSON.stringify(value)))

const ofMembers = (object: JsonObject, withoutTokens: ReadonlySet<string>): PromptSize =>
  sum(
    Object.entries(object)
      .filter(([name]) => !withoutTokens.has(name))
      .map(([, value]) => ofJson(value))
  )

const imageParts: ReadonlySet<string> = new Set(["image", "image_url", "input_image"])
const ofImage: ReadonlySet<string> = new Set(["type", "image_url", "source", "cache_control", "detail"])
const ofTextPart: ReadonlySet<string> = new Set(["type", "text", "cache_control"])
const ofToolResult: ReadonlySet<string> = new Set(["type", "content", "cache_control"])

const ofPart = (part: unknown): PromptSize => {
  if (typeof part === "string") return ofText(part)
  if (!isObject(part)) return ofJson(part)
  if (typeof part.type === "string" && imageParts.has(part.type)) {
    return sum([ofMembers(part, ofImage), { text: 0, images: 1 }])
  }
  if (part.type === "text") return sum([ofContent(part.text), ofMembers(part, ofTextPart)])
  if (part.type === "tool_result") return sum([ofContent(part.content), ofMembers(part, ofToolResult)])
  return ofJson(part)
}

const ofContent = (content: unknown): PromptSize => {
  if (typeof content === "string") return ofText(content)
  return Array.isArray(content) ? sum(content.map(ofPart)) : ofJson(content ?? undefined)
}

const ofMessage: ReadonlySet<string> = new Set(["role", "content"])

const sizeOfMessage = (message: unknown): PromptSize =>
  isObject(message)
    ? sum([{ text: tokensAMessage, images: 0 }, ofContent(message.content), ofMembers(message, ofMessage)])
    : ofJson(message)

/** What steers a call without being a part of its prompt. Whatever is not named here counts. */
const steering = members(`
  model messages system stream stream_options n seed stop stop_sequences user max_tokens
  max_completion_tokens temperature top_p top_k frequency_penalty presence_penalty logit_bias logprobs
  top_logprobs metadata store service_tier parallel_tool_calls reasoning_effort thinking verbosity
  modalities prompt_cache_key prompt_cache_retention safety_identifier tool_choice
`)

/** The bound of a request's prompt, of either style. */
export const promptSize = (body: JsonObject): PromptSize => {
  const tools = [...objectsIn(body.tools), ...objectsIn(body.functions)]
  return sum([
    sum(Array.isArray(body.messages) ? body.messages.map(sizeOfMessage) : []),
    ofContent(body.system),
    ofMembers(body, steering),
    { text: tools.length === 0 ? 0 : tokensForTools, images: 0 }
  ])
}
