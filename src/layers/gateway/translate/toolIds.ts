/**
 * Translates identifiers of tool calls to the form that the receiving side accepts. The same identifier always gives the same
 * result, so that a call and its result still match when both come back.
 */
import { hash } from "node:crypto"

/** Messages accept no other characters. */
export const messagesToolId = (id: string): string => (/^[\w-]{1,64}$/.test(id) ? id : shortened(id))

const maxChatLength = 40

/** OpenAI accepts no longer identifiers. */
export const chatToolId = (id: string): string => (id.length <= maxChatLength ? id : shortened(id))

const shortened = (id: string): string => `call_${hash("sha256", id, "hex").slice(0, 24)}`
