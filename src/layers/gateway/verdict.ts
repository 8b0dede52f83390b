/** What a call is charged and recorded with, by how it ended. */
import { Cause, Effect, Exit, Option } from "effect"
import type { CallError } from "../../services/Gateway.ts"
import { counted } from "./counted.ts"
import type { LetIn } from "./letIn.ts"
import { statusOf } from "./refusal.ts"
import type { Course, Ending } from "./routing.ts"
import { countPrompt, countText, roughCount, roughPrompt } from "./styles/index.ts"
import type { Admitted, Usage } from "./styles/types.ts"

export interface Verdict {
  readonly status: number
  readonly error: string | null
  readonly usage: Usage
  readonly estimated: boolean
}

const nothing: Usage = { prompt: 0, completion: 0 }

export const failed = (status: number, error: string): Verdict => ({
  status,
  error,
  usage: nothing,
  estimated: false
})

export const countedPrompt = (admitted: Admitted, imageTokens: number) =>
  Effect.map(
    counted(
      () => countPrompt(admitted),
      () => roughPrompt(admitted)
    ),
    (tokens) => tokens + admitted.images * imageTokens
  )

/** What was generated, counted where the provider did not report it. */
const estimate = Effect.fnUntraced(function* (
  { admitted, model }: LetIn,
  { progress }: Course,
  ending: Ending | undefined
) {
  const generated =
    ending?.ending === "whole" ? ending.answer.generated : (progress.reader?.generated() ?? "")
  const usage: Usage = {
    prompt: progress.reader?.promptTokens() ?? (yield* countedPrompt(admitted, model.imageTokens)),
    completion: yield* counted(
      () => countText(generated),
      () => roughCount(generated)
    )
  }
  return { usage, estimated: true }
})

/** With what was generated, as the provider reports it, or else counted. */
const charged = (
  status: number,
  error: string | null,
  allowed: LetIn,
  course: Course,
  ending: Ending | undefined
): Verdict | Effect.Effect<Verdict> => {
  const reported = ending?.ending === "whole" ? ending.answer.usage : course.progress.reader?.usage()
  return reported === undefined
    ? Effect.map(estimate(allowed, course, ending), (used) => ({ status, error, ...used }))
    : { status, error, usage: reported, estimated: false }
}

/** At once, unless tokens have to be counted. */
export const verdictOf = (
  allowed: LetIn,
  course: Course,
  exit: Exit.Exit<Ending, CallError>
): Verdict | Effect.Effect<Verdict> => {
  if (Exit.isSuccess(exit) && exit.value.ending !== "unread") {
    return exit.value.ending === "broken"
      ? failed(200, "stream_failed")
      : charged(200, null, allowed, course, exit.value)
  }
  if (Exit.isFailure(exit) && !Cause.hasInterrupts(exit.cause)) {
    const error = Option.getOrUndefined(Cause.findErrorOption(exit.cause))
    return error === undefined ? failed(500, "internal_error") : failed(statusOf(error), error.code)
  }
  // "A client that disconnects is billed for what was generated."
  return course.progress.sent
    ? charged(499, "client_left", allowed, course, undefined)
    : failed(499, "client_left")
}
