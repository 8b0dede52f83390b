/** Types that routing, billing and the two styles share. */
import type { Schema } from "effect"
import type { Endpoint, Style } from "../../services/Gateway.ts"
import type { Frame } from "./sse.ts"
import type { ParsedFrame, StreamFault, StreamParser } from "./streamParser.ts"
import type { ReasoningContent } from "./thinking.ts"
import type { Usage } from "./usage.ts"

export type { Style }

/** The reason why a body cannot be forwarded; `param` names the member, if one is at fault. */
export interface Rejected {
  readonly message: string
  readonly code?: "too_many_values"
  readonly param: string | null
}

/** A parsed request body, with the facts that routing and billing need. */
export interface Admitted {
  readonly endpoint: Endpoint
  readonly style: Style
  /** The client's bytes; a provider gets them unchanged where possible. */
  readonly bytes: Uint8Array
  readonly body: Schema.JsonObject
  readonly model: string
  readonly stream: boolean
  /** The client asked for the usage of its stream (messages always show it). */
  readonly asksUsage: boolean
  /** The client asked for JSON without a schema. */
  readonly asksJson: boolean
  /** Only for responses: the request, which the answer repeats. */
  readonly requested: Schema.JsonObject | undefined
  /** The client's maximum for one choice, if any. */
  readonly maxTokens: number | undefined
  /** `n`: the number of answers, each of which is paid; 0 if nothing is generated. */
  readonly choices: number
  /** An upper bound of the prompt's text tokens: its bytes, and 16 a message. */
  readonly textTokensBound: number
  /** The number of images; each costs the model's image_tokens, whatever its size in bytes. */
  readonly images: number
  /** The client marked a part of the prompt for the provider's cache. */
  readonly writesCache: boolean
}

/** Members of a body that a provider rejects or knows by another name. */
export interface MemberChanges {
  readonly omit: ReadonlySet<string>
  readonly rename: ReadonlyMap<string, string>
}

/** The provider for which a body is made. */
export interface Target {
  readonly style: Style
  /** The provider's name of the model. */
  readonly model: string
  /** The maximum to send if the provider's style demands one and the client gave none. */
  readonly maxOutputTokens: number
  readonly changes: MemberChanges
  readonly reasoningContent: ReasoningContent
  /** The provider has rejected the thinking of earlier turns because another provider made it. */
  readonly isThinkingForeign: boolean
}

/** An answer that is not a stream, in the client's style. */
export interface WholeAnswer {
  readonly bytes: Uint8Array
  readonly usage: Usage | undefined
  /** All generated text with reasoning and tool arguments, for counting; empty if the provider reported usage. */
  readonly generated: string
}

/** The result of reading some bytes of a provider's stream. */
export interface Piece {
  /** Whole frames in the client's style; may be empty. */
  readonly bytes: Uint8Array
  /** The number of the provider's frames that these bytes completed. */
  readonly frames: number
  /** Something was generated so far; role chunks, message_start, ping and empty block starts do not count. */
  readonly content: boolean
  /** The stream declared its end: [DONE], a finish_reason for each choice, or message_stop. */
  readonly finished: boolean
  /** The provider's error event, or a malformed frame; the reader stops after it. */
  readonly fault: StreamFault | undefined
}

/** The client's version of a frame: the frame's bytes, another text, or nothing. */
export type Written = Uint8Array | string | undefined

/** Writes the client's stream from the provider's frames. */
export interface StreamWriter {
  readonly write: (frame: Frame, parsed: ParsedFrame) => Written
  /** Completes the client's stream once the provider has closed its own. */
  readonly end: () => Written
  /** The event that ends a broken stream, if the style's own error event does not suit. */
  readonly error?: (error: ShownError) => string
}

/** Reads a provider's stream, in chunks of any size, and writes the client's. */
export interface StreamReader {
  readonly push: (chunk: Uint8Array) => Piece
  /** Reads the rest once the provider has closed the stream. A stream that is unfinished by then has failed. */
  readonly end: () => Piece
  readonly usage: StreamParser["usage"]
  readonly prompt: StreamParser["prompt"]
  /** All text generated so far, for counting. */
  readonly generated: () => string
  /** The event that ends the client's stream after the provider's broke. */
  readonly error: (error: ShownError) => Uint8Array
}

/** The facts of a call that a reader needs. */
export interface ReaderOptions {
  readonly endpoint: Endpoint
  readonly providerStyle: Style
  /** The client's name of the model; it replaces the provider's name in answers. */
  readonly model: string
  readonly asksUsage: boolean
  readonly asksJson: boolean
  readonly requested: Schema.JsonObject | undefined
  /** A stream is complete when each of its choices is. */
  readonly choices: number
  /** The id of a translated answer if the provider gives none. */
  readonly requestId: string
  /** Seconds since 1970, which chat completions show and messages do not. */
  readonly created: number
}

/** The content of an error body in either style. */
export interface ShownError {
  readonly status: number
  readonly message: string
  /** A stable code of ours (invalid_api_key, insufficient_credit, upstreams_failed, ...), or a provider's code. */
  readonly code: string
  /** A provider's type, which only clients of chat completions get; without one it follows from the status. */
  readonly type?: string | null
  readonly param: string | null
  readonly requestId: string
}
