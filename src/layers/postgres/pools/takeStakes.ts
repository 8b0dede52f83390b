/** Taking stakes: any number of them in one transaction, each with an outcome of its own. */
import { Array as Arr, DateTime, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { binOf } from "../../../scoring/macro.ts"
import { decideStakes } from "../../../scoring/staking.ts"
import type { StakeDecision } from "../../../scoring/staking.ts"
import { wholeCredits } from "../../../services/Credits.ts"
import { Settings } from "../../../services/Settings.ts"
import { accountOf, makeTransfers } from "../credits/transfers.ts"
import type { Transfer } from "../credits/transfers.ts"
import { many, orDefect, run } from "../query.ts"
import { insertStakes, lockPools, PoolRow, StandingRow, standings } from "./statements.ts"
import type { PlacedStake, StakeItem, TakenStake } from "./statements.ts"

type Refused = Exclude<StakeDecision, { readonly outcome: "taken" }>

export type StakeOutcome =
  | { readonly outcome: "unknown" | "void" }
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
  const poolRows = many(PoolRow)
  const standingRows = many(StandingRow)
  const least = wholeCredits(settings.minStake)

  /** Those in open pools, by the rules: writes what is taken, and answers each at its place. */
  const takePlaced = Effect.fnUntraced(function* (placed: ReadonlyArray<Placed>) {
    if (placed.length === 0) return []
    const rows = yield* standingRows(standings(sql, placed))
    if (rows.length < placed.length) {
      return yield* Effect.die(new Error("a stake of an agent without an account"))
    }
    const known = Arr.zip(placed, rows)
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
    const outcomes = Arr.zip(known, decisions).map(([[each, row], decision]): StakeOutcome => {
      const { bin } = each
      if (decision.outcome !== "taken") return { ...decision, bin }
      taken.push({ ...each, ownerId: row.owner_id })
      const available = decision.availableAfter
      return { outcome: "taken", bin, available, frozen: row.frozen + row.available - available }
    })
    if (taken.length > 0) {
      yield* run(insertStakes(sql, taken))
      yield* transfers
        .record(taken.map((each) => frozenBy(each, each.pool)))
        // A stake that has a transfer has a row, too.
        .pipe(Effect.catchTag("TransferDiffers", Effect.die))
    }
    return outcomes
  })

  return (items: ReadonlyArray<StakeItem>): Effect.Effect<ReadonlyArray<StakeOutcome>> =>
    sql
      .withTransaction(
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
          const decided = yield* takePlaced(placed)
          const outcomes = new Map(Arr.zip(placed, decided).map(([{ item }, outcome]) => [item, outcome]))
          return items.flatMap((item, place) => refused[place] ?? outcomes.get(item) ?? [])
        })
      )
      .pipe(orDefect)
})
