/**
 * An agent that anybody could write: it knows the public API, its credentials and the prices it saw. Three strategies predict the next
 * hour from those prices; each states as its confidence how often its rule was right on them.
 */
import { Duration, Effect } from "effect"
import type { Redacted } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import { HttpApiClient } from "effect/http-api"
import { Api } from "../../src/http/api/Api.ts"
import type { Direction } from "../../src/services/domain/Challenge.ts"
import { countIn } from "../../src/services/domain/numbers.ts"
import type { PredictionAnswer } from "../../src/services/Arenas.ts"
import { CommandFailed } from "../client/connection.ts"
import { answerTo } from "./answers.ts"

/** The unit is seconds; a longer wait is reported instead. */
const maxRetryAfter = 30

/** Waits for Retry-After, up to `maxRetryAfter`. */
const withRetryAfter = (client: HttpClient.HttpClient): HttpClient.HttpClient =>
  HttpClient.transform(client, (send) =>
    Effect.flatMap(send, (response) => {
      const seconds = countIn(response.headers["retry-after"])
      return response.status === 429 && seconds !== undefined && seconds <= maxRetryAfter
        ? Effect.delay(send, Duration.seconds(seconds))
        : Effect.succeed(response)
    })
  )

/** A client that obeys the server's limits. `bearer` is an access token or the administrator's token. */
export const clientOf = (url: string, bearer?: Redacted.Redacted | string) =>
  HttpApiClient.make(Api, {
    baseUrl: url,
    transformClient: (client) =>
      withRetryAfter(
        bearer === undefined ? client : HttpClient.mapRequest(client, HttpClientRequest.bearerToken(bearer))
      )
  })

/** Each registration gets another event; one of them has a prepared answer. */
const maxRegistrations = 3

interface Wanted {
  /** The default scopes unless given. */
  readonly requested_scopes?: ReadonlyArray<string>
  /** The mailbox of the agent's future owner. */
  readonly operator_contact?: string
}

const passRegistration = Effect.fnUntraced(function* (
  url: string,
  strategy: Pick<Strategy, "name" | "bio">,
  wanted: Wanted
) {
  const client = yield* clientOf(url)
  for (let attempt = 1; ; attempt++) {
    const { body } = yield* client.registration.register({
      headers: {},
      payload: {
        name: `demo ${strategy.name}`,
        bio: strategy.bio,
        model_name: "a few lines of arithmetic",
        ...wanted
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

/** Registers, passes the registration challenge and takes a token. */
export const register = Effect.fn("demo.register")(function* (
  url: string,
  strategy: Pick<Strategy, "name" | "bio">,
  wanted: Wanted = {}
) {
  const { agent_id, client_secret, score } = yield* passRegistration(url, strategy, wanted)
  const anonymous = yield* clientOf(url)
  const token = yield* anonymous.registration.issueToken({
    payload: { grant_type: "client_credentials", agent_id, client_secret }
  })
  return { agent_id, score, client: yield* clientOf(url, token.body.access_token) }
})

/** Registers and subscribes to the asset. */
export const enrol = Effect.fn("demo.enrol")(function* (
  url: string,
  strategy: Strategy,
  market: { readonly asset: string; readonly history: ReadonlyArray<number> }
) {
  const { agent_id, client, score } = yield* register(url, strategy)
  yield* client.agent.subscribe({ params: { scope_key: market.asset } })
  const profile = yield* client.agent.profile()
  const seenPrices = [...market.history]

  const find = Effect.fnUntraced(function* (challengeId: string) {
    const active = yield* client.arena.active({ query: { limit: 200 } })
    return active.items.find(({ id }) => id === challengeId)
  })

  const send = (challengeId: string, payload: PredictionContent) =>
    client.arena.predict({ params: { challenge_id: challengeId }, headers: {}, payload })

  /** Reads the challenge, remembers its open price, and predicts; undefined if it is too late. */
  const act = Effect.fnUntraced(function* (challengeId: string) {
    const challenge = yield* find(challengeId)
    if (challenge === undefined) return undefined
    seenPrices.push(challenge.open_price)
    const prediction = predict(strategy, seenPrices, challenge.dead_zone_pct ?? 0)
    return { prediction, answer: yield* send(challengeId, prediction) }
  })

  /** Reads the others' counts and lowers its confidence if it is alone. */
  const reconsider = Effect.fnUntraced(function* (challengeId: string, prediction: PredictionContent) {
    const challenge = yield* find(challengeId)
    if (challenge === undefined || !isAlone(prediction.direction, challenge)) return undefined
    const answer = yield* send(challengeId, lessConfident(prediction))
    return answer
  })

  return {
    id: agent_id,
    name: strategy.name,
    reconsiders: strategy.reconsiders,
    score,
    /** The number of challenges that the agent may still predict. */
    allowance:
      profile.provisional_prediction_limit === null
        ? Number.POSITIVE_INFINITY
        : profile.provisional_prediction_limit - profile.provisional_predictions_used,
    act,
    reconsider,
    /** The agent's latest predictions, as the server reports them. */
    predictions: (limit: number) => client.agent.predictions({ query: { limit } })
  }
})

export type Agent = Effect.Success<ReturnType<typeof enrol>>

export type Sent = PredictionAnswer

interface PredictionContent {
  readonly direction: Direction
  readonly confidence: number
  readonly reasoning?: string
  readonly is_revision?: boolean
}

interface Call {
  readonly direction: Direction
  readonly because: string
}

interface Strategy {
  readonly name: string
  readonly bio: string
  /** The strategy revises after seeing the others' counts. */
  readonly reconsiders: boolean
  /** The direction that follows from these prices, oldest first; the last is the open price of the hour to predict. */
  readonly call: (prices: ReadonlyArray<number>, deadZone: number) => Call
}

const moveOf = (from: number, to: number): number => (to / from - 1) * 100

/** The direction of a move in percent. */
const directionOf = (move: number, deadZone: number): Direction => {
  if (move > deadZone) return "bullish"
  return move < -deadZone ? "bearish" : "neutral"
}

const signed = (percent: number): string => `${percent < 0 ? "" : "+"}${percent.toFixed(2)} %`

const trendHours = 3

const momentum: Strategy = {
  name: "momentum",
  bio: "Expects the last three hours to go on.",
  reconsiders: false,
  call: (prices, deadZone) => {
    const [first, ...later] = prices.slice(-trendHours - 1)
    const last = later.at(-1)
    if (first === undefined || last === undefined) {
      return { direction: "neutral", because: "One price shows no trend." }
    }
    const perHour = moveOf(first, last) / later.length
    return {
      direction: directionOf(perHour, deadZone / 4),
      because: `The last ${later.length} h moved by ${signed(perHour)} an hour, and trends go on.`
    }
  }
}

const meanHours = 6

const contrarian: Strategy = {
  name: "contrarian",
  bio: "Expects prices to return to their mean of six hours.",
  reconsiders: true,
  call: (prices, deadZone) => {
    const window = prices.slice(-meanHours)
    const last = window.at(-1)
    if (last === undefined || window.length < 2) {
      return { direction: "neutral", because: "One price has no mean to return to." }
    }
    const mean = window.reduce((sum, price) => sum + price, 0) / window.length
    const distance = moveOf(mean, last)
    return {
      direction: directionOf(-distance, deadZone / 2),
      because: `The price is ${signed(distance)} from its mean of ${window.length} h, and returns to it.`
    }
  }
}

const cautious: Strategy = {
  name: "cautious",
  bio: "Always says neutral, as confidently as quiet hours are common.",
  reconsiders: false,
  call: () => ({ direction: "neutral", because: "Most hours lead nowhere." })
}

export const strategies = [momentum, contrarian, cautious] as const

/** The strategy's hit rate on the prices seen, with one prior try of each outcome. */
const recordOf = ({ call }: Strategy, prices: ReadonlyArray<number>, deadZone: number) => {
  const results = prices.slice(1).map((price, index) => {
    const before = prices.slice(0, index + 1)
    return call(before, deadZone).direction === directionOf(moveOf(before.at(-1) ?? price, price), deadZone)
  })
  const right = results.filter((isRight) => isRight).length
  return { right, tried: results.length, share: (right + 1) / (results.length + 3) }
}

const rounded = (share: number): number => Math.round(share * 100) / 100

export const predict = (
  strategy: Strategy,
  prices: ReadonlyArray<number>,
  deadZone: number
): PredictionContent => {
  const { because, direction } = strategy.call(prices, deadZone)
  const { right, share, tried } = recordOf(strategy, prices, deadZone)
  return {
    direction,
    confidence: rounded(share),
    reasoning: `${because} So far this was right in ${right} of ${tried} hours.`
  }
}

/** The counts are public before the deadline. */
interface Counts {
  readonly bullish_count: number
  readonly bearish_count: number
  readonly neutral_count: number
}

/** Tests whether this direction has the fewest predictions. */
export const isAlone = (direction: Direction, counts: Counts): boolean => {
  const sides = {
    bullish: counts.bullish_count,
    bearish: counts.bearish_count,
    neutral: counts.neutral_count
  }
  return Object.values(sides).some((count) => count > sides[direction])
}

const loneConfidence = 0.7

/** The same direction with less confidence. */
export const lessConfident = (prediction: PredictionContent): PredictionContent => ({
  direction: prediction.direction,
  confidence: rounded(prediction.confidence * loneConfidence),
  reasoning: `${prediction.reasoning ?? ""} More agents say otherwise, so less surely.`.trim(),
  is_revision: true
})
