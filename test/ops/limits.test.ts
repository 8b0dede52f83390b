import { assert, layer } from "@effect/vitest"
import { Clock, Effect, Exit, Fiber, Result } from "effect"
import { TestClock } from "effect/testing"
import { LimitReached, MetQuotas, OwedUses, RateLimiter } from "../../src/services/RateLimiter.ts"
import type { Quota, Use } from "../../src/services/RateLimiter.ts"
import type { AgentId } from "../../src/services/domain/ids.ts"
import { claimedAgent } from "../support/agents.ts"
import { newChallenge, predict } from "../support/challenges.ts"
import { times } from "../support/concurrently.ts"
import { comment, newEvent } from "../support/discussion.ts"
import { held, meeting } from "../support/locking.ts"
import { testServices } from "../support/services.ts"

const limits = testServices({
  AUSPEX_LIMIT_PREDICTIONS: "5/minute,8/hour",
  AUSPEX_LIMIT_COMMENTS: "5/minute",
  AUSPEX_LIMIT_REPLIES: "3000/minute",
  AUSPEX_LIMIT_REFUSED_WRITES: "4/minute",
  AUSPEX_LIMIT_GATEWAY_CALLS: "4/minute",
  AUSPEX_LIMIT_GATEWAY_AGENT_CALLS: "6/minute"
})

layer(limits)("Limits", (it) => {
  const take = (subject: string, limit: "predictions" | "comments" | "replies" = "predictions") =>
    RateLimiter.use((limiter) => limiter.consume(limit, subject)).pipe(Effect.result)

  const passes = (subject: string, limit: "predictions" | "comments" | "replies" = "predictions") =>
    Effect.map(take(subject, limit), Result.isSuccess)

  const write = (agentId: string) =>
    RateLimiter.use((limiter) => limiter.admitWrite(agentId, [["comments", agentId]]))

  it.effect("Limits let through exactly the limit of a burst of 40", () =>
    Effect.gen(function* () {
      const results = yield* Effect.all(
        times(40, () => take("burst")),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(results.filter(Result.isSuccess).length, 5)
    })
  )

  it.effect(
    "A use leaves its window after exactly 60 s: at 59.999 s there is no room, at 60 s there is",
    () =>
      Effect.gen(function* () {
        const started = yield* Clock.currentTimeMillis
        const at = (millis: number) => TestClock.setTime(started + millis)
        for (const second of [0, 1, 30, 59, 59.5]) {
          yield* at(second * 1000)
          assert.isTrue(yield* passes("exact", "comments"))
        }
        yield* at(59_999)
        const refused = yield* Effect.flip(RateLimiter.use((limiter) => limiter.consume("comments", "exact")))
        assert.strictEqual(refused.retry_after, 1)
        yield* at(60_000)
        assert.isTrue(yield* passes("exact", "comments"))
        // The second of the five uses leaves at 61 s.
        const next = yield* Effect.flip(RateLimiter.use((limiter) => limiter.consume("comments", "exact")))
        assert.strictEqual(next.retry_after, 1)
        yield* at(60_999)
        assert.isFalse(yield* passes("exact", "comments"))
        yield* at(61_000)
        assert.isTrue(yield* passes("exact", "comments"))
      })
  )

  it.effect("A caller is let through after retry_after seconds, and not one second before", () =>
    Effect.gen(function* () {
      yield* TestClock.adjust("10 minutes")
      yield* TestClock.adjust("7 seconds")
      for (let used = 0; used < 5; used++) assert.isTrue(Result.isSuccess(yield* take("patient")))
      const refused = yield* Effect.flip(
        RateLimiter.use((limiter) => limiter.consume("predictions", "patient"))
      )
      yield* TestClock.adjust(`${refused.retry_after - 1} seconds`)
      assert.isTrue(Result.isFailure(yield* take("patient")))
      yield* TestClock.adjust("1 second")
      assert.isTrue(Result.isSuccess(yield* take("patient")))
    })
  )

  it.effect("A caller is let through where every window has room, and retry_after is when all have", () =>
    Effect.gen(function* () {
      for (const wait of [0, 0, 0, 120, 0, 0, 0, 0]) {
        yield* TestClock.adjust(`${wait} seconds`)
        assert.isTrue(yield* passes("steady"))
      }
      const refused = Effect.flip(RateLimiter.use((limiter) => limiter.consume("predictions", "steady")))
      // Both windows are full, and a minute later the hour alone.
      assert.strictEqual((yield* refused).retry_after, 3480)
      yield* TestClock.adjust("60 seconds")
      assert.strictEqual((yield* refused).retry_after, 3420)
      yield* TestClock.adjust("3420 seconds")
      assert.isTrue(yield* passes("steady"))
    })
  )

  it.effect("A caller that one of its windows refuses is counted in none of them", () =>
    Effect.gen(function* () {
      const call = (key: string) =>
        RateLimiter.use((limiter) =>
          limiter.consumeAll([
            ["gateway_calls", key],
            ["gateway_agent_calls", "caller"]
          ])
        ).pipe(Effect.result, Effect.map(Result.isSuccess))
      const mixed = yield* Effect.all(
        times(20, (index) => call(index % 2 === 0 ? "one" : "other")),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(mixed.filter(Boolean).length, 6)
      yield* TestClock.adjust("1 minute")
      for (let used = 0; used < 4; used++) assert.isTrue(yield* call("one"))
      for (let again = 0; again < 9; again++) assert.isFalse(yield* call("one"))
      // The agent has used 4 of its 6.
      for (let used = 0; used < 2; used++) assert.isTrue(yield* call("other"))
      assert.isFalse(yield* call("other"))
      // The other key has used 2 of its 4.
      const otherAgent = RateLimiter.use((limiter) => limiter.consume("gateway_calls", "other"))
      yield* otherAgent
      yield* otherAgent
      assert.strictEqual((yield* Effect.flip(otherAgent)).retry_after, 60)
    })
  )

  it.effect("A use leaves a window of more than 1 000 uses up to a hundredth of it later", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(3_600_000 + 1)
      const results = yield* Effect.all(
        times(3010, () => take("many", "replies")),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(results.filter(Result.isSuccess).length, 3000)
      yield* TestClock.setTime(3_660_000 + 599)
      assert.isFalse(yield* passes("many", "replies"))
      yield* TestClock.setTime(3_660_000 + 600)
      assert.isTrue(yield* passes("many", "replies"))
    })
  )

  const poster = Effect.gen(function* () {
    const agentId = yield* claimedAgent()
    const event = yield* newEvent()
    const owed: ReadonlyArray<Use> = [["comments", agentId]]
    return { agentId, post: Effect.provideService(comment(agentId, event), OwedUses, owed) }
  })

  const isAccepted = (exit: Exit.Exit<unknown, unknown>) => {
    if (Exit.isSuccess(exit)) return true
    const [reason] = exit.cause.reasons
    assert.isTrue(reason?._tag === "Die" && reason.defect instanceof LimitReached)
    return false
  }

  it.effect("A write counts when it commits: another waits for it, and takes its place if it fails", () =>
    Effect.gen(function* () {
      for (const end of ["commit", "rollback"] as const) {
        const { agentId, post } = yield* poster
        for (let used = 0; used < 4; used++) yield* post
        const last = yield* held(post)
        yield* write(agentId)
        const waiting = yield* meeting(Effect.exit(post))
        yield* last[end]
        assert.strictEqual(isAccepted(yield* Fiber.join(waiting)), end === "rollback")
        assert.include((yield* Effect.flip(write(agentId))).detail, "comments")
      }
    })
  )

  it.effect("Limits refuse of writes that are recorded together only those without room", () =>
    Effect.gen(function* () {
      const challenge = yield* newChallenge()
      const agents = yield* Effect.all(times(4, () => claimedAgent()))
      const predicting = (agent: AgentId, revision = 0) =>
        predict(agent, challenge, { is_revision: revision > 0 }).pipe(
          Effect.provideService(OwedUses, [["predictions", agent]])
        )
      const [full, ...others] = agents
      assert(full !== undefined)
      yield* Effect.all(times(5, (used) => predicting(full, used)))
      const answers = yield* Effect.forEach(
        [...others, full],
        (agent) => Effect.exit(predicting(agent, agent === full ? 5 : 0)),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(answers.map(isAccepted), [true, true, true, false])
    })
  )

  it.effect("Limits refuse all writes of an agent once too many were refused, while that is so", () =>
    Effect.gen(function* () {
      const refuse = RateLimiter.use((limiter) => limiter.consume("refused_writes", "clumsy"))
      for (let again = 0; again < 4; again++) yield* refuse
      yield* Effect.flip(refuse)
      const refused = yield* Effect.flip(write("clumsy"))
      assert.include(refused.detail, "refused writes")
      assert.strictEqual(refused.retry_after, 60)
      yield* TestClock.adjust("59999 millis")
      yield* Effect.flip(write("clumsy"))
      yield* TestClock.adjust("1 millis")
      yield* write("clumsy")
    })
  )

  it.effect("Limits tell a request the quotas as they are after it", () =>
    Effect.gen(function* () {
      const met = new Map<string, Quota>()
      yield* Effect.provideService(take("told"), MetQuotas, met)
      assert.deepStrictEqual(Object.fromEntries(met), {
        predictions_minute: { count: 5, window: 60, remaining: 4, reset: 60 },
        predictions_hour: { count: 8, window: 3600, remaining: 7, reset: 3600 }
      })
    })
  )

  it.effect("Limits are neither emptied nor widened by a clock that lags behind another replica's", () =>
    Effect.gen(function* () {
      const boundary = 29_000_000 * 60_000
      const passed: Array<boolean> = []
      for (let turn = 0; turn < 100; turn++) {
        yield* TestClock.setTime(boundary + (turn % 2 === 0 ? 100 : -100))
        passed.push(Result.isSuccess(yield* take("drifting")))
      }
      assert.strictEqual(passed.filter(Boolean).length, 5)
    })
  )

  it.effect("Limits have windows that subjects do not share", () =>
    Effect.gen(function* () {
      for (const subject of ["a", "b", "c"]) assert.isTrue(Result.isSuccess(yield* take(subject)))
    })
  )

  it.effect("Windows that can refuse nothing any more are deleted, and only those", () =>
    Effect.gen(function* () {
      yield* TestClock.adjust("30 minutes")
      for (let used = 0; used < 8; used++) {
        yield* passes("kept")
        yield* TestClock.adjust("30 seconds")
      }
      yield* RateLimiter.use((limiter) => limiter.trim)
      assert.isFalse(yield* passes("kept"))
    })
  )
})
