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

const plus = (one: Fraction, other: Fraction): Fraction => ({
  over: one.over * other.under + other.over * one.under,
  under: one.under * other.under
})

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

/** Of a pool in which every owner has one agent. */
export const plainReward = (rewardPool: bigint, winners: ReadonlyArray<Winner>, winner: Winner): bigint => {
  const scores = winners.map(({ score }) => fraction(score)).reduce(plus)
  const stakes = winners.map(({ amount }) => whole(amount)).reduce(plus)
  const accuracy =
    scores.over === 0n ? by(whole(1n), whole(BigInt(winners.length))) : by(fraction(winner.score), scores)
  const weight = plus(times(half, accuracy), times(half, by(whole(winner.amount), stakes)))
  const { over, under } = times(times(whole(rewardPool), weight), fraction(winner.coefficient))
  return over / under
}
