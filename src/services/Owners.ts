/** Owners as administrators see them: an owner is the operator that claimed an agent, with the plan it is on. */
import { Context, Schema } from "effect"
import type { Effect } from "effect"
import { planCoefficients } from "../scoring/pools.ts"
import { AgentStatus } from "./agentStatus.ts"
import type { NotFound } from "./errors.ts"
import { AgentId, OperatorId } from "./identifiers.ts"
import { Timestamp } from "./text.ts"

export const Plan = Schema.Literals(["free", "pro", "team"])
export type Plan = typeof Plan.Type

/** Reaching language models through the gateway needs a paid plan. */
export const isPaid = (plan: Plan): boolean => plan !== "free"

/** What the rewards of credit pools are multiplied by. */
export const rewardCoefficient = (plan: Plan): string => planCoefficients[plan]

/** What an agent says of its owner. */
export const OwnerOfAgent = Schema.Struct({ owner_id: OperatorId, plan: Plan }).annotate({
  identifier: "OwnerOfAgent"
})

export const Owner = Schema.Struct({
  owner_id: OperatorId,
  plan: Plan,
  email: Schema.NullOr(Schema.String).annotate({ description: "verified; null without one" }),
  created_at: Timestamp,
  agents: Schema.Array(
    Schema.Struct({ agent_id: AgentId, name: Schema.String, status: AgentStatus, claimed_at: Timestamp })
  )
}).annotate({ identifier: "Owner" })
export type Owner = typeof Owner.Type

export const OwnerChange = Schema.Struct({ plan: Plan })
export type OwnerChange = typeof OwnerChange.Type

export class Owners extends Context.Service<
  Owners,
  {
    readonly get: (ownerId: string) => Effect.Effect<Owner, NotFound>
    readonly change: (ownerId: string, change: OwnerChange) => Effect.Effect<Owner, NotFound>
  }
>()("auspex/services/Owners") {}
