/** The middleware of the API, as contracts. The last one applied is the outermost, so it runs first. */
import { ByteSize, Context, Duration, Effect, Schema } from "effect"
import type { DateTime, Option } from "effect"
import { HttpApiMiddleware, HttpApiSecurity } from "effect/http-api"
import { GatewayDisabled } from "../../services/GatewayKeys.ts"
import type { GatewayKeyId } from "../../services/GatewayKeys.ts"
import { IdempotencyKey, IdempotencyKeyInUse, IdempotencyKeyMismatch } from "../../services/Idempotency.ts"
import { WrongSite } from "../../services/Tokens.ts"
import type { Principal } from "../../services/Tokens.ts"
import type { Use } from "../../services/RateLimiter.ts"
import { InvalidRequest } from "../../services/domain/errors.ts"
import {
  AgentMismatch,
  MissingScope,
  PayloadTooLarge,
  TooManyRequestsResponse,
  UnauthorizedResponse,
  UnsupportedMediaType
} from "../errors.ts"
import type { Scope } from "../../services/Scopes.ts"
import type { LimitName } from "../../services/Settings.ts"

/** The agent that is calling. */
export class CurrentAgent extends Context.Service<CurrentAgent, Principal>()("auspex/http/CurrentAgent") {}

/** The agent that asks, by a token of this epoch, for what owners may have, too. */
export const asking = Effect.map(CurrentAgent, ({ agentId, epoch }) => ({
  kind: "agent" as const,
  id: agentId,
  epoch
}))

/** Bearer token, site, X-Agent-Id, then the scope the endpoint requires. */
export class AgentAuthentication extends HttpApiMiddleware.Service<
  AgentAuthentication,
  { provides: CurrentAgent }
>()("auspex/http/AgentAuthentication", {
  error: [UnauthorizedResponse, WrongSite, AgentMismatch, MissingScope, TooManyRequestsResponse],
  security: { bearer: HttpApiSecurity.bearer }
}) {}

/** Who reads: an agent, where a token was sent. */
export class Reader extends Context.Service<Reader, Option.Option<Principal>>()("auspex/http/Reader") {}

/** A bearer token is taken where one is sent, as `AgentAuthentication` takes it. */
export class OptionalAuthentication extends HttpApiMiddleware.Service<
  OptionalAuthentication,
  { provides: Reader }
>()("auspex/http/OptionalAuthentication", {
  error: [UnauthorizedResponse, WrongSite, AgentMismatch],
  security: { bearer: HttpApiSecurity.bearer }
}) {}

/** The gateway key that is calling; undefined where it is an access token. */
export class CurrentKey extends Context.Service<CurrentKey, { readonly keyId: GatewayKeyId | undefined }>()(
  "auspex/http/CurrentKey"
) {}

/** An agent by its access token, or by a gateway key of its own: for what either may read. */
export class GatewayReader extends HttpApiMiddleware.Service<
  GatewayReader,
  { provides: CurrentAgent | CurrentKey }
>()("auspex/http/GatewayReader", {
  error: [UnauthorizedResponse, WrongSite, AgentMismatch, GatewayDisabled],
  security: { bearer: HttpApiSecurity.bearer }
}) {}

/** The administrator's bearer token; every call is written to the audit log. */
export class AdminAuthentication extends HttpApiMiddleware.Service<AdminAuthentication>()(
  "auspex/http/AdminAuthentication",
  { error: [UnauthorizedResponse], security: { bearer: HttpApiSecurity.bearer } }
) {}

/** When the body of the request had been read to its end. */
export class ReceivedAt extends Context.Service<ReceivedAt, DateTime.Utc>()("auspex/http/ReceivedAt") {}

/** Reads the body and stamps the request before its authentication and its limits wait for the database. Outermost. */
export class ReceiptTime extends HttpApiMiddleware.Service<ReceiptTime, { provides: ReceivedAt }>()(
  "auspex/http/ReceiptTime"
) {}

/** Counts the request towards the endpoint's limit, by address. */
export class AddressLimit extends HttpApiMiddleware.Service<AddressLimit>()("auspex/http/AddressLimit", {
  error: [TooManyRequestsResponse]
}) {}

/** Counts the request towards the endpoint's limit, by agent or by address, and the agent's refused writes. */
export class AgentLimit extends HttpApiMiddleware.Service<AgentLimit, { requires: CurrentAgent }>()(
  "auspex/http/AgentLimit",
  { error: [TooManyRequestsResponse] }
) {}

/** The limits of a batch, by whose items the handler asks for room (`admitWrites`) and has them counted. */
export class BatchAdmission extends Context.Service<
  BatchAdmission,
  {
    /** What an item uses. */
    readonly usesOf: (item: unknown) => ReadonlyArray<Use>
    /** So many items count as refused writes. */
    readonly conclude: (refused: number) => void
  }
>()("auspex/http/BatchAdmission") {}

/**
 * Counts a batch as a read of its address, and as the agent's refused writes the items that are refused or the request that is
 * refused as a whole.
 */
export class BatchLimit extends HttpApiMiddleware.Service<
  BatchLimit,
  { requires: CurrentAgent; provides: BatchAdmission }
>()("auspex/http/BatchLimit", { error: [TooManyRequestsResponse] }) {}

/** Size, content type, UTF-8, JSON without duplicate members or deep nesting; then what the schema says of each field. */
export class RequestBody extends HttpApiMiddleware.Service<RequestBody>()("auspex/http/RequestBody", {
  error: [InvalidRequest, PayloadTooLarge, UnsupportedMediaType]
}) {}

/** A request that names an `Idempotency-Key` does what it asks for once, however often it is sent. Innermost. */
export class IdempotentRequest extends HttpApiMiddleware.Service<
  IdempotentRequest,
  { requires: CurrentAgent }
>()("auspex/http/IdempotentRequest", {
  error: [InvalidRequest, IdempotencyKeyInUse, IdempotencyKeyMismatch]
}) {}

/** The same for administrators, who are one. */
export class AdminIdempotentRequest extends HttpApiMiddleware.Service<AdminIdempotentRequest>()(
  "auspex/http/AdminIdempotentRequest",
  {
    error: [InvalidRequest, IdempotencyKeyInUse, IdempotencyKeyMismatch]
  }
) {}

/** The same for registrations, whose caller nobody knows yet. */
export class IdempotentRegistration extends HttpApiMiddleware.Service<IdempotentRegistration>()(
  "auspex/http/IdempotentRegistration",
  {
    error: [InvalidRequest, IdempotencyKeyInUse, IdempotencyKeyMismatch]
  }
) {}

/** A shorter key may be another one's by chance. */
export const minRegistrationKey = 16

/** Long enough for a client that lost its answer to try again. */
export const registrationRetention = Duration.minutes(10)

/** Names the right path where the id of a challenge was sent to the path of another type. */
export class ChallengePath extends HttpApiMiddleware.Service<ChallengePath>()("auspex/http/ChallengePath") {}

/** ETags and caching of what everybody may read. */
export class HttpCaching extends HttpApiMiddleware.Service<HttpCaching>()("auspex/http/HttpCaching") {}

/** Of endpoints with the middleware `IdempotentRequest` or `AdminIdempotentRequest`. */
export const idempotentRequestHeaders = {
  "idempotency-key": Schema.optionalKey(
    IdempotencyKey.annotate({
      description:
        "a request with the same key and body, within 24 hours, does nothing again and is answered as the first one was"
    })
  )
}

export const registrationHeaders = {
  "idempotency-key": Schema.optionalKey(
    IdempotencyKey.annotate({
      description: `a request with the same key and body, from the same address within ${Duration.format(registrationRetention)}, makes no other agent and is answered as the first one was, secret included: ${minRegistrationKey} or more characters, such as a UUID`
    })
  )
}

/** Whether a request of this method may change something. */
export const isWrite = (method: string): boolean => method !== "GET" && method !== "HEAD"

/** The scope a token must hold; none by default. */
export const RequiredScope = Context.Reference<Scope | undefined>("auspex/http/RequiredScope", {
  defaultValue: () => undefined
})

/** Scopes of which a token must hold one, where the body decides which it must be. */
export const SomeScopeOf = Context.Reference<ReadonlyArray<Scope>>("auspex/http/SomeScopeOf", {
  defaultValue: () => []
})

/** The limit a request counts towards, and whose: the agent's or the address's. `null`: the handler's own business. */
export const CountsTowards = Context.Reference<{
  readonly limit: LimitName
  readonly of: "agent" | "address"
} | null>("auspex/http/CountsTowards", { defaultValue: () => ({ limit: "reads", of: "address" }) })

/**
 * The scopes that a body makes necessary and the limits that it counts towards, besides those of every such request. Both
 * are told from whatever was sent; a missing scope is told before anything that is wrong with the body.
 */
export const DecidedByBody = Context.Reference<Deciding | undefined>("auspex/http/DecidedByBody", {
  defaultValue: () => undefined
})

/** The same for each item of a batch, which has an outcome of its own. */
export const DecidedByItem = Context.Reference<Deciding | undefined>("auspex/http/DecidedByItem", {
  defaultValue: () => undefined
})

type Deciding = (sent: unknown) => ReadonlyArray<{ readonly scope: Scope; readonly limit: LimitName }>

/**
 * The limit that requests with a wrong body count towards, by address; null: none. Once it is used up they are 429, and
 * right ones are taken as before.
 */
export const BadBodiesCountTowards = Context.Reference<LimitName | null>(
  "auspex/http/BadBodiesCountTowards",
  { defaultValue: () => null }
)

/** Enough for a form, for credentials, or for a registration. */
export const smallBody = ByteSize.kibibytes(16)

/** The largest body an endpoint takes. */
export const MaxBody = Context.Reference<ByteSize.ByteSize>("auspex/http/MaxBody", {
  defaultValue: () => ByteSize.kibibytes(256)
})

/** What an endpoint's body may be. */
export const BodyTypes = Context.Reference<ReadonlyArray<string>>("auspex/http/BodyTypes", {
  defaultValue: () => ["application/json"]
})

/** Fields that an endpoint refuses, each with why: ignored, they would change what was meant. */
export const RefusedFields = Context.Reference<Readonly<Record<string, string>>>(
  "auspex/http/RefusedFields",
  { defaultValue: () => ({}) }
)

/** Whether a body with unknown fields is refused: a limit that was misspelt, and ignored, would be none. */
export const RefusesUnknownFields = Context.Reference<boolean>("auspex/http/RefusesUnknownFields", {
  defaultValue: () => false
})

/** Fields that an endpoint takes besides those of its schema. */
export const AlsoTaken = Context.Reference<ReadonlyArray<string>>("auspex/http/AlsoTaken", {
  defaultValue: () => []
})

/** The same for everybody who asks, and no worse for being a second old: made once for all. */
export const SharedCache = Context.Reference<boolean>("auspex/http/SharedCache", {
  defaultValue: () => false
})

/** Has something of its own for an agent whose token was sent. */
export const TellsAgents = Context.Reference<boolean>("auspex/http/TellsAgents", {
  defaultValue: () => false
})
