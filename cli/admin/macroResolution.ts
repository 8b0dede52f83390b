/** A macro challenge as it is shown alone, and what resolving it by its value takes. */
import { Flag } from "effect/cli"
import type { MacroChallenge } from "../../src/services/domain/Challenge.ts"
import { record, utc } from "../client/table.ts"

const edgesOf = ({ bins }: MacroChallenge): string =>
  bins.flatMap(({ low }) => (low === null ? [] : [String(low)])).join(", ")

export const details = (challenge: MacroChallenge): string =>
  record([
    ["id", challenge.id],
    ["question", challenge.question],
    ["status", challenge.status],
    ["deadline", utc(challenge.deadline)],
    ["release", utc(challenge.release_at)],
    ["unit", challenge.unit],
    ["reference scale", challenge.reference_scale],
    ["decimal step", challenge.decimal_step],
    ["bin edges", edgesOf(challenge)],
    ["reward pool", challenge.reward_pool],
    ["published value", challenge.actual_value],
    ["criteria", challenge.resolution_criteria],
    ...(challenge.void_reason === null ? [] : [["void", challenge.void_reason] as const])
  ])

export const confirm = Flag.Boolean("confirm").pipe(
  Flag.withDescription("Take the value although it looks mistyped"),
  Flag.withoutNegation,
  Flag.withDefault(false)
)
