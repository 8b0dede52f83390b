/** Two agents that stake at once, again and again, on whichever replica; while somebody looks at the ledger all the time. */
import { Array as Arr, Context, Effect, Layer, Random, Result } from "effect"
import * as PoolsOnPostgres from "../../src/layers/postgres/credit/Pools.ts"
import { decideStakes } from "../../src/scoring/staking.ts"
import { Pools } from "../../src/services/Pools.ts"
import { concurrently, codesOf, times } from "./concurrently.ts"
import { forecast, freshWeek, newMacro } from "./builders.ts"
import { sampledWhile } from "./ledgerWorkload.ts"
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

const anAmount = Random.nextIntBetween(50, 200)

const drawnRound = Effect.gen(function* () {
  const held = (yield* Random.nextBoolean) ? yield* anAmount : 0
  const asked = { amount: anAmount, turns: Random.nextIntBetween(0, 30) }
  return { held, pair: [yield* Effect.all(asked), yield* Effect.all(asked)] as const }
})

/** What is asked in each round; of one seed always the same, whatever else draws at random meanwhile. */
export const drawn = (rounds: number, seed: number) =>
  Effect.replicateEffect(drawnRound, rounds).pipe(Random.withSeed(seed))

type Round = Effect.Success<typeof drawnRound>

/** How many of a round are taken in this order. */
const takenOf = (held: number, amounts: ReadonlyArray<number>): number =>
  decideStakes(
    amounts.map((amount, index) => ({
      pool: "pool",
      agent: String(index),
      owner: String(index),
      bin: 0,
      amount: BigInt(amount),
      predicted: true,
      staked: false,
      available: BigInt(amount),
      held: BigInt(held),
      heldByOwner: 0n
    })),
    1n
  ).filter(({ outcome }) => outcome === "taken").length

/** How many are taken if every round goes in the order that takes fewest, or most. */
export const boundsOf = (rounds: ReadonlyArray<Round>) => {
  const either = rounds.map(({ held, pair: [one, other] }) => [
    takenOf(held, [one.amount, other.amount]),
    takenOf(held, [other.amount, one.amount])
  ])
  const sum = (pick: (...taken: ReadonlyArray<number>) => number) =>
    either.reduce((total, taken) => total + pick(...taken), 0)
  return { fewest: sum(Math.min), most: sum(Math.max) }
}

/**
 * Each round is a pool, empty or with somebody's stake, on which two agents stake at once. Both can be taken or one, or
 * none of what is more than somebody's: which of them is for the order to say, and the replay of `stakeFindings` for
 * whether it was right.
 */
export const interleavings = Effect.fnUntraced(function* (
  rounds: ReadonlyArray<Round>,
  replicas: ReadonlyArray<Pools["Service"]>
) {
  yield* freshWeek
  const crowd = yield* staker(1_000_000)
  const agents = [yield* staker(1_000_000), yield* staker(1_000_000)] as const
  const outcomes = new Map<string, number>()
  const counted = (outcome: string) => outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
  const play = Effect.fnUntraced(function* ({ held, pair }: Round) {
    const challenge = yield* newMacro()
    yield* Effect.forEach([crowd, ...agents], (agent) => forecast(agent, challenge), { concurrency: 3 })
    if (held > 0) yield* stake(crowd, challenge, held)
    const here = yield* Pools
    const results = yield* concurrently(
      Arr.zipWith(agents, pair, (agent, { amount, turns }) => ({ agent, amount, turns })).map(
        ({ agent, amount, turns }, place) =>
          after(
            turns,
            Effect.provideService(
              stake(agent, challenge, amount),
              Pools,
              replicas[place % replicas.length] ?? here
            )
          )
      )
    )
    for (const code of codesOf(results)) counted(code)
    for (const _ of results.filter(Result.isSuccess)) counted("taken")
  })
  const { findings, samples } = yield* sampledWhile(Effect.forEach(rounds, play, { discard: true }))
  const played = yield* stakeFindings
  return { outcomes, samples, stakes: played.stakes, findings: [...findings, ...played.findings] }
})
