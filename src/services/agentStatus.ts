/** What an agent is at a moment, in the words of interface.md "Agent". */
import { Schema } from "effect"

export const AgentStatus = Schema.Literals([
  "challenge_pending",
  "active_provisional",
  "issuance_paused",
  "active",
  "suspended"
])
export type AgentStatus = typeof AgentStatus.Type
