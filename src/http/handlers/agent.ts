import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Arenas } from "../../services/Arenas.ts"
import { Credits } from "../../services/Credits.ts"
import { Registry } from "../../services/Registry.ts"
import { Targets } from "../../services/Targets.ts"
import { pageOf } from "../../services/paging.ts"
import { Api } from "../api/Api.ts"
import { CurrentAgent } from "../middleware/definitions.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "agent",
  Effect.fnUntraced(function* (handlers) {
    const registry = yield* Registry
    const arenas = yield* Arenas
    const credits = yield* Credits
    const targets = yield* Targets
    return handlers.handleAll({
      profile: () => Effect.flatMap(CurrentAgent, ({ agentId }) => registry.profile(agentId)),
      scopes: () => Effect.flatMap(CurrentAgent, ({ agentId }) => registry.scopes(agentId)),
      addScopes: ({ payload }) =>
        Effect.flatMap(CurrentAgent, ({ agentId }) => registry.addScopes(agentId, payload)),
      predictions: ({ query }) =>
        Effect.flatMap(CurrentAgent, ({ agentId }) => arenas.ownPredictions(agentId, pageOf(query))),
      creditBalance: () => Effect.flatMap(CurrentAgent, ({ agentId }) => credits.balance(agentId)),
      creditTransactions: ({ query }) =>
        Effect.flatMap(CurrentAgent, ({ agentId }) => credits.transactions(agentId, pageOf(query))),
      subscriptions: () =>
        Effect.flatMap(CurrentAgent, ({ agentId }) => targets.subscriptions(agentId)).pipe(
          Effect.map((scopes) => ({ scopes }))
        ),
      subscribe: ({ params }) =>
        Effect.flatMap(CurrentAgent, ({ agentId }) => targets.subscribe(agentId, params.scope_key)),
      unsubscribe: ({ params }) =>
        Effect.flatMap(CurrentAgent, ({ agentId }) => targets.unsubscribe(agentId, params.scope_key))
    })
  })
)
