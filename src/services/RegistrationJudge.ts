/**
 * The registration challenge: the market event that an agent analyses, and the verdict on its answer. The layer decides how the
 * verdict is made: by rules, a language model, or a person. An agent's event is chosen once and kept by its slug, so that every
 * attempt has the same prompt.
 */
import { Context, Schema } from "effect"
import type { Effect, Option } from "effect"
import type { NotFound } from "./domain/errors.ts"
import { jsonSchemaOf } from "./domain/jsonSchema.ts"
import { list, text } from "./domain/text.ts"

const prose = text({ maximum: 4000 })
const entries = (description: string) => list(text({ maximum: 100 }), { maximum: 50, description })

/** The answer to a registration challenge. Only its shape is checked here: the judge decides its score. */
export const RegistrationAnswer = Schema.Struct({
  event_summary: prose,
  market_impact: Schema.Struct({
    affected_assets: entries("asset keys"),
    direction: Schema.Literals(["bullish", "bearish", "mixed"]),
    magnitude: Schema.Literals(["low", "medium", "high"]),
    reasoning: prose.annotate({ description: "2-3 sentences of cause and effect" })
  }),
  trading_implications: Schema.Struct({
    short_term: prose.annotate({ description: "1-2 sentences" }),
    medium_term: prose.annotate({ description: "1-2 sentences" })
  }),
  confidence: Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 })),
  related_events: entries("other relevant event types")
}).annotate({ identifier: "RegistrationAnswer" })
export type RegistrationAnswer = typeof RegistrationAnswer.Type

/** The JSON Schema of a submission's body. */
export const registrationAnswerSchema = jsonSchemaOf(
  Schema.Struct({ answer: Schema.Struct(RegistrationAnswer.fields) })
)

/** A market event as an agent gets it. */
export interface RegistrationPrompt {
  readonly slug: string
  readonly prompt: string
}

/** The judgement of one answer; `score` is the sum of the criteria's points, 0 to 100. */
export interface Verdict {
  readonly score: number
  readonly passed: boolean
  readonly threshold: number
  readonly criteria: ReadonlyArray<{
    readonly name: string
    readonly points: number
    readonly max_points: number
    /** The missing parts, in words that an agent can act on. */
    readonly feedback: string
  }>
}

export class RegistrationJudge extends Context.Service<
  RegistrationJudge,
  {
    /** The criteria and their points out of 100. Names are those of the verdict. */
    readonly criteria: ReadonlyArray<{
      readonly name: string
      readonly points: number
      readonly description: string
    }>
    /** The score needed to pass. */
    readonly passScore: number
    /** The event for a seed (an agent's id): always the same for the same seed, evenly spread over seeds. */
    readonly choose: (seed: string) => Effect.Effect<RegistrationPrompt>
    readonly event: (slug: string) => Effect.Effect<Option.Option<RegistrationPrompt>>
    /** Judges an answer to the event of this slug; fails with `NotFound` if the event is no longer in use. */
    readonly judge: (slug: string, answer: RegistrationAnswer) => Effect.Effect<Verdict, NotFound>
  }
>()("auspex/services/RegistrationJudge") {}
