/**
 * Counts the tokens of a text if the provider reports none. Providers do not publish their tokenizers, so this is an estimate
 * by the encoding of most current models, and the call's row says so. The encoding is large and slow to load, so it is loaded
 * for the first text.
 */
import { Effect } from "effect"
import { isAbsent, isObject, textOf } from "./json.ts"
import type { Json, JsonObject } from "./json.ts"
import type { Admitted } from "./types.ts"

type Count = (text: string) => number

let loading: Promise<Count> | undefined

const load = async (): Promise<Count> => {
  const { countTokens } = await import("gpt-tokenizer/encoding/o200k_base")
  // Names of special tokens in a prompt are ordinary text.
  return (text) => countTokens(text, { disallowedSpecial: new Set() })
}

/** Encoding a run without spaces takes quadratic time, so texts are cut; each cut adds at most one token. */
const maxPieceLength = 512

/** A longer text is counted by this many evenly spread pieces, so that counting never blocks the process for long. */
const maxPieces = 512

const countPieces = (text: string, count: Count): number => {
  const pieces = Math.ceil(text.length / maxPieceLength)
  const step = Math.max(1, pieces / maxPieces)
  let tokens = 0
  let characters = 0
  for (let piece = 0; piece < pieces; piece += step) {
    const start = Math.floor(piece) * maxPieceLength
    const cut = text.slice(start, start + maxPieceLength)
    tokens += count(cut)
    characters += cut.length
  }
  return step === 1 ? tokens : Math.ceil((tokens * text.length) / characters)
}

/** A failed load is retried for the next text. */
const loaded = (): Promise<Count> => {
  loading ??= load().catch((error: unknown) => {
    loading = undefined
    throw error
  })
  return loading
}

export const countText = async (text: string): Promise<number> =>
  text === "" ? 0 : countPieces(text, await loaded())

const isImage = ({ type }: JsonObject): boolean =>
  type === "image" || type === "image_url" || type === "input_image"

/** All texts of a value, one a line; images contain none. */
const textsIn = (value: Json | undefined): string => {
  if (typeof value === "string") return value
  if (Array.isArray(value)) return value.map(textsIn).join("\n")
  if (!isObject(value)) return isAbsent(value) ? "" : String(value)
  if (isImage(value)) return ""
  return Object.values(value).map(textsIn).join("\n")
}

const bytesAToken = 4

/** The estimate if counting fails: most languages have about four bytes a token. */
export const roughCount = (text: string): number => Math.ceil(Buffer.byteLength(text) / bytesAToken)

const tokensAMessage = 4

const textsOf = ({ body: { input, messages, system, tools }, endpoint }: Admitted): ReadonlyArray<string> =>
  endpoint === "embeddings"
    ? (Array.isArray(input) ? input : [input]).map(textOf)
    : [textsIn(messages), textsIn(system), isAbsent(tools) ? "" : JSON.stringify(tools)]

/** Tokens that need no counting: those around each message, and those in the input of embeddings. */
const knownTokens = ({ body: { input, messages }, endpoint }: Admitted): number => {
  if (endpoint !== "embeddings") return Array.isArray(messages) ? messages.length * tokensAMessage : 0
  return Array.isArray(input) ? input.flat().filter((each) => typeof each === "number").length : 0
}

const addKnown = (admitted: Admitted, counts: ReadonlyArray<number>): number =>
  counts.reduce((total, each) => total + each, knownTokens(admitted))

/** The tokens of a prompt without its images. */
export const countPrompt = async (admitted: Admitted): Promise<number> =>
  addKnown(admitted, await Promise.all(textsOf(admitted).map(countText)))

const roughPrompt = (admitted: Admitted): number => addKnown(admitted, textsOf(admitted).map(roughCount))

export const promptTokens = (admitted: Admitted, imageTokens: number) =>
  Effect.map(
    countOrEstimate(
      () => countPrompt(admitted),
      () => roughPrompt(admitted)
    ),
    (tokens) => tokens + admitted.images * imageTokens
  )

export const textTokens = (text: string) =>
  countOrEstimate(
    () => countText(text),
    () => roughCount(text)
  )

/** Never fails: a call whose tokens cannot be counted must still be settled, or its reservation would stay. */
export const countOrEstimate = (count: () => Promise<number>, estimate: () => number) =>
  Effect.tryPromise(count).pipe(
    Effect.catch((error) =>
      Effect.as(
        Effect.logWarning("the tokens of a call could not be counted: four bytes count as one", error),
        estimate()
      )
    )
  )
