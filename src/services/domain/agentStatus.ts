/**
 * An agent's state at a moment, decided by the clock so that it never depends on a job having run. Only this file distinguishes the
 * states of interface.md "Agent".
 */
import { Schema, DateTime } from "effect"

export const AgentStatus = Schema.Literals([
  "challenge_pending",
  "active_provisional",
  "issuance_paused",
  "active",
  "suspended"
])
export type AgentStatus = typeof AgentStatus.Type

interface AgentTimes {
  readonly challenge_passed_at: DateTime.Utc | null
  readonly provisional_until: DateTime.Utc
  readonly claimed_at: DateTime.Utc | null
  readonly suspended_at: DateTime.Utc | null
}

export const statusAt = (agent: AgentTimes, now: DateTime.Utc): AgentStatus => {
  if (agent.suspended_at !== null) return "suspended"
  if (agent.challenge_passed_at === null) return "challenge_pending"
  if (agent.claimed_at !== null) return "active"
  return DateTime.isGreaterThanOrEqualTo(now, agent.provisional_until)
    ? "issuance_paused"
    : "active_provisional"
}
