/**
 * Every challenge that takes an answer now, whatever its type, with all that an answer needs: its terms, the forms of
 * an answer, the latest price, and the answer that the calling agent has given.
 */
import { Context, Schema } from "effect"
import type { DateTime, Effect } from "effect"
import {
  ChallengeType,
  DirectionalKind,
  MacroBin,
  OrderedCategory,
  PriceEventKind,
  ReferenceForecast,
  levelFields
} from "./domain/Challenge.ts"
import type { InvalidRequest, NotFound } from "./domain/errors.ts"
import { ChallengeId, EventId, PredictionId } from "./domain/ids.ts"
import type { AgentId } from "./domain/ids.ts"
import { JsonSchema } from "./domain/jsonSchema.ts"
import { criteriaTexts } from "./domain/language.ts"
import type { Page, PageOf } from "./domain/paging.ts"
import { PredictionValues } from "./domain/Prediction.ts"
import { Timestamp } from "./domain/text.ts"
import { Category } from "./Targets.ts"

export const QuestionKind = Schema.Literals([
  ...DirectionalKind.literals,
  "practice",
  "macro",
  ...PriceEventKind.literals
])

const AnswerContract = Schema.Struct({
  forms: Schema.Array(Schema.String).annotate({
    description: "the forms that it takes, each by the field that it begins with"
  }),
  schema: JsonSchema.annotate({ description: "JSON Schema 2020-12 of the answer" }),
  unit: Schema.NullOr(Schema.String).annotate({ description: "of a number" }),
  reference_scale: Schema.NullOr(Schema.Finite).annotate({
    description: "of a number: what an error is measured with"
  }),
  bins: Schema.NullOr(Schema.Array(MacroBin)).annotate({
    description: "macro: what the credit pool is staked on"
  }),
  categories: Schema.NullOr(Schema.Array(OrderedCategory)).annotate({
    description: "of an ordered question, in their order, with the reference that answers are measured with"
  })
})

const Price = Schema.Struct({
  price: Schema.Finite,
  observed_at: Timestamp,
  source: Schema.String
})

const PracticeCandle = Schema.Struct({
  time: Timestamp.annotate({ description: "when it opens" }),
  open: Schema.Finite,
  high: Schema.Finite,
  low: Schema.Finite,
  close: Schema.Finite
})

const QuestionContext = Schema.Struct({
  price: Schema.NullOr(Price).annotate({
    description: "the latest that is known of the asset; null of a series, and before the first"
  }),
  reference: Schema.NullOr(ReferenceForecast).annotate({
    description:
      "what a random walk knows now, which an answer is measured against; null of a series and of practice, and where no price is known"
  }),
  candles: Schema.NullOr(Schema.Array(PracticeCandle)).annotate({
    description:
      "practice: the 24 hours before the open, the last one first; null of others, whose candles are behind the link"
  }),
  links: Schema.Struct({
    page: Schema.NullOr(Schema.String).annotate({
      description: "the question, for people; null of practice"
    }),
    prices: Schema.NullOr(Schema.String).annotate({
      description: "of the asset; null of a series, and of practice"
    }),
    releases: Schema.NullOr(Schema.String).annotate({
      description: "of the series, with earlier values; null of an asset"
    }),
    event: Schema.NullOr(Schema.String).annotate({
      description: "what is said of the event that it refers to"
    })
  })
})

export const Mine = Schema.Struct({
  answer: Schema.NullOr(PredictionValues).annotate({
    description: "the one that counts; null before the first"
  }),
  prediction_id: Schema.NullOr(PredictionId),
  revision_count: Schema.NullOr(Schema.Int),
  created_at: Schema.NullOr(Timestamp),
  may_revise: Schema.Boolean.annotate({ description: "whether there is an answer that may be changed now" }),
  subscribed: Schema.NullOr(Schema.Boolean).annotate({
    description: "to the scope of the asset, which price events need; null of a series, which has none"
  }),
  predictions_left: Schema.NullOr(Schema.Int).annotate({
    description: "how many more challenges a provisional agent may answer; null without such a limit"
  })
}).annotate({ description: "of the agent whose token was sent; absent without one" })

export const OpenQuestion = Schema.Struct({
  challenge_id: ChallengeId,
  type: ChallengeType,
  kind: QuestionKind,
  practice: Schema.Boolean.annotate({
    description:
      "whether it is about recorded prices under another date: answered and scored, but never ranked, logged or capped"
  }),
  asset: Schema.String,
  category: Category,
  event_id: Schema.NullOr(EventId),
  question: Schema.String,
  ...criteriaTexts,
  created_at: Timestamp,
  deadline: Timestamp,
  resolve_at: Timestamp.annotate({ description: "of a macro challenge when the value is published" }),
  open_price: Schema.NullOr(Schema.Finite).annotate({
    description: "directional: what a move is measured from"
  }),
  dead_zone_pct: Schema.NullOr(Schema.Finite).annotate({
    description: "directional: a move of at most so many percent is neutral"
  }),
  ...levelFields,
  window_from: Schema.NullOr(Timestamp).annotate({
    description: "barrier: when the first candle opens that counts"
  }),
  period: Schema.NullOr(Schema.String).annotate({ description: "macro: the period of the value" }),
  prediction_count: Schema.Int,
  answer: AnswerContract,
  context: QuestionContext,
  mine: Schema.optionalKey(Mine)
}).annotate({ identifier: "OpenQuestion" })
export type OpenQuestion = typeof OpenQuestion.Type

export const OpenQuestionList = Schema.Struct({
  items: Schema.Array(OpenQuestion),
  next_cursor: Schema.NullOr(Schema.String),
  next_expected_at: Schema.NullOr(Timestamp).annotate({
    description:
      "where nothing but practice is open: when the schedules make the next question that can be told beforehand; null where they make none"
  })
}).annotate({ identifier: "OpenQuestionList" })

export interface QuestionFilter {
  readonly asset?: string | undefined
  readonly category?: Category | undefined
  readonly type?: ChallengeType | undefined
  readonly kind?: typeof QuestionKind.Type | undefined
  readonly practice?: boolean | undefined
  readonly closingBefore?: DateTime.Utc | undefined
}

export class OpenQuestions extends Context.Service<
  OpenQuestions,
  {
    /** Lists questions by deadline, the next one first. */
    readonly list: (
      filter: QuestionFilter,
      page: Page,
      agentId: AgentId | undefined
    ) => Effect.Effect<PageOf<OpenQuestion>, InvalidRequest>
    readonly get: (challengeId: string, agentId: AgentId | undefined) => Effect.Effect<OpenQuestion, NotFound>
  }
>()("auspex/services/OpenQuestions") {}
