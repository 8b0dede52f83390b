/** `npm run demo -- season`: a server creates, closes and settles a quarter of challenges by itself. */
import { Clock, Console, DateTime, Effect, Option, Random, Schema, Struct } from "effect"
import { Command, Flag } from "effect/cli"
import { creditsOf, microCredits } from "../../../src/services/Credits.ts"
import { ladderHours } from "../../../src/services/domain/Challenge.ts"
import { Instant } from "../../../src/services/domain/text.ts"
import { CommandFailed } from "../../client/connection.ts"
import type { ApiClient } from "../../client/connection.ts"
import { leaderboardColumns, skillColumns, table } from "../../client/table.ts"
import type { Column } from "../../client/table.ts"
import { clientOf, register } from "../agent.ts"
import { movedServer } from "../ownServer.ts"
import { claimByMail, mailboxOf } from "./claims.ts"
import { Memory, assets, futureIn, hintsOf, madeUp, playSeason, players } from "./play.ts"
import { decisions, speakerCredits, speakers, speakersMailbox } from "./speakers.ts"

const week = 7

const flags = {
  weeks: Flag.Int("weeks").pipe(
    Flag.withDescription("The number of weeks to play (default: 13, a quarter)"),
    Flag.withSchema(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 52 }))),
    Flag.withDefault(13)
  ),
  from: Flag.String("from").pipe(
    Flag.withMetavar("TIME"),
    Flag.withDescription("The Monday to begin with (default: 2026-01-05T00:00:00Z)"),
    Flag.withSchema(Instant),
    Flag.withDefault(DateTime.makeUnsafe("2026-01-05T00:00:00Z"))
  ),
  prices: Flag.String("prices").pipe(
    Flag.withMetavar("DIRECTORY"),
    Flag.withDescription("Recordings to replay, as for AUSPEX_PRICE_REPLAY_DIR (default: made-up prices)"),
    Flag.optional
  ),
  seed: Flag.Int("seed").pipe(
    Flag.withDescription("The seed of made-up prices (default: 1)"),
    Flag.withDefault(1)
  )
}

type Input = Command.Command.Config.Infer<typeof flags>

/** Weeks of history before the first week, from which the scales of closes and levels are computed. */
const historyWeeks = 10
/** The days of three monthly releases. */
const releaseDays = [8, 37, 65]
const rewardPool = 300
/** The days of meetings whose decision is one of ordered categories. */
const meetingDays = [10, 44]
const stake = 100
const scopes = ["prediction:submit", "challenge:read", "credits:stake"]

/** Leads are long enough for one poll a day to find every challenge open; jobs run often. */
const settings = (directory: string) => ({
  AUSPEX_SESSION_LEAD: "14 hours",
  AUSPEX_PRICE_SOURCE: "replay",
  AUSPEX_REFERENCES: "on",
  AUSPEX_PRICE_REPLAY_DIR: directory,
  AUSPEX_PRICE_SETTLE_DELAY: "1 milli",
  AUSPEX_PRICE_REREAD: "1 milli",
  AUSPEX_JOB_INTERVAL: "50 millis",
  AUSPEX_TOKEN_TTL: "1000 days",
  AUSPEX_PROVISIONAL_GRACE: "1000 days",
  AUSPEX_LIMIT_STAKES: "1000000/minute"
})

/** Consumer prices over a year: successive prints differ by a few tenths. */
const releasesOf = Effect.fnUntraced(function* (from: DateTime.Utc, weeks: number) {
  let print = 3
  const releases = []
  for (const [index, days] of releaseDays.entries()) {
    if (days >= weeks * week) continue
    const last = print
    print = Number((print + ((yield* Random.next) - 0.5) * 0.6).toFixed(1))
    releases.push({
      print,
      planned: {
        asset: "CPI",
        period: `made-up ${index + 1}`,
        unit: "% over a year",
        release_at: DateTime.add(from, { days, hours: 13, minutes: 30 }),
        reference_scale: 0.15,
        decimal_step: 0.1,
        bin_edges: [-0.25, -0.15, -0.05, 0.05, 0.15, 0.25].map((step) => Number((last + step).toFixed(2))),
        reward_pool: rewardPool
      }
    })
  }
  return releases
})

/** A central bank's meetings, each with the index of its decision. */
const meetingsOf = (from: DateTime.Utc, weeks: number) =>
  meetingDays
    .filter((days) => days < weeks * week)
    .map((days, index) => ({
      print: (index + 1) % decisions.length,
      planned: {
        asset: "FOMC",
        period: `made-up meeting ${index + 1}`,
        release_at: DateTime.add(from, { days, hours: 13 }),
        categories: decisions
      }
    }))

/** Plays a season on a server of its own, which serves until the scope closes. */
export const playedSeason = Effect.fn("demo.playedSeason")(function* ({ from, prices, seed, weeks }: Input) {
  if (DateTime.getPartUtc(from, "weekDay") !== 1) {
    return yield* new CommandFailed({ message: `--from ${DateTime.formatIsoDateUtc(from)} is no Monday.` })
  }
  const start = DateTime.startOf(from, "day")
  const directory = Option.isSome(prices)
    ? prices.value
    : yield* madeUp(DateTime.subtract(start, { weeks: historyWeeks }), weeks + historyWeeks + 1, seed)
  const last = DateTime.add(start, { days: weeks * week - 1 })
  yield* Console.log(
    `A server replays ${Option.getOrElse(prices, () => "made-up prices of ten assets")}, from ${DateTime.formatIsoDateUtc(start)} to ${DateTime.formatIsoDateUtc(last)}. Its schedules make all challenges.\nStarting it with an empty database ...`
  )
  const { adminToken, moveTo, operationsUrl, outbox, url } = yield* movedServer(start, settings(directory))
  const administrator = yield* clientOf(url, adminToken)
  const anyone = yield* clientOf(url)
  const releases = [
    ...(yield* releasesOf(start, weeks).pipe(Random.withSeed(seed))),
    ...meetingsOf(start, weeks)
  ]
  yield* administrator.admin.replaceReleaseCalendar({
    payload: { releases: releases.map(({ planned }) => planned) }
  })
  const hints = hintsOf(yield* futureIn(directory), seed)
  const used = new Set<string>()
  const contestants = yield* Effect.forEach(
    [...players, ...speakers],
    Effect.fnUntraced(function* (player) {
      const isSpeaker = "form" in player
      const operator_contact = isSpeaker ? speakersMailbox : mailboxOf(player.name)
      const { agent_id, client } = yield* register(url, player, {
        requested_scopes: scopes,
        operator_contact
      })
      yield* claimByMail({ url, outbox }, operator_contact, used)
      yield* Effect.forEach(assets, (scope_key) => client.agent.subscribe({ params: { scope_key } }))
      yield* administrator.admin.grantAgent({
        params: { agent_id },
        payload: {
          amount: microCredits(isSpeaker ? speakerCredits : stake * releaseDays.length),
          reason: "to stake",
          idempotency_key: `season-${agent_id}`
        }
      })
      return { id: agent_id, player, client, memory: new Memory(), hints, answered: 0 }
    })
  )
  yield* Console.log(
    `${players.map(({ name }) => name).join(", ")} are claimed by their owners. They predict what is open each morning, and stake ${stake} credits on each release; the last two answer by hints alone, of which three in five are true. ${speakers.map(({ name }) => name).join(", ")} are of one owner, and say probabilities, quantiles and samples.\n`
  )
  yield* playSeason({
    operationsUrl,
    anyone,
    administrator,
    contestants,
    moveTo,
    from: start,
    weeks,
    prints: new Map(releases.map(({ planned, print }) => [planned.period, print])),
    stake
  })
  return { url, anyone, administrator, contestants }
})

const run = Effect.fn("demo.season")(function* (input: Input) {
  const began = yield* Clock.currentTimeMillis
  const { administrator, anyone } = yield* playedSeason(input)
  const differences = yield* reportSeason(anyone, administrator)
  const seconds = Math.round(((yield* Clock.currentTimeMillis) - began) / 1000)
  yield* Console.log(`\n${input.weeks} weeks took ${seconds} s.`)
  if (differences.length > 0) {
    return yield* new CommandFailed({
      message: [`${differences.length} checks failed:`, ...differences].join("\n  ")
    })
  }
}, Effect.scoped)

export const season = Command.make("season", flags, run).pipe(
  Command.withDescription(
    "A quarter in about two minutes: schedules make challenges of every type, agents predict them, and they settle, on a server whose clock is moved."
  )
)

interface Counted {
  readonly what: string
  readonly made: number
  readonly settled: number
  readonly ended: number
  readonly predictions: number
}

interface Listed {
  readonly status: string
  readonly prediction_count: number
}

const columns: ReadonlyArray<Column<Counted>> = [
  { title: "challenges", of: ({ what }) => what },
  { title: "made", of: ({ made }) => made },
  { title: "settled", of: ({ settled }) => settled },
  { title: "cancelled or void", of: ({ ended }) => ended },
  { title: "still to come", of: ({ ended, made, settled }) => made - settled - ended },
  { title: "predictions", of: ({ predictions }) => predictions }
]

const counted = (what: string, listed: ReadonlyArray<Listed>): Counted => ({
  what,
  made: listed.length,
  settled: listed.filter(({ status }) => status === "resolved").length,
  ended: listed.filter(({ status }) => status === "cancelled" || status === "void").length,
  predictions: listed.reduce((sum, { prediction_count }) => sum + prediction_count, 0)
})

interface PageQuery {
  readonly limit: number
  readonly cursor?: string
}

const everyPage = Effect.fnUntraced(function* <Item, E>(
  read: (
    page: PageQuery
  ) => Effect.Effect<{ readonly items: ReadonlyArray<Item>; readonly next_cursor: string | null }, E>
) {
  const all: Array<Item> = []
  let page: PageQuery | undefined = { limit: 200 }
  while (page !== undefined) {
    const { items, next_cursor }: { items: ReadonlyArray<Item>; next_cursor: string | null } =
      yield* read(page)
    all.push(...items)
    page = next_cursor === null ? undefined : { limit: 200, cursor: next_cursor }
  }
  return all
})

/** Counts the challenges by kind. */
const countsOf = Effect.fnUntraced(function* (anyone: ApiClient) {
  const directional = yield* everyPage((query) => anyone.public.challenges({ query }))
  const events = yield* everyPage((page) => anyone.public.priceEvents({ query: { ...page, status: "all" } }))
  const macro = yield* everyPage((page) =>
    Effect.map(
      anyone.public.macroChallenges({ query: { ...page, status: "all" } }),
      ({ challenges, next_cursor }) => ({ items: challenges, next_cursor })
    )
  )
  const ofKind = (kind: string) => [...directional, ...events].filter((each) => each.kind === kind)
  const kinds = [
    "session",
    "flash",
    ...Struct.keys(ladderHours),
    "numeric_close",
    "count_days",
    "threshold",
    "barrier"
  ]
  return [...kinds.map((kind) => counted(kind, ofKind(kind))), counted("macro", macro)]
})

/** The faults of the ledger, the statistics or the public log. */
const checked = Effect.fnUntraced(function* (administrator: ApiClient) {
  const ledger = yield* administrator.admin.checkLedger()
  const stats = yield* administrator.admin.checkFigures()
  const log = yield* administrator.admin.auditLog()
  yield* Console.log(
    [
      `Ledger:  ${ledger.transfers} transfers of ${ledger.accounts} accounts; ${ledger.pools_settled} pools settled, ${creditsOf(ledger.rewards)} credits of rewards paid; ${ledger.differences.length} differences.`,
      `Figures: those of ${stats.agents} agents equal a recomputation from their scores; ${stats.differences.length} differences.`,
      `Log:     ${log.entries} entries, ${log.challenges} challenges, ${log.predictions} predictions and ${log.settlements} settlements compared; ${log.difference_count} differences.`
    ].join("\n")
  )
  return [...ledger.differences, ...stats.differences, ...log.differences]
})

const reportSeason = Effect.fn("demo.season.report")(function* (anyone: ApiClient, administrator: ApiClient) {
  yield* Console.log(`\n${table(yield* countsOf(anyone), columns)}`)
  const byAverage = yield* anyone.public.leaderboard({ query: {} })
  const withoutId = leaderboardColumns.filter(({ title }) => title !== "agent_id")
  yield* Console.log(`\nBy average, which rewards boldness:\n\n${table(byAverage.items, withoutId)}`)
  const bySkill = yield* anyone.public.leaderboard({ query: { order: "skill" } })
  yield* Console.log(
    `\nBy skill, which is 0 for an agent that knows no more than a random walk:\n\n${table(bySkill.items, skillColumns)}\n`
  )
  return yield* checked(administrator)
})
