/**
 * Every read of the API whose data grow, as the service answers it, with the important parameters: rare and common ones, an ordinary
 * agent and the busiest one, the first page and one near the end.
 */
import { DateTime, Effect, Option } from "effect"
import { SqlClient } from "effect/sql"
import { pagePaths } from "../../../src/http/site/paths.ts"
import { Archive } from "../../../src/services/Archive.ts"
import { Arenas } from "../../../src/services/Arenas.ts"
import type { ChallengeFilter } from "../../../src/services/Arenas.ts"
import { AdminAudit } from "../../../src/services/AdminAudit.ts"
import type { ListFilter } from "../../../src/services/domain/Challenge.ts"
import { Charts } from "../../../src/services/Charts.ts"
import type { Credits } from "../../../src/services/Credits.ts"
import type { Discussion } from "../../../src/services/Discussion.ts"
import { Events } from "../../../src/services/Events.ts"
import type { EventFilter } from "../../../src/services/Events.ts"
import type { GatewayUsage } from "../../../src/services/GatewayUsage.ts"
import type { GatewayKeys } from "../../../src/services/GatewayKeys.ts"
import type { Notices } from "../../../src/services/Notices.ts"
import type { Payments } from "../../../src/services/Payments.ts"
import { OpenQuestions } from "../../../src/services/OpenQuestions.ts"
import type { QuestionFilter } from "../../../src/services/OpenQuestions.ts"
import type { Practice } from "../../../src/services/Practice.ts"
import { Pools } from "../../../src/services/Pools.ts"
import { Prices } from "../../../src/services/Prices.ts"
import { Registry } from "../../../src/services/Registry.ts"
import { ReleaseCalendar } from "../../../src/services/Schedules.ts"
import type { Schedules } from "../../../src/services/Schedules.ts"
import { Webhooks } from "../../../src/services/Webhooks.ts"
import { Witnesses } from "../../../src/services/Witnesses.ts"
import { Scoring } from "../../../src/services/Scoring.ts"
import { Search } from "../../../src/services/Search.ts"
import { Skill } from "../../../src/services/Skill.ts"
import type { Social } from "../../../src/services/Social.ts"
import { Targets } from "../../../src/services/Targets.ts"
import { TransparencyLog } from "../../../src/services/TransparencyLog.ts"
import { AgentId, ChallengeId, EventId } from "../../../src/services/domain/ids.ts"
import type { Page } from "../../../src/services/domain/paging.ts"
import { discussionReads } from "./discussion.ts"
import { gatewayReads } from "./gateway.ts"
import { moneyReads } from "./money.ts"
import { best, firstPage, fromTheEnd, pageAfter, leaderboardRow, skillRow, worst } from "./pages.ts"
import type { Item } from "./pages.ts"
import { noticeReads } from "./notices.ts"
import { practiceReads } from "./practice.ts"
import { scheduleReads } from "./schedules.ts"
import { maxTournament, people } from "./seed.ts"
import type { Size } from "./seed.ts"
import { socialReads } from "./social.ts"

export type Reading = Effect.Effect<
  unknown,
  unknown,
  | Archive
  | Arenas
  | AdminAudit
  | Charts
  | Credits
  | Discussion
  | Events
  | Social
  | GatewayKeys
  | GatewayUsage
  | Webhooks
  | Witnesses
  | Notices
  | OpenQuestions
  | Payments
  | Pools
  | Practice
  | Prices
  | Registry
  | ReleaseCalendar
  | Schedules
  | Scoring
  | Search
  | Skill
  | Targets
  | TransparencyLog
>

export interface Read {
  /** The route as the API names it: `GET /api/v1/eval/challenges`; a page's path if only pages read it. */
  readonly route: string
  readonly variant: string
  readonly page: string
  readonly run: Reading
}

/** The page after an item. */
export interface Deep extends Item {
  readonly page: string
}

/** The name of a read in messages and tables. */
export const titleOf = ({ variant, page, route }: Read): string =>
  [route.replace(/^GET \/api\/v1/, ""), variant, page === "first" ? "" : `${page} page`]
    .filter((part) => part !== "")
    .join(", ")

/** Adds a read of this path: its first page, and those that begin further down. */
export type Add = (
  route: string,
  variant: string,
  run: (page: Page) => Reading,
  ...deeper: ReadonlyArray<Deep>
) => Effect.Effect<void, unknown, SqlClient.SqlClient>

/** The reads of a seeded database. */
export const readsOf = Effect.fnUntraced(function* (size: Size) {
  const { busiest, event, hot, hotOpen, ordinary, pool, settled } = people(size)
  const [agent, other] = [AgentId.make(busiest), AgentId.make(ordinary)]
  const reads: Array<Read> = []

  const listed: Add = Effect.fnUntraced(function* (route, variant, run, ...deeper) {
    reads.push({ route: `GET ${route}`, variant, page: "first", run: run(firstPage) })
    for (const deep of deeper) {
      reads.push({ route: `GET ${route}`, variant, page: deep.page, run: run(yield* pageAfter(deep)) })
    }
  })
  const add: Add = (route, ...read) => listed(`/api/v1${route}`, ...read)

  const last = (list: string, from: string, which?: string): Deep => ({
    page: "last",
    list,
    which,
    key: `select to_json(id::text) from (select id from ${from} order by id offset ${fromTheEnd} limit 1) as k`
  })

  const challenges = (variant: string, filter: ChallengeFilter, condition?: string) =>
    add(
      "/eval/challenges",
      variant,
      (page) => Arenas.use((arenas) => arenas.list("directional", filter, page)),
      ...(condition === undefined ? [] : [last("challenges", `challenges where ${condition}`)])
    )
  yield* challenges("", {}, "type = 'directional'")
  yield* challenges("status=open", { status: "open" })
  yield* challenges("status=closed", { status: "closed" })
  yield* challenges("status=resolved", { status: "resolved" }, "resolved_at is not null")
  yield* challenges("status=cancelled", { status: "cancelled" }, "cancelled_at is not null")
  yield* challenges("asset=GC", { asset: "GC" }, "target = 'GC'")
  yield* challenges("asset=GC, status=open", { asset: "GC", status: "open" })
  yield* challenges(
    "asset=GC, status=resolved",
    { asset: "GC", status: "resolved" },
    "target = 'GC' and resolved_at is not null"
  )
  yield* challenges(
    "asset=GC, status=cancelled",
    { asset: "GC", status: "cancelled" },
    "target = 'GC' and cancelled_at is not null"
  )
  yield* challenges("event_id", { eventId: EventId.make(event) })

  yield* add("/eval/macro/challenges", "", (page) => Arenas.use((arenas) => arenas.list("macro", {}, page)))
  yield* add("/eval/macro/challenges", "status=open", (page) =>
    Arenas.use((arenas) => arenas.list("macro", { status: "open" }, page))
  )
  yield* add("/eval/macro/challenges", "status=resolved", (page) =>
    Arenas.use((arenas) => arenas.list("macro", { status: "resolved" }, page))
  )
  yield* add("/eval/price-events/challenges", "", (page) =>
    Arenas.use((arenas) => arenas.list("price_event", {}, page))
  )
  yield* add("/eval/price-events/challenges", "status=open", (page) =>
    Arenas.use((arenas) => arenas.list("price_event", { status: "open" }, page))
  )
  yield* add("/eval/price-events/challenges", "status=resolved", (page) =>
    Arenas.use((arenas) => arenas.list("price_event", { status: "resolved" }, page))
  )
  yield* add("/eval/macro/challenges/:challenge_id/odds", "200 bins", () =>
    Pools.use((service) => service.odds(pool))
  )

  const open = (variant: string, filter: QuestionFilter, ...deeper: ReadonlyArray<Deep>) =>
    add(
      "/eval/open",
      variant,
      (page) => OpenQuestions.use((questions) => questions.list(filter, page, agent)),
      ...deeper
    )
  yield* open(
    "the busiest agent's",
    {},
    {
      page: "last",
      list: "open questions",
      which: "any,any,any,any,any,any",
      key: `select json_build_object('deadline', to_char(deadline at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'id', id)
            from challenges where resolved_at is null and cancelled_at is null and deadline > now()
           order by deadline desc, id desc offset ${fromTheEnd} limit 1`
    }
  )
  yield* open("asset=GC", { asset: "GC" })
  yield* open("a type, a kind and a category", { type: "price_event", kind: "threshold", category: "crypto" })
  yield* add("/eval/open/:challenge_id", "", () =>
    OpenQuestions.use((questions) => questions.get(hotOpen, other))
  )

  yield* add("/eval/challenges/:challenge_id", "", () => Arenas.use((arenas) => arenas.get(hot)))
  const results = (variant: string, id: string, ...deeper: ReadonlyArray<Deep>) =>
    add(
      "/eval/challenges/:challenge_id/results",
      variant,
      (page) => Arenas.use((arenas) => arenas.results(id, page)),
      ...deeper
    )
  yield* results("settled", settled)
  yield* results("settled, everybody's", hot, {
    page: "last",
    list: "results",
    which: hot,
    key: `select to_json(agent_id::text) from (select agent_id from predictions where challenge_id = '${hot}'
           order by agent_id desc offset ${fromTheEnd} limit 1) as k`
  })
  yield* results("open, everybody's", hotOpen)

  const standingAt = (page: string, order: string, offset: number, board: string): Deep => ({
    page,
    ...leaderboardRow(board, order, offset)
  })
  yield* add(
    "/eval/leaderboard",
    "",
    (page) => Scoring.use((scoring) => scoring.leaderboard({}, page)),
    standingAt("200 down", best, 199, "global"),
    standingAt("last", worst, fromTheEnd, "global")
  )
  yield* add(
    "/eval/leaderboard",
    "category",
    (page) => Scoring.use((scoring) => scoring.leaderboard({ category: "commodities" }, page)),
    standingAt("200 down", best, 199, "commodities"),
    standingAt("last", worst, fromTheEnd, "commodities")
  )
  yield* listed(
    pagePaths.leaderboard,
    "established first",
    (page) => Scoring.use((scoring) => scoring.leaderboard({ rankedFirst: true }, page)),
    { ...standingAt("last", worst, fromTheEnd, "global"), which: "global average rankedFirst" }
  )
  for (const order of ["skill", "peer"] as const) {
    yield* add(
      "/eval/leaderboard",
      order,
      (page) => Scoring.use((scoring) => scoring.leaderboard({ order }, page)),
      { page: "last", ...skillRow("global", order, fromTheEnd) }
    )
  }

  const ofAgent = (list: string, id: string, which?: string) =>
    last(list, `predictions where agent_id = '${id}'`, which)
  const scorecard = (variant: string, id: string, ...deeper: ReadonlyArray<Deep>) =>
    add(
      "/eval/agents/:agent_id/scorecard",
      variant,
      (page) => Scoring.use((scoring) => scoring.scorecard(id, page)),
      ...deeper
    )
  yield* add("/eval/distribution-calibration", "", () => Scoring.use((scoring) => scoring.calibration))
  yield* add("/eval/agents/:agent_id/distribution-calibration", "", () =>
    Scoring.use((scoring) => scoring.calibrationOf(agent))
  )
  yield* add("/eval/agents/:agent_id/skill", "", () => Skill.use((skill) => skill.profile(agent)))
  yield* add("/eval/compare", "", () => Skill.use((skill) => skill.compare(agent, ordinary)))
  yield* add("/eval/challenges/:challenge_id/reference", "", () =>
    Skill.use((skill) => skill.referenceOf(hot))
  )
  yield* scorecard("an agent's", ordinary)
  yield* scorecard("the busiest agent's", busiest, ofAgent("scorecard", busiest, busiest))

  const oldest = (condition: string): Deep => ({
    page: "last",
    list: "events",
    which: "all",
    key: `select json_build_object('published_at', to_char(published_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
                                   'id', id)
            from events where ${condition} order by published_at, id offset ${fromTheEnd} limit 1`
  })
  const events = (variant: string, filter: EventFilter, condition?: string) =>
    add(
      "/events",
      variant,
      (page) => Events.use((service) => service.list(filter, page)),
      ...(condition === undefined ? [] : [oldest(condition)])
    )
  yield* events("", {}, "true")
  yield* events("space=finance", { space: "finance" }, "'finance' = any(spaces)")
  yield* events("asset=GC", { asset: "GC" }, "'GC' = any(assets)")
  yield* events("a rare asset", { asset: "FOMC" })
  yield* events("a space and a rare asset", { space: "finance", asset: "FOMC" })
  yield* events(
    "space=policy, asset=GC",
    { space: "policy", asset: "GC" },
    "'policy' = any(spaces) and 'GC' = any(assets)"
  )
  yield* add("/events/today", "", (page) => Events.use((service) => service.today({}, page)))
  yield* add("/events/today", "asset=GC", (page) =>
    Events.use((service) => service.today({ asset: "GC" }, page))
  )

  yield* discussionReads(size, add)
  yield* socialReads(size, add)
  yield* gatewayReads(busiest, listed)

  yield* add("/public/prediction-scopes", "", () => Targets.use((service) => service.scopes))
  yield* add("/public/target-catalog", "", () => Targets.use((service) => service.catalog))
  yield* add("/public/prices", "", () => Prices.use((prices) => prices.latestOfAll))
  for (const interval of ["1h", "1d"] as const) {
    yield* add("/public/prices/:asset", interval, (page) =>
      Prices.use((prices) => prices.candles({ asset: "GC", interval }, page))
    )
  }
  for (const asset of [undefined, "CPI"]) {
    yield* add("/public/releases", asset ?? "", (page) =>
      ReleaseCalendar.use((calendar) => calendar.published({ asset }, page))
    )
  }
  yield* add("/eval/btc/context", "", () => Targets.use((service) => service.get("BTC")))

  yield* add("/public/archive", "", (page) => Archive.use((archive) => archive.list(page)), {
    page: "last",
    list: "archive",
    key: `select json_build_object('ended_at', to_char(ended_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'slug', slug)
            from (select ended_at, slug from archived_tournaments order by ended_at, slug offset ${fromTheEnd} limit 1) as k`
  })
  yield* add(
    "/public/archive/:slug",
    "",
    (page) => Archive.use((archive) => archive.get(maxTournament, page)),
    {
      page: "last",
      list: "tournament",
      which: maxTournament,
      key: `select json_build_object('position', position)
              from (select position from archived_challenges where tournament = '${maxTournament}'
                     order by position desc offset ${fromTheEnd} limit 1) as k`
    }
  )

  yield* add("/eval/challenges/active", "", (page) => Arenas.use((arenas) => arenas.active(agent, page)))
  yield* add(
    "/eval/challenges/:challenge_id/paper-signals",
    "",
    (page) => Arenas.use((arenas) => arenas.paperSignals(agent, hot, page)),
    last("paper signals", `paper_signals where agent_id = '${busiest}'`, hot)
  )
  const own = (variant: string, id: AgentId, ...deeper: ReadonlyArray<Deep>) =>
    add(
      "/agent/predictions",
      variant,
      (page) => Arenas.use((arenas) => arenas.ownPredictions(id, page)),
      ...deeper
    )
  yield* own("an agent's", other)
  yield* own("the busiest agent's", agent, ofAgent("own predictions", busiest))
  for (const filter of [{ challengeId: hot }, { type: "macro" }, { status: "open" }] as const) {
    yield* add("/agent/predictions", `the busiest agent's, ${Object.values(filter).join()}`, (page) =>
      Arenas.use((arenas) => arenas.ownPredictions(agent, page, filter))
    )
  }
  yield* practiceReads(add)
  yield* noticeReads(add)
  const commitOf = Effect.fnUntraced(function* (challenge: string) {
    const sql = yield* SqlClient.SqlClient
    const [row] = yield* sql`
      select encode(commit, 'hex') from predictions where challenge_id = ${challenge}::uuid
       order by agent_id limit 1`.values
    return String(row?.[0])
  })
  const [revealed, hidden] = [yield* commitOf(hot), yield* commitOf(hotOpen)]
  const addLog = (route: string, variant: string, run: Reading) =>
    reads.push({ route: `GET ${route}`, variant, page: "first", run })
  const log = (route: string, variant: string, read: (log: TransparencyLog["Service"]) => Reading) =>
    addLog(route, variant, TransparencyLog.use(read))
  for (const [variant, commit] of [
    ["settled", revealed],
    ["open", hidden]
  ] as const) {
    log("/api/v1/log/entries/:commit", variant, (service) => service.entryOf(commit))
    log("/api/v1/log/proof/:commit", variant, (service) => service.proofOf(commit))
  }
  log("/api/v1/log/proof/:commit", "unknown", (service) => Effect.flip(service.proofOf("0".repeat(64))))
  log("/api/v1/log/settlement/:challenge_id", "", (service) => service.settlementProof(hot))
  log("/api/v1/log/settlement/:challenge_id", "all its entries, on its page", (service) =>
    service.entriesOf(hot)
  )
  log("/api/v1/log/proof/entry/:leaf_index", "", (service) => service.proofAt("3"))
  log("/log/checkpoint", "", (service) => service.checkpoint)
  log("/log/key", "", (service) => service.verifierKeys)
  log("/log/tile/*", "level 0", (service) => service.hashTile(0, 3, 256))
  log("/log/tile/*", "level 1, growing", (service) => service.hashTile(1, 0, 30))
  log("/log/tile/*", "entries", (service) => service.entryBundle(3, 256))
  const stamped = Witnesses.use((service) => service.timeStamp(1))
  addLog("/log/timestamp/:size", "", stamped)
  addLog("/log/timestamp/:size/text", "", stamped)
  for (const [variant, before] of [
    ["newest", Option.none()],
    ["older", Option.some(10_000)]
  ] as const) {
    addLog(
      "/log/timestamps",
      variant,
      Witnesses.use((service) => service.timeStamped(before))
    )
  }

  yield* moneyReads(size, listed)
  yield* listed(
    "/api/v1/admin/audit",
    "",
    (page) => AdminAudit.use((audit) => audit.list(page)),
    last("audit", "audit_log")
  )
  const page = (route: string, variant: string, run: Reading, which = "first") =>
    reads.push({ route: `GET ${route}`, variant, page: which, run })
  const directory = Effect.fnUntraced(function* (variant: string, filter: ListFilter, from?: string) {
    const list = (wanted: Page) => Arenas.use((arenas) => arenas.listSummaries(filter, wanted))
    page("/challenges", variant, list(firstPage))
    if (from === undefined) return
    const key = `select json_build_object('deadline', to_char(deadline at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'id', id)
      from (select deadline, id from challenges where ${from} order by id offset ${fromTheEnd} limit 1) as k`
    page(
      "/challenges",
      variant,
      list(yield* pageAfter({ list: "all challenges", which: filter.status, key })),
      "last"
    )
  })
  yield* directory("open", { status: "open" })
  yield* directory("open, macro", { status: "open", type: "macro" })
  yield* directory("of GC, open", { status: "open", asset: "GC" })
  for (const status of ["closed", "resolved", "ended"] as const) {
    yield* directory(`of GC, ${status}`, { status, asset: "GC" })
    yield* directory(`of crypto, ${status}`, { status, category: "crypto" })
    yield* directory(`price events of ETH, ${status}`, { status, type: "price_event", asset: "ETH" })
  }
  yield* listed(pagePaths.challenges, "counts", () => Arenas.use((arenas) => arenas.counts({})))
  yield* listed(pagePaths.challenges, "counts of GC", () =>
    Arenas.use((arenas) => arenas.counts({ asset: "GC" }))
  )
  yield* listed(pagePaths.asset, "outcomes", () => Arenas.use((arenas) => arenas.outcomes("GC")))
  for (const text of ["gold", "Agent", "zzzz", "金", "金 银行"]) {
    yield* listed(pagePaths.search, text, () => Search.use((search) => search.find(text)))
  }
  yield* directory("closed", { status: "closed" })
  yield* directory("resolved", { status: "resolved" }, "resolved_at is not null")
  yield* directory("resolved, macro", { status: "resolved", type: "macro" })
  yield* directory("resolved, directional", { status: "resolved", type: "directional" })
  yield* directory("ended", { status: "ended" }, "cancelled_at is not null")
  page(
    "/",
    "settled last",
    Arenas.use((arenas) => arenas.lastSettled(4))
  )
  page(
    "/events/:event_id",
    "",
    Events.use((service) => service.get(event))
  )
  page(
    "/events/:event_id",
    "its challenges",
    Arenas.use((arenas) => arenas.listByEvent(EventId.make(event)))
  )
  const now = yield* DateTime.now
  for (const [variant, days] of [
    ["prices of a day", 1],
    ["prices of a year", 365]
  ] as const) {
    page(
      "/challenges/:challenge_id",
      variant,
      Charts.use((charts) => charts.prices("GC", DateTime.subtract(now, { days }), now))
    )
  }
  page(
    "/challenges/:challenge_id",
    "answers, everybody's",
    Charts.use((charts) => charts.answers(hot))
  )
  page(
    "/agents/:agent_id",
    "what was asked",
    Arenas.use((arenas) => arenas.summaries([ChallengeId.make(hot)]))
  )
  page(
    "/agents/:agent_id",
    "the busiest agent's record",
    Charts.use((charts) => charts.trackRecord(busiest))
  )

  yield* add("/agent/prediction-scope", "", () => Targets.use((service) => service.subscriptions(agent)))
  yield* add("/agent/scopes", "", () => Registry.use((registry) => registry.scopes(agent)))
  yield* add("/agent/profile/self", "", () => Registry.use((registry) => registry.profile(busiest)))
  reads.push(...scheduleReads)
  return reads
})
