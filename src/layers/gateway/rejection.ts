/**
 * Interprets a provider's rejection of a request, in the shapes in which providers write errors: whose fault it is, and which
 * parts a client may read.
 */
import { Redacted } from "effect"
import { isObject, objectsIn, parsedJson, textOf } from "./json.ts"
import type { JsonObject } from "./json.ts"
import type { ProviderSetting } from "./configuration.ts"

export interface Rejection {
  /** The fault of the operator's account, if the caller cannot correct the request. */
  readonly accountFault: AccountFault | undefined
  /** The prompt is too long for the model. */
  readonly isTooLong: boolean
  /** The thinking of an earlier turn was made by another provider. */
  readonly isThinkingForeign: boolean
  readonly message: string
  /** The provider's own code if it is a word; a prompt that is too long has one code for all providers. */
  readonly code: string | null
  readonly type: string | null
  readonly param: string | null
}

/** Stable words for the log. */
export type AccountFault = "credit" | "limit" | "key" | "standing" | "region"

export const contextLengthCode = "context_length_exceeded"

const maxMessageLength = 1000

/** Removes the provider's key and address, and identifiers of the operator's account. */
export const rejectionIn = (bytes: Uint8Array, provider: ProviderSetting): Rejection => {
  const error = errorObjectIn(
    parsedJson(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString())
  )
  const { message, param } = wordsOf(error)
  const codes = [error.code, error.status, ...objectsIn(error.details).map(({ reason }) => reason)].map(
    textOf
  )
  // A provider may quote the caller's own words.
  const own = message.replaceAll(/(?<!\w)'[^']*'(?!\w)|"[^"]*"|`[^`]*`/g, "")
  const accountFault = accountFaultIn(own, codes)
  const isTooLong = codes.includes(contextLengthCode) || contextLengthWords.some((words) => words.test(own))
  return {
    accountFault,
    isTooLong,
    isThinkingForeign: foreignThinking.test(message),
    message:
      withoutAccount(message.slice(0, 8 * maxMessageLength), provider).slice(0, maxMessageLength) ||
      "The provider refused the request.",
    code: isTooLong ? contextLengthCode : wordIn(error.code),
    type: wordIn(error.type),
    param: param === null ? null : withoutAccount(param, provider)
  }
}

/** The object with the message: chat completions and messages have it in `error`, vLLM and FastAPI at the top. */
const errorObjectIn = (body: unknown): JsonObject => {
  // Gemini's compatible address answers a list.
  const whole: unknown = Array.isArray(body) ? body[0] : body
  if (!isObject(whole)) return {}
  if (typeof whole.error === "string") return { ...whole, message: whole.error }
  if (!isObject(whole.error)) return whole
  // OpenRouter quotes the provider behind it.
  const { metadata } = whole.error
  const raw = isObject(metadata) ? parsedJson(textOf(metadata.raw)) : undefined
  return isObject(raw) || Array.isArray(raw) ? errorObjectIn(raw) : whole.error
}

interface Words {
  readonly message: string
  readonly param: string | null
}

/** FastAPI and Mistral list the wrong fields in `detail`. */
const wordsOf = ({ detail, message, param }: JsonObject): Words => {
  if (typeof message === "string") return { message, param: textOf(param) || null }
  const listed = isObject(message) ? message.detail : detail
  if (typeof listed === "string") return { message: listed, param: null }
  const problems = objectsIn(listed).map(({ loc, msg }) => ({ path: pathOf(loc), message: textOf(msg) }))
  return {
    message: problems
      .map((each) => [each.path, each.message].filter((part) => part !== "").join(": "))
      .join("; "),
    param: problems[0]?.path || null
  }
}

const pathOf = (loc: unknown): string =>
  (Array.isArray(loc) ? loc : []).filter((part, index) => index > 0 || part !== "body").join(".")

/** Codes and types are short words; a number only repeats the status. */
const wordIn = (value: unknown): string | null =>
  typeof value === "string" && /^[A-Za-z][\w.-]{0,63}$/.test(value) ? value : null

/** Codes and words with which providers tell an operator, mostly with 400, that its account cannot be served. */
const accountFaults: ReadonlyArray<readonly [AccountFault, codes: RegExp, words: RegExp]> = [
  [
    "credit",
    /^(?:insufficient_quota|billing_hard_limit_reached|billing_not_active|arrearage)$/i,
    /credit balance is too low|insufficient (?:account )?(?:balance|credits?|funds|quota)|billing (?:hard limit|is not active)|enable billing|plans? (?:and|&) billing|overdue payment/i
  ],
  ["limit", /^rate_limit_exceeded$/i, /(?:exceeded|reached) your (?:\w+ ){0,3}(?:quota|limits?)\b/i],
  [
    "key",
    /^(?:invalid_api_key|api_key_invalid)$/i,
    /api key (?:is )?(?:not valid|not found|invalid|expired)|(?:incorrect|invalid|expired) api key/i
  ],
  [
    "standing",
    /^(?:account_deactivated|organization_restricted)$/i,
    /(?:organi[sz]ation|workspace|project|account|team)\b.{0,60}(?:must be verified|(?:is|has been) (?:disabled|restricted|suspended|deactivated|blocked|in arrears))|account is in good standing/is
  ],
  ["region", /^unsupported_country_region_territory$/i, /location is not supported/i]
]

const accountFaultIn = (message: string, codes: ReadonlyArray<string>): AccountFault | undefined =>
  accountFaults.find(([, code, words]) => codes.some((each) => code.test(each)) || words.test(message))?.[0]

const contextLengthWords = [
  /maximum context length/i,
  /exceed\w*.{0,60}context (?:length|window|size|limit)|context (?:length|window|size|limit).{0,40}exceed/is,
  /prompt is too long/i,
  /input token count.{0,40}exceeds/is,
  /reduce the length of the messages/i
]

const foreignThinking =
  /(?:invalid|missing|corrupt).{0,40}signature.{0,40}thinking|thinking.{0,60}(?:signature|cannot be modified)/is

/** Identifiers of organisations, projects, accounts and people, which have a digit or many letters; keys, also partly hidden ones. */
const accountIds = [
  /\b(?:org|organization|proj|project|acct|account|workspace|wrkspc|team|tenant|user)[-_](?=[A-Za-z0-9]*\d|[A-Za-z0-9]{16})[A-Za-z0-9]{6,}/g,
  /\bprojects\/[\w-]+/g,
  /\b(?:sk|pk|rk|gsk|xai|AIza)[-_]?[\w*-]{8,}/g
]

const withoutAccount = (text: string, { baseUrl, keys }: ProviderSetting): string =>
  accountIds.reduce(
    (shown, ids) => shown.replaceAll(ids, "[account]"),
    keys
      .map(({ secret }) => Redacted.value(secret))
      // One key may be the beginning of another.
      .sort((a, b) => b.length - a.length)
      .reduce((shown, key) => shown.replaceAll(key, "[key]"), text)
      .replaceAll(baseUrl.host, "[provider]")
      .replaceAll(baseUrl.hostname, "[provider]")
  )
