/** What a call must be before anything is reserved or sent: a body that can be read, of a model that is configured. */
import { isUtf8 } from "node:buffer"
import { Effect, Option, Result } from "effect"
import { costOf, maxCostOf, tokensOf } from "../../scoring/tokenPrices.ts"
import { BadCall, UnknownModel } from "../../services/Gateway.ts"
import type { Call, Style } from "../../services/Gateway.ts"
import { GatewayDisabled } from "../../services/GatewayKeys.ts"
import { jsonFault } from "../../services/domain/strictJson.ts"
import type { Snapshot } from "./GatewayConfig.ts"
import { modelNamed } from "./configuration.ts"
import type { Configuration, ModelSetting, ProviderSetting, RouteSetting } from "./configuration.ts"
import { askingMembers, extrasIn, refusedExtra, reservedFor } from "./extras.ts"
import type { Extra } from "./extras.ts"
import { bufferOf, isAbsent, isObject, members, objectsIn, parsedJson, textOf } from "./json.ts"
import type { JsonObject } from "./json.ts"
import type { Admitted, Rejected } from "./types.ts"

/** A model that may serve a call, and its routes that can take it. */
export interface Serving {
  readonly model: ModelSetting
  readonly routes: ReadonlyArray<RouteSetting>
}

export interface AdmittedCall {
  readonly admitted: Admitted
  readonly snapshot: Snapshot
  readonly named: Serving
  /** The client named the provider: no other is tried, and its circuit stays closed. */
  readonly pinned: boolean
  /** What stands in for the model that was named where no provider of it serves. */
  readonly fallback: ReadonlyArray<Serving>
  /** The same where the prompt is too long for it. */
  readonly contextFallback: ReadonlyArray<Serving>
  /** What is asked for beside tokens, and has a price of its own. */
  readonly extras: ReadonlyArray<Extra>
  /** The largest possible cost, in micro-credits, whoever of these serves. */
  readonly maxCost: bigint
}

export const badCall = ({ code, message, param }: Rejected) =>
  new BadCall({ detail: message, param, ...(code !== undefined && { code }) })

const maxShown = 100

export const unknownModel = (name: string) =>
  new UnknownModel({
    detail: `There is no model ${JSON.stringify(name.slice(0, maxShown))}: GET /api/v1/llm/v1/models lists them.`
  })

/** The snapshot, or `gateway_disabled` on an instance without a gateway. */
export const configuredOnly = <R>(found: Effect.Effect<Option.Option<Snapshot>, never, R>) =>
  Effect.flatMap(
    found,
    Option.match({
      onNone: () =>
        Effect.fail(new GatewayDisabled({ detail: "This instance has no language-model gateway." })),
      onSome: Effect.succeed
    })
  )

/** An upper bound: the prompt's bytes bound its tokens, and no choice is longer than the client or the model allows. */
const maxCostWith = (
  { choices, images, maxTokens, textTokensBound, writesCache }: Admitted,
  extras: ReadonlyArray<Extra>,
  { model, routes }: Serving
): bigint => {
  const completion = (maxTokens ?? model.maxOutputTokens) * choices
  const text = textTokensBound + images * model.imageTokens
  const costOn = ({ provider }: RouteSetting) => {
    const { prompt, surcharge } = reservedFor(extras, provider, text)
    return maxCostOf(model.price, { prompt, completion, writesCache }, images, surcharge)
  }
  // Without extras all routes cost the same.
  return largest((extras.length === 0 ? routes.slice(0, 1) : routes).map(costOn))
}

const maxCostOfAll = (
  admitted: Admitted,
  extras: ReadonlyArray<Extra>,
  servings: ReadonlyArray<Serving>
): bigint => largest(servings.map((serving) => maxCostWith(admitted, extras, serving)))

/** The largest max_tokens with which this amount covers the call; 0: none does. */
export const maxTokensFor = (
  { admitted, contextFallback, extras, fallback, named }: AdmittedCall,
  amount: bigint
): number => {
  const servings = [named, ...fallback, ...contextFallback]
  const isCovered = (maxTokens: number) =>
    maxCostOfAll({ ...admitted, maxTokens }, extras, servings) <= amount
  let covered = 0
  let exceeding = admitted.maxTokens ?? named.model.maxOutputTokens
  while (exceeding - covered > 1) {
    const middle = Math.floor((covered + exceeding) / 2)
    if (isCovered(middle)) covered = middle
    else exceeding = middle
  }
  return covered
}

const largest = (costs: ReadonlyArray<bigint>): bigint =>
  costs.reduce((max, cost) => (cost > max ? cost : max), 0n)

/** The cost of the smallest call: an empty message to the cheapest model, answered by one token. */
export const minCost = ({ models }: Configuration): bigint =>
  [...models.values()]
    .map(({ price }) => costOf(price, tokensOf(tokensAMessage, 1)))
    .reduce((min, cost) => (cost < min ? cost : min))

export const admitCall = Effect.fnUntraced(function* (
  snapshot: Snapshot,
  { body, style, versionHeaders }: Pick<Call, "body" | "style" | "versionHeaders">
) {
  const read = admit(style, body)
  if (Result.isFailure(read)) return yield* badCall(read.failure)
  const admitted = read.success
  const found = modelNamed(snapshot.configuration, admitted.model)
  if (found === undefined) return yield* unknownModel(admitted.model)
  const { model, pinned } = found
  if (!allows(model, admitted)) {
    const param = "max_completion_tokens" in admitted.body ? "max_completion_tokens" : "max_tokens"
    return yield* badCall({
      message: `${param}: Expected at most ${model.maxOutputTokens}, which is what the model generates at most`,
      param
    })
  }
  const extras = extrasIn(style, admitted.body, versionHeaders)
  const serving = (each: ModelSetting): Serving => ({
    model: each,
    routes: each.routes.filter(
      ({ provider }) => isUsable(provider, style) && refusedExtra(extras, provider, style) === undefined
    )
  })
  const named = serving(model)
  if (named.routes.length === 0) return yield* badCall(whyUnserved(model, style, extras))
  const standingIn = (names: ReadonlyArray<string>): ReadonlyArray<Serving> =>
    pinned
      ? []
      : names
          .flatMap((name) => snapshot.configuration.models.get(name) ?? [])
          .filter((each) => allows(each, admitted))
          .map(serving)
  const fallback = standingIn(model.fallback)
  const contextFallback = standingIn(model.contextFallback)
  const maxCost = maxCostOfAll(admitted, extras, [named, ...fallback, ...contextFallback])
  const call: AdmittedCall = {
    admitted,
    snapshot,
    named,
    pinned,
    fallback,
    contextFallback,
    extras,
    maxCost
  }
  return call
})

const allows = ({ maxOutputTokens }: ModelSetting, { maxTokens }: Admitted): boolean =>
  maxTokens === undefined || maxTokens <= maxOutputTokens

const isUsable = (provider: ProviderSetting, style: Style): boolean =>
  provider.style === style || provider.translates

const whyUnserved = (model: ModelSetting, style: Style, extras: ReadonlyArray<Extra>): Rejected =>
  model.routes
    .filter(({ provider }) => isUsable(provider, style))
    .map(({ provider }) => refusedExtra(extras, provider, style))
    .find((refused) => refused !== undefined) ?? {
    message: `The model ${model.name} is not served in this style of calling.`,
    param: "model"
  }

/** A field that is wrong, and what would be right. */
interface Problem {
  readonly path: string
  readonly message: string
}

type Admission = Result.Result<Admitted, Rejected>

const maxModelLength = 256
/** As many as the style allows. */
const maxChoices = 128

const whole = (message: string) => Result.fail({ message, param: null })

/** Caps the size of the error. */
const maxProblems = 100

/** All problems in one message; `param` names the first. */
const rejected = (problems: ReadonlyArray<Problem>) => {
  const [first] = problems
  const message = problems
    .slice(0, maxProblems)
    .map((problem) => `${problem.path}: ${problem.message}`)
    .join("; ")
  return Result.fail({ message, param: first?.path ?? null })
}

/**
 * Members and elements of a whole body. Millions of them take seconds to parse and walk; a thousand messages with a hundred
 * tools have about 20 000.
 */
const maxValues = 50_000

const tooMany = () =>
  Result.fail({
    message: `Expected at most ${maxValues} members and elements in all`,
    code: "too_many_values" as const,
    param: null
  })

/** Locating a fault reads every character, so errors in longer texts have no position. */
const maxLocatedLength = 256 * 1024

const faulty = (text: string, otherwise: string) => {
  const fault = text.length > maxLocatedLength ? undefined : jsonFault(text)
  if (fault === undefined) return whole(otherwise)
  return fault.path === "" ? whole(fault.message) : rejected([fault])
}

/** What a parsed body is found to have. */
interface Found {
  /** Members of all objects. */
  members: number
  /** A mark of what is to be written to the provider's cache. */
  cacheMark: boolean
}

/** Looks through a value that is not too deep. */
const look = (value: unknown, found: Found): void => {
  if (Array.isArray(value)) for (const each of value) look(each, found)
  else if (isObject(value)) {
    for (const name of Object.keys(value)) {
      found.members += 1
      if (name === "cache_control") found.cacheMark = true
      look(value[name], found)
    }
  }
}

const isCount = (value: unknown): value is number =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 1

const modelExpected = `Expected the name of a model, a text of 1 to ${maxModelLength} characters`
const choicesExpected = `Expected a whole number from 1 to ${maxChoices}`
const countExpected = "Expected a whole number of at least 1"

/** Members that decide what is called and what it can cost. */
const deciding = new Set([
  ...members("model messages n max_tokens max_completion_tokens stream stream_options"),
  ...askingMembers
])

/** Some providers ignore the case of members (Go's encoding/json does) and would act on what was not checked here. */
const disguised = (body: JsonObject): Array<Problem> =>
  Object.keys(body).flatMap((name) => {
    const plain = name.toLowerCase()
    return plain !== name && deciding.has(plain) ? [{ path: name, message: `Expected it as ${plain}` }] : []
  })

/** Problems with the members that every call has. */
const problemsOf = (body: JsonObject): Array<Problem> => {
  const { messages, model } = body
  const problems = disguised(body)
  if (typeof model !== "string" || model === "" || model.length > maxModelLength) {
    problems.push({ path: "model", message: modelExpected })
  }
  if (!Array.isArray(messages) || messages.length === 0) {
    problems.push({ path: "messages", message: "Expected a list of at least one message" })
    return problems
  }
  const wrong = messages.findIndex((message) => !isObject(message) || typeof message.role !== "string")
  if (wrong !== -1) problems.push({ path: `messages.${wrong}`, message: "Expected an object with a role" })
  return problems
}

const isGoodChoice = (n: unknown): boolean => isAbsent(n) || (isCount(n) && n <= maxChoices)

/** The same and those of calls that generate something. */
const problemsOfCall = (style: Style, body: JsonObject): ReadonlyArray<Problem> => {
  const problems = problemsOf(body)
  const { max_completion_tokens, max_tokens, n, stream, stream_options } = body
  // Messages have no default for it.
  if (!isCount(max_tokens) && (style === "anthropic" || !isAbsent(max_tokens))) {
    problems.push({ path: "max_tokens", message: countExpected })
  }
  if (!isAbsent(max_completion_tokens) && !isCount(max_completion_tokens)) {
    problems.push({ path: "max_completion_tokens", message: countExpected })
  }
  if (style === "openai" && !isGoodChoice(n)) problems.push({ path: "n", message: choicesExpected })
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

/** The larger of the two names: it bounds what can be generated. */
const maximumOf = ({ max_completion_tokens, max_tokens }: JsonObject): number | undefined => {
  const given = [max_completion_tokens, max_tokens].filter(isCount)
  return given.length === 0 ? undefined : Math.max(...given)
}

interface Parsed {
  readonly bytes: Uint8Array
  readonly body: JsonObject
  readonly writesCache: boolean
}

const maxDepth = 64

const quote = 0x22
const comma = 0x2c
const colon = 0x3a
const openBracket = 0x5b
const backslash = 0x5c
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d

interface Shape {
  /** Members of all objects. The parsed value has fewer if some were duplicates. */
  readonly members: number
  readonly excess: "depth" | "values" | undefined
}

/** Where the string ends that begins at `start`. */
const endOfString = (bytes: Uint8Array, start: number): number => {
  let at = start + 1
  while (at < bytes.length && bytes[at] !== quote) at += bytes[at] === backslash ? 2 : 1
  return at
}

/** Counts the structure of a JSON text without parsing it; stops at the first limit that it exceeds. */
const shapeOf = (bytes: Uint8Array): Shape => {
  let members = 0
  let values = 1
  let depth = 0
  for (let at = 0; at < bytes.length; at += 1) {
    switch (bytes[at]) {
      case quote:
        at = endOfString(bytes, at)
        break
      case openBrace:
      case openBracket:
        depth += 1
        values += 1
        if (depth > maxDepth) return { members, excess: "depth" }
        break
      case closeBrace:
      case closeBracket:
        depth -= 1
        break
      case colon:
        members += 1
        break
      case comma:
        values += 1
    }
    if (values > maxValues) return { members, excess: "values" }
  }
  return { members, excess: undefined }
}

/** JSON in UTF-8, an object, without duplicate members, nested at most 64 deep. */
const parse = (received: Uint8Array): Result.Result<Parsed, Rejected> => {
  const bytes = bufferOf(received)
  if (bytes.length === 0) return whole("Expected a JSON body, got none.")
  if (!isUtf8(bytes)) return whole("Expected a body in UTF-8.")
  const text = bytes.toString()
  // Checked before parsing, because parsing millions of levels or values takes seconds.
  const { excess, members: written } = shapeOf(bytes)
  if (excess === "values") return tooMany()
  if (excess === "depth") return faulty(text, `Expected JSON nested at most ${maxDepth} levels deep`)
  const body = parsedJson(text)
  if (body === undefined) return faulty(text, "Malformed JSON")
  if (!isObject(body)) return whole("Expected a JSON object.")
  const found: Found = { members: 0, cacheMark: false }
  look(body, found)
  if (written !== found.members) return faulty(text, "Expected each member once")
  return Result.succeed({ bytes, body, writesCache: found.cacheMark })
}

const admittedBody = (style: Style, parsed: Parsed): Admitted => {
  const { body } = parsed
  const { images, text } = promptSize(body)
  return {
    style,
    ...parsed,
    model: textOf(body.model),
    stream: body.stream === true,
    asksUsage: style === "anthropic" || wantsUsage(body),
    asksJson: style === "openai" && wantsJson(body),
    maxTokens: maximumOf(body),
    choices: style === "openai" && isCount(body.n) ? body.n : 1,
    textTokensBound: text,
    images
  }
}

const admitWith = (
  style: Style,
  bytes: Uint8Array,
  problemsIn: (body: JsonObject) => ReadonlyArray<Problem>
): Admission =>
  Result.flatMap(parse(bytes), (parsed) => {
    const problems = problemsIn(parsed.body)
    return problems.length === 0 ? Result.succeed(admittedBody(style, parsed)) : rejected(problems)
  })

/** Reads the body of `POST chat/completions` or `POST v1/messages`. */
export const admit = (style: Style, bytes: Uint8Array): Admission =>
  admitWith(style, bytes, (body) => problemsOfCall(style, body))

/** Reads the body of `POST v1/messages/count_tokens`, which generates nothing. */
export const admitCount = (style: Style, bytes: Uint8Array): Admission => admitWith(style, bytes, problemsOf)

/*
 * How many tokens a prompt has at most, without a tokenizer: no tokenizer makes more tokens of a text than it has bytes,
 * so "a text's bytes bound its tokens, plus 16 a message; an image counts as the model's `image_tokens`, not its bytes".
 * What is neither text nor an image of a message counts with the bytes of its JSON, which are never fewer than its text.
 * Every call passes here, so it adds up in place and makes no lists.
 */

interface PromptSize {
  /** At most so many tokens, without images. */
  text: number
  images: number
}

export const tokensAMessage = 16

/** Providers add a system prompt for tools of up to 530 tokens (Anthropic, "Tool use", pricing). */
const tokensForTools = 600
/** The description of a tool that the provider has written, such as Anthropic's for editing files. */
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

/** Members that steer a call and are no part of its prompt. All others count. */
const steering = members(`
  model messages system stream stream_options n seed stop stop_sequences user max_tokens
  max_completion_tokens temperature top_p top_k frequency_penalty presence_penalty logit_bias logprobs
  top_logprobs metadata store service_tier parallel_tool_calls reasoning_effort thinking verbosity
  modalities prompt_cache_key prompt_cache_retention safety_identifier tool_choice
`)

/** The bound of a prompt of either style. */
const promptSize = (body: JsonObject): PromptSize => {
  const size = { text: 0, images: 0 }
  if (Array.isArray(body.messages)) for (const message of body.messages) addMessage(size, message)
  addContent(size, body.system)
  addOthers(size, body, steering)
  const tools = objectsIn(body.tools)
  const isJson = wantsJson(body)
  if (tools.length > 0 || objectsIn(body.functions).length > 0 || isJson) size.text += tokensForTools
  // A provider of messages gives it by a tool.
  if (isJson) size.text += tokensOfItsOwn
  for (const { type } of tools) {
    if (!isAbsent(type) && type !== "function" && type !== "custom") size.text += tokensOfItsOwn
  }
  return size
}
