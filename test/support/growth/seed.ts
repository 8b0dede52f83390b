/**
 * A database after this many predictions. Agents, challenges, events and scores grow with them. The numbers of challenges that are
 * open, wait for their price, or are on a day's calendar do not grow.
 */
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { agents } from "./agents.ts"
import { discussions } from "./discussion.ts"
import { gatewayCalls } from "./gateway.ts"
import { credit, purchases } from "./money.ts"
import { noticed } from "./notices.ts"
import { practised } from "./practice.ts"
import { scheduled } from "./schedules.ts"
import { follows } from "./social.ts"
import { agentId, agentPrefix, challengeId, challengePrefix, epochMillis, uuidText } from "./identifiers.ts"

/** Foreign keys are checked row by row when rows are written, and by one join when they are added. */
const ForeignKeys = Schema.Array(
  Schema.Struct({ table: Schema.String, name: Schema.String, definition: Schema.String })
)

/** Writes rows without foreign keys, then adds them again, and checks all. */
const checkedAtTheEnd = <A, E, R>(
  writing: Effect.Effect<A, E, R>,
  adding: <B, F, S>(effect: Effect.Effect<B, F, S>) => Effect.Effect<void, F, S>
) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const keys = yield* Schema.decodeUnknownEffect(ForeignKeys)(
      yield* sql`
        select conrelid::regclass::text as table, conname as name, pg_get_constraintdef(oid) as definition
          from pg_constraint where contype = 'f' and connamespace = 'public'::regnamespace
         order by conrelid::regclass::text, conname`
    )
    yield* Effect.forEach(
      keys,
      ({ name, table }) => sql`alter table ${sql(table)} drop constraint ${sql(name)}`
    )
    yield* writing
    yield* adding(
      Effect.forEach(
        keys,
        ({ definition, name, table }) =>
          sql`alter table ${sql(table)} add constraint ${sql(name)} ${sql.literal(definition)}`
      )
    )
  })

/** The number of open challenges, and of those that wait for their price, whatever the size. */
const openNow = 30
const predictionPrefix = "0190d000"
const signalPrefix = "0190e000"
const poolPrefix = "0190b000"
const auditPrefix = "0190f900"
const questionPrefix = "0190f000"
/** The maximum number of bins of a challenge, less one. */
const binsOfPool = 200

export interface Size {
  readonly predictions: number
  readonly agents: number
  readonly challenges: number
  readonly events: number
}

export const sizeOf = (predictions: number): Size => ({
  predictions,
  agents: predictions / 40,
  challenges: predictions / 20,
  events: predictions / 100
})

/** The agents and challenges that the reads ask for. */
export const people = (size: Size) => ({
  /** This agent has predicted every challenge. */
  busiest: agentId(0),
  /** This agent has predicted as many as all the others. */
  ordinary: agentId(Math.floor(size.agents / 2)),
  /** This challenge is settled; every agent has predicted it. */
  hot: challengeId(0),
  /** This challenge is open; every agent has predicted it. */
  hotOpen: challengeId(size.challenges - 1),
  settled: challengeId(size.challenges - 100),
  event: "event-7",
  /** This pool has a stake on each of its bins. */
  pool: `${poolPrefix}-0000-7000-8000-000000000000`
})

const targets = "array['ES', 'CL', 'ZN', 'HG', 'NG', 'ZS', 'DXY', 'ETH', 'BTC']"

const challenges = Effect.fnUntraced(function* (size: Size) {
  const sql = yield* SqlClient.SqlClient
  const id = sql.literal(uuidText(challengePrefix, "n"))
  yield* sql`
    insert into events (id, title, spaces, assets, published_at, created_at, updated_at)
    select 'event-' || n, 'Event ' || n, array['finance', (array['policy', 'technology', 'international'])[1 + n % 3]],
           -- One series is so rare that only the oldest events mention it.
           case when n >= ${size.events - 3}::int then array['FOMC'] else array['GC', (${sql.literal(targets)})[1 + n % 9]] end,
           at, at, at
      from generate_series(0, ${size.events - 1}::int) as n
     cross join lateral (select now() - n * interval '1 hour' as at) as moment`
  // The rows are counted together below: the trigger would update one row so often in one transaction that it gets ever slower.
  yield* sql`alter table challenges disable trigger challenges_counted`
  // Half of them are on gold, one in seven is cancelled; the newest are open, and those before them wait for their price.
  yield* sql`
    insert into challenges
      (id, type, kind, target, event_id, question, created_at, deadline, resolve_at, close_price_until, cancel_at,
       open_price, dead_zone_pct, resolution_criteria, resolution_criteria_zh, closed_at, resolved_at, cancelled_at,
       cancel_reason)
    select ${id}::uuid, 'directional', 'session', case when n % 2 = 0 then 'GC' else (${sql.literal(targets)})[1 + n % 9] end,
           'event-' || n % ${size.events}::int, 'Which way will it move? (' || n || ')',
           deadline - interval '1 day', deadline, deadline, deadline + interval '1 day', deadline + interval '7 days',
           2000, 0.3, 'criteria', 'criteria',
           case when state = 'resolved' then deadline end, case when state = 'resolved' then deadline end,
           case when state = 'cancelled' then deadline end, case when state = 'cancelled' then 'No price.' end
      from generate_series(0, ${size.challenges - 1}::int) as n
     cross join lateral (
       select case when n >= ${size.challenges - openNow}::int then 'open'
                   when n >= ${size.challenges - 2 * openNow}::int then 'closed'
                   when n % 7 = 3 then 'cancelled' else 'resolved' end as state) as s
     cross join lateral (
       select now() + case state when 'open' then interval '1 day'
                                 else (n - ${size.challenges}::int) * interval '1 minute' end as deadline) as d`
  yield* sql`alter table challenges enable trigger challenges_counted`
  yield* sql`
    insert into challenge_counts (target, type, created, resolved, cancelled)
    select target, type, count(*), count(resolved_at), count(cancelled_at) from challenges group by target, type`
})

/** A price of gold every minute, as many as predictions, and its candles of this many hours. */
const prices = Effect.fnUntraced(function* (size: Size) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    insert into price_points (source, asset, interval, time, close, observed_at, fetched_at)
    select 'bench', 'GC', 'quote', at, 2000 + n % 97, at, at
      from generate_series(1, ${size.predictions}::int) as n
     cross join lateral (select date_trunc('minute', now()) - n * interval '1 minute' as at) as moment`
  yield* sql`
    insert into price_points (source, asset, interval, time, open, high, low, close, observed_at, fetched_at)
    select 'bench', 'GC', '1h', at, price, price, price, price, at + interval '1 hour', at + interval '1 hour'
      from generate_series(1, ${Math.ceil(size.predictions / 10)}::int) as n
     cross join lateral (
       select date_trunc('hour', now()) - n * interval '1 hour' as at, 2000 + n % 97 as price) as moment`
})

/** Open macro challenges with stakes on all bins. */
const pools = Effect.fnUntraced(function* (size: Size) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    insert into challenges
      (id, type, kind, target, question, created_at, deadline, resolve_at, close_price_until, cancel_at,
       resolution_criteria, resolution_criteria_zh, period, bin_edges, reference_scale, reward_pool)
    select ${sql.literal(uuidText(poolPrefix, "n"))}::uuid, 'macro', 'macro', 'CPI', 'What will CPI be?', now(), end_at, end_at,
           end_at, end_at, 'criteria', 'criteria', '2026-03',
           (select array_agg(edge::numeric order by edge) from generate_series(1, ${binsOfPool - 1}::int) as edge), 1, 0
      from generate_series(0, ${Math.ceil(size.challenges / 50) - 1}::int) as n
     cross join (select now() + interval '1 day' as end_at) as e`
  yield* sql`
    insert into pool_bins (challenge_id, bin, staked, stakers)
    select id, bin, 1000000, 1 from challenges cross join generate_series(0, ${binsOfPool - 1}::int) as bin
     where type = 'macro' order by id, bin`
  yield* sql`
    insert into published_odds (challenge_id, published_at, stakers, bins)
    select challenge_id, now(), sum(stakers),
           jsonb_agg(jsonb_build_object('bin', bin, 'staked', staked::text, 'stakers', stakers) order by bin)
      from pool_bins group by challenge_id`
})

/** Price events: the oldest are open or wait for their candles, like questions about a whole year; the others have ended. */
const questions = Effect.fnUntraced(function* (size: Size) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    insert into challenges
      (id, type, kind, target, question, created_at, deadline, resolve_at, close_price_until, cancel_at,
       resolution_criteria, resolution_criteria_zh, level, closed_at, resolved_at, cancelled_at, cancel_reason)
    select ${sql.literal(uuidText(questionPrefix, "n"))}::uuid, 'price_event', 'threshold', 'BTC', 'Will BTC close above it?',
           now() - interval '1 year', deadline, deadline, deadline, deadline, 'criteria', 'criteria', 60000,
           case when state in ('resolved', 'void') then deadline end, case state when 'resolved' then deadline end,
           case state when 'void' then deadline end, case state when 'void' then 'No candles.' end
      from generate_series(0, ${size.challenges / 2 - 1}::int) as n
     cross join lateral (
       select case when n < ${openNow}::int then 'open' when n < ${2 * openNow}::int then 'closed'
                   when n % 7 = 3 then 'void' else 'resolved' end as state) as s
     cross join lateral (
       select now() + case state when 'open' then interval '1 day' else interval '-1 day' end as deadline) as d`
})

/** Predictions of every agent on the hot challenges, of the busiest on all of them, and the rest spread evenly. */
const predictions = Effect.fnUntraced(function* (size: Size) {
  const sql = yield* SqlClient.SqlClient
  const id = sql.literal(uuidText(predictionPrefix, "row_number() over (order by c.n, a)"))
  const agent = sql.literal(uuidText(agentPrefix, "a"))
  const challenge = sql.literal(uuidText(challengePrefix, "n"))
  const perChallenge = Math.floor((size.predictions - 2 * size.agents - size.challenges) / size.challenges)
  const others = size.agents - 1
  yield* sql`
    insert into predictions
      (challenge_id, agent_id, revision, id, direction, confidence, received_at, deadline, salt, body, commit)
    select c.id, ${agent}::uuid, 0, ${id}::uuid, direction, confidence, c.deadline - interval '1 hour', c.deadline, salt,
           body, commit
      from (select n, ${challenge}::uuid as challenge_id from generate_series(0, ${size.challenges - 1}::int) as n) as i
      join lateral (select i.n, c.id, c.deadline from challenges c where c.id = i.challenge_id) as c on true
     cross join lateral (
       select 0 as a
       union all
       select 1 + (c.n * ${perChallenge}::bigint + k) % ${others}::int
         from generate_series(0, case when c.n in (0, ${size.challenges - 1}::int) then ${others - 1}::int
                                      else ${perChallenge - 1}::int end) as k) as who (a)
     cross join lateral (
       select (array['bullish', 'bearish', 'neutral'])[1 + (c.n * 7 + a * 13) % 3] as direction,
              (40 + (c.n * 11 + a * 17) % 60) / 100.0 as confidence, sha256(convert_to(c.n || ' ' || a, 'UTF8')) as salt) as p
     cross join lateral (
       select convert_to('{"agent_id":"' || a || '","challenge_id":"' || c.id || '","kind":"directional",'
         || '"reasoning_sha256":null,"revision":0,"values":{"confidence":' || confidence || ',"direction":"'
         || direction || '"}}', 'UTF8') as body) as sealed
     cross join lateral (
       select sha256('\\x6175737065782f636f6d6d69742f763100'::bytea || salt || body) as commit) as committed`
})

const settlements = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    insert into prediction_counts (challenge_id, shard, bullish, bearish, neutral)
    select challenge_id, 0, count(*) filter (where direction = 'bullish'), count(*) filter (where direction = 'bearish'),
           count(*) filter (where direction = 'neutral')
      from predictions group by challenge_id`
  yield* sql`
    insert into published_counts (challenge_id, published_at, bullish, bearish, neutral)
    select challenge_id, now(), bullish, bearish, neutral from prediction_counts`
  yield* sql`
    insert into settlements
      (challenge_id, version, result, open_price, close_price, dead_zone_pct, source, observed_at, fetched_at, settled_at,
       day)
    select id, 1, 'bullish', 2000, 2050, 0.3, 'bench quote', resolve_at, resolve_at, resolved_at,
           current_date
      from challenges where resolved_at is not null and type = 'directional'`
  yield* sql`
    insert into settlements
      (challenge_id, version, result, close_price, level, source, observed_at, fetched_at, settled_at,
       day)
    select id, 1, 'bullish', level, level, 'bench 1h candle', resolve_at, resolve_at, resolved_at,
           current_date
      from challenges where resolved_at is not null and type = 'price_event'`
  yield* sql`
    insert into challenge_references (challenge_id, steps, made_at)
    select id, '[{"from": "2026-01-01T00:00:00.000Z", "price": null, "source": null, "odds": [0.5, 0, 0.5]}]', resolved_at
      from challenges where resolved_at is not null and type <> 'macro'`
  yield* sql`
    insert into prediction_scores
      (challenge_id, version, agent_id, revision, is_correct, score, reference_skill, bounded_skill)
    select p.challenge_id, 1, p.agent_id, p.revision, p.direction = 'bullish',
           case when p.direction = 'bullish' then 50 + 50 * p.confidence else 50 - 50 * p.confidence end,
           p.confidence - 0.5, p.confidence - 0.5
      from predictions p join settlements s on s.challenge_id = p.challenge_id`
})

/**
 * Every prediction's commit and reveal and every settlement have an entry. The hashes above them are invented: reads cost the same
 * whatever they are.
 */
const log = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    insert into log_entries (index, type, challenge_id, commit, entry)
    select row_number() over (order by id) - 1, 'prediction.commit', challenge_id, commit,
           log_commit_entry(challenge_id, commit)
      from predictions`
  const size = sql`(select count(*) as size from log_entries)`
  yield* sql`
    insert into log_entries (index, type, commit_index, entry)
    select (select size from ${size} s) - 1 + row_number() over (order by e.index), 'prediction.reveal', e.index,
           convert_to(json_build_object('body', convert_from(p.body, 'UTF8'), 'commit_index', e.index,
                                        'salt', encode(p.salt, 'hex'), 'type', 'prediction.reveal')::text, 'UTF8')
      from predictions p
      join challenges c on c.id = p.challenge_id and c.resolved_at is not null
      join log_entries e on e.type = 'prediction.commit' and e.commit = p.commit`
  yield* sql`
    insert into log_entries (index, type, challenge_id, version, entry)
    select (select size from ${size} s) - 1 + row_number() over (order by challenge_id), 'settlement', challenge_id, version,
           convert_to('{}', 'UTF8')
      from settlements`
  yield* sql`
    insert into log_nodes (level, n, hash)
    select level, n, sha256(int8send(n))
      from ${size} e
     cross join generate_series(1, 3) as level
     cross join lateral generate_series(0, size / (256 ^ level)::bigint - 1) as n`
  yield* sql`
    insert into log_checkpoints (size, root, note, signed_at, time_stamp)
    select n, sha256(int8send(n)),
           E'auspex.example/log/seeded\\n' || n || E'\\n' || encode(sha256(int8send(n)), 'base64')
             || E'\\n\\n\u2014 auspex.example/log/seeded AAECAwQFBgcICQoLDA0ODw==\\n',
           now(), case when n % (14 * 256) = 1 then decode(repeat('ab', 5000), 'hex') end
      from generate_series(1, (select size from ${size} s), 256) as n`
  yield* sql`insert into log_keys (number, verifier_key, added_at) values (1, 'a key', now())`
})

/** Everything counts as settled on one day. */
const figures = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    insert into agent_stats
      (board, agent_id, verified, scored, score_sum, binary_scored, correct, brier_sum, last_day, day_count, day_sum)
    select b.board, s.agent_id, true, count(*), sum(s.score), count(*), count(*) filter (where s.is_correct),
           sum((1 - s.score * 0.01) * (1 - s.score * 0.01)), current_date, count(*), sum(s.score)
      from prediction_scores s
      join challenges c on c.id = s.challenge_id
      join targets t on t.key = c.target
     cross join lateral (values ('global'), (t.category), (t.key)) as b (board)
     group by b.board, s.agent_id`
  yield* sql`
    insert into agent_skill
      (board, agent_id, last_day, answered, skill_sum, peer_count, peer_sum, days, score_sum, deviation, weight, weighted,
       penalty, log_wealth, volume, verified)
    select board, agent_id, last_day, scored, score_sum / 100 - scored * 0.5, scored, score_sum / 100 - scored * 0.5, 1, 0.1, 0.1,
           0.7, 0.4, 0.1, 0.1, scored, true
      from agent_stats`
  yield* sql`
    insert into agent_skill_months
      (board, month, agent_id, answered, skill_sum, peer_count, peer_sum, days, score_sum, deviation, weight, weighted, penalty,
       log_wealth)
    select board, date_trunc('month', last_day), agent_id, answered, skill_sum, peer_count, peer_sum, days, score_sum, deviation,
           weight, weighted, penalty, log_wealth
      from agent_skill`
  yield* sql`
    insert into boards (board, agents, updated_at)
    select b.name || board, count(*), now() from agent_stats cross join (values (''), ('skill ')) as b (name)
     group by b.name, board`
})

/** The busiest agent's subscriptions and late signals. */
const habits = Effect.fnUntraced(function* (size: Size) {
  const sql = yield* SqlClient.SqlClient
  const id = sql.literal(uuidText(signalPrefix, "n"))
  const { busiest, hot } = people(size)
  yield* sql`
    insert into paper_signals
      (id, challenge_id, agent_id, direction, confidence, received_at, entry_price, entry_source, entry_observed_at,
       entry_fetched_at)
    select ${id}::uuid, ${hot}::uuid, ${busiest}::uuid, 'bullish', 0.5, now(), 100 + n % 7, 'bench', now(), now()
      from generate_series(1, ${size.predictions / 100}::int) as n`
  yield* sql`
    insert into prediction_scopes (agent_id, target, created_at)
    select ${busiest}::uuid, key, now() from targets where kind = 'asset'`
})

/** Administrators' calls. */
const administration = Effect.fnUntraced(function* (size: Size) {
  const sql = yield* SqlClient.SqlClient
  const id = sql.literal(uuidText(auditPrefix, "n"))
  yield* sql`
    insert into audit_log (id, at, action, path, request_id, body)
    select ${id}::uuid, now(), 'POST /api/v1/admin/challenges', '/api/v1/admin/challenges', 'request-' || n,
           repeat('What was sent. ', 20)
      from generate_series(1, ${Math.floor(size.predictions / 10)}::int) as n`
  yield* sql`insert into audit_outcomes (entry_id, status) select id, 200 from audit_log`
})

export const maxTournament = "cup-1"

/** One tournament has as many challenges as all others together, which have one each. */
const archive = Effect.fnUntraced(function* (size: Size) {
  const sql = yield* SqlClient.SqlClient
  const tournaments = Math.floor(size.predictions / 100)
  yield* sql`
    insert into archived_tournaments (slug, title, ended_at, archived_at, challenge_count, digest)
    select 'cup-' || n, 'Cup ' || n, timestamptz '2020-01-01Z' + make_interval(mins => n), now(),
           case n when 1 then ${tournaments}::int else 1 end, sha256(int4send(n))
      from generate_series(1, ${tournaments}::int) as n`
  yield* sql`
    insert into archived_challenges (tournament, position, challenge_count, question, deadline, result, outcomes)
    select slug, position, challenge_count, 'Who wins?', ended_at, 'home', '[]'
      from archived_tournaments cross join generate_series(1, challenge_count) as position`
})

/** Fills a migrated database; `say` gets the duration of every step. */
export const seed = Effect.fnUntraced(function* (size: Size, say: (line: string) => Effect.Effect<void>) {
  const sql = yield* SqlClient.SqlClient
  const step = Effect.fnUntraced(function* <E, R>(name: string, effect: Effect.Effect<unknown, E, R>) {
    const from = epochMillis()
    yield* effect
    yield* say(`  ${size.predictions}: ${name} in ${((epochMillis() - from) / 1000).toFixed(1)} s`)
  })
  const filled = Effect.gen(function* () {
    yield* step("agents", agents(size.agents - 1))
    yield* step("events and challenges", challenges(size))
    yield* step("prices", prices(size))
    yield* step("pools", pools(size))
    yield* step("price events", questions(size))
    yield* step("predictions", predictions(size))
    yield* step("settlements and scores", settlements)
    yield* step("the log", log)
    yield* step("figures", figures)
    yield* step("signals and subscriptions", habits(size))
    yield* step("credit", credit(size))
    yield* step("purchases", purchases(size))
    yield* step("the audit", administration(size))
    yield* step("schedules", scheduled(size))
    yield* step("the archive", archive(size))
    yield* step("practice", practised)
    yield* step("notices", noticed)
    yield* step("discussions", discussions(size))
    yield* step("follows", follows(size))
    yield* step("calls of models", gatewayCalls(size, people(size).busiest))
  })
  yield* checkedAtTheEnd(filled, (adding) => step("foreign keys", adding))
  yield* step("statistics", sql`vacuum (analyze)`)
})
