import { DateTime, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { PredictionValues } from "../../../services/domain/Prediction.ts"
import { Charts, ConfidenceBucket, PricePoint, TrackDay } from "../../../services/Charts.ts"
import { isUuid } from "../../../services/domain/ids.ts"
import { floatOf, impliedProbability, submittedColumns, valuesOf } from "./challengeRows.ts"
import { latestSettlement } from "../latestSettlement.ts"
import { arrayParam, findAll, isoTimestamp, timestamp } from "../sql.ts"

/** More points would be narrower than a line on a wide screen. */
const maxPoints = 240
/** A chart shows at least this many prices, if there are as many; with daily closes they span six weeks. */
const minPoints = 32
const maxContext = { days: 70 } as const
/** A chart shows at most one price a minute. */
const minStretch = 60_000

/** A line on a card has one point every two hours. */
const linePoints = 24

/** This many answers show the shape of a distribution. */
const maxAnswers = 400

/** The chart of a track record covers at most this many of the latest settled predictions. */
const maxScores = 300
/** At most this many predictions are read to find them: most may be open, void or revised. */
const maxLookedAt = 3000

const TrackRow = Schema.Struct({
  day: Schema.NullOr(TrackDay.fields.day),
  tenth: Schema.NullOr(ConfidenceBucket.fields.tenth),
  count: Schema.Int,
  right: Schema.Int,
  mean_score: Schema.Finite,
  mean_probability: Schema.NullOr(Schema.Finite),
  read: Schema.Int,
  more: Schema.Boolean
})

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const pricePoints = findAll(PricePoint)
  const firsts = findAll(Schema.Struct({ first: Schema.NullOr(Schema.Finite) }))
  const lineRows = findAll(Schema.Struct({ asset: Schema.String, values: Schema.Array(Schema.Finite) }))
  const answerRows = findAll(PredictionValues)
  const trackRows = findAll(TrackRow)

  /** The time from which there are enough prices to show how the asset moves. */
  const earlier = Effect.fnUntraced(function* (asset: string, from: DateTime.Utc, end: DateTime.Utc) {
    const [found] = yield* firsts(sql`
      select (extract(epoch from min(p.observed_at)) * 1000)::float8 as first
        from (
          select observed_at from price_points
           where asset = ${asset} and observed_at <= ${timestamp(end)}
             and observed_at > ${timestamp(DateTime.subtract(from, maxContext))}
           order by observed_at desc
           limit ${minPoints}) p`)
    return Math.min(DateTime.toEpochMillis(from), (found?.first ?? Number.POSITIVE_INFINITY) - 1)
  })

  const prices: Charts["Service"]["prices"] = Effect.fn("Charts.prices")(function* (asset, wanted, until) {
    const now = yield* DateTime.now
    const last = DateTime.min(until, now)
    const start = yield* earlier(asset, wanted, last)
    const end = DateTime.toEpochMillis(last)
    const stretch = Math.max(minStretch, Math.ceil((end - start) / maxPoints))
    const from = DateTime.makeUnsafe(start)
    if (end <= start) return { from, points: [], stretch }
    // One index probe a stretch, so the cost does not depend on how many prices a stretch has.
    const points = yield* pricePoints(sql`
      select ${isoTimestamp(sql, "p.observed_at")} as time, p.close::float8 as price,
             coalesce(p.high, p.close)::float8 as high, coalesce(p.low, p.close)::float8 as low
        from generate_series(1, ${Math.ceil((end - start) / stretch)}::int) as n
       cross join lateral (
         select least(${timestamp(DateTime.makeUnsafe(start))}::timestamptz
                      + n * make_interval(secs => ${stretch / 1000}::float8),
                      ${timestamp(DateTime.makeUnsafe(end))}::timestamptz) as until) as b
       cross join lateral (
         select observed_at, close, high, low from price_points
          where asset = ${asset}
            and observed_at > b.until - make_interval(secs => ${stretch / 1000}::float8) and observed_at <= b.until
          order by observed_at desc, source, revision desc
          limit 1) as p
       order by p.observed_at`)
    return { from, points, stretch }
  })

  const lines: Charts["Service"]["lines"] = Effect.fn("Charts.lines")(function* (assets) {
    if (assets.length === 0) return {}
    const now = yield* DateTime.now
    const found = yield* lineRows(sql`
      select a.asset, array_agg(p.close::float8 order by n.n) as values
        from unnest(${arrayParam("text", [...new Set(assets)])}::text[]) a (asset)
       cross join generate_series(0, ${linePoints - 1}::int) n (n)
       cross join lateral (
         select close from price_points
          where asset = a.asset
            and observed_at <= ${timestamp(now)}::timestamptz - (${linePoints - 1}::int - n.n) * interval '2 hours'
            and observed_at > ${timestamp(now)}::timestamptz - (${linePoints}::int - n.n) * interval '2 hours'
          order by observed_at desc
          limit 1) p
       group by a.asset`)
    return Object.fromEntries(found.map(({ asset, values }) => [asset, values]))
  })

  const answers: Charts["Service"]["answers"] = Effect.fn("Charts.answers")(function* (challengeId) {
    if (!isUuid(challengeId)) return { values: [], isAll: true }
    const now = yield* DateTime.now
    const rows = yield* answerRows(sql`
      select ${valuesOf(sql)}
        from (
          select distinct on (p.agent_id) p.agent_id, p.direction, p.confidence, p.predicted_value, p.predicted_std,
                 ${submittedColumns(sql)}
            from predictions p
           where p.challenge_id = ${challengeId}::uuid
             and (select deadline from challenges where id = ${challengeId}::uuid) <= ${timestamp(now)}
             and p.agent_id not in (select id from agents where reference is not null)
           order by p.agent_id, p.revision desc
           limit ${maxAnswers + 1}) p
       order by p.agent_id`)
    return { values: rows.slice(0, maxAnswers), isAll: rows.length <= maxAnswers }
  })

  const trackRecord: Charts["Service"]["trackRecord"] = Effect.fn("Charts.trackRecord")(function* (agentId) {
    if (!isUuid(agentId)) return { days: [], confidence: [], isAll: true }
    const rows = yield* trackRows(sql`
      with scored as (
        select t.day::text as day, s.score::float8 as score, s.is_correct,
               ${impliedProbability(sql, floatOf(sql, "p.confidence"))} as probability, least(9, floor(5 + 5 * p.confidence))::int as tenth
          from (
            -- Sorted here already, so that scores are looked up only until enough are found.
            select * from (
              select distinct on (challenge_id) n.*
                from (
                  select id, challenge_id, agent_id, revision, confidence from predictions
                   where agent_id = ${agentId}::uuid order by id desc limit ${maxLookedAt}) n
               order by challenge_id, revision desc) latest
             order by id desc) p
         cross join ${latestSettlement(sql, "p.challenge_id")} t
         cross join lateral (
           select is_correct, score from prediction_scores
            where challenge_id = p.challenge_id and version = t.version and agent_id = p.agent_id
              and revision = p.revision
            limit 1) s
         order by p.id desc
         limit ${maxScores}
      )
      select day, tenth, count(*)::int as count, count(*) filter (where is_correct)::int as right,
             coalesce(avg(score), 0) as mean_score, avg(probability) as mean_probability,
             (select count(*)::int from scored) as read,
             exists (select from predictions where agent_id = ${agentId}::uuid order by id desc offset ${maxLookedAt}) as more
        from scored
       -- The last grouping set gives a row even without scores; it says whether there are more predictions.
       group by grouping sets ((day), (tenth), ())
       order by day, tenth`)
    return {
      days: rows.flatMap(({ count, day, mean_score }) => (day === null ? [] : [{ day, count, mean_score }])),
      confidence: rows.flatMap(({ count, mean_probability, right, tenth }) =>
        tenth === null || mean_probability === null ? [] : [{ tenth, count, right, mean_probability }]
      ),
      isAll: rows.every(({ more, read }) => !more && read < maxScores)
    }
  })

  return Charts.of({ prices, lines, answers, trackRecord })
})

export const layer = Layer.effect(Charts, make)
