/**
 * Errors that several areas share. Every error carries its HTTP status beside its definition, a stable machine-readable `code`, and a
 * `detail` that says what is wrong and what would be right.
 */
import { Cause, Data, Effect, Predicate, Schema } from "effect"

/** The stable `code` of an error, filled in by the constructor. */
export const errorCode = <const Code extends string>(code: Code) =>
  Schema.Literal(code).pipe(Schema.withConstructorDefault(Effect.succeed(code)))

const Hint = Schema.String.annotate({
  identifier: "Hint",
  description: "what to do about it, where that is known"
})

type Failed<Tag extends string, Fields extends Schema.Struct.Fields> = {
  readonly _tag: Tag
  readonly detail: string
  readonly hint?: string
} & Schema.Struct.Type<Fields>

/** The class of an error with these fields, its `code` among them, beside a `detail` and an optional `hint`. */
export const apiErrorWith = <const Tag extends string, const Fields extends Schema.Struct.Fields>(
  tag: Tag,
  httpApiStatus: number,
  fields: Fields
) => {
  const made = Schema.Error<Failed<Tag, Fields>, { readonly _tag: Tag }>(tag)(
    { detail: Schema.String, hint: Schema.optionalKey(Hint), ...fields },
    { httpApiStatus }
  )
  // The tag is no field of the schema, since answers do not have it.
  if (typeof made === "function") Object.assign(made.prototype, { _tag: tag })
  return made
}

export const apiError = <const Tag extends string, const Code extends string>(
  tag: Tag,
  httpApiStatus: number,
  code: Code
) => apiErrorWith(tag, httpApiStatus, { code: errorCode(code) })

/** 404: nothing has this identifier. */
export class NotFound extends apiError("NotFound", 404, "not_found") {
  /** An error about an identifier, which is cut since the caller may have sent anything. */
  static of(kind: string, id: string): NotFound {
    return new NotFound({ detail: `There is no ${kind} ${id.slice(0, 64)}.` })
  }

  static agent(id: string): NotFound {
    return NotFound.of("agent", id)
  }

  /** An error about an agent that is missing or has another owner, which the caller must not tell apart. */
  static notOwned(): NotFound {
    return new NotFound({ detail: "You own no agent with this identifier." })
  }
}

/** One problem of a request, by the path of the field. */
export const FieldProblem = Schema.Struct({
  path: Schema.String.annotate({ description: "where it is, for example market_impact.direction" }),
  message: Schema.String
})
export type FieldProblem = typeof FieldProblem.Type

/** 400: malformed JSON, or a field that is missing, of the wrong type or out of range; lists every one of them. */
export class InvalidRequest extends apiErrorWith("InvalidRequest", 400, {
  code: errorCode("invalid_request"),
  errors: Schema.Array(FieldProblem)
}) {
  static of(path: string, message: string): InvalidRequest {
    return new InvalidRequest({ detail: `${path}: ${message}`, errors: [{ path, message }] })
  }
}

/**
 * The store cannot be reached, or is busy for longer than it may be. It is a defect, since no caller of a service can do anything about it;
 * the edge answers 503 and asks to try again.
 */
export class StoreUnavailable extends Data.TaggedError("StoreUnavailable")<{ readonly cause: unknown }> {}

interface RootCause {
  /** The tag of the innermost error that has one, else the name of its class. */
  readonly type: string
  readonly code: string | null
  readonly message: string
}

/** The innermost cause of a failure: PostgreSQL's SQLSTATE and the first line of its message, or those of the socket. */
export const rootCause = (error: unknown, outer?: string): RootCause => {
  const tag = Predicate.hasProperty(error, "_tag") ? String(error._tag) : outer
  if (Predicate.hasProperty(error, "reason")) return rootCause(error.reason, tag)
  if (Predicate.hasProperty(error, "cause") && error.cause !== undefined) return rootCause(error.cause, tag)
  const text = Predicate.hasProperty(error, "message") ? String(error.message) : String(error)
  const [message = ""] = text.split("\n", 1)
  return {
    type: tag ?? (error instanceof Error ? error.name : "unknown"),
    code: Predicate.hasProperty(error, "code") ? String(error.code) : null,
    message
  }
}

/** The defects among the causes of a failure that mean an unavailable store. */
export const storeUnavailableIn = (cause: Cause.Cause<unknown>): ReadonlyArray<StoreUnavailable> =>
  cause.reasons
    .filter(Cause.isDieReason)
    .map(({ defect }) => defect)
    .filter((defect) => defect instanceof StoreUnavailable)
