import { createHash, timingSafeEqual } from "node:crypto"
import { Context, Effect, Layer, Redacted } from "effect"
import { HttpServerRequest } from "effect/http"
import { Audit } from "../../services/AdminAudit.ts"
import { allows } from "../../services/Scopes.ts"
import { Settings } from "../../services/Settings.ts"
import { InvalidToken, Tokens } from "../../services/Tokens.ts"
import { AgentMismatch, MissingScope, Unauthorized } from "../api/errors.ts"
import { countedRequest } from "../CurrentRequest.ts"
import { PublicCache } from "../httpCaching.ts"
import { RequiredScope } from "./annotations.ts"
import { audited } from "./adminAudit.ts"
import { AdminAuthentication, AgentAuthentication, CurrentAgent } from "./definitions.ts"

const missing = () =>
  new Unauthorized({ detail: "Send an access token: Authorization: Bearer <ACCESS_TOKEN>." })

export const agents = Layer.effect(
  AgentAuthentication,
  Effect.gen(function* () {
    const tokens = yield* Tokens
    return AgentAuthentication.of({
      bearer: Effect.fnUntraced(function* (httpEffect, { credential, endpoint }) {
        const request = yield* HttpServerRequest.HttpServerRequest
        const bearer = Redacted.value(credential)
        if (bearer === "") return yield* missing()
        const principal = yield* tokens.authenticate(bearer)
        const named = request.headers["x-agent-id"]
        if (named !== undefined && named.toLowerCase() !== principal.agentId) {
          return yield* new AgentMismatch({ detail: "X-Agent-Id is not the agent of the access token." })
        }
        const needed = Context.get(endpoint.annotations, RequiredScope)
        if (needed !== undefined && !allows(principal.scopes, needed)) {
          return yield* new MissingScope({ detail: `Missing required scope: ${needed}` })
        }
        yield* Effect.annotateCurrentSpan({ "agent.id": principal.agentId })
        return yield* Effect.provideService(httpEffect, CurrentAgent, principal)
      })
    })
  })
)

const digest = (text: string) => createHash("sha256").update(text).digest()

export const administrators = Layer.effect(
  AdminAuthentication,
  Effect.gen(function* () {
    const settings = yield* Settings
    const audit = yield* Audit
    const kept = yield* PublicCache
    const expected = digest(Redacted.value(settings.adminToken))
    return AdminAuthentication.of({
      bearer: Effect.fnUntraced(function* (httpEffect, { credential, endpoint }) {
        const request = yield* HttpServerRequest.HttpServerRequest
        const bearer = Redacted.value(credential)
        if (bearer === "") return yield* missing()
        if (!timingSafeEqual(digest(bearer), expected)) {
          return yield* new InvalidToken({ detail: "The administrator's token is wrong." })
        }
        // Nothing limits an administrator.
        yield* countedRequest
        if (request.method === "GET" || request.method === "HEAD") return yield* httpEffect
        return yield* audited(httpEffect, endpoint).pipe(
          Effect.provideService(Audit, audit),
          Effect.provideService(PublicCache, kept)
        )
      })
    })
  })
)
