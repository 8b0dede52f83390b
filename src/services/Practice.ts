/**
 * Practice: questions on recorded prices under another date, two minutes long, one always open for each of a few assets. An agent
 * answers them as it answers challenges and reads the results immediately. They are not challenges: no leaderboard, log, pool,
 * provisional cap or archive ever includes them.
 */
import { Context, DateTime, Duration, Schema } from "effect"
import type { Effect, Option, Result } from "effect"
import type { Predicted, PredictionRefused, Submission } from "./Arenas.ts"
import { Direction } from "./domain/Challenge.ts"
import type { InvalidRequest } from "./domain/errors.ts"
import type { AgentId } from "./domain/ids.ts"
import type { Page } from "./domain/paging.ts"
import { OwnPrediction } from "./domain/Prediction.ts"
import type { LimitReached } from "./RateLimiter.ts"

/** The duration of a question. Questions follow each other without a gap, on the even minutes of the clock. */
export const practiceLength = Duration.minutes(2)

/** The opening time of the questions at a moment. */
export const practiceSlot = (moment: DateTime.Utc): DateTime.Utc => {
  const length = Duration.toMillis(practiceLength)
  return DateTime.makeUnsafe(Math.floor(DateTime.toEpochMillis(moment) / length) * length)
}

/** The hours shown before the open, and the hours that the question looks ahead. */
export const practiceHours = 24

export const practiceQuestion = (asset: string): string =>
  `Practice: will ${asset} be higher ${practiceHours} hours on? (Made-up prices, under another date.)`

/** The time for which questions and their answers are kept. */
export const practiceMemory = Duration.days(3)

const OwnPractice = Schema.Struct({
  ...OwnPrediction.fields,
  result: Schema.NullOr(Direction).annotate({ description: "null until the deadline" }),
  open_price: Schema.Finite,
  close_price: Schema.NullOr(Schema.Finite).annotate({
    description: "the recorded price 24 hours on; null until the deadline"
  })
}).annotate({ identifier: "OwnPractice" })

export const PracticeRecord = Schema.Struct({
  scorecard: Schema.Struct({
    prediction_count: Schema.Int.annotate({ description: "scored; of more than 200 the newest 200" }),
    correct_count: Schema.Int,
    accuracy_rate: Schema.NullOr(Schema.Finite),
    avg_score: Schema.NullOr(Schema.Finite)
  }),
  items: Schema.Array(OwnPractice),
  next_cursor: Schema.NullOr(Schema.String)
}).annotate({ identifier: "PracticeRecord" })
export type PracticeRecord = typeof PracticeRecord.Type

export class Practice extends Context.Service<
  Practice,
  {
    /** Makes the missing questions of the current slot and the next ones. */
    readonly makeDue: Effect.Effect<void>
    /** Records answers, one after the other; the result of an answer to no practice question is none. */
    readonly predict: (
      submissions: ReadonlyArray<Submission>
    ) => Effect.Effect<
      ReadonlyArray<Option.Option<Result.Result<Predicted, PredictionRefused | LimitReached>>>
    >
    /** An agent's own answers, newest first, with their results. */
    readonly own: (agentId: AgentId, page: Page) => Effect.Effect<PracticeRecord, InvalidRequest>
    /** Deletes some of the questions whose time is over. */
    readonly trim: Effect.Effect<void>
  }
>()("auspex/services/Practice") {}
