/**
 * Every kind of question with what the rules for all kinds need: how it is asked, two answers, the value that decides it, and the
 * scores. A new kind is a row here, and every rule of `everyKind.test.ts` is tested on it.
 */
import { DateTime, Effect, Struct } from "effect"
import type { Duration } from "effect"
import { crps, crpsScore } from "../../src/scoring/crps.ts"
import type { CandleKindName } from "../../src/scoring/kinds/facts.ts"
import { expectedRps, rps, rpsScore } from "../../src/scoring/ordered.ts"
import type { Amendment } from "../../src/services/Amendments.ts"
import type { Arenas, Results } from "../../src/services/Arenas.ts"
import type { Prices } from "../../src/services/Prices.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import { Targets } from "../../src/services/Targets.ts"
import type { NewAnswer } from "../../src/services/domain/Answer.ts"
import type { ChallengeType } from "../../src/services/domain/Challenge.ts"
import type { PredictionVerdict } from "../../src/services/domain/Prediction.ts"
import type { AgentId, ChallengeId } from "../../src/services/domain/ids.ts"
import {
  freshWeek,
  importCandles,
  importQuotes,
  newChallenge,
  newMacro,
  newPriceEvent,
  plus,
  settleDue,
  submit
} from "./challenges.ts"

type Verdict = typeof PredictionVerdict.Type
type Outcome = Pick<Results, "result" | "close_price" | "actual_value">

/** The times of a question: it takes answers until the deadline and is decided at its end. */
interface Times {
  readonly deadline: DateTime.Utc
  readonly end: DateTime.Utc
}

/** A question that was asked on a Monday at midnight. */
export interface Question extends Times {
  readonly id: ChallengeId
  /** Without a value it ends then. */
  readonly cancelAt: DateTime.Utc
}

interface Arena {
  readonly type: ChallengeType
  /** The status of a question that ended without a result. */
  readonly ended: "cancelled" | "void"
  /** The wait for a value after the end. */
  readonly patience: Duration.Input
  /** The reason of a question that has waited in vain. */
  readonly unknown: (question: Question) => { readonly text: string; readonly until: DateTime.Utc }
}

export interface Kind extends Arena {
  readonly ask: (times: Times) => Effect.Effect<{ readonly id: ChallengeId }, unknown, Arenas>
  /** The time from the Monday to the end. */
  readonly lasts: Duration.Input
  /** A good answer and a bad one. */
  readonly answers: readonly [NewAnswer, NewAnswer]
  /** True if the next answer replaces the one before it; false if that needs `is_revision`. */
  readonly isReplaced: boolean
  /** Answers that do not fit, with the fields that the refusal names. */
  readonly misfits: ReadonlyArray<readonly [NewAnswer, ReadonlyArray<string>]>
  /** Makes known what decides the question. */
  readonly publish: (end: DateTime.Utc) => Effect.Effect<unknown, unknown, Prices>
  readonly settle: (question: Question) => Effect.Effect<unknown, { readonly code: string }, Scoring>
  readonly source: string
  readonly outcome: Outcome
  readonly verdicts: readonly [Verdict, Verdict]
  /** The value of an amendment. */
  readonly correction: Omit<Amendment, "reason">
  readonly amended: Outcome
  readonly amendedVerdicts: readonly [Verdict, Verdict]
  /** Values that no amendment takes. */
  readonly impossible: ReadonlyArray<number>
}

const directional = {
  type: "directional",
  ended: "cancelled",
  patience: "7 days",
  unknown: ({ end }) => ({ text: "No closing price was observed by", until: plus(end, "24 hours") })
} as const satisfies Arena

const macro = {
  type: "macro",
  ended: "void",
  patience: "60 days",
  unknown: ({ cancelAt }) => ({ text: "No value was recorded by", until: cancelAt })
} as const satisfies Arena

const priceEvent = {
  type: "price_event",
  ended: "void",
  patience: "72 hours",
  unknown: ({ cancelAt }) => ({
    text: "The candles that decide it were not all known and undisputed by",
    until: cancelAt
  })
} as const satisfies Arena

const binary = (is_correct: boolean, score: number): Verdict => ({
  is_correct,
  score,
  crps: null,
  skill: null
})

const byPrice = (result: Outcome["result"], close_price: number) => ({
  outcome: { result, close_price, actual_value: null },
  correction: { close_price }
})

const byValue = (actual_value: number) => ({
  outcome: { result: null, close_price: null, actual_value },
  correction: { actual_value }
})

/** A kind on outcomes by name, settled as bullish and amended to bearish. */
const onNames = (decisive: number, corrected: number) => {
  const { correction, outcome: amended } = byPrice("bearish", corrected)
  return {
    answers: [
      { direction: "bullish", confidence: 0.8 },
      { direction: "bearish", confidence: 0.3 }
    ],
    isReplaced: false,
    outcome: byPrice("bullish", decisive).outcome,
    verdicts: [binary(true, 90), binary(false, 35)],
    correction,
    amended,
    amendedVerdicts: [binary(false, 10), binary(true, 65)]
  } as const
}

const noNames: Kind["misfits"] = [
  [{}, ["confidence", "direction"]],
  [{ direction: "bullish", predicted_value: 1, predicted_std: 1 }, ["confidence"]],
  [{ probabilities: { up: 0.25, down: 0.75 } }, ["probabilities"]]
]
const three = { bullish: 0.7, neutral: 0.2, bearish: 0.1 }
const two = { bullish: 0.25, bearish: 0.75 }

interface Normal {
  readonly predicted_value: number
  readonly predicted_std: number
}

/** A kind on a number: both answers are normal distributions. */
const onNumber = (
  answers: readonly [Normal, Normal],
  scale: number,
  decisive: number,
  corrected: number,
  misfits: Kind["misfits"] = []
) => {
  const verdict = (index: 0 | 1, value: number): Verdict => {
    const { predicted_std, predicted_value } = answers[index]
    const distance = crps({ mean: predicted_value, sd: predicted_std }, value)
    return { is_correct: null, crps: distance, ...crpsScore(distance, scale) }
  }
  const { correction, outcome: amended } = byValue(corrected)
  return {
    answers,
    isReplaced: true,
    misfits: [
      [{}, ["predicted_std", "predicted_value"]],
      [{ direction: "bullish", confidence: 1, predicted_value: 1 }, ["predicted_std"]],
      [{ probabilities: three }, ["predicted_std", "predicted_value"]],
      [{ predicted_value: 1, predicted_std: 1.1e12 * scale }, ["predicted_std"]],
      ...misfits
    ],
    outcome: byValue(decisive).outcome,
    verdicts: [verdict(0, decisive), verdict(1, decisive)],
    correction,
    amended,
    amendedVerdicts: [verdict(0, corrected), verdict(1, corrected)]
  } as const satisfies Partial<Kind>
}

const vectors = [
  [0, 0.5, 0.5],
  [1, 0, 0]
] as const
const beliefs = [0.25, 0.5, 0.25]
const vector = (index: 0 | 1) => {
  const [Cut, Hold, Hike] = vectors[index]
  return { probabilities: { Cut, Hold, Hike } }
}
const ranked = (index: 0 | 1, outcome: number): Verdict => {
  const distance = rps(vectors[index], outcome)
  return { is_correct: null, crps: distance, ...rpsScore(distance, expectedRps(beliefs)) }
}

const byJob = () => settleDue
const resolvedWith = (value: number) => (question: Question) =>
  Scoring.use((scoring) => scoring.resolveMacro(question.id, value))

/** A price event on ETH that the last hours of so many days decide. */
const onCandles = (kind: CandleKindName, closes: ReadonlyArray<number>) => ({
  ...priceEvent,
  ask: ({ deadline, end }: Times) => newPriceEvent({ kind, deadline, resolve_at: end }),
  lasts: "1 day" as const,
  publish: (end: DateTime.Utc) =>
    importCandles(
      "ETH",
      "1h",
      closes.map((price, index) => [plus(end, { hours: -1 - 24 * (closes.length - 1 - index) }), price])
    ),
  settle: byJob,
  source: "admin 1h candle",
  impossible: []
})

const yesOrNo = (kind: CandleKindName, corrected: number) => ({
  ...onCandles(kind, [100]),
  ...onNames(100, corrected),
  misfits: [
    ...noNames,
    [{ direction: "neutral", confidence: 0.5 }, ["direction"]],
    [{ probabilities: three }, ["probabilities"]]
  ] as const,
  impossible: [0]
})

const rows = {
  direction: {
    ...directional,
    ...onNames(102, 98),
    ask: ({ deadline, end }) => newChallenge({ deadline, resolve_at: end }),
    lasts: "1 day",
    misfits: [...noNames, [{ probabilities: two }, ["probabilities"]]],
    publish: (end) => importQuotes("GC", [[end, 102]]),
    settle: byJob,
    source: "admin quote",
    impossible: [0]
  },
  macro_number: {
    ...macro,
    ...onNumber(
      [
        { predicted_value: 3.2, predicted_std: 0.05 },
        { predicted_value: 3, predicted_std: 0.1 }
      ],
      0.12,
      3.2,
      3.05
    ),
    ask: ({ deadline, end }) => newMacro({ deadline, release_at: end }),
    lasts: "1 day",
    publish: () => Effect.void,
    settle: resolvedWith(3.2),
    source: "admin",
    impossible: []
  },
  macro_category: {
    ...macro,
    ask: ({ deadline, end }) =>
      newMacro({
        asset: "FOMC",
        deadline,
        release_at: end,
        categories: ["Cut", "Hold", "Hike"].map((name, index) => ({
          name,
          probability: beliefs[index] ?? 0
        }))
      }),
    lasts: "1 day",
    answers: [vector(0), vector(1)],
    isReplaced: true,
    misfits: [
      [{}, ["probabilities"]],
      [{ predicted_value: 2, predicted_std: 1 }, ["probabilities"]],
      [{ direction: "bullish", confidence: 1 }, ["probabilities"]],
      [{ probabilities: three }, ["probabilities"]]
    ],
    publish: () => Effect.void,
    settle: resolvedWith(1),
    source: "admin",
    outcome: byValue(1).outcome,
    verdicts: [ranked(0, 1), ranked(1, 1)],
    correction: byValue(0).correction,
    amended: byValue(0).outcome,
    amendedVerdicts: [ranked(0, 0), ranked(1, 0)],
    impossible: [0.5, 3]
  },
  numeric_close: {
    ...onCandles("numeric_close", [100]),
    ...onNumber(
      [
        { predicted_value: 101, predicted_std: 10 },
        { predicted_value: 120, predicted_std: 5 }
      ],
      10,
      100,
      118
    )
  },
  count_days: {
    ...onCandles("count_days", [100, 101, 101, 103, 102, 104, 105, 104]),
    ...onNumber(
      [
        { predicted_value: 3.5, predicted_std: 1 },
        { predicted_value: 7, predicted_std: 1.5 }
      ],
      10,
      4,
      6,
      [
        [{ predicted_value: -0.1, predicted_std: 1 }, ["predicted_value"]],
        [{ predicted_value: 7.1, predicted_std: 1.1e13 }, ["predicted_std", "predicted_value"]]
      ]
    ),
    lasts: "7 days",
    impossible: [2.5, 8]
  },
  barrier: yesOrNo("barrier", 99),
  threshold: yesOrNo("threshold", 99),
  range: yesOrNo("range", 120)
} as const satisfies Readonly<Record<"direction" | "macro_number" | "macro_category" | CandleKindName, Kind>>

/** The kinds, each with its name. */
export const everyKind: ReadonlyArray<readonly [name: string, kind: Kind]> = Struct.keys(rows).map((name) => [
  name,
  rows[name]
])

/** Asks a question of this kind. The clock must be at midnight on a Monday. */
export const ask = Effect.fnUntraced(function* (kind: Kind) {
  const now = yield* DateTime.now
  const [deadline, end] = [plus(now, "1 hour"), plus(now, kind.lasts)]
  const { id } = yield* Effect.orDie(kind.ask({ deadline, end }))
  return { id, deadline, end, cancelAt: plus(end, kind.patience) }
})

/** Asks a question of this kind on the Monday of a fresh week. */
export const askAnew = (kind: Kind) => Effect.andThen(freshWeek, ask(kind))

/** Answers a question of this kind now; an agent subscribes first where it must. */
export const answer = Effect.fnUntraced(function* (
  agentId: AgentId,
  { type }: Kind,
  { id }: { readonly id: string },
  sent: NewAnswer,
  receivedAt?: DateTime.Utc
) {
  if (type === "price_event") yield* Effect.orDie(Targets.use((targets) => targets.subscribe(agentId, "ETH")))
  return yield* submit({
    agentId,
    challengeId: id,
    type,
    answer: sent,
    receivedAt: receivedAt ?? (yield* DateTime.now)
  })
})
