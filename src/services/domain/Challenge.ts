/**
 * Challenges of each type, as the interface shows them and as administrators create them. A directional challenge asks
 * which way a price moves; a macro challenge asks for a value that a statistical office or a central bank will publish;
 * a price event asks about prices that candles show, mostly of a crypto asset (src/scoring/kinds).
 */
import { plainDecimal } from "../../scoring/wording.ts"
import { candleKindNames, directionKindNames, eachLevel, inWords } from "../../scoring/kinds/facts.ts"
import { expectedRps } from "../../scoring/ordered.ts"
import { DateTime, Schema } from "effect"
import { apiError, NotFound } from "./errors.ts"
import type { InvalidRequest } from "./errors.ts"
import { DeadZone } from "../Targets.ts"
import type { Category } from "../Targets.ts"
import { ChallengeId, EventId, TargetKey } from "./ids.ts"
import { criteriaTexts } from "./language.ts"
import { maxMagnitude, minMagnitude, Probability, sumProblem, sumsToOne, ValueField } from "./agentNumbers.ts"
import { pageSchema } from "./paging.ts"
import { Term, text, Timestamp, list } from "./text.ts"

export const ChallengeType = Schema.Literals(["directional", "macro", "price_event"])
export type ChallengeType = typeof ChallengeType.Type

export const Direction = Schema.Literals(["bullish", "bearish", "neutral"])
export type Direction = typeof Direction.Type

export const ChallengeStatus = Schema.Literals(["open", "closed", "resolved", "cancelled"])
export type ChallengeStatus = typeof ChallengeStatus.Type

/** The status of a challenge of any type: a directional one without a result is cancelled, the others are void. */
export const AnyStatus = Schema.Literals([...ChallengeStatus.literals, "void"])
export type AnyStatus = typeof AnyStatus.Type

/** The hours after its deadline at which a question of the ladder is decided. */
export const ladderHours = { "1h": 1, "4h": 4, "1d": 24 } as const

export const DirectionalKind = Schema.Literals(directionKindNames)

/** The time of counts that move in steps. */
export const CountsAsOf = Schema.NullOr(Timestamp).annotate({
  description:
    "when the counts were so: while open they move in steps, and from the deadline on they are final; null where the instance shows them live"
})

export const Challenge = Schema.Struct({
  id: ChallengeId,
  type: Schema.Literal("directional"),
  kind: DirectionalKind,
  event_id: Schema.NullOr(EventId),
  question: Schema.String,
  asset: Schema.String,
  status: ChallengeStatus,
  created_at: Timestamp,
  deadline: Timestamp,
  resolve_at: Timestamp,
  open_price: Schema.Finite,
  prediction_count: Schema.Int.annotate({
    description: "live, and so may be more than the three counts together"
  }),
  bullish_count: Schema.Int,
  bearish_count: Schema.Int,
  neutral_count: Schema.Int,
  counts_as_of: CountsAsOf,
  ...criteriaTexts,
  dead_zone_pct: Schema.NullOr(Schema.Finite),
  cancel_reason: Schema.NullOr(Schema.String)
}).annotate({ identifier: "Challenge" })
export type Challenge = typeof Challenge.Type

export const Challenges = Schema.Struct({
  items: Schema.Array(Challenge),
  total: Schema.Int,
  next_cursor: Schema.NullOr(Schema.String)
}).annotate({ identifier: "Challenges" })
export type Challenges = typeof Challenges.Type

export const ActiveChallenges = Schema.Struct({
  ...Challenges.fields,
  hint: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "ActiveChallenges" })
export type ActiveChallenges = typeof ActiveChallenges.Type

/** A directional challenge as an admin creates it. `dead_zone_pct: null` makes an older challenge, without frozen texts. */
export const NewChallenge = Schema.Struct({
  asset: TargetKey,
  question: Schema.optionalKey(text({ minimum: 1, maximum: 500 })),
  event_id: Schema.optionalKey(EventId),
  kind: Schema.optionalKey(DirectionalKind),
  deadline: Term,
  resolve_at: Term,
  open_price: Schema.optionalKey(Schema.Finite.check(Schema.isGreaterThan(0), Schema.isLessThan(1e15))),
  dead_zone_pct: Schema.optionalKey(Schema.NullOr(DeadZone))
})
export type NewChallenge = typeof NewChallenge.Type

export const MacroStatus = Schema.Literals(["open", "closed", "resolved", "void"])
export type MacroStatus = typeof MacroStatus.Type

export const MacroBin = Schema.Struct({
  index: Schema.Int,
  low: Schema.NullOr(Schema.Finite).annotate({
    description: "null: no low end. A value on it belongs to this bin"
  }),
  high: Schema.NullOr(Schema.Finite).annotate({ description: "null: no high end" }),
  name: Schema.optionalKey(Schema.String).annotate({ description: "of a category, whose value is its index" })
})

/** A category of an ordered question, with its probability in the reference vector. */
export const OrderedCategory = Schema.Struct({
  name: text({ minimum: 1, maximum: 40 }),
  probability: Probability.annotate({
    description: `in the reference vector, which answers are measured with; ${sumsToOne}`
  })
})

export const PoolOwnerRule = Schema.Boolean.annotate({
  description: "whether the agents of one owner count as one in the credit pool; frozen when it opened"
})

export const MacroChallenge = Schema.Struct({
  id: ChallengeId,
  asset: Schema.String.annotate({ description: "a macro series of the target catalog, for example CPI" }),
  period: Schema.String.annotate({ description: "the period of the value, for example 2026-03" }),
  question: Schema.String,
  status: MacroStatus,
  created_at: Timestamp,
  deadline: Timestamp,
  release_at: Timestamp,
  unit: Schema.NullOr(Schema.String),
  reference_scale: Schema.NullOr(Schema.Finite).annotate({
    description:
      "frozen at creation; null in older challenges, which are scored with the spread of their bins"
  }),
  decimal_step: Schema.NullOr(Schema.Finite).annotate({
    description: "the distance between neighbouring values as they are published, for calibration"
  }),
  bins: Schema.Array(MacroBin),
  categories: Schema.NullOr(Schema.Array(OrderedCategory)).annotate({
    description: "of an ordered question, in their order; null of one on a number"
  }),
  reward_pool: Schema.Finite.annotate({ description: "credits" }),
  pool_owner_rule: PoolOwnerRule,
  prediction_count: Schema.Int,
  ...criteriaTexts,
  actual_value: Schema.NullOr(Schema.Finite),
  void_reason: Schema.NullOr(Schema.String)
}).annotate({ identifier: "MacroChallenge" })
export type MacroChallenge = typeof MacroChallenge.Type

export const MacroChallenges = Schema.Struct({
  challenges: Schema.Array(MacroChallenge),
  next_cursor: Schema.NullOr(Schema.String)
}).annotate({ identifier: "MacroChallenges" })

/** The bounds of a scale: scores with one outside them would exceed the range of doubles. */
export const scaleBounds = { minimum: minMagnitude, maximum: maxMagnitude }
const scale = Schema.Finite.check(Schema.isBetween(scaleBounds))

/** Edges are compared by the digits with which they are frozen. */
const ascending = Schema.makeFilter((edges: ReadonlyArray<number>) =>
  edges
    .map((edge) => Number(plainDecimal(edge)))
    .every((edge, index, frozen) => index === 0 || edge > (frozen[index - 1] ?? edge))
    ? undefined
    : "Expected each edge to be above the one before it, by 15 significant digits"
)

/** Credits have six decimals at most. */
const wholeMicroCredits = Schema.makeFilter((credits: number) =>
  Math.round(credits * 1e6) / 1e6 === credits ? undefined : "Expected at most 6 decimals"
)

/** The names of the outcomes of other questions. */
const takenNames: ReadonlySet<string> = new Set(Direction.literals)

const distinctNames = Schema.makeFilter((categories: ReadonlyArray<typeof OrderedCategory.Type>) => {
  const names = categories.map(({ name }) => name)
  const place = names.findIndex((name, index) => names.indexOf(name) < index || takenNames.has(name))
  return place < 0
    ? undefined
    : { path: [place, "name"], issue: "Expected a name that no other category has, and no direction" }
})

/** A reference that is nearly sure measures nothing. */
const minReferenceRps = 1e-6

const someDoubt = Schema.makeFilter((categories: ReadonlyArray<typeof OrderedCategory.Type>) => {
  const reference = categories.map(({ probability }) => probability)
  const problem = sumProblem(reference)
  if (problem !== undefined) return problem
  return expectedRps(reference) >= minReferenceRps
    ? undefined
    : "Their probabilities must leave some doubt: answers are measured with what they expect to be wrong by"
})

/** The fields that categories replace. */
const numericTerms = ["bin_edges", "unit", "reference_scale", "decimal_step"] as const

export const categoriesOrBins = Schema.makeFilter(
  (terms: { readonly [Name in (typeof numericTerms)[number] | "categories"]?: unknown }) => {
    if (terms.categories === undefined) return undefined
    return numericTerms
      .filter((name) => terms[name] !== undefined && terms[name] !== null)
      .map((name) => ({ path: [name], issue: "Expected nothing beside categories: they are what is asked" }))
  }
)

/** A macro challenge as an admin creates it. `reference_scale: null` makes an older challenge, without a frozen scale. */
export const NewMacroChallenge = Schema.Struct({
  asset: TargetKey,
  period: text({ minimum: 1, maximum: 40 }),
  question: Schema.optionalKey(text({ minimum: 1, maximum: 500 })),
  deadline: Term.annotate({
    description: "one in the past is of an earlier period, whose first print counts for reference scales"
  }),
  release_at: Schema.optionalKey(Term).annotate({
    description: "when the value is published; default: deadline"
  }),
  unit: Schema.optionalKey(text({ minimum: 1, maximum: 40 })),
  reference_scale: Schema.optionalKey(Schema.NullOr(scale)).annotate({
    description:
      "default: 1.4826 MAD of the surprises of the series' earlier first prints, of which 25 must be known"
  }),
  decimal_step: Schema.optionalKey(scale).annotate({
    description:
      "default: that of the series' earlier first prints, if the reference scale is computed from them"
  }),
  bin_edges: Schema.optionalKey(
    list(ValueField, {
      minimum: 1,
      maximum: 200,
      description: "ascending; the first bin lies below the first edge, the last from the last one on"
    }).check(ascending)
  ),
  categories: Schema.optionalKey(
    list(OrderedCategory, {
      minimum: 3,
      maximum: 20,
      description:
        "of an ordered question, in their order and in place of bin_edges, unit, reference_scale and decimal_step; each is a bin of the pool"
    }).check(distinctNames, someDoubt)
  ),
  reward_pool: Schema.Finite.check(
    Schema.isBetween({ minimum: 0, maximum: 1e9 }),
    wholeMicroCredits
  ).annotate({
    description: "credits, 6 decimals at most"
  })
}).check(
  categoriesOrBins,
  Schema.makeFilter(({ bin_edges, categories }) =>
    bin_edges === undefined && categories === undefined
      ? { path: ["bin_edges"], issue: "Missing key: bins of a number, or categories" }
      : undefined
  )
)
export type NewMacroChallenge = typeof NewMacroChallenge.Type

/** The first print of a series, as an administrator sends it. */
export const MacroValue = Schema.Struct({
  actual_value: ValueField,
  confirm: Schema.optionalKey(Schema.Boolean).annotate({
    description:
      "true takes a value that looks mistyped: one that is no multiple of decimal_step, or lies more than 100 reference scales beyond the outermost bin edges"
  })
})
export type MacroValue = typeof MacroValue.Type

export const PriceEventKind = Schema.Literals(candleKindNames)
export type PriceEventKind = typeof PriceEventKind.Type

export const PriceEventStatus = Schema.Literals(["open", "closed", "resolved", "void"])
export type PriceEventStatus = typeof PriceEventStatus.Type

/** The answers to a yes-or-no question: Yes is bullish, No is bearish. */
export const YesOrNo = Schema.Literals(["bullish", "bearish"]).annotate({
  message: 'Expected "bullish" (Yes) or "bearish" (No)'
})
export type YesOrNo = typeof YesOrNo.Type

/** The prices that a question names. */
export const levelFields = eachLevel((name) =>
  Schema.NullOr(Schema.Finite).annotate({ description: `of ${inWords.withLevel(name)}` })
)

export const PriceEvent = Schema.Struct({
  id: ChallengeId,
  kind: PriceEventKind,
  asset: Schema.String,
  question: Schema.String,
  ...levelFields,
  status: PriceEventStatus,
  created_at: Timestamp,
  deadline: Timestamp,
  window_from: Schema.NullOr(Timestamp).annotate({
    description: "barrier: when the first candle opens that counts"
  }),
  resolve_at: Timestamp,
  reference_scale: Schema.NullOr(Schema.Finite).annotate({
    description: `of ${inWords.number}, frozen at creation`
  }),
  prediction_count: Schema.Int,
  ...criteriaTexts,
  result: Schema.NullOr(YesOrNo).annotate({
    description: "bullish is Yes, bearish is No; null for numeric kinds, which have actual_value"
  }),
  actual_value: Schema.NullOr(Schema.Finite),
  void_reason: Schema.NullOr(Schema.String),
  awaits_decision: Schema.Boolean.annotate({
    description:
      "the daily and the last 1-hour candle of a day that settles it differ: an administrator decides which counts"
  })
}).annotate({ identifier: "PriceEvent" })
export type PriceEvent = typeof PriceEvent.Type

export const PriceEventList = pageSchema(PriceEvent)

/** A challenge of any type as in the list of its type, with the type. */
export const AnyChallenge = Schema.Union([
  Challenge,
  Schema.Struct({ type: Schema.Literal("macro"), ...MacroChallenge.fields }),
  Schema.Struct({ type: Schema.Literal("price_event"), ...PriceEvent.fields })
]).annotate({ identifier: "AnyChallenge" })
export type AnyChallenge = typeof AnyChallenge.Type
export type ChallengeOf<Type extends ChallengeType> = Extract<AnyChallenge, { readonly type: Type }>

/** A question as an admin creates it. Its window may lie in the past: predictions are bound by the deadline alone. */
export const NewPriceEvent = Schema.Struct({
  kind: PriceEventKind,
  asset: TargetKey.annotate({
    description: `a crypto asset: BTC or ETH${inWords.onDailyCloses === "" ? "" : `; of ${inWords.onDailyCloses} any asset with daily closes`}`
  }),
  question: Schema.optionalKey(text({ minimum: 1, maximum: 500 })),
  ...eachLevel((name) =>
    Schema.optionalKey(
      Schema.Finite.check(Schema.isGreaterThan(0), Schema.isLessThan(maxMagnitude))
    ).annotate({
      description: `${inWords.withLevel(name)}: required; the others have none`
    })
  ),
  deadline: Term,
  window_from: Schema.optionalKey(Term).annotate({
    description:
      "barrier: a whole hour, at most 100 000 before resolve_at; default: the first one from now on, or, of a window in the past, 7 days before resolve_at"
  }),
  resolve_at: Term.annotate({
    description: `barrier: a whole hour; ${inWords.onOneClose}: the midnight (UTC) that ends the day; count_days: the Monday midnight that ends the week`
  }),
  reference_scale: Schema.optionalKey(scale).annotate({
    description:
      "numeric_close and count_days; default: of a close from the last 60 daily log returns, of a count 1.32288, which is sqrt(7) / 2"
  })
})
export type NewPriceEvent = typeof NewPriceEvent.Type

/** The errors of creating a challenge of a type: only directional ones are paused. */
export type NotCreated<Type extends ChallengeType> = {
  readonly directional: InvalidRequest | TargetPaused
  readonly macro: InvalidRequest
  readonly price_event: InvalidRequest
}[Type]

/** A new challenge of a type. */
export type NewChallengeOf<Type extends ChallengeType> = {
  readonly directional: NewChallenge
  readonly macro: NewMacroChallenge
  readonly price_event: NewPriceEvent
}[Type]

export const Outcomes = Schema.Struct({ bullish: Schema.Int, bearish: Schema.Int, neutral: Schema.Int })
export type Outcomes = typeof Outcomes.Type

/** The name of the category that came; the value of the settlement is only its place. */
export const OutcomeName = Schema.String.annotate({ description: "of categories: the one that came" })

export const ChallengeSummary = Schema.Struct({
  id: ChallengeId,
  type: ChallengeType,
  kind: Schema.String,
  asset: Schema.String,
  name: Schema.String.annotate({ description: "of the asset" }),
  question: Schema.String,
  event_title: Schema.NullOr(Schema.String).annotate({ description: "of the event that it follows" }),
  ...levelFields,
  period: Schema.NullOr(Schema.String).annotate({ description: "macro: of the value" }),
  open_price: Schema.NullOr(Schema.Finite).annotate({ description: "directional" }),
  price: Schema.NullOr(Schema.Finite).annotate({
    description: "of the asset: the one that settled it, or while it is open the latest"
  }),
  status: AnyStatus,
  deadline: Timestamp,
  resolve_at: Timestamp,
  ended_at: Schema.NullOr(Timestamp).annotate({ description: "when it was settled or cancelled" }),
  prediction_count: Schema.Int,
  split: Schema.NullOr(Outcomes).annotate({
    description:
      "directional: how many say what, before the deadline as the last step published it; null before the first step"
  }),
  result: Schema.NullOr(Direction).annotate({ description: "null for numeric questions" }),
  actual_value: Schema.NullOr(Schema.Finite).annotate({ description: "of numeric questions" }),
  outcome_name: Schema.NullOr(OutcomeName),
  is_ordered: Schema.Boolean.annotate({ description: "macro: whether it asks for a category" }),
  unit: Schema.NullOr(Schema.String)
})
export type ChallengeSummary = typeof ChallengeSummary.Type

/** `ended`: without a result; a directional challenge is then called cancelled, and another one void. */
export const ListStatus = Schema.Literals(["open", "closed", "resolved", "ended"])
export type ListStatus = typeof ListStatus.Type

export interface ListFilter {
  readonly status: ListStatus
  readonly type?: ChallengeType | undefined
  /** The key of a target. */
  readonly asset?: string | undefined
  readonly category?: Category | undefined
}

/** The number of challenges of a list's filter in each status. */
export const ListCounts = Schema.Struct({
  open: Schema.Int,
  closed: Schema.Int,
  resolved: Schema.Int,
  ended: Schema.Int
})
export type ListCounts = typeof ListCounts.Type

/** 404: no challenge has this id. */
export const unknownChallenge = (id: string): NotFound => NotFound.of("challenge", id)

/** 400: a cancelled challenge takes no submission, live or paper-trade. */
export class ChallengeCancelled extends apiError("ChallengeCancelled", 400, "challenge_cancelled") {}

/** 400: after the deadline, challenge types without paper trading take no prediction. */
export class ChallengeClosed extends apiError("ChallengeClosed", 400, "challenge_closed") {}

/** 503: a prediction was received before the deadline, and the challenge closed before the service could record it. */
export class NotRecordedInTime extends apiError("NotRecordedInTime", 503, "not_recorded_in_time") {}

/** A prediction received in time is still rejected after the challenge has closed: it may already be settled and logged. */
export const notRecordedInTime = (noun: string, receivedAt: DateTime.Utc): NotRecordedInTime =>
  new NotRecordedInTime({
    detail: `The ${noun} was received at ${DateTime.formatIso(receivedAt)}, before the deadline, but the challenge closed before the service could record it. Nothing was recorded; the fault is ours.`
  })

/** 400: the request of an administrator does not fit the state of the challenge. */
export class ChallengeState extends apiError("ChallengeState", 400, "challenge_state") {}

/** 400: no challenge is created on a paused target. */
export class TargetPaused extends apiError("TargetPaused", 400, "target_paused") {}

const Probabilities = Schema.Array(Schema.Finite)

/** The forecast of a random walk from a time on. */
export const ReferenceForecast = Schema.Struct({
  from: Timestamp.annotate({ description: "when its price was observed; it holds until the next one" }),
  price: Schema.NullOr(Schema.Finite).annotate({ description: "null of base rates" }),
  source: Schema.NullOr(Schema.String),
  odds: Schema.optionalKey(Probabilities).annotate({
    description: "of bullish, neutral and bearish, or of bullish and bearish"
  }),
  mean: Schema.optionalKey(Schema.Finite).annotate({ description: "of a close, which is normal around it" }),
  sd: Schema.optionalKey(Schema.Finite),
  counts: Schema.optionalKey(Probabilities).annotate({ description: "of 0 to 7 days" })
}).annotate({ identifier: "ReferenceForecast" })
export type ReferenceForecast = typeof ReferenceForecast.Type
