/** Waits between stakes and other work, and the constraints of the database on stakes. */
import { Arenas } from "../../src/services/Arenas.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import type { AgentId } from "../../src/services/domain/ids.ts"
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Fiber, Predicate, Result } from "effect"
import { SqlClient } from "effect/sql"
import { anOperator, claimable, claimWithCode } from "../support/agents.ts"
import { forecast, freshWeek, millisBefore, moveTo, newMacro, plus } from "../support/challenges.ts"
import { credits, fund, stateOf, oddsOf, stake, staker, stakers } from "../support/credit.ts"
import { deadlocks } from "../support/database.ts"
import { held, meeting } from "../support/locking.ts"
import { testServices } from "../support/services.ts"

/** An open challenge that agents with credit have predicted. */
const scene = Effect.gen(function* () {
  const deadline = plus(yield* freshWeek, "1 hour")
  const challenge = yield* newMacro({ deadline })
  const [first, second] = yield* stakers(challenge, 2, 100)
  assert(first !== undefined && second !== undefined)
  return { challenge, deadline, first, second, inTime: millisBefore(deadline, 1) }
})

const codeOf = (...parameters: Parameters<typeof stake>) =>
  Effect.map(Effect.flip(stake(...parameters)), ({ code }) => code)

layer(testServices())("A stake under way", (it) => {
  it.effect("A stake under way holds up the next one of its pool, which is then decided with it", () =>
    Effect.gen(function* () {
      const { challenge, first, second } = yield* scene
      const staking = yield* held(stake(first, challenge, 50))
      const next = yield* meeting(codeOf(second, challenge, 51))
      yield* staking.commit
      assert.strictEqual(yield* Fiber.join(next), "bin_concentration")
      yield* stake(second, challenge, 50)
    })
  )

  it.effect("A failed stake leaves nothing, and the next one is the first into its bin", () =>
    Effect.gen(function* () {
      const { challenge, first, second } = yield* scene
      const staking = yield* held(stake(first, challenge, 50))
      const next = yield* meeting(stake(second, challenge, 100))
      yield* staking.rollback
      yield* Fiber.join(next)
      assert.deepInclude(yield* oddsOf(challenge), { total: credits(100), stakers: 1 })
      assert.strictEqual((yield* stateOf(`agent:${first}`)).held, 0n)
    })
  )

  it.effect("A stake under way holds up no forecast, no stake in another pool and no read of odds", () =>
    Effect.gen(function* () {
      const { challenge, first, second } = yield* scene
      const other = yield* newMacro({ period: "2026-04" })
      yield* forecast(second, other)
      const staking = yield* held(stake(first, challenge, 50))
      yield* forecast(second, challenge)
      yield* stake(second, other, 50)
      assert.strictEqual((yield* oddsOf(challenge)).stakers, 0)
      yield* staking.commit
    })
  )

  it.effect("The resolver waits for a stake under way", () =>
    Effect.gen(function* () {
      const { challenge, deadline, first, inTime } = yield* scene
      yield* moveTo(plus(deadline, "10 seconds"))
      const staking = yield* held(stake(first, challenge, 50, 3.1, inTime))
      yield* moveTo(plus(deadline, "1 minute"))
      const resolving = yield* meeting(Scoring.use((scoring) => scoring.resolveMacro(challenge.id, 3.1)))
      yield* staking.commit
      assert.strictEqual((yield* Fiber.join(resolving)).status, "resolved")
      assert.strictEqual((yield* oddsOf(challenge)).stakers, 1)
    })
  )
})

layer(testServices({ AUSPEX_POOL_OWNER_RULE: "on" }))("A stake during the claim of its agent", (it) => {
  it.effect("A stake gets the claim's grant only as one of its owner's agents, which count as one", () =>
    Effect.gen(function* () {
      const challenge = yield* newMacro({ deadline: plus(yield* freshWeek, "1 hour") })
      const owner = yield* anOperator
      const first = yield* staker(100, owner)
      const { agentId, code, token } = yield* claimable()
      for (const agent of [first, agentId]) yield* forecast(agent, challenge)
      yield* stake(first, challenge, 50)
      const claiming = yield* held(claimWithCode(token, code, owner))
      const staking = yield* meeting(codeOf(agentId, challenge, 50))
      yield* claiming.commit
      assert.strictEqual(yield* Fiber.join(staking), "bin_concentration")
    })
  )

  it.effect("A stake comes before the claim of its agent, or after it", () =>
    Effect.gen(function* () {
      const challenge = yield* newMacro({ deadline: plus(yield* freshWeek, "1 hour") })
      const { agentId, code, token } = yield* claimable()
      yield* forecast(agentId, challenge)
      yield* fund(`agent:${agentId}`, 50)
      const staking = yield* held(stake(agentId, challenge, 50))
      const claiming = yield* meeting(claimWithCode(token, code, yield* anOperator))
      yield* staking.commit
      yield* Fiber.join(claiming)
      assert.deepStrictEqual(yield* stateOf(`agent:${agentId}`), { posted: credits(550), held: credits(50) })
    })
  )
})

layer(testServices())("Stakes on accounts that a long transaction holds", (it) => {
  it.effect("Held-up stakes wait by themselves: neither their pools nor other agents wait with them", () =>
    Effect.gen(function* () {
      const deadline = plus(yield* freshWeek, "1 hour")
      const pools = yield* Effect.replicateEffect(newMacro({ deadline }), 8)
      const free = yield* staker(1000)
      const blocked = yield* Effect.forEach(pools, (pool) =>
        Effect.gen(function* () {
          const agent = yield* staker(1000)
          for (const each of [agent, free]) yield* forecast(each, pool)
          return { agent, pool }
        })
      )
      // The settlement of a large pool holds accounts in this way.
      const settling = yield* held(
        Effect.forEach(blocked, ({ agent }) => fund(`agent:${agent}`, 1), { discard: true })
      )
      const waiting = yield* Effect.forEach(blocked, ({ agent, pool }) =>
        Effect.forkChild(stake(agent, pool, 50))
      )
      for (const pool of pools) yield* stake(free, pool, 50)
      yield* settling.commit
      for (const each of waiting) assert.strictEqual((yield* Fiber.join(each)).amount, credits(50))
      for (const pool of pools) assert.strictEqual((yield* oddsOf(pool)).stakers, 2)
    })
  )
})

const withStake = Effect.fnUntraced(function* (
  agentId: AgentId,
  challengeId: string,
  receivedAt?: DateTime.Utc
) {
  const sent = { amount: credits(50) }
  return yield* forecast(agentId, { id: challengeId }, sent, receivedAt)
})

layer(testServices())("A forecast with a stake", (it) => {
  it.effect("A forecast with a stake waits for the account by itself, and its pool does not wait", () =>
    Effect.gen(function* () {
      const pool = yield* newMacro({ deadline: plus(yield* freshWeek, "1 hour") })
      const [blocked, free] = [yield* staker(1000), yield* staker(1000)]
      const settling = yield* held(fund(`agent:${blocked}`, 1))
      const waiting = yield* meeting(withStake(blocked, pool.id))
      yield* withStake(free, pool.id)
      yield* settling.commit
      assert.strictEqual((yield* Fiber.join(waiting)).answer.stake?.amount, credits(50))
      assert.strictEqual((yield* oddsOf(pool)).stakers, 2)
    })
  )

  it.effect("A forecast with a stake in a batch waits without its pools and the agent's limits", () =>
    Effect.gen(function* () {
      const deadline = plus(yield* freshWeek, "1 hour")
      const [first, second, plain] = yield* Effect.replicateEffect(newMacro({ deadline }), 3)
      assert(first !== undefined && second !== undefined && plain !== undefined)
      const [blocked, free] = [yield* staker(1000), yield* staker(1000)]
      const receivedAt = yield* DateTime.now
      const own = (challenge: { readonly id: string }, answer: { readonly amount?: bigint } = {}) => ({
        agentId: blocked,
        challengeId: challenge.id,
        answer: { predicted_value: 3.1, predicted_std: 0.1, ...answer },
        receivedAt,
        owed: [["predictions", blocked] as const]
      })
      const arenas = yield* Arenas
      const settling = yield* held(fund(`agent:${blocked}`, 1))
      const staked = { amount: credits(50) }
      const batch = arenas.predict([own(plain), own(second, staked), own(first, staked)])
      const waiting = yield* meeting(batch)
      for (const pool of [first, second]) yield* withStake(free, pool.id)
      const [beside] = yield* arenas.predict([own(plain)])
      assert(beside !== undefined)
      assert.isTrue(Result.isSuccess(beside))
      yield* settling.commit
      const [again, ...stakes] = yield* Fiber.join(waiting)
      assert(again !== undefined)
      assert(Result.isSuccess(again))
      // The batch's answer comes after the one beside it: nothing of the batch was done while it waited.
      assert.strictEqual(again.success.answer.revision_count, 1)
      assert.deepStrictEqual(
        stakes.map((each) => (Result.isSuccess(each) ? each.success.answer.stake?.amount : each.failure)),
        [credits(50), credits(50)]
      )
    })
  )

  it.effect("Forecasts with stakes meet the resolver without deadlock, whole or not at all", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const deadline = plus(yield* freshWeek, "1 hour")
      const pool = yield* newMacro({ deadline })
      const agents = yield* Effect.replicateEffect(staker(100), 6)
      yield* moveTo(plus(deadline, "10 seconds"))
      const before = yield* deadlocks
      yield* Effect.all(
        [
          ...agents.map((agent) => Effect.result(withStake(agent, pool.id, millisBefore(deadline, 1)))),
          Scoring.use((scoring) => scoring.resolveMacro(pool.id, 3.1))
        ],
        { concurrency: "unbounded" }
      )
      const [counts] = yield* sql`
        select (select count(*) from predictions where challenge_id = ${pool.id}::uuid) =
               (select count(*) from stakes where challenge_id = ${pool.id}::uuid) as same`
      assert.isTrue(counts?.["same"])
      assert.strictEqual(yield* deadlocks, before)
    })
  )
})

layer(testServices())("A stake that meets the resolver", (it) => {
  it.effect("A stake in time waits for the resolver, and finds the pool closed", () =>
    Effect.gen(function* () {
      const { challenge, deadline, first, inTime } = yield* scene
      yield* moveTo(plus(deadline, "1 minute"))
      const resolving = yield* held(Scoring.use((scoring) => scoring.resolveMacro(challenge.id, 3.1)))
      const staking = yield* meeting(codeOf(first, challenge, 50, 3.1, inTime))
      yield* resolving.commit
      assert.strictEqual(yield* Fiber.join(staking), "not_recorded_in_time")
    })
  )

  it.effect("A late stake is rejected without waiting for the resolver", () =>
    Effect.gen(function* () {
      const { challenge, deadline, first } = yield* scene
      yield* moveTo(plus(deadline, "1 minute"))
      const resolving = yield* held(Scoring.use((scoring) => scoring.resolveMacro(challenge.id, 3.1)))
      assert.strictEqual(yield* codeOf(first, challenge, 50), "challenge_closed")
      yield* resolving.commit
    })
  )
})

layer(testServices())("A stake in the database", (it) => {
  const forged = Effect.fnUntraced(function* (changes: Readonly<Record<string, string>>) {
    const sql = yield* SqlClient.SqlClient
    const { challenge, first, second } = yield* scene
    yield* stake(first, challenge, 50)
    const value = (column: string) => sql.literal(changes[column] ?? column)
    const agent = changes["agent_id"] === undefined ? sql`${second}::uuid` : value("agent_id")
    const insert = sql`
      insert into stakes
        (challenge_id, agent_id, id, position, owner_id, predicted_value, bin, amount, received_at, deadline)
      select challenge_id, ${agent}, uuidv7(), ${sql.literal(changes["position"] ?? "position + 1")}, owner_id,
             ${value("predicted_value")}, ${value("bin")}, ${value("amount")}, ${value("received_at")}, ${value("deadline")}
        from stakes where challenge_id = ${challenge.id}::uuid`
    const { reason } = yield* Effect.flip(Effect.andThen(insert, Effect.die(new Error("it was let in"))))
    return Predicate.hasProperty(reason.cause, "constraint") ? reason.cause.constraint : reason.cause
  })

  it.effect.each([
    ["is stamped before its deadline", { received_at: "deadline" }, "stakes_before_deadline"],
    [
      "has the deadline of its challenge",
      { deadline: "deadline + interval '1 day'", received_at: "deadline" },
      "stakes_challenge"
    ],
    ["is one an agent and pool", { agent_id: "agent_id" }, "stakes_one_per_agent_and_pool"],
    ["has a place of its own", { position: "position" }, "stakes_in_order"],
    ["is of whoever has predicted", { agent_id: "uuidv7()" }, "stakes_prediction"],
    ["is of more than nothing", { amount: "0" }, "stakes_amount"],
    ["is on a value", { predicted_value: "'NaN'" }, "stakes_value"],
    ["is on a bin", { bin: "-1" }, "stakes_bin"]
  ] as const)("A stake in the database %s", ([, changes, constraint]) =>
    Effect.gen(function* () {
      assert.strictEqual(yield* forged(changes), constraint)
    })
  )
})
