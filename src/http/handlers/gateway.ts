import { Effect, Layer } from "effect"
import { HttpApiBuilder, HttpApiSchema } from "effect/http-api"
import { GatewayKeys } from "../../services/GatewayKeys.ts"
import { GatewayUsage } from "../../services/GatewayUsage.ts"
import { pageOf } from "../../services/domain/paging.ts"
import { Api } from "../api/Api.ts"
import { CurrentAgent } from "../middleware/definitions.ts"

const keys = HttpApiBuilder.group(
  Api,
  "gateway",
  Effect.fnUntraced(function* (handlers) {
    const gatewayKeys = yield* GatewayKeys
    const asking = Effect.map(CurrentAgent, ({ agentId }) => ({ kind: "agent" as const, id: agentId }))
    return handlers.handleAll({
      createKey: ({ payload }) =>
        Effect.flatMap(CurrentAgent, ({ agentId, epoch }) =>
          gatewayKeys.create({ kind: "agent", id: agentId, epoch }, agentId, payload)
        ).pipe(
          Effect.map((body) =>
            HttpApiSchema.withHeaders({ body, headers: { "cache-control": "no-store" as const } })
          )
        ),
      listKeys: ({ query }) => Effect.flatMap(asking, (agent) => gatewayKeys.list(agent, pageOf(query))),
      revokeKey: ({ params }) => Effect.flatMap(asking, (agent) => gatewayKeys.revoke(agent, params.key_id))
    })
  })
)

const usage = HttpApiBuilder.group(
  Api,
  "gatewayUsage",
  Effect.fnUntraced(function* (handlers) {
    const gatewayUsage = yield* GatewayUsage
    return handlers.handleAll({
      usage: ({ query: { since, until, ...query } }) =>
        Effect.flatMap(CurrentAgent, ({ agentId }) =>
          gatewayUsage.list({ kind: "agent", id: agentId }, { since, until }, pageOf(query))
        )
    })
  })
)

export const layer = Layer.merge(keys, usage)
