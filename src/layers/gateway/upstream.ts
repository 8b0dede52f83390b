/**
 * Connections to providers: each has a pool, kept alive between calls, with undici's `request`, which is several times cheaper
 * than `fetch`. A provider gets only its own key and the headers of its style and entry; clients get none of its headers.
 */
import type { Readable } from "node:stream"
import { Redacted } from "effect"
import { Pool } from "undici"
import type { Endpoint } from "../../services/Gateway.ts"
import type { Auth, ProviderKey, ProviderSetting } from "./configuration.ts"
import { makeKeyRing } from "./keyRing.ts"
import type { KeyRing } from "./keyRing.ts"

export interface UpstreamRequest {
  readonly endpoint: Endpoint
  readonly body: Uint8Array | string
  readonly stream: boolean
  /** One of `keys`; undefined if the provider needs none. */
  readonly key: ProviderKey | undefined
  readonly versionHeaders: Readonly<Record<string, string>>
}

export interface UpstreamResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>
  readonly body: Readable
}

export interface Upstream {
  readonly provider: ProviderSetting
  readonly keys: KeyRing
  /** Resolves with the headers. The signal cancels the request and the rest of the answer. */
  readonly send: (request: UpstreamRequest, signal: AbortSignal) => Promise<UpstreamResponse>
  /** Closes the pool once its open calls have ended. */
  readonly close: () => void
}

/** The oldest version of the messages API: all providers support it. */
const defaultVersion = "2023-06-01"

const headersOf = (
  { auth, headers, style }: ProviderSetting,
  { key, stream, versionHeaders }: UpstreamRequest
): Record<string, string> => ({
  "content-type": "application/json",
  accept: stream ? "text/event-stream" : "application/json",
  "user-agent": "auspex",
  ...(style === "anthropic" && { "anthropic-version": defaultVersion, ...versionHeaders }),
  ...headers,
  ...(key !== undefined && authorization(auth, Redacted.value(key.secret)))
})

const authorization = (auth: Auth, key: string): Record<string, string> =>
  auth === "bearer" ? { authorization: `Bearer ${key}` } : { [auth]: key }

/** The provider's paths, with its query parameters. */
const pathsOf = ({ baseUrl, query, style }: ProviderSetting) => {
  const above = baseUrl.pathname.replace(/\/+$/, "")
  const parameters = new URLSearchParams(query).toString()
  const path = (below: string) => `${above}${below}${parameters === "" ? "" : `?${parameters}`}`
  return {
    generating: path(style === "openai" ? "/chat/completions" : "/v1/messages"),
    embedding: path("/embeddings")
  }
}

export const connect = (provider: ProviderSetting): Upstream => {
  const { baseUrl, connectTimeout, keys } = provider
  const pool = new Pool(baseUrl.origin, {
    pipelining: 1,
    connect: { timeout: connectTimeout },
    // The attempt has its own timeouts.
    headersTimeout: 0,
    bodyTimeout: 0
  })
  const { embedding, generating } = pathsOf(provider)
  return {
    provider,
    keys: makeKeyRing(keys),
    send: async (request, signal) => {
      const { body, endpoint } = request
      const path = endpoint === "embeddings" ? embedding : generating
      const headers = headersOf(provider, request)
      const response = await pool.request({ path, method: "POST", headers, body, signal })
      return { status: response.statusCode, headers: response.headers, body: response.body }
    },
    close: () => {
      pool.close().catch(() => {})
    }
  }
}
