/** The terms that routing, billing and the two styles share. */
import type { Schema } from "effect"
import type { Endpoint, Style } from "../../services/Gateway.ts"
import type { Frame } from "./sse.ts"
import type { ParsedFrame, StreamParser } from "./streamParser.ts"
import type { ReasoningContent } from "./thinking.ts"
import type { Usage } from "./usage.ts"

export type { Style }

/** Why a body cannot be sent on; `param` names the member where it is one. */
export interface Rejected {
  readonly message: string
  readonly code?: "too_many_values"
  readonly param: string | null
}

/** A request body that was parsed once, with what routing and billing need of it. */
export interface Admitted {
  readonly endpoint: Endpoint
  readonly style: Style
  /** As the client sent it; a provider gets it where nothing has to be changed. */
  readonly bytes: Uint8Array
  readonly body: Schema.JsonObject
  readonly model: string
  readonly stream: boolean
  /** Whether the client asked for the usage of its stream (messages always show it). */
  readonly asksUsage: boolean
  /** Whether the answer is to be JSON of no schema. */
  readonly asksJson: boolean
  /** Of responses: the request, which the answer repeats. */
  readonly requested: Schema.JsonObject | undefined
  /** The client's maximum for one choice, if any. */
  readonly maxTokens: number | undefined
  /** `n`: the number of answers, each of which is paid; 0 where nothing is generated. */
  readonly choices: number
  /** An upper bound of the prompt's text tokens: its bytes, and 16 a message. */
  readonly textTokensBound: number
  /** Each costs the model's image_tokens, whatever its bytes. */
  readonly images: number
  /** Some of the prompt is marked to be written to the provider's cache. */
  readonly writesCache: boolean
}

/** Members of a body that a provider does not take, or by another name. */
export interface MemberChanges {
  readonly omit: ReadonlySet<string>
  readonly rename: ReadonlyMap<string, string>
}

/** The provider that a body is made for. */
export interface Target {
  readonly style: Style
  /** As the provider names it. */
  readonly model: string
  /** The maximum where the provider's style demands one and the client gave none. */
  readonly maxOutputTokens: number
  readonly changes: MemberChanges
  readonly reasoningContent: ReasoningContent
  /** The provider has refused the thinking of earlier turns as another's. */
  readonly isThinkingForeign: boolean
}

/** An answer that is not a stream, in the client's style. */
export interface WholeAnswer {
  readonly bytes: Uint8Array
  readonly usage: Usage | undefined
  /** All generated text with reasoning and tool arguments, for counting; empty where there is usage. */
  readonly generated: string
}

/** The result of reading some bytes of a provider's stream. */
export interface Piece {
  /** Whole frames in the client's style; may be empty. */
  readonly bytes: Uint8Array
  /** The number of the provider's frames that these bytes completed. */
  readonly frames: number
  /** Whether anything was generated so far: role chunks, message_start, ping and empty block starts do not count. */
  readonly content: boolean
  /** Whether the stream declared its end: [DONE], a finish_reason for each choice, or message_stop. */
  readonly finished: boolean
  /** The provider's error event, or a malformed frame; nothing more is read after it. */
  readonly fault: StreamFault | undefined
}

export interface StreamFault {
  readonly kind: "error_event" | "malformed"
  /** For the log only: it may name the provider, so it never reaches the client. */
  readonly message: string
  /** The provider is overloaded or its limit is reached. */
  readonly busy: boolean
}

/** What the client gets of a frame: its bytes, another text, or nothing. */
export type Written = Uint8Array | string | undefined

/** Writes the client's stream from the provider's frames. */
export interface StreamWriter {
  readonly write: (frame: Frame, parsed: ParsedFrame) => Written
  /** Completes the client's stream once the provider has closed its own. */
  readonly end: () => Written
  /** The event that ends a broken stream, where the style's own would not do. */
  readonly error?: (error: ShownError) => string
}

/** Reads a provider's stream, in chunks of any size, and writes the client's. */
export interface StreamReader {
  readonly push: (chunk: Uint8Array) => Piece
  /** The rest, once the provider has closed the stream. Unfinished by then is a failure. */
  readonly end: () => Piece
  readonly usage: StreamParser["usage"]
  readonly prompt: StreamParser["prompt"]
  /** All text generated so far, for counting. */
  readonly generated: () => string
  /** The event that ends the client's stream where the provider's broke. */
  readonly error: (error: ShownError) => Uint8Array
}

/** What a reader needs to know of the call. */
export interface ReaderOptions {
  readonly endpoint: Endpoint
  readonly providerStyle: Style
  /** As the client named it; replaces the provider's name in answers. */
  readonly model: string
  readonly asksUsage: boolean
  readonly asksJson: boolean
  readonly requested: Schema.JsonObject | undefined
  /** A stream is complete when each of its choices is. */
  readonly choices: number
  /** The id of a translated answer whose provider gives none. */
  readonly requestId: string
  /** Seconds since 1970, which chat completions show and messages do not. */
  readonly created: number
}

/** What an error body of either style is made from. */
export interface ShownError {
  readonly status: number
  readonly message: string
  /** Ours, stable: invalid_api_key, insufficient_credit, upstreams_failed, ...; or a provider's. */
  readonly code: string
  /** A provider's, which clients of chat completions get; otherwise it follows from the status. */
  readonly type?: string | null
  readonly param: string | null
  readonly requestId: string
}
