/**
 * Connections to providers: a pool each, kept alive between calls. By undici's `dispatch`, which costs a fraction of what
 * `fetch` does. Of ours nothing but the provider's own key and what its style asks for crosses; of a provider's headers
 * nothing but what is read here.
 */
import { Redacted } from "effect"
import { Pool } from "undici"
import type { Dispatcher } from "undici"
import type { ProviderSetting } from "./configuration.ts"

export interface Upstream {
  readonly provider: ProviderSetting
  readonly dispatch: (
    request: {
      readonly body: Uint8Array | string
      readonly stream: boolean
      readonly versionHeaders: Readonly<Record<string, string>>
    },
    handler: Dispatcher.DispatchHandler
  ) => void
  /** Once the calls under way have ended. */
  readonly close: () => void
}

/** The oldest version of the messages style, which all clients and providers of it know. */
const usualVersion = "2023-06-01"

const headersOf = (
  { apiKey, style }: ProviderSetting,
  stream: boolean,
  versionHeaders: Readonly<Record<string, string>>
): Record<string, string> => {
  const key = Redacted.value(apiKey)
  const usual = {
    "content-type": "application/json",
    accept: stream ? "text/event-stream" : "application/json",
    "user-agent": "auspex"
  }
  return style === "openai"
    ? { ...usual, authorization: `Bearer ${key}` }
    : { ...usual, "anthropic-version": usualVersion, ...versionHeaders, "x-api-key": key }
}

export const connect = (provider: ProviderSetting): Upstream => {
  const { baseUrl, connectTimeout, style } = provider
  const pool = new Pool(baseUrl.origin, {
    pipelining: 1,
    connect: { timeout: connectTimeout },
    // Times are kept by the exchange, which knows what it waits for.
    headersTimeout: 0,
    bodyTimeout: 0
  })
  const whole = headersOf(provider, false, {})
  const streamed = headersOf(provider, true, {})
  /** Calls add to those of one style only. */
  const headersFor = (stream: boolean, versionHeaders: Readonly<Record<string, string>>) => {
    if (style === "anthropic") return headersOf(provider, stream, versionHeaders)
    return stream ? streamed : whole
  }
  const path =
    baseUrl.pathname.replace(/\/+$/, "") + (style === "openai" ? "/chat/completions" : "/v1/messages")
  return {
    provider,
    dispatch: ({ body, stream, versionHeaders }, handler) => {
      pool.dispatch({ path, method: "POST", headers: headersFor(stream, versionHeaders), body }, handler)
    },
    close: () => {
      pool.close().catch(() => {})
    }
  }
}
