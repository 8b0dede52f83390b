/** Registration, tokens, and an agent's own data and settings. */
import { Duration, Effect, Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Arenas } from "../../services/Arenas.ts"
import { Claims } from "../../services/Claims.ts"
import { Credits } from "../../services/Credits.ts"
import { assertionAlgorithms } from "../../services/KeySets.ts"
import { Notices, maxPoll } from "../../services/Notices.ts"
import { Practice } from "../../services/Practice.ts"
import { Registry } from "../../services/Registry.ts"
import { allScopes } from "../../services/Scopes.ts"
import { Settings } from "../../services/Settings.ts"
import { Targets } from "../../services/Targets.ts"
import { Tokens, tokenPath } from "../../services/Tokens.ts"
import { pageOf } from "../../services/domain/paging.ts"
import { CurrentRequest } from "../CurrentRequest.ts"
import { Api } from "../api/Api.ts"
import { unstored } from "../httpCaching.ts"
import { presented, presentedForToken } from "../oauth.ts"
import { CurrentAgent } from "../api/middleware.ts"
import { documents } from "../routes.ts"

const registrationHandlers = HttpApiBuilder.group(
  Api,
  "registration",
  Effect.fnUntraced(function* (handlers) {
    const claims = yield* Claims
    const notices = yield* Notices
    const registry = yield* Registry
    const tokens = yield* Tokens
    return handlers
      .handleAll({
        register: ({ payload }) => Effect.map(registry.register(payload), unstored),
        submitChallenge: ({ params, payload }) =>
          Effect.map(registry.submit(params.challenge_id, payload.answer), unstored),
        readChallenge: ({ params, payload }) =>
          Effect.flatMap(CurrentRequest, ({ address }) =>
            tokens.verifyCredentials({
              agentId: payload.agent_id,
              clientSecret: payload.client_secret,
              address
            })
          ).pipe(
            Effect.flatMap((agentId) => registry.challenge(agentId, params.challenge_id)),
            Effect.map(unstored)
          ),
        resendSecret: ({ payload }) =>
          Effect.flatMap(CurrentRequest, ({ address }) =>
            registry.resendSecret({ agentId: payload.agent_id, challengeId: payload.challenge_id, address })
          ).pipe(Effect.map(unstored))
      })
      .handleRaw("refreshClaimLink", ({ endpoint }) =>
        presented(endpoint).pipe(
          Effect.flatMap(tokens.verifyCredentials),
          Effect.flatMap(claims.refresh),
          Effect.map(unstored)
        )
      )
      .handleRaw("awaitClaim", ({ endpoint }) =>
        presented(endpoint).pipe(
          Effect.flatMap(tokens.verifyCredentials),
          Effect.flatMap((agentId) =>
            notices.until(
              agentId,
              ["agent.claimed"],
              Duration.seconds(maxPoll),
              claims.status(agentId),
              ({ claimed }) => claimed
            )
          ),
          Effect.map(unstored)
        )
      )
      .handleRaw("issueToken", ({ endpoint }) =>
        presentedForToken(endpoint).pipe(Effect.flatMap(tokens.issue), Effect.map(unstored))
      )
  })
)

const discoveryHandlers = HttpApiBuilder.group(
  Api,
  "discovery",
  Effect.fnUntraced(function* (handlers) {
    const { baseUrl } = yield* Settings
    return handlers.handleAll({
      authorizationServer: () =>
        Effect.succeed({
          issuer: baseUrl,
          token_endpoint: baseUrl + tokenPath,
          token_endpoint_auth_methods_supported: [
            "client_secret_post",
            "client_secret_basic",
            "private_key_jwt"
          ],
          token_endpoint_auth_signing_alg_values_supported: assertionAlgorithms,
          grant_types_supported: ["client_credentials"],
          // RFC 8414 requires this member; there is no authorization endpoint.
          response_types_supported: [],
          scopes_supported: allScopes,
          service_documentation: baseUrl + documents.docs
        })
    })
  })
)

const agentHandlers = HttpApiBuilder.group(
  Api,
  "agent",
  Effect.fnUntraced(function* (handlers) {
    const registry = yield* Registry
    const arenas = yield* Arenas
    const credits = yield* Credits
    const practice = yield* Practice
    const targets = yield* Targets
    return handlers.handleAll({
      profile: () => Effect.flatMap(CurrentAgent, ({ agentId }) => registry.profile(agentId)),
      scopes: () => Effect.flatMap(CurrentAgent, ({ agentId }) => registry.scopes(agentId)),
      addScopes: ({ payload }) =>
        Effect.flatMap(CurrentAgent, ({ agentId }) => registry.changeScopes(agentId, payload)),
      predictions: ({ query }) =>
        Effect.flatMap(CurrentAgent, ({ agentId }) =>
          arenas.ownPredictions(agentId, pageOf(query), {
            challengeId: query.challenge_id,
            type: query.type,
            status: query.status
          })
        ),
      practice: ({ query }) =>
        Effect.flatMap(CurrentAgent, ({ agentId }) => practice.own(agentId, pageOf(query))),
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

export const layer = Layer.mergeAll(registrationHandlers, discoveryHandlers, agentHandlers)
