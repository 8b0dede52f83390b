/** Calls of models, as clients of either style make them: what they get is in that style, errors too. */
import { ByteSize, DateTime, Effect } from "effect"
import { HttpIncomingMessage, HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { BadCall, Gateway, UnknownModel } from "../../services/Gateway.ts"
import type { CallError, ModelOffer, Style } from "../../services/Gateway.ts"
import { GatewayKeys, InvalidGatewayKey } from "../../services/GatewayKeys.ts"
import { Limits } from "../../services/Limits.ts"
import { Tokens } from "../../services/Tokens.ts"
import { countedRequest, CurrentRequest } from "../CurrentRequest.ts"
import { gatewayCredential, isGatewayKey, neitherDetail } from "../gatewayCredential.ts"
import { untakenBody } from "../middleware/requestBody.ts"
import { gatewayPaths, styleSaid } from "../gatewayPaths.ts"
import { makeAdmission, maxBody, responseOf, versionHeaders } from "../modelCalls.ts"

const noKey = () =>
  new InvalidGatewayKey({ detail: "Send a gateway key: Authorization: Bearer <API_KEY>, or x-api-key." })

const tooLarge = () =>
  new BadCall({
    detail: `Expected a body of at most ${ByteSize.format(maxBody)}.`,
    code: "payload_too_large",
    param: null
  })

const readBody = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest) {
  const untaken = untakenBody(request.headers, ["application/json"])
  if (untaken !== undefined) {
    return yield* new BadCall({ detail: untaken, code: "unsupported_media_type", param: null })
  }
  if (Number(request.headers["content-length"] ?? 0) > Number(maxBody)) return yield* tooLarge()
  const bytes = yield* request.arrayBuffer.pipe(
    Effect.provideService(HttpIncomingMessage.MaxBodySize, maxBody),
    Effect.mapError(({ reason }) =>
      reason._tag === "RequestParseError" && reason.reason === "BodyTooLarge"
        ? tooLarge()
        : new BadCall({ detail: "The body could not be read to its end.", param: null })
    )
  )
  return new Uint8Array(bytes)
})

/** One body that the clients of both styles read. */
const shownModel = ({ id, inputPrice, maxOutputTokens, outputPrice, since }: ModelOffer) => ({
  id,
  object: "model",
  created: Math.floor(DateTime.toEpochMillis(since) / 1000),
  owned_by: "auspex",
  type: "model",
  display_name: id,
  created_at: DateTime.formatIso(since),
  max_output_tokens: maxOutputTokens,
  pricing: { input: inputPrice, output: outputPrice, unit: "credits per token" }
})

const pageOfModels = (models: ReadonlyArray<ModelOffer>, query: URLSearchParams) => {
  const after = models.findIndex(({ id }) => id === query.get("after_id"))
  const before = models.findIndex(({ id }) => id === query.get("before_id"))
  const asked = Number(query.get("limit") ?? models.length)
  const limit = Number.isInteger(asked) && asked > 0 ? asked : models.length
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

export const layer = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const gateway = yield* Gateway
    const keys = yield* GatewayKeys
    const tokens = yield* Tokens
    const limits = yield* Limits
    const admission = yield* makeAdmission

    const answered = <R>(
      style: Style,
      response: Effect.Effect<HttpServerResponse.HttpServerResponse, CallError, R>
    ) =>
      response.pipe(
        Effect.catch((error) =>
          Effect.map(CurrentRequest, ({ requestId }) => responseOf(gateway.refusal(style, error, requestId)))
        )
      )

    const sentKey = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest) {
      const credential = yield* gatewayCredential(request)
      return credential ?? (yield* noKey())
    })

    const call = (style: Style) =>
      answered(
        style,
        Effect.gen(function* () {
          const request = yield* HttpServerRequest.HttpServerRequest
          const { requestId } = yield* CurrentRequest
          const holder = yield* admission.admit(yield* sentKey(request), request.headers)
          const body = yield* readBody(request)
          const answer = yield* gateway
            .call({ style, holder, body, requestId, versionHeaders: versionHeaders(request.headers) })
            .pipe(Effect.tapError((error) => admission.countAgain(holder, body, error)))
          const { contentType } = answer
          const headers = style === "anthropic" ? { "request-id": requestId } : {}
          return answer.stream
            ? HttpServerResponse.stream(answer.body, { contentType, headers })
            : HttpServerResponse.uint8Array(answer.body, { contentType, headers })
        })
      )

    yield* router.add("POST", gatewayPaths.chat, call("openai"))
    yield* router.add("POST", gatewayPaths.messages, call("anthropic"))

    yield* router.add(
      "POST",
      gatewayPaths.countTokens,
      answered(
        "anthropic",
        Effect.gen(function* () {
          const request = yield* HttpServerRequest.HttpServerRequest
          const holder = yield* admission.identify(yield* sentKey(request))
          const body = yield* readBody(request)
          const { requestId } = yield* CurrentRequest
          const input_tokens = yield* gateway
            .countTokens(body)
            .pipe(Effect.tapError((error) => admission.countAgain(holder, body, error)))
          return HttpServerResponse.jsonUnsafe({ input_tokens }, { headers: { "request-id": requestId } })
        })
      )
    )

    /** A gateway key or an access token. */
    const reader = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest) {
      const credential = yield* sentKey(request)
      if (isGatewayKey(credential)) yield* keys.authenticate(credential)
      else {
        yield* tokens
          .authenticate(credential)
          .pipe(Effect.mapError(({ detail }) => new InvalidGatewayKey({ detail: neitherDetail(detail) })))
      }
      const { address } = yield* countedRequest
      yield* limits.take("reads", address)
    })

    const reading = (
      respond: (
        models: ReadonlyArray<ModelOffer>,
        url: string
      ) => Effect.Effect<HttpServerResponse.HttpServerResponse, UnknownModel>
    ) =>
      Effect.gen(function* () {
        const request = yield* HttpServerRequest.HttpServerRequest
        const { requestId } = yield* CurrentRequest
        const style = styleSaid(request.headers)
        const models = Effect.andThen(reader(request), gateway.models)
        const response = yield* answered(
          style,
          Effect.flatMap(models, (offers) => respond(offers, request.url))
        )
        return style === "anthropic"
          ? HttpServerResponse.setHeader(response, "request-id", requestId)
          : response
      })

    const list = (models: ReadonlyArray<ModelOffer>, url: string) =>
      HttpServerResponse.jsonUnsafe(pageOfModels(models, new URLSearchParams(url.split("?")[1] ?? "")))

    // Names of models have slashes in them, encoded or not; the router takes the list itself for this path, too.
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
