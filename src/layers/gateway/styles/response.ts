/** Answers that are no stream: what they used, and how the client gets them. */
import { Result } from "effect"
import { faultOf } from "./faults.ts"
import { bufferOf, isAbsent, isObject, objectsIn, parsedJson } from "./json.ts"
import type { JsonObject } from "./json.ts"
import { chatAnswer, messageAnswer } from "./translation/answers.ts"
import type { ReaderOptions, Style, Usage, WholeAnswer } from "./types.ts"
import { blockText, chatTexts } from "./streamParser.ts"
import { chatUsage, messagesUsage } from "./usage.ts"

const generatedOf = (style: Style, body: JsonObject): string =>
  style === "openai"
    ? objectsIn(body.choices)
        .map(({ message }) => (isObject(message) ? chatTexts(message) : ""))
        .join("")
    : objectsIn(body.content).map(blockText).join("")

const usageOf = (style: Style, body: JsonObject): Usage | undefined =>
  style === "openai" ? chatUsage(body.usage) : messagesUsage(body.usage)

const isAnswer = (style: Style, body: JsonObject): boolean =>
  style === "openai" ? objectsIn(body.choices).length > 0 : Array.isArray(body.content)

const written = (bytes: Buffer, body: JsonObject, options: ReaderOptions): Uint8Array => {
  const { clientStyle, model, providerStyle } = options
  if (clientStyle !== providerStyle) {
    const answer = clientStyle === "openai" ? chatAnswer(body, options) : messageAnswer(body, options)
    return Buffer.from(JSON.stringify(answer))
  }
  const isSame = typeof body.model !== "string" || body.model === model
  return isSame ? bytes : Buffer.from(JSON.stringify({ ...body, model }))
}

/** Fails with what is wrong with the answer, for our log. */
export const readAnswer = (
  received: Uint8Array,
  options: ReaderOptions
): Result.Result<WholeAnswer, string> => {
  const bytes = bufferOf(received)
  const body = parsedJson(bytes.toString())
  if (!isObject(body)) return Result.fail(`an answer of ${bytes.length} bytes that is no JSON object`)
  if (!isAbsent(body.error)) return Result.fail(`an error in an answer: ${faultOf(body.error).message}`)
  const { providerStyle } = options
  if (!isAnswer(providerStyle, body)) return Result.fail("an answer without choices or content")
  const usage = usageOf(providerStyle, body)
  return Result.succeed({
    bytes: written(bytes, body, options),
    usage,
    generated: usage === undefined ? generatedOf(providerStyle, body) : ""
  })
}
