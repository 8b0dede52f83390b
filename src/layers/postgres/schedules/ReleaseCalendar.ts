import { DateTime, Effect, Layer, Schema, Struct } from "effect"
import { SqlClient } from "effect/sql"
import { microCredits } from "../../../services/Credits.ts"
import { InvalidRequest } from "../../../services/domain/errors.ts"
import type { FieldProblem } from "../../../services/domain/errors.ts"
import { Cursors } from "../../../services/domain/paging.ts"
import { InstantText } from "../../../services/domain/text.ts"
import { PublishedRelease, Release, ReleaseCalendar } from "../../../services/Schedules.ts"
import type { PlannedRelease } from "../../../services/Schedules.ts"
import { Targets } from "../../../services/Targets.ts"
import { OutcomeName } from "../../../services/domain/Challenge.ts"
import { categoriesOf, outcomeNameOf, withOutcomeName } from "../challenges/challengeRows.ts"
import { latestSettlement } from "../latestSettlement.ts"
import { decimal, execute, findAll, isoTimestamp, timestamp, transaction } from "../sql.ts"
import { releasePeriod } from "./schedulePlans.ts"

const keyOf = ({ asset, period, unit }: PlannedRelease): string => JSON.stringify([asset, period, unit ?? ""])

/** The problems of a calendar, by the path of the field. */
const problemsOf = (
  releases: ReadonlyArray<PlannedRelease>,
  series: ReadonlySet<string>
): ReadonlyArray<FieldProblem> => {
  const seen = new Map<string, number>()
  return releases.flatMap((release, index) => {
    const problems: Array<FieldProblem> = []
    const wrong = (field: string, message: string) =>
      problems.push({ path: `releases.${index}.${field}`, message })
    if (!series.has(release.asset)) wrong("asset", `"${release.asset}" is not a macro series`)
    const before = seen.get(keyOf(release))
    if (before === undefined) seen.set(keyOf(release), index)
    else wrong("period", `Expected each period of a series once in a unit; releases.${before} has it too`)
    const deadline = release.deadline ?? release.release_at
    if (DateTime.isGreaterThan(deadline, release.release_at)) {
      wrong("deadline", "Expected a time at or before release_at")
    }
    return problems
  })
}

const rowOf = (release: PlannedRelease) => ({
  target: release.asset,
  period: release.period,
  unit: release.unit ?? "",
  release_at: timestamp(release.release_at),
  deadline: release.deadline === undefined ? null : timestamp(release.deadline),
  question: release.question ?? null,
  decimal_step: release.decimal_step === undefined ? null : decimal(release.decimal_step),
  reference_scale: release.reference_scale === undefined ? null : decimal(release.reference_scale),
  bin_edges: release.bin_edges === undefined ? null : `{${release.bin_edges.map(decimal).join(",")}}`,
  categories: release.categories?.map(({ name }) => name) ?? null,
  reference: release.categories?.map(({ probability }) => decimal(probability)) ?? null,
  reward_pool: microCredits(release.reward_pool ?? 0).toString()
})

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const targets = yield* Targets
  const rows = findAll(Schema.Struct({ release: Release }))
  const publishedRows = findAll(
    Schema.Struct({
      ...PublishedRelease.fields,
      outcome_name: Schema.NullOr(OutcomeName),
      key: Schema.String
    })
  )
  const pages = (yield* Cursors).list(
    "releases",
    Schema.Struct({ release_at: InstantText, key: Schema.String })
  )

  const list: ReleaseCalendar["Service"]["list"] = rows(sql`
    select jsonb_strip_nulls(jsonb_build_object(
             'asset', r.target, 'period', r.period, 'unit', nullif(r.unit, ''),
             'release_at', ${isoTimestamp(sql, "r.release_at")}, 'deadline', ${isoTimestamp(sql, "r.deadline")}, 'question', r.question,
             'reference_scale', r.reference_scale, 'decimal_step', r.decimal_step, 'bin_edges', to_jsonb(r.bin_edges), 'categories', ${categoriesOf(sql, "r")},
             'reward_pool', r.reward_pool::numeric / 1000000, 'challenge_id', s.challenge_id)) as release
      from (select *, ${sql.literal(releasePeriod)} as made_as from release_calendar) r
      left join scheduled_challenges s on s.schedule = 'macro' and s.target = r.target and s.period = r.made_as
     order by r.release_at, r.target, r.period, r.unit`).pipe(
    Effect.map((planned) => ({ releases: planned.map(({ release }) => release) })),
    Effect.withSpan("ReleaseCalendar.list")
  )

  const replace: ReleaseCalendar["Service"]["replace"] = Effect.fn("ReleaseCalendar.replace")(
    function* (releases) {
      const { categories } = yield* targets.catalog
      const series = categories
        .flatMap((category) => category.targets)
        .filter(({ kind }) => kind === "macro")
        .map(({ key }) => key)
      const errors = problemsOf(releases, new Set(series))
      if (errors.length > 0) {
        const detail = errors.map(({ message, path }) => `${path}: ${message}`).join("; ")
        return yield* new InvalidRequest({ detail, errors })
      }
      const planned = JSON.stringify(releases.map(rowOf))
      const replaced = Effect.gen(function* () {
        // After two concurrent replacements the later calendar holds as a whole.
        yield* sql`lock table release_calendar in share row exclusive mode`
        yield* execute(sql`
          merge into release_calendar r
          using (
            select * from jsonb_to_recordset(${planned}::jsonb) as p
              (target text, period text, unit text, release_at timestamptz, deadline timestamptz, question text,
               decimal_step numeric, reference_scale numeric, bin_edges text, categories text[], reference numeric[],
               reward_pool bigint)) p
             on (r.target, r.period, r.unit) = (p.target, p.period, p.unit)
           when not matched by source then delete
           when matched then update set
             release_at = p.release_at, deadline = p.deadline, question = p.question, decimal_step = p.decimal_step,
             reference_scale = p.reference_scale, bin_edges = p.bin_edges::numeric[], categories = p.categories,
             reference = p.reference, reward_pool = p.reward_pool
           when not matched then insert
             (target, period, unit, release_at, deadline, question, decimal_step, reference_scale, bin_edges, categories,
              reference, reward_pool)
             values (p.target, p.period, p.unit, p.release_at, p.deadline, p.question, p.decimal_step,
                     p.reference_scale, p.bin_edges::numeric[], p.categories, p.reference, p.reward_pool)`)
        return yield* list
      })
      return yield* transaction(sql)(replaced)
    }
  )

  const published: ReleaseCalendar["Service"]["published"] = Effect.fn("ReleaseCalendar.published")(
    function* ({ asset, before, from }, page) {
      const { after, toPage, limit } = yield* pages.decode(page, asset)
      /** The conditions on a row that is released at `time`; `key` orders the rows of one time. */
      const within = (time: string, key: string) =>
        sql.and([
          sql`true`,
          ...(from === undefined ? [] : [sql`${sql.literal(time)} >= ${timestamp(from)}`]),
          ...(before === undefined ? [] : [sql`${sql.literal(time)} < ${timestamp(before)}`]),
          ...(after === undefined
            ? []
            : [
                sql`${sql.literal(time)} <= ${after.release_at}::timestamptz`,
                sql`(${sql.literal(time)}, ${sql.literal(key)}) < (${after.release_at}::timestamptz, ${after.key})`
              ])
        ])
      const challengeKey = `c.id::text collate "C"`
      const plannedKey = `(r.target || ' ' || r.period || ' ' || r.unit) collate "C"`
      const found = yield* publishedRows(sql`
        with released as (
          select c.target, c.period, c.unit, c.resolve_at as release_at, ${sql.literal(challengeKey)} as key,
                 c.id, c.deadline, c.categories
            from targets t
           cross join lateral (
             select * from challenges c
              where c.target = t.key and c.type = 'macro' and c.cancelled_at is null
                and ${within("c.resolve_at", challengeKey)}
              order by c.resolve_at desc, ${sql.literal(challengeKey)} desc
              limit ${limit}) c
           where t.kind = 'macro' and t.key = coalesce(${asset ?? null}, t.key)
        ), planned as (
          select r.target, r.period, nullif(r.unit, '') as unit, r.release_at, ${sql.literal(plannedKey)} as key,
                 null::uuid as id, null::timestamptz as deadline, null::text[] as categories
            from release_calendar r
           where r.target = coalesce(${asset ?? null}, r.target) and ${within("r.release_at", plannedKey)}
             and not exists (
               select from challenges c
                where c.target = r.target and c.period = r.period and c.type = 'macro' and c.cancelled_at is null
                  and coalesce(c.unit, '') = r.unit)
           order by r.release_at desc, ${sql.literal(plannedKey)} desc
           limit ${limit}
        )
        select c.target as asset, c.period, c.unit, ${isoTimestamp(sql, "c.release_at")} as release_at,
               c.id::text as challenge_id, ${isoTimestamp(sql, "c.deadline")} as deadline,
               s.actual_value::float8 as actual_value, ${outcomeNameOf(sql)} as outcome_name, s.source, ${isoTimestamp(sql, "s.settled_at")} as settled_at, c.key
          from (
            select * from (select * from released union all select * from planned) b
             order by release_at desc, key desc
             limit ${limit}) c
          left join ${latestSettlement(sql)} s on true
         order by c.release_at desc, c.key desc`)
      const { items, next_cursor } = toPage(found, ({ key, release_at }) => ({ release_at, key }))
      return { items: items.map(Struct.omit(["key"])).map(withOutcomeName), next_cursor }
    }
  )

  return ReleaseCalendar.of({ list, replace, published })
})

export const layer = Layer.effect(ReleaseCalendar, make)
