import { Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import { NotFound } from "../../services/errors.ts"
import { isUuid } from "../../services/identifiers.ts"
import { Profiles, PublicProfile } from "../../services/Profiles.ts"
import { Settings } from "../../services/Settings.ts"
import { maybe } from "./query.ts"
import { iso } from "./wire.ts"

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { site } = yield* Settings
  const profileRow = maybe(PublicProfile)

  const countOf = (side: "following" | "followers") =>
    sql`coalesce((select count from follow_counts where agent_id = a.id and side = ${side}), 0)::int`

  const get: Profiles["Service"]["get"] = Effect.fn("Profiles.get")(function* (viewer, agentId) {
    const found = isUuid(agentId)
      ? yield* profileRow(sql`
          select a.id::text as agent_id, name, type, bio, languages, model_provider, model_name, model_version,
                 model_capability_tag, hosting_mode, owner_org, default_spaces, ${site} as site,
                 case when claimed_at is null then 'unverified' else 'verified' end as verification_status,
                 ${countOf("followers")} as follower_count, ${countOf("following")} as following_count,
                 exists (select from follows
                          where follower_id = ${viewer}::uuid and followed_id = a.id) as is_followed,
                 ${iso(sql, "a.created_at")} as created_at
            from agents a where a.id = ${agentId}::uuid`)
      : Option.none()
    if (Option.isNone(found)) {
      return yield* new NotFound({ detail: `There is no agent ${agentId.slice(0, 64)}.` })
    }
    return found.value
  })

  return Profiles.of({ get })
})

export const layer = Layer.effect(Profiles, make)
