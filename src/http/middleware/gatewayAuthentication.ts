/** An agent by its access token, or by one of its gateway keys. */
import { Effect, Layer } from "effect"
import { HttpServerRequest } from "effect/http"
import { GatewayKeys } from "../../services/GatewayKeys.ts"
import { InvalidToken, Tokens } from "../../services/Tokens.ts"
import { AgentMismatch, Unauthorized } from "../api/errors.ts"
import { gatewayCredential, isGatewayKey, neitherDetail } from "../gateway/clients.ts"
import { CurrentAgent, GatewayReader } from "./definitions.ts"

export const layer = Layer.effect(
  GatewayReader,
  Effect.gen(function* () {
    const tokens = yield* Tokens
    const keys = yield* GatewayKeys

    const byKey = (key: string) =>
      keys.authenticate(key).pipe(
        Effect.map(({ agentId }) => ({ agentId, trustLevel: "claimed" as const, scopes: new Set<never>() })),
        Effect.catchTag("InvalidGatewayKey", ({ detail }) => Effect.fail(new InvalidToken({ detail })))
      )

    const byToken = (token: string) =>
      tokens
        .authenticate(token)
        .pipe(
          Effect.mapError((refusal) =>
            refusal._tag === "InvalidToken"
              ? new InvalidToken({ detail: neitherDetail(refusal.detail) })
              : refusal
          )
        )

    return GatewayReader.of({
      bearer: Effect.fnUntraced(function* (httpEffect) {
        const request = yield* HttpServerRequest.HttpServerRequest
        const credential = yield* gatewayCredential(request).pipe(
          Effect.mapError(({ detail }) => new InvalidToken({ detail }))
        )
        if (credential === undefined) {
          return yield* new Unauthorized({
            detail: "Send a gateway key or an access token: Authorization: Bearer <API_KEY>."
          })
        }
        const principal = yield* isGatewayKey(credential) ? byKey(credential) : byToken(credential)
        const named = request.headers["x-agent-id"]
        if (named !== undefined && named.toLowerCase() !== principal.agentId) {
          return yield* new AgentMismatch({ detail: "X-Agent-Id is not the agent of the credential." })
        }
        return yield* Effect.provideService(httpEffect, CurrentAgent, principal)
      })
    })
  })
)
