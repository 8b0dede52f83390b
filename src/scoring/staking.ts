/**
 * The rules by which a pool takes stakes, in the order of the checks, over stakes that are decided together. Amounts are whole
 * micro-credits.
 */

/** A stake in an open pool, with the facts before any stake that is decided with it. */
export interface RequestedStake {
  readonly pool: string
  readonly agent: string
  /** The holder of the stake: the agent, or its owner if the agents of one owner count as one. */
  readonly holder: string
  readonly bin: number
  readonly amount: bigint
  /** True if the agent has predicted the pool's challenge. */
  readonly predicted: boolean
  readonly staked: boolean
  /** The agent's balance that is not frozen. */
  readonly available: bigint
  /** The amount staked on the bin. */
  readonly held: bigint
  /** The part of it that the holder's agents staked. */
  readonly heldByHolder: bigint
}

export type StakeDecision =
  | { readonly outcome: "taken"; readonly availableAfter: bigint }
  | { readonly outcome: "no_prediction" }
  | { readonly outcome: "already_staked" }
  | { readonly outcome: "stake_too_small"; readonly minimum: bigint }
  | { readonly outcome: "insufficient_credit"; readonly available: bigint }
  | {
      readonly outcome: "bin_concentration"
      readonly held: bigint
      readonly heldByHolder: bigint
      /** The maximum amount that the pool would take; 0 for none. */
      readonly max: bigint
    }

/**
 * The maximum amount that a holder may add to a bin: "one agent's stake in a bin at most 50% of that bin's total". An empty bin takes
 * any amount.
 */
export const maxInBin = (held: bigint, heldByHolder: bigint): bigint | undefined => {
  if (held === 0n) return undefined
  const room = held - 2n * heldByHolder
  return room > 0n ? room : 0n
}

/** Decides one stake, which has the facts at its turn. */
const decide = (stake: RequestedStake, minimum: bigint): StakeDecision => {
  const { amount, available, held, heldByHolder } = stake
  if (!stake.predicted) return { outcome: "no_prediction" }
  if (stake.staked) return { outcome: "already_staked" }
  if (amount < minimum) return { outcome: "stake_too_small", minimum }
  if (amount > available) return { outcome: "insufficient_credit", available }
  const max = maxInBin(held, heldByHolder)
  if (max !== undefined && amount > max) return { outcome: "bin_concentration", held, heldByHolder, max }
  return { outcome: "taken", availableAfter: available - amount }
}

const add = (sums: Map<string, bigint>, key: string, amount: bigint) =>
  sums.set(key, (sums.get(key) ?? 0n) + amount)

/** Decides one stake after the other: each is taken or rejected as if those before it had been alone. */
export const decideStakes = (
  stakes: ReadonlyArray<RequestedStake>,
  minimum: bigint
): ReadonlyArray<StakeDecision> => {
  const stakedBy = new Set<string>()
  const spentBy = new Map<string, bigint>()
  const addedTo = new Map<string, bigint>()
  return stakes.map((stake) => {
    const place = `${stake.pool} ${stake.agent}`
    const bin = `${stake.pool} ${stake.bin}`
    const ofHolder = `${bin} ${stake.holder}`
    const decision = decide(
      {
        ...stake,
        staked: stake.staked || stakedBy.has(place),
        available: stake.available - (spentBy.get(stake.agent) ?? 0n),
        held: stake.held + (addedTo.get(bin) ?? 0n),
        heldByHolder: stake.heldByHolder + (addedTo.get(ofHolder) ?? 0n)
      },
      minimum
    )
    if (decision.outcome === "taken") {
      stakedBy.add(place)
      add(spentBy, stake.agent, stake.amount)
      add(addedTo, bin, stake.amount)
      add(addedTo, ofHolder, stake.amount)
    }
    return decision
  })
}
