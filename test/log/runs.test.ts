/** The entries of predictions stay where they were recorded; the log has which of them follow each other. */
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { placeOf } from "../../src/layers/postgres/log/leafIndex.ts"
import { runsOf } from "../../src/layers/postgres/log/runs.ts"
import { findAll } from "../../src/layers/postgres/sql.ts"
import { LogAudit } from "../../src/services/LogAudit.ts"
import { TransparencyLog } from "../../src/services/TransparencyLog.ts"
import { claimedAgent, freshWeek, newChallenge, predict } from "../support/builders.ts"
import { keepLog } from "../support/log/keeping.ts"
import { entries, oneTree } from "../support/logbook.ts"
import { manyAgents, predictionsOf } from "../support/manyPredictions.ts"
import { openPrediction } from "../support/openPrediction.ts"
import { testServices } from "../support/services.ts"
import { asOwner } from "../support/database.ts"

const Run = Schema.Struct({ first: Schema.Int, predictions: Schema.Int })

const runs = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return yield* findAll(Run)(sql`
    select first::float8 as first, run_length(ids)::int as predictions
      from log_runs order by first`)
})

/** The log begins with registrations and claims, which fill tiles of their own. */
const agents = 640
const begun = 2 * agents

/** Predictions that fill two tiles and a part of the third, with other things between them, and one that is late. */
const mixed = Effect.gen(function* () {
  const now = yield* freshWeek
  yield* manyAgents(agents - 1)
  const agent = yield* claimedAgent()
  const challenge = yield* newChallenge()
  const late = yield* openPrediction(agent, challenge)
  yield* predictionsOf(challenge.id, { from: 0, to: 99 }, now)
  for (let n = 0; n < 3; n++) yield* newChallenge()
  yield* predictionsOf(challenge.id, { from: 100, to: 599 }, now)
  yield* keepLog
  yield* late.commits
  yield* keepLog
  return challenge
})

layer(testServices())("A log of predictions", (it) => {
  it.effect("has a row for those that follow each other within a tile, and one for each that was late", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* mixed
      // The making of the challenge stands before them, and three other things after the first hundred.
      assert.deepStrictEqual(yield* runs, [
        { first: begun + 1, predictions: 100 },
        { first: begun + 104, predictions: 152 },
        { first: begun + 256, predictions: 256 },
        { first: begun + 512, predictions: 92 }
      ])
      const rows = yield* findAll(Schema.Struct({ index: Schema.Int, type: Schema.String }))(sql`
        select index::float8 as index, type from log_entries where index > ${begun}::int8 order by index`)
      assert.deepStrictEqual(rows, [
        ...[101, 102, 103].map((place) => ({ index: begun + place, type: "challenge.create" })),
        { index: begun + 604, type: "prediction.commit" }
      ])
      assert.strictEqual(yield* oneTree, begun + 605)
      assert.deepStrictEqual((yield* LogAudit.use(({ audit }) => audit)).differences, [])
    })
  )

  it.effect("knows the place of each, also by its commit", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const log = yield* TransparencyLog
      const places = yield* findAll(Schema.Struct({ commit: Schema.String, place: Schema.Int }))(sql`
        select encode(commit, 'hex') as commit, (${placeOf(sql)})::float8 as place from predictions p`)
      const stored = new Map((yield* entries).map(({ index, json }) => [json["c"], index]))
      assert.strictEqual(places.length, 601)
      for (const { commit, place } of places) assert.strictEqual(place, stored.get(commit))
      for (const { commit, place } of places.slice(0, 20)) {
        const { entry, leaf_index } = yield* log.entryOf(commit)
        assert.strictEqual(leaf_index, place)
        assert.include(entry, commit)
      }
    })
  )

  const index = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 700 }))
  it.effect.prop(
    "is read in any range as it is read whole",
    [index, index],
    ([from, past]) =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const read = yield* findAll(Schema.Struct({ index: Schema.Int, entry: Schema.String }))(sql`
          select index::float8 as index, convert_from(entry, 'UTF8') as entry
            from log_recorded(${BigInt(from)}::int8, ${BigInt(past)}::int8) order by index`)
        assert.deepStrictEqual(
          read,
          (yield* entries)
            .slice(from, Math.max(from, past))
            .map((each) => ({ index: each.index, entry: Buffer.from(each.entry).toString() }))
        )
      }),
    { arbitrary: { runs: 60 } }
  )
})

const place = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 600 }))

describe("The runs of a part", () => {
  it.effect.prop(
    "are all that is not apart, in its order, as long as they can be, and none is in two tiles",
    [place, place, Schema.Array(place)],
    ([size, entries, places]) =>
      Effect.sync(() => {
        const apart = [...new Set(places.filter((each) => each < entries))]
        const found = runsOf(size, entries, apart)
        const within = found.flatMap(({ first, last }) =>
          Array.from({ length: last - first + 1 }, (_, n) => first + n)
        )
        assert.deepStrictEqual(
          within,
          Array.from({ length: entries }, (_, each) => each).filter((each) => !apart.includes(each))
        )
        const tileOf = (each: number) => Math.floor((size + each) / 256)
        for (const [n, { first, last }] of found.entries()) {
          assert.strictEqual(tileOf(first), tileOf(last))
          const next = found[n + 1]
          assert.isTrue(next?.first !== last + 1 || tileOf(next.first) > tileOf(last))
        }
      }),
    { arbitrary: { runs: 200 } }
  )
})

layer(testServices())("What an instance of the version before recorded", (it) => {
  it.effect("gets its place with the same bytes, which nobody had written", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* freshWeek
      const challenge = yield* newChallenge()
      const { answer } = yield* predict(yield* claimedAgent(), challenge)
      const [written] = yield* findAll(Schema.Struct({ entry: Schema.String }))(sql`
        select convert_from(entry, 'UTF8') as entry from predictions`)
      yield* asOwner(sql`alter table predictions disable trigger user`)
      yield* asOwner(sql`update predictions set entry = null`)
      yield* asOwner(sql`alter table predictions enable trigger user`)
      yield* keepLog
      const { entry, leaf_index } = yield* TransparencyLog.use((log) =>
        log.entryOf(answer.receipt?.commit ?? "")
      )
      // After the making of the challenge, and the registration and the claim of the agent.
      assert.deepStrictEqual({ entry, leaf_index }, { entry: written?.entry ?? null, leaf_index: 3 })
      assert.strictEqual(yield* oneTree, 4)
      assert.deepStrictEqual((yield* LogAudit.use(({ audit }) => audit)).differences, [])
    })
  )
})
