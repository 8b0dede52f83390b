/** An agent as anybody could write it: it knows the public API, its own credentials, and the prices it was shown. */
import { Duration, Effect } from "effect"
import type { Redacted } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import { HttpApiClient } from "effect/http-api"
import { Api } from "../../src/http/api/Api.ts"
import type { PredictionAnswer, NewPrediction } from "../../src/services/domain/Prediction.ts"
import { CommandFailed } from "../client/connection.ts"
import { answerTo } from "./answers.ts"
import { doubted, isAlone, predict } from "./strategies.ts"
import type { Strategy } from "./strategies.ts"

/** Longer than this it is better to say so than to wait. */
const maxWait = 30

/** Waits when the server asks for it, if it does not ask for much. */
const patient = (client: HttpClient.HttpClient): HttpClient.HttpClient =>
  HttpClient.transform(client, (send) =>
    Effect.flatMap(send, (response) => {
      const seconds = Number(response.headers["retry-after"] ?? Number.POSITIVE_INFINITY)
      return response.status === 429 && seconds <= maxWait
        ? Effect.delay(send, Duration.seconds(seconds))
        : Effect.succeed(response)
    })
  )

/** A client of the API that keeps to the server's limits; `bearer` is an access token or the administrator's. */
export const clientOf = (url: string, bearer?: Redacted.Redacted | string) =>
  HttpApiClient.make(Api, {
    baseUrl: url,
    transformClient: (client) =>
      patient(
        bearer === undefined ? client : HttpClient.mapRequest(client, HttpClientRequest.bearerToken(bearer))
      )
  })

/** Each registration is given an event of its own; one of them will be known. */
const maxRegistrations = 3

const admitted = Effect.fnUntraced(function* (
  url: string,
  strategy: Pick<Strategy, "name" | "bio">,
  requested_scopes: ReadonlyArray<string>
) {
  const client = yield* clientOf(url)
  for (let attempt = 1; ; attempt++) {
    const { body } = yield* client.registration.register({
      payload: {
        name: `demo ${strategy.name}`,
        bio: strategy.bio,
        model_name: "a few lines of arithmetic",
        requested_scopes
      }
    })
    const outcome = yield* client.registration.submitChallenge({
      params: { challenge_id: body.challenge_id },
      payload: { answer: answerTo(body.challenge_prompt) }
    })
    const { passed, score, threshold } = outcome.body
    if (passed) return { ...body, score }
    if (attempt === maxRegistrations) {
      return yield* new CommandFailed({
        message: `${strategy.name} did not pass the registration challenge: ${score} points, ${threshold} are needed.`
      })
    }
  }
})

/** Registers, passes the registration challenge and takes a token, of the usual scopes unless others are asked for. */
export const register = Effect.fn("demo.register")(function* (
  url: string,
  strategy: Pick<Strategy, "name" | "bio">,
  scopes: ReadonlyArray<string> = []
) {
  const { agent_id, client_secret, score } = yield* admitted(url, strategy, scopes)
  const anonymous = yield* clientOf(url)
  const token = yield* anonymous.registration.issueToken({
    payload: { grant_type: "client_credentials", agent_id, client_secret }
  })
  return { agent_id, score, client: yield* clientOf(url, token.body.access_token) }
})

/** Registers, and subscribes to the asset. */
export const enrol = Effect.fn("demo.enrol")(function* (
  url: string,
  strategy: Strategy,
  market: { readonly asset: string; readonly history: ReadonlyArray<number> }
) {
  const { agent_id, client, score } = yield* register(url, strategy)
  yield* client.agent.subscribe({ params: { scope_key: market.asset } })
  const profile = yield* client.agent.profile()
  const shown = [...market.history]

  const find = Effect.fnUntraced(function* (challengeId: string) {
    const active = yield* client.arena.active({ query: { limit: 200 } })
    return active.items.find(({ id }) => id === challengeId)
  })

  const send = (challengeId: string, payload: NewPrediction) =>
    client.arena.predict({ params: { challenge_id: challengeId }, payload })

  /** Reads the challenge, adds its open price to what was shown, and predicts; nothing when it came too late. */
  const act = Effect.fnUntraced(function* (challengeId: string) {
    const challenge = yield* find(challengeId)
    if (challenge === undefined) return undefined
    shown.push(challenge.open_price)
    const prediction = predict(strategy, shown, challenge.dead_zone_pct ?? 0)
    return { prediction, answer: yield* send(challengeId, prediction) }
  })

  /** Looks at what the others say, and takes back some confidence when it stands alone. */
  const reconsider = Effect.fnUntraced(function* (challengeId: string, prediction: NewPrediction) {
    const challenge = yield* find(challengeId)
    if (challenge === undefined || !isAlone(prediction.direction, challenge)) return undefined
    const answer = yield* send(challengeId, doubted(prediction))
    return answer
  })

  return {
    id: agent_id,
    name: strategy.name,
    reconsiders: strategy.reconsiders,
    score,
    /** How many challenges it may still predict. */
    allowance:
      profile.provisional_prediction_limit === null
        ? Number.POSITIVE_INFINITY
        : profile.provisional_prediction_limit - profile.provisional_predictions_used,
    act,
    reconsider,
    /** Its latest predictions, as the server tells them afterwards. */
    predictions: (limit: number) => client.agent.predictions({ query: { limit } })
  }
})

export type Agent = Effect.Success<ReturnType<typeof enrol>>

/** A prediction that was sent, and the server's answer to it. */
export type Sent = PredictionAnswer
