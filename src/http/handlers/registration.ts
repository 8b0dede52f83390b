import { Effect } from "effect"
import { HttpApiBuilder, HttpApiSchema } from "effect/http-api"
import { AgentCredentials } from "../../services/AgentCredentials.ts"
import { Claims } from "../../services/Claims.ts"
import { Registry } from "../../services/Registry.ts"
import { Tokens } from "../../services/Tokens.ts"
import { Api } from "../api/Api.ts"
import { presented, presentedForToken } from "../clientAuthentication.ts"
import { CurrentRequest } from "../CurrentRequest.ts"

/** Answers that hold a secret are stored nowhere on their way. */
const unstored = <A>(body: A) =>
  HttpApiSchema.withHeaders({ body, headers: { "cache-control": "no-store" as const } })

export const layer = HttpApiBuilder.group(
  Api,
  "registration",
  Effect.fnUntraced(function* (handlers) {
    const claims = yield* Claims
    const credentials = yield* AgentCredentials
    const registry = yield* Registry
    const tokens = yield* Tokens
    return handlers
      .handleAll({
        register: ({ payload }) => Effect.map(registry.register(payload), unstored),
        submitChallenge: ({ params, payload }) =>
          Effect.map(registry.submit(params.challenge_id, payload.answer), unstored),
        resendSecret: ({ payload }) =>
          Effect.flatMap(CurrentRequest, ({ address }) =>
            registry.resendSecret({ agentId: payload.agent_id, challengeId: payload.challenge_id, address })
          ).pipe(Effect.map(unstored))
      })
      .handleRaw("refreshClaimLink", () =>
        presented.pipe(
          Effect.flatMap(credentials.verify),
          Effect.flatMap(claims.refresh),
          Effect.map(unstored)
        )
      )
      .handleRaw("issueToken", () =>
        presentedForToken.pipe(Effect.flatMap(tokens.issue), Effect.map(unstored))
      )
  })
)
