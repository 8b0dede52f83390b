/** Two agents that stake at once, again and again, on whichever replica; while somebody looks at the ledger all the time. */
import { Context, Effect, Layer, Random, Result } from "effect"
import * as PoolsOnPostgres from "../../src/layers/postgres/Pools.ts"
import { Pools } from "../../src/services/Pools.ts"
import { atOnce, codesOf, times } from "./atOnce.ts"
import { forecast, freshWeek, newMacro } from "./builders.ts"
import { sampledWhile } from "./ledgerPlay.ts"
import { settings } from "./settings.ts"
import { stake, stakeFindings, staker } from "./stakes.ts"

/** Another replica's pools: the same database, nothing else in common. */
export const replica = (environment: Readonly<Record<string, string>> = {}) =>
  Effect.map(
    Layer.build(Layer.fresh(PoolsOnPostgres.layer).pipe(Layer.provide(settings(environment)))),
    (context) => Context.get(context, Pools)
  )

/** After so many turns of other fibers. */
const after = <A, E, R>(turns: number, effect: Effect.Effect<A, E, R>) =>
  Effect.andThen(
    Effect.forEach(
      times(turns, () => undefined),
      () => Effect.yieldNow,
      { discard: true }
    ),
    effect
  )

/**
 * Each round is a pool, empty or with somebody's stake, on which two agents stake at once. Both can be taken or one:
 * which of them is for the order to say, and the replay of `stakeFindings` for whether it was right.
 */
export const interleavings = Effect.fnUntraced(function* (
  rounds: number,
  replicas: ReadonlyArray<Pools["Service"]>
) {
  yield* freshWeek
  const crowd = yield* staker(1_000_000)
  const pair = [yield* staker(1_000_000), yield* staker(1_000_000)] as const
  const outcomes = new Map<string, number>()
  const counted = (outcome: string) => outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
  const round = Effect.gen(function* () {
    const challenge = yield* newMacro()
    yield* Effect.forEach([crowd, ...pair], (agent) => forecast(agent, challenge), { concurrency: 3 })
    const held = (yield* Random.nextBoolean) ? yield* Random.nextIntBetween(50, 200) : 0
    if (held > 0) yield* stake(crowd, challenge, held)
    const asked = yield* Effect.forEach(
      pair,
      Effect.fnUntraced(function* (agent, place) {
        const amount = yield* Random.nextIntBetween(50, 200)
        const turns = yield* Random.nextIntBetween(0, 30)
        return { agent, amount, turns, pools: replicas[place % replicas.length] ?? (yield* Pools) }
      })
    )
    const results = yield* atOnce(
      asked.map(({ agent, amount, pools, turns }) =>
        after(turns, Effect.provideService(stake(agent, challenge, amount), Pools, pools))
      )
    )
    for (const code of codesOf(results)) counted(code)
    for (const _ of results.filter(Result.isSuccess)) counted("taken")
  })
  const { findings, samples } = yield* sampledWhile(
    Effect.forEach(
      times(rounds, () => undefined),
      () => round,
      { discard: true }
    )
  )
  const played = yield* stakeFindings
  return { outcomes, samples, stakes: played.stakes, findings: [...findings, ...played.findings] }
})
