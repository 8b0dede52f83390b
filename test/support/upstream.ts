/**
 * A provider of models on a loopback port, of either style, that fails as providers do. The name of the requested model sets its
 * behaviour: `plain`, or faults with values, `status:429:retry_after:3`.
 */
import { createServer } from "node:http"
import type { IncomingHttpHeaders, Server, ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { Effect, Redacted } from "effect"
import type { ProviderSetting, Timeouts } from "../../src/layers/gateway/configuration.ts"
import type { Target } from "../../src/layers/gateway/types.ts"
import { chatTools, messagesTools, wholeChatTools, wholeMessagesTools } from "./providerStreams.ts"

/** The content of a received call. */
export interface Received {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

const words = ["The ", "quick ", "brown ", "fox ", "jumps ", "over ", "the ", "lazy ", "dog."]
export const answerText = words.join("")
export const usage = { prompt: 25, completion: 9 }

type Style = "openai" | "anthropic"
type Faults = Readonly<Record<string, string>>

/** `error:5` is the fault `error` with the value 5; a fault without a value, as `silent`, has none. */
const faultsOf = (model: string): Faults => {
  const parts = model.split(/[:;=]/)
  const faults: Record<string, string> = {}
  for (let index = 0; index < parts.length; index += 2) faults[parts[index] ?? ""] = parts[index + 1] ?? "1"
  return faults
}

/** The usage report of a provider that has lost count. */
const reported = (usage: object, faults: Faults) =>
  faults["counts"] === undefined ? usage : { ...usage, completion_tokens: Number(faults["counts"]) }

const chat = {
  usage: {
    prompt_tokens: usage.prompt,
    completion_tokens: usage.completion,
    total_tokens: usage.prompt + usage.completion
  },
  whole: (model: string, faults: Faults, content: string) => ({
    id: "chatcmpl-upstream",
    object: "chat.completion",
    created: 1_700_000_000,
    model,
    choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
    ...(faults["nousage"] === undefined && { usage: reported(chat.usage, faults) })
  }),
  chunk: (model: string, rest: object) => ({
    id: "chatcmpl-upstream",
    object: "chat.completion.chunk",
    created: 1_700_000_000,
    model,
    ...rest
  }),
  delta: (model: string, delta: object, finish: string | null = null) =>
    chat.chunk(model, { choices: [{ index: 0, delta, finish_reason: finish }] }),
  stream: (model: string, faults: Faults, wantsUsage: boolean): ReadonlyArray<string> => {
    if (faults["tools"] !== undefined) return chatTools
    const told = chat.chunk(model, { choices: [], usage: chat.usage })
    const reports = wantsUsage && faults["nousage"] === undefined ? [told] : []
    return [
      chat.delta(model, { role: "assistant", content: "" }),
      ...(faults["wordless"] === undefined ? words : []).map((word) => chat.delta(model, { content: word })),
      chat.delta(model, {}, "stop"),
      ...reports,
      ...(faults["usage_twice"] === undefined ? [] : [told]),
      "[DONE]"
    ].map((data) => `data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`)
  },
  fault: () =>
    `data: ${JSON.stringify({ error: { message: "upstream-secret-words", type: "server_error" } })}\n\n`
}

const messages = {
  whole: (model: string, faults: Faults, text: string) => ({
    id: "msg_upstream",
    type: "message",
    role: "assistant",
    model,
    content: [{ type: "text", text }],
    stop_reason: "end_turn",
    stop_sequence: null,
    ...(faults["nousage"] === undefined && {
      usage: { input_tokens: usage.prompt, output_tokens: usage.completion }
    })
  }),
  stream: (model: string, faults: Faults): ReadonlyArray<string> => {
    if (faults["tools"] !== undefined) return messagesTools
    return [
      {
        type: "message_start",
        message: {
          id: "msg_upstream",
          type: "message",
          role: "assistant",
          model,
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage: { input_tokens: usage.prompt, output_tokens: 1 }
        }
      },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "ping" },
      ...words.map((text) => ({
        type: "content_block_delta",
        index: 0,
        delta: { type: "text_delta", text }
      })),
      { type: "content_block_stop", index: 0 },
      {
        type: "message_delta",
        delta: { stop_reason: "end_turn", stop_sequence: null },
        ...(faults["nousage"] === undefined && { usage: { output_tokens: usage.completion } })
      },
      { type: "message_stop" }
    ].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
  },
  fault: () =>
    `event: error\ndata: ${JSON.stringify({ type: "error", error: { type: "overloaded_error", message: "upstream-secret-words" } })}\n\n`
}

export const vector = [0.5, -0.25, 1]

const embeddingsOf = (
  model: string,
  faults: Faults,
  { encoding_format, input }: { readonly encoding_format?: string; readonly input: unknown }
) => ({
  object: "list",
  model,
  data: (Array.isArray(input) ? input : [input]).map((_, index) => ({
    object: "embedding",
    index,
    embedding:
      encoding_format === "base64" ? Buffer.from(Float32Array.from(vector).buffer).toString("base64") : vector
  })),
  ...(faults["nousage"] === undefined && {
    usage: { prompt_tokens: usage.prompt, total_tokens: usage.prompt }
  })
})

const pause = (millis: number) => new Promise((resolve) => setTimeout(resolve, millis))

const written = (response: ServerResponse, text: string) =>
  new Promise<void>((resolve) => {
    if (response.destroyed) resolve()
    else response.write(text, () => resolve())
  })

const streamed = async (
  response: ServerResponse,
  events: ReadonlyArray<string>,
  faults: Faults,
  fault: string
) => {
  response.writeHead(200, {
    "content-type": faults["html"] === undefined ? "text/event-stream; charset=utf-8" : "text/html"
  })
  if (faults["huge"] !== undefined) {
    await written(response, `data: {"x":"${"x".repeat(Number(faults["huge"]))}`)
    await pause(2000)
    return void response.destroy()
  }
  for (const [index, event] of events.entries()) {
    if (response.destroyed) return
    if (faults["hang"] === String(index)) return
    if (faults["cut"] === String(index)) return void response.destroy()
    if (faults["stop"] === String(index)) return void response.end()
    if (faults["error"] === String(index)) return void response.end(fault)
    if (faults["malformed"] === String(index)) return void response.end("data: {not json}\n\n")
    if (faults["slow"] === undefined) await written(response, event)
    else {
      for (const byte of event) {
        if (response.destroyed) return
        await written(response, byte)
        await pause(Number(faults["slow"]))
      }
    }
    if (faults["gap"] !== undefined) await pause(Number(faults["gap"]))
  }
  response.end()
}

/** A provider's answer that a test has written out. */
export interface Scripted {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** The body, sent as JSON, or as it is. */
  readonly body?: unknown
  /** The frames of a stream, with a pause before each but the first. */
  readonly frames?: ReadonlyArray<string>
  readonly pause?: number
  /** Breaks the connection in place of an answer. */
  readonly reset?: boolean
  /** Answers nothing, or nothing more. */
  readonly silent?: boolean
}

export interface UpstreamServer {
  readonly port: number
  readonly received: Array<Received>
  /** A model's answers to each of its calls; the last one is repeated. */
  readonly scripts: Map<string, ReadonlyArray<Scripted>>
  /** The text of answers that are no stream. */
  says: string
  /** The number of answers that their reader cut off. */
  aborted: number
  /** Ends the wait of each answer of a model `hold`. */
  readonly held: Array<() => void>
  /** Accepts no connections from now on, and ends existing ones. */
  readonly kill: () => void
}

const played = async (response: ServerResponse, script: Scripted) => {
  if (script.silent === true && script.frames === undefined) return
  if (script.reset === true) return void response.destroy()
  const type = script.frames === undefined ? "application/json" : "text/event-stream"
  response.writeHead(script.status ?? 200, { "content-type": type, ...script.headers })
  for (const [index, frame] of (script.frames ?? []).entries()) {
    if (index > 0 && script.pause !== undefined) await pause(script.pause)
    await written(response, frame)
  }
  if (script.silent === true) return
  const { body } = script
  response.end(typeof body === "string" || body === undefined ? body : JSON.stringify(body))
}

const answer = async (server: UpstreamServer, path: string, text: string, response: ServerResponse) => {
  const [called = ""] = path.split("?", 1)
  const style: Style = called.endsWith("/messages") ? "anthropic" : "openai"
  const body = JSON.parse(text)
  const model = String(body.model)
  const faults = faultsOf(model)
  response.on("close", () => {
    if (!response.writableFinished) server.aborted += 1
  })
  const before = server.received.filter((each) => each.text.includes(`"${model}"`)).length
  const script = server.scripts.get(model)
  if (script !== undefined) return played(response, script[Math.min(before, script.length) - 1] ?? {})
  if (faults["wait"] !== undefined) await pause(Number(faults["wait"]))
  if (faults["hold"] !== undefined) await new Promise<void>((resolve) => server.held.push(resolve))
  if (faults["silent"] !== undefined) return
  if (faults["status"] !== undefined && before <= Number(faults["only"] ?? Infinity)) {
    const refuses = Number(faults["refuses"] ?? Infinity)
    response.writeHead(before % refuses === 0 ? 400 : Number(faults["status"]), {
      "content-type": "application/json",
      ...(faults["retry_after"] !== undefined && { "retry-after": faults["retry_after"] })
    })
    const authorization = response.req.headers.authorization ?? response.req.headers["x-api-key"]
    return void response.end(
      JSON.stringify({
        error: {
          type: "invalid_request_error",
          message: `refused ${String(authorization)} at ${String(response.req.headers.host)}`,
          param: "top_p"
        }
      })
    )
  }
  if (called.endsWith("/embeddings")) {
    response.writeHead(200, { "content-type": "application/json" })
    return void response.end(JSON.stringify(embeddingsOf(model, faults, body)))
  }
  if (body.stream === true) {
    const events =
      style === "openai"
        ? chat.stream(model, faults, body.stream_options?.include_usage === true)
        : messages.stream(model, faults)
    return streamed(response, events, faults, style === "openai" ? chat.fault() : messages.fault())
  }
  if (faults["cut"] !== undefined) return void response.destroy()
  response.writeHead(200, { "content-type": "application/json", "x-upstream": "secret", "set-cookie": "a=b" })
  if (faults["html"] !== undefined) return void response.end("<html>")
  if (faults["half"] !== undefined) {
    return void response.write('{"id":', () => response.destroy())
  }
  const whole =
    style === "openai" ? chat.whole(model, faults, server.says) : messages.whole(model, faults, server.says)
  const withTools = style === "openai" ? wholeChatTools : wholeMessagesTools
  response.end(JSON.stringify(faults["tools"] === undefined ? whole : withTools))
}

const listening = (server: Server) =>
  new Promise<number>((resolve) => {
    server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port))
  })

/** A provider that exists until the scope ends. */
export const upstream = Effect.acquireRelease(
  Effect.promise(async () => {
    const server = createServer((request, response) => {
      const chunks: Array<Buffer> = []
      request.on("data", (chunk) => chunks.push(chunk))
      request.on("end", () => {
        const text = Buffer.concat(chunks).toString()
        const path = request.url ?? ""
        made.received.push({ path, headers: request.headers, text })
        void answer(made, path, text, response)
      })
    })
    const made: UpstreamServer = {
      port: await listening(server),
      received: [],
      held: [],
      scripts: new Map(),
      says: answerText,
      aborted: 0,
      kill: () => {
        server.close()
        server.closeAllConnections()
      }
    }
    return made
  }),
  ({ kill }) => Effect.sync(kill)
)

/** A provider of chat completions as the configuration has it, which no test calls. */
export const testProvider: ProviderSetting = {
  name: "north",
  style: "openai",
  baseUrl: new URL("https://north.example"),
  auth: "bearer",
  keys: [{ label: "api_key_env", secret: Redacted.make("the-key-of-north") }],
  headers: {},
  query: {},
  changes: { omit: new Set(), rename: new Map() },
  translates: true,
  allow: new Map(),
  reasoningContent: undefined,
  connectTimeout: 1000
}

/** The target of a body, with a provider without settings. */
export const testTarget = (style: Style, model: string): Target => ({
  style,
  model,
  maxOutputTokens: 1000,
  changes: { omit: new Set(), rename: new Map() },
  reasoningContent: undefined,
  isThinkingForeign: false
})

export const testTimeouts = (millis: number): Timeouts => ({
  firstByte: millis,
  idle: millis,
  response: millis
})
