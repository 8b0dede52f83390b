/** The middleware of the API, as contracts. The last one applied is the outermost, so it runs first. */
import { Context, Schema } from "effect"
import { HttpApiMiddleware, HttpApiSecurity } from "effect/http-api"
import { GatewayDisabled } from "../../services/GatewayKeys.ts"
import { IdempotencyKey, IdempotencyKeyInUse, IdempotencyKeyMismatch } from "../../services/Idempotency.ts"
import { WrongSite } from "../../services/Tokens.ts"
import type { Principal } from "../../services/Tokens.ts"
import { InvalidRequest } from "../../services/errors.ts"
import {
  AgentMismatch,
  MissingScope,
  PayloadTooLarge,
  TooManyRequestsResponse,
  UnauthorizedResponse,
  UnsupportedMediaType
} from "../api/errors.ts"

/** The agent that is calling. */
export class CurrentAgent extends Context.Service<CurrentAgent, Principal>()("auspex/http/CurrentAgent") {}

/** Bearer token, site, X-Agent-Id, then the scope the endpoint requires. */
export class AgentAuthentication extends HttpApiMiddleware.Service<
  AgentAuthentication,
  { provides: CurrentAgent }
>()("auspex/http/AgentAuthentication", {
  error: [UnauthorizedResponse, WrongSite, AgentMismatch, MissingScope],
  security: { bearer: HttpApiSecurity.bearer }
}) {}

/** An agent by its access token, or by a gateway key of its own: for what either may read. */
export class GatewayReader extends HttpApiMiddleware.Service<GatewayReader, { provides: CurrentAgent }>()(
  "auspex/http/GatewayReader",
  {
    error: [UnauthorizedResponse, WrongSite, AgentMismatch, GatewayDisabled],
    security: { bearer: HttpApiSecurity.bearer }
  }
) {}

/** The administrator's bearer token; every call is written to the audit log. */
export class AdminAuthentication extends HttpApiMiddleware.Service<AdminAuthentication>()(
  "auspex/http/AdminAuthentication",
  { error: [UnauthorizedResponse], security: { bearer: HttpApiSecurity.bearer } }
) {}

/** Counts the request towards the endpoint's limit, by address. */
export class AddressLimit extends HttpApiMiddleware.Service<AddressLimit>()("auspex/http/AddressLimit", {
  error: [TooManyRequestsResponse]
}) {}

/** Counts the request towards the endpoint's limit, by agent or by address. */
export class AgentLimit extends HttpApiMiddleware.Service<AgentLimit, { requires: CurrentAgent }>()(
  "auspex/http/AgentLimit",
  { error: [TooManyRequestsResponse] }
) {}

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

/** ETags and caching of what everybody may read. */
export class PublicRead extends HttpApiMiddleware.Service<PublicRead>()("auspex/http/PublicRead") {}

/** Of endpoints with the middleware `IdempotentRequest` or `AdminIdempotentRequest`. */
export const idempotentRequestHeaders = {
  "idempotency-key": Schema.optionalKey(
    IdempotencyKey.annotate({
      description:
        "a request with the same key and body, within 24 hours, does nothing again and is answered as the first one was"
    })
  )
}
