/** Settling a macro challenge on which everybody has staked, beside one that everybody has only forecast. */
import { Console, Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as Database from "../machine/database.ts"
import type { Postgres } from "../machine/database.ts"
import { BenchFailed, auspex, remains } from "../machine/processes.ts"
import type { Server } from "../machine/processes.ts"
import { adminToken, agentPrefix, challengeId, challengePrefix, epochMillis, uuidText } from "../world.ts"

/** Its settlement makes everybody's figures, so that those of the others only add to them. */
const first = 1
const plain = 2
const staked = 3
const ownerPrefix = "0190f000"
const bins = 4

export interface PoolSettled {
  readonly stakes: number
  readonly winners: number
  /** What its pool adds to the settlement: released stakes, rewards and their transfers. */
  readonly rows: number
  readonly seconds: { readonly plain: number; readonly staked: number }
}

/** Agents of as many owners, a quarter of them on a higher plan. */
const agents = Effect.fnUntraced(function* (count: number) {
  const sql = yield* SqlClient.SqlClient
  const [agent, owner] = [agentPrefix, ownerPrefix].map((prefix) => sql.literal(uuidText(prefix, "n")))
  yield* sql`
    insert into operators (id, created_at, plan)
    select ${owner}::uuid, now(), (array['free', 'free', 'pro', 'team'])[1 + n % 4]
      from generate_series(0, ${count - 1}::int) as n`
  yield* sql`
    insert into agents
      (id, name, type, languages, model_capability_tag, hosting_mode, policy_profile, disclosure_level, default_spaces,
       auth_method, requested_scopes, secret_hash, created_at, provisional_until, challenge_passed_at, claimed_at,
       owner_id)
    select ${agent}::uuid, 'Bench agent ' || n, 'trader', '{en}', 'general', 'self_hosted', 'standard', 'public',
           '{finance}', 'client_credentials', '{prediction:submit}', sha256(convert_to(n::text, 'UTF8')), now(), now(),
           now(), now(), ${owner}::uuid
      from generate_series(0, ${count - 1}::int) as n`
  yield* sql`
    insert into audit_log (id, at, action, path, request_id, body)
    select uuidv7(), now(), 'grantAgent', '/api/v1/admin/agents/' || ${agent} || '/credits', 'bench',
           '{"amount":1000,"reason":"bench","idempotency_key":"bench"}'
      from generate_series(0, ${count - 1}::int) as n`
  yield* sql`
    insert into transfers (id, kind, debit, credit, amount, reason, at)
    select 'grant:admin:agent:' || ${agent} || ':bench', 'post', 'treasury', 'agent:' || ${agent}, 1000000000, 'bench', now()
      from generate_series(0, ${count - 1}::int) as n`
})

/** A macro challenge whose deadline has passed, with a forecast of every agent. */
const forecast = Effect.fnUntraced(function* (number: number, count: number) {
  const sql = yield* SqlClient.SqlClient
  const [agent, challenge] = [
    sql.literal(uuidText(agentPrefix, "n")),
    sql.literal(uuidText(challengePrefix, String(number)))
  ]
  yield* sql`
    insert into challenges
      (id, type, kind, target, question, created_at, deadline, resolve_at, close_price_until, cancel_at,
       resolution_criteria, resolution_criteria_zh, period, bin_edges, reference_scale, reward_pool)
    values (${challenge}::uuid, 'macro', 'macro', 'CPI', 'How much?', now() - interval '1 day', now() - interval '1 hour',
            now(), now() + interval '60 days', now() + interval '60 days', 'criteria', 'criteria', '2026-03',
            '{2.9,3.1,3.3}', 0.12, 1000000000000)`
  yield* sql`
    insert into transfers (id, kind, debit, credit, amount, reason, at)
    select 'fund:' || id, 'post', 'treasury', 'pool:' || id, 1250000000000, 'reward pool', now()
      from challenges where id = ${challenge}::uuid`
  yield* sql`
    insert into predictions
      (challenge_id, agent_id, revision, id, predicted_value, predicted_std, received_at, deadline, salt, body, commit)
    select c.id, ${agent}::uuid, 0, uuidv7(), 2.8 + n % 601 / 1000.0, 0.05 + n % 97 / 1000.0,
           c.deadline - interval '1 hour', c.deadline, salt, body,
           sha256('\\x6175737065782f636f6d6d69742f763100'::bytea || salt || body)
      from challenges c
     cross join generate_series(0, ${count - 1}::int) as n
     cross join lateral (
       select sha256(convert_to(n::text, 'UTF8')) as salt, convert_to('bench ' || n, 'UTF8') as body) as sealed
     where c.id = ${challenge}::uuid`
})

/** A stake of every agent, spread over the bins. */
const stake = Effect.fnUntraced(function* (number: number, count: number) {
  const sql = yield* SqlClient.SqlClient
  const [agent, owner, challenge] = [
    sql.literal(uuidText(agentPrefix, "n")),
    sql.literal(uuidText(ownerPrefix, "n")),
    sql.literal(uuidText(challengePrefix, String(number)))
  ]
  yield* sql`
    insert into stakes
      (challenge_id, agent_id, id, position, owner_id, predicted_value, bin, amount, received_at, deadline)
    select c.id, ${agent}::uuid, uuidv7(), n + 1, ${owner}::uuid, coalesce(c.bin_edges[n % ${bins}::int], 0), n % ${bins}::int,
           50000000, c.deadline - interval '1 minute', c.deadline
      from challenges c cross join generate_series(0, ${count - 1}::int) as n
     where c.id = ${challenge}::uuid`
  yield* sql`
    insert into pool_bins (challenge_id, bin, staked, stakers)
    select challenge_id, bin, sum(amount), count(*) from stakes
     where challenge_id = ${challenge}::uuid group by challenge_id, bin`
  yield* sql`
    insert into transfers (id, kind, debit, credit, amount, reason, at)
    select 'stake:' || challenge_id || ':' || agent_id, 'pending', 'agent:' || agent_id, 'pool:' || challenge_id, amount,
           'stake', now()
      from stakes where challenge_id = ${challenge}::uuid`
})

const ask = (server: Server, method: string, path: string, body?: unknown) =>
  Effect.tryPromise({
    try: async () => {
      const response = await fetch(`http://127.0.0.1:${server.port}/api/v1/${path}`, {
        method,
        headers: { authorization: `Bearer ${adminToken}`, "content-type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) })
      })
      return { status: response.status, text: await response.text() }
    },
    catch: (error) => new BenchFailed({ message: `${String(error)}\n${remains(server)}` })
  })

/** Seconds until a value is recorded and its challenge settled, as an administrator asks for it. */
const resolved = Effect.fnUntraced(function* (server: Server, number: number) {
  const from = epochMillis()
  const path = `admin/macro/challenges/${challengeId(number)}/resolve`
  const answer = yield* ask(server, "POST", path, { actual_value: 3.2 })
  if (answer.status !== 200) {
    return yield* new BenchFailed({ message: `it was not settled: ${answer.status} ${answer.text}` })
  }
  return (epochMillis() - from) / 1000
})

/** Every stake has returned, every winner got its reward, and the ledger holds. */
const proven = Effect.fnUntraced(function* (server: Server, stakes: number) {
  const sql = yield* SqlClient.SqlClient
  const checked = yield* ask(server, "GET", "admin/ledger/check")
  if (checked.status !== 200 || !checked.text.includes(`"differences":[]`)) {
    return yield* new BenchFailed({ message: `the ledger does not hold: ${checked.text.slice(0, 500)}` })
  }
  const [row] = yield* sql`
    select winners::int, (select count(*)::int from transfers where id like 'release:%') as released,
           (select count(*)::int from transfers where id like 'reward:%') as rewarded
      from pool_settlements where outcome = 'paid'`.values
  const [winners, released, rewarded] = (row ?? []).map(Number)
  if (winners === undefined || rewarded === undefined || released !== stakes) {
    return yield* new BenchFailed({ message: `the pool is not settled: ${JSON.stringify(row)}` })
  }
  return { winners, rows: released + winners + rewarded }
})

export const poolSettlement = Effect.fnUntraced(function* (postgres: Postgres, stakes: number) {
  const url = yield* Database.create(postgres, `bench_pool_${stakes}`)
  const server = yield* auspex(url)
  return yield* Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* agents(stakes)
    for (const challenge of [first, plain, staked]) yield* forecast(challenge, stakes)
    yield* stake(staked, stakes)
    yield* sql`vacuum (analyze)`
    yield* resolved(server, first)
    const without = yield* resolved(server, plain)
    const withStakes = yield* resolved(server, staked)
    const { rows, winners } = yield* proven(server, stakes)
    const settled: PoolSettled = {
      stakes,
      winners,
      rows,
      seconds: { plain: without, staked: withStakes }
    }
    yield* Console.log(
      `  settlement of a pool of ${stakes} stakes: ${withStakes.toFixed(2)} s, ${without.toFixed(2)} s without stakes`
    )
    return settled
  }).pipe(Effect.provide(Database.patient(url)))
}, Effect.scoped)
