/**
 * How many tokens a prompt has at most, without a tokenizer: no tokenizer makes more tokens of a text than it has bytes,
 * so "a text's bytes bound its tokens, plus 16 a message; an image counts as the model's `image_tokens`, not its bytes".
 * What is neither text nor an image of a message counts with the bytes of its JSON, which are never fewer than its text.
 *
 * Every call passes through here, so it adds up in place and makes no lists.
 */
import { isAbsent, isObject, members, objectsIn } from "./json.ts"
import type { JsonObject } from "./json.ts"

export interface PromptSize {
  /** At most so many tokens, without images. */
  text: number
  images: number
}

export const tokensAMessage = 16

/** Providers explain to a model how to call tools: up to 530 tokens, said once (Anthropic, "Tool use", pricing). */
const tokensForTools = 600

const addJson = (size: PromptSize, value: unknown) => {
  if (!isAbsent(value)) size.text += Buffer.byteLength(JSON.stringify(value))
}

const addOthers = (size: PromptSize, object: JsonObject, withoutTokens: ReadonlySet<string>) => {
  for (const name of Object.keys(object)) if (!withoutTokens.has(name)) addJson(size, object[name])
}

const imageParts = members("image image_url input_image")
const ofImage = members("type image_url source cache_control detail")
const ofTextPart = members("type text cache_control")
const ofToolResult = members("type content cache_control")

const addPart = (size: PromptSize, part: unknown) => {
  if (typeof part === "string") size.text += Buffer.byteLength(part)
  else if (!isObject(part)) addJson(size, part)
  else if (typeof part.type === "string" && imageParts.has(part.type)) {
    size.images += 1
    addOthers(size, part, ofImage)
  } else if (part.type === "text") {
    addContent(size, part.text)
    addOthers(size, part, ofTextPart)
  } else if (part.type === "tool_result") {
    addContent(size, part.content)
    addOthers(size, part, ofToolResult)
  } else addJson(size, part)
}

const addContent = (size: PromptSize, content: unknown) => {
  if (typeof content === "string") size.text += Buffer.byteLength(content)
  else if (Array.isArray(content)) for (const part of content) addPart(size, part)
  else addJson(size, content)
}

const ofMessage = members("role content")

const addMessage = (size: PromptSize, message: unknown) => {
  if (!isObject(message)) return addJson(size, message)
  size.text += tokensAMessage
  addContent(size, message.content)
  addOthers(size, message, ofMessage)
}

/** What steers a call without being a part of its prompt. Whatever is not named here counts. */
const steering = members(`
  model messages system stream stream_options n seed stop stop_sequences user max_tokens
  max_completion_tokens temperature top_p top_k frequency_penalty presence_penalty logit_bias logprobs
  top_logprobs metadata store service_tier parallel_tool_calls reasoning_effort thinking verbosity
  modalities prompt_cache_key prompt_cache_retention safety_identifier tool_choice
`)

/** The bound of a request's prompt, of either style. */
export const promptSize = (body: JsonObject): PromptSize => {
  const size = { text: 0, images: 0 }
  if (Array.isArray(body.messages)) for (const message of body.messages) addMessage(size, message)
  addContent(size, body.system)
  addOthers(size, body, steering)
  if (objectsIn(body.tools).length > 0 || objectsIn(body.functions).length > 0) size.text += tokensForTools
  return size
}
