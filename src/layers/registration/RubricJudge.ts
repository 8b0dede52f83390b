/** The registration judge that goes by rules: a bank of events and a rubric of 100 points. */
import { createHash } from "node:crypto"
import { Effect, Layer, Option } from "effect"
import { judge, passScore, rubric } from "../../scoring/registration.ts"
import type { RegistrationEvent } from "../../scoring/registration.ts"
import { NotFound } from "../../services/domain/errors.ts"
import { RegistrationJudge } from "../../services/RegistrationJudge.ts"
import type { RegistrationPrompt } from "../../services/RegistrationJudge.ts"
import { bank } from "./bank.ts"

const bySlug = new Map(bank.map((event) => [event.slug, event]))

/** A digest, because agents' ids begin with the time and so are all but alike. */
const chosen = (seed: string): RegistrationEvent | undefined =>
  bank[createHash("sha256").update(seed).digest().readUInt32BE() % bank.length]

/** What an agent may see of an event: not what is expected of the answer. */
const promptOf = ({ prompt, slug }: RegistrationEvent): RegistrationPrompt => ({ slug, prompt })

export const layer = Layer.succeed(
  RegistrationJudge,
  RegistrationJudge.of({
    criteria: rubric,
    passScore,
    choose: (seed) => Effect.fromNullishOr(chosen(seed)).pipe(Effect.map(promptOf), Effect.orDie),
    event: (slug) => Effect.succeed(Option.map(Option.fromNullishOr(bySlug.get(slug)), promptOf)),
    judge: Effect.fn("RegistrationJudge.judge")(function* (slug, answer) {
      const event = bySlug.get(slug)
      if (event === undefined) {
        return yield* new NotFound({
          detail:
            "The event of this registration challenge is no longer in use: register again for another one"
        })
      }
      return judge(event, answer, bank)
    })
  })
)
