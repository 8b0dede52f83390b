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
const defaultVersion = "2023-06-01"

const headersOf = (
  { apiKey, style }: ProviderSetting,
  stream: boolean,
  versionHeaders: Readonly<Record<string, string>>
): Record<string, string> => {
  const key = Redacted.value(apiKey)
  const common = {
    "content-type": "application/json",
    accept: stream ? "text/event-stream" : "application/json",
    "user-agent": "auspex"
  }
  return style === "openai"
    ? { ...common, authorization: `Bearer ${key}` }
    : { ...common, "anthropic-version": defaultVersion, ...versionHeaders, "x-api-key": key }
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
  const path =
    baseUrl.pathname.replace(/\/+$/, "") + (style === "openai" ? "/chat/completions" : "/v1/messages")
  return {
    provider,
    send: async ({ body, stream, versionHeaders }, signal) => {
      const headers = headersOf(provider, stream, versionHeaders)
      const response = await pool.request({ path, method: "POST", headers, body, signal })
      return { status: response.statusCode, headers: response.headers, body: response.body }
    },
    close: () => {
      pool.close().catch(() => {})
    }
  }
}
