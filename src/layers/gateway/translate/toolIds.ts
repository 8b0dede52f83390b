/**
 * Identifiers of calls of tools, as the side takes them that they are for. The same one always becomes the same, so that a
 * call and its result still belong together when both come back.
 */
import { hash } from "node:crypto"

/** Messages take no other characters. */
export const messagesToolId = (id: string): string => (/^[\w-]{1,64}$/.test(id) ? id : shortened(id))

const maxChatLength = 40

/** OpenAI takes no longer ones. */
export const chatToolId = (id: string): string => (id.length <= maxChatLength ? id : shortened(id))

const shortened = (id: string): string => `call_${hash("sha256", id, "hex").slice(0, 24)}`
