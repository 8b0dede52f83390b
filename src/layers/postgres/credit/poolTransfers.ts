/**
 * The transfers of credit pools, by what they are for. Their ids are derived from the challenge and the agent, so that
 * none happens twice, whatever runs twice.
 */
import { poolFunding } from "../../../scoring/pools.ts"
import { accountOf, treasury } from "./transfers.ts"
import type { Transfer } from "./transfers.ts"

export const poolAccount = (challengeId: string): string => `pool:${challengeId}`

interface OfAgent {
  readonly challengeId: string
  readonly agentId: string
  readonly amount: bigint
}

const agentAccount = (agentId: string): string => accountOf({ kind: "agent", id: agentId })

const stakeId = ({ agentId, challengeId }: OfAgent): string => `stake:${challengeId}:${agentId}`

/** Of a reward pool above 0. */
export const funding = (challengeId: string, rewardPool: bigint): Transfer => ({
  id: `fund:${challengeId}`,
  kind: "post",
  debit: treasury,
  credit: poolAccount(challengeId),
  amount: poolFunding(rewardPool),
  reason: "reward pool"
})

/** The whole principal, whatever came out. */
export const release = (stake: OfAgent): Transfer => ({
  id: `release:${stake.challengeId}:${stake.agentId}`,
  kind: "void",
  debit: agentAccount(stake.agentId),
  credit: poolAccount(stake.challengeId),
  amount: stake.amount,
  pendingId: stakeId(stake),
  reason: "stake returned"
})

export const reward = ({ agentId, amount, challengeId }: OfAgent): Transfer => ({
  id: `reward:${challengeId}:${agentId}`,
  kind: "post",
  debit: poolAccount(challengeId),
  credit: agentAccount(agentId),
  amount,
  reason: "pool reward"
})

/** What was not paid. */
export const remainder = (challengeId: string, amount: bigint): Transfer => ({
  id: `return:${challengeId}`,
  kind: "post",
  debit: poolAccount(challengeId),
  credit: treasury,
  amount,
  reason: "reward pool, what was not paid"
})
