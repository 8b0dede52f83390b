/**
 * Playing the tape. The boundary between two hours is one quote: the closing price of the hour that ends is the open
 * price of the hour that begins. So while one hour waits for its settlement the next is predicted, and nobody sees a
 * price before the platform has it.
 */
import { Clock, DateTime, Duration, Effect, Fiber, Option, Schedule } from "effect"
import type { Results } from "../../src/services/Arenas.ts"
import type { ChallengeId } from "../../src/services/identifiers.ts"
import type { ApiClient } from "../client/connection.ts"
import { CommandFailed } from "../client/connection.ts"
import type { Agent, Sent } from "./agent.ts"
import type { Hour, Tape } from "./tape.ts"

export interface Game {
  readonly anyone: ApiClient
  readonly administrator: ApiClient
  readonly agents: ReadonlyArray<Agent>
  readonly asset: string
  readonly tape: Tape
  readonly rounds: number
  /** Milliseconds that an hour of the tape takes. */
  readonly pace: number
  /** How long a settlement is waited for. */
  readonly patience: Duration.Duration
}

export interface Round {
  readonly hour: Hour
  readonly challengeId: ChallengeId
  readonly deadline: DateTime.Utc
  /** What each agent sent last, with the server's answer; none for one that came too late. */
  readonly sent: ReadonlyMap<string, Sent>
}

/** A round with its public results; none when it was not settled in time. */
export interface Settled extends Round {
  readonly results: Option.Option<Results>
}

/** The first price at or after this counts; a little after the deadline, so that the two are told apart. */
const settlesAfter = Duration.millis(50)

const often = Schedule.spaced("300 millis")
/** An hour is never stretched beyond this for agents that come too late. */
const slowest = 20_000

const quote = (game: Game, time: DateTime.Utc, price: number) =>
  game.administrator.admin.importPrices({ payload: { asset: game.asset, quotes: [{ time, price }] } })

const open = Effect.fnUntraced(function* (game: Game, hour: Hour, price: number, pace: number) {
  const deadline = DateTime.addDuration(yield* DateTime.now, Duration.millis(pace))
  const challenge = yield* game.administrator.admin.createChallenge({
    headers: {},
    payload: {
      asset: game.asset,
      kind: "flash",
      question: `Demonstration: which way does ${game.asset} move in ${hour.label}, played now?`,
      deadline,
      resolve_at: DateTime.addDuration(deadline, settlesAfter),
      dead_zone_pct: game.tape.deadZone
    }
  })
  if (challenge.open_price === price) return { id: challenge.id, deadline }
  return yield* new CommandFailed({
    message: `The latest ${game.asset} price is ${challenge.open_price}, not ${price} as played: somebody else feeds this server, or its clock is behind. Try another --asset.`
  })
})

/** All agents at once; then each may think again. */
const predicted = Effect.fnUntraced(function* (game: Game, challengeId: ChallengeId) {
  const first = yield* Effect.forEach(game.agents, (agent) => agent.act(challengeId), {
    concurrency: "unbounded"
  })
  const sent = new Map<string, Sent>()
  for (const [index, agent] of game.agents.entries()) {
    const acted = first[index]
    if (acted === undefined || !acted.answer.counts_for_score) continue
    sent.set(agent.id, acted.answer)
    if (!agent.reconsiders) continue
    const revised = yield* agent.reconsider(challengeId, acted.prediction)
    if (revised?.counts_for_score === true) sent.set(agent.id, revised)
  }
  return sent
})

/** Polls the public results until the settlement job has done its work. */
const settled = Effect.fnUntraced(function* (game: Game, round: Round) {
  const until = DateTime.toEpochMillis(DateTime.addDuration(round.deadline, game.patience))
  const results = yield* game.anyone.public
    .results({ params: { challenge_id: round.challengeId }, query: { limit: 200 } })
    .pipe(
      Effect.repeat({
        schedule: often,
        until: ({ status }) =>
          status === "resolved" || status === "cancelled"
            ? Effect.succeed(true)
            : Effect.map(Clock.currentTimeMillis, (now) => now > until)
      })
    )
  const done: Settled = {
    ...round,
    results: results.status === "resolved" ? Option.some(results) : Option.none()
  }
  return done
})

const sleepUntil = Effect.fnUntraced(function* (time: DateTime.Utc) {
  const left = DateTime.toEpochMillis(time) - (yield* Clock.currentTimeMillis)
  if (left > 0) yield* Effect.sleep(Duration.millis(left))
})

/** Leaves nothing open on a server that goes on. */
const cancelAll = (game: Game, challenges: Iterable<ChallengeId>) =>
  Effect.forEach(challenges, (challenge_id) =>
    Effect.ignore(
      game.administrator.admin.cancelChallenge({
        params: { challenge_id },
        payload: { reason: "The demonstration was interrupted." }
      })
    )
  )

/** Plays every round, tells each as it is settled, in order, and answers all of them. */
export const play = Effect.fn("demo.play")(function* <E>(
  game: Game,
  tell: (round: Settled) => Effect.Effect<void, E>
) {
  const unsettled = new Set<ChallengeId>()

  /** Not to be interrupted between the server's having it and our knowing so. */
  const opened = (hour: Hour, price: number, pace: number) =>
    open(game, hour, price, pace).pipe(
      Effect.tap(({ id }) => Effect.sync(() => unsettled.add(id))),
      Effect.uninterruptible
    )

  const follow = Effect.fnUntraced(function* (
    round: Round,
    before: Fiber.Fiber<unknown, unknown> | undefined
  ) {
    if (before !== undefined) yield* Fiber.await(before)
    const done = yield* settled(game, round)
    unsettled.delete(round.challengeId)
    yield* tell(done)
    return done
  })

  const rounds = Effect.gen(function* () {
    const waiting: Array<Fiber.Fiber<Settled, Effect.Error<ReturnType<typeof follow>>>> = []
    let boundary = yield* DateTime.now
    let price = game.tape.hours[0]?.open ?? 0
    let pace = game.pace
    for (const hour of game.tape.hours.slice(0, game.rounds)) {
      yield* quote(game, boundary, price)
      const { deadline, id } = yield* opened(hour, price, pace)
      const sent = yield* predicted(game, id)
      if (sent.size < game.agents.length) pace = Math.min(slowest, pace * 2)
      waiting.push(yield* Effect.forkChild(follow({ hour, challengeId: id, deadline, sent }, waiting.at(-1))))
      boundary = DateTime.addDuration(deadline, settlesAfter)
      price = hour.close
      yield* sleepUntil(boundary)
    }
    yield* quote(game, boundary, price)
    return yield* Effect.forEach(waiting, Fiber.join)
  })

  return yield* Effect.onError(rounds, () => cancelAll(game, unsettled))
})
