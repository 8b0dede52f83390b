import { createHash, hash } from "node:crypto"
import { Duration, Effect, Layer, Option, Schema, identity } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { InvalidRequest } from "../../services/domain/errors.ts"
import { Idempotency, IdempotencyKey, keyFormat } from "../../services/Idempotency.ts"
import type { IdempotentRequest as IdempotentCall, StoredAnswer } from "../../services/Idempotency.ts"
import { CurrentRequest } from "../CurrentRequest.ts"
import {
  AdminIdempotentRequest,
  CurrentAgent,
  IdempotentRegistration,
  IdempotentRequest,
  minRegistrationKey,
  registrationRetention
} from "../api/middleware.ts"

const header = "idempotency-key"

/** The header that marks a stored answer. */
export const replayedHeader = "idempotency-replayed"

const decodeKey = Schema.decodeUnknownOption(IdempotencyKey)
const registrationKeyFormat = `Expected ${minRegistrationKey} or more characters that nobody else chooses, such as a UUID: whoever sends the same key and body is answered with the secret`

const unquoted = (key: string): string => (key.startsWith('"') ? key.slice(1, -1) : key)

const bodyOf = (response: HttpServerResponse.HttpServerResponse): string =>
  response.body._tag === "Uint8Array" ? Buffer.from(response.body.body).toString("utf8") : ""

/** The stored form of a registration's key. An administrator's key has no space, so the two are never equal. */
const registrationKey = (address: string) => (key: string) =>
  `register ${hash("sha256", `${address}\n${key}`)}`

const isStored = (
  idempotency: Idempotency["Service"],
  agentId: string | null,
  stored: (key: string) => string
) =>
  Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers }) =>
    Option.match(decodeKey(headers[header]), {
      onNone: () => Effect.succeed(false),
      onSome: (key) => idempotency.isKept(agentId, stored(unquoted(key)))
    })
  )

/** Tests if an answer to this agent's request is stored. */
export const isStoredForAgent = (idempotency: Idempotency["Service"], agentId: string) =>
  isStored(idempotency, agentId, identity)

/** Tests if an answer to this registration is stored. */
export const isStoredForAddress = (idempotency: Idempotency["Service"], address: string) =>
  isStored(idempotency, null, registrationKey(address))

/** The stored answer of a request, which is not executed again. */
const replay = ({ body, status }: StoredAnswer) =>
  HttpServerResponse.text(body, { status, contentType: "application/json" }).pipe(
    HttpServerResponse.setHeader(replayedHeader, "true")
  )

/** The owner of the key, and how long its answer is stored. */
type Caller = Pick<IdempotentCall, "agentId" | "retention">

const aDay = Duration.hours(24)

const idempotent = Effect.fnUntraced(function* <E, R>(
  caller: Caller,
  httpEffect: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>,
  stored: (key: string) => string = identity
) {
  const idempotency = yield* Idempotency
  const request = yield* HttpServerRequest.HttpServerRequest
  const sent = request.headers[header]
  if (sent === undefined) return yield* httpEffect
  const key = decodeKey(sent)
  if (Option.isNone(key)) {
    return yield* InvalidRequest.of("Idempotency-Key", keyFormat)
  }
  const body = yield* Effect.orDie(request.text)
  const fingerprint = createHash("sha256").update(`${request.method} ${request.url}\n${body}`).digest()
  let given: HttpServerResponse.HttpServerResponse | undefined
  const answer = yield* idempotency.once(
    { ...caller, key: stored(unquoted(key.value)), fingerprint },
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
        return yield* idempotent({ agentId, retention: aDay }, httpEffect).pipe(
          Effect.provideService(Idempotency, idempotency)
        )
      })
    )
  )
)

const administrators = Layer.effect(
  AdminIdempotentRequest,
  Effect.map(Idempotency, (idempotency) =>
    AdminIdempotentRequest.of((httpEffect) =>
      idempotent({ agentId: null, retention: aDay }, httpEffect).pipe(
        Effect.provideService(Idempotency, idempotency)
      )
    )
  )
)

/** The answer holds a secret, so a key belongs to one address and is too long to be guessed or shared by chance. */
const registrations = Layer.effect(
  IdempotentRegistration,
  Effect.map(Idempotency, (idempotency) =>
    IdempotentRegistration.of(
      Effect.fnUntraced(function* (httpEffect) {
        const { headers } = yield* HttpServerRequest.HttpServerRequest
        const { address } = yield* CurrentRequest
        const sent = headers[header]
        if (sent !== undefined && unquoted(sent).length < minRegistrationKey) {
          return yield* InvalidRequest.of("Idempotency-Key", registrationKeyFormat)
        }
        return yield* idempotent(
          { agentId: null, retention: registrationRetention },
          httpEffect,
          registrationKey(address)
        ).pipe(Effect.provideService(Idempotency, idempotency))
      })
    )
  )
)

export const layer = Layer.mergeAll(agents, administrators, registrations)
