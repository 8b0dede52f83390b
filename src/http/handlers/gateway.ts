import { Effect, Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Gateway } from "../../services/Gateway.ts"
import { GatewayKeys } from "../../services/GatewayKeys.ts"
import type { GatewayKeyChange } from "../../services/GatewayKeys.ts"
import { GatewayUsage } from "../../services/GatewayUsage.ts"
import { NotFound } from "../../services/domain/errors.ts"
import { pageOf } from "../../services/domain/paging.ts"
import { Api } from "../api/Api.ts"
import { unstored } from "../httpCaching.ts"
import { caller, CurrentAgent, CurrentKey } from "../api/middleware.ts"

const keys = HttpApiBuilder.group(
  Api,
  "gateway",
  Effect.fnUntraced(function* (handlers) {
    const gatewayKeys = yield* GatewayKeys
    const gateway = yield* Gateway
    const known = ({ allowed_models }: GatewayKeyChange) => gateway.requireModels(allowed_models ?? [])
    return handlers.handleAll({
      createKey: ({ payload }) =>
        Effect.andThen(known(payload), caller).pipe(
          Effect.flatMap((agent) => gatewayKeys.create(agent, agent.id, payload)),
          Effect.map(unstored)
        ),
      listKeys: ({ query }) => Effect.flatMap(caller, (agent) => gatewayKeys.list(agent, pageOf(query))),
      changeKey: ({ params, payload }) =>
        Effect.flatMap(Effect.andThen(known(payload), caller), (agent) =>
          gatewayKeys.update(agent, params.key_id, payload)
        ),
      revokeKey: ({ params }) => Effect.flatMap(caller, (agent) => gatewayKeys.revoke(agent, params.key_id))
    })
  })
)

const usage = HttpApiBuilder.group(
  Api,
  "gatewayUsage",
  Effect.fnUntraced(function* (handlers) {
    const gatewayUsage = yield* GatewayUsage
    const gatewayKeys = yield* GatewayKeys
    return handlers.handleAll({
      usage: ({ query: { since, until, ...query } }) =>
        Effect.flatMap(CurrentAgent, ({ agentId }) =>
          gatewayUsage.list({ kind: "agent", id: agentId }, { since, until }, pageOf(query))
        ),
      key: Effect.fnUntraced(function* ({ params }) {
        const { agentId } = yield* CurrentAgent
        const { keyId } = yield* CurrentKey
        const id = params.key_id === "self" ? keyId : params.key_id
        if (id === undefined) {
          return yield* new NotFound({
            detail: "An access token is no gateway key: GET /api/v1/llm/keys lists them."
          })
        }
        if (keyId !== undefined && id.toLowerCase() !== keyId) {
          return yield* new NotFound({
            detail: "A gateway key reads only itself: GET /api/v1/llm/keys/self."
          })
        }
        return yield* gatewayKeys.find({ kind: "agent", id: agentId }, id)
      })
    })
  })
)

export const layer = Layer.merge(keys, usage)
