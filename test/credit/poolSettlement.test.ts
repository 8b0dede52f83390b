/** Credit pools: funding, settlement and void. */
import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Random, Result, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { crps, crpsScore } from "../../src/scoring/crps.ts"
import { binOf } from "../../src/scoring/macro.ts"
import { Audit } from "../../src/services/Audit.ts"
import type { Plan } from "../../src/services/Operators.ts"
import type { NewMacroChallenge } from "../../src/services/domain/Challenge.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import { concurrently, codesOf, times } from "../support/concurrently.ts"
import { agentsApart, agentsOf, ownersOn } from "../support/agents.ts"
import { breadth } from "../support/breadth.ts"
import { freshWeek, moveTo, newMacro, plus, resultsOf, settleDue } from "../support/challenges.ts"
import {
  credits,
  fund,
  ledgerFindings,
  record,
  stateOf,
  creditFor,
  forecastsOn,
  stakeOn
} from "../support/credit.ts"
import type { TestForecast } from "../support/credit.ts"
import { sampledWhile } from "../support/ledgerWorkload.ts"
import { held, meeting } from "../support/locking.ts"
import { Rfc6962Tree } from "../support/log/rfc6962.ts"
import { revealAll } from "../support/loggedFixture.ts"
import { ownedRewards, plainReward } from "../support/poolFormula.ts"
import type { OwnedWinner } from "../support/poolFormula.ts"
import { testServices } from "../support/services.ts"
import { asOwner, countOf, rowsOf } from "../support/database.ts"
import { createdBefore } from "../support/tampering.ts"

const edges = [3, 3.1, 3.2]

const checked = Effect.gen(function* () {
  assert.deepStrictEqual(yield* ledgerFindings, [])
})

const audited = Effect.gen(function* () {
  yield* checked
  yield* revealAll
  assert.deepStrictEqual((yield* Audit.use(({ verifyLog }) => verifyLog)).differences, [])
})

const resolve = (challenge: { readonly id: string }, value: number) =>
  Scoring.use((scoring) => scoring.resolveMacro(challenge.id, value))

const poolOf = (challenge: { readonly id: string }) => stateOf(`pool:${challenge.id}`)
const accountOf = (agentId: string) => stateOf(`agent:${agentId}`)

/** An open challenge, and agents of different owners who have 1 000 credits each and forecast alike. */
const opened = Effect.fnUntraced(function* (agents: number, terms: Partial<NewMacroChallenge> = {}) {
  const deadline = plus(yield* freshWeek, "1 hour")
  const challenge = yield* newMacro({ deadline, reward_pool: 1000, ...terms })
  const agentIds = yield* agentsApart(agents)
  yield* creditFor(agentIds)
  yield* forecastsOn(
    challenge,
    agentIds.map((agentId) => ({ agentId, value: 3.1, std: 0.1 }))
  )
  return { challenge, deadline, agentIds }
})

/** Three stakes: 300 and 100 on bin 2, and 50 on bin 0. */
const staked = Effect.fnUntraced(function* (terms: Partial<NewMacroChallenge> = {}) {
  const world = yield* opened(3, terms)
  const [first, second, third] = world.agentIds
  assert(first !== undefined && second !== undefined && third !== undefined)
  yield* stakeOn(world.challenge, [
    { agentId: first, bin: 2, amount: credits(300) },
    { agentId: second, bin: 2, amount: credits(100) },
    { agentId: third, bin: 0, amount: credits(50) }
  ])
  return { ...world, first, second, third }
})

const Hash = Schema.Struct({ hash: Schema.String })
const recorded = [
  "accounts",
  "agent_stats",
  "challenges",
  "log_pending",
  "pool_bins",
  "pool_rewards",
  "pool_settlements",
  "prediction_scores",
  "settlements",
  "stakes",
  "transfers"
]

/** A hash of every row that a settlement writes. */
const rowHash = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const each = recorded.map(
    (table) => `select string_agg(t::text, ' ' order by t::text) as rows from ${table} t`
  )
  const [row] = yield* rowsOf(
    Hash,
    () =>
      sql`select md5(string_agg(coalesce(rows, ''), '|')) as hash from (${sql.literal(each.join(" union all "))}) t`
  )
  return row?.hash
})

layer(testServices())("The pool of a macro challenge", (it) => {
  it.effect("A pool opens with its reward pool times the highest coefficient", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const one = yield* newMacro({ reward_pool: 1000.000001 })
      assert.deepStrictEqual(yield* poolOf(one), { posted: 1_250_000_002n, held: 0n })
      const most = yield* newMacro({ reward_pool: 1e9 })
      assert.strictEqual((yield* poolOf(most)).posted, 1_250_000_000_000_000n)
      const none = yield* newMacro({ reward_pool: 0 })
      assert.strictEqual((yield* poolOf(none)).posted, 0n)
      const transfers = yield* countOf(
        (sql) => sql`select count(*)::int as count from transfers where id = ${`fund:${none.id}`}`
      )
      assert.strictEqual(transfers, 0)
      yield* checked
    })
  )

  it.effect("A pool goes to the stakers on the value's bin, and every stake returns", () =>
    Effect.gen(function* () {
      const { challenge, deadline, first, second, third } = yield* staked()
      assert.deepStrictEqual(yield* accountOf(first), { posted: credits(1000), held: credits(300) })
      yield* moveTo(deadline)
      const before = yield* resultsOf(challenge)
      assert.isNull(before.pool)
      assert.sameDeepMembers(
        before.predictions.map(({ agent_id, reward, stake, stake_bin }) => [
          agent_id,
          stake,
          stake_bin,
          reward
        ]),
        [
          [first, credits(300), 2, null],
          [second, credits(100), 2, null],
          [third, credits(50), 0, null]
        ]
      )
      yield* resolve(challenge, 3.1)
      assert.deepStrictEqual(yield* accountOf(first), { posted: credits(1625), held: 0n })
      assert.deepStrictEqual(yield* accountOf(second), { posted: credits(1375), held: 0n })
      assert.deepStrictEqual(yield* accountOf(third), { posted: credits(1000), held: 0n })
      assert.deepStrictEqual(yield* poolOf(challenge), { posted: 0n, held: 0n })
      const shown = yield* resultsOf(challenge)
      assert.deepStrictEqual(shown.pool, {
        outcome: "paid",
        winning_bin: 2,
        reward_pool: credits(1000),
        staked: credits(450),
        paid: credits(1000),
        stakers: 3
      })
      assert.sameDeepMembers(
        shown.predictions.map(({ agent_id, reward, stake }) => [agent_id, stake, reward]),
        [
          [first, credits(300), credits(625)],
          [second, credits(100), credits(375)],
          [third, credits(50), 0n]
        ]
      )
      yield* checked
    })
  )

  it.effect("A pool's entry in the log has the root over all stakes and rewards, as in the results", () =>
    Effect.gen(function* () {
      const { challenge, deadline } = yield* staked()
      yield* moveTo(deadline)
      yield* resolve(challenge, 3.1)
      const { predictions } = yield* resultsOf(challenge)
      const leaves = predictions.map(({ agent_id, reward, stake }) =>
        Buffer.from(
          JSON.stringify({
            agent_id,
            reward: String(Number(reward) / 1_000_000),
            stake: String(Number(stake) / 1_000_000)
          })
        )
      )
      const [entry] = yield* rowsOf(
        Schema.Struct({ json: Schema.String }),
        (sql) => sql`
          select convert_from(entry, 'UTF8') as json from log_pending
           where type = 'settlement' and challenge_id = ${challenge.id}::uuid`
      )
      assert.deepStrictEqual(JSON.parse(entry?.json ?? "{}").pool, {
        outcome: "paid",
        winning_bin: 2,
        reward_pool: "1000",
        staked: "450",
        stakes: 3,
        paid: "1000",
        root: new Rfc6962Tree(leaves).root(0, leaves.length).toString("hex")
      })
    })
  )

  it.effect("A pool pays rewards that can be spent at once", () =>
    Effect.gen(function* () {
      const { challenge, deadline, first } = yield* staked()
      yield* moveTo(deadline)
      yield* resolve(challenge, 3.1)
      yield* record({
        id: "test:spent",
        kind: "post",
        debit: `agent:${first}`,
        credit: "gateway_revenue",
        amount: credits(1625),
        reason: "a test"
      })
      assert.deepStrictEqual(yield* accountOf(first), { posted: 0n, held: 0n })
    })
  )

  it.effect("A pool without stakers on the winning bin is void: stakes return, forecasts are scored", () =>
    Effect.gen(function* () {
      const { agentIds, challenge, deadline } = yield* staked()
      yield* moveTo(deadline)
      yield* resolve(challenge, 3.05)
      for (const agentId of agentIds) {
        assert.deepStrictEqual(yield* accountOf(agentId), { posted: credits(1000), held: 0n })
      }
      const shown = yield* resultsOf(challenge)
      assert.deepInclude(shown.pool, { outcome: "void", winning_bin: 1, paid: 0n, stakers: 3 })
      assert.isTrue(shown.predictions.every(({ reward, score }) => reward === 0n && score !== null))
      assert.deepStrictEqual(yield* poolOf(challenge), { posted: 0n, held: 0n })
      yield* checked
    })
  )

  it.effect("A pool is void with its challenge: everything returns, and nobody is scored", () =>
    Effect.gen(function* () {
      const { agentIds, challenge, deadline } = yield* staked()
      yield* moveTo(deadline)
      yield* Scoring.use((scoring) => scoring.void("macro", challenge.id, "never published"))
      for (const agentId of agentIds) {
        assert.deepStrictEqual(yield* accountOf(agentId), { posted: credits(1000), held: 0n })
      }
      const shown = yield* resultsOf(challenge)
      assert.deepStrictEqual(shown.pool, {
        outcome: "void",
        winning_bin: null,
        reward_pool: credits(1000),
        staked: credits(450),
        paid: 0n,
        stakers: 3
      })
      assert.isTrue(shown.predictions.every(({ reward, score }) => reward === 0n && score === null))
      const hash = yield* rowHash
      const rejected = yield* concurrently([
        resolve(challenge, 3.1),
        Scoring.use((scoring) => scoring.void("macro", challenge.id, "again"))
      ])
      assert.deepStrictEqual(codesOf(rejected), ["challenge_state", "challenge_state"])
      assert.strictEqual(yield* rowHash, hash)
      yield* checked
    })
  )

  it.effect("A pool is void by the job when no value came in 60 days", () =>
    Effect.gen(function* () {
      const { agentIds, challenge, deadline } = yield* staked()
      yield* moveTo(plus(deadline, "60 days"))
      assert.include((yield* settleDue).cancelled, challenge.id)
      for (const agentId of agentIds) {
        assert.deepStrictEqual(yield* accountOf(agentId), { posted: credits(1000), held: 0n })
      }
      assert.deepInclude((yield* resultsOf(challenge)).pool, { outcome: "void", winning_bin: null })
      const hash = yield* rowHash
      yield* settleDue
      assert.strictEqual(yield* rowHash, hash)
      yield* checked
    })
  )

  it.effect("A pool without stakes returns all its funding", () =>
    Effect.gen(function* () {
      const { challenge, deadline } = yield* opened(1)
      yield* moveTo(deadline)
      yield* resolve(challenge, 3.1)
      assert.deepInclude((yield* resultsOf(challenge)).pool, { outcome: "void", winning_bin: 2, stakers: 0 })
      assert.strictEqual((yield* poolOf(challenge)).posted, 0n)
      yield* checked
    })
  )

  it.effect("A pool without a reward pool has winners and pays nothing", () =>
    Effect.gen(function* () {
      const { agentIds, challenge, deadline } = yield* staked({ reward_pool: 0 })
      yield* moveTo(deadline)
      yield* resolve(challenge, 3.1)
      assert.deepInclude((yield* resultsOf(challenge)).pool, { outcome: "paid", paid: 0n })
      for (const agentId of agentIds) {
        assert.deepStrictEqual(yield* accountOf(agentId), { posted: credits(1000), held: 0n })
      }
      yield* checked
    })
  )

  it.effect("A pool pays a full account as much as fits, and is settled all the same", () =>
    Effect.gen(function* () {
      const { challenge, deadline, first, second } = yield* staked()
      yield* fund(`agent:${first}`, 999_998_990)
      yield* fund(`agent:${second}`, 999_999_000)
      yield* moveTo(deadline)
      yield* resolve(challenge, 3.1)
      assert.deepStrictEqual(yield* accountOf(first), { posted: credits(1_000_000_000), held: 0n })
      assert.deepStrictEqual(yield* accountOf(second), { posted: credits(1_000_000_000), held: 0n })
      const rewards = yield* rowsOf(
        Schema.Struct({ reward: Schema.BigInt, withheld: Schema.BigInt }),
        (sql) =>
          sql`select reward, withheld from pool_rewards where challenge_id = ${challenge.id}::uuid order by reward`
      )
      assert.deepStrictEqual(rewards, [
        { reward: 0n, withheld: credits(375) },
        { reward: credits(10), withheld: credits(615) }
      ])
      assert.strictEqual((yield* resultsOf(challenge)).pool?.paid, credits(10))
      assert.strictEqual((yield* poolOf(challenge)).posted, 0n)
      yield* checked
    })
  )

  it.effect("The audit of the log holds for each outcome of a pool, too", () => audited)
})

layer(testServices())("The settlement of a pool", (it) => {
  it.effect("A pool's settlement happens once, also by several runners, and again changes nothing", () =>
    Effect.gen(function* () {
      const { challenge, deadline } = yield* staked()
      yield* moveTo(deadline)
      const done = yield* concurrently(times(3, () => resolve(challenge, 3.1)))
      assert.isTrue(done.every(Result.isSuccess))
      const hash = yield* rowHash
      yield* resolve(challenge, 3.1)
      const rejected = yield* concurrently([
        resolve(challenge, 3.2),
        Scoring.use((scoring) => scoring.void("macro", challenge.id, "late"))
      ])
      assert.deepStrictEqual(codesOf(rejected), ["challenge_state", "challenge_state"])
      yield* settleDue
      assert.strictEqual(yield* rowHash, hash)
      yield* checked
    })
  )

  it.effect("Of concurrent settlements of a pool with different ends one prevails, whole", () =>
    Effect.gen(function* () {
      const { challenge, deadline } = yield* staked()
      yield* moveTo(deadline)
      const done = yield* concurrently([
        resolve(challenge, 3.1),
        resolve(challenge, 2),
        Scoring.use((scoring) => scoring.void("macro", challenge.id, "never published"))
      ])
      assert.lengthOf(done.filter(Result.isSuccess), 1)
      assert.deepStrictEqual(codesOf(done), ["challenge_state", "challenge_state"])
      yield* checked
    })
  )

  it.effect("A pool's settlement takes the treasury, which claims wait for, only at its end", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* asOwner(sql`
        create function wait_here() returns trigger language plpgsql as $$
        begin
          perform pg_advisory_xact_lock(1);
          return new;
        end
        $$`)
      yield* asOwner(sql`
        create trigger log_pending_waits before insert on log_pending for each row
          when (new.type in ('settlement', 'void')) execute function wait_here()`)
      for (const end of [
        (challenge: { readonly id: string }) => resolve(challenge, 3.15),
        ({ id }: { readonly id: string }) =>
          Scoring.use((scoring) => scoring.void("macro", id, "never published"))
      ]) {
        const { challenge, deadline } = yield* staked()
        yield* moveTo(plus(deadline, "1 minute"))
        const entering = yield* held(sql`select pg_advisory_xact_lock(1)`)
        const ending = yield* meeting(end(challenge))
        yield* sql`select 1 from accounts where id = 'treasury' for no key update nowait`
        yield* entering.commit
        yield* Fiber.join(ending)
        assert.deepStrictEqual(yield* poolOf(challenge), { posted: 0n, held: 0n })
      }
      yield* asOwner(sql`drop trigger log_pending_waits on log_pending`)
      yield* checked
    })
  )

  it.effect("A pool's settlement beside stakes and spending keeps every balance right at every moment", () =>
    Effect.gen(function* () {
      const deadline = plus(yield* freshWeek, "1 hour")
      const agentIds = yield* agentsApart(40)
      yield* creditFor(agentIds)
      const pools = yield* Effect.replicateEffect(newMacro({ deadline, reward_pool: 1000 }), 6)
      for (const pool of pools) {
        yield* forecastsOn(
          pool,
          agentIds.map((agentId) => ({ agentId, value: 3.1, std: 0.1 }))
        )
        yield* stakeOn(
          pool,
          agentIds.map((agentId, index) => ({ agentId, bin: index % 4, amount: credits(60) }))
        )
      }
      yield* moveTo(deadline)
      const spending = times(120, (index) =>
        record({
          id: `test:spending:${index}`,
          kind: "post",
          debit: `agent:${agentIds[index % agentIds.length] ?? ""}`,
          credit: "gateway_revenue",
          amount: credits(1),
          reason: "a test"
        })
      )
      const settling = pools.map((pool, index) =>
        index % 3 === 2
          ? Scoring.use((scoring) => scoring.void("macro", pool.id, "never published"))
          : resolve(pool, [2.9, 3.1][index % 3] ?? 0)
      )
      const { done, findings, samples } = yield* sampledWhile(
        Effect.all([concurrently(settling), concurrently(spending)], { concurrency: "unbounded" })
      )
      const [ended, spent] = done
      assert.isTrue(ended.every(Result.isSuccess) && spent.every(Result.isSuccess))
      assert.deepStrictEqual(findings, [])
      assert.isAtLeast(samples, 5)
      yield* audited
    })
  )
})

const planOf = (index: number): Plan => (["free", "free", "pro", "team"] as const)[index % 4] ?? "free"

/** An independent computation in fractions. */
type Formula = (rewardPool: bigint, winners: ReadonlyArray<OwnedWinner>) => ReadonlyArray<bigint>

/** In full more stakes than a settlement returns at a time. */
const size = breadth(200, 5500)

/** Settles a pool of agents, some with one owner, and compares every micro-credit with the formula. */
const round = (rule: "off" | "on", formula: Formula) =>
  Effect.gen(function* () {
    const deadline = plus(yield* freshWeek, "1 hour")
    const challenge = yield* newMacro({ deadline, reward_pool: 12_345.678901 })
    assert.strictEqual(challenge.pool_owner_rule, rule === "on")
    // The owners have one to three agents each, and nobody has claimed nine in a hundred.
    const owners = yield* ownersOn(times(0.7 * size, planOf))
    const plans = new Map<string, Plan>(owners.map((owner, index) => [owner, planOf(index)]))
    const ownerOf = times(size, (index) =>
      index < 0.91 * size ? (owners[index % owners.length] ?? null) : null
    )
    const agentIds = yield* agentsOf(ownerOf)
    yield* creditFor(agentIds)
    const { forecasts, taken } = yield* Effect.gen(function* () {
      const forecasts: Array<TestForecast> = []
      const taken: Array<{ agentId: string; owner: string; bin: number; amount: bigint }> = []
      const bins = new Map<string, bigint>()
      for (const [index, agentId] of agentIds.entries()) {
        const value = (yield* Random.nextIntBetween(2850, 3350)) / 1000
        forecasts.push({ agentId, value, std: (yield* Random.nextIntBetween(1, 300)) / 1000 })
        const bin = binOf(edges, value)
        const owner = ownerOf[index] ?? `agent ${agentId}`
        const holder = rule === "on" ? owner : agentId
        const amount = BigInt(yield* Random.nextIntBetween(50_000_000, 1_000_000_000))
        const held = bins.get(`${bin}`) ?? 0n
        const own = bins.get(`${bin} ${holder}`) ?? 0n
        if (held > 0n && amount + own > held - own) continue
        bins.set(`${bin}`, held + amount)
        bins.set(`${bin} ${holder}`, own + amount)
        taken.push({ agentId, owner, bin, amount })
      }
      return { forecasts, taken }
    }).pipe(Random.withSeed("pool"))
    assert.isAbove(taken.length, breadth(160, 5001))
    yield* forecastsOn(challenge, forecasts)
    yield* stakeOn(challenge, taken)
    yield* moveTo(deadline)
    yield* resolve(challenge, 3.125)

    const scoreOf = new Map(
      forecasts.map(({ agentId, std, value }) => [
        agentId,
        String(crpsScore(crps({ mean: value, sd: std }, 3.125), 0.12).score)
      ])
    )
    const coefficients = { free: "1.0", pro: "1.1", team: "1.25" }
    const winners = taken
      .filter(({ bin }) => bin === 2)
      .map(({ agentId, amount, owner }) => ({
        agentId,
        owner,
        amount,
        ownerAmount: taken.reduce((sum, each) => (each.owner === owner ? sum + each.amount : sum), 0n),
        score: scoreOf.get(agentId) ?? "0",
        coefficient: coefficients[plans.get(owner) ?? "free"]
      }))
    const rewards = formula(12_345_678_901n, winners)
    const expected = new Map(winners.map(({ agentId }, index) => [agentId, rewards[index] ?? 0n]))
    const balances = yield* rowsOf(
      Schema.Struct({ agent_id: Schema.String, posted: Schema.BigInt, held: Schema.BigInt }),
      (sql) => sql`select agent_id::text, posted, held from accounts where kind = 'agent'`
    )
    assert.deepStrictEqual(
      new Map(balances.map(({ agent_id, held, posted }) => [agent_id, [posted, held]])),
      new Map(agentIds.map((agentId) => [agentId, [credits(1000) + (expected.get(agentId) ?? 0n), 0n]]))
    )
    const paid = rewards.reduce((sum, reward) => sum + reward, 0n)
    assert.deepInclude((yield* resultsOf(challenge)).pool, {
      outcome: "paid",
      winning_bin: 2,
      stakers: taken.length,
      paid
    })
    assert.isAbove(winners.length, breadth(20, 150))
    const { posted } = yield* stateOf("treasury")
    assert.strictEqual(posted, -credits(1000) * BigInt(size) - paid)
    yield* audited
  })

layer(testServices())("A round with many agents", (it) => {
  it.effect("A pool of many agents settles as an independent computation, and the audit agrees", () =>
    round("off", (pool, winners) => winners.map((winner) => plainReward(pool, winners, winner)))
  )
})

layer(testServices({ AUSPEX_POOL_OWNER_RULE: "on" }))("A round with many agents and the owner rule", (it) => {
  it.effect("A pool with the owner rule settles as an independent computation, and the audit agrees", () =>
    round("on", ownedRewards)
  )
})

layer(testServices())("A pool from before the owner rule", (it) => {
  it.effect("A pool from before the owner rule was a setting is settled with it, and passes the audit", () =>
    Effect.gen(function* () {
      const deadline = plus(yield* freshWeek, "1 hour")
      const challenge = yield* newMacro({ deadline, reward_pool: 1000 })
      yield* createdBefore(challenge.id)
      const [owner = null, other = null] = yield* ownersOn(["free", "free"])
      const agentIds = yield* agentsOf([owner, owner, other])
      yield* creditFor(agentIds)
      yield* forecastsOn(
        challenge,
        agentIds.map((agentId) => ({ agentId, value: 3.1, std: 0.1 }))
      )
      const [first = "", second = "", third = ""] = agentIds
      yield* stakeOn(challenge, [
        { agentId: first, bin: 2, amount: credits(100) },
        { agentId: second, bin: 0, amount: credits(100) },
        { agentId: third, bin: 2, amount: credits(100) }
      ])
      yield* moveTo(deadline)
      yield* resolve(challenge, 3.1)
      // Half of the owner's stakes are on the winning bin.
      assert.deepStrictEqual(yield* accountOf(first), { posted: credits(1250), held: 0n })
      assert.deepStrictEqual(yield* accountOf(third), { posted: credits(1500), held: 0n })
      yield* audited
    })
  )
})
