/** Identifiers of answers in the form that clients of the other style expect. */
import { textOf } from "../json.ts"
import type { Json } from "../json.ts"

const named = (prefix: string, id: Json | undefined, requestId: string): string => {
  const given = textOf(id) === "" ? requestId : textOf(id)
  return given.startsWith(prefix) ? given : `${prefix}${given}`
}

export const chatId = (id: Json | undefined, requestId: string): string => named("chatcmpl-", id, requestId)

export const messageId = (id: Json | undefined, requestId: string): string => named("msg_", id, requestId)

/** Of a call of a tool, which some providers leave unnamed. */
export const toolId = (id: Json | undefined, requestId: string, order: number): string =>
  textOf(id) === "" ? `toolu_${requestId}_${order}` : textOf(id)
