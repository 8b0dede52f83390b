/** "reward_i = floor(reward_pool * weight_i * coefficient(plan_i))" as it is written, in fractions of whole numbers. */

export interface Fraction {
  readonly over: bigint
  readonly under: bigint
}

export const fraction = (decimal: string): Fraction => {
  const [whole = "0", digits = ""] = decimal.split(".")
  return { over: BigInt(whole + digits), under: 10n ** BigInt(digits.length) }
}

const whole = (over: bigint): Fraction => ({ over, under: 1n })

const divisor = (one: bigint, other: bigint): bigint => (other === 0n ? one : divisor(other, one % other))

const plus = (one: Fraction, other: Fraction): Fraction => {
  const over = one.over * other.under + other.over * one.under
  const under = one.under * other.under
  const common = divisor(over, under)
  return { over: over / common, under: under / common }
}

const times = (one: Fraction, other: Fraction): Fraction => ({
  over: one.over * other.over,
  under: one.under * other.under
})

const by = (one: Fraction, other: Fraction): Fraction => times(one, { over: other.under, under: other.over })

const half: Fraction = { over: 1n, under: 2n }

export interface Winner {
  readonly amount: bigint
  readonly score: string
  readonly coefficient: string
}

/** The reward agent by agent, whatever their owners. */
export const plainReward = (rewardPool: bigint, winners: ReadonlyArray<Winner>, winner: Winner): bigint => {
  const scores = winners.map(({ score }) => fraction(score)).reduce(plus)
  const stakes = winners.map(({ amount }) => whole(amount)).reduce(plus)
  const accuracy =
    scores.over === 0n ? by(whole(1n), whole(BigInt(winners.length))) : by(fraction(winner.score), scores)
  const weight = plus(times(half, accuracy), times(half, by(whole(winner.amount), stakes)))
  const { over, under } = times(times(whole(rewardPool), weight), fraction(winner.coefficient))
  return over / under
}

export interface OwnedWinner extends Winner {
  readonly owner: string
  /** The owner's stakes on all bins. */
  readonly ownerAmount: bigint
}

/**
 * The reward in a pool with the owner rule: "the accuracy half goes to owners, an owner's score being the mean of its winning agents'
 * scores, shared equally among them; and every reward of an owner is multiplied by its stake in the winning bin over its stake in all
 * bins, floored once at the end".
 */
export const ownedRewards = (
  rewardPool: bigint,
  winners: ReadonlyArray<OwnedWinner>
): ReadonlyArray<bigint> => {
  const owners = Map.groupBy(winners, ({ owner }) => owner)
  const agentsOf = (owner: string) => whole(BigInt(owners.get(owner)?.length ?? 0))
  const means = new Map(
    [...owners].map(([owner, agents]) => [
      owner,
      by(agents.map(({ score }) => fraction(score)).reduce(plus), agentsOf(owner))
    ])
  )
  const scores = [...means.values()].reduce(plus)
  const stakes = winners.map(({ amount }) => whole(amount)).reduce(plus)
  return winners.map((winner) => {
    const here = (owners.get(winner.owner) ?? []).map(({ amount }) => whole(amount)).reduce(plus)
    const accuracy =
      scores.over === 0n
        ? by(whole(1n), whole(BigInt(owners.size)))
        : by(means.get(winner.owner) ?? whole(0n), scores)
    const weight = plus(
      times(half, by(accuracy, agentsOf(winner.owner))),
      times(half, by(whole(winner.amount), stakes))
    )
    const part = by(here, whole(winner.ownerAmount))
    const { over, under } = times(times(times(whole(rewardPool), weight), part), fraction(winner.coefficient))
    return over / under
  })
}
