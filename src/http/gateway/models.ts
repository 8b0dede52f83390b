/** `GET models`, which clients of both styles read. */
import { DateTime, Effect } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { countIn } from "../../services/domain/numbers.ts"
import { Capability, Gateway, UnknownModel } from "../../services/Gateway.ts"
import type { ModelOffer, Style } from "../../services/Gateway.ts"
import { GatewayKeys, InvalidGatewayKey } from "../../services/GatewayKeys.ts"
import type { KeyHolder } from "../../services/GatewayKeys.ts"
import { RateLimiter } from "../../services/RateLimiter.ts"
import { Tokens } from "../../services/Tokens.ts"
import type { WrongSite } from "../../services/Tokens.ts"
import { AgentMismatch } from "../errors.ts"
import { countedRequest, CurrentRequest } from "../CurrentRequest.ts"
import {
  errorResponse,
  errorsIn,
  gatewayPaths,
  isGatewayKey,
  neitherDetail,
  requiredCredential,
  styleOfClient
} from "./clients.ts"

type Reader = Pick<KeyHolder, "agentId" | "allowedModels">

export const layer = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const gateway = yield* Gateway
    const keys = yield* GatewayKeys
    const tokens = yield* Tokens
    const limits = yield* RateLimiter

    /** Accepts a gateway key or an access token. The result lists the models that it may call; undefined means all. */
    const reader = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest) {
      const credential = yield* requiredCredential(request)
      const { agentId, allowedModels }: Reader = yield* isGatewayKey(credential)
        ? keys.authenticate(credential)
        : tokens
            .authenticate(credential)
            .pipe(
              Effect.catchTag("InvalidToken", ({ detail }) =>
                Effect.fail(new InvalidGatewayKey({ detail: neitherDetail(detail) }))
              )
            )
      const named = request.headers["x-agent-id"]
      if (named !== undefined && named.toLowerCase() !== agentId) {
        return yield* new AgentMismatch({ detail: "X-Agent-Id is not the agent of the credential." })
      }
      const { address } = yield* countedRequest
      yield* limits.consume("reads", address)
      return allowedModels
    })

    const forbidden = (style: Style, { code, detail }: WrongSite | AgentMismatch, requestId: string) =>
      Effect.succeed(errorResponse(gateway.inStyle(style, { status: 403, code, detail }, requestId)))

    const reading = (
      respond: (
        models: ReadonlyArray<ModelOffer>,
        url: string
      ) => Effect.Effect<HttpServerResponse.HttpServerResponse, UnknownModel>
    ) =>
      Effect.gen(function* () {
        const request = yield* HttpServerRequest.HttpServerRequest
        const { requestId } = yield* CurrentRequest
        const style = styleOfClient(request.headers)
        const models = Effect.gen(function* () {
          const allowed = yield* reader(request)
          const offers = yield* gateway.models
          return allowed === undefined ? offers : offers.filter(({ id }) => allowed.includes(id))
        })
        const response = yield* models.pipe(
          Effect.flatMap((offers) => respond(offers, request.url)),
          Effect.catchTag(["WrongSite", "AgentMismatch"], (error) => forbidden(style, error, requestId)),
          errorsIn(style, gateway)
        )
        return style === "anthropic"
          ? HttpServerResponse.setHeader(response, "request-id", requestId)
          : response
      })

    const list = (models: ReadonlyArray<ModelOffer>, url: string) =>
      HttpServerResponse.jsonUnsafe(pageOfModels(models, new URLSearchParams(url.split("?")[1] ?? "")))

    // Model names may contain slashes, encoded or not. The router sends the list's path here, too.
    yield* router.add(
      "GET",
      gatewayPaths.model,
      reading((models, url) => {
        const name = decodedName(
          url
            .split("?", 1)
            .join("")
            .slice(gatewayPaths.models.length + 1)
        )
        if (name === "") return Effect.succeed(list(models, url))
        const found = models.find(({ id }) => id === name)
        return found === undefined
          ? Effect.fail(unknownModel(name))
          : Effect.succeed(HttpServerResponse.jsonUnsafe(shownModel(found)))
      })
    )
  })
)

/** The same body serves clients of both styles. */
const shownModel = ({ capabilities, contextLength, id, maxOutputTokens, prices, since }: ModelOffer) => ({
  id,
  object: "model",
  created: Math.floor(DateTime.toEpochMillis(since) / 1000),
  owned_by: "auspex",
  type: "model",
  display_name: id,
  created_at: DateTime.formatIso(since),
  max_output_tokens: maxOutputTokens ?? null,
  context_length: contextLength ?? null,
  // Clients of messages know the two members above by these names.
  max_tokens: maxOutputTokens ?? null,
  max_input_tokens: contextLength ?? null,
  capabilities:
    capabilities === undefined
      ? null
      : Object.fromEntries(
          Capability.literals.map((name) => [name, { supported: capabilities.includes(name) }])
        ),
  pricing: { ...prices, unit: "credits per token" }
})

const pageOfModels = (models: ReadonlyArray<ModelOffer>, query: URLSearchParams) => {
  const after = models.findIndex(({ id }) => id === query.get("after_id"))
  const before = models.findIndex(({ id }) => id === query.get("before_id"))
  const requestedLimit = countIn(query.get("limit")) ?? 0
  const limit = requestedLimit > 0 ? requestedLimit : models.length
  const end = before === -1 ? models.length : before
  const start = before === -1 ? after + 1 : Math.max(after + 1, end - limit)
  const page = models.slice(start, Math.min(end, start + limit))
  return {
    object: "list",
    data: page.map(shownModel),
    has_more: before === -1 ? start + page.length < models.length : start > 0,
    first_id: page[0]?.id ?? null,
    last_id: page.at(-1)?.id ?? null
  }
}

const decodedName = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

const unknownModel = (name: string) =>
  new UnknownModel({ detail: `There is no model ${JSON.stringify(name.slice(0, 100))}.`, status: 404 })
