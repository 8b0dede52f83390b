/** Streams as providers send them, and ways to read them. */
import { Result } from "effect"
import { readAnswer, streamReader } from "../../src/layers/gateway/relay.ts"
import type { Piece, ReaderOptions, StreamReader } from "../../src/layers/gateway/types.ts"
import type { Style } from "../../src/services/Gateway.ts"

export const frameOf = (data: unknown, event?: string): string =>
  `${event === undefined ? "" : `event: ${event}\n`}data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`

/** A chunk of chat completions. */
export const chunk = (members: object): string =>
  frameOf({
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    created: 1_700_000_000,
    model: "swift-1-0613",
    ...members
  })

export const delta = (delta: object, finish_reason: string | null = null): string =>
  chunk({ choices: [{ index: 0, delta, finish_reason, logprobs: null }] })

export const chatUsage = { prompt_tokens: 25, completion_tokens: 50, total_tokens: 75 }

const role = delta({ role: "assistant", content: "" })
const end = frameOf("[DONE]")

export const chatText = [
  role,
  delta({ content: "Grüße " }),
  delta({ content: '\u{1f98a} "model":"x"' }),
  delta({}, "stop"),
  chunk({ choices: [], usage: chatUsage }),
  end
]

const called = (index: number, rest: object): string => delta({ tool_calls: [{ index, ...rest }] })

export const chatTools = [
  role,
  delta({ reasoning_content: "Let me " }),
  delta({ reasoning_content: "see." }),
  delta({ content: "Looking." }),
  called(0, { id: "call_a", type: "function", function: { name: "look", arguments: "" } }),
  called(0, { function: { arguments: '{"at":' } }),
  called(0, { function: { arguments: '"fox"}' } }),
  called(1, { id: "call_b", type: "function", function: { name: "wait", arguments: "{}" } }),
  delta({}, "tool_calls"),
  chunk({
    choices: [],
    usage: {
      ...chatUsage,
      prompt_tokens_details: { cached_tokens: 5 },
      completion_tokens_details: { reasoning_tokens: 9 }
    }
  }),
  end
]

const event = (body: { readonly type: string; readonly [name: string]: unknown }): string =>
  frameOf(body, body.type)

export const messageStart = event({
  type: "message_start",
  message: {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "swift-1-0613",
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: 20, cache_creation_input_tokens: 2, cache_read_input_tokens: 3, output_tokens: 1 }
  }
})

export const ping = event({ type: "ping" })

export const blockStart = (index: number, content_block: object): string =>
  event({ type: "content_block_start", index, content_block })
export const blockDelta = (index: number, change: object): string =>
  event({ type: "content_block_delta", index, delta: change })
export const blockStop = (index: number): string => event({ type: "content_block_stop", index })
export const messageDelta = (stop_reason: string, usage: object = { output_tokens: 50 }): string =>
  event({ type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage })
export const messageStop = event({ type: "message_stop" })

export const messagesText = [
  messageStart,
  blockStart(0, { type: "text", text: "" }),
  ping,
  blockDelta(0, { type: "text_delta", text: "Grüße " }),
  blockDelta(0, { type: "text_delta", text: '\u{1f98a} "model":"x"' }),
  blockStop(0),
  messageDelta("end_turn"),
  messageStop
]

export const messagesTools = [
  messageStart,
  blockStart(0, { type: "thinking", thinking: "", signature: "" }),
  blockDelta(0, { type: "thinking_delta", thinking: "Let me " }),
  blockDelta(0, { type: "thinking_delta", thinking: "see." }),
  blockDelta(0, { type: "signature_delta", signature: "c2ln" }),
  blockStop(0),
  blockStart(1, { type: "text", text: "" }),
  blockDelta(1, { type: "text_delta", text: "Looking." }),
  blockStop(1),
  blockStart(2, { type: "tool_use", id: "toolu_a", name: "look", input: {} }),
  blockDelta(2, { type: "input_json_delta", partial_json: "" }),
  blockDelta(2, { type: "input_json_delta", partial_json: '{"at":' }),
  blockDelta(2, { type: "input_json_delta", partial_json: '"fox"}' }),
  blockStop(2),
  blockStart(3, { type: "tool_use", id: "toolu_b", name: "wait", input: {} }),
  blockStop(3),
  messageDelta("tool_use", { output_tokens: 50, output_tokens_details: { thinking_tokens: 9 } }),
  messageStop
]

/** The endpoint by which a style generates. */
export const endpointOf = { openai: "chat", anthropic: "messages" } as const

export const optionsOf = (
  clientStyle: Style,
  providerStyle: Style,
  others: Partial<ReaderOptions> = {}
): ReaderOptions => ({
  endpoint: endpointOf[clientStyle],
  providerStyle,
  model: "swift-1",
  asksUsage: true,
  asksJson: false,
  requested: undefined,
  choices: 1,
  requestId: "req-1",
  created: 1_700_000_001,
  ...others
})

export interface Read {
  readonly text: string
  readonly last: Piece
  readonly reader: StreamReader
}

/** A whole answer, with the body that the client gets of it. */
export const readWhole = (options: ReaderOptions, body: object) => {
  const answer = Result.getOrThrow(readAnswer(Buffer.from(JSON.stringify(body)), options))
  return { ...answer, body: JSON.parse(Buffer.from(answer.bytes).toString()) }
}

/** Everything that the client gets of these chunks, and the result of the stream. */
export const readAll = (options: ReaderOptions, chunks: ReadonlyArray<string | Uint8Array>): Read => {
  const reader = streamReader(options)
  const pieces = chunks.map((each) => reader.push(typeof each === "string" ? Buffer.from(each) : each))
  const last = reader.end()
  const text = Buffer.concat([...pieces, last].map(({ bytes }) => bytes)).toString()
  return { text, last, reader }
}

/** A text cut into chunks of these sizes in bytes, over and over, so that a character can be cut as well. */
export const cut = (text: string, sizes: ReadonlyArray<number>): ReadonlyArray<Buffer> => {
  const bytes = Buffer.from(text)
  const chunks: Array<Buffer> = []
  for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? 1
    chunks.push(bytes.subarray(at, at + size))
    at += size
  }
  return chunks
}

/** The data of all frames, parsed if they are JSON. */
export const dataIn = (text: string): ReadonlyArray<unknown> =>
  text
    .split("\n\n")
    .flatMap((each) => each.split("\n").filter((line) => line.startsWith("data: ")))
    .map((line) => line.slice(6))
    .map((data) => (data === "[DONE]" ? data : JSON.parse(data)))

const looked = { name: "look", at: { at: "fox" } }

/** The whole answer that `chatTools` streams. */
export const wholeChatTools = {
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 1_700_000_000,
  model: "swift-1-0613",
  choices: [
    {
      index: 0,
      message: {
        role: "assistant",
        content: "Looking.",
        reasoning_content: "Let me see.",
        tool_calls: [
          {
            id: "call_a",
            type: "function",
            function: { name: looked.name, arguments: JSON.stringify(looked.at) }
          },
          { id: "call_b", type: "function", function: { name: "wait", arguments: "{}" } }
        ]
      },
      logprobs: null,
      finish_reason: "tool_calls"
    }
  ],
  usage: chatUsage
}

/** The whole answer that `messagesTools` streams. */
export const wholeMessagesTools = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "swift-1-0613",
  content: [
    { type: "thinking", thinking: "Let me see.", signature: "c2ln" },
    { type: "text", text: "Looking." },
    { type: "tool_use", id: "toolu_a", name: looked.name, input: looked.at },
    { type: "tool_use", id: "toolu_b", name: "wait", input: {} }
  ],
  stop_reason: "tool_use",
  stop_sequence: null,
  usage: { input_tokens: 25, output_tokens: 50 }
}

/** A call of a function, as chat completions write it. */
export const toolCall = (id: string, name: string, args: string) => ({
  id,
  type: "function",
  function: { name, arguments: args }
})
