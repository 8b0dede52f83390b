/**
 * The forecast of a random walk for a question: frozen when the question is made, and step by step until its deadline
 * (src/scoring/reference.ts).
 */
import { DateTime, Effect, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import {
  basePeriods,
  baseRates,
  expectedLoss,
  ewmaVolatility,
  minExpectedLoss,
  referenceSteps,
  returnHours,
  stepAt
} from "../../../scoring/reference.ts"
import type { KnownPrice, Reference } from "../../../scoring/reference.ts"
import { hour } from "../../../scoring/candles.ts"
import { kindOf, outcomesOf } from "../../../scoring/kinds/kinds.ts"
import { ReferenceForecast } from "../../../services/domain/Challenge.ts"
import { arrayParam, decimal, execute, findAll, findOption, timestamp } from "../sql.ts"
import { noTerms } from "../../../scoring/kinds/kind.ts"
import { questionColumns, questionOf, QuestionRow } from "./rows.ts"
import { eachLevel } from "../../../scoring/kinds/facts.ts"
import type { Levels } from "../../../scoring/kinds/facts.ts"

const textOf = (value: number | null): string | null => (value === null ? null : String(value))

/**
 * The reference of an open question by the latest price alone; null if that price does not decide it, once the
 * question's window has begun.
 */
export const referenceNow = (
  row: Levels<number | null> & {
    readonly kind: string
    readonly open_price: number | null
    readonly dead_zone_pct: number | null
    readonly reference_scale: number | null
    readonly created_at: string
    readonly resolve_at: string
    readonly window_from: string | null
    readonly volatility: number | null
    readonly odds: ReadonlyArray<number> | null
    readonly price: { readonly price: number; readonly observed_at: string; readonly source: string } | null
  }
): ReferenceForecast | null => {
  const { odds, price, volatility } = row
  if (volatility === null) return odds && { from: row.created_at, price: null, source: null, odds }
  const terms = {
    ...noTerms,
    scale: null,
    open_price: textOf(row.open_price),
    dead_zone_pct: textOf(row.dead_zone_pct),
    ...eachLevel((name) => textOf(row[name])),
    reference_scale: textOf(row.reference_scale),
    window_from: row.window_from === null ? null : Date.parse(row.window_from)
  }
  const walk = kindOf(row.kind, terms).of(terms, Date.parse(row.resolve_at))?.walk
  if (price === null || walk === undefined) return null
  const at = Date.parse(price.observed_at)
  const [step] =
    at > (walk.begins ?? Infinity) ? [] : referenceSteps(walk, volatility, [{ at, price: price.price }])
  return step === undefined
    ? null
    : { from: price.observed_at, price: price.price, source: price.source, ...step.reference }
}

/** The reference as it is frozen with a question. */
export interface FrozenReference {
  readonly volatility: string | null
  readonly odds: ReadonlyArray<string> | null
  readonly loss: string | null
}

export const noReference: FrozenReference = { volatility: null, odds: null, loss: null }

const frozenAs = (volatility: number | undefined, reference: Reference | undefined): FrozenReference => {
  if (reference === undefined) return noReference
  const loss = expectedLoss(reference)
  // The loss of a close is in the unit of the price, so no minimum applies.
  const isSure = "mean" in reference ? loss <= 0 : loss < minExpectedLoss
  return {
    volatility: volatility === undefined ? null : decimal(volatility),
    odds: "odds" in reference ? reference.odds.map(decimal) : null,
    loss: isSure ? null : decimal(loss)
  }
}

const PricePoint = Schema.Struct({
  observed_at: Schema.DateTimeUtcFromDate,
  price: Schema.Finite,
  low: Schema.NullOr(Schema.Finite),
  high: Schema.NullOr(Schema.Finite),
  source: Schema.String
})

const known = ({ high, low, observed_at, price }: typeof PricePoint.Type): KnownPrice => ({
  at: DateTime.toEpochMillis(observed_at),
  price,
  low: low ?? undefined,
  high: high ?? undefined
})

const Steps = Schema.Array(ReferenceForecast)

/** The reference that the answers to a settled question are compared with. */
export interface SettledReference {
  /** The steps, each with its beginning in milliseconds since 1970, UTC. */
  readonly steps: ReadonlyArray<ReferenceForecast & { readonly at: number }>
  /** The loss that the first reference expects. */
  readonly expected: string
}

/** The step that an answer of this time is compared with. */
export const stepFor = ({ steps }: SettledReference, receivedAt: DateTime.Utc) =>
  stepAt(steps, DateTime.toEpochMillis(receivedAt))

const dated = (steps: ReadonlyArray<ReferenceForecast>) =>
  steps.map((step) => ({ ...step, at: Date.parse(step.from) }))

/** Returns come from this many days: hourly returns, or daily ones if those are too few. */
const returnDays = { "1h": 30, "1d": 120 }

export const makeReferences = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const points = findAll(PricePoint)
  const settledRow = findOption(Schema.Struct({ steps: Schema.NullOr(Steps), expected: Schema.String }))
  const frozenRow = findOption(
    Schema.Struct({
      ...QuestionRow.fields,
      deadline: Schema.DateTimeUtcFromDate,
      volatility: Schema.NullOr(Schema.Finite),
      odds: Schema.NullOr(Schema.Array(Schema.Finite))
    })
  )
  const resultRows = findAll(Schema.Struct({ result: Schema.String, count: Schema.Int }))

  /**
   * Reads the prices of an asset that were observed after `from` and until `until` and were known by `knownBy`: one for
   * each time, a candle before a quote.
   */
  const observed = (
    asset: string,
    from: DateTime.Utc,
    until: DateTime.Utc,
    knownBy: DateTime.Utc,
    intervals: ReadonlyArray<string> = ["1h", "1d", "quote"]
  ) =>
    points(sql`
      select distinct on (observed_at) observed_at, close::float8 as price,
             case interval when '1h' then low::float8 end as low, case interval when '1h' then high::float8 end as high,
             source || ' ' || interval as source
        from price_points
       where asset = ${asset} and observed_at > ${timestamp(from)} and observed_at <= ${timestamp(until)}
         and fetched_at <= ${timestamp(knownBy)} and interval = any(${arrayParam("text", intervals)})
       order by observed_at, case interval when '1h' then 1 when 'quote' then 2 else 3 end, source, revision desc`)

  /** The volatility for a question of these times; undefined with too few prices. */
  const volatilityOf = Effect.fnUntraced(function* (
    terms: Pick<QuestionRow, "target" | "created_at" | "resolve_at">
  ) {
    const now = terms.created_at
    const millis = DateTime.toEpochMillis(now)
    const hours = returnHours((DateTime.toEpochMillis(terms.resolve_at) - millis) / hour)
    for (const interval of ["1h", "1d"] as const) {
      const from = DateTime.subtract(now, { days: returnDays[interval] })
      const rows = yield* observed(terms.target, from, now, now, [interval])
      const found = ewmaVolatility(rows.map(known), interval === "1h" ? hours : 24, millis)
      if (found !== undefined) return found
    }
    return undefined
  })

  /** The price from which a question begins: the last known one, or its own open price. */
  const firstPrice = Effect.fnUntraced(function* (
    terms: Pick<QuestionRow, "target" | "created_at" | "open_price">,
    knownBy: DateTime.Utc
  ) {
    const rows = yield* points(sql`
      select observed_at, close::float8 as price, null::float8 as low, null::float8 as high, source || ' ' || interval as source
        from price_points
       where asset = ${terms.target} and observed_at <= ${timestamp(terms.created_at)} and fetched_at <= ${timestamp(knownBy)}
       order by observed_at desc, case interval when '1h' then 1 when 'quote' then 2 else 3 end, source, revision desc
       limit 1`)
    if (rows.length > 0 || terms.open_price === null) return rows
    return [
      {
        observed_at: terms.created_at,
        price: Number(terms.open_price),
        low: null,
        high: null,
        source: "open price"
      }
    ]
  })

  /**
   * The frequency of each outcome among the last questions of the kind and the target, as it was known then: an
   * amendment changes no frozen odds.
   */
  const baseOdds = Effect.fnUntraced(function* (
    terms: Pick<QuestionRow, "kind" | "target">,
    names: ReadonlyArray<string>,
    now: DateTime.Utc
  ) {
    const rows = yield* resultRows(sql`
      select result, count(*)::int as count
        from (
          select t.result
            from challenges c
            join lateral (
              select result from settlements
               where challenge_id = c.id and settled_at <= ${timestamp(now)} order by version desc limit 1) t
              on t.result is not null
           where c.target = ${terms.target} and c.kind = ${terms.kind} and c.resolved_at <= ${timestamp(now)}
           order by c.id desc
           limit ${basePeriods.max}) last
       group by result`)
    return baseRates(names.map((name) => rows.find(({ result }) => result === name)?.count ?? 0))
  })

  /** Computes the reference that is frozen with a new question. */
  const freeze = Effect.fnUntraced(function* (terms: QuestionRow) {
    const question = questionOf(terms)
    if (question?.walk === undefined) return noReference
    const volatility = yield* volatilityOf(terms)
    if (volatility === undefined) {
      const names = outcomesOf(question.answers)
      // Without prices, the reference of a number is its scale.
      return names === null
        ? noReference
        : frozenAs(undefined, { odds: yield* baseOdds(terms, names, terms.created_at) })
    }
    const first = yield* firstPrice(terms, terms.created_at)
    const [step] = referenceSteps(question.walk, volatility, first.map(known))
    return frozenAs(volatility, step?.reference)
  })

  /** Computes the steps of a question until one time, by the prices that are known by another. */
  const steps = Effect.fnUntraced(function* (id: string, until: DateTime.Utc, knownBy: DateTime.Utc) {
    const found = yield* frozenRow(sql`
      select ${questionColumns(sql)}, c.deadline, c.volatility::float8 as volatility, c.odds::float8[] as odds
        from challenges c where c.id = ${id}::uuid and c.reference_loss is not null`)
    if (Option.isNone(found)) return []
    const terms = found.value
    const walk = questionOf(terms)?.walk
    const { odds, volatility } = terms
    if (walk === undefined) return []
    if (volatility === null) {
      return odds === null
        ? []
        : [{ from: DateTime.formatIso(terms.created_at), price: null, source: null, odds }]
    }
    const last = DateTime.min(until, terms.deadline)
    const rows = [
      ...(yield* firstPrice(terms, knownBy)),
      ...(yield* observed(terms.target, terms.created_at, last, knownBy))
    ]
    const sources = new Map(
      rows.map(({ observed_at, source }) => [DateTime.toEpochMillis(observed_at), source])
    )
    return referenceSteps(walk, volatility, rows.map(known)).map(
      ({ at, price, reference }): ReferenceForecast => ({
        from: DateTime.formatIso(DateTime.makeUnsafe(at)),
        price,
        source: sources.get(at) ?? null,
        ...reference
      })
    )
  })

  /** Stores the steps with a first settlement, within its transaction; later versions find them. Null without a reference. */
  const settled = Effect.fnUntraced(function* (
    id: string,
    now: DateTime.Utc
  ): Effect.fn.Return<SettledReference | null> {
    const found = yield* settledRow(sql`
      select r.steps, c.reference_loss::text as expected
        from challenges c left join challenge_references r on r.challenge_id = c.id
       where c.id = ${id}::uuid and c.reference_loss is not null`)
    if (Option.isNone(found)) return null
    const { expected, steps: before } = found.value
    if (before !== null) return { expected, steps: dated(before) }
    const made = yield* steps(id, now, now)
    if (made.length === 0) return null
    yield* execute(sql`
      insert into challenge_references (challenge_id, steps, made_at)
      values (${id}::uuid, ${JSON.stringify(made)}::jsonb, ${timestamp(now)})`)
    return { expected, steps: dated(made) }
  })

  return { baseOdds, freeze, steps, settled, volatilityOf }
})
