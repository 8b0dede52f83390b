/** Pools as tests need them: agents that can stake, and what must hold of every stake that was taken. */
import { DateTime, Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { AgentId } from "../../src/services/domain/ids.ts"
import { Pools } from "../../src/services/Pools.ts"
import { forecast, provisionalAgent, rowsOf } from "./builders.ts"
import { credits, fund } from "./ledger.ts"
import { anotherOperator } from "./operators.ts"

type Challenge = { readonly id: string }

/** An agent of an owner, with credits; the owner has no other agent unless said. */
export const staker = Effect.fnUntraced(function* (amount: number, of?: string) {
  const sql = yield* SqlClient.SqlClient
  const agentId = yield* provisionalAgent()
  const owner = of ?? (yield* anotherOperator)
  const now = yield* DateTime.now
  yield* sql`
    update agents set claimed_at = ${DateTime.toDateUtc(now)}, owner_id = ${owner}::uuid, prediction_limit = null
     where id = ${agentId}::uuid`
  if (amount > 0) yield* fund(`agent:${agentId}`, amount)
  return agentId
})

/** Agents of as many owners, which have predicted the challenge. */
export const stakers = Effect.fnUntraced(function* (challenge: Challenge, count: number, amount: number) {
  return yield* Effect.forEach(
    Array.from({ length: count }),
    () => Effect.tap(staker(amount), (agent) => forecast(agent, challenge)),
    { concurrency: 8 }
  )
})

/** Of whole credits, on the bin of 3.1 unless said, stamped now unless said. */
export const stake = Effect.fnUntraced(function* (
  agentId: AgentId,
  challenge: Challenge,
  amount: number | bigint,
  value: number = 3.1,
  receivedAt?: DateTime.Utc
) {
  const pools = yield* Pools
  return yield* pools.stake({
    agentId,
    challengeId: challenge.id,
    stake: { predicted_value: value, amount: typeof amount === "bigint" ? amount : credits(amount) },
    receivedAt: receivedAt ?? (yield* DateTime.now)
  })
})

export const oddsOf = (challenge: Challenge) => Pools.use((pools) => pools.odds(challenge.id))

const Taken = Schema.Struct({
  challenge_id: Schema.String,
  agent_id: Schema.String,
  holder: Schema.String,
  position: Schema.Int,
  bin: Schema.Int,
  amount: Schema.BigInt,
  pending: Schema.NullOr(Schema.BigInt)
})

const takenStakes = rowsOf(
  Taken,
  (sql) => sql`
    select s.challenge_id::text, s.agent_id::text, s.position, s.bin, s.amount, t.amount as pending,
           coalesce(case when c.pool_owner_rule is not false then s.owner_id end, s.agent_id)::text as holder
      from stakes s
      join challenges c on c.id = s.challenge_id
      left join transfers t on t.id = 'stake:' || s.challenge_id || ':' || s.agent_id and t.kind = 'pending'
                           and t.debit = 'agent:' || s.agent_id and t.credit = 'pool:' || s.challenge_id
     order by s.challenge_id, s.position`
)

const keptBins = rowsOf(
  Schema.Struct({ bin: Schema.String, staked: Schema.BigInt, stakers: Schema.Int }),
  (sql) => sql`
    select challenge_id || ' ' || bin as bin, staked, stakers from pool_bins order by challenge_id, bin`
)

/**
 * Takes every stake again in the order in which it was taken, and says what breaks the 50 % rule, what the odds do not
 * say, and what froze another amount than it is of. The rule is written here once more, as shares of the bin afterwards.
 */
export const stakeFindings = Effect.gen(function* () {
  const taken = yield* takenStakes
  const bins = new Map<string, { staked: bigint; stakers: number }>()
  const held = new Map<string, bigint>()
  const places = new Map<string, number>()
  const findings: Array<string> = []
  for (const each of taken) {
    const what = `stake ${each.position} of pool ${each.challenge_id}`
    const key = `${each.challenge_id} ${each.bin}`
    const before = bins.get(key) ?? { staked: 0n, stakers: 0 }
    const staked = before.staked + each.amount
    const ofHolder = (held.get(`${key} ${each.holder}`) ?? 0n) + each.amount
    const place = (places.get(each.challenge_id) ?? 0) + 1
    if (before.staked > 0n && 2n * ofHolder > staked)
      findings.push(`${what}: more than half of bin ${each.bin}`)
    if (each.position !== place) findings.push(`${what}: its place is ${place}`)
    if (each.pending !== each.amount) findings.push(`${what}: ${each.amount}, frozen ${each.pending}`)
    bins.set(key, { staked, stakers: before.stakers + 1 })
    held.set(`${key} ${each.holder}`, ofHolder)
    places.set(each.challenge_id, place)
  }
  for (const { bin, staked, stakers } of yield* keptBins) {
    const expected = bins.get(bin)
    if (expected?.staked !== staked || expected.stakers !== stakers) findings.push(`bin ${bin} has ${staked}`)
    bins.delete(bin)
  }
  findings.push(...[...bins.keys()].map((bin) => `bin ${bin} is not in the odds`))
  const [unplaced] = yield* rowsOf(
    Schema.Struct({ count: Schema.Int }),
    (sql) => sql`
      select count(*)::int as count from transfers t
       where t.id like 'stake:%' and t.kind = 'pending'
         and not exists (select 1 from stakes s where t.id = 'stake:' || s.challenge_id || ':' || s.agent_id)`
  )
  if (unplaced?.count !== 0) findings.push(`${unplaced?.count} transfers of no stake`)
  return { stakes: taken.length, findings }
})
