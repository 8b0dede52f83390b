/** Taking stakes: any number of them in one transaction, each with an outcome of its own. */
import { Array as Arr, DateTime, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { binOf } from "../../../scoring/macro.ts"
import { decideStakes } from "../../../scoring/staking.ts"
import type { StakeDecision } from "../../../scoring/staking.ts"
import { wholeCredits } from "../../../services/Credits.ts"
import { Settings } from "../../../services/Settings.ts"
import { accountOf, makeTransfers } from "./transfers.ts"
import type { Transfer } from "./transfers.ts"
import { execute, findAll, transaction } from "../sql.ts"
import { insertStakes, lockPools, PoolRow, StandingRow, standings } from "./poolStatements.ts"
import type { PlacedStake, StakeItem, TakenStake } from "./poolStatements.ts"

type Refused = Exclude<StakeDecision, { readonly outcome: "taken" }>

export type StakeOutcome =
  | { readonly outcome: "unknown" | "void" }
  /** Another transaction holds the agent's account. */
  | { readonly outcome: "busy" }
  | { readonly outcome: "closed"; readonly deadline: DateTime.Utc }
  | (Refused & { readonly bin: number })
  | {
      readonly outcome: "taken"
      readonly bin: number
      readonly available: bigint
      readonly frozen: bigint
    }

/** Before the rules of the pool: whether there is one, and it is open. */
const beforeRules = (item: StakeItem, pool: PoolRow | undefined): StakeOutcome | undefined => {
  if (pool === undefined) return { outcome: "unknown" }
  if (pool.state === "void") return { outcome: "void" }
  return pool.state === "closed" || DateTime.isGreaterThanOrEqualTo(item.receivedAt, pool.deadline)
    ? { outcome: "closed", deadline: pool.deadline }
    : undefined
}

const frozenBy = ({ bin, item }: PlacedStake, pool: PoolRow): Transfer => ({
  id: `stake:${item.challengeId}:${item.agentId}`,
  kind: "pending",
  debit: accountOf({ kind: "agent", id: item.agentId }),
  credit: `pool:${item.challengeId}`,
  amount: item.stake.amount,
  reason: `stake on bin ${bin} of ${pool.target} ${pool.period}, challenge ${item.challengeId}`
})

interface Placed extends PlacedStake {
  readonly pool: PoolRow
}

export const makeTakeStakes = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const settings = yield* Settings
  const transfers = yield* makeTransfers
  const poolRows = findAll(PoolRow)
  const standingRows = findAll(StandingRow)
  const least = wholeCredits(settings.minStake)

  /** Those in open pools, by the rules: writes what is taken, and answers those whose account is free. */
  const takePlaced = Effect.fnUntraced(function* (placed: ReadonlyArray<Placed>) {
    if (placed.length === 0) return new Map<StakeItem, StakeOutcome>()
    let rows = yield* standingRows(standings(sql, placed))
    // Whoever locked an account sees what a claim has just paid into it, and not yet whose agent the claim made it: that needs
    // another statement, after the lock. Else the grant could be staked as if nobody owned the agent.
    if (rows.some(({ owner_id }) => owner_id === null)) rows = yield* standingRows(standings(sql, placed))
    const known = rows.flatMap((row) => {
      const each = placed[row.place - 1]
      return each === undefined ? [] : [[each, row] as const]
    })
    const decisions = decideStakes(
      known.map(([{ bin, item }, row]) => ({
        pool: item.challengeId,
        agent: item.agentId,
        owner: row.owner_id ?? item.agentId,
        bin,
        amount: item.stake.amount,
        predicted: row.predicted,
        staked: row.staked,
        available: row.available,
        held: row.held,
        heldByOwner: row.held_by_owner
      })),
      least
    )
    const taken: Array<TakenStake & Placed> = []
    const outcomes = new Map<StakeItem, StakeOutcome>()
    for (const [[each, row], decision] of Arr.zip(known, decisions)) {
      const { bin, item } = each
      if (decision.outcome !== "taken") {
        outcomes.set(item, { ...decision, bin })
        continue
      }
      taken.push({ ...each, ownerId: row.owner_id })
      const available = decision.availableAfter
      const frozen = row.frozen + row.available - available
      outcomes.set(item, { outcome: "taken", bin, available, frozen })
    }
    if (taken.length > 0) {
      yield* execute(insertStakes(sql, taken))
      yield* transfers
        .record(taken.map((each) => frozenBy(each, each.pool)))
        // A stake that has a transfer has a row, too.
        .pipe(Effect.catchTag("TransferDiffers", Effect.die))
    }
    return outcomes
  })

  return (items: ReadonlyArray<StakeItem>): Effect.Effect<ReadonlyArray<StakeOutcome>> =>
    transaction(sql)(
      Effect.gen(function* () {
        const rows = yield* poolRows(lockPools(sql, items))
        const pools = new Map(rows.map((row) => [row.id, row]))
        const refused = items.map((item) => beforeRules(item, pools.get(item.challengeId)))
        const placed = items.flatMap((item, place) => {
          const pool = pools.get(item.challengeId)
          return pool === undefined || refused[place] !== undefined
            ? []
            : [{ item, pool, bin: binOf(pool.bin_edges, item.stake.predicted_value) }]
        })
        const outcomes = yield* takePlaced(placed)
        const busy: StakeOutcome = { outcome: "busy" }
        return items.map((item, place) => refused[place] ?? outcomes.get(item) ?? busy)
      })
    )
})
