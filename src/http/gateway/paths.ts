/** The language-model gateway, as clients of either style call it; not of the HttpApi, whose errors have one shape. */
import type { Style } from "../../services/Gateway.ts"

/** Clients of messages write the `v1` themselves. */
const base = "/api/v1/llm/v1"

export const gatewayPaths = {
  chat: `${base}/chat/completions`,
  messages: `${base}/messages`,
  countTokens: `${base}/messages/count_tokens`,
  models: `${base}/models`,
  model: `${base}/models/*`
} as const

type Headers = Readonly<Record<string, string | undefined>>

/** What clients of the messages style say, and only they. */
export const styleSaid = (headers: Headers): Style =>
  headers["anthropic-version"] === undefined ? "openai" : "anthropic"

const isWithin = (path: string, above: string): boolean => path === above || path.startsWith(`${above}/`)

/** Whose errors are answered at a path, also where nothing is there; undefined outside of the gateway. */
export const styleAt = (path: string, headers: Headers): Style | undefined => {
  if (!isWithin(path, base)) return undefined
  if (isWithin(path, gatewayPaths.chat)) return "openai"
  return isWithin(path, gatewayPaths.messages) ? "anthropic" : styleSaid(headers)
}
