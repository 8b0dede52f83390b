/**
 * Turns generated chat completions into consecutive blocks, as the other endpoints have them. Chat completions may mix the
 * arguments of several tools: a block waits until the arguments before it are complete.
 */
import { isObject, objectsIn, parsedJson, textOf } from "../json.ts"
import type { Json, JsonObject } from "../json.ts"

export interface Block {
  readonly kind: "text" | "refusal" | "thinking" | "tool"
  /** Identifies the provider's call. */
  readonly key: Json
  /** The block's place among the opened ones. */
  index: number
  id: string
  name: string
  /** All text so far; `sent` counts the characters that were sent. */
  text: string
  sent: number
  /** Only for thinking: the blocks of messages that it consists of. */
  readonly signed: Array<JsonObject>
  state: "waiting" | "open" | "closed"
}

/** Tells a client that a block begins, which text is new, and that it is complete. */
export interface BlockWriter {
  readonly open: (block: Block) => string
  readonly send: (block: Block, unsent: string) => string
  readonly close: (block: Block) => string
}

interface BlockSequence {
  /** Takes a delta, or a whole message. */
  readonly take: (delta: JsonObject) => void
  /** Writes the blocks that are complete so far, or all blocks. */
  readonly advance: (all: "all" | "complete") => string
  readonly blocks: ReadonlyArray<Block>
}

export const blockSequence = (writer: BlockWriter): BlockSequence => {
  const blocks: Array<Block> = []
  let opened = 0

  const add = (kind: Block["kind"], key: Json): Block => {
    const block: Block = {
      kind,
      key,
      index: -1,
      id: "",
      name: "",
      text: "",
      sent: 0,
      signed: [],
      state: "waiting"
    }
    blocks.push(block)
    return block
  }

  const current = (kind: Block["kind"]): Block => {
    const last = blocks.at(-1)
    return last?.kind === kind ? last : add(kind, null)
  }

  const speak = (kind: "text" | "refusal" | "thinking", text: string) => {
    if (text !== "") current(kind).text += text
  }

  const call = (called: JsonObject) => {
    // Some providers leave out the index and send each call whole.
    const key = called.index ?? textOf(called.id)
    const tool = blocks.find((block) => block.kind === "tool" && block.key === key) ?? add("tool", key)
    const target = isObject(called.function) ? called.function : {}
    tool.id ||= textOf(called.id)
    tool.name ||= textOf(target.name)
    tool.text += textOf(target.arguments)
  }

  const take = (delta: JsonObject) => {
    speak("thinking", textOf(delta.reasoning_content) || textOf(delta.reasoning))
    const signed = objectsIn(delta.thinking_blocks)
    if (signed.length > 0) current("thinking").signed.push(...signed)
    speak("text", textOf(delta.content))
    speak("refusal", textOf(delta.refusal))
    for (const called of objectsIn(delta.tool_calls)) call(called)
  }

  const open = (block: Block): string => {
    block.state = "open"
    block.index = opened
    opened += 1
    return writer.open(block)
  }

  const send = (block: Block): string => {
    const unsent = block.text.slice(block.sent)
    const written = unsent === "" ? "" : writer.send(block, unsent)
    block.sent = block.text.length
    return written
  }

  const close = (block: Block): string => {
    block.state = "closed"
    return writer.close(block)
  }

  const isComplete = ({ kind, text }: Block): boolean => kind !== "tool" || isObject(parsedJson(text))

  const advance = (all: "all" | "complete"): string => {
    let written = ""
    let before: Block | undefined
    for (const block of blocks) {
      if (block.state === "closed") continue
      if (before !== undefined) {
        if (all === "complete" && !isComplete(before)) return written
        written += close(before)
      }
      if (block.state === "waiting") written += open(block)
      written += send(block)
      before = block
    }
    return all === "all" && before !== undefined ? written + close(before) : written
  }

  return { take, advance, blocks }
}
