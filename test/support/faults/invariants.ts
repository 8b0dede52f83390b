/**
 * Invariants under any fault: they are sampled while faults strike, each sample one statement and so one snapshot, and checked in
 * full at the end. Every query returns no row if the invariant holds.
 */
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { arrayParam, findAll, findOne } from "../../../src/layers/postgres/sql.ts"
import { creditFindings } from "../credit.ts"
import type { Acknowledged, Tally } from "./load.ts"

const Finding = Schema.Struct({ finding: Schema.String })
const findings = findAll(Finding)

/** A challenge has its result, all its scores and its end together, or none of them. */
const settledWhole = (sql: SqlClient.SqlClient) => sql`
  select 'challenge ' || c.id || ' (resolved ' || (c.resolved_at is not null) || ') has ' || t.n || ' settlements and '
         || s.n || ' scores of ' || p.n || ' agents' as finding
    from challenges c
    cross join lateral (select count(*) as n from settlements where challenge_id = c.id) as t
    cross join lateral (select count(*) as n from prediction_scores where challenge_id = c.id) as s
    cross join lateral (select count(distinct agent_id) as n from predictions where challenge_id = c.id) as p
   where (t.n, s.n) is distinct from (case when c.resolved_at is null then (0::bigint, 0::bigint) else (1::bigint, p.n) end)`

/** Counts move together with their predictions. */
const countsRight = (sql: SqlClient.SqlClient) => sql`
  with latest as (
    select distinct on (challenge_id, agent_id) challenge_id, direction
      from predictions order by challenge_id, agent_id, revision desc
  ),
  right_counts as (
    select challenge_id, count(*) filter (where direction = 'bullish') as bullish,
           count(*) filter (where direction = 'bearish') as bearish,
           count(*) filter (where direction = 'neutral') as neutral
      from latest group by challenge_id
  ),
  kept as (
    select challenge_id, sum(bullish) as bullish, sum(bearish) as bearish, sum(neutral) as neutral
      from prediction_counts group by challenge_id
  )
  select 'counts of challenge ' || coalesce(r.challenge_id, k.challenge_id) as finding
    from right_counts r full join kept k on k.challenge_id = r.challenge_id
   where (r.bullish, r.bearish, r.neutral) is distinct from (k.bullish, k.bearish, k.neutral)`

/** The score of every latest revision is computed again from the rule. */
const scoresRight = (sql: SqlClient.SqlClient) => sql`
  select 'score of ' || p.agent_id || ' in ' || p.challenge_id as finding
    from (
      select distinct on (challenge_id, agent_id) * from predictions
       order by challenge_id, agent_id, revision desc) as p
    join settlements t on t.challenge_id = p.challenge_id
    left join prediction_scores s
      on s.challenge_id = p.challenge_id and s.version = t.version and s.agent_id = p.agent_id
   where (s.revision, s.is_correct, s.score) is distinct from
         (p.revision, p.direction = t.result,
          50 + case when p.direction = t.result then 50 else -50 end * p.confidence)`

/** Revisions of a prediction are numbered without a gap. */
const revisionsWhole = (sql: SqlClient.SqlClient) => sql`
  select 'revisions of ' || agent_id || ' in ' || challenge_id as finding
    from predictions group by challenge_id, agent_id
  having count(*) <> max(revision) + 1`

const isUnsettled = (sql: SqlClient.SqlClient) => sql`
  select 'unsettled: ' || id as finding from challenges where resolved_at is null`

/** The present violations. */
export const sampledFindings = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const found = yield* Effect.all([findings(settledWhole(sql)), findings(countsRight(sql))])
  return [...found.flat().map(({ finding }) => finding), ...(yield* creditFindings)]
})

/** Every acknowledged prediction exists, as its receipt says. */
const lost = Effect.fnUntraced(function* (acknowledged: ReadonlyArray<Acknowledged>) {
  const sql = yield* SqlClient.SqlClient
  const texts = (of: (each: Acknowledged) => string) => arrayParam("text", acknowledged.map(of))
  return yield* findings(sql`
    select 'lost: revision ' || a.revision || ' of ' || a.agent_id || ' in ' || a.challenge_id as finding
      from unnest(${texts((each) => each.challengeId)}, ${texts((each) => each.agentId)},
                  ${texts((each) => String(each.revision))}, ${texts((each) => each.commit)})
           as a (challenge_id, agent_id, revision, commit)
      left join predictions p
        on p.challenge_id = a.challenge_id::uuid and p.agent_id = a.agent_id::uuid and p.revision = a.revision::int
     where p.commit is distinct from decode(a.commit, 'hex')`)
})

/** Every prediction that the server reported as recorded exists. */
const neverHeld = Effect.fnUntraced(function* (held: ReadonlySet<string>) {
  const sql = yield* SqlClient.SqlClient
  return yield* findings(sql`
    select 'lost: ' || h.pair as finding
      from unnest(${arrayParam("text", [...held])}) as h (pair)
     where not exists (
       select 1 from predictions
        where challenge_id = split_part(h.pair, ' ', 1)::uuid and agent_id = split_part(h.pair, ' ', 2)::uuid)`)
})

const notRegistered = Effect.fnUntraced(function* (registered: ReadonlyArray<string>) {
  const sql = yield* SqlClient.SqlClient
  return yield* findings(sql`
    select 'lost: agent ' || r.id as finding
      from unnest(${arrayParam("uuid", registered)}) as r (id)
     where not exists (select 1 from agents a join registration_challenges c on c.agent_id = a.id where a.id = r.id)`)
})

/** Every acknowledged grant exists with its amount; its id is the key, so it exists once. */
const notGranted = Effect.fnUntraced(function* (granted: Tally["granted"]) {
  const sql = yield* SqlClient.SqlClient
  return yield* findings(sql`
    select 'lost: ' || g.id as finding
      from unnest(${arrayParam(
        "text",
        granted.map(({ id }) => id)
      )},
                  ${arrayParam(
                    "int8",
                    granted.map(({ micro }) => BigInt(micro))
                  )}) as g (id, micro)
      left join transfers t on t.id = g.id
     where t.amount is distinct from g.micro`)
})

export const unsettled = Effect.flatMap(SqlClient.SqlClient, (sql) => findings(isUnsettled(sql)))

/** All violations at the end. */
export const finalFindings = Effect.fnUntraced(function* (tally: Tally) {
  const sql = yield* SqlClient.SqlClient
  const found = yield* Effect.all([
    findings(settledWhole(sql)),
    findings(countsRight(sql)),
    findings(scoresRight(sql)),
    findings(revisionsWhole(sql)),
    unsettled,
    lost(tally.acknowledged),
    neverHeld(tally.held),
    notRegistered(tally.registered),
    notGranted(tally.granted)
  ])
  return found.flat().map(({ finding }) => finding)
})

/** The hash of everything that a settlement writes. */
export const fingerprint = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { hash } = yield* findOne(Schema.Struct({ hash: Schema.String }))(sql`
    select md5(string_agg(h, '' order by h)) as hash from (
      select md5(string_agg(t::text, '' order by t::text)) from challenges t
      union all select md5(string_agg(t::text, '' order by t::text)) from predictions t
      union all select md5(string_agg(t::text, '' order by t::text)) from prediction_counts t
      union all select md5(string_agg(t::text, '' order by t::text)) from settlements t
      union all select md5(string_agg(t::text, '' order by t::text)) from prediction_scores t
      union all select md5(string_agg(t::text, '' order by t::text)) from agent_stats t
      union all select md5(string_agg(t::text, '' order by t::text)) from boards t) as each (h)`)
  return hash
})

export const settledChallenges = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { count } = yield* findOne(Schema.Struct({ count: Schema.Int }))(
    sql`select count(*)::int as count from settlements`
  )
  return count
})
