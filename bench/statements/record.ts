/**
 * The statements that the service itself sends, seen by running it once: so the baseline and pgbench do the same work
 * as `src` does today, whatever it did when this was written.
 */
import { Clock, DateTime, Effect, Layer, Option, Redacted } from "effect"
import { Statement } from "effect/sql"
import * as Database from "../../src/layers/postgres/Database.ts"
import { services } from "../../src/layers/postgres/layer.ts"
import * as Payments from "../../src/layers/postgres/Payments.ts"
import * as PaymentProvider from "../../src/layers/stripe/PaymentProvider.ts"
import { Arenas } from "../../src/services/Arenas.ts"
import { AgentId } from "../../src/services/identifiers.ts"
import { Limits } from "../../src/services/Limits.ts"
import { LogSigner } from "../../src/services/LogSigner.ts"
import { MailTransport } from "../../src/services/MailTransport.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import { Tokens } from "../../src/services/Tokens.ts"
import { BenchFailed } from "../machine/processes.ts"
import { agentId, challengeId, reasoning, sample, tokenOf } from "../world.ts"
import { settings } from "../settings.ts"

/** A statement with the parameters it was sent with. */
export interface Recorded {
  readonly text: string
  readonly params: ReadonlyArray<unknown>
}

const recorder =
  (into: Array<Recorded>): Statement.Transformer =>
  (statement) =>
    Effect.sync(() => {
      const [text, params] = statement.compile()
      into.push({ text, params })
      return statement
    })

const sampleAgent = AgentId.make(agentId(sample.agent))
const sampleChallenge = challengeId(sample.challenge)

/** What the service was asked, for telling its parameters apart. */
export interface Prediction {
  readonly agentId: string
  readonly challengeId: string
  readonly id: string
  readonly salt: string
  readonly body: string
  readonly direction: string
  readonly confidence: string
  readonly reasoning: string
  readonly receivedAt: Date
}

export interface Window {
  readonly subject: string
  readonly notBefore: number
  readonly notAfter: number
}

const taking = Effect.fnUntraced(function* (limit: "predictions" | "reads", subject: string) {
  const limits = yield* Limits
  const notBefore = yield* Clock.currentTimeMillis
  yield* limits.take(limit, subject)
  const window: Window = { subject, notBefore, notAfter: yield* Clock.currentTimeMillis }
  return window
})

const predicting = Effect.gen(function* () {
  const arenas = yield* Arenas
  const receivedAt = yield* DateTime.now
  const confidence = 0.4375
  const { answer } = yield* arenas.directional.predict({
    agentId: sampleAgent,
    challengeId: sampleChallenge,
    prediction: { direction: "bearish", confidence, reasoning },
    receivedAt
  })
  if (answer.receipt === null) return yield* new BenchFailed({ message: "the sample was not recorded" })
  const prediction: Prediction = {
    agentId: sampleAgent,
    challengeId: sampleChallenge,
    id: answer.prediction_id,
    salt: answer.receipt.salt,
    body: answer.receipt.body,
    direction: answer.direction,
    confidence: String(confidence),
    reasoning,
    receivedAt: DateTime.toDateUtc(receivedAt)
  }
  return prediction
})

const measured = Payments.layer.pipe(
  Layer.provide(PaymentProvider.layer(Option.none())),
  Layer.provideMerge(services)
)

/** Runs parts of the real service on this database; what they send is added to `into`. */
const recording = <A, E>(
  url: string,
  parts: Effect.Effect<A, E, Layer.Success<typeof measured>>,
  into: Array<Recorded>
) => {
  const transformer = Layer.succeed(Statement.CurrentTransformer, recorder(into))
  const database = Database.client(Redacted.make(url))
  return parts.pipe(
    Effect.provideService(Statement.CurrentTransformer, recorder(into)),
    Effect.provide(
      measured.pipe(
        Layer.provide(
          Layer.mergeAll(database, settings(url), Layer.mock(MailTransport, {}), Layer.mock(LogSigner, {}))
        ),
        Layer.provide(transformer)
      )
    )
  )
}

/** What was sent meanwhile. */
const during = <A, E, R>(statements: Array<Recorded>, part: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const from = statements.length
    return Effect.map(part, (result) => ({ result, sent: statements.slice(from) }))
  })

/** Everything that one predict request makes the service send. */
export const predict = Effect.fnUntraced(function* (url: string) {
  const statements: Array<Recorded> = []
  return yield* recording(
    url,
    Effect.gen(function* () {
      const tokens = yield* Tokens
      return {
        standing: yield* during(statements, tokens.authenticate(tokenOf(sample.agent))),
        limit: yield* during(statements, taking("predictions", sampleAgent)),
        prediction: yield* during(statements, predicting)
      }
    }),
    statements
  )
})
export type PredictStatements = Effect.Success<ReturnType<typeof predict>>

/** Everything that the first page of the leaderboard makes the service send. */
export const leaderboard = Effect.fnUntraced(function* (url: string, limit: number) {
  const statements: Array<Recorded> = []
  return yield* recording(
    url,
    Effect.gen(function* () {
      const scoring = yield* Scoring
      return {
        limit: yield* during(statements, taking("reads", "10.1.2.3")),
        page: yield* during(statements, scoring.leaderboard(undefined, { limit, cursor: undefined }))
      }
    }),
    statements
  )
})
export type LeaderboardStatements = Effect.Success<ReturnType<typeof leaderboard>>

/** What each of the reads makes the service send. */
export const sentBy = Effect.fnUntraced(function* <
  Read extends { readonly run: Effect.Effect<unknown, unknown, Layer.Success<typeof measured>> }
>(url: string, reads: ReadonlyArray<Read>) {
  const statements: Array<Recorded> = []
  return yield* recording(
    url,
    Effect.forEach(reads, (read) =>
      Effect.map(during(statements, read.run), ({ sent }) => ({ ...read, sent }))
    ),
    statements
  )
})
