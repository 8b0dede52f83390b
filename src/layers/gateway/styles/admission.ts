/**
 * What a call asks for, read once from its body: enough to route it and to reserve what it can cost. Whatever we need is
 * checked here, with the name of the field; the rest is the provider's to judge.
 */
import { isUtf8 } from "node:buffer"
import { Result } from "effect"
import { jsonFault } from "../../../services/strictJson.ts"
import { bufferOf, isAbsent, isObject, members, parsedJson, textOf } from "./json.ts"
import type { JsonObject } from "./json.ts"
import { promptSize } from "./promptTokenUpperBound.ts"
import type { Admitted, Refused, Style } from "./types.ts"

/** A field that is wrong, and what would be right. */
interface Problem {
  readonly path: string
  readonly message: string
}

type Admission = Result.Result<Admitted, Refused>

const maxModelLength = 256
/** As many as the style allows. */
const maxChoices = 128

const whole = (message: string) => Result.fail({ message, param: null })

/** More would help nobody, and make of one body a large answer. */
const maxProblems = 100

/** Problems are told all at once; `param` names the first. */
const refused = (problems: ReadonlyArray<Problem>) => {
  const [first] = problems
  const message = problems
    .slice(0, maxProblems)
    .map((problem) => `${problem.path}: ${problem.message}`)
    .join("; ")
  return Result.fail({ message, param: first?.path ?? null })
}

/**
 * Members and elements of a whole body. Millions of them make a body of 10 MiB seconds of work to parse and to walk, while
 * a long prompt is a few long strings, and a thousand messages with a hundred tools are some 20,000 values.
 */
const maxValues = 50_000

const tooMany = () =>
  Result.fail({
    message: `Expected at most ${maxValues} members and elements in all`,
    code: "too_many_values" as const,
    param: null
  })

/** Where a fault is takes a look at every character, so of a longer text only what it is is told. */
const maxLocatedLength = 256 * 1024

const faulty = (text: string, otherwise: string) => {
  const fault = text.length > maxLocatedLength ? undefined : jsonFault(text)
  if (fault === undefined) return whole(otherwise)
  return fault.path === "" ? whole(fault.message) : refused([fault])
}

/** Members of all objects within a value that is not too deep. */
const countMembers = (value: unknown): number => {
  let count = 0
  if (Array.isArray(value)) for (const each of value) count += countMembers(each)
  else if (isObject(value)) for (const name of Object.keys(value)) count += 1 + countMembers(value[name])
  return count
}

const isCount = (value: unknown): value is number =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 1

const modelExpected = `Expected the name of a model, a text of 1 to ${maxModelLength} characters`
const choicesExpected = `Expected a whole number from 1 to ${maxChoices}`
const countExpected = "Expected a whole number of at least 1"

/** Members that say what is called and what it can cost. */
const deciding = members("model messages n max_tokens max_completion_tokens stream stream_options")

/** Some providers read members whatever their case (Go's encoding/json does), and would follow what was not checked. */
const disguised = (body: JsonObject): Array<Problem> =>
  Object.keys(body).flatMap((name) => {
    const plain = name.toLowerCase()
    return plain !== name && deciding.has(plain) ? [{ path: name, message: `Expected it as ${plain}` }] : []
  })

/** What is wrong with the members that every call has. */
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

/** And with those of calls that generate something. */
const problemsOfCall = (style: Style, body: JsonObject): ReadonlyArray<Problem> => {
  const problems = problemsOf(body)
  const { max_completion_tokens, max_tokens, n, stream, stream_options } = body
  // messages have no default for it, and their own service refuses a call without
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

/** The larger one where both names of it are there, for it bounds what can be generated. */
const maximumOf = ({ max_completion_tokens, max_tokens }: JsonObject): number | undefined => {
  const given = [max_completion_tokens, max_tokens].filter(isCount)
  return given.length === 0 ? undefined : Math.max(...given)
}

interface Parsed {
  readonly bytes: Uint8Array
  readonly body: JsonObject
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
  /** Members of all objects. Fewer in the parsed value means that some stood there twice. */
  readonly members: number
  readonly excess: "depth" | "values" | undefined
}

/** Where the string ends that begins at `start`. */
const endOfString = (bytes: Uint8Array, start: number): number => {
  let at = start + 1
  while (at < bytes.length && bytes[at] !== quote) at += bytes[at] === backslash ? 2 : 1
  return at
}

/** Counts what is between the strings of a JSON text, without parsing it; stops at what there is too much of. */
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
const parse = (received: Uint8Array): Result.Result<Parsed, Refused> => {
  const bytes = bufferOf(received)
  if (bytes.length === 0) return whole("Expected a JSON body, got none.")
  if (!isUtf8(bytes)) return whole("Expected a body in UTF-8.")
  const text = bytes.toString()
  // Before it is parsed, since parsing millions of levels or values takes seconds.
  const { excess, members: written } = shapeOf(bytes)
  if (excess === "values") return tooMany()
  if (excess === "depth") return faulty(text, `Expected JSON nested at most ${maxDepth} levels deep`)
  const body = parsedJson(text)
  if (body === undefined) return faulty(text, "Malformed JSON")
  if (!isObject(body)) return whole("Expected a JSON object.")
  if (written !== countMembers(body)) return faulty(text, "Expected each member once")
  return Result.succeed({ bytes, body })
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
  problemsIn: (body: JsonObject) => ReadonlyArray<Problem>
): Admission =>
  Result.flatMap(parse(bytes), (parsed) => {
    const problems = problemsIn(parsed.body)
    return problems.length === 0 ? Result.succeed(admitted(style, parsed)) : refused(problems)
  })

/** Reads the body of `POST chat/completions` or `POST v1/messages`. */
export const admit = (style: Style, bytes: Uint8Array): Admission =>
  admitWith(style, bytes, (body) => problemsOfCall(style, body))

/** Reads the body of `POST v1/messages/count_tokens`, which generates nothing. */
export const admitCount = (style: Style, bytes: Uint8Array): Admission => admitWith(style, bytes, problemsOf)
