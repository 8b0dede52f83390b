/**
 * Answers to challenges, as agents send them. A challenge asks for one of several outcomes, by name, or for a number; an
 * answer has the fields of a form that fits.
 */
import { Schema, SchemaTransformation, Struct } from "effect"
import { likeliest } from "../../scoring/directional.ts"
import { normalDistribution, quantileDistribution, sampleDistribution } from "../../scoring/distributions.ts"
import type { Distribution, Quantile } from "../../scoring/distributions.ts"
import { countedDays } from "../../scoring/candles.ts"
import { inWords, maxCount } from "../../scoring/kinds/facts.ts"
import { CreditAmount } from "../Credits.ts"
import { Direction, YesOrNo } from "./Challenge.ts"
import type { ChallengeType } from "./Challenge.ts"
import type { FieldProblem } from "./errors.ts"
import { jsonSchemaOf } from "./jsonSchema.ts"
import type { JsonSchema } from "./jsonSchema.ts"
import {
  isAbout,
  Probability,
  QuantileProbability,
  roundedSample,
  sampleDigits,
  StandardDeviation,
  sumProblem,
  sumsToOne as sumTolerance,
  ValueField
} from "./agentNumbers.ts"
import { list, sentList, text } from "./text.ts"

const sumsToOne = Schema.makeFilter((probabilities: Readonly<Record<string, number>>) =>
  sumProblem(Object.values(probabilities))
)

/** An answer has at most this many probabilities, more than a question may have categories. */
const maxProbabilities = 100

const fewNames = Schema.makeFilter((probabilities: Readonly<Record<string, number>>) =>
  Object.keys(probabilities).length <= maxProbabilities
    ? undefined
    : `Expected at most ${maxProbabilities} probabilities`
)

export const Probabilities = Schema.Record(Schema.String, Probability)
  .check(fewNames, sumsToOne)
  .annotate({
    description: `of every outcome, by its name: each is 0, or from 1e-9 to 1, and ${sumTolerance}`
  })

/** Two quantiles whose probabilities are closer count as one. */
const minShare = 1e-9

const ascendingQuantiles = Schema.makeFilter(
  (quantiles: ReadonlyArray<Quantile>) => {
    const place = quantiles.findIndex(({ p, value }, index) => {
      const before = quantiles[index - 1]
      return before !== undefined && !(p - before.p >= minShare && value >= before.value)
    })
    return place < 0
      ? undefined
      : { path: [place], issue: "Expected p above that of the quantile before it, and no lower value" }
  },
  undefined,
  true
)

const spreadingQuantiles = Schema.makeFilter((quantiles: ReadonlyArray<Quantile>) => {
  const { spread } = quantileDistribution(quantiles)
  return spread > 0 && Number.isFinite(spread)
    ? undefined
    : "Expected values that spread: these have no standard deviation above 0"
})

export const Quantiles = list(Schema.Struct({ p: QuantileProbability, value: ValueField }), {
  minimum: 3,
  maximum: 99,
  description:
    "with probability p it is at most the value; p ascends, and so do the values: equal ones are taken where outcomes come in steps (series, and counts of days). A value is 0, or from 1e-12 to 1e15 away from it"
}).check(ascendingQuantiles, spreadingQuantiles)

export const Samples = list(ValueField, {
  minimum: 10,
  maximum: 1000,
  description: `draws from what is believed, in any order, each 0 or from 1e-12 to 1e15 away from it. They are rounded to ${sampleDigits} significant digits, and so sealed and scored`
}).pipe(
  Schema.decodeTo(
    Schema.Array(Schema.Finite),
    SchemaTransformation.transform<ReadonlyArray<number>, ReadonlyArray<number>>({
      decode: (sent) => sent.map(roundedSample),
      encode: (samples) => samples
    })
  )
)

/** The values of an answer, in the forms of all challenges together. */
export const answerValues = {
  direction: Direction,
  confidence: Probability,
  probabilities: Probabilities,
  predicted_value: ValueField,
  predicted_std: StandardDeviation,
  quantiles: Quantiles,
  samples: Samples
}

/** The value of a count of days. */
const countValue = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: countedDays }))

type ValueName = keyof typeof answerValues
export type AnswerValues = { readonly [Name in ValueName]?: (typeof answerValues)[Name]["Type"] }
export const valueNames: ReadonlyArray<ValueName> = Struct.keys(answerValues)

const reason = Schema.optionalKey(text({ maximum: 4000 }))

/** Fields of an answer in any form. */
export const commonFields = {
  reasoning: reason,
  rationale: reason.annotate({ description: "another name for reasoning" }),
  expected_revision: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 ** 31 - 1 }))
  ).annotate({
    description:
      "the revision_count of the prediction that this replaces; if another stands, or none: 409 revision_conflict"
  })
}

interface Reasons {
  readonly reasoning?: string
  readonly rationale?: string
}

/** The agent's reasoning, under either name. */
export const reasonOf = ({ rationale, reasoning }: Reasons): string | null => reasoning ?? rationale ?? null

const twoReasons = "Expected reasoning and rationale to be the same: they are two names of one field"

export const oneReason = Schema.makeFilter<Reasons>(({ rationale, reasoning }) =>
  rationale === undefined || reasoning === undefined || rationale === reasoning
    ? undefined
    : ["reasoning", "rationale"].map((name) => ({ path: [name], issue: twoReasons }))
)

/** The fields that a form excludes: each form alone answers a question. */
const otherForms = {
  probabilities: ["direction", "confidence"],
  quantiles: ["predicted_value", "predicted_std", "samples"],
  samples: ["predicted_value", "predicted_std"]
} as const

const oneForm = Schema.makeFilter((answer: AnswerValues) =>
  Struct.keys(otherForms).flatMap((form) =>
    answer[form] === undefined
      ? []
      : otherForms[form]
          .filter((other) => answer[other] !== undefined)
          .map((other) => ({
            path: [other],
            issue: `Expected nothing beside ${form}: an answer has one form`
          }))
  )
)

const amount = CreditAmount.annotate({
  description:
    "macro: credits, staked on the bin of the answer; needs credits:stake. The answer is recorded with its stake or not at all"
})

const anyAnswer = {
  direction: Schema.optionalKey(answerValues.direction).annotate({
    description: `directional, ${inWords.yesNo}, with confidence; of a question of yes or no, bullish is Yes and bearish No`
  }),
  confidence: Schema.optionalKey(answerValues.confidence),
  probabilities: Schema.optionalKey(answerValues.probabilities).annotate({
    description:
      "in place of direction and confidence: of bullish, neutral and bearish, of a question of yes or no without neutral; of a macro question on categories, of each of them. Each is 0, or from 1e-9 to 1; they sum to 1 within 5e-7 for each of them, at most 1e-5"
  }),
  predicted_value: Schema.optionalKey(answerValues.predicted_value).annotate({
    description:
      "questions on a number, with predicted_std: the mean of a normal distribution; of a count 0 to 7, else 0, or from 1e-12 to 1e15 away from it"
  }),
  predicted_std: Schema.optionalKey(answerValues.predicted_std),
  quantiles: Schema.optionalKey(answerValues.quantiles).annotate({
    description: "in place of predicted_value and predicted_std"
  }),
  samples: Schema.optionalKey(answerValues.samples).annotate({
    description: "in place of predicted_value and predicted_std"
  }),
  amount: Schema.optionalKey(Schema.NullOr(amount)),
  is_revision: Schema.optionalKey(Schema.Boolean).annotate({
    description: "true changes an earlier direction; a number is replaced without it"
  }),
  ...commonFields
}

/** An answer to a challenge of any type, as an agent sends it. */
export const NewAnswer = Schema.Struct(anyAnswer)
  .check(oneReason, oneForm)
  .annotate({ identifier: "NewAnswer" })
export type NewAnswer = typeof NewAnswer.Type

/** An answer in a batch. */
export const AnswerTo = Schema.Struct({ challenge_id: text({ minimum: 1, maximum: 64 }), ...anyAnswer })
  .check(oneReason, oneForm)
  .annotate({ identifier: "AnswerTo" })

/** Each answer of a batch is decoded by itself, so that a wrong one fails no other. */
export const decodeAnswerTo = Schema.decodeUnknownResult(AnswerTo, { errors: "all" })

export const maxAnswers = 100

export const NewAnswers = Schema.Struct({
  predictions: sentList(AnswerTo, { minimum: 1, maximum: maxAnswers })
}).annotate({ identifier: "NewAnswers" })

/** An answer to a macro challenge. */
export const NewForecast = Schema.Struct({
  predicted_value: answerValues.predicted_value,
  predicted_std: answerValues.predicted_std,
  amount: Schema.optionalKey(amount),
  ...commonFields
})
  .check(oneReason)
  .annotate({ identifier: "NewForecast" })

/** An answer to a price event: a direction with its confidence, or a value with its standard deviation. */
export const NewPriceEventPrediction = Schema.Struct({
  direction: Schema.optionalKey(YesOrNo).annotate({
    description: `${inWords.yesNo}: bullish is Yes, bearish is No`
  }),
  confidence: Schema.optionalKey(answerValues.confidence).annotate({
    description: `${inWords.yesNo}: 0, or from 1e-9 to 1`
  }),
  is_revision: Schema.optionalKey(Schema.Boolean).annotate({
    description: `${inWords.yesNo}: true changes an earlier answer`
  }),
  predicted_value: Schema.optionalKey(answerValues.predicted_value).annotate({
    description: `${inWords.number}; of a count 0 to 7, else 0, or from 1e-12 to 1e15 away from it`
  }),
  predicted_std: Schema.optionalKey(answerValues.predicted_std),
  probabilities: Schema.optionalKey(answerValues.probabilities).annotate({
    description: `${inWords.yesNo}, in place of direction and confidence`
  }),
  quantiles: Schema.optionalKey(answerValues.quantiles).annotate({
    description: inWords.number
  }),
  samples: Schema.optionalKey(answerValues.samples).annotate({ description: inWords.number }),
  ...commonFields
})
  .check(oneReason, oneForm)
  .annotate({ identifier: "NewPriceEventPrediction" })

/** The reason for rejecting an amount: if it were ignored, the answer would mean something else. */
export const noPool = "this challenge has no pool, so nothing can be staked on it"

/** A form of an answer, by its fields. */
type Form = ReadonlyArray<ValueName>

const direction: Form = ["direction", "confidence"]
const vector: Form = ["probabilities"]
const normal: Form = ["predicted_value", "predicted_std"]
const numbers: ReadonlyArray<Form> = [normal, ["quantiles"], ["samples"]]

/** The question of a challenge. */
export interface Question {
  readonly type: ChallengeType
  readonly kind: string
  /** The names of the outcomes; null for a number. */
  readonly outcomes: ReadonlyArray<string> | null
}

const formsOf = ({ outcomes, type }: Question): ReadonlyArray<Form> => {
  if (outcomes === null) return numbers
  return type === "macro" ? [vector] : [direction, vector]
}

/** The forms that a challenge takes, each by the name of its first field. */
export const formNames = (question: Question): ReadonlyArray<string> =>
  formsOf(question).map(([first]) => String(first))

const isYesOrNo = ({ outcomes, type }: Question): boolean => type === "price_event" && outcomes !== null

const nameOf = ({ kind, outcomes, type }: Question): string => {
  if (type === "price_event") return `a ${kind} question`
  return type === "macro" && outcomes !== null ? "a question on categories" : `a ${type} challenge`
}

const expected: Readonly<Record<ValueName, string>> = {
  direction: 'expected "bullish", "bearish" or "neutral"',
  confidence: "expected 0, or a number from 1e-9 to 1",
  probabilities: "expected a probability of each outcome",
  predicted_value: "expected a number",
  predicted_std: "expected a number greater than 0",
  quantiles: "expected a list of quantiles",
  samples: "expected a list of numbers"
}

/** The schema of a value in an answer to this question. */
const valueOf = (question: Question, name: ValueName) => {
  if (name === "probabilities") {
    const of = (question.outcomes ?? []).map((outcome) => [outcome, Probability] as const)
    return Schema.Struct(Object.fromEntries(of)).annotate({ description: sumTolerance })
  }
  if (maxCount(question.kind) !== null && name === "predicted_value") return countValue
  return isYesOrNo(question) && name === "direction" ? YesOrNo : answerValues[name]
}

const bodySchema = (question: Question): JsonSchema => {
  const forms = formsOf(question)
  const values = Object.fromEntries(
    forms.flat().map((name) => [name, Schema.optionalKey(valueOf(question, name))])
  )
  const schema = jsonSchemaOf(
    Schema.Struct({
      ...values,
      ...(question.outcomes !== null && { is_revision: anyAnswer.is_revision }),
      ...(question.type === "macro" && { amount: Schema.optionalKey(amount) }),
      ...Struct.omit(commonFields, ["rationale"])
    })
  )
  const required = forms.map((form) => ({ required: form }))
  return { ...schema, ...(required.length === 1 ? required[0] : { oneOf: required }) }
}

const bodySchemas = new Map<string, JsonSchema>()

/** The JSON Schema (2020-12) of an answer to a challenge, without the second name of its reasoning. */
export const answerSchema = (question: Question): JsonSchema => {
  const key = JSON.stringify([question.type, question.kind, question.outcomes])
  const known = bodySchemas.get(key) ?? bodySchema(question)
  bodySchemas.set(key, known)
  return known
}

const quotedList = (names: ReadonlyArray<string>): string =>
  names.map((name) => JSON.stringify(name)).join(", ")

/** The problems of an answer that fits no form that the challenge takes. */
export const formProblems = (question: Question, answer: AnswerValues): ReadonlyArray<FieldProblem> => {
  const forms = formsOf(question)
  const { outcomes } = question
  if (outcomes !== null && answer.probabilities !== undefined) {
    const names = Object.keys(answer.probabilities)
    const isOfOutcomes = names.length === outcomes.length && outcomes.every((name) => names.includes(name))
    const message = `Expected the probabilities of ${quotedList(outcomes)}, got those of ${quotedList(names)}`
    return isOfOutcomes ? [] : [{ path: "probabilities", message }]
  }
  if (isYesOrNo(question) && answer.direction === "neutral") {
    return [
      { path: "direction", message: 'Expected "bullish" (Yes) or "bearish" (No), got the string "neutral"' }
    ]
  }
  const takes = `${nameOf(question)} is answered by ${forms.map((form) => form.join(" and ")).join(", or by ")}`
  return (forms[0] ?? [])
    .filter((name) => answer[name] === undefined)
    .map((path) => ({ path, message: `Missing; ${expected[path]}: ${takes}` }))
}

/** An answer in the form that a challenge takes. */
export interface SubmittedAnswer {
  /** The sealed values, as they were sent. */
  readonly sealed: AnswerValues
  /** The form is null for those of the interface: direction and confidence, value and standard deviation. */
  readonly form: keyof typeof otherForms | null
  /** The same values completed to direction + confidence or value + std; leaderboards, charts and pools read these. */
  readonly values: AnswerValues
}

const isDirection = Schema.is(Direction)

/** The answer on one of several outcomes; undefined if the answer has no such form. */
export const choiceOf = (answer: AnswerValues): SubmittedAnswer | undefined => {
  const { confidence, direction: chosen, probabilities } = answer
  if (probabilities !== undefined) {
    const isOfDirections = Object.keys(probabilities).every((name) => isDirection(name))
    return {
      sealed: { probabilities },
      form: "probabilities",
      values: { probabilities, ...(isOfDirections && likeliest(probabilities)) }
    }
  }
  if (chosen === undefined || confidence === undefined) return undefined
  const values = { confidence, direction: chosen }
  return { sealed: values, form: null, values }
}

/** The answer on a number; undefined if the answer has no such form. */
export const numberOf = (answer: AnswerValues): SubmittedAnswer | undefined => {
  const { predicted_std, predicted_value, quantiles, samples } = answer
  if (quantiles !== undefined) {
    return {
      sealed: { quantiles },
      form: "quantiles",
      values: { quantiles, ...summaryOf(quantileDistribution(quantiles)) }
    }
  }
  if (samples !== undefined) {
    return {
      sealed: { samples },
      form: "samples",
      values: { samples, ...summaryOf(sampleDistribution(samples)) }
    }
  }
  if (predicted_std === undefined || predicted_value === undefined) return undefined
  const values = { predicted_std, predicted_value }
  return { sealed: values, form: null, values }
}

/** The distribution of a recorded forecast of a number in any form; its value and standard deviation are always known. */
export const distributionOf = (
  {
    quantiles,
    samples
  }: {
    readonly quantiles?: ReadonlyArray<Quantile> | null
    readonly samples?: ReadonlyArray<number> | null
    readonly probabilities?: unknown
  },
  mean: number,
  sd: number
): Distribution => {
  if (quantiles) return quantileDistribution(quantiles)
  return samples ? sampleDistribution(samples) : normalDistribution(mean, sd)
}

const summaryOf = ({ centre, spread }: Distribution) => ({ predicted_value: centre, predicted_std: spread })

/** True if every value may be a count of days. */
export const isOfCount = ({ predicted_value = 0, quantiles = [], samples = [] }: AnswerValues): boolean =>
  [predicted_value, ...quantiles.map(({ value }) => value), ...samples].every((value) =>
    isAbout(value, 0, countedDays)
  )

/** True if an answer says more than a direction and a confidence, or a value and a standard deviation. */
export const isInForm = ({ probabilities, quantiles, samples }: AnswerValues): boolean =>
  probabilities !== undefined || quantiles !== undefined || samples !== undefined

/** True if two quantiles have one value, which is taken where outcomes come in steps. */
export const hasTies = ({ quantiles = [] }: AnswerValues): boolean =>
  quantiles.some(({ value }, index) => value === quantiles[index - 1]?.value)
