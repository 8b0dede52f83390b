/** Every endpoint of the API, for tests that hold for all of them, also for future ones. */
import { HttpApi } from "effect/http-api"
import { Context } from "effect"
import { Api } from "../../src/http/api/Api.ts"
import {
  RequiredScope,
  AdminAuthentication,
  AgentAuthentication,
  GatewayReader
} from "../../src/http/api/middleware.ts"
import { pageMethods } from "../../src/http/site/paths.ts"
import { assets } from "../../src/http/site/assets/assets.ts"
import { documents, compatibilityPaths, logPaths, webhookPath } from "../../src/http/routes.ts"
import { gatewayPaths } from "../../src/http/gateway/clients.ts"
import type { Scope } from "../../src/services/Scopes.ts"

const unknownId = "0190f000-0000-7000-8000-000000000000"

export interface Route {
  /** The template as the API writes it, for example `/api/v1/eval/challenges/:challenge_id/results`. */
  readonly template: string
  readonly method: string
  readonly name: string
  readonly takesBody: boolean
  readonly caller: "anybody" | "agent" | "administrator"
  readonly scope: Scope | undefined
}

const callerOf = (middleware: ReadonlySet<unknown>): Route["caller"] => {
  if (middleware.has(AgentAuthentication) || middleware.has(GatewayReader)) return "agent"
  return middleware.has(AdminAuthentication) ? "administrator" : "anybody"
}

export const routes: ReadonlyArray<Route> = (() => {
  const found: Array<Route> = []
  HttpApi.reflect(Api, {
    onGroup: () => {},
    onEndpoint: ({ endpoint, middleware }) => {
      found.push({
        template: endpoint.path,
        method: endpoint.method,
        name: `${endpoint.method} ${endpoint.path}`,
        takesBody: endpoint.payload.size > 0,
        caller: callerOf(middleware),
        scope: Context.get(endpoint.annotations, RequiredScope)
      })
    }
  })
  return found
})()

/** Calls of models, as the document has them; they answer in the shapes of two styles and so are not in the HttpApi. */
export const gatewayRoutes: ReadonlyArray<string> = Object.values(gatewayPaths).map(
  (path) => `${path.startsWith(gatewayPaths.models) ? "GET" : "POST"} ${path.replace("*", "{model}")}`
)

export const agentRoutes = routes.filter(({ caller }) => caller === "agent")
export const adminRoutes = routes.filter(({ caller }) => caller === "administrator")

/** A path with its parameters filled in; missing ones get an id that nothing has. */
export const pathOf = (route: Route, parameters: Readonly<Record<string, string>> = {}): string =>
  route.template.replaceAll(/:([a-z_]+)/g, (_, name: string) => parameters[name] ?? unknownId)

/** A path of every kind that exists, API or not, with its parameters filled in. */
export const everyPath: ReadonlyArray<string> = [
  ...new Set(
    [
      ...routes.map(({ template }) => template),
      ...Object.values(gatewayPaths),
      ...Object.keys(pageMethods),
      ...Object.values(documents),
      ...assets.map(({ path }) => path),
      ...Object.values(logPaths),
      ...Object.values(compatibilityPaths),
      webhookPath
    ].map((template) =>
      template.replace("/log/tile/*", "/log/tile/0/000").replaceAll(/:[a-z_]+|\*/g, unknownId)
    )
  )
]
