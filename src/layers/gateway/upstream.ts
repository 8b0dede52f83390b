/**
 * Connections to providers: a pool each, kept alive between calls, by undici's `request`, which is several times cheaper than
 * `fetch`. A provider gets only its own key and the headers of its style; of its headers, clients get none.
 */
import type { Readable } from "node:stream"
import { Redacted } from "effect"
import { Pool } from "undici"
import type { Endpoint } from "../../services/Gateway.ts"
import type { ProviderSetting } from "./configuration.ts"

export interface UpstreamRequest {
  readonly endpoint: Endpoint
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
  /** Resolves with the headers. The signal cancels the request and the rest of the answer. */
  readonly send: (request: UpstreamRequest, signal: AbortSignal) => Promise<UpstreamResponse>
  /** Closes the pool once its open calls have ended. */
  readonly close: () => void
}

/** The oldest version of the messages API, which all providers support. */
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
    // The attempt has its own timeouts.
    headersTimeout: 0,
    bodyTimeout: 0
  })
  const above = baseUrl.pathname.replace(/\/+$/, "")
  const generating = above + (style === "openai" ? "/chat/completions" : "/v1/messages")
  const embedding = `${above}/embeddings`
  return {
    provider,
    send: async ({ body, endpoint, stream, versionHeaders }, signal) => {
      const path = endpoint === "embeddings" ? embedding : generating
      const headers = headersOf(provider, stream, versionHeaders)
      const response = await pool.request({ path, method: "POST", headers, body, signal })
      return { status: response.statusCode, headers: response.headers, body: response.body }
    },
    close: () => {
      pool.close().catch(() => {})
    }
  }
}
