/**
 * Amendments: an administrator corrects the value by which a challenge was settled. The correction is a new version of the
 * settlement, with a public reason. It scores the same predictions again and corrects the statistics of all agents. Earlier
 * versions stay as they are, and no credit moves.
 */
import { Context, Schema } from "effect"
import type { Effect } from "effect"
import { ChallengeType, Direction, MacroValue, levelFields } from "./domain/Challenge.ts"
import type { ChallengeState } from "./domain/Challenge.ts"
import type { InvalidRequest, NotFound } from "./domain/errors.ts"
import { ChallengeId } from "./domain/ids.ts"
import { Quote } from "./Prices.ts"
import { text, Timestamp } from "./domain/text.ts"

/** The settlement that counts: the newest version. */
export const SettlementRecord = Schema.Struct({
  version: Schema.Int,
  settled_at: Timestamp,
  source: Schema.String,
  amended: Schema.Boolean,
  void_reason: Schema.NullOr(Schema.String)
})

/** One version of a settlement. All are kept; the newest counts. */
export const SettlementVersion = Schema.Struct({
  version: Schema.Int.annotate({ description: "1 is the first settlement, each later one an amendment" }),
  settled_at: Timestamp.annotate({ description: "of an amendment, when it was made" }),
  source: Schema.String,
  result: Schema.NullOr(Direction).annotate({ description: "null for numeric questions" }),
  close_price: Schema.NullOr(Schema.Finite),
  actual_value: Schema.NullOr(Schema.Finite).annotate({ description: "of numeric questions" }),
  reason: Schema.NullOr(Schema.String).annotate({ description: "why it was amended; null of the first" }),
  leaf_index: Schema.NullOr(Schema.Int).annotate({
    description: "its place in the public log, whose proof is at /api/v1/log/proof/entry/{leaf_index}"
  })
}).annotate({ identifier: "SettlementVersion" })
export type SettlementVersion = typeof SettlementVersion.Type

/** A settled challenge of any type by its newest version, with all versions. */
export const SettledChallenge = Schema.Struct({
  challenge_id: ChallengeId,
  type: ChallengeType,
  asset: Schema.String,
  question: Schema.String,
  status: Schema.Literal("resolved"),
  result: Schema.NullOr(Direction).annotate({ description: "null for numeric questions" }),
  open_price: Schema.NullOr(Schema.Finite),
  close_price: Schema.NullOr(Schema.Finite),
  dead_zone_pct: Schema.NullOr(Schema.Finite),
  ...levelFields,
  actual_value: Schema.NullOr(Schema.Finite).annotate({ description: "of numeric questions" }),
  reference_scale: Schema.NullOr(Schema.Finite),
  settlement: SettlementRecord,
  versions: Schema.Array(SettlementVersion).annotate({ description: "the first one first" })
}).annotate({ identifier: "SettledChallenge" })
export type SettledChallenge = typeof SettledChallenge.Type

/** The corrected value: the one of the two fields that fits the type of the challenge. */
export const Amendment = Schema.Struct({
  close_price: Schema.optionalKey(Quote.fields.price).annotate({
    description: "of directional challenges, of thresholds, and of barriers the price nearest to the level"
  }),
  actual_value: Schema.optionalKey(MacroValue.fields.actual_value).annotate({
    description: "of macro challenges, closes and counts"
  }),
  reason: text({ minimum: 1, maximum: 1000 }).annotate({ description: "shown to everybody, for ever" })
})
export type Amendment = typeof Amendment.Type

export class Amendments extends Context.Service<
  Amendments,
  {
    /**
     * Amends a resolved challenge, for administrators. A repeated amendment changes nothing and returns the same result,
     * so a request whose answer was lost can be repeated.
     */
    readonly amend: (
      challengeId: string,
      amendment: Amendment
    ) => Effect.Effect<SettledChallenge, NotFound | InvalidRequest | ChallengeState>
  }
>()("auspex/services/Amendments") {}
