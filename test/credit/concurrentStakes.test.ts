/** Concurrent stakes: no bin, balance or deadline is broken, on one replica or on two, in batches or alone. */
import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Random, Result, Array as Arr, Context, Layer } from "effect"
import { Audit } from "../../src/services/Audit.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import { Pools } from "../../src/services/Pools.ts"
import * as PoolsOnPostgres from "../../src/layers/postgres/credit/Pools.ts"
import { decideStakes } from "../../src/scoring/staking.ts"
import { breadth } from "../support/breadth.ts"
import { concurrently, codesOf, times } from "../support/concurrently.ts"
import { forecast, freshWeek, millisBefore, moveTo, newMacro, plus } from "../support/challenges.ts"
import { credits, stateOf, oddsOf, stake, stakeFindings, staker, stakers } from "../support/credit.ts"
import { countOf } from "../support/database.ts"
import { sampledWhile } from "../support/ledgerWorkload.ts"
import { testServices } from "../support/services.ts"
import { settings } from "../support/settings.ts"

/** Another replica's pools: the same database, nothing else in common. */
const replica = (environment: Readonly<Record<string, string>> = {}) =>
  Effect.map(
    Layer.build(Layer.fresh(PoolsOnPostgres.layer).pipe(Layer.provide(settings(environment)))),
    (context) => Context.get(context, Pools)
  )

/** Runs an effect after this many turns of other fibers. */
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
  const stake = { amount: anAmount, turns: Random.nextIntBetween(0, 30) }
  return { held, pair: [yield* Effect.all(stake), yield* Effect.all(stake)] as const }
})

/** The stakes of each round; one seed always gives the same, whatever else draws at random meanwhile. */
const drawn = (rounds: number, seed: number) =>
  Effect.replicateEffect(drawnRound, rounds).pipe(Random.withSeed(seed))

type Round = Effect.Success<typeof drawnRound>

/** The number of stakes of a round that are taken in this order. */
const takenInOrder = (held: number, amounts: ReadonlyArray<number>): number =>
  decideStakes(
    amounts.map((amount, index) => ({
      pool: "pool",
      agent: String(index),
      holder: String(index),
      bin: 0,
      amount: BigInt(amount),
      predicted: true,
      staked: false,
      available: BigInt(amount),
      held: BigInt(held),
      heldByHolder: 0n
    })),
    1n
  ).filter(({ outcome }) => outcome === "taken").length

/** The numbers of stakes taken if every round goes in the order that takes fewest, or most. */
const boundsOf = (rounds: ReadonlyArray<Round>) => {
  const either = rounds.map(({ held, pair: [one, other] }) => [
    takenInOrder(held, [one.amount, other.amount]),
    takenInOrder(held, [other.amount, one.amount])
  ])
  const sum = (pick: (...taken: ReadonlyArray<number>) => number) =>
    either.reduce((total, taken) => total + pick(...taken), 0)
  return { fewest: sum(Math.min), most: sum(Math.max) }
}

/**
 * Each round is a pool, empty or with one stake, on which two agents stake at once. Both can be taken or one, or none
 * that is more than the existing stake: the order decides which, and the replay of `stakeFindings` whether it was right.
 */
const interleavings = Effect.fnUntraced(function* (
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

const takenOf = (results: ReadonlyArray<Result.Result<unknown, unknown>>) =>
  results.filter(Result.isSuccess).length

const whole = Effect.gen(function* () {
  assert.deepStrictEqual((yield* stakeFindings).findings, [])
  const { differences } = yield* Audit.use(({ verifyLedger }) => verifyLedger)
  assert.deepStrictEqual(differences, [])
})

/** In any order at least 20, or 50, stakes of these draws are taken; other seeds can give fewer. */
const seed = 2

const assertTaken = (outcomes: ReadonlyMap<string, number>, rounds: Parameters<typeof boundsOf>[0]) => {
  const { fewest, most } = boundsOf(rounds)
  assert.isAtLeast(fewest, breadth(20, 50))
  const taken = outcomes.get("taken") ?? 0
  assert.isAtLeast(taken, fewest)
  assert.isAtMost(taken, most)
}

for (const largest of ["1", "500"]) {
  layer(testServices({ AUSPEX_LARGEST_BATCH: largest }))(
    `Stakes at once, in batches of at most ${largest}`,
    (it) => {
      it.effect("Two concurrent stakes never break the 50 % rule, in random interleavings", () =>
        Effect.gen(function* () {
          const rounds = yield* drawn(breadth(20, 50), seed)
          const { findings, outcomes, samples } = yield* interleavings(rounds, [])
          assert.deepStrictEqual(findings, [])
          assertTaken(outcomes, rounds)
          assert.isAtLeast(outcomes.get("bin_concentration") ?? 0, breadth(2, 5))
          assert.isAtLeast(samples, 5)
          yield* whole
        })
      )

      it.effect("Of 60 stakes with credit for 20 exactly 20 are taken, and no credit is lost", () =>
        Effect.gen(function* () {
          yield* freshWeek
          const agent = yield* staker(1000)
          const challenges = yield* Effect.replicateEffect(newMacro(), 60, { concurrency: 8 })
          yield* Effect.forEach(challenges, (challenge) => forecast(agent, challenge), { concurrency: 8 })
          const { done, findings, samples } = yield* sampledWhile(
            concurrently(challenges.map((challenge) => stake(agent, challenge, 50)))
          )
          assert.deepStrictEqual(findings, [])
          assert.isAtLeast(samples, 1)
          assert.strictEqual(takenOf(done), 20)
          assert.deepStrictEqual(
            codesOf(done),
            times(40, () => "insufficient_credit")
          )
          assert.deepStrictEqual(yield* stateOf(`agent:${agent}`), {
            posted: credits(1000),
            held: credits(1000)
          })
          // Each answer had its own remainder, and no two the same.
          const left = done.filter(Result.isSuccess).map(({ success }) => success.available)
          assert.strictEqual(new Set(left).size, 20)
          yield* whole
        })
      )

      it.effect("Of 20 stakes of one agent in one pool one is taken", () =>
        Effect.gen(function* () {
          yield* freshWeek
          const challenge = yield* newMacro()
          const [agent] = yield* stakers(challenge, 1, 5000)
          assert(agent !== undefined)
          const results = yield* concurrently(
            times(20, (index) => stake(agent, challenge, 50, 3 + index / 100))
          )
          assert.strictEqual(takenOf(results), 1)
          assert.deepStrictEqual(
            codesOf(results),
            times(19, () => "already_staked")
          )
          assert.deepInclude(yield* oddsOf(challenge), { total: credits(50), stakers: 1 })
          yield* whole
        })
      )

      it.effect("Stakes of many agents on many pools are each decided as if alone", () =>
        Effect.gen(function* () {
          yield* freshWeek
          const challenges = yield* Effect.replicateEffect(newMacro(), 5, { concurrency: 5 })
          const agents = yield* Effect.replicateEffect(staker(150), 20, { concurrency: 8 })
          const all = agents.flatMap((agent) => challenges.map((challenge) => ({ agent, challenge })))
          yield* Effect.forEach(all, ({ agent, challenge }) => forecast(agent, challenge), { concurrency: 8 })
          const results = yield* concurrently(all.map(({ agent, challenge }) => stake(agent, challenge, 50)))
          // Each of 20 agents has credit for three of five.
          assert.strictEqual(takenOf(results), 60)
          assert.deepStrictEqual(new Set(codesOf(results)), new Set(["insufficient_credit"]))
          yield* whole
        })
      )

      it.effect("Stakes that race the close are in before it, or rejected", () =>
        Effect.gen(function* () {
          const now = yield* freshWeek
          const deadline = plus(now, "1 hour")
          const challenge = yield* newMacro({ deadline })
          const agents = yield* stakers(challenge, 40, 50)
          yield* moveTo(plus(deadline, "10 seconds"))
          const stamp = millisBefore(deadline, 1)
          const staking = (from: number, to: number) =>
            concurrently(agents.slice(from, to).map((agent) => stake(agent, challenge, 50, 3.1, stamp)))
          const taken = countOf(
            (sql) => sql`select count(*)::int as count from stakes where challenge_id = ${challenge.id}::uuid`
          )
          const before = yield* staking(0, 10)
          const closing = yield* Effect.forkChild(
            Effect.andThen(
              Scoring.use((scoring) => scoring.resolveMacro(challenge.id, 3.1)),
              taken
            )
          )
          const racing = [yield* staking(10, 20), yield* staking(20, 30)].flat()
          const atTheClose = yield* Fiber.join(closing)
          const after = yield* staking(30, 40)
          assert.deepStrictEqual([takenOf(before), takenOf(after)], [10, 0])
          assert.strictEqual(10 + takenOf(racing), atTheClose)
          assert.isTrue(codesOf([...racing, ...after]).every((code) => code === "not_recorded_in_time"))
          assert.strictEqual(yield* taken, atTheClose)
          yield* whole
        })
      )
    }
  )
}

layer(testServices())("Stakes on two replicas at once", (it) => {
  it.effect("Stakes on two replicas never break the 50 % rule, in random interleavings", () =>
    Effect.gen(function* () {
      const rounds = yield* drawn(breadth(20, 500), breadth(seed, yield* Random.nextInt))
      const replicas = [
        yield* Pools,
        yield* replica({ AUSPEX_LARGEST_BATCH: "1" }),
        yield* replica()
      ] as const
      const [one, other, third] = replicas
      const pairs = breadth(
        [[one, third]],
        [
          [one, other],
          [other, third],
          [one, third]
        ]
      )
      for (const pair of pairs) {
        const { findings, outcomes } = yield* interleavings(rounds, pair)
        assert.deepStrictEqual(findings, [])
        assertTaken(outcomes, rounds)
        assert.isAtLeast(outcomes.get("bin_concentration") ?? 0, breadth(2, 50))
      }
      yield* whole
    })
  )

  it.effect("Of an agent's stakes in one pool on two replicas one is taken", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const challenge = yield* newMacro()
      const [agent] = yield* stakers(challenge, 1, 5000)
      assert(agent !== undefined)
      const replicas = [yield* Pools, yield* replica()]
      const results = yield* concurrently(
        replicas.flatMap((pools) =>
          times(10, () => Effect.provideService(stake(agent, challenge, 50), Pools, pools))
        )
      )
      assert.strictEqual(takenOf(results), 1)
      assert.deepStrictEqual(new Set(codesOf(results)), new Set(["already_staked"]))
      yield* whole
    })
  )

  it.effect("Stakes never wait for each other in a ring, whichever pools and agents they share", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const challenges = yield* Effect.replicateEffect(newMacro(), 10, { concurrency: 8 })
      const agents = yield* Effect.replicateEffect(staker(1000), 10, { concurrency: 8 })
      const all = agents.flatMap((agent) => challenges.map((challenge) => ({ agent, challenge })))
      yield* Effect.forEach(all, ({ agent, challenge }) => forecast(agent, challenge), { concurrency: 8 })
      const here = yield* Pools
      const replicas = [here, yield* replica(), yield* replica({ AUSPEX_LARGEST_BATCH: "3" })]
      const results = yield* concurrently(
        all.map(({ agent, challenge }, index) =>
          Effect.provideService(stake(agent, challenge, 50 + (index % 7)), Pools, replicas[index % 3] ?? here)
        )
      )
      // The number depends on the order in which they come.
      assert.isAtLeast(takenOf(results), 40)
      assert.isTrue(codesOf(results).every((code) => code === "bin_concentration"))
      yield* whole
    })
  )
})
