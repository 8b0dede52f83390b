/** Concurrent submissions: none is lost, none counts twice, and none slips past a deadline or a limit. */
import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Ref, Result, Schema } from "effect"
import { Audit } from "../../src/services/Audit.ts"
import { Arenas } from "../../src/services/Arenas.ts"
import type { AgentId } from "../../src/services/domain/ids.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import { breadth } from "../support/breadth.ts"
import { concurrently, codesOf, times } from "../support/concurrently.ts"
import { claimedAgent, claimedAgents, provisionalAgent } from "../support/agents.ts"
import {
  freshWeek,
  importQuotes,
  millisBefore,
  moveTo,
  newChallenge,
  plus,
  predict,
  settleDue
} from "../support/challenges.ts"
import { countOf, rowsOf } from "../support/database.ts"
import { firstPage } from "../support/paging.ts"
import { testServices } from "../support/services.ts"

const services = (largest: number) => layer(testServices({ AUSPEX_LARGEST_BATCH: String(largest) }))

type Sent = Parameters<typeof predict>[2]

const predictionsOf = (agentId: AgentId) =>
  countOf((sql) => sql`select count(*)::int as count from predictions where agent_id = ${agentId}::uuid`)

const usedBy = (agentId: AgentId) =>
  countOf((sql) => sql`select predictions_used as count from agents where id = ${agentId}::uuid`)

const countsOf = (challenge: { readonly id: string }) =>
  rowsOf(
    Schema.Struct({ kept: Schema.Array(Schema.Int), latest: Schema.Array(Schema.Int) }),
    (sql) => sql`
      select (select array[coalesce(sum(bullish), 0)::int, coalesce(sum(bearish), 0)::int, coalesce(sum(neutral), 0)::int]
                from prediction_counts where challenge_id = ${challenge.id}::uuid) as kept,
             (select array[count(*) filter (where direction = 'bullish')::int,
                           count(*) filter (where direction = 'bearish')::int,
                           count(*) filter (where direction = 'neutral')::int]
                from (select distinct on (agent_id) direction from predictions
                       where challenge_id = ${challenge.id}::uuid order by agent_id, revision desc) p) as latest`
  ).pipe(Effect.map((rows) => rows[0] ?? { kept: [], latest: [] }))

/** Runs the suite with one statement a submission, and with any number of submissions in a statement. */
const inBatches = (name: string, suite: Parameters<ReturnType<typeof services>>[1]) => {
  for (const largest of breadth([1, 500], [1, 2, 64, 500])) {
    services(largest)(`${name}, in batches of at most ${largest}`, suite)
  }
}

const directions = ["bullish", "bearish", "neutral"] as const
const directionAt = (index: number) => directions[index % 3] ?? "neutral"

inBatches("Submissions at once", (it) => {
  it.effect("Of 50 identical predictions at once one is recorded, and 49 are duplicates", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const challenge = yield* newChallenge()
      for (const agent of [yield* claimedAgent(), yield* provisionalAgent()]) {
        const results = yield* concurrently(times(50, () => predict(agent, challenge)))
        assert.strictEqual(results.filter(Result.isSuccess).length, 1)
        assert.deepStrictEqual(
          codesOf(results),
          times(49, () => "duplicate_prediction")
        )
        assert.strictEqual(yield* predictionsOf(agent), 1)
      }
      assert.deepStrictEqual(yield* countsOf(challenge), { kept: [2, 0, 0], latest: [2, 0, 0] })
    })
  )

  it.effect("All 50 revisions of one agent at once succeed with distinct numbers and exact counts", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const challenge = yield* newChallenge()
      const agent = yield* claimedAgent()
      const sent = times(50, (index): Sent => ({ direction: directionAt(index), is_revision: true }))
      const results = yield* concurrently(sent.map((each) => predict(agent, challenge, each)))
      assert.deepStrictEqual(codesOf(results), [])
      const revisions = results.filter(Result.isSuccess).map(({ success }) => success.answer.revision_count)
      assert.deepStrictEqual(
        revisions.sort((a, b) => a - b),
        times(50, (index) => index)
      )
      const { kept, latest } = yield* countsOf(challenge)
      assert.deepStrictEqual(kept, latest)
    })
  )

  it.effect("First predictions and revisions of 20 agents at once leave exact counts", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const challenge = yield* newChallenge()
      const agents = yield* claimedAgents(20)
      const submissions = times(5, (turn) =>
        agents.map((agent, index) =>
          predict(agent, challenge, { direction: directionAt(turn + index), is_revision: turn > 1 })
        )
      ).flat()
      yield* concurrently(submissions)
      const { kept, latest } = yield* countsOf(challenge)
      assert.deepStrictEqual(kept, latest)
      assert.strictEqual(
        kept.reduce((sum, each) => sum + each, 0),
        20
      )
    })
  )

  it.effect("Of 20 paper-trade signals of one agent at once one is recorded", () =>
    Effect.gen(function* () {
      const deadline = plus(yield* freshWeek, "1 hour")
      const challenge = yield* newChallenge()
      const agent = yield* provisionalAgent()
      yield* moveTo(deadline)
      const results = yield* concurrently(times(20, () => predict(agent, challenge)))
      assert.strictEqual(results.filter(Result.isSuccess).length, 1)
      assert.deepStrictEqual(
        codesOf(results),
        times(19, () => "rate_limited")
      )
      const { items } = yield* Arenas.use((arenas) => arenas.paperSignals(agent, challenge.id, firstPage))
      assert.strictEqual(items.length, 1)
    })
  )

  it.effect("Submissions before a concurrent cancellation stay, and later ones are refused", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const challenge = yield* newChallenge()
      const agents = yield* claimedAgents(30)
      const [early, late] = [agents.slice(0, 15), agents.slice(15)]
      const cancelled = Scoring.use((scoring) => scoring.void("directional", challenge.id, "A test."))
      const results = yield* Effect.all(
        [
          concurrently(early.map((agent) => predict(agent, challenge))),
          Effect.as(cancelled, []),
          concurrently(late.map((agent) => predict(agent, challenge)))
        ],
        { concurrency: "unbounded" }
      )
      const answers = results.flat()
      const accepted = answers.filter(Result.isSuccess).length
      assert.deepStrictEqual(
        codesOf(answers),
        times(30 - accepted, () => "challenge_cancelled")
      )
      const { kept } = yield* countsOf(challenge)
      assert.strictEqual(kept[0], accepted)
    })
  )
})

inBatches("The cap of a provisional agent", (it) => {
  it.effect("Of 40 predictions at once the cap admits exactly ten, and the refused ones leave no trace", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const agent = yield* provisionalAgent()
      const challenges = yield* Effect.replicateEffect(newChallenge(), 40)
      const results = yield* concurrently(challenges.map((challenge) => predict(agent, challenge)))
      assert.strictEqual(results.filter(Result.isSuccess).length, 10)
      assert.deepStrictEqual(
        codesOf(results),
        times(30, () => "provisional_limit")
      )
      assert.strictEqual(yield* predictionsOf(agent), 10)
      assert.strictEqual(yield* usedBy(agent), 10)
      assert.strictEqual(
        yield* countOf(
          (sql) => sql`select sum(bullish + bearish + neutral)::int as count from prediction_counts`
        ),
        10
      )
    })
  )

  it.effect("The provisional cap counts challenges: revisions and paper-trade signals are free", () =>
    Effect.gen(function* () {
      const deadline = plus(yield* freshWeek, "1 hour")
      const agent = yield* provisionalAgent()
      const closed = yield* newChallenge({ deadline })
      const challenges = yield* Effect.replicateEffect(
        newChallenge({ deadline: plus(deadline, "1 day") }),
        11
      )
      const [eleventh, ...firstTen] = challenges
      assert(eleventh !== undefined)
      yield* moveTo(deadline)
      for (const [index, challenge] of firstTen.entries()) {
        yield* predict(agent, challenge)
        yield* Effect.flip(predict(agent, challenge))
        yield* predict(agent, challenge, { is_revision: true })
        if (index === 0) yield* predict(agent, closed)
        assert.strictEqual(yield* usedBy(agent), index + 1)
      }
      const refused = yield* Effect.flip(predict(agent, eleventh, { is_revision: true }))
      assert.strictEqual(refused._tag, "ProvisionalLimit")
      assert.include("detail" in refused ? refused.detail : "", "10")
      // An agent at its cap can still revise its predictions, and send paper-trade signals.
      yield* moveTo(plus(deadline, "1 minute"))
      for (const challenge of firstTen) yield* predict(agent, challenge, { is_revision: true })
      yield* predict(agent, closed)
      assert.strictEqual(yield* usedBy(agent), 10)
    })
  )

  it.effect("The provisional cap ends with the claim", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const agent = yield* claimedAgent()
      const challenges = yield* Effect.replicateEffect(newChallenge(), 12)
      const results = yield* concurrently(challenges.map((challenge) => predict(agent, challenge)))
      assert.deepStrictEqual(codesOf(results), [])
    })
  )

  it.effect("The provisional cap is the one that the agent was promised at registration", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const agent = yield* provisionalAgent()
      const challenge = yield* newChallenge()
      yield* rowsOf(
        Schema.Unknown,
        (sql) => sql`update agents set prediction_limit = 0 where id = ${agent}::uuid`
      )
      const refused = yield* Effect.flip(predict(agent, challenge))
      assert.strictEqual(refused._tag, "ProvisionalLimit")
    })
  )
})

inBatches("Submissions at the moment of closing", (it) => {
  /** Every agent predicts, and revises twice, each stamped in time; some submissions arrive too late. */
  const submissionsOf = (
    agents: ReadonlyArray<AgentId>,
    challenge: { readonly id: string },
    answered: Effect.Effect<void>,
    stamp: Parameters<typeof predict>[3]
  ) =>
    Effect.forEach(
      times(3, () => agents).flat(),
      (agent, index) =>
        predict(agent, challenge, { direction: directionAt(index), is_revision: true }, stamp).pipe(
          Effect.result,
          Effect.tap(answered)
        ),
      { concurrency: "unbounded" }
    )

  /** A counter, and an effect that waits until it reaches `count`. */
  const reached = Effect.fnUntraced(function* (count: number) {
    const seen = yield* Ref.make(0)
    const done = yield* Deferred.make<void>()
    const tick = Effect.flatMap(
      Ref.updateAndGet(seen, (n) => n + 1),
      (n) => (n === count ? Effect.asVoid(Deferred.succeed(done, undefined)) : Effect.void)
    )
    return { tick, wait: Deferred.await(done) }
  })

  const recorded = (challenge: { readonly id: string }) =>
    countOf(
      (sql) => sql`select count(*)::int as count from predictions where challenge_id = ${challenge.id}::uuid`
    )

  /** Latest predictions of a challenge that are not scored exactly once, by exactly that revision. */
  const unscored = (challenge: { readonly id: string }) =>
    countOf(
      (sql) => sql`
        select count(*)::int as count
          from (select agent_id, max(revision) as revision from predictions
                 where challenge_id = ${challenge.id}::uuid group by agent_id) p
          full join (select agent_id, revision from prediction_scores where challenge_id = ${challenge.id}::uuid) s
            using (agent_id, revision)
         where p.agent_id is null or s.agent_id is null`
    )

  for (const answeredFirst of [1, 10, 40, 80]) {
    it.effect(
      `A submission in time never commits after the settlement: settled at ${answeredFirst} of 120 answers`,
      () =>
        Effect.gen(function* () {
          const deadline = plus(yield* freshWeek, "1 hour")
          const challenge = yield* newChallenge({ deadline })
          const agents = yield* claimedAgents(40)
          yield* moveTo(deadline)
          yield* importQuotes("GC", [[deadline, 110]])
          const { tick, wait } = yield* reached(answeredFirst)
          const submitting = yield* Effect.forkChild(
            submissionsOf(agents, challenge, tick, millisBefore(deadline, 1))
          )
          yield* wait
          yield* Effect.all([settleDue, settleDue, settleDue], { concurrency: "unbounded" })
          const whenSettled = yield* recorded(challenge)
          const late = yield* Effect.flip(
            predict(yield* claimedAgent(), challenge, {}, millisBefore(deadline, 1))
          )
          const answers = yield* Fiber.join(submitting)

          const counted = answers.filter(
            (each) => Result.isSuccess(each) && each.success.answer.counts_for_score
          )
          assert.strictEqual(late._tag, "NotRecordedInTime")
          assert.isAtLeast(counted.length, 1)
          assert.strictEqual(yield* recorded(challenge), whenSettled)
          assert.strictEqual(counted.length, whenSettled)
          assert.strictEqual(yield* unscored(challenge), 0)
          const { kept, latest } = yield* countsOf(challenge)
          assert.deepStrictEqual(kept, latest)
          assert.deepStrictEqual((yield* Audit.use(({ verifyStats }) => verifyStats)).differences, [])
        })
    )
  }

  it.effect("A submission stamped in time never commits after the close, long before the settlement", () =>
    Effect.gen(function* () {
      const deadline = plus(yield* freshWeek, "1 hour")
      const challenge = yield* newChallenge({ deadline, resolve_at: plus(deadline, "1 day") })
      const agents = yield* claimedAgents(40)
      yield* moveTo(plus(deadline, "15 seconds"))
      const { tick, wait } = yield* reached(20)
      const submitting = yield* Effect.forkChild(
        submissionsOf(agents, challenge, tick, millisBefore(deadline, 1))
      )
      yield* wait
      const report = yield* settleDue
      const whenClosed = yield* recorded(challenge)
      assert.strictEqual(report.closed, 1)
      yield* Fiber.join(submitting)
      assert.strictEqual(yield* recorded(challenge), whenClosed)
    })
  )
})
