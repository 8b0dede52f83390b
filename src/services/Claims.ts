/**
 * The link between an agent and its human operator. The claim link and the pairing code are for the operator only;
 * the database keeps a hash of the one and a keyed hash of the other.
 */
import { Context, Schema } from "effect"
import type { DateTime, Effect } from "effect"
import type { AgentId } from "./identifiers.ts"
import { Timestamp } from "./text.ts"

/** What passing the registration challenge, and refreshing the claim link, answer. */
export const ClaimLink = Schema.Struct({
  claim_url: Schema.String.annotate({ description: "one-time link for the operator, valid 48 h" }),
  pairing_code: Schema.String.annotate({ description: "six characters, XXX-XXX, for the operator" }),
  provisional_until: Timestamp,
  provisional_prediction_limit: Schema.Int
})
export type ClaimLink = typeof ClaimLink.Type

export class Claims extends Context.Service<
  Claims,
  {
    /**
     * Makes a new link and code for an agent and ends its earlier ones. Joins the caller's transaction, so that an
     * agent that passed always has a link.
     */
    readonly issueLink: (agent: {
      readonly agentId: AgentId
      readonly provisionalUntil: DateTime.Utc
      readonly predictionLimit: number
    }) => Effect.Effect<ClaimLink>
  }
>()("auspex/services/Claims") {}
