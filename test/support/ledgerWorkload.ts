/** Concurrent writers with random operations on the same few accounts, under constant observation. */
import { Effect, Fiber, Random, Result, Schema } from "effect"
import type { Transfer } from "../../src/layers/postgres/credit/transfers.ts"
import { times } from "./concurrently.ts"
import { someOperator } from "./agents.ts"
import { creditFindings, credits, fund, fundedAccounts, ledgerFindings, record, ruleOf } from "./credit.ts"
import { rowsOf } from "./database.ts"

export const revenue = "gateway_revenue"

let numbers = 0
export const transfer = (fields: Partial<Transfer> & Pick<Transfer, "debit" | "credit">): Transfer => {
  numbers += 1
  return { id: `test:${numbers}`, kind: "post", amount: credits(1), reason: "a test", ...fields }
}

export const end = (kind: "post" | "void", pending: Transfer, fields: Partial<Transfer> = {}): Transfer =>
  transfer({
    debit: pending.debit,
    credit: pending.credit,
    amount: pending.amount,
    kind,
    pendingId: pending.id,
    ...fields
  })

/** Repeats a check while other work runs, and returns the number of checks and the findings. */
export const sampledWhile = Effect.fnUntraced(function* <A, E, R>(work: Effect.Effect<A, E, R>) {
  const state = { goesOn: true, samples: 0, findings: new Set<string>() }
  const sampling = Effect.gen(function* () {
    while (state.goesOn) {
      for (const finding of yield* creditFindings) state.findings.add(finding)
      state.samples += 1
    }
  })
  const sampler = yield* Effect.forkChild(sampling)
  const done = yield* work
  state.goesOn = false
  yield* Fiber.join(sampler)
  return { done, samples: state.samples, findings: [...state.findings] }
})

/** The operations of random writers, with their shares. */
const plays = ["transfer", "pend", "pend", "end", "end", "end", "replay", "batch"] as const

/** One writer among many; any writer may end its pending transfers. */
const player = Effect.fnUntraced(function* (
  accounts: ReadonlyArray<string>,
  turns: number,
  shared: {
    readonly pendings: Array<Transfer>
    readonly recorded: Array<Transfer>
    readonly rejected: Map<string, number>
  }
) {
  const some = Random.choice(accounts)
  const amount = Effect.map(Random.nextIntBetween(1, 4_000_000), BigInt)
  const fresh = Effect.fnUntraced(function* (kind: Transfer["kind"]) {
    const debit = yield* some
    const credit = yield* Random.choice(accounts.filter((account) => account !== debit))
    return transfer({ kind, debit, credit, amount: yield* amount })
  })
  const nextTransfers = Effect.gen(function* () {
    const play = yield* Random.choice(plays)
    const pending = shared.pendings[yield* Random.nextIntBetween(0, Math.max(1, shared.pendings.length))]
    const earlier = shared.recorded[yield* Random.nextIntBetween(0, Math.max(1, shared.recorded.length))]
    if (play === "pend") return [yield* fresh("pending")]
    if (play === "replay" && earlier !== undefined) return [earlier]
    if (play === "batch") return yield* Effect.replicateEffect(fresh("post"), 4)
    if (play === "end" && pending !== undefined) {
      // The amount is a part, the whole, or more than there is.
      const part = BigInt(yield* Random.nextIntBetween(1, 6))
      const posted = (pending.amount * part) / 4n
      return [
        yield* Random.choice([
          end("void", pending),
          end("post", pending, { amount: posted < 1n ? 1n : posted })
        ])
      ]
    }
    return [yield* fresh("post")]
  })
  for (let turn = 0; turn < turns; turn++) {
    const transfers = yield* nextTransfers
    const outcome = yield* Effect.result(record(...transfers))
    if (Result.isFailure(outcome)) {
      const rule = ruleOf(outcome.failure)
      shared.rejected.set(rule, (shared.rejected.get(rule) ?? 0) + 1)
      continue
    }
    shared.recorded.push(...transfers)
    shared.pendings.push(...transfers.filter(({ kind }) => kind === "pending"))
  }
})

/** The constraints that may reject such writers; anything else is a fault. */
export const rejections = ["accounts_covered", "transfers_fit_pending", "transfers_resolved_once"] as const

/** Runs to the end, and returns the operations and all faults, during the run or at the end. */
export const runLedgerWorkload = Effect.fnUntraced(function* (options: {
  readonly seed: number
  readonly players: number
  readonly turns: number
}) {
  const agents = yield* fundedAccounts(6, 5)
  const owner = `owner:${yield* someOperator}`
  yield* fund(owner, 5)
  const accounts = [...agents, owner, revenue]
  const shared = {
    pendings: new Array<Transfer>(),
    recorded: new Array<Transfer>(),
    rejected: new Map<string, number>()
  }
  const players = times(options.players, (index) =>
    player(accounts, options.turns, shared).pipe(Random.withSeed(`${options.seed}:${index}`))
  )
  const { findings, samples } = yield* sampledWhile(
    Effect.all(players, { concurrency: "unbounded", discard: true })
  )
  const differences = yield* ledgerFindings
  const stored = yield* rowsOf(
    Schema.Struct({ id: Schema.String }),
    (sql) => sql`select id from transfers where id like 'test:%'`
  )
  const known = new Set(stored.map(({ id }) => id))
  const foreign = [...shared.rejected.keys()].filter((rule) => !rejections.some((each) => each === rule))
  return {
    samples,
    recorded: shared.recorded.length,
    rejected: shared.rejected,
    violations: [
      ...findings,
      ...differences,
      ...foreign.map((rule) => `rejected by ${rule}`),
      ...shared.recorded.filter(({ id }) => !known.has(id)).map(({ id }) => `lost: ${id}`)
    ]
  }
})
