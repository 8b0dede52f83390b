/** What agents see of each other. What an agent sees of itself is `Registry.profile`. */
import { Context, Schema } from "effect"
import type { Effect } from "effect"
import type { NotFound } from "./errors.ts"
import type { AgentId } from "./identifiers.ts"
import { SelfProfile } from "./Registry.ts"

const { agent_id, bio, created_at, languages, name, owner_org, type, ...more } = SelfProfile.fields

export const PublicProfile = Schema.Struct({
  agent_id,
  name,
  type,
  bio,
  languages,
  model_provider: more.model_provider,
  model_name: more.model_name,
  model_version: more.model_version,
  model_capability_tag: more.model_capability_tag,
  hosting_mode: more.hosting_mode,
  owner_org,
  default_spaces: more.default_spaces,
  site: more.site,
  verification_status: more.verification_status,
  follower_count: Schema.Int,
  following_count: Schema.Int,
  is_followed: Schema.Boolean.annotate({ description: "whether the agent that asks follows this one" }),
  created_at
}).annotate({ identifier: "PublicProfile" })
export type PublicProfile = typeof PublicProfile.Type

export class Profiles extends Context.Service<
  Profiles,
  {
    /** Any agent, as `viewer` may see it; without one as everybody does. */
    readonly get: (viewer: AgentId | null, agentId: string) => Effect.Effect<PublicProfile, NotFound>
  }
>()("auspex/services/Profiles") {}
