/** The files of docs/examples/gateway are valid, and ask each provider in its way. */
import { readdirSync, readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { collect } from "../../src/layers/gateway/attempt.ts"
import { configurationOf } from "../../src/layers/gateway/configuration.ts"
import type { ModelSetting, RouteSetting } from "../../src/layers/gateway/configuration.ts"
import { readConfigurationFile } from "../../src/layers/gateway/configurationFile.ts"
import { ownRequest } from "../../src/layers/gateway/relay.ts"
import { connect } from "../../src/layers/gateway/upstream.ts"
import { upstream } from "../support/upstream.ts"

const folder = new URL("../../docs/examples/gateway/", import.meta.url)
const read = (name: string) => readFileSync(new URL(`${name}.yaml`, folder), "utf8")
const everyMember = "every-member"

/** The settings of a file; the value of each key is the name of its variable. */
const settingsOf = (file: string) =>
  Result.getOrThrow(
    Result.flatMap(readConfigurationFile(file), (read) =>
      configurationOf(read, ({ name }) => Result.succeed(name))
    )
  )

const messages = [{ role: "user", content: "Hello" }]
/** The body that every provider of chat completions gets unchanged. */
const streamed = { messages, stream: true, stream_options: { include_usage: true } }
const more = { ...streamed, frequency_penalty: 0.5, seed: 1, store: false }
const chat = { ...more, max_completion_tokens: 7 }
const embeddings = { input: "Hello" }

/** Headers that every request has. */
const common = new Set(["accept", "connection", "content-length", "content-type", "host", "user-agent"])

/** The request that a route makes of a call, with its address. */
const requestOf = Effect.fnUntraced(function* (model: ModelSetting, route: RouteSetting) {
  const { provider } = route
  const endpoint = model.embeds ? "embeddings" : "chat"
  const members = { chat, embeddings }[endpoint]
  const body = ownRequest(endpoint, members, model, route)
  const server = yield* upstream
  const baseUrl = new URL(provider.baseUrl.pathname, `http://127.0.0.1:${server.port}`)
  const { close, send } = connect({ ...provider, baseUrl })
  const [key] = provider.keys
  const request = { endpoint, body, stream: !model.embeds, key, versionHeaders: {} } as const
  yield* Effect.promise(async () => {
    const response = await send(request, new AbortController().signal)
    assert.strictEqual(response.status, 200)
    await collect(response.body, 1_000_000)
  })
  close()
  const [{ headers, path, text } = { headers: {}, path: "", text: "{}" }] = server.received
  return {
    address: `${provider.baseUrl.origin}${path}`,
    headers: Object.fromEntries(Object.entries(headers).filter(([name]) => !common.has(name))),
    body: JSON.parse(text)
  }
})

describe("The files to copy", () => {
  const requests = {
    openai: [
      {
        address: "https://api.openai.com/v1/chat/completions",
        headers: { authorization: "Bearer OPENAI_API_KEY" },
        body: { ...chat, model: "gpt-4.1-mini" }
      },
      {
        address: "https://api.openai.com/v1/embeddings",
        headers: { authorization: "Bearer OPENAI_API_KEY" },
        body: { ...embeddings, model: "text-embedding-3-small" }
      }
    ],
    anthropic: [
      {
        address: "https://api.anthropic.com/v1/messages",
        headers: { "x-api-key": "/run/secrets/anthropic-1", "anthropic-version": "2023-06-01" },
        body: { model: "claude-sonnet-4-5", max_tokens: 7, messages, stream: true }
      }
    ],
    gemini: [
      {
        address: "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions",
        headers: { authorization: "Bearer GEMINI_API_KEY" },
        body: { ...streamed, max_completion_tokens: 7, model: "gemini-2.5-flash" }
      }
    ],
    "azure-openai": [
      {
        address: "https://resource.openai.azure.com/openai/v1/chat/completions",
        headers: { "api-key": "AZURE_OPENAI_API_KEY" },
        body: { ...chat, model: "my-deployment" }
      }
    ],
    "azure-openai-versions": [
      {
        address:
          "https://resource.openai.azure.com/openai/deployments/my-deployment/chat/completions?api-version=2024-10-21",
        headers: { "api-key": "AZURE_OPENAI_API_KEY" },
        body: { ...chat, model: "my-deployment" }
      }
    ],
    openrouter: [
      {
        address: "https://openrouter.ai/api/v1/chat/completions",
        headers: {
          authorization: "Bearer OPENROUTER_API_KEY",
          "http-referer": "https://auspex.example",
          "x-openrouter-title": "Auspex"
        },
        body: { ...more, max_tokens: 7, model: "meta-llama/llama-3.3-70b-instruct" }
      }
    ],
    vllm: [
      {
        address: "http://127.0.0.1:8000/v1/chat/completions",
        headers: { authorization: "Bearer VLLM_API_KEY" },
        body: { ...chat, model: "Qwen/Qwen2.5-7B-Instruct" }
      }
    ],
    ollama: [
      {
        address: "http://127.0.0.1:11434/v1/chat/completions",
        headers: {},
        body: { ...more, max_tokens: 7, model: "llama3.1:8b" }
      }
    ]
  }

  it("The files to copy include every-member.yaml, whose members are known", () => {
    // The file names providers and models that it leaves out.
    Result.getOrThrow(readConfigurationFile(read(everyMember)))
  })

  it("The files to copy exist for exactly these providers", () => {
    const names = readdirSync(folder).map((name) => name.replace(/\.yaml$/, ""))
    assert.sameMembers(names, [everyMember, ...Object.keys(requests)])
  })

  it.effect.each(Object.entries(requests))(
    "The files to copy ask a provider at its address, with its key, headers, parameters and members: %s",
    ([name, expected]) =>
      Effect.gen(function* () {
        const models = [...settingsOf(read(name)).models.values()]
        const routes = models.flatMap((model) => model.routes.map((route) => requestOf(model, route)))
        assert.deepStrictEqual(yield* Effect.all(routes), expected)
      })
  )
})
