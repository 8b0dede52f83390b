/**
 * Refused credentials, which count towards `token_failures` twice: of an agent at an address, so that guessing is bounded,
 * and of the address in all. Only the first refuses before credentials are looked at: who has the right ones does not
 * depend on what others at the address send, unless they guess at the same agent.
 */
import { Effect } from "effect"
import { isUuid } from "../../../services/identifiers.ts"
import type { AgentId } from "../../../services/identifiers.ts"
import { RateLimiter } from "../../../services/RateLimiter.ts"

/** Addresses hold no space, so this is none. */
const agentAtAddress = (address: string, agentId: string) => `${address} ${agentId.toLowerCase()}`

export const makeTokenFailures = Effect.gen(function* () {
  const limits = yield* RateLimiter

  /** Whether this agent may be tried at this address. */
  const checkAgent = (address: string, agentId: string) =>
    isUuid(agentId) ? limits.check("token_failures", agentAtAddress(address, agentId)) : Effect.void

  /** Whether anything that costs more than a comparison may be done for this address. */
  const checkAddress = (address: string) => limits.check("token_failures", address)

  /** Counts one. An agent that does not exist cannot be guessed at, and gets no window of its own. */
  const count = Effect.fnUntraced(function* (address: string, agentId: AgentId | undefined) {
    if (agentId !== undefined) yield* limits.consume("token_failures", agentAtAddress(address, agentId))
    yield* limits.consume("token_failures", address)
  })

  return { checkAgent, checkAddress, count }
})
