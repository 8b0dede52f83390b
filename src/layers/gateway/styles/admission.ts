/**
 * What a call asks for, read once from the bytes of its body: enough to route it, to reserve what it can cost, and to
 * change it by replacing bytes. Whatever we need is checked here, with the name of the field; the rest is the provider's
 * to judge.
 */
import { isUtf8 } from "node:buffer"
import { Result } from "effect"
import { jsonFault } from "../../../services/strictJson.ts"
import { isAbsent, isObject, parsedJson, textOf } from "./json.ts"
import type { JsonObject } from "./json.ts"
import { outlineOf } from "./jsonOutline.ts"
import type { Outline } from "./jsonOutline.ts"
import { promptSize } from "./promptBound.ts"
import type { Admitted, Refused, Style } from "./types.ts"

/** A field that is wrong, and what would be right. */
interface Problem {
  readonly path: string
  readonly message: string
}

type Admission = Result.Result<Admitted, Refused>

const deepest = 64
const longestModel = 256
/** As many as the style allows. */
const mostChoices = 128

const whole = (message: string) => Result.fail({ message, param: null })

/** Every problem is told; `param` names the first. */
const refused = (problems: ReadonlyArray<Problem>) => {
  const [first] = problems
  const message = problems.map((problem) => `${problem.path}: ${problem.message}`).join("; ")
  return Result.fail({ message, param: first?.path ?? null })
}

const faulty = (text: string, otherwise: string) => {
  const fault = jsonFault(text)
  if (fault === undefined) return whole(otherwise)
  return fault.path === "" ? whole(fault.message) : refused([fault])
}

/** Members of all objects within a value that is not too deep. */
const countMembers = (value: unknown): number => {
  if (Array.isArray(value)) return value.reduce((count: number, each) => count + countMembers(each), 0)
  if (!isObject(value)) return 0
  return Object.values(value).reduce((count: number, each) => count + 1 + countMembers(each), 0)
}

const problemsOfModel = ({ model }: JsonObject): ReadonlyArray<Problem> =>
  typeof model === "string" && model !== "" && model.length <= longestModel
    ? []
    : [
        {
          path: "model",
          message: `Expected the name of a model, a text of 1 to ${longestModel} characters`
        }
      ]

const problemsOfMessages = ({ messages }: JsonObject): ReadonlyArray<Problem> => {
  if (!Array.isArray(messages) || messages.length === 0) {
    return [{ path: "messages", message: "Expected a list of at least one message" }]
  }
  const wrong = messages.findIndex((message) => !isObject(message) || typeof message.role !== "string")
  return wrong === -1 ? [] : [{ path: `messages.${wrong}`, message: "Expected an object with a role" }]
}

const isCount = (value: unknown): value is number =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 1

const problemsOfCounts = (style: Style, body: JsonObject): ReadonlyArray<Problem> => [
  ...["max_tokens", "max_completion_tokens"]
    .filter((path) => !isAbsent(body[path]) && !isCount(body[path]))
    .map((path) => ({ path, message: "Expected a whole number of at least 1" })),
  // the style has no default for it, and its own service refuses a call without
  ...(style === "anthropic" && isAbsent(body.max_tokens)
    ? [{ path: "max_tokens", message: "Expected a whole number of at least 1, got none" }]
    : []),
  ...(style === "anthropic" || isAbsent(body.n) || (isCount(body.n) && body.n <= mostChoices)
    ? []
    : [{ path: "n", message: `Expected a whole number from 1 to ${mostChoices}` }])
]

const problemsOfStream = ({ stream, stream_options }: JsonObject): ReadonlyArray<Problem> => [
  ...(isAbsent(stream) || typeof stream === "boolean"
    ? []
    : [{ path: "stream", message: "Expected true or false" }]),
  ...(isAbsent(stream_options) || isObject(stream_options)
    ? []
    : [{ path: "stream_options", message: "Expected an object" }])
]

const wantsUsage = ({ stream_options }: JsonObject): boolean =>
  isObject(stream_options) && stream_options.include_usage === true

/** The larger one where both names of it are there, for it bounds what can be generated. */
const maximumOf = ({ max_completion_tokens, max_tokens }: JsonObject): number | undefined => {
  const given = [max_completion_tokens, max_tokens].filter(isCount)
  return given.length === 0 ? undefined : Math.max(...given)
}

interface Parsed {
  readonly bytes: Uint8Array
  readonly body: JsonObject
  readonly outline: Outline
}

/** JSON in UTF-8, an object, without duplicate members, nested at most 64 deep. */
const parse = (received: Uint8Array): Result.Result<Parsed, Refused> => {
  const bytes = Buffer.from(received.buffer, received.byteOffset, received.byteLength)
  if (bytes.length === 0) return whole("Expected a JSON body, got none.")
  if (!isUtf8(bytes)) return whole("Expected a body in UTF-8.")
  const text = bytes.toString()
  const body = parsedJson(text)
  if (body === undefined) return faulty(text, "Malformed JSON")
  if (!isObject(body)) return whole("Expected a JSON object.")
  const outline = outlineOf(bytes)
  if (outline.depth > deepest || outline.memberCount !== countMembers(body)) {
    return faulty(text, "Expected each member once")
  }
  return Result.succeed({ bytes, body, outline })
}

const admitted = (style: Style, parsed: Parsed): Admitted => {
  const { body } = parsed
  const { images, text } = promptSize(body)
  return {
    style,
    ...parsed,
    model: textOf(body.model),
    stream: body.stream === true,
    asksUsage: style === "anthropic" || wantsUsage(body),
    maxTokens: maximumOf(body),
    choices: style === "openai" && isCount(body.n) ? body.n : 1,
    textTokensBound: text,
    images
  }
}

const admitWith = (
  style: Style,
  bytes: Uint8Array,
  problemsOf: (body: JsonObject) => ReadonlyArray<Problem>
): Admission =>
  Result.flatMap(parse(bytes), (parsed) => {
    const problems = problemsOf(parsed.body)
    return problems.length === 0 ? Result.succeed(admitted(style, parsed)) : refused(problems)
  })

/** Reads the body of `POST chat/completions` or `POST v1/messages`. */
export const admit = (style: Style, bytes: Uint8Array): Admission =>
  admitWith(style, bytes, (body) => [
    ...problemsOfModel(body),
    ...problemsOfMessages(body),
    ...problemsOfCounts(style, body),
    ...problemsOfStream(body)
  ])

/** Reads the body of `POST v1/messages/count_tokens`, which generates nothing. */
export const admitCount = (style: Style, bytes: Uint8Array): Admission =>
  admitWith(style, bytes, (body) => [...problemsOfModel(body), ...problemsOfMessages(body)])
