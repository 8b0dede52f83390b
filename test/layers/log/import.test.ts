/** What was recorded before there was a log enters it when the database is migrated, and the log goes on from there. */
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect, Layer, Schema } from "effect"
import { Migrator, SqlClient } from "effect/sql"
import * as Database from "../../../src/layers/postgres/Database.ts"
import { services } from "../../../src/layers/postgres/layer.ts"
import { leafHash, rootOf } from "../../../src/layers/postgres/log/frontier.ts"
import { migrations } from "../../../src/layers/postgres/migrations/index.ts"
import { LogAudit } from "../../../src/services/LogAudit.ts"
import { LogKeeper } from "../../../src/services/LogKeeper.ts"
import { Registry } from "../../../src/services/Registry.ts"
import { Scoring } from "../../../src/services/Scoring.ts"
import { importQuotes, instant, moveTo, predict, rowsOf } from "../../support/builders.ts"
import { emptyDatabase, poolOn } from "../../support/database.ts"
import { entries, logState, oneTree } from "../../support/logbook.ts"
import { logSigner } from "../../support/logSigner.ts"
import { mailbox } from "../../support/mailbox.ts"
import { manyAgents } from "../../support/manyPredictions.ts"
import { someOperator } from "../../support/operators.ts"
import { agentsOf } from "../../support/pools.ts"
import { settings } from "../../support/settings.ts"

/** As the program before the log left its databases. */
const migrateTo0011 = Migrator.make({})({
  loader: Migrator.fromRecord(
    Object.fromEntries(Object.entries(migrations).filter(([name]) => name < "0012"))
  )
})

const deadline = "2026-03-02T12:00:00Z"

/** Agents that somebody has claimed, written by SQL: the service has columns now that their table did not have yet. */
const claimedThen = (count: number) =>
  Effect.flatMap(someOperator, (owner) => agentsOf(Array.from({ length: count }, () => owner)))

/** Ends of a challenge whose deadline is noon; `stamps` of its predictions, one agent each. */
interface Old {
  readonly created: string
  readonly deadline?: string
  readonly closed?: string
  readonly resolved?: string
  readonly cancelled?: string
  readonly settled?: string
  readonly stamps: ReadonlyArray<string>
}

const olds = {
  open: {
    created: "2026-03-02T01:00:00Z",
    deadline: "2026-04-01T00:00:00Z",
    stamps: ["2026-03-02T02:00:00Z", "2026-03-03T02:00:00Z"]
  },
  untouched: { created: "2026-03-02T01:00:00Z", deadline: "2026-04-01T00:00:00Z", stamps: [] },
  closed: {
    created: "2026-03-02T01:00:00Z",
    closed: "2026-03-02T12:01:00Z",
    stamps: ["2026-03-02T03:00:00Z", "2026-03-02T11:59:59.999Z"]
  },
  resolved: {
    created: "2026-03-02T01:00:00Z",
    closed: "2026-03-02T12:01:00Z",
    resolved: "2026-03-02T13:00:00Z",
    settled: "2026-03-02T13:00:00Z",
    stamps: ["2026-03-02T04:00:00Z", "2026-03-02T04:00:00Z", "2026-03-02T05:00:00Z"]
  },
  resolvedByAClockBehind: {
    created: "2026-03-02T01:00:00Z",
    closed: "2026-03-02T12:01:00.500Z",
    resolved: "2026-03-02T12:01:00Z",
    settled: "2026-03-02T12:01:00Z",
    stamps: ["2026-03-02T04:00:00Z"]
  },
  createdByAClockAhead: {
    created: "2026-03-02T01:00:00Z",
    closed: "2026-03-02T12:01:00Z",
    stamps: ["2026-03-02T00:59:59Z"]
  },
  cancelledOpen: {
    created: "2026-03-02T01:00:00Z",
    cancelled: "2026-03-02T06:00:00Z",
    stamps: ["2026-03-02T05:00:00Z"]
  },
  // The cancellation waited for a prediction that was stamped after it.
  cancelledMeanwhile: {
    created: "2026-03-02T01:00:00Z",
    cancelled: "2026-03-02T06:00:00Z",
    stamps: ["2026-03-02T06:00:00.001Z"]
  },
  cancelledClosed: {
    created: "2026-03-02T01:00:00Z",
    closed: "2026-03-02T12:01:00Z",
    cancelled: "2026-03-09T12:01:00Z",
    stamps: ["2026-03-02T05:00:00Z"]
  },
  cancelledPastItsDeadline: {
    created: "2026-03-02T01:00:00Z",
    cancelled: "2026-03-02T12:00:01Z",
    stamps: []
  }
} satisfies Record<string, Old>

const idOf = (name: string) =>
  `00000000-0000-7000-8000-${Object.keys(olds).indexOf(name).toString().padStart(12, "0")}`

/** Written as the program did that knew no log. */
const write = Effect.fnUntraced(function* (name: string, old: Old, agents: ReadonlyArray<string>) {
  const sql = yield* SqlClient.SqlClient
  const id = idOf(name)
  const until = old.deadline ?? deadline
  yield* sql`
    insert into challenges
      (id, type, kind, target, question, created_at, deadline, resolve_at, close_price_until, cancel_at, open_price,
       dead_zone_pct, resolution_criteria, resolution_criteria_zh, closed_at, resolved_at, cancelled_at, cancel_reason)
    values (${id}::uuid, 'directional', 'session', 'GC', ${name}, ${old.created}::timestamptz, ${until}::timestamptz,
            ${until}::timestamptz, '2026-05-01', '2026-05-01', 100.50, 1.0, 'criteria', 'criteria',
            ${old.closed ?? null}::timestamptz, ${old.resolved ?? null}::timestamptz, ${old.cancelled ?? null}::timestamptz,
            ${old.cancelled === undefined ? null : "a reason"})`
  for (const [index, stamp] of old.stamps.entries()) {
    yield* sql`
      insert into predictions
        (challenge_id, agent_id, revision, id, direction, confidence, received_at, deadline, salt, body, commit)
      select ${id}::uuid, ${agents[index] ?? ""}::uuid, r, uuidv7(), 'bullish', 0.25, ${stamp}::timestamptz,
             ${until}::timestamptz, salt, body,
             sha256(convert_to('auspex/commit/v1', 'UTF8') || '\\x00' || salt || body)
        from generate_series(0, ${index}::int) r
       cross join lateral (
         select sha256(convert_to(${name + stamp + index}::text || r, 'UTF8')) as salt,
                convert_to('{"body of":"' || ${name}::text || '"}', 'UTF8') as body) s`
  }
  if (old.settled !== undefined) {
    yield* sql`
      insert into settlements
        (challenge_id, version, result, open_price, close_price, dead_zone_pct, source, observed_at, settled_at, day)
      values (${id}::uuid, 1, 'bullish', 100.50, 102.00, 1.0, 'admin quote', ${until}::timestamptz,
              ${old.settled}::timestamptz, '2026-03-02')`
    yield* sql`
      insert into prediction_scores
      select distinct on (agent_id) challenge_id, 1, agent_id, revision, true, 62.500
        from predictions where challenge_id = ${id}::uuid order by agent_id, revision desc`
  }
})

const keep = LogKeeper.use(({ sequence, publish, revealDue }) =>
  Effect.repeat(
    Effect.gen(function* () {
      const revealed = yield* revealDue
      const sequenced = yield* sequence
      yield* publish
      return revealed + sequenced
    }),
    { while: (done) => done > 0 }
  )
)

const ofChallenge = (name: string) =>
  Effect.map(entries, (all) => all.filter(({ challenge_id }) => challenge_id === idOf(name)))

const Commit = Schema.Struct({ commit: Schema.String })

/** As the program left its databases whose log had no agents. */
const migrateTo0038 = Migrator.make({})({
  loader: Migrator.fromRecord(
    Object.fromEntries(Object.entries(migrations).filter(([name]) => name < "0039"))
  )
})

const many = 20_000

describe("A database from before agents were in the log", () => {
  it.effect(
    "has the registration and the claim of each in the log once, however many there are, and goes on from there",
    () =>
      Effect.gen(function* () {
        const client = poolOn(yield* emptyDatabase)
        const everything = services.pipe(
          Layer.provideMerge(Layer.mergeAll(client, settings(), mailbox, logSigner()))
        )
        yield* Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          yield* moveTo(instant("2026-03-10T00:00:00Z"))
          yield* migrateTo0038
          yield* sql.withTransaction(Effect.andThen(sql`set local statement_timeout = 0`, manyAgents(many)))
          const [unclaimed = assert.fail()] = yield* agentsOf([null])
          assert.strictEqual((yield* logState).pending, 0)
          yield* Database.migrate("global")
          yield* Database.migrate("global")
          assert.strictEqual((yield* logState).pending, 2 * many + 1)
          const waiting = yield* rowsOf(
            Schema.Struct({ type: Schema.String, imported: Schema.Boolean, count: Schema.Int }),
            (client) => client`
              select type, imported, count(*)::int as count from log_pending group by type, imported order by type desc`
          )
          assert.deepStrictEqual(waiting, [
            { type: "agent.register", imported: true, count: many + 1 },
            { type: "agent.claim", imported: true, count: many }
          ])

          // The audit finds each of them, wherever it is.
          const audit = LogAudit.use(({ audit }) => audit)
          const before = yield* audit
          assert.deepStrictEqual([before.agents, before.differences], [many + 1, []])
          // What is left is enough to tell that the others are missed.
          yield* sql`delete from log_pending where id not in (select id from log_pending order by id limit 600)`
          yield* keep
          assert.strictEqual(yield* oneTree, 600)
          const after = yield* audit
          assert.strictEqual(after.difference_count, 2 * many + 1 - 600)
          assert.match(after.differences.join("\n"), /its claim \(claimed_at, owner_id\) is not in the log/)

          yield* Registry.use((registry) => registry.rotateSecret(unclaimed, "keep"))
          const [rotated] = yield* rowsOf(
            Schema.Struct({ type: Schema.String, imported: Schema.Boolean }),
            (client) => client`select type, imported from log_pending`
          )
          assert.deepStrictEqual(rotated, { type: "agent.key", imported: false })
        }).pipe(Effect.provide(everything))
      }).pipe(Effect.scoped),
    180_000
  )
})

describe("A database from before the log", () => {
  it.effect("has all that it recorded in the log once, each thing after what it follows from", () =>
    Effect.gen(function* () {
      const client = poolOn(yield* emptyDatabase)
      const everything = services.pipe(
        Layer.provideMerge(Layer.mergeAll(client, settings(), mailbox, logSigner()))
      )
      yield* Effect.gen(function* () {
        yield* moveTo(instant("2026-03-10T00:00:00Z"))
        yield* migrateTo0011
        const agents = yield* claimedThen(3)
        for (const [name, old] of Object.entries(olds)) yield* write(name, old, agents)
        yield* Database.migrate("global")
        yield* Database.migrate("global")
        yield* keep
        const imported = yield* entries

        for (const [name, old] of Object.entries<Old>(olds)) {
          const stored = yield* rowsOf(
            Commit,
            (sql) => sql`
              select encode(commit, 'hex') as commit from predictions where challenge_id = ${idOf(name)}::uuid
               order by received_at, id`
          )
          const own = yield* ofChallenge(name)
          assert.deepStrictEqual(
            own.map(({ type }) => type),
            [
              "challenge.create",
              ...stored.map(() => "prediction.commit"),
              ...((old.closed ?? old.cancelled) === undefined ? [] : ["challenge.close"]),
              ...(old.settled === undefined ? [] : ["settlement"]),
              ...(old.cancelled === undefined ? [] : ["void"])
            ],
            name
          )
          for (const { json, type } of own)
            assert.deepStrictEqual([json["type"], json["of"]], ["import", type])

          const commits = own.filter(({ type }) => type === "prediction.commit")
          assert.deepStrictEqual(
            commits.map(({ json }) => json["c"]).toSorted(),
            stored.map(({ commit }) => commit).toSorted()
          )
          const close = own.find(({ type }) => type === "challenge.close")
          if (close !== undefined) {
            assert.deepStrictEqual(close.json, {
              challenge_id: idOf(name),
              closed_at: DateTime.formatIso(instant(old.closed ?? old.cancelled ?? "")),
              commits: commits.length,
              last_index: commits.at(-1)?.index ?? null,
              of: "challenge.close",
              root: rootOf(
                commits.map(({ json }) => leafHash(Buffer.from(String(json["c"]), "hex")))
              ).toString("hex"),
              type: "import"
            })
          }
        }
        const settlement = (yield* ofChallenge("resolved")).find(({ type }) => type === "settlement")
        assert.deepInclude(settlement?.json, {
          version: 1,
          scores: 3,
          open_price: "100.5",
          observation: "102",
          fetched_at: null,
          root: rootOf(
            agents.toSorted().map((agent) => leafHash(Buffer.from(`{"agent_id":"${agent}","score":"62.5"}`)))
          ).toString("hex")
        })

        // Everything that is past its deadline, and that alone, is revealed.
        const due = imported.filter(
          ({ challenge_id, type }) => type === "prediction.commit" && challenge_id !== idOf("open")
        )
        assert.deepStrictEqual(
          imported
            .filter(({ type }) => type === "prediction.reveal")
            .map(({ json }) => Number(json["commit_index"]))
            .toSorted((one, other) => one - other),
          due.map(({ index }) => index)
        )
        assert.strictEqual((yield* logState).pending, 0)
        assert.strictEqual(yield* oneTree, imported.length)
      }).pipe(Effect.provide(everything))
    }).pipe(Effect.scoped)
  )

  it.effect(
    "goes on as any other: what was open takes predictions, closes over old and new, and is settled",
    () =>
      Effect.gen(function* () {
        const client = poolOn(yield* emptyDatabase)
        const everything = services.pipe(
          Layer.provideMerge(Layer.mergeAll(client, settings(), mailbox, logSigner()))
        )
        yield* Effect.gen(function* () {
          yield* moveTo(instant("2026-03-10T00:00:00Z"))
          yield* migrateTo0011
          const agents = yield* claimedThen(3)
          yield* write("open", olds.open, agents)
          yield* Database.migrate("global")
          yield* predict(agents[2] ?? assert.fail(), { id: idOf("open") })
          yield* keep
          yield* moveTo(instant("2026-04-01T00:10:00Z"))
          yield* importQuotes("GC", [[instant("2026-04-01T00:00:00Z"), 110]])
          yield* Scoring.use((scoring) => scoring.settleDue)
          yield* keep
          const own = yield* ofChallenge("open")
          assert.deepStrictEqual(
            own.map(({ json }) => json["of"] ?? json["type"]),
            [
              "challenge.create",
              ...Array.from({ length: 4 }, () => "prediction.commit"),
              "challenge.close",
              "settlement"
            ]
          )
          assert.deepStrictEqual(
            own.map(({ json }) => json["type"] === "import"),
            [true, true, true, true, false, false, false]
          )
          assert.deepStrictEqual([own[5]?.json["commits"], own[5]?.json["last_index"]], [4, own[4]?.index])
          assert.lengthOf(
            (yield* entries).filter(({ type }) => type === "prediction.reveal"),
            4
          )
          yield* oneTree
        }).pipe(Effect.provide(everything))
      }).pipe(Effect.scoped)
  )
})
