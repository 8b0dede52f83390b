import { createHash } from "node:crypto"
import { Effect, Layer, Option, Schema } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { InvalidRequest } from "../../services/domain/errors.ts"
import { Idempotency, IdempotencyKey, keyFormat } from "../../services/Idempotency.ts"
import type { StoredAnswer } from "../../services/Idempotency.ts"
import { AdminIdempotentRequest, CurrentAgent, IdempotentRequest } from "./definitions.ts"

const header = "idempotency-key"

/** Of an answer that was given before. */
export const replayedHeader = "idempotency-replayed"

const asKey = Schema.decodeUnknownOption(IdempotencyKey)

const unquoted = (key: string): string => (key.startsWith('"') ? key.slice(1, -1) : key)

const bodyOf = (response: HttpServerResponse.HttpServerResponse): string =>
  response.body._tag === "Uint8Array" ? Buffer.from(response.body.body).toString("utf8") : ""

/** The answer of a request that is not carried out again. */
const replay = ({ body, status }: StoredAnswer) =>
  HttpServerResponse.text(body, { status, contentType: "application/json" }).pipe(
    HttpServerResponse.setHeader(replayedHeader, "true")
  )

const idempotent = Effect.fnUntraced(function* <E, R>(
  agentId: string | null,
  httpEffect: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>
) {
  const idempotency = yield* Idempotency
  const request = yield* HttpServerRequest.HttpServerRequest
  const sent = request.headers[header]
  if (sent === undefined) return yield* httpEffect
  const key = asKey(sent)
  if (Option.isNone(key)) {
    return yield* InvalidRequest.of("Idempotency-Key", keyFormat)
  }
  const body = yield* Effect.orDie(request.text)
  const fingerprint = createHash("sha256").update(`${request.method} ${request.url}\n${body}`).digest()
  let given: HttpServerResponse.HttpServerResponse | undefined
  const answer = yield* idempotency.once(
    { agentId, key: unquoted(key.value), fingerprint },
    Effect.map(httpEffect, (response) => {
      given = response
      return { status: response.status, body: bodyOf(response) }
    })
  )
  return answer.replayed || given === undefined ? replay(answer) : given
})

const agents = Layer.effect(
  IdempotentRequest,
  Effect.map(Idempotency, (idempotency) =>
    IdempotentRequest.of(
      Effect.fnUntraced(function* (httpEffect) {
        const { agentId } = yield* CurrentAgent
        return yield* idempotent(agentId, httpEffect).pipe(Effect.provideService(Idempotency, idempotency))
      })
    )
  )
)

const administrators = Layer.effect(
  AdminIdempotentRequest,
  Effect.map(Idempotency, (idempotency) =>
    AdminIdempotentRequest.of((httpEffect) =>
      idempotent(null, httpEffect).pipe(Effect.provideService(Idempotency, idempotency))
    )
  )
)

export const layer = Layer.merge(agents, administrators)
