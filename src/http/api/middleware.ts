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

/** The calling agent with its token's epoch, for services that owners may call, too. */
export const caller = Effect.map(CurrentAgent, ({ agentId, epoch }) => ({
  kind: "agent" as const,
  id: agentId,
  epoch
}))

/** Checks the bearer token, its site, X-Agent-Id, and then the scope that the endpoint requires. */
export class AgentAuthentication extends HttpApiMiddleware.Service<
  AgentAuthentication,
  { provides: CurrentAgent }
>()("auspex/http/AgentAuthentication", {
  error: [UnauthorizedResponse, WrongSite, AgentMismatch, MissingScope, TooManyRequestsResponse],
  security: { bearer: HttpApiSecurity.bearer }
}) {}

/** The agent that reads, if a token was sent. */
export class Reader extends Context.Service<Reader, Option.Option<Principal>>()("auspex/http/Reader") {}

/** Authenticates like `AgentAuthentication` if a bearer token was sent. */
export class OptionalAuthentication extends HttpApiMiddleware.Service<
  OptionalAuthentication,
  { provides: Reader }
>()("auspex/http/OptionalAuthentication", {
  error: [UnauthorizedResponse, WrongSite, AgentMismatch],
  security: { bearer: HttpApiSecurity.bearer }
}) {}

/** The calling gateway key; undefined for an access token. */
export class CurrentKey extends Context.Service<CurrentKey, { readonly keyId: GatewayKeyId | undefined }>()(
  "auspex/http/CurrentKey"
) {}

/** Authenticates an agent by its access token or by one of its gateway keys. */
export class GatewayReader extends HttpApiMiddleware.Service<
  GatewayReader,
  { provides: CurrentAgent | CurrentKey }
>()("auspex/http/GatewayReader", {
  error: [UnauthorizedResponse, WrongSite, AgentMismatch, GatewayDisabled],
  security: { bearer: HttpApiSecurity.bearer }
}) {}

/** Authenticates the administrator's bearer token; the audit log records every call. */
export class AdminAuthentication extends HttpApiMiddleware.Service<AdminAuthentication>()(
  "auspex/http/AdminAuthentication",
  { error: [UnauthorizedResponse], security: { bearer: HttpApiSecurity.bearer } }
) {}

/** The time at which the whole body had been read. */
export class ReceivedAt extends Context.Service<ReceivedAt, DateTime.Utc>()("auspex/http/ReceivedAt") {}

/** Reads the body and stamps the request before authentication and limits wait for the database. It is the outermost middleware. */
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

/** The limits of a batch; the handler admits its items with `admitWrites`. */
export class BatchAdmission extends Context.Service<
  BatchAdmission,
  {
    /** The limits that an item counts towards. */
    readonly usesOf: (item: unknown) => ReadonlyArray<Use>
    /** Sets how many items count as refused writes. */
    readonly conclude: (refused: number) => void
  }
>()("auspex/http/BatchAdmission") {}

/** Counts a batch as one read of its address. Refused items, or a batch refused as a whole, count as refused writes of the agent. */
export class BatchLimit extends HttpApiMiddleware.Service<
  BatchLimit,
  { requires: CurrentAgent; provides: BatchAdmission }
>()("auspex/http/BatchLimit", { error: [TooManyRequestsResponse] }) {}

/** Checks size, content type, UTF-8, and JSON without duplicate members or deep nesting; then each field by its schema. */
export class RequestBody extends HttpApiMiddleware.Service<RequestBody>()("auspex/http/RequestBody", {
  error: [InvalidRequest, PayloadTooLarge, UnsupportedMediaType]
}) {}

/** Executes a request with an `Idempotency-Key` once, however often it is sent. It is the innermost middleware. */
export class IdempotentRequest extends HttpApiMiddleware.Service<
  IdempotentRequest,
  { requires: CurrentAgent }
>()("auspex/http/IdempotentRequest", {
  error: [InvalidRequest, IdempotencyKeyInUse, IdempotencyKeyMismatch]
}) {}

/** `IdempotentRequest` for administrators, who share one space of keys. */
export class AdminIdempotentRequest extends HttpApiMiddleware.Service<AdminIdempotentRequest>()(
  "auspex/http/AdminIdempotentRequest",
  {
    error: [InvalidRequest, IdempotencyKeyInUse, IdempotencyKeyMismatch]
  }
) {}

/** `IdempotentRequest` for registrations, whose caller is not known yet. */
export class IdempotentRegistration extends HttpApiMiddleware.Service<IdempotentRegistration>()(
  "auspex/http/IdempotentRegistration",
  {
    error: [InvalidRequest, IdempotencyKeyInUse, IdempotencyKeyMismatch]
  }
) {}

/** Shorter keys of two callers may be equal by chance. */
export const minRegistrationKey = 16

/** A client that lost the answer can send its registration again within this time. */
export const registrationRetention = Duration.minutes(10)

/** Names the right path when the id of a challenge is sent to the path of another type. */
export class ChallengePath extends HttpApiMiddleware.Service<ChallengePath>()("auspex/http/ChallengePath") {}

/** ETags and caching of public reads. */
export class HttpCaching extends HttpApiMiddleware.Service<HttpCaching>()("auspex/http/HttpCaching") {}

/** Headers of endpoints with `IdempotentRequest` or `AdminIdempotentRequest`. */
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

/** A request of this method may change something. */
export const isWrite = (method: string): boolean => method !== "GET" && method !== "HEAD"

/** The scope a token must hold; none by default. */
export const RequiredScope = Context.Reference<Scope | undefined>("auspex/http/RequiredScope", {
  defaultValue: () => undefined
})

/** Scopes of which a token must hold one; the body decides which. */
export const RequiresOneScopeOf = Context.Reference<ReadonlyArray<Scope>>("auspex/http/RequiresOneScopeOf", {
  defaultValue: () => []
})

/** The limit that a request counts towards, of its agent or its address. `null`: the handler counts. */
export const CountsTowards = Context.Reference<{
  readonly limit: LimitName
  readonly of: "agent" | "address"
} | null>("auspex/http/CountsTowards", { defaultValue: () => ({ limit: "reads", of: "address" }) })

/**
 * The scopes that a body requires and the limits that it counts towards, in addition to those of every request. The function
 * accepts any value; a missing scope is reported before any problem of the body.
 */
export const DecidedByBody = Context.Reference<Deciding | undefined>("auspex/http/DecidedByBody", {
  defaultValue: () => undefined
})

/** `DecidedByBody` for each item of a batch, which has an outcome of its own. */
export const DecidedByItem = Context.Reference<Deciding | undefined>("auspex/http/DecidedByItem", {
  defaultValue: () => undefined
})

type Deciding = (sent: unknown) => ReadonlyArray<{ readonly scope: Scope; readonly limit: LimitName }>

/** The limit, by address, of requests with a wrong body; null for none. Above it they are answered 429; valid requests still pass. */
export const BadBodiesCountTowards = Context.Reference<LimitName | null>(
  "auspex/http/BadBodiesCountTowards",
  { defaultValue: () => null }
)

/** The maximum size of a form, of credentials, or of a registration. */
export const smallBody = ByteSize.kibibytes(16)

/** The maximum size of an endpoint's body. */
export const MaxBody = Context.Reference<ByteSize.ByteSize>("auspex/http/MaxBody", {
  defaultValue: () => ByteSize.kibibytes(256)
})

/** The content types that an endpoint accepts. */
export const BodyTypes = Context.Reference<ReadonlyArray<string>>("auspex/http/BodyTypes", {
  defaultValue: () => ["application/json"]
})

/** Fields that an endpoint rejects, each with the reason: ignoring them would change the meaning of the request. */
export const RefusedFields = Context.Reference<Readonly<Record<string, string>>>(
  "auspex/http/RefusedFields",
  { defaultValue: () => ({}) }
)

/** Rejects a body with unknown fields: a misspelt limit, if ignored, would be no limit. */
export const RefusesUnknownFields = Context.Reference<boolean>("auspex/http/RefusesUnknownFields", {
  defaultValue: () => false
})

/** Fields that an endpoint accepts in addition to its schema. */
export const ExtraFields = Context.Reference<ReadonlyArray<string>>("auspex/http/ExtraFields", {
  defaultValue: () => []
})

/** The answer is the same for all readers and may be a second old, so it is made once for all of them. */
export const SharedCache = Context.Reference<boolean>("auspex/http/SharedCache", {
  defaultValue: () => false
})

/** The answer differs for an agent whose token was sent. */
export const DiffersByAgent = Context.Reference<boolean>("auspex/http/DiffersByAgent", {
  defaultValue: () => false
})
