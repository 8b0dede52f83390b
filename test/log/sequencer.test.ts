import { assert, layer } from "@effect/vitest"
import { Effect, Exit, Fiber, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { LogSequencer } from "../../src/services/LogSequencer.ts"
import { rootOf, leafHash } from "../../src/layers/postgres/log/frontier.ts"
import { times } from "../support/concurrently.ts"
import { claimedAgents } from "../support/agents.ts"
import {
  freshWeek,
  importQuotes,
  moveTo,
  newChallenge,
  plus,
  predict,
  settleDue
} from "../support/challenges.ts"
import { held, meeting } from "../support/locking.ts"
import { addPending, anotherSequencer, checkpoints, entries, logState, oneTree } from "../support/logbook.ts"
import { testServices } from "../support/services.ts"
import { asOwner, rowsOf } from "../support/database.ts"

const sequence = LogSequencer.use((sequencer) => sequencer.sequence)
const publish = LogSequencer.use((sequencer) => sequencer.publish)

layer(testServices())("Sequencing", (it) => {
  it.effect("Sequencing gives indices in the order of the records, and then finds nothing", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const agents = yield* claimedAgents(3)
      assert.strictEqual(yield* sequence, 6)
      const challenge = yield* newChallenge()
      yield* Effect.forEach(agents, (agent) => predict(agent, challenge))
      assert.strictEqual(yield* sequence, 4)
      assert.strictEqual(yield* sequence, 0)
      assert.deepStrictEqual(
        (yield* entries).slice(6).map(({ type }) => type),
        ["challenge.create", ...times(3, () => "prediction.commit")]
      )
      yield* publish
      yield* publish
      assert.strictEqual(yield* oneTree, 10)
      assert.deepStrictEqual(
        (yield* checkpoints).map(({ size }) => size),
        [10]
      )
    })
  )

  it.effect("Sequencing counts in a close the commits of its own batch, also those of earlier ones", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const agents = yield* claimedAgents(5)
      yield* sequence
      const challenge = yield* newChallenge()
      yield* Effect.forEach(agents.slice(0, 2), (agent) => predict(agent, challenge))
      const before = (yield* logState).size
      yield* sequence
      yield* Effect.forEach(agents.slice(2), (agent) => predict(agent, challenge))
      yield* importQuotes("GC", [[plus(monday, "1 hour"), 105]])
      yield* moveTo(plus(monday, "2 hours"))
      yield* settleDue
      yield* sequence
      const all = (yield* entries).filter((entry) => entry.challenge_id === challenge.id)
      assert.deepStrictEqual(
        all.map(({ type }) => type),
        ["challenge.create", ...times(5, () => "prediction.commit"), "challenge.close", "settlement"]
      )
      const commits = all.slice(1, 6)
      const close = all[6]
      assert.deepStrictEqual(
        [close?.json["commits"], close?.json["last_index"], close?.json["root"]],
        [
          5,
          before + 5,
          rootOf(commits.map(({ json }) => leafHash(Buffer.from(String(json["c"]), "hex")))).toString("hex")
        ]
      )
      const expected = yield* rowsOf(
        Schema.Struct({ due_at: Schema.DateTimeUtcFromDate }),
        (sql) => sql`
        select due_at from log_reveals where challenge_id = ${challenge.id}::uuid`
      )
      assert.deepStrictEqual(expected, [{ due_at: plus(monday, "1 hour") }])
      yield* oneTree
    })
  )

  it.effect("Sequencing goes on across tiles, and a tree that was built in one go is the same", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const fill = (count: number) => sql`
        insert into log_pending (type, entry)
        select 'key.rotate', convert_to('{"n":' || i || '}', 'UTF8') from generate_series(1, ${count}::int) i`
      for (const count of [1, 250, 256, 3, 4097, 255]) {
        yield* fill(count)
        while ((yield* sequence) > 0) yield* publish
        assert.strictEqual((yield* logState).pending, 0)
      }
      yield* publish
      yield* oneTree
    })
  )

  it.effect("Sequencing stores nothing of a batch of which something is gone from the outbox meanwhile", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const before = (yield* logState).size
      yield* addPending(5)
      // The batch has been read when it waits for this table.
      const holding = yield* held(
        sql`alter table log_pending disable trigger user`.pipe(
          Effect.andThen(sql`delete from log_pending where id = (select min(id) from log_pending)`)
        ),
        asOwner
      )
      const storing = yield* meeting(sequence)
      yield* holding.commit
      yield* asOwner(sql`alter table log_pending enable trigger user`)
      const exit = yield* Fiber.await(storing)
      assert(Exit.isFailure(exit))
      assert.match(String(exit.cause), /only 4 of 5 entries were still pending/)
      assert.strictEqual((yield* logState).size, before)
      assert.strictEqual(yield* sequence, 4)
      assert.strictEqual(yield* oneTree, before + 4)
    })
  )

  it.effect("Sequencing stores nothing when another moved the log, and all of it in the next pass", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const other = yield* anotherSequencer()
      const before = (yield* logState).size
      yield* addPending(3)
      const holding = yield* held(sql`lock table log_nodes in exclusive mode`, asOwner)
      const first = yield* meeting(sequence)
      const second = yield* meeting(other.sequence)
      yield* holding.commit
      const counts = [yield* Fiber.join(first), yield* Fiber.join(second)]
      assert.deepStrictEqual(counts.toSorted(), [0, 3])
      assert.strictEqual(yield* oneTree, before + 3)
      yield* addPending(2)
      assert.strictEqual(yield* other.sequence, 2)
      yield* addPending(2)
      assert.strictEqual(yield* sequence, 2)
      assert.strictEqual(yield* oneTree, before + 7)
    })
  )
})
