/**
 * Connections to providers: a pool each, kept alive between calls. By undici's `request`, which costs a fraction of what
 * `fetch` does. Of ours nothing but the provider's own key and what its style asks for crosses; of a provider's headers
 * nothing but what is read here.
 */
import type { Readable } from "node:stream"
import { Redacted } from "effect"
import { Pool } from "undici"
import type { ProviderSetting } from "./configuration.ts"

export interface UpstreamRequest {
  readonly body: Uint8Array | string
  readonly stream: boolean
  readonly versionHeaders: Readonly<Record<string, string>>
}

export interface UpstreamResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>
  readonly body: Readable
}

export interface Upstream {
  readonly provider: ProviderSetting
  /** Resolves with the headers. The signal ends whatever is left of the exchange. */
  readonly send: (request: UpstreamRequest, signal: AbortSignal) => Promise<UpstreamResponse>
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
    // Times are kept by the attempt, which knows what it waits for.
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
    send: async ({ stream, versionHeaders, ...request }, signal) => {
      const headers = headersFor(stream, versionHeaders)
      const {
        body,
        headers: answered,
        statusCode
      } = await pool.request({
        path,
        method: "POST",
        headers,
        body: request.body,
        signal
      })
      return { status: statusCode, headers: answered, body }
    },
    close: () => {
      pool.close().catch(() => {})
    }
  }
}
