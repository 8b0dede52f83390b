/** Credit, owners and stakers that have some, pools with stakes, and the invariants of the ledger. */
import { Context, DateTime, Effect, Layer, Predicate, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql"
import * as CreditsOnPostgres from "../../src/layers/postgres/credit/Credits.ts"
import {
  TransferDiffers,
  makeTransfers,
  poolAccount,
  treasury
} from "../../src/layers/postgres/credit/transfers.ts"
import type { Transfer } from "../../src/layers/postgres/credit/transfers.ts"
import { arrayParam, findAll, findOne } from "../../src/layers/postgres/sql.ts"
import { Audit } from "../../src/services/Audit.ts"
import { Credits } from "../../src/services/Credits.ts"
import type { Holder, NewGrant } from "../../src/services/Credits.ts"
import { Pools } from "../../src/services/Pools.ts"
import { Settings } from "../../src/services/Settings.ts"
import { AgentId } from "../../src/services/domain/ids.ts"
import { agentOf, anotherOperator, claimedAgents, provisionalAgent } from "./agents.ts"
import { forecast } from "./challenges.ts"
import { rowsOf } from "./database.ts"
import { settings } from "./settings.ts"

export const credits = (amount: number): bigint => BigInt(amount) * 1_000_000n

export const record = (...transfers: ReadonlyArray<Transfer>) =>
  Effect.flatMap(makeTransfers, (made) => made.record(transfers))

/** The constraint or the rule that rejected a transfer. */
export const ruleOf = (error: SqlError.SqlError | TransferDiffers): string => {
  if (error instanceof TransferDiffers) return "differs"
  const { cause } = error.reason
  return Predicate.hasProperty(cause, "constraint") ? String(cause.constraint) : String(cause)
}

/** Requests for credit, as they are recorded before it is given; they are the oldest in the list of calls. */
export const askedFor = Effect.fnUntraced(function* (
  accounts: ReadonlyArray<string>,
  amount: bigint,
  key: string
) {
  const sql = yield* SqlClient.SqlClient
  const now = yield* DateTime.now
  const body = JSON.stringify({ amount: Number(amount) / 1_000_000, reason: "a test", idempotency_key: key })
  yield* sql`
    insert into audit_log (id, at, action, path, request_id, body)
    select overlay(gen_random_uuid()::text placing '00000000-0000' from 1)::uuid, ${DateTime.toDateUtc(now)}, case kind when 'agent' then 'grantAgent' else 'grantOwner' end,
           '/api/v1/admin/' || kind || 's/' || id || '/credits', 'a test', ${body}::text
      from (select split_part(account, ':', 1) as kind, split_part(account, ':', 2) as id
              from unnest(${arrayParam("text", accounts)}) as account) a`
})

/** Gives this amount to each from the treasury, as an administrator does; under the same key once. */
export const give = Effect.fnUntraced(function* (
  accounts: ReadonlyArray<string>,
  amount: bigint,
  key: string
) {
  yield* askedFor(accounts, amount, key)
  yield* record(
    ...accounts.map((account) => ({
      id: `grant:admin:${account}:${key}`,
      kind: "post" as const,
      debit: treasury,
      credit: account,
      amount,
      reason: "a test"
    }))
  )
})

/** Pays claim grants of agents that a test claimed by SQL, as a claim pays them. */
export const payClaimGrants = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { claimGrant } = yield* Settings
  const now = yield* DateTime.now
  yield* sql`
    with claimed as (
      update agents set claim_grant = ${credits(claimGrant)} where claimed_at is not null and claim_grant is null
      returning id, claim_grant
    )
    insert into transfers (id, kind, debit, credit, amount, reason, at)
    select 'grant:claim:' || id, 'post', ${treasury}, 'agent:' || id, claim_grant, 'claim grant', ${DateTime.toDateUtc(now)}
      from claimed where claim_grant > 0 order by id`
})

let numbers = 0
/** Funds an account with an amount in credits. */
export const fund = (account: string, amount: number) =>
  Effect.suspend(() => {
    numbers += 1
    return give([account], credits(amount), String(numbers))
  })

/** A grant of an administrator, with its call recorded before. */
export const grant = Effect.fnUntraced(function* (to: Holder, fields: Partial<NewGrant> = {}) {
  const request = { amount: credits(25), reason: "a prize", idempotency_key: "prize-1", ...fields }
  yield* Effect.orDie(askedFor([`${to.kind}:${to.id}`], request.amount, request.idempotency_key))
  return yield* Credits.use((service) => service.grant(to, request))
})

/** The findings of the ledger's check, except that a test's transfers lack a purpose. */
export const ledgerFindings = Effect.map(
  Audit.use(({ verifyLedger }) => verifyLedger),
  ({ differences }) => differences.filter((line) => !line.includes("without a recorded reason"))
)

/** The accounts of this many agents, each with this many credits. */
export const fundedAccounts = Effect.fnUntraced(function* (count: number, amount: number) {
  const accounts = (yield* claimedAgents(count)).map((id) => `agent:${id}`)
  if (amount > 0) yield* Effect.forEach(accounts, (account) => fund(account, amount))
  return accounts
})

export const stateOf = Effect.fnUntraced(function* (account: string) {
  const sql = yield* SqlClient.SqlClient
  return yield* findOne(Schema.Struct({ posted: Schema.BigInt, held: Schema.BigInt }))(
    sql`select posted, held from accounts where id = ${account}`
  )
})

/**
 * The present faults of the ledger, in one statement and so of one moment: all postings sum up to zero, no balance is negative, and
 * the held amount is that of open pending transfers.
 */
export const creditFindings = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const found = yield* findAll(Schema.Struct({ finding: Schema.String }))(sql`
    select 'all balances together: ' || sum(posted) as finding from accounts having sum(posted) <> 0
    union all
    select id || ' has ' || posted || ' and holds ' || held from accounts
     where held < 0 or (id <> 'treasury' and posted - held < 0)
    union all
    select 'held: ' || h.held || ', open pendings: ' || p.amount
      from (select coalesce(sum(held), 0) as held from accounts) as h
     cross join (
       select coalesce(sum(amount), 0) as amount from transfers p
        where kind = 'pending' and not exists (select 1 from transfers r where r.pending_id = p.id)) as p
     where h.held <> p.amount`)
  return found.map(({ finding }) => finding)
})

/** The credit service of another replica: the same database, nothing else in common. */
export const creditsReplica = Effect.map(
  Layer.build(Layer.fresh(CreditsOnPostgres.layer).pipe(Layer.provide(settings()))),
  (context) => Context.get(context, Credits)
)

/** An owner of this many agents, with this many credits in its account. */
export const ownerOf = Effect.fnUntraced(function* (agents: number, amount: number) {
  const owner = yield* anotherOperator
  yield* fund(`owner:${owner}`, amount)
  return { owner, agents: yield* Effect.replicateEffect(agentOf(owner), agents) }
})

/** Gives the owner of an agent this many credits. */
export const fundOwnerOf = Effect.fnUntraced(function* (agentId: string, amount: number) {
  const sql = yield* SqlClient.SqlClient
  const { owner } = yield* findOne(Schema.Struct({ owner: Schema.String }))(
    sql`select owner_id::text as owner from agents where id = ${agentId}::uuid`
  )
  yield* fund(`owner:${owner}`, amount)
  return owner
})

type Challenge = { readonly id: string }

/** An agent of an owner, with credits; by default the owner has no other agent. */
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

/** Agents of as many owners, all of which have predicted the challenge. */
export const stakers = Effect.fnUntraced(function* (challenge: Challenge, count: number, amount: number) {
  return yield* Effect.forEach(
    Array.from({ length: count }),
    () => Effect.tap(staker(amount), (agent) => forecast(agent, challenge)),
    { concurrency: 8 }
  )
})

/** A stake of whole credits, by default on the bin of 3.1 and stamped now. */
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
 * Replays every stake in its order, and reports breaches of the 50 % rule, wrong odds, and stakes that froze another amount. The rule
 * is written here a second time, as shares of the bin afterwards.
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

export interface TestStake {
  readonly agentId: string
  readonly bin: number
  /** The amount in micro-credits. */
  readonly amount: bigint
}

/** Gives credit to agents that are about to stake. */
export const creditFor = (agentIds: ReadonlyArray<string>, amount = 1000) =>
  give(
    agentIds.map((id) => `agent:${id}`),
    credits(amount),
    "staking"
  )

export interface TestForecast {
  readonly agentId: string
  readonly value: number
  readonly std: number
}

/** First forecasts on a challenge as the service writes them, with their counts and their commits in the outbox of the log. */
export const forecastsOn = Effect.fnUntraced(function* (
  challenge: { readonly id: string },
  forecasts: ReadonlyArray<TestForecast>
) {
  const sql = yield* SqlClient.SqlClient
  const now = yield* DateTime.now
  yield* sql`
    with sealed as (
      select c.id as challenge_id, f.agent_id, f.value, f.std, c.deadline, p.salt,
             convert_to('{"agent_id":"' || f.agent_id || '","challenge_id":"' || c.id || '","kind":"macro",'
               || '"reasoning_sha256":null,"received_at":"' || ${DateTime.formatIso(now)}::text
               || '","revision":0,"values":{"predicted_std":' || f.std || ',"predicted_value":' || f.value || '}}',
               'UTF8') as body
        from unnest(${arrayParam(
          "uuid",
          forecasts.map(({ agentId }) => agentId)
        )}, ${arrayParam(
          "text",
          forecasts.map(({ value }) => String(value))
        )}, ${arrayParam(
          "text",
          forecasts.map(({ std }) => String(std))
        )}) as f (agent_id, value, std)
       cross join challenges c
       cross join lateral (select sha256(convert_to(c.id || ' ' || f.agent_id, 'UTF8')) as salt) as p
       where c.id = ${challenge.id}::uuid
    ),
    written as (
      insert into predictions
        (challenge_id, agent_id, revision, id, predicted_value, predicted_std, received_at, deadline, salt, body, commit)
      select challenge_id, agent_id, 0, uuidv7(), value::numeric, std::numeric, ${DateTime.toDateUtc(now)}, deadline,
             salt, body, sha256('\\x6175737065782f636f6d6d69742f763100'::bytea || salt || body)
        from sealed order by agent_id
      returning challenge_id, commit
    ),
    counted as (
      insert into prediction_counts as k (challenge_id, shard, bullish, bearish, neutral, forecasts)
      select challenge_id, 0, 0, 0, 0, count(*) from written group by challenge_id
      on conflict (challenge_id, shard) do update set forecasts = k.forecasts + excluded.forecasts
    )
    insert into log_pending (type, challenge_id, commit, entry)
    select 'prediction.commit', challenge_id, commit, log_commit_entry(challenge_id, commit) from written`
})

/** Takes stakes of agents that have predicted, in this order, without the rules of the pool. */
export const stakeOn = Effect.fnUntraced(function* (
  challenge: { readonly id: string },
  stakes: ReadonlyArray<TestStake>
) {
  const sql = yield* SqlClient.SqlClient
  const now = yield* DateTime.now
  yield* sql.withTransaction(
    Effect.gen(function* () {
      yield* sql`
        insert into stakes
          (challenge_id, agent_id, id, position, owner_id, predicted_value, bin, amount, received_at, deadline)
        select c.id, s.agent_id, gen_random_uuid(),
               s.place + (select count(*) from stakes where challenge_id = c.id), a.owner_id,
               coalesce(c.bin_edges[s.bin], c.bin_edges[1] - 1), s.bin, s.amount,
               least(${DateTime.toDateUtc(now)}::timestamptz, c.deadline - interval '1 ms'), c.deadline
          from unnest(${arrayParam(
            "uuid",
            stakes.map(({ agentId }) => agentId)
          )}, ${arrayParam(
            "int4",
            stakes.map(({ bin }) => bin)
          )}, ${arrayParam(
            "int8",
            stakes.map(({ amount }) => amount)
          )}) with ordinality as s (agent_id, bin, amount, place)
          join agents a on a.id = s.agent_id
         cross join challenges c
         where c.id = ${challenge.id}::uuid`
      yield* sql`
        insert into pool_bins as b (challenge_id, bin, staked, stakers)
        select ${challenge.id}::uuid, bin, sum(amount), count(*)
          from unnest(${arrayParam(
            "int4",
            stakes.map(({ bin }) => bin)
          )}, ${arrayParam(
            "int8",
            stakes.map(({ amount }) => amount)
          )}) as s (bin, amount)
         group by bin
        on conflict (challenge_id, bin) do update
          set staked = b.staked + excluded.staked, stakers = b.stakers + excluded.stakers`
      yield* record(
        ...stakes.map(({ agentId, amount }) => ({
          id: `stake:${challenge.id}:${agentId}`,
          kind: "pending" as const,
          debit: `agent:${agentId}`,
          credit: poolAccount(challenge.id),
          amount,
          reason: "stake"
        }))
      )
    })
  )
})
