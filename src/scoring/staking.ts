/**
 * Which stakes a pool takes: its rules, in the order in which they are looked at, over stakes that are decided together.
 * Amounts are whole micro-credits.
 */

/** A stake that is asked for in an open pool, with what was known before any of those decided with it. */
export interface AskedStake {
  readonly pool: string
  readonly agent: string
  /** Whose agent it is; one that nobody has claimed stands for itself. */
  readonly owner: string
  readonly bin: number
  readonly amount: bigint
  /** Whether the agent has predicted the pool's challenge. */
  readonly predicted: boolean
  readonly staked: boolean
  /** Of the agent, and not frozen. */
  readonly available: bigint
  /** What the bin holds. */
  readonly held: bigint
  /** Of that, what the owner's agents hold. */
  readonly heldByOwner: bigint
}

export type StakeDecision =
  | { readonly outcome: "taken"; readonly availableAfter: bigint }
  | { readonly outcome: "no_prediction" }
  | { readonly outcome: "already_staked" }
  | { readonly outcome: "stake_too_small"; readonly least: bigint }
  | { readonly outcome: "insufficient_credit"; readonly available: bigint }
  | {
      readonly outcome: "bin_concentration"
      readonly held: bigint
      readonly heldByOwner: bigint
      /** What would be taken; 0 when nothing would. */
      readonly most: bigint
    }

/**
 * The most that an owner's agent may add to a bin: "one agent's stake in a bin at most 50% of that bin's total", where
 * the agents of one owner count as one. An empty bin takes any amount.
 */
export const maxInBin = (held: bigint, heldByOwner: bigint): bigint | undefined => {
  if (held === 0n) return undefined
  const room = held - 2n * heldByOwner
  return room > 0n ? room : 0n
}

/** By the rules of the pool, in their order; `asked` as things stand when it is its turn. */
const decide = (asked: AskedStake, least: bigint): StakeDecision => {
  const { amount, available, held, heldByOwner } = asked
  if (!asked.predicted) return { outcome: "no_prediction" }
  if (asked.staked) return { outcome: "already_staked" }
  if (amount < least) return { outcome: "stake_too_small", least }
  if (amount > available) return { outcome: "insufficient_credit", available }
  const most = maxInBin(held, heldByOwner)
  if (most !== undefined && amount > most) return { outcome: "bin_concentration", held, heldByOwner, most }
  return { outcome: "taken", availableAfter: available - amount }
}

const add = (sums: Map<string, bigint>, key: string, amount: bigint) =>
  sums.set(key, (sums.get(key) ?? 0n) + amount)

/** Decides one stake after the other: each is taken or refused as if those before it had been alone. */
export const decideStakes = (
  stakes: ReadonlyArray<AskedStake>,
  least: bigint
): ReadonlyArray<StakeDecision> => {
  const stakedBy = new Set<string>()
  const spentBy = new Map<string, bigint>()
  const addedTo = new Map<string, bigint>()
  return stakes.map((asked) => {
    const place = `${asked.pool} ${asked.agent}`
    const bin = `${asked.pool} ${asked.bin}`
    const ofOwner = `${bin} ${asked.owner}`
    const decision = decide(
      {
        ...asked,
        staked: asked.staked || stakedBy.has(place),
        available: asked.available - (spentBy.get(asked.agent) ?? 0n),
        held: asked.held + (addedTo.get(bin) ?? 0n),
        heldByOwner: asked.heldByOwner + (addedTo.get(ofOwner) ?? 0n)
      },
      least
    )
    if (decision.outcome === "taken") {
      stakedBy.add(place)
      add(spentBy, asked.agent, asked.amount)
      add(addedTo, bin, asked.amount)
      add(addedTo, ofOwner, asked.amount)
    }
    return decision
  })
}
