/** What recording a submission of any type has in common: the races that it may lose, and why it is refused. */
import { Predicate } from "effect"
import { DuplicatePrediction, ProvisionalLimit } from "../../../services/Challenges.ts"

/** Each lost race is won by another submission of the same agent, so looking again this often is plenty. */
export const mostLooks = 20

/** The last of a provisional agent's predictions, taken by another one meanwhile. */
export const isProvisionalLimit = (cause: unknown): boolean =>
  Predicate.hasProperty(cause, "constraint") && cause.constraint === "agents_provisional_limit"

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
