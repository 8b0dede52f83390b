/** Every call that agents and the public make, as the API defines it: what the guide for agents is written from. */
import { Context, Option, Predicate } from "effect"
import { HttpApi, OpenApi } from "effect/http-api"
import type { Scope } from "../../services/Scopes.ts"
import type { LimitName } from "../../services/Settings.ts"
import { Api } from "../api/Api.ts"
import { CountsTowards, DecidedByBody, RequiredScope } from "../middleware/annotations.ts"
import { AdminAuthentication, AgentAuthentication } from "../middleware/definitions.ts"
import { shapeOf } from "./shapes.ts"

export interface Call {
  /** As the document names it, for example `arena.predict`. */
  readonly id: string
  readonly group: string
  readonly method: string
  /** With `{names}` where parameters stand. */
  readonly path: string
  readonly needsToken: boolean
  /** Where the body decides, that of a body without the members that decide. */
  readonly scope: Scope | undefined
  readonly limit: LimitName | undefined
  readonly summary: string
  /** Successes, each with the shape of what it answers; empty where there is no body. */
  readonly answers: ReadonlyArray<{ readonly status: string; readonly shape: string }>
}

const at = (value: unknown, ...path: ReadonlyArray<string>): unknown =>
  path.reduce<unknown>((inner, key) => (Predicate.hasProperty(inner, key) ? inner[key] : undefined), value)

const answersOf = (document: unknown, operation: unknown): Call["answers"] =>
  Object.entries(at(operation, "responses") ?? {})
    .filter(([status]) => status.startsWith("2"))
    .map(([status, response]) => ({
      status,
      shape: shapeOf(document, at(response, "content", "application/json", "schema"))
    }))

/** In the order of the API; not those of administrators and health checks. */
export const readCalls = (): ReadonlyMap<string, Call> => {
  const document = OpenApi.fromApi(Api)
  const calls = new Map<string, Call>()
  HttpApi.reflect(Api, {
    onGroup: () => {},
    onEndpoint: ({ endpoint, group, middleware: applied }) => {
      const middleware: ReadonlySet<unknown> = applied
      if (middleware.has(AdminAuthentication) || group.identifier === "health") return
      const path = endpoint.path.replaceAll(/:([a-z_]+)/g, "{$1}")
      const operation = at(document, "paths", path, endpoint.method.toLowerCase())
      const id = String(at(operation, "operationId"))
      calls.set(id, {
        id,
        group: Option.getOrElse(Context.getOption(group.annotations, OpenApi.Title), () => group.identifier),
        method: endpoint.method,
        path,
        needsToken: middleware.has(AgentAuthentication),
        scope:
          Context.get(endpoint.annotations, RequiredScope) ??
          Context.get(endpoint.annotations, DecidedByBody)?.({}).scope,
        limit: Context.get(endpoint.annotations, CountsTowards)?.limit,
        summary: String(at(operation, "summary") ?? ""),
        answers: answersOf(document, operation)
      })
    }
  })
  return calls
}
