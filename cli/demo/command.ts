/** `npm run demo`: three agents, recorded or made-up prices, and the platform between them, from registration to leaderboard. */
import { Console, DateTime, Duration, Effect, Option, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import { Instant } from "../../src/services/domain/text.ts"
import { CommandFailed, administratorToken, tokenFlag, urlFlag } from "../client/connection.ts"
import type { ApiClient } from "../client/connection.ts"
import { clientOf, enrol, strategies } from "./agent.ts"
import { macro } from "./macro.ts"
import { ownServer } from "./ownServer.ts"
import { fromFile, play, synthetic } from "./play.ts"
import type { Game, Tape } from "./play.ts"
import { conclude, heading, roundLine } from "./report.ts"
import { season } from "./season/command.ts"

/** The settlement job runs every 15 seconds by default. */
const settlementTimeout = Duration.seconds(90)

/** A page's maximum. */
const maxRounds = 200

const between = (minimum: number, maximum: number) =>
  Schema.Finite.check(Schema.isBetween({ minimum, maximum }))

const flags = {
  prices: Flag.String("prices").pipe(
    Flag.withMetavar("FILE"),
    Flag.withDescription("Hourly candles to play: CSV with time,open,high,low,close (default: made-up ones)"),
    Flag.optional
  ),
  from: Flag.String("from").pipe(
    Flag.withMetavar("TIME"),
    Flag.withDescription(
      "The first hour of the file to play, for example 2023-03-10T00:00:00Z (default: a day into it)"
    ),
    Flag.withSchema(Instant),
    Flag.optional
  ),
  asset: Flag.String("asset").pipe(
    Flag.withDescription("The target of the prices (default: ETH)"),
    Flag.withDefault("ETH")
  ),
  rounds: Flag.Int("rounds").pipe(
    Flag.withDescription("The number of hours to play (default: 24)"),
    Flag.withSchema(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: maxRounds }))),
    Flag.withDefault(24)
  ),
  speed: Flag.Finite("speed").pipe(
    Flag.withDescription("Hours of the file to play in a minute (default: 60)"),
    Flag.withSchema(between(1, 120)),
    Flag.withDefault(60)
  ),
  seed: Flag.Int("seed").pipe(
    Flag.withDescription("The seed of the made-up prices (default: 1)"),
    Flag.withDefault(1)
  ),
  url: urlFlag.pipe(
    Flag.withDescription("Play on this server instead of the demonstration's own; its prices stay for ever"),
    Flag.optional
  ),
  token: tokenFlag
}

type Input = Command.Command.Config.Infer<typeof flags>

/** Requires an active asset without open challenges, which the played prices would settle. */
const playable = Effect.fnUntraced(function* (anyone: ApiClient, asset: string) {
  const catalog = yield* anyone.public.targets()
  const target = catalog.categories.flatMap(({ targets }) => targets).find(({ key }) => key === asset)
  if (target === undefined) {
    return yield* new CommandFailed({ message: `"${asset}" is not a target of the server.` })
  }
  if (target.paused) {
    return yield* new CommandFailed({
      message: `${asset} is paused on the server. Choose another --asset, or: npm run admin -- targets set ${asset} --paused false`
    })
  }
  for (const status of ["open", "closed"] as const) {
    const { total } = yield* anyone.public.challenges({ query: { asset, status, limit: 1 } })
    if (total > 0) {
      return yield* new CommandFailed({
        message: `The server has ${total} ${status} challenge(s) on ${asset}, which the played prices would settle. Choose another --asset, or see: npm run admin -- challenges list --asset ${asset} --status ${status}`
      })
    }
  }
})

const serverFor = Effect.fnUntraced(function* (input: Input) {
  if (Option.isSome(input.url)) {
    const token = yield* administratorToken(input.token)
    return { url: input.url.value, administrator: yield* clientOf(input.url.value, token) }
  }
  yield* Console.log("\nStarting a server with an empty database ...")
  const { adminToken, url } = yield* ownServer
  yield* Console.log(`It serves at ${url}.`)
  const administrator = yield* clientOf(url, adminToken)
  // Some targets are paused initially.
  yield* Effect.ignore(
    administrator.admin.changeTarget({ params: { key: input.asset }, payload: { paused: false } })
  )
  return { url, administrator }
})

const introduction = (input: Input, rounds: number, origin: string): string => {
  const seconds = Math.ceil((rounds * 60) / input.speed) + (Option.isNone(input.url) ? 10 : 20)
  const where = Option.match(input.url, {
    onNone: () => "a server that is removed at the end",
    onSome: (url) => `${url}, where the prices it imports stay for ever`
  })
  return [
    `Three agents register, pass the registration challenge, and predict ${rounds} hours of ${input.asset} on ${where}.`,
    `Each hour of ${origin} is played in ${(60 / input.speed).toFixed(1)} s, with the present as its time; all of it takes about ${seconds} s.`
  ].join("\n")
}

const enrolled = Effect.fnUntraced(function* (url: string, asset: string, { history }: Tape) {
  const agents = yield* Effect.forEach(strategies, (strategy) => enrol(url, strategy, { asset, history }), {
    concurrency: strategies.length
  })
  yield* Console.log("")
  for (const [index, agent] of agents.entries()) {
    yield* Console.log(
      `${agent.name.padEnd(10)}  passed the registration challenge with ${agent.score} of 100 points. ${strategies[index]?.bio ?? ""}`
    )
  }
  return agents
})

const run = Effect.fn("demo")(function* (input: Input) {
  const tape = yield* Option.match(input.prices, {
    onNone: () => synthetic(input.rounds, input.seed),
    onSome: (file) => fromFile(file, input.rounds, Option.getOrUndefined(input.from))
  })
  const wanted = tape.hours.length
  const origin = Option.getOrElse(input.prices, () => "a made-up random walk (no --prices given)")
  yield* Console.log(introduction(input, wanted, origin))
  const { administrator, url } = yield* serverFor(input)
  const anyone = yield* clientOf(url)
  yield* playable(anyone, input.asset)
  const agents = yield* enrolled(url, input.asset, tape)
  const rounds = Math.min(wanted, ...agents.map(({ allowance }) => allowance))
  if (rounds < 1) {
    return yield* new CommandFailed({ message: "The server lets an unclaimed agent predict nothing." })
  }
  if (rounds < wanted) {
    yield* Console.log(
      `\nHere an unclaimed agent predicts at most ${rounds} challenges, so ${rounds} hours are played.`
    )
  }
  const game: Game = {
    url,
    anyone,
    administrator,
    agents,
    asset: input.asset,
    tape,
    rounds,
    pace: 60_000 / input.speed,
    settlementTimeout
  }
  const started = yield* DateTime.now
  yield* Console.log(
    [
      `\n${tape.hours[0]?.label ?? ""} is played now, ${DateTime.formatIso(started)}, and so on; the agents know the ${tape.history.length} hours before it.`,
      `A move within ±${tape.deadZone} % is neutral: a third of all hours move less.`,
      "Said is a direction and a confidence, at which being right is worth 50 + 50 c points and being wrong 50 - 50 c; r is revised.",
      "",
      heading(agents)
    ].join("\n")
  )
  const played = yield* play(game, (round) => Console.log(roundLine(agents, round)))
  const faults = yield* conclude(game, played)
  yield* Console.log(
    Option.isNone(input.url)
      ? "Where to look next: npm start keeps a server; npm run demo -- --url http://127.0.0.1:8080 plays on it; its /docs has the API."
      : `Where to look next: npm run admin -- leaderboard --url ${url}, and ${url}/docs for the API.`
  )
  if (faults.length > 0) {
    return yield* new CommandFailed({
      message: [`${faults.length} checks failed:`, ...faults].join("\n  ")
    })
  }
}, Effect.scoped)

export const demo = Command.make("demo", flags, run).pipe(
  Command.withDescription(
    "Three agents with different styles register, predict hours of real prices against real deadlines, and are settled and ranked."
  ),
  Command.withSubcommands([macro, season]),
  Command.withExamples([
    { command: "npm run demo", description: "Made-up prices, a server of its own" },
    {
      command: "npm run demo -- --prices eth.csv --asset ETH --from 2023-03-10T00:00:00Z",
      description: "A file of hourly candles"
    },
    {
      command: "npm run demo -- macro --series cpi.csv",
      description: "Forecasts of a price index instead"
    },
    {
      command: "npm run demo -- season",
      description: "A quarter of scheduled challenges in about a minute"
    },
    { command: "npm run demo -- --url http://127.0.0.1:8080", description: "On a server that runs" }
  ])
)
