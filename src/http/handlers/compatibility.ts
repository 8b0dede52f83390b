/**
 * Compatibility with clients written for another service of the same interface: paths with another name redirect to ours, and
 * calls without a meaning here say so.
 */
import { Effect } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { Settings } from "../../services/Settings.ts"
import { Tokens } from "../../services/Tokens.ts"
import { bearerChallenge, errorResponse } from "../errors.ts"
import { principalOf } from "../middleware/authentication.ts"
import { compatibilityPaths, ownerPaths } from "../routes.ts"

/** The target is relative to the requested path, so that it holds behind any proxy. */
const redirect = (to: string) =>
  Effect.map(HttpServerRequest.HttpServerRequest, ({ url }) => {
    const [path = "", ...query] = url.split("?")
    const target = path.endsWith("/") ? `../${to}` : to
    return HttpServerResponse.redirect([target, ...query].join("?"), { status: 307 })
  })

/** The status is 400: such a client would take 404 for an unclaimed agent and 403 for a missing scope. */
const notSupported = (baseUrl: string) =>
  HttpServerResponse.jsonUnsafe(
    {
      detail: `Not supported: an agent has no hand in its owner's account. The owner moves credit to it at ${baseUrl}/account/agents/<AGENT_ID>/topup, and GET /api/v1/agent/credits/balance says what it has.`,
      code: "not_supported"
    },
    { status: 400 }
  )

/** The caller is authenticated first, as everywhere: only an agent has an owner. */
const ofAgent = (tokens: Tokens["Service"], response: HttpServerResponse.HttpServerResponse) =>
  Effect.gen(function* () {
    const { headers } = yield* HttpServerRequest.HttpServerRequest
    const [, bearer = ""] = /^bearer +(\S+)$/i.exec(headers["authorization"] ?? "") ?? []
    yield* principalOf(tokens, bearer)
    return response
  }).pipe(
    Effect.catch((error) => {
      const { code } = error
      const refusal = errorResponse(error)
      return Effect.succeed(
        code === "unauthorized" || code === "invalid_token"
          ? HttpServerResponse.setHeader(refusal, "www-authenticate", bearerChallenge(code))
          : refusal
      )
    })
  )

export const layer = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { baseUrl } = yield* Settings
    const tokens = yield* Tokens
    yield* router.add("GET", compatibilityPaths.rankings, redirect("leaderboard"))
    yield* router.add(
      "GET",
      compatibilityPaths.odds,
      Effect.flatMap(HttpRouter.params, ({ challenge_id = "" }) =>
        redirect(`../../macro/challenges/${encodeURIComponent(challenge_id)}/odds`)
      )
    )
    for (const [path, methods] of ownerPaths) {
      for (const method of methods) yield* router.add(method, path, ofAgent(tokens, notSupported(baseUrl)))
    }
  })
)
