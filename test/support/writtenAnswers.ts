/** Answers to events of the registration bank that people and models wrote (`test/data`). */
import { readFileSync } from "node:fs"
import { Schema } from "effect"
import { RegistrationAnswer } from "../../src/services/RegistrationJudge.ts"

const read = <A>(name: string, schema: Schema.Codec<A, unknown>): A =>
  Schema.decodeSync(Schema.fromJsonString(schema))(
    readFileSync(new URL(`../data/${name}.json`, import.meta.url), "utf8")
  )

const HonestAnswer = Schema.Struct({
  slug: Schema.String,
  voice: Schema.Literals(["natural", "terse", "verbose"]),
  language: Schema.Literals(["en", "zh"]),
  /** A report that may come out on either side has answers to each. */
  side: Schema.optionalKey(Schema.Literals(["above", "below"])),
  answer: RegistrationAnswer
})
export type HonestAnswer = typeof HonestAnswer.Type

const HonestAnswers = Schema.Array(HonestAnswer)

/** Answers to the bank before its numbers were drawn, in several voices: all of them must pass. */
export const handwritten = read(
  "handwrittenAnswers",
  Schema.Array(Schema.Struct({ slug: Schema.String, voice: Schema.String, answer: RegistrationAnswer }))
).map(({ answer, slug, voice }) => [slug, voice, answer] as const)

/**
 * Answers of people and models that read the prompt and thought about it, written before the judge was measured by
 * them. `{figure}` stands for the figure of the draw; everything else is prose. Every third one is held out: the
 * judge was adjusted by the others. Its rules of length and numbers of words are the exception: they were relaxed once after
 * all had been looked at.
 */
export const honestAnswers = read("honestAnswers", HonestAnswers)

/**
 * Answers written when the rules of the judge were done: honest ones in five styles, then words to the judge, and nonsense that
 * has the event's assets, direction, figure and words. They showed one defect, which was mended ("Treasury yields" read as
 * Treasuries); later rules, looser ones, were checked by them too. So they hold the level that was reached, and measure no new
 * rule: a change of the rules needs new answers.
 */
export const heldOut = read(
  "heldOutAnswers",
  Schema.Struct({
    honest: Schema.Struct({
      natural: HonestAnswers,
      short: HonestAnswers,
      verbose: HonestAnswers,
      nonNative: HonestAnswers,
      chinese: HonestAnswers
    }),
    injections: Schema.Array(Schema.String),
    nonsense: HonestAnswers
  })
)
