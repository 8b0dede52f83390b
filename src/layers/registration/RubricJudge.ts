/** The registration judge that decides by rules: a bank of events with drawn numbers, and a rubric of 100 points. */
import { createHash } from "node:crypto"
import { Effect, Layer, Option } from "effect"
import { judge, passScore, rubric } from "../../scoring/registration.ts"
import type { RegistrationAnswer, RegistrationEvent, Verdict } from "../../scoring/registration.ts"
import { drawEvent, eventOfSlug, usualEvent } from "../../scoring/registration/template.ts"
import type { EventTemplate } from "../../scoring/registration/template.ts"
import { NotFound } from "../../services/domain/errors.ts"
import { RegistrationJudge } from "../../services/RegistrationJudge.ts"
import type { RegistrationPrompt } from "../../services/RegistrationJudge.ts"
import { readBank } from "./bank.ts"

/** Whole numbers that the seed determines, by digests: agents' ids begin with the time and so are almost alike. */
const numbersOf = (seed: string) => {
  let count = 0
  return (below: number): number =>
    createHash("sha256").update(`${seed}/${count++}`).digest().readUInt32BE() % below
}

/** The part of an event that an agent may see: not the expected answer. */
const promptOf = ({ prompt, slug }: RegistrationEvent): RegistrationPrompt => ({ slug, prompt })

const noLongerInUse = new NotFound({
  detail: "The event of this registration challenge is no longer in use: register again for another one"
})

/** Decides about an answer to an event; `others` are the events that might have been asked instead. */
export type Decide = (
  event: RegistrationEvent,
  answer: RegistrationAnswer,
  others: ReadonlyArray<RegistrationEvent>
) => Effect.Effect<Verdict>

export const byRules: Decide = (event, answer, others) => Effect.succeed(judge(event, answer, others))

/** The judge of a bank of events. */
export const make = (
  templates: ReadonlyArray<EventTemplate>,
  decide: Decide = byRules
): RegistrationJudge["Service"] => {
  const bySlug = new Map(templates.map((template) => [template.slug, template]))
  const inUse = templates.filter(({ retired }) => retired !== true)
  const all = templates.map(usualEvent)
  const eventOf = (slug: string) => Option.fromNullishOr(eventOfSlug(bySlug, slug))
  const chosen = (seed: string): RegistrationEvent | undefined => {
    const random = numbersOf(seed)
    const template = inUse[random(inUse.length)]
    return template === undefined ? undefined : drawEvent(template, random)
  }
  return {
    criteria: rubric,
    passScore,
    choose: (seed) => Effect.fromNullishOr(chosen(seed)).pipe(Effect.map(promptOf), Effect.orDie),
    event: (slug) => Effect.succeed(Option.map(eventOf(slug), promptOf)),
    judge: Effect.fn("RegistrationJudge.judge")(function* (slug, answer) {
      const event = eventOf(slug)
      if (Option.isNone(event)) return yield* noLongerInUse
      return yield* decide(event.value, answer, all)
    })
  }
}

/** The judge that applies the rules to the events of this file. */
export const layer = (bank: string) =>
  Layer.effect(
    RegistrationJudge,
    Effect.map(readBank(bank), (templates) => RegistrationJudge.of(make(templates)))
  )
