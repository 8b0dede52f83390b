/**
 * Plays hourly prices. The boundary of two hours is one quote: the close of one hour is the open of the next. So the agents predict the
 * next hour while one waits for its settlement, and nobody sees a price before the platform has it.
 */
import { Clock, DateTime, Deferred, Duration, Effect, Fiber, Option, Random } from "effect"
import type { Results } from "../../src/services/Arenas.ts"
import type { ChallengeId } from "../../src/services/domain/ids.ts"
import { CommandFailed } from "../client/connection.ts"
import type { ApiClient } from "../client/connection.ts"
import { followNotices } from "../client/noticeStream.ts"
import { readPrices } from "../client/priceFile.ts"
import type { Agent, Sent } from "./agent.ts"

export interface Game {
  readonly url: string
  readonly anyone: ApiClient
  readonly administrator: ApiClient
  readonly agents: ReadonlyArray<Agent>
  readonly asset: string
  readonly tape: Tape
  readonly rounds: number
  /** Real milliseconds for one played hour. */
  readonly pace: number
  readonly settlementTimeout: Duration.Duration
}

interface Round {
  readonly hour: Hour
  readonly challengeId: ChallengeId
  readonly deadline: DateTime.Utc
  /** Each agent's last prediction with the server's response; none if it came too late. */
  readonly sent: ReadonlyMap<string, Sent>
}

/** The result is none if the round was not settled in time. */
export interface Settled extends Round {
  readonly results: Option.Option<Results>
}

/** The deciding price is quoted this long after the deadline; the first price from the deadline on counts. */
const settlesAfter = Duration.millis(50)

/** The maximum length of an hour if agents are too late. */
const maxPace = 20_000

const quote = (game: Game, time: DateTime.Utc, price: number) =>
  game.administrator.admin.importPrices({ payload: { asset: game.asset, quotes: [{ time, price }] } })

const open = Effect.fnUntraced(function* (game: Game, hour: Hour, price: number, pace: number) {
  // Questions are frozen with whole seconds.
  const ends = DateTime.toEpochMillis(yield* DateTime.now) + pace
  const deadline = DateTime.makeUnsafe(Math.ceil(ends / 1000) * 1000)
  const challenge = yield* game.administrator.admin.createChallenge({
    headers: {},
    payload: {
      asset: game.asset,
      kind: "flash",
      question: `Demonstration: which way does ${game.asset} move in ${hour.label}, played now?`,
      deadline,
      resolve_at: deadline,
      dead_zone_pct: game.tape.deadZone
    }
  })
  if (challenge.open_price === price) return { id: challenge.id, deadline }
  return yield* new CommandFailed({
    message: `The latest ${game.asset} price is ${challenge.open_price}, not ${price} as played: somebody else feeds this server, or its clock is behind. Try another --asset.`
  })
})

/** All agents predict concurrently; then each may revise. */
const predictAll = Effect.fnUntraced(function* (game: Game, challengeId: ChallengeId) {
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

/** Waits until a notice says that the challenge has ended. */
const awaitSettlement = Effect.fnUntraced(function* (game: Game, round: Round, isOver: Effect.Effect<void>) {
  const until = DateTime.addDuration(round.deadline, game.settlementTimeout)
  yield* Effect.timeoutOption(isOver, DateTime.distance(yield* DateTime.now, until))
  const results = yield* game.anyone.public.results({
    params: { challenge_id: round.challengeId },
    query: { limit: 200 }
  })
  const done: Settled = {
    ...round,
    results: results.status === "resolved" ? Option.some(results) : Option.none()
  }
  return done
})

/** Follows the stream of notices; an ending succeeds once its challenge is settled or void. */
const endings = Effect.fnUntraced(function* (url: string) {
  const all = new Map<string, Deferred.Deferred<void>>()
  const endOf = (challengeId: string) => {
    const known = all.get(challengeId) ?? Deferred.makeUnsafe<void>()
    all.set(challengeId, known)
    return known
  }
  yield* followNotices(url, ["challenge.settled", "challenge.void"], ({ subject }) =>
    "challenge_id" in subject ? Deferred.succeed(endOf(subject.challenge_id), undefined) : Effect.void
  )
  return (challengeId: string) => Deferred.await(endOf(challengeId))
})

const sleepUntil = Effect.fnUntraced(function* (time: DateTime.Utc) {
  const left = DateTime.toEpochMillis(time) - (yield* Clock.currentTimeMillis)
  if (left > 0) yield* Effect.sleep(Duration.millis(left))
})

/** Cancels open challenges, so that a server that keeps running has none. */
const cancelAll = (game: Game, challenges: Iterable<ChallengeId>) =>
  Effect.forEach(challenges, (challenge_id) =>
    Effect.ignore(
      game.administrator.admin.cancelChallenge({
        params: { challenge_id },
        payload: { reason: "The demonstration was interrupted." }
      })
    )
  )

/** Plays every round and reports each in order once it is settled. */
export const play = Effect.fn("demo.play")(function* <E>(
  game: Game,
  tell: (round: Settled) => Effect.Effect<void, E>
) {
  const unsettled = new Set<ChallengeId>()
  const isOver = yield* endings(game.url)

  /** The effect is uninterruptible between the server's creation and our record of it. */
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
    const done = yield* awaitSettlement(game, round, isOver(round.challengeId))
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
      const sent = yield* predictAll(game, id)
      if (sent.size < game.agents.length) pace = Math.min(maxPace, pace * 2)
      waiting.push(yield* Effect.forkChild(follow({ hour, challengeId: id, deadline, sent }, waiting.at(-1))))
      boundary = DateTime.addDuration(deadline, settlesAfter)
      price = hour.close
      yield* sleepUntil(boundary)
    }
    yield* quote(game, boundary, price)
    return yield* Effect.forEach(waiting, Fiber.join)
  })

  return yield* Effect.onError(rounds, () => cancelAll(game, unsettled))
}, Effect.scoped)

interface Hour {
  /** The label in the file. */
  readonly label: string
  readonly open: number
  readonly close: number
}

export interface Tape {
  readonly hours: ReadonlyArray<Hour>
  /** Earlier prices, oldest first, which the agents know from the start. */
  readonly history: ReadonlyArray<number>
  /** The dead zone in percent; a third of the hours move less. */
  readonly deadZone: number
}

const minDeadZone = 0.01
const maxHistory = 24

/** This dead zone makes neutral about as likely as the other two outcomes. */
const tercileOf = (hours: ReadonlyArray<Hour>): number => {
  const moves = hours.map(({ close, open }) => Math.abs(close / open - 1) * 100).sort((a, b) => a - b)
  const third = moves[Math.floor(moves.length / 3)] ?? 0
  return Math.max(minDeadZone, Math.round(third * 100) / 100)
}

const labelOf = (time: DateTime.Utc): string => DateTime.formatIso(time).slice(0, 16).replace("T", " ")

/** Splits the hours at `start`, or leaves up to a day of history. */
const cut = (hours: ReadonlyArray<Hour>, rounds: number, start: number | undefined): Tape => {
  const first = start ?? Math.max(0, Math.min(maxHistory, hours.length - rounds))
  return {
    hours: hours.slice(first, first + rounds),
    history: hours.slice(Math.max(0, first - maxHistory), first).map(({ open }) => open),
    deadZone: tercileOf(hours)
  }
}

/** Hours from a file of candles, from `from` on if given. */
export const fromFile = Effect.fnUntraced(function* (
  file: string,
  rounds: number,
  from: DateTime.Utc | undefined
) {
  const read = yield* readPrices(file)
  if ("quotes" in read) {
    return yield* new CommandFailed({
      message: `${file}: the demonstration plays candles; expected the columns time,open,high,low,close.`
    })
  }
  const hours = read.candles.map(({ close, open, time }) => ({ open, close, label: labelOf(time) }))
  if (hours.some(({ open, close }) => open <= 0 || close <= 0)) {
    return yield* new CommandFailed({ message: `${file}: played prices must be above 0.` })
  }
  if (from === undefined) return cut(hours, rounds, undefined)
  const start = read.candles.findIndex(({ time }) => DateTime.isGreaterThanOrEqualTo(time, from))
  if (start !== -1) return cut(hours, rounds, start)
  return yield* new CommandFailed({ message: `${file} has no hour at or after ${DateTime.formatIso(from)}.` })
})

const firstPrice = 1000
/** Standard deviation of an hourly move, in percent. */
const hourlyMove = 0.4

const normal = Effect.map(
  Effect.all([Random.next, Random.next]),
  ([radius, angle]) => Math.sqrt(-2 * Math.log(1 - radius)) * Math.cos(2 * Math.PI * angle)
)

/** A random walk: nobody can foresee it, so calibrated agents end near 50. */
export const synthetic = (rounds: number, seed: number): Effect.Effect<Tape> =>
  Effect.gen(function* () {
    const hours: Array<Hour> = []
    let open = firstPrice
    for (let number = 1 - maxHistory; number <= rounds; number++) {
      const close = Math.round(open * (1 + ((yield* normal) * hourlyMove) / 100) * 100) / 100
      hours.push({ label: `hour ${number}, made up`, open, close })
      open = close
    }
    return cut(hours, rounds, undefined)
  }).pipe(Random.withSeed(seed))
