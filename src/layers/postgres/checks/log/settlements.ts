/** Compares settlements with their entries, and every score with its prediction and with the root in its settlement. */
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { canonicalJson } from "../../../crypto/canonicalJson.ts"
import { submittedValues } from "../../challenges/challengeRows.ts"
import { arrayParam, exact, findAll, whenGiven } from "../../sql.ts"
import { amendment, settlement } from "../../log/entries.ts"
import type { SettledPool } from "../../log/entries.ts"
import { Frontier, leafHash } from "../../log/frontier.ts"
import { directionScore, numericScore, submittedForecast } from "../../settlement/scores.ts"
import { Entry, Index, checkEmpty, compare, isSameDecimal, moment } from "./entry.ts"
import { eachPage } from "./findings.ts"
import type { Findings } from "./findings.ts"
import { makeAuditPools } from "./pools.ts"
import { eachLevel, levelNames } from "../../../../scoring/kinds/facts.ts"
import { exactLevels } from "../../levels.ts"

const settlementsPage = 500
const scoresPage = 4096

const Row = Schema.Struct({
  challenge_id: Schema.String,
  version: Schema.Int,
  result: Schema.NullOr(Schema.String),
  open_price: Schema.NullOr(Schema.String),
  close_price: Schema.NullOr(Schema.String),
  dead_zone_pct: Schema.NullOr(Schema.String),
  actual_value: Schema.NullOr(Schema.String),
  reference_scale: Schema.NullOr(Schema.String),
  ...eachLevel(() => Schema.NullOr(Schema.String)),
  source: Schema.String,
  observed_at: Schema.String,
  fetched_at: Schema.String,
  raw_sha256: Schema.NullOr(Schema.Uint8Array),
  settled_at: Schema.String,
  previous_version: Schema.NullOr(Schema.Int),
  reason: Schema.NullOr(Schema.String),
  /** Null except in macro challenges. */
  winning_bin: Schema.NullOr(Schema.Int),
  index: Index,
  entry: Entry
})
type Row = typeof Row.Type

const Score = Schema.Struct({
  challenge_id: Schema.String,
  version: Schema.Int,
  agent_id: Schema.String,
  score: Schema.String,
  is_of_settlement: Schema.Boolean,
  revision_holds: Schema.Boolean,
  is_correct_holds: Schema.Boolean,
  /** True if the score of a direction is right; scores of forecasts are recomputed from the columns below. */
  score_holds: Schema.Boolean,
  crps: Schema.NullOr(Schema.String),
  skill: Schema.NullOr(Schema.String),
  predicted_value: Schema.NullOr(Schema.String),
  predicted_std: Schema.NullOr(Schema.String),
  submitted: submittedForecast,
  categories: Schema.NullOr(Schema.Array(Schema.String)),
  actual_value: Schema.NullOr(Schema.String),
  reference_scale: Schema.NullOr(Schema.String)
})
type Score = typeof Score.Type

const Pending = Schema.Struct({
  challenge_id: Schema.String,
  version: Schema.Int,
  entry: Schema.NullOr(Schema.Uint8Array)
})

/** The values of a score that differ from what its prediction earned. */
const scoreProblems = (score: Score): ReadonlyArray<string> => {
  const {
    actual_value,
    categories,
    crps,
    predicted_std,
    predicted_value,
    reference_scale,
    skill,
    submitted
  } = score
  const saysNumber = predicted_value !== null && predicted_std !== null
  if ((!saysNumber && submitted === null) || actual_value === null || reference_scale === null) {
    return [
      ...(score.score_holds ? [] : ["score"]),
      ...(crps === null ? [] : ["crps"]),
      ...(skill === null ? [] : ["skill"])
    ]
  }
  const earned = numericScore(
    { predicted_std, predicted_value, submitted },
    { actual_value, reference_scale, categories }
  )
  return [
    ...(isSameDecimal(score.score, earned.score) ? [] : ["score"]),
    ...(isSameDecimal(crps, earned.crps) ? [] : ["crps"]),
    ...(isSameDecimal(skill, earned.skill) ? [] : ["skill"])
  ]
}

/** The columns that this form of settlement leaves null. */
const otherColumnsOf = (row: Row): ReadonlyArray<keyof Row & string> => {
  if (row.reference_scale !== null) return ["open_price", "close_price", "dead_zone_pct", ...levelNames]
  return levelNames.every((name) => row[name] === null)
    ? ["actual_value"]
    : ["actual_value", "open_price", "dead_zone_pct"]
}

/** Composes the entry of a settlement or amendment. */
const entryOf = (row: Row, { count, tree }: Scores, pool: SettledPool | null): Uint8Array => {
  const version = {
    ...row,
    observation: row.close_price ?? row.actual_value ?? "",
    root: tree.root(),
    scores: count
  }
  return row.version === 1
    ? settlement({ ...version, pool })
    : amendment({
        ...version,
        previous_version: row.previous_version ?? 0,
        reason: row.reason ?? ""
      })
}

interface Scores {
  readonly tree: Frontier
  count: number
}

const noScores = (): Scores => ({ tree: new Frontier(), count: 0 })

const keyOf = (row: { readonly challenge_id: string; readonly version: number }) =>
  `${row.challenge_id} ${row.version}`

const nameOf = (row: { readonly challenge_id: string; readonly version: number }) =>
  `settlement of challenge ${row.challenge_id}, version ${row.version}`

export const auditSettlements = Effect.fnUntraced(function* (findings: Findings) {
  const sql = yield* SqlClient.SqlClient
  const rows = findAll(Row)
  const scoreRows = findAll(Score)
  const pendingRows = findAll(Pending)
  const auditPools = yield* makeAuditPools
  const counts = { settlements: 0, scores: 0, pools: 0 }

  const read = (after: Row | undefined) =>
    rows(sql`
      select s.challenge_id::text, s.version, s.result, ${exact(sql, "s.open_price")} as open_price,
             ${exact(sql, "s.close_price")} as close_price, ${exact(sql, "s.dead_zone_pct")} as dead_zone_pct, s.source,
             ${exact(sql, "s.actual_value")} as actual_value, ${exact(sql, "s.reference_scale")} as reference_scale,
             ${exactLevels(sql, "s")}, ${moment(sql, "s.observed_at")} as observed_at, ${moment(sql, "s.fetched_at")} as fetched_at,
             s.raw_sha256, ${moment(sql, "s.settled_at")} as settled_at,
             s.previous_version, s.reason,
             case when c.type = 'macro' and s.actual_value is not null then (
               select count(*)::int from unnest(c.bin_edges) as edge where edge <= s.actual_value) end as winning_bin,
             e.index::float8 as index, e.entry
        from (
          select * from settlements
           ${whenGiven(sql, after, (last) => sql`where (challenge_id, version) > (${last.challenge_id}::uuid, ${last.version}::int)`)}
           order by challenge_id, version limit ${settlementsPage}) s
        left join challenges c on c.id = s.challenge_id
        left join log_entries e
          on e.challenge_id = s.challenge_id and e.version = s.version
         and e.type = case when s.version = 1 then 'settlement' else 'amendment' end
       order by s.challenge_id, s.version`)

  /** Reads the scores after `after` up to the last one of settlement `last`. */
  const readScores = (after: Score | undefined, last: Row | undefined) =>
    scoreRows(sql`
      select s.challenge_id::text, s.version, s.agent_id::text, ${exact(sql, "s.score")} as score,
             t.challenge_id is not null as is_of_settlement,
             s.revision is not distinct from l.revision as revision_holds,
             s.is_correct is not distinct from (l.direction = t.result) as is_correct_holds,
             s.score is not distinct from ${directionScore(sql, "l", sql`t.result`)} as score_holds,
             s.crps::text, s.skill::text, l.predicted_value::text, l.predicted_std::text, l.submitted, t.actual_value::text,
             t.reference_scale::text, c.categories
        from (
          select * from prediction_scores
           where ${after === undefined ? sql`true` : sql`(challenge_id, version, agent_id) > (${after.challenge_id}::uuid, ${after.version}::int, ${after.agent_id}::uuid)`}
             and ${last === undefined ? sql`true` : sql`(challenge_id, version) <= (${last.challenge_id}::uuid, ${last.version}::int)`}
           order by challenge_id, version, agent_id limit ${scoresPage}) s
        left join settlements t on t.challenge_id = s.challenge_id and t.version = s.version
        left join challenges c on c.id = s.challenge_id
        left join lateral (
          select p.revision, p.direction, p.confidence, p.predicted_value, p.predicted_std,
                 case when p.direction is null then ${submittedValues(sql)} end as submitted
            from predictions p
           where p.challenge_id = s.challenge_id and p.agent_id = s.agent_id
           order by p.revision desc limit 1) l on true
       order by s.challenge_id, s.version, s.agent_id`)

  let lastScore: Score | undefined
  /** Audits the next scores up to the last one of settlement `last`; returns count and tree of scores by settlement. */
  const scoresUpTo = Effect.fnUntraced(function* (last: Row | undefined) {
    const found = new Map<string, Scores>()
    const check = (page: ReadonlyArray<Score>) =>
      Effect.sync(() => {
        for (const score of page) {
          counts.scores += 1
          lastScore = score
          const what = `score of agent ${score.agent_id} in the ${nameOf(score)}`
          if (!score.is_of_settlement) findings.add(`${what}: there is no such settlement`)
          else {
            if (!score.revision_holds) findings.add(`${what}: revision is not the agent's last one`)
            if (!score.is_correct_holds) findings.add(`${what}: is_correct is not that of its prediction`)
            for (const name of scoreProblems(score)) {
              findings.add(`${what}: ${name} is not what its prediction earned`)
            }
          }
          const scores = found.get(keyOf(score)) ?? noScores()
          scores.count += 1
          scores.tree.append(
            leafHash(Buffer.from(canonicalJson({ agent_id: score.agent_id, score: score.score })))
          )
          found.set(keyOf(score), scores)
        }
      })
    yield* eachPage(scoresPage, (after: Score | undefined) => readScores(after ?? lastScore, last), check)
    return found
  })

  const checkPage = Effect.fnUntraced(function* (page: ReadonlyArray<Row>) {
    const scores = yield* scoresUpTo(page.at(-1))
    const missing = page.filter(({ index }) => index === null)
    const found =
      missing.length === 0
        ? []
        : yield* pendingRows(sql`
            select challenge_id::text, version, entry from log_pending
             where type = case when version = 1 then 'settlement' else 'amendment' end
               and challenge_id = any(${arrayParam(
                 "uuid",
                 missing.map(({ challenge_id }) => challenge_id)
               )})`)
    const pending = new Map(found.map((entry) => [keyOf(entry), entry]))
    // Only the first version moves credit.
    const pools = yield* auditPools(
      findings,
      page
        .filter(({ version, winning_bin }) => version === 1 && winning_bin !== null)
        .map((row) => ({ ...row, at: row.settled_at }))
    )
    counts.pools += pools.size
    for (const row of page) {
      counts.settlements += 1
      const what = nameOf(row)
      const composed = entryOf(
        row,
        scores.get(keyOf(row)) ?? noScores(),
        (row.version === 1 ? pools.get(row.challenge_id) : undefined) ?? null
      )
      const entry = row.entry ?? pending.get(keyOf(row))?.entry ?? null
      if (entry !== null) {
        compare(findings, what, { index: row.index, entry }, composed)
      } else if (!pending.has(keyOf(row))) findings.add(`${what}: it is not in the log`)
      checkEmpty(findings, what, row, [
        ...otherColumnsOf(row),
        ...(row.version === 1 ? (["previous_version"] as const) : [])
      ])
      if ((row.reason !== null) !== row.version > 1) {
        findings.add(`${what}: reason must be set for amendments, and for no others`)
      }
    }
  })

  yield* eachPage(settlementsPage, read, checkPage)
  // The remaining scores belong to no settlement.
  yield* scoresUpTo(undefined)
  return counts
})
