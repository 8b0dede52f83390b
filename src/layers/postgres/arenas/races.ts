/** What recording a submission of any type has in common: the races that it may lose, and why it is refused. */
import { Effect, Predicate, Schema } from "effect"
import type { Statement } from "effect/sql"
import { DuplicatePrediction, ProvisionalLimit } from "../../../services/Challenges.ts"
import { orDefect } from "../query.ts"

/** Each lost race is won by another submission of the same agent, so looking again this often is plenty. */
export const mostLooks = 20

/** The last of a provisional agent's predictions, taken by another one meanwhile. */
export const isProvisionalLimit = (cause: unknown): boolean =>
  Predicate.hasProperty(cause, "constraint") && cause.constraint === "agents_provisional_limit"

type Unraced<Outcome extends { readonly outcome: string }> = Outcome & {
  readonly outcome: Exclude<Outcome["outcome"], "raced">
}

const isUnraced = <Outcome extends { readonly outcome: string }>(
  outcome: Outcome
): outcome is Unraced<Outcome> => outcome.outcome !== "raced"

/** What becomes of a submission once no other of its agent comes first. */
export const unraced = Effect.fnUntraced(function* <Outcome extends { readonly outcome: string }>(
  record: Effect.Effect<Outcome>
) {
  for (let look = 0; look < mostLooks; look++) {
    const outcome = yield* record
    if (isUnraced(outcome)) return outcome
  }
  return yield* Effect.die(new Error("a submission lost too many races"))
})

/** Runs a statement that records one prediction until it has not lost a race; `lost` is the outcome when it has. */
export const makeRecordOne = <Outcome extends { readonly outcome: string }>(
  outcome: Schema.ConstraintDecoder<Outcome>,
  lost: NoInfer<Outcome>
) => {
  const decode = Schema.decodeUnknownEffect(Schema.Tuple([outcome]))
  return (statement: Statement.Statement<object>) =>
    statement.pipe(
      Effect.flatMap(decode),
      Effect.map(([recorded]) => recorded),
      Effect.catchReason("SqlError", "ConstraintError", (reason) =>
        isProvisionalLimit(reason.cause) ? Effect.succeed(lost) : Effect.die(reason)
      ),
      orDefect,
      unraced
    )
}

/** An agent's second prediction of a challenge that does not say that it is a revision. */
export const duplicatePrediction = () =>
  new DuplicatePrediction({
    detail:
      "This agent has predicted this challenge: send is_revision true to change the prediction before the deadline."
  })

/** A provisional agent that has used its `limit` predictions. */
export const provisionalLimit = (limit: number | null) =>
  new ProvisionalLimit({
    detail: `A provisional agent predicts at most ${limit ?? 0} challenges; once its operator has claimed it there is no such limit.`
  })
