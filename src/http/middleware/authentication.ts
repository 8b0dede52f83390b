/** Authenticates agents, readers of the gateway, and administrators, whose calls are recorded in the audit log. */
import { createHash, timingSafeEqual } from "node:crypto"
import { Cause, Context, Effect, Exit, Layer, Option, Redacted, Stream } from "effect"
import { HttpBody, HttpIncomingMessage, HttpServerRequest, HttpServerResponse } from "effect/http"
import type { HttpApiEndpoint } from "effect/http-api"
import { AdminAudit } from "../../services/AdminAudit.ts"
import { storeUnavailableIn } from "../../services/domain/errors.ts"
import { GatewayKeys } from "../../services/GatewayKeys.ts"
import { allows } from "../../services/Scopes.ts"
import { RateLimiter } from "../../services/RateLimiter.ts"
import { Registry } from "../../services/Registry.ts"
import { Settings } from "../../services/Settings.ts"
import { InvalidToken, Tokens } from "../../services/Tokens.ts"
import type { Principal } from "../../services/Tokens.ts"
import { countedRequest, CurrentRequest } from "../CurrentRequest.ts"
import { AgentMismatch, Unauthorized, errorStatus } from "../errors.ts"
import { gatewayCredential, isGatewayKey, neitherDetail } from "../gateway/clients.ts"
import { PublicCache } from "../httpCaching.ts"
import { missingScope } from "../missingScope.ts"
import { redactSecrets } from "../redaction.ts"
import {
  AdminAuthentication,
  AgentAuthentication,
  CurrentAgent,
  CurrentKey,
  DecidedByBody,
  GatewayReader,
  isWrite,
  MaxBody,
  OptionalAuthentication,
  Reader,
  RequiredScope,
  RequiresOneScopeOf
} from "../api/middleware.ts"
import { declaredLength } from "../bodyText.ts"
import { sentBody } from "./requestBody.ts"

const missing = () =>
  new Unauthorized({ detail: "Send an access token: Authorization: Bearer <ACCESS_TOKEN>." })

/** The agent of an access token. */
export const principalOf = Effect.fnUntraced(function* (tokens: Tokens["Service"], bearer: string) {
  const { headers } = yield* HttpServerRequest.HttpServerRequest
  if (bearer === "") return yield* missing()
  const principal = yield* tokens.authenticate(bearer)
  const named = headers["x-agent-id"]
  if (named !== undefined && named.toLowerCase() !== principal.agentId) {
    return yield* new AgentMismatch({ detail: "X-Agent-Id is not the agent of the access token." })
  }
  return principal
})

export const optionalAgents = Layer.effect(
  OptionalAuthentication,
  Effect.map(Tokens, (tokens) =>
    OptionalAuthentication.of({
      bearer: Effect.fnUntraced(function* (httpEffect, { credential }) {
        const bearer = Redacted.value(credential)
        const reader = bearer === "" ? Option.none() : Option.some(yield* principalOf(tokens, bearer))
        return yield* Effect.provideService(httpEffect, Reader, reader)
      })
    })
  )
)

/** The scopes that a request needs, with those that its body decides. An unreadable body is rejected later. */
const neededScopes = Effect.fnUntraced(function* (endpoint: HttpApiEndpoint.Top, { scopes }: Principal) {
  const required = Context.get(endpoint.annotations, RequiredScope)
  const always = required === undefined ? [] : [required]
  const decide = Context.get(endpoint.annotations, DecidedByBody)
  if (decide === undefined) return always
  const possible = Context.get(endpoint.annotations, RequiresOneScopeOf)
  const unread = possible.some((scope) => allows(scopes, scope)) ? [] : possible
  const decided = yield* sentBody(endpoint).pipe(
    Effect.match({ onFailure: () => unread, onSuccess: (body) => decide(body).map(({ scope }) => scope) })
  )
  return [...always, ...decided]
})

/** The body decides the scopes, so it is read before any limit of the agent applies. */
const isReadFirst = ({ annotations }: HttpApiEndpoint.Top): boolean =>
  Context.get(annotations, DecidedByBody) !== undefined

/** From this size on, reading a body costs as much as a page, so it counts as a read of its address. */
const largeBody = 16 * 1024

export const agents = Layer.effect(
  AgentAuthentication,
  Effect.gen(function* () {
    const limits = yield* RateLimiter
    const tokens = yield* Tokens
    const registry = yield* Registry
    return AgentAuthentication.of({
      bearer: Effect.fnUntraced(function* (httpEffect, { credential, endpoint }) {
        const request = yield* HttpServerRequest.HttpServerRequest
        const principal = yield* principalOf(tokens, Redacted.value(credential))
        if (isReadFirst(endpoint) && declaredLength(request.headers) > largeBody) {
          const { address } = yield* countedRequest
          yield* limits.consume("reads", address)
        }
        const lacking = (yield* neededScopes(endpoint, principal)).find(
          (scope) => !allows(principal.scopes, scope)
        )
        if (lacking !== undefined) {
          if (isWrite(request.method)) {
            yield* countedRequest
            yield* limits.consume("refused_writes", principal.agentId)
          }
          return yield* missingScope(registry, principal.agentId, lacking)
        }
        yield* Effect.annotateCurrentSpan({ "agent.id": principal.agentId })
        return yield* Effect.provideService(httpEffect, CurrentAgent, principal)
      })
    })
  })
)

/** Authenticates an agent by its access token or by one of its gateway keys. */
export const gatewayReaders = Layer.effect(
  GatewayReader,
  Effect.gen(function* () {
    const tokens = yield* Tokens
    const keys = yield* GatewayKeys

    const byKey = (key: string) =>
      keys.authenticate(key).pipe(
        Effect.map(({ agentId, keyId }) => ({
          keyId,
          principal: { agentId, trustLevel: "claimed" as const, scopes: new Set<never>() }
        })),
        Effect.catchTag("InvalidGatewayKey", ({ detail }) => Effect.fail(new InvalidToken({ detail })))
      )

    const byToken = (token: string) =>
      tokens.authenticate(token).pipe(
        Effect.map((principal) => ({ keyId: undefined, principal })),
        Effect.mapError((error) =>
          error._tag === "InvalidToken" ? new InvalidToken({ detail: neitherDetail(error.detail) }) : error
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
        const { keyId, principal } = yield* isGatewayKey(credential) ? byKey(credential) : byToken(credential)
        const named = request.headers["x-agent-id"]
        if (named !== undefined && named.toLowerCase() !== principal.agentId) {
          return yield* new AgentMismatch({ detail: "X-Agent-Id is not the agent of the credential." })
        }
        return yield* httpEffect.pipe(
          Effect.provideService(CurrentAgent, principal),
          Effect.provideService(CurrentKey, { keyId })
        )
      })
    })
  })
)

const digest = (text: string) => createHash("sha256").update(text).digest()

export const administrators = Layer.effect(
  AdminAuthentication,
  Effect.gen(function* () {
    const settings = yield* Settings
    const audit = yield* AdminAudit
    const cache = yield* PublicCache
    const accepted = [settings.adminToken, ...Option.toArray(settings.adminTokenPrevious)].map((token) =>
      digest(Redacted.value(token))
    )
    return AdminAuthentication.of({
      bearer: Effect.fnUntraced(function* (httpEffect, { credential, endpoint }) {
        const request = yield* HttpServerRequest.HttpServerRequest
        const bearer = Redacted.value(credential)
        if (bearer === "") {
          return yield* new Unauthorized({
            detail: "Send the administrator's token: Authorization: Bearer <ADMIN_TOKEN>."
          })
        }
        const sent = digest(bearer)
        if (!accepted.some((each) => timingSafeEqual(sent, each))) {
          return yield* new InvalidToken({ detail: "The administrator's token is wrong." })
        }
        // Administrators have no limits.
        yield* countedRequest
        if (request.method === "GET" || request.method === "HEAD") return yield* httpEffect
        return yield* recordAdminCall(httpEffect, endpoint).pipe(
          Effect.provideService(AdminAudit, audit),
          Effect.provideService(PublicCache, cache)
        )
      })
    })
  })
)

/** The status of a failure; none for an interrupted call, because nobody knows how far it came. */
const statusOf = (cause: Cause.Cause<unknown>): Option.Option<number> => {
  if (Cause.hasInterruptsOnly(cause)) return Option.none()
  const unexpected = storeUnavailableIn(cause).length > 0 ? 503 : 500
  return Option.some(
    Option.match(Cause.findErrorOption(cause), { onNone: () => unexpected, onSome: errorStatus })
  )
}

/** Records an administrator's call before it runs, and its status once the answer is complete. */
const recordAdminCall = Effect.fnUntraced(function* <E, R>(
  work: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>,
  endpoint: HttpApiEndpoint.Top
) {
  const audit = yield* AdminAudit
  const cache = yield* PublicCache
  const request = yield* HttpServerRequest.HttpServerRequest
  const { requestId } = yield* CurrentRequest
  // An unreadable body is recorded as empty.
  const body = yield* request.text.pipe(
    Effect.provideService(HttpIncomingMessage.MaxBodySize, Context.get(endpoint.annotations, MaxBody)),
    Effect.orElseSucceed(() => "")
  )

  const carriedOut = Effect.gen(function* () {
    const entry = yield* audit.begin({
      action: endpoint.identifier,
      path: redactSecrets(request.url),
      requestId,
      // Rejected bodies are recorded, too, and no column stores a NUL.
      body: redactSecrets(body).replaceAll("\0", "\ufffd")
    })
    // The call has taken effect, so its answer is sent even if its end cannot be recorded; the entry stays visibly
    // open.
    const complete = (status: number) =>
      audit
        .complete(entry, status)
        .pipe(
          Effect.catchCause((cause) =>
            Effect.logWarning("the result of an administrator's call could not be recorded", cause)
          )
        )
    const ended = (status: Option.Option<number>) =>
      Effect.andThen(cache.clear, Option.match(status, { onNone: () => Effect.void, onSome: complete }))
    const response = yield* Effect.onError(work, (cause) => ended(statusOf(cause)))
    const { body: answer } = response
    const answered = Option.some(response.status)
    if (answer._tag !== "Stream") {
      yield* ended(answered)
      return response
    }
    const stream = Stream.onExit(
      answer.stream,
      Exit.match({ onSuccess: () => ended(answered), onFailure: (cause) => ended(statusOf(cause)) })
    )
    return HttpServerResponse.setBody(
      response,
      HttpBody.stream(stream, answer.contentType, answer.contentLength)
    )
  })
  // A client disconnect does not cancel the work. Its end is recorded, too, unless the call takes longer than five
  // seconds: then the stream has no reader left (heartbeatResponse.ts).
  return yield* Effect.uninterruptible(carriedOut)
})
