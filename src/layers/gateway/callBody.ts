/** Reads a call's body at any endpoint: the model, the maximum that may be generated, and an upper bound of the prompt's length. */
import { Result } from "effect"
import { styleOf } from "../../services/Gateway.ts"
import type { Endpoint, Style } from "../../services/Gateway.ts"
import { askingMembers } from "./pricedFeatures.ts"
import { isAbsent, isObject, members, objectsIn, textOf } from "./json.ts"
import type { JsonObject } from "./json.ts"
import { parse, rejected } from "./parseBody.ts"
import { chatOfResponses } from "./translate/responsesRequest.ts"
import { translated } from "./translate/untranslatable.ts"
import type { Parsed, Problem } from "./parseBody.ts"
import type { Admitted, Rejected } from "./types.ts"

type Admission = Result.Result<Admitted, Rejected>

const maxModelLength = 256
/** The style's own maximum. */
const maxChoices = 128

const isCount = (value: unknown): value is number =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 1

const modelExpected = `Expected the name of a model, a text of 1 to ${maxModelLength} characters`
const choicesExpected = `Expected a whole number from 1 to ${maxChoices}`
const oneAnswer = "Expected 1: messages give one answer a call"
const countExpected = "Expected a whole number of at least 1"

/** Members that decide which model is called and what it can cost. */
const deciding = new Set([
  ...members("model messages input n max_tokens max_completion_tokens stream stream_options"),
  ...askingMembers
])

/** The text has only small letters and digits. */
const bare = (name: string): string => name.toLowerCase().replaceAll(/[^a-z0-9]/g, "")

const plainNames = new Map([...deciding].map((name) => [bare(name), name]))

/**
 * Members in a spelling that some providers take for one that is checked here: some ignore case (Go's encoding/json does), some
 * accept capitals in place of low lines (Protocol Buffers do).
 */
const caseVariants = (body: JsonObject): Array<Problem> =>
  Object.keys(body).flatMap((name) => {
    const plain = plainNames.get(bare(name))
    return plain === undefined || plain === name ? [] : [{ path: name, message: `Expected it as ${plain}` }]
  })

/** Problems with the members that every call has. */
const problemsOfModel = (body: JsonObject): Array<Problem> => {
  const { model } = body
  const problems = caseVariants(body)
  if (typeof model !== "string" || model === "" || model.length > maxModelLength) {
    problems.push({ path: "model", message: modelExpected })
  }
  return problems
}

const maxInputs = 2048
const inputExpected = `Expected a text, tokens (whole numbers), or a list of at most ${maxInputs} of these, none of them empty`

const isText = (value: unknown): boolean => typeof value === "string" && value !== ""
const areTokens = (value: unknown): boolean =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.every((token) => typeof token === "number" && Number.isSafeInteger(token) && token >= 0)

const isEmbeddable = (input: unknown): boolean => {
  if (isText(input) || areTokens(input)) return true
  if (!Array.isArray(input) || input.length === 0 || input.length > maxInputs) return false
  return input.every(isText) || input.every(areTokens)
}

const problemsOfEmbedding = (body: JsonObject): ReadonlyArray<Problem> => {
  const problems = problemsOfModel(body)
  if (!isEmbeddable(body.input)) problems.push({ path: "input", message: inputExpected })
  if (!isAbsent(body.stream) && body.stream !== false) {
    problems.push({ path: "stream", message: "Expected it left out: embeddings are answered whole" })
  }
  return problems
}

const problemsOfResponse = (body: JsonObject): ReadonlyArray<Problem> => {
  const problems = problemsOfModel(body)
  if (!isAbsent(body.max_output_tokens) && !isCount(body.max_output_tokens)) {
    problems.push({ path: "max_output_tokens", message: countExpected })
  }
  return problems
}

/** Problems with a prompt and with the members that every call has. */
const problemsOfPrompt = (body: JsonObject): Array<Problem> => {
  const { messages } = body
  const problems = problemsOfModel(body)
  if (!Array.isArray(messages) || messages.length === 0) {
    problems.push({ path: "messages", message: "Expected a list of at least one message" })
    return problems
  }
  const wrong = messages.findIndex((message) => !isObject(message) || typeof message.role !== "string")
  if (wrong !== -1) problems.push({ path: `messages.${wrong}`, message: "Expected an object with a role" })
  return problems
}

const isGoodChoice = (n: unknown): boolean => isAbsent(n) || (isCount(n) && n <= maxChoices)

/** Problems with a call that generates something, including those of its prompt. */
const problemsOfCall = (style: Style, body: JsonObject): ReadonlyArray<Problem> => {
  const problems = problemsOfPrompt(body)
  const { max_completion_tokens, max_tokens, n, stream, stream_options } = body
  // Messages have no default for `max_tokens`.
  if (!isCount(max_tokens) && (style === "anthropic" || !isAbsent(max_tokens))) {
    problems.push({ path: "max_tokens", message: countExpected })
  }
  if (!isAbsent(max_completion_tokens) && !isCount(max_completion_tokens)) {
    problems.push({ path: "max_completion_tokens", message: countExpected })
  }
  if (style === "openai" && !isGoodChoice(n)) problems.push({ path: "n", message: choicesExpected })
  if (style === "anthropic" && !isAbsent(n) && n !== 1) problems.push({ path: "n", message: oneAnswer })
  if (!isAbsent(stream) && typeof stream !== "boolean") {
    problems.push({ path: "stream", message: "Expected true or false" })
  }
  if (!isAbsent(stream_options) && !isObject(stream_options)) {
    problems.push({ path: "stream_options", message: "Expected an object" })
  }
  return problems
}

const wantsUsage = ({ stream_options }: JsonObject): boolean =>
  isObject(stream_options) && stream_options.include_usage === true

const wantsJson = ({ response_format }: JsonObject): boolean =>
  isObject(response_format) && response_format.type === "json_object"

/** The larger of the two members: it bounds what can be generated. */
const maximumOf = ({ max_completion_tokens, max_tokens }: JsonObject): number | undefined => {
  const given = [max_completion_tokens, max_tokens].filter(isCount)
  return given.length === 0 ? undefined : Math.max(...given)
}

const generating = (
  endpoint: Exclude<Endpoint, "embeddings">,
  parsed: Parsed,
  requested?: JsonObject
): Admitted => {
  const { body } = parsed
  const style = styleOf(endpoint)
  const { images, text } = promptSize(body)
  return {
    endpoint,
    style,
    ...parsed,
    model: textOf(body.model),
    stream: body.stream === true,
    asksUsage: style === "anthropic" || wantsUsage(body),
    asksJson: style === "openai" && wantsJson(body),
    requested,
    maxTokens: maximumOf(body),
    choices: style === "openai" && isCount(body.n) ? body.n : 1,
    textTokensBound: text,
    images
  }
}

const embedding = (parsed: Parsed): Admitted => ({
  endpoint: "embeddings",
  style: "openai",
  ...parsed,
  model: textOf(parsed.body.model),
  stream: false,
  asksUsage: true,
  asksJson: false,
  requested: undefined,
  maxTokens: undefined,
  choices: 0,
  textTokensBound: embeddedSize(parsed.body),
  images: 0
})

const admitWith = (
  bytes: Uint8Array,
  problemsIn: (body: JsonObject) => ReadonlyArray<Problem>,
  admitted: (parsed: Parsed) => Admission
): Admission =>
  Result.flatMap(parse(bytes), (parsed) => {
    const problems = problemsIn(parsed.body)
    return problems.length === 0 ? admitted(parsed) : rejected(problems)
  })

/** A response is handled as a chat completion until it is answered. */
const responding = ({ body }: Parsed): Admission =>
  Result.map(
    translated(() => chatOfResponses(body)),
    (chat) => {
      const bytes = Buffer.from(JSON.stringify(chat))
      return generating("responses", { bytes, body: chat, writesCache: false }, body)
    }
  )

export const admit = (endpoint: Endpoint, bytes: Uint8Array): Admission => {
  switch (endpoint) {
    case "embeddings":
      return admitWith(bytes, problemsOfEmbedding, (parsed) => Result.succeed(embedding(parsed)))
    case "responses":
      return admitWith(bytes, problemsOfResponse, responding)
    case "chat":
    case "messages":
      return admitWith(
        bytes,
        (body) => problemsOfCall(styleOf(endpoint), body),
        (parsed) => Result.succeed(generating(endpoint, parsed))
      )
  }
}

/** Reads the body of `POST v1/messages/count_tokens`, which generates nothing. */
export const admitCount = (bytes: Uint8Array): Admission =>
  admitWith(bytes, problemsOfPrompt, (parsed) => Result.succeed(generating("messages", parsed)))

/** The member with which the call gives its maximum, or would give it. */
export const maximumName = ({ body, endpoint }: Admitted): string => {
  if (endpoint === "responses") return "max_output_tokens"
  return "max_completion_tokens" in body ? "max_completion_tokens" : "max_tokens"
}

/*
 * The bound of a prompt's tokens needs no tokenizer, because no tokenizer makes more tokens of a text than it has bytes: "a text's bytes
 * bound its tokens, plus 16 a message; an image counts as the model's `image_tokens`, not its bytes". Content that is neither text nor an
 * image of a message counts with the bytes of its JSON, which are never fewer than its text. Every call passes here, so the code adds up
 * in place and makes no lists.
 */

interface PromptSize {
  /** An upper bound of the tokens without images. */
  text: number
  images: number
}

export const tokensAMessage = 16

/** Providers add a system prompt for tools of up to 530 tokens (Anthropic, "Tool use", pricing). */
const tokensForTools = 600
/** A provider writes descriptions of its own tools, such as Anthropic's for editing files. */
const tokensOfItsOwn = 800

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

/** Members that steer a call and do not belong to its prompt. All others count. */
const steering = members(`
  model messages system stream stream_options n seed stop stop_sequences user max_tokens
  max_completion_tokens temperature top_p top_k frequency_penalty presence_penalty logit_bias logprobs
  top_logprobs metadata store service_tier parallel_tool_calls reasoning_effort thinking verbosity
  modalities prompt_cache_key prompt_cache_retention safety_identifier tool_choice
`)

const ofEmbeddings = members("model input dimensions encoding_format user stream")

/** The bound for embeddings: the number of tokens if tokens are given, otherwise the bytes of the texts. */
const embeddedSize = (body: JsonObject): number => {
  const size = { text: 0, images: 0 }
  addOthers(size, body, ofEmbeddings)
  const inputs = Array.isArray(body.input) && !areTokens(body.input) ? body.input : [body.input]
  for (const input of inputs) {
    size.text += tokensAMessage + (Array.isArray(input) ? input.length : Buffer.byteLength(textOf(input)))
  }
  return size.text
}

/** The bound for a prompt of either style. */
const promptSize = (body: JsonObject): PromptSize => {
  const size = { text: 0, images: 0 }
  if (Array.isArray(body.messages)) for (const message of body.messages) addMessage(size, message)
  addContent(size, body.system)
  addOthers(size, body, steering)
  const tools = objectsIn(body.tools)
  const isJson = wantsJson(body)
  if (tools.length > 0 || objectsIn(body.functions).length > 0 || isJson) size.text += tokensForTools
  // A provider of messages gives JSON by a tool.
  if (isJson) size.text += tokensOfItsOwn
  for (const { type } of tools) {
    if (!isAbsent(type) && type !== "function" && type !== "custom") size.text += tokensOfItsOwn
  }
  return size
}
