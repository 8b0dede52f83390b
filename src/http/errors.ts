import { Predicate, Schema, SchemaAST } from "effect"
import { HttpServerResponse } from "effect/http"

/** The status of a typed error, which stands beside its definition. What a handler failed with may come wrapped. */
export const errorStatus = (error: unknown): number => {
  const schema = Predicate.isObject(error) ? error.constructor : undefined
  if (Schema.isSchema(schema)) return Number(SchemaAST.resolve(schema.ast)?.["httpApiStatus"] ?? 500)
  return Predicate.hasProperty(error, "error") ? errorStatus(error.error) : 500
}

/**
 * A write that is answered so counts as refused. A failure of ours does, for it costs as much, and more; 503 does not, for which a busy or
 * lost database is to blame.
 */
export const isRefusal = (status: number): boolean => status >= 400 && status !== 503

interface ApiError {
  readonly detail: string
  readonly code: string
  readonly hint?: string | undefined
  readonly errors?: unknown
  readonly retry_after?: number
}

/** An error as a response, for routes outside of the HttpApi: in the same form. */
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
