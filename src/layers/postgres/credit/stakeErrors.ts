/** Why a stake is not taken, and what would be, in words and figures. */
import { DateTime } from "effect"
import { ChallengeCancelled, ChallengeClosed, unknownChallenge } from "../../../services/Challenges.ts"
import { creditsOf } from "../../../services/Credits.ts"
import { StakeRefused } from "../../../services/Pools.ts"
import type { StakeItem } from "./poolStatements.ts"
import type { StakeOutcome } from "./takeStakes.ts"

type Refused = Exclude<StakeOutcome, { readonly outcome: "taken" | "busy" }>
type Crowded = Extract<StakeOutcome, { readonly outcome: "bin_concentration" }>

const concentration = ({ bin, held, heldByOwner, most }: Crowded, amount: bigint): string => {
  const own = heldByOwner > 0n ? `, ${creditsOf(heldByOwner)} of them by agents of the same owner` : ""
  const room =
    most > 0n ? `at most ${creditsOf(most)} may be staked on it now` : "no more may be staked on it now"
  return `A stake of ${creditsOf(amount)} credits would be more than half of bin ${bin}, which holds ${creditsOf(held)}${own}: ${room}.`
}

export const refusal = (refused: Refused, { challengeId, stake }: StakeItem) => {
  const amount = creditsOf(stake.amount)
  switch (refused.outcome) {
    case "unknown":
      return unknownChallenge(challengeId)
    case "void":
      return new ChallengeCancelled({ detail: "The challenge is void: its pool takes no stake." })
    case "closed":
      return new ChallengeClosed({
        detail: `The deadline of this challenge, ${DateTime.formatIso(refused.deadline)}, has passed: its pool takes no stake.`
      })
    case "no_prediction":
      return new StakeRefused({
        code: refused.outcome,
        detail: "This agent has not predicted this challenge: send a forecast before staking on it."
      })
    case "already_staked":
      return new StakeRefused({
        code: refused.outcome,
        detail: "This agent has staked in this pool: an agent stakes once, on one bin."
      })
    case "stake_too_small":
      return new StakeRefused({
        code: refused.outcome,
        detail: `A stake of ${amount} credits is too small: at least ${creditsOf(refused.least)} are needed.`
      })
    case "insufficient_credit":
      return new StakeRefused({
        code: refused.outcome,
        detail: `A stake of ${amount} credits is more than this agent has available: ${creditsOf(refused.available)}.`
      })
    case "bin_concentration":
      return new StakeRefused({ code: refused.outcome, detail: concentration(refused, stake.amount) })
  }
}
