/** Errors of the transport, their responses, and the encoding of errors with headers. */
import { Predicate, Schema, SchemaAST } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiSchema } from "effect/http-api"
import { WaitRefused } from "../services/Notices.ts"
import { TooManyRequests } from "../services/RateLimiter.ts"
import { InvalidToken } from "../services/Tokens.ts"
import { NotSequenced } from "../services/TransparencyLog.ts"
import { FieldProblem, apiError, apiErrorWith, errorCode } from "../services/domain/errors.ts"

/** The status of a typed error, from its definition. A handler's error may be wrapped. */
export const errorStatus = (error: unknown): number => {
  const schema = Predicate.isObject(error) ? error.constructor : undefined
  if (Schema.isSchema(schema)) return Number(SchemaAST.resolve(schema.ast)?.["httpApiStatus"] ?? 500)
  return Predicate.hasProperty(error, "error") ? errorStatus(error.error) : 500
}

/** Tests whether a write answered with this status counts as refused. 503 does not: a busy or lost database is not the client's fault. */
export const isRefusal = (status: number): boolean => status >= 400 && status !== 503

interface ApiError {
  readonly detail: string
  readonly code: string
  readonly hint?: string | undefined
  readonly errors?: unknown
  readonly retry_after?: number
}

/** An error as a response of a route outside of the HttpApi, in the same form. */
export const errorResponse = (error: ApiError): HttpServerResponse.HttpServerResponse => {
  const { code, detail, errors, hint, retry_after } = error
  return HttpServerResponse.jsonUnsafe(
    {
      detail,
      code,
      ...(hint !== undefined && { hint }),
      ...(errors !== undefined && { errors }),
      ...(retry_after !== undefined && { retry_after })
    },
    {
      status: errorStatus(error),
      ...(retry_after !== undefined && { headers: { "retry-after": String(retry_after) } })
    }
  )
}

/** 401: no credential. */
export class Unauthorized extends apiError("Unauthorized", 401, "unauthorized") {}

/** 400 at the token endpoint: a grant other than client_credentials (RFC 6749 5.2). */
export class UnsupportedGrantType extends apiErrorWith("UnsupportedGrantType", 400, {
  code: errorCode("unsupported_grant_type"),
  errors: Schema.Array(FieldProblem)
}) {}

/** 403: the token lacks the endpoint's scope. */
export class MissingScope extends apiError("MissingScope", 403, "missing_scope") {}

/** 403: X-Agent-Id names another agent than the token. */
export class AgentMismatch extends apiError("AgentMismatch", 403, "agent_mismatch") {}

/** 413: the body is too large. */
export class PayloadTooLarge extends apiError("PayloadTooLarge", 413, "payload_too_large") {}

/** 415: the body has another type. */
export class UnsupportedMediaType extends apiError("UnsupportedMediaType", 415, "unsupported_media_type") {}

const { retry_after, ...tooMany } = TooManyRequests.fields

/** The edge sets these headers on every answer to a limited request, accepted or rejected. */
const quotaHeaders = {
  ratelimit: Schema.optionalKey(
    Schema.String.annotate({
      description:
        "of each window met: what is left (r), and seconds until the oldest use leaves it (t); on every limited answer"
    })
  ),
  "ratelimit-policy": Schema.optionalKey(
    Schema.String.annotate({
      description: "of each window met: how many uses (q) in how many seconds (w); on every limited answer"
    })
  )
}

/** Encodes an error with its `retry_after` in the body and in `Retry-After`. */
const withRetryAfter = <const Code extends string>(error: {
  readonly code: Code
  readonly detail: string
  readonly retry_after: number
  readonly hint?: string
}) => ({
  body: {
    detail: error.detail,
    code: error.code,
    retry_after: error.retry_after,
    ...(error.hint !== undefined && { hint: error.hint })
  },
  headers: { "retry-after": error.retry_after }
})

/** 429 with `Retry-After`. */
export const TooManyRequestsResponse = TooManyRequests.pipe(
  HttpApiSchema.encodeToWithHeaders(
    {
      body: Schema.Struct({ ...tooMany, retry_after })
        .annotate({ identifier: "TooManyRequests" })
        .pipe(HttpApiSchema.status(429)),
      headers: { "retry-after": Schema.Int, ...quotaHeaders }
    },
    {
      decode: ({ body }) => new TooManyRequests(body),
      encode: withRetryAfter
    }
  )
)

/** 409 with `Retry-After`. */
export const NotSequencedResponse = NotSequenced.pipe(
  HttpApiSchema.encodeToWithHeaders(
    {
      body: Schema.Struct(NotSequenced.fields)
        .annotate({ identifier: "NotSequenced" })
        .pipe(HttpApiSchema.status(409)),
      headers: { "retry-after": Schema.Int }
    },
    {
      decode: ({ body }) => new NotSequenced(body),
      encode: withRetryAfter
    }
  )
)

/** 503 with `Retry-After`. */
export const WaitRefusedResponse = WaitRefused.pipe(
  HttpApiSchema.encodeToWithHeaders(
    {
      body: Schema.Struct(WaitRefused.fields)
        .annotate({ identifier: "WaitRefused" })
        .pipe(HttpApiSchema.status(503)),
      headers: { "retry-after": Schema.Int }
    },
    {
      decode: ({ body }) => new WaitRefused(body),
      encode: withRetryAfter
    }
  )
)

const challenge = Schema.Struct({
  detail: Schema.String,
  code: Schema.Literals(["unauthorized", "invalid_token"])
}).annotate({ identifier: "Unauthorized" })

/** `WWW-Authenticate`, which names an error only where a credential was sent (RFC 6750 3.1). */
export const bearerChallenge = (code: (Unauthorized | InvalidToken)["code"]): string =>
  code === "unauthorized" ? "Bearer" : 'Bearer error="invalid_token"'

/** 401 with `WWW-Authenticate`. */
export const UnauthorizedResponse = Schema.Union([Unauthorized, InvalidToken]).pipe(
  HttpApiSchema.encodeToWithHeaders(
    { body: challenge.pipe(HttpApiSchema.status(401)), headers: { "www-authenticate": Schema.String } },
    {
      decode: ({ body }) =>
        body.code === "unauthorized"
          ? new Unauthorized({ detail: body.detail })
          : new InvalidToken({ detail: body.detail }),
      encode: (error) => ({
        body: { detail: error.detail, code: error.code },
        headers: { "www-authenticate": bearerChallenge(error.code) }
      })
    }
  )
)
