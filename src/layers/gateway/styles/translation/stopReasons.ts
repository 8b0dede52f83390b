/** Why an answer ended, in the words of the other style. */
import { textOf } from "../json.ts"
import type { Json } from "../json.ts"

const ofMessages: Readonly<Record<string, string>> = {
  end_turn: "stop",
  stop_sequence: "stop",
  pause_turn: "stop",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  tool_use: "tool_calls",
  refusal: "content_filter"
}

const ofChat: Readonly<Record<string, string>> = {
  stop: "end_turn",
  length: "max_tokens",
  tool_calls: "tool_use",
  function_call: "tool_use",
  content_filter: "refusal"
}

export const finishReason = (stopReason: Json | undefined): string => ofMessages[textOf(stopReason)] ?? "stop"

export const stopReason = (finishReason: Json | undefined): string =>
  ofChat[textOf(finishReason)] ?? "end_turn"
