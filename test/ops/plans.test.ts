/**
 * The plans of every read, as the service's sessions make them once for all values, on tables that have grown: the
 * times that `npm run bench -- growth` measures at a million predictions stay flat only while these hold.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Duration, Effect, Layer, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { pagePaths } from "../../src/http/site/paths.ts"
import { logPaths } from "../../src/http/routes.ts"
import * as Database from "../../src/layers/postgres/Database.ts"
import { findAll } from "../../src/layers/postgres/sql.ts"
import { oneIn } from "../support/breadth.ts"
import { freshDatabase, ownersUrl } from "../support/database.ts"
import { searchPlanning } from "../../src/layers/postgres/community/Search.ts"
import { executions, nodesOf } from "../support/growth/explain.ts"
import type { PlanNode } from "../support/growth/explain.ts"
import { readsOf, titleOf } from "../support/growth/reads.ts"
import type { Read } from "../support/growth/reads.ts"
import { ownPredictions, readsOfAgent, revised, revisers, revisions } from "../support/growth/revisions.ts"
import { seed, sizeOf } from "../support/growth/seed.ts"
import { sentBy } from "../support/growth/statements.ts"
import type { Recorded } from "../support/growth/statements.ts"
import { routes } from "../support/routes.ts"

const size = sizeOf(20_000)
/** The agent that has answered every question once. */
const busiest = 0
const answersOfBusiest = size.challenges

/** Smaller tables are read whole, which is the fastest way. */
const manyPages = 10

/** The most rows of any step of a plan, for twenty items and the one that tells whether there are more. */
const maxRows = 400
/** The most pages of a request: an item is put together from several tables, each found by an index of a few levels. */
const maxPages = 800

const growingTables = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* findAll(Schema.Struct({ name: Schema.String }))(sql`
    select relname as name from pg_class
     where relkind = 'r' and relnamespace = 'public'::regnamespace and relpages >= ${manyPages}`)
  return rows.map(({ name }) => name)
})

const makeGrown = Effect.gen(function* () {
  const url = yield* freshDatabase
  // The owner fills tables and looks into plans, not the role that runs, and may take long for it.
  const client = Database.client(ownersUrl(url), { statementTimeout: Duration.minutes(10) })
  return yield* Effect.gen(function* () {
    yield* seed(size, () => Effect.void)
    const reads = yield* sentBy(Redacted.value(url), yield* readsOf(size))
    return { client, url: Redacted.value(url), reads, growing: yield* growingTables }
  }).pipe(Effect.provide(client))
})

class Grown extends Context.Service<Grown, Effect.Success<typeof makeGrown>>()("auspex/test/Grown") {}

const lookedAt = Effect.fnUntraced(function* (
  statement: Recorded,
  own: Readonly<Record<string, string>> = {}
) {
  const { client, growing } = yield* Grown
  const [execution] = yield* executions(statement, 1, own).pipe(Effect.provide(client))
  assert(execution !== undefined)
  const isSmall = (node: PlanNode) =>
    node["Node Type"] === "Seq Scan" && !growing.includes(node["Relation Name"] ?? "")
  const nodes = nodesOf(execution.plan).filter((node) => !isSmall(node))
  return {
    pages: execution.pages,
    rows: Math.max(
      0,
      ...nodes.map(
        (node) => (node["Actual Rows"] + (node["Rows Removed by Filter"] ?? 0)) * node["Actual Loops"]
      )
    ),
    scanned: nodes.filter((node) => node["Node Type"] === "Seq Scan").map((node) => node["Relation Name"])
  }
})

/** The neighbours of a proof's leaf, and those of the last leaf: a tile each on every level. */
const maxRowsOfProof = 2 * 256 * 3
const isProof = (read: Read) => /\/log\/(proof|settlement)\//.test(read.route)

/** Pages with contents that no endpoint has. */
const pagesOfTheirOwn = [
  pagePaths.home,
  pagePaths.challenges,
  pagePaths.challenge,
  pagePaths.asset,
  pagePaths.search,
  pagePaths.event,
  pagePaths.agent,
  pagePaths.leaderboard,
  pagePaths.credit,
  pagePaths.apiKeys
]
/** Administrators' reads of tables that grow with use. */
const adminLists = ["purchases", "audit"].map((name) => `/api/v1/admin/${name}`)
/** Jobs that look for work among rows that stay when their work is done. */
const jobs = ["schedules"]

/** Charts look up each point that they draw, or each of an agent's latest predictions, and no more of them. */
const maxRowsOfChart = 1200
const maxPagesOfChart = 5000
const isSearch = ({ route }: Read) => route === `GET ${pagePaths.search}`
const isChart = ({ route }: Read) =>
  route === `GET ${pagePaths.challenge}` ||
  route === `GET ${pagePaths.agent}` ||
  route === "GET /api/v1/eval/agents/:agent_id/skill" ||
  route === "GET /api/v1/eval/compare"

/** A rank is counted from the top of the board, so a page far down reads all rows above it. */
const isCounted = (read: Read) => read.route.endsWith("/leaderboard") && read.page === "last"

/** Questions of a common asset are found among all, which lie side by side, after those that have not ended. */
const maxRowsOfAsset = 1000

const mostRowsOf = (read: Read): number => {
  if (/^of (GC|crypto)/.test(read.variant) || isSearch(read)) return maxRowsOfAsset
  if (isChart(read)) return maxRowsOfChart
  return isProof(read) ? maxRowsOfProof : maxRows
}

// The real clock runs: the seed's rows are dated by it.
layer(Layer.effect(Grown, makeGrown), { excludeTestServices: true })("The plan of every read", (it) => {
  it.effect("The plan of every endpoint that agents and the public read is looked at", () =>
    Effect.gen(function* () {
      const { growing, reads } = yield* Grown
      const names = routes
        .filter(
          ({ caller, method, name }) =>
            method === "GET" &&
            caller !== "administrator" &&
            !/\/(health\/|\.well-known\/|spaces$)/.test(name)
        )
        .map(({ name }) => name)
        .concat(Object.values(logPaths).map((path) => `GET ${path}`))
        .concat([...pagesOfTheirOwn, ...adminLists].map((path) => `GET ${path}`))
        .concat(jobs)
      assert.deepStrictEqual([...new Set(reads.map(({ route }) => route))].sort(), names.sort())
      for (const table of [
        "predictions",
        "prediction_scores",
        "challenges",
        "price_points",
        "agent_stats",
        "settlements",
        "log_entries",
        "pool_bins",
        "comments",
        "comment_counts",
        "comment_likes",
        "gateway_calls",
        "notices"
      ]) {
        assert.include(growing, table)
      }
    })
  )

  it.effect("A read scans no growing table, and reads few rows and pages for a page of any list", () =>
    Effect.gen(function* () {
      const { reads } = yield* Grown
      for (const read of oneIn(8, reads)) {
        const statements = yield* Effect.forEach(read.sent, (statement) =>
          lookedAt(statement, isSearch(read) ? searchPlanning : {})
        )
        assert.isAtLeast(statements.length, 1, titleOf(read))
        assert.deepStrictEqual(
          // So few agents are searched as fast without an index.
          statements
            .flatMap(({ scanned }) => scanned)
            .filter((table) => !(isSearch(read) && table === "agents")),
          [],
          titleOf(read)
        )
        const pages = statements.reduce((sum, statement) => sum + statement.pages, 0)
        assert.isAtMost(pages, isChart(read) ? maxPagesOfChart : maxPages, titleOf(read))
        if (isCounted(read)) continue
        assert.isAtMost(Math.max(...statements.map(({ rows }) => rows)), mostRowsOf(read), titleOf(read))
      }
    })
  )

  it.effect("A read of challenges by deadline finds them in order, however many have one deadline", () =>
    Effect.gen(function* () {
      const { client, reads } = yield* Grown
      const byDeadline = reads.filter(
        ({ route, variant }) => route === `GET ${pagePaths.challenges}` && /^(open|closed)/.test(variant)
      )
      assert.isAtLeast(byDeadline.length, 3)
      for (const statement of byDeadline.flatMap(({ sent }) => sent)) {
        const [execution] = yield* executions(statement, 1).pipe(Effect.provide(client))
        assert(execution !== undefined)
        const types = nodesOf(execution.plan).map((node) => node["Node Type"])
        assert.deepStrictEqual(
          types.filter((type) => type.endsWith("Sort")),
          []
        )
      }
    })
  )

  it.effect("A scan of a growing table would be found out", () =>
    Effect.gen(function* () {
      const { pages, rows, scanned } = yield* lookedAt({
        text: "select * from predictions where confidence = $1::numeric order by id limit $2",
        params: ["0.5", 20]
      })
      assert.deepStrictEqual(scanned, ["predictions"])
      assert.isAbove(rows, maxRows)
      assert.isAbove(pages, maxPages / 2)
    })
  )

  it.effect(
    "A read of an agent with 5000 revisions reads each once, in no more pages than as many questions",
    () =>
      Effect.gen(function* () {
        const { client, url } = yield* Grown
        // This is last, since further rows make the indexes deeper by which others are measured.
        yield* revised.pipe(Effect.provide(client))
        const ofAgents = yield* sentBy(
          url,
          [busiest, ...Object.keys(revisers).map(Number)].flatMap(readsOfAgent)
        )
        const costs = yield* Effect.forEach(ofAgents, ({ agent, name, sent }) =>
          Effect.map(
            Effect.forEach(sent, (statement) => lookedAt(statement)),
            (statements) => ({
              agent,
              name,
              pages: statements.reduce((sum, { pages }) => sum + pages, 0),
              rows: Math.max(...statements.map(({ rows }) => rows))
            })
          )
        )
        for (const { agent, name, pages, rows } of costs.filter((cost) => cost.agent !== busiest)) {
          const plain = costs.find((cost) => cost.agent === busiest && cost.name === name)
          assert.isAtMost(rows, revisions + maxRows, `${name} of agent ${agent}`)
          // A list of one's own predictions stops after a page of single answers, and walks revisions to their end.
          const most =
            name === ownPredictions ? 5 * revisions : ((plain?.pages ?? 0) * revisions) / answersOfBusiest
          assert.isAtMost(pages, most, `${name} of agent ${agent}`)
        }
      })
  )
})
