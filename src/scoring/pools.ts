/**
 * The rewards of a credit pool. "Weight of winner i = 0.5 * score_i / sum(score) + 0.5 * stake_i / sum(stake) (equal shares of the
 * first half when all scores are 0), reward_i = floor(reward_pool * weight_i * coefficient(plan_i))", exactly, in micro-credits.
 *
 * In a pool with the owner rule the agents of one owner count as one: the half for accuracy goes to owners by the mean score of their
 * winning agents, which share it equally, and the whole of an owner's reward is multiplied by the part of its stakes in the pool that
 * is on the winning bin. With one agent an owner this is the formula above.
 */
import { BigDecimal } from "effect"

/** The coefficient of an owner's plan; an agent without an owner counts as free. */
export const planCoefficients = { free: "1", pro: "1.1", team: "1.25" } as const

const maxCoefficient = BigDecimal.fromStringUnsafe(planCoefficients.team)

/** The funding of a pool: enough if every winner had the highest coefficient. */
export const poolFunding = (rewardPool: bigint): bigint => {
  const max = BigDecimal.multiply(BigDecimal.fromBigInt(rewardPool), maxCoefficient)
  return BigDecimal.scale(BigDecimal.ceil(max, 0), 0).value
}

/** A stake on the winning bin. Amounts are micro-credits. */
export interface WinningStake {
  readonly agent_id: string
  /** The owner of the agent when it staked; null if it counts alone, without an owner or without the owner rule. */
  readonly owner_id: string | null
  readonly amount: bigint
  /** The stakes of its owner's agents on all bins of the pool; its own stakes if it counts alone. */
  readonly owner_amount: bigint
  /** The score, 0 to 100, as a decimal text. */
  readonly score: string
  /** The coefficient as a decimal text. */
  readonly coefficient: string
}

interface Owner {
  agents: bigint
  scores: bigint
  amount: bigint
}

const ownerKey = ({ agent_id, owner_id }: WinningStake): string => owner_id ?? `agent ${agent_id}`

const greatestCommonDivisor = (one: bigint, other: bigint): bigint =>
  other === 0n ? one : greatestCommonDivisor(other, one % other)

const leastCommonMultiple = (numbers: Iterable<bigint>): bigint => {
  let multiple = 1n
  for (const number of new Set(numbers)) multiple *= number / greatestCommonDivisor(multiple, number)
  return multiple
}

/** The number of digits behind the point. */
const placesOf = (decimal: string): number =>
  decimal.includes(".") ? decimal.length - 1 - decimal.indexOf(".") : 0

/** A decimal as a whole number of units of 10^-places. */
const unitsOf = (decimal: string, places: number): bigint =>
  BigInt(decimal.replace(".", "") + "0".repeat(places - placesOf(decimal)))

/**
 * The rewards of a pool, in micro-credits, for each of its winning stakes. Their common sums are computed once over all of them;
 * their order does not matter.
 */
export const poolRewards = (rewardPool: bigint, winners: ReadonlyArray<WinningStake>) => {
  const places = Math.max(0, ...new Set(winners.map(({ score }) => placesOf(score))))
  const owners = new Map<string, Owner>()
  let amount = 0n
  for (const winner of winners) {
    const owner = owners.get(ownerKey(winner)) ?? { agents: 0n, scores: 0n, amount: 0n }
    owner.agents += 1n
    owner.scores += unitsOf(winner.score, places)
    owner.amount += winner.amount
    owners.set(ownerKey(winner), owner)
    amount += winner.amount
  }
  const all = [...owners.values()]
  // Mean scores share one denominator, so that they are whole numbers.
  const common = leastCommonMultiple(all.map(({ agents }) => agents))
  const allAreZero = all.every(({ scores }) => scores === 0n)
  const accuracyOf = ({ agents, scores }: Owner) => (allAreZero ? 1n : (scores * common) / agents)
  const accuracy = all.reduce((sum, owner) => sum + accuracyOf(owner), 0n)

  return (winner: WinningStake): bigint => {
    const owner = owners.get(ownerKey(winner))
    if (owner === undefined) return 0n
    const coefficientPlaces = placesOf(winner.coefficient)
    // Stakes are above 0, but an audit may meet other rows.
    if (amount === 0n || accuracy === 0n || winner.owner_amount === 0n) return 0n
    const halves = accuracyOf(owner) * amount + winner.amount * accuracy * owner.agents
    return (
      (rewardPool * halves * owner.amount * unitsOf(winner.coefficient, coefficientPlaces)) /
      (2n * accuracy * owner.agents * amount * winner.owner_amount * 10n ** BigInt(coefficientPlaces))
    )
  }
}
