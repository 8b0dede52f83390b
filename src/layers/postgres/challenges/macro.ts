/** The macro arena: challenges on a value that will be published, and forecasts of it. */
import { DateTime, Effect, Option, Schema, BigDecimal } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { unknownChallenge, MacroChallenge, scaleBounds } from "../../../services/domain/Challenge.ts"
import type { NewMacroChallenge } from "../../../services/domain/Challenge.ts"
import { microCredits } from "../../../services/Credits.ts"
import { InvalidRequest } from "../../../services/domain/errors.ts"
import { isUuid } from "../../../services/domain/ids.ts"
import { wholeSecond, wholeSeconds } from "../../../services/domain/text.ts"
import type { MacroArena } from "../../../services/Arenas.ts"
import { Cursors } from "../../../services/domain/paging.ts"
import { Settings } from "../../../services/Settings.ts"
import { Targets, unknownAsset } from "../../../services/Targets.ts"
import { categoriesOf, countsOfChallenge, hasStatus, statusOf, scoringScale } from "./challengeRows.ts"
import { createChallenge } from "./lifecycle.ts"
import { Pools } from "../../../services/Pools.ts"
import {
  boundNow,
  decimal,
  exact,
  findAll,
  findOne,
  findOption,
  isoTimestamp,
  pageAfter,
  transaction,
  whenGiven
} from "../sql.ts"
import {
  binsOf,
  decimalStep,
  edgesOfCategories,
  minSurprises,
  referenceScale
} from "../../../scoring/macro.ts"
import { expectedRps } from "../../../scoring/ordered.ts"
import { plainDecimal, roundedScale } from "../../../scoring/wording.ts"
import { noTerms } from "../../../scoring/kinds/kind.ts"
import { exactList, textsOf } from "./rows.ts"

export const makeMacroArena = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const pages = (yield* Cursors).listById("macro challenges")
  const settings = yield* Settings
  const targets = yield* Targets
  const random = yield* SecureRandom.SecureRandom
  const challenges = findAll(MacroRow)
  const challenge = findOption(MacroRow)
  const termsOf = yield* makeMacroTerms
  const pools = yield* Pools

  const get: MacroArena["get"] = Effect.fn("MacroArena.get")(function* (id) {
    if (!isUuid(id)) return yield* unknownChallenge(id)
    const now = yield* DateTime.now
    const found = yield* challenge(
      sql`${selectMacro(sql, now)} where c.id = ${id}::uuid and c.type = 'macro'`
    )
    return yield* Effect.fromOption(Option.map(found, toChallenge)).pipe(
      Effect.mapError(() => unknownChallenge(id))
    )
  })

  const list: MacroArena["list"] = Effect.fn("MacroArena.list")(function* (status, page) {
    const { after, cut, limit } = yield* pages.open(page)
    const now = yield* DateTime.now
    const rows = yield* challenges(sql`
      ${selectMacro(sql, now)}
       where c.type = 'macro' ${whenGiven(sql, status, (value) => sql`and ${hasStatus(sql, value, now)}`)}
         ${pageAfter(sql, "c.id <", after)}
       order by c.id desc
       limit ${limit}`)
    const { items, next_cursor } = cut(rows, (last) => last.id)
    return { challenges: items.map(toChallenge), next_cursor }
  })

  const create: MacroArena["create"] = Effect.fn("MacroArena.create")(function* (asked: NewMacroChallenge) {
    const wanted = { ...asked, deadline: wholeSecond(asked.deadline) }
    const target = yield* targets
      .get(wanted.asset)
      .pipe(Effect.catch(() => unknownAsset(targets, wanted.asset)))
    if (target.kind !== "macro") {
      return yield* InvalidRequest.of("asset", `${target.key} is not a macro series`)
    }
    const releaseAt = wholeSecond(wanted.release_at ?? wanted.deadline)
    if (DateTime.isLessThan(releaseAt, wanted.deadline)) {
      return yield* InvalidRequest.of("release_at", "Expected a time at or after the deadline")
    }
    const now = yield* boundNow(sql)
    const id = yield* random.uuidV7()
    const cancelAt = DateTime.addDuration(releaseAt, wholeSeconds(settings.macroVoidAfter))
    const { scale, ...terms } = yield* termsOf(wanted)
    const unworded = {
      ...noTerms,
      ...terms,
      challenge_id: id,
      challenge_type: "macro",
      asset: target.key,
      kind: "macro",
      event_id: null,
      created_at: now,
      deadline: wanted.deadline,
      resolve_at: releaseAt,
      close_price_until: cancelAt,
      cancel_at: cancelAt,
      pool_owner_rule: settings.poolOwnerRule
    }
    const { question, ...criteria } = textsOf(unworded, target.name, scale)
    const recorded = createChallenge(sql, { ...unworded, ...criteria, question: wanted.question ?? question })
    // The statement that creates the challenge opens the pool's account.
    const funded = pools.fund(id, microCredits(wanted.reward_pool))
    yield* transaction(sql)(Effect.andThen(recorded, funded))
    return yield* Effect.orDie(get(id))
  })

  return { get, list, create }
})

const { bins: _, ...columns } = MacroChallenge.fields

const MacroRow = Schema.Struct({ ...columns, bin_edges: Schema.Array(Schema.Finite) })

const toChallenge = ({ bin_edges, ...row }: typeof MacroRow.Type): MacroChallenge => ({
  ...row,
  bins: binsOf(bin_edges, row.categories?.map(({ name }) => name) ?? null)
})

/** Macro challenges `c`; the caller adds conditions, order and limit. */
const selectMacro = (sql: SqlClient.SqlClient, now: DateTime.Utc) => sql`
  select c.id::text, c.target as asset, c.period, c.question, ${statusOf(sql, now)} as status,
         ${isoTimestamp(sql, "c.created_at")} as created_at, ${isoTimestamp(sql, "c.deadline")} as deadline,
         ${isoTimestamp(sql, "c.resolve_at")} as release_at, c.unit, c.reference_scale::float8 as reference_scale,
         c.decimal_step::float8 as decimal_step, c.bin_edges::float8[] as bin_edges,
         ${categoriesOf(sql)} as categories, c.reward_pool::float8 / 1000000 as reward_pool,
         coalesce(c.pool_owner_rule, true) as pool_owner_rule, n.forecasts as prediction_count, c.resolution_criteria,
         c.resolution_criteria_zh, s.actual_value::float8 as actual_value, c.cancel_reason as void_reason
    from challenges c
   ${countsOfChallenge(sql)}
    left join lateral (
      select actual_value from settlements where challenge_id = c.id order by version desc limit 1) s on true`

const Printed = Schema.Struct({
  bin_edges: Schema.Array(Schema.String),
  reference_scale: Schema.NullOr(Schema.String),
  decimal_step: Schema.NullOr(Schema.String),
  scale: Schema.String
})

/** The terms of a new macro challenge: as they were asked for, or computed from the earlier prints of the series. */
const makeMacroTerms = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const earlierPrints = yield* makeEarlierPrints
  const printed = findOne(Printed)

  const orderedTerms = (categories: NonNullable<NewMacroChallenge["categories"]>) => {
    // What answers are measured with, as the scale of a series is.
    const scale = decimal(expectedRps(categories.map(({ probability }) => probability)))
    return {
      bin_edges: edgesOfCategories(categories.length).map(decimal),
      reference_scale: scale,
      decimal_step: null,
      categories: categories.map(({ name }) => name),
      reference: categories.map(({ probability }) => plainDecimal(probability)),
      scale
    }
  }

  const scaleOf = Effect.fnUntraced(function* (wanted: NewMacroChallenge) {
    const given = wanted.decimal_step === undefined ? null : plainDecimal(wanted.decimal_step)
    if (wanted.reference_scale !== undefined) {
      const scale = wanted.reference_scale === null ? null : plainDecimal(wanted.reference_scale)
      return { reference_scale: scale, decimal_step: given }
    }
    const known = yield* earlierPrints(wanted.asset, wanted.unit)
    const step = given === null ? decimalStep(known) : BigDecimal.fromStringUnsafe(given)
    const scale = referenceScale(known, step)
    if (scale === undefined) {
      return yield* InvalidRequest.of(
        "reference_scale",
        `Expected a value: it is computed from ${minSurprises + 1} or more first prints of ${wanted.asset} in this unit, of which ${known.length} are known`
      )
    }
    const rounded = roundedScale(BigDecimal.toNumberUnsafe(scale))
    return { reference_scale: plainDecimal(rounded), decimal_step: BigDecimal.format(step) }
  })

  return Effect.fnUntraced(function* (wanted: NewMacroChallenge) {
    const common = {
      period: wanted.period,
      unit: wanted.unit ?? null,
      reward_pool: BigDecimal.format(BigDecimal.fromNumberUnsafe(wanted.reward_pool))
    }
    if (wanted.categories !== undefined) return { ...common, ...orderedTerms(wanted.categories) }
    const edges = (wanted.bin_edges ?? []).map(plainDecimal)
    const scale = yield* scaleOf(wanted)
    if (scale.reference_scale === null && edges.length < 2) {
      return yield* InvalidRequest.of(
        "bin_edges",
        "Expected two edges or more, since there is no reference scale"
      )
    }
    // Exact decimals as PostgreSQL prints them: the form in the criteria text and the log.
    const { scale: scoredWith, ...terms } = yield* printed(sql`
      with given as (
        select ${`{${edges.join(",")}}`}::numeric[] as bin_edges, ${scale.reference_scale}::numeric as reference_scale
      )
      select ${exactList(sql, "c.bin_edges")} as bin_edges, ${exact(sql, "c.reference_scale")} as reference_scale,
             trim_scale(${scale.decimal_step}::numeric)::text as decimal_step,
             trim_scale(${scoringScale(sql)})::text as scale
        from given c`)
    const isUsable = Number(scoredWith) >= scaleBounds.minimum && Number(scoredWith) <= scaleBounds.maximum
    if (!isUsable) {
      return yield* terms.reference_scale === null
        ? InvalidRequest.of(
            "bin_edges",
            `Expected outermost edges that are at least ${4 * scaleBounds.minimum} apart, since forecasts are scored with a quarter of that`
          )
        : InvalidRequest.of(
            "reference_scale",
            `Expected a value: what the earlier prints give, ${scoredWith}, is not between ${scaleBounds.minimum} and ${scaleBounds.maximum}`
          )
    }
    return { ...common, ...terms, categories: null, reference: null, scale: scoredWith }
  })
})

/** Five years of a monthly series: earlier surprises say little about those to come. */
const maxPrints = 61

const Print = Schema.Struct({ actual_value: Schema.BigDecimalFromString })

/** The first prints by which earlier challenges of a series were settled. */
export const makeEarlierPrints = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const prints = findAll(Print)

  /** First prints of the series in this unit, in the order of their release. */
  return Effect.fnUntraced(function* (asset: string, unit: string | undefined) {
    const newestFirst = yield* prints(sql`
      select s.actual_value::text
        from challenges c
       cross join lateral (
         select actual_value from settlements where challenge_id = c.id order by version desc limit 1) s
       where c.target = ${asset} and c.type = 'macro' and c.resolved_at is not null and c.categories is null
         and c.unit is not distinct from ${unit ?? null}
       order by c.resolve_at desc, c.id desc
       limit ${maxPrints}`)
    return newestFirst.map(({ actual_value }) => actual_value).toReversed()
  })
})
