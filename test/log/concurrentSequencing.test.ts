/** Several instances keep one log at once, and entries commit in another order than they got their ids. */
import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Random } from "effect"
import { SqlClient } from "effect/sql"
import { Audit } from "../../src/services/Audit.ts"
import { LogSequencer } from "../../src/services/LogSequencer.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import { breadth } from "../support/breadth.ts"
import { times } from "../support/concurrently.ts"
import { claimedAgents } from "../support/agents.ts"
import { freshWeek, importQuotes, moveTo, newChallenge, plus, predict } from "../support/challenges.ts"
import { addPending, anotherSequencer, checkpoints, entries, logState, oneTree } from "../support/logbook.ts"
import { testServices } from "../support/services.ts"

const pass = (sequencer: LogSequencer["Service"]) => Effect.andThen(sequencer.sequence, sequencer.publish)

layer(testServices())("Two sequencers at once", (it) => {
  it.effect("Two sequencers at once never fork the log, and lose and repeat nothing", () =>
    Effect.gen(function* () {
      const sequencers = [yield* LogSequencer, yield* anotherSequencer(), yield* anotherSequencer()]
      let queued = 0
      for (let round = 0; round < breadth(15, 50); round++) {
        const counts = yield* Effect.all(times(3, () => Random.nextIntBetween(0, 120)))
        const work = [
          ...counts.map((count) => addPending(count)),
          ...sequencers.flatMap((sequencer) => [pass(sequencer), sequencer.publish, sequencer.sequence])
        ]
        yield* Effect.all(yield* Random.shuffle(work), { concurrency: "unbounded" })
        queued += counts.reduce((sum, count) => sum + count, 0)
      }
      while ((yield* logState).pending > 0) for (const sequencer of sequencers) yield* pass(sequencer)
      for (const sequencer of sequencers) assert.isNull(yield* sequencer.fault)
      assert.strictEqual(yield* oneTree, queued)
      assert.isAtLeast((yield* checkpoints).length, breadth(10, 40))
    })
  )
})

layer(testServices())("Entries that are composed when they get their index", (it) => {
  it.effect("Entries are composed once, whoever is at it, and a close counts all commits before it", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const sequencers = [yield* LogSequencer, yield* anotherSequencer(), yield* anotherSequencer()]
      const agents = yield* claimedAgents(4)
      const open = yield* Effect.forEach(times(12, String), () => newChallenge())
      yield* importQuotes("GC", [[plus(monday, "1 hour"), 105]])
      for (const agent of agents) {
        yield* Effect.all(
          yield* Random.shuffle([
            ...open.map((challenge) => predict(agent, challenge)),
            ...sequencers.map((sequencer) => pass(sequencer))
          ]),
          { concurrency: "unbounded" }
        )
      }
      yield* moveTo(plus(monday, "2 hours"))
      const busy = times(12, () => sequencers).flatMap((all) => all.map(pass))
      yield* Effect.all([Scoring.use((scoring) => scoring.settleDue), ...busy], { concurrency: "unbounded" })
      while ((yield* logState).pending > 0) for (const sequencer of sequencers) yield* pass(sequencer)
      for (const sequencer of sequencers) assert.isNull(yield* sequencer.fault)
      const all = yield* entries
      // An agent's registration and its claim; a challenge's making, its commits, its close and its settlement.
      assert.strictEqual(yield* oneTree, 2 * agents.length + open.length * (1 + agents.length + 2))
      const closes = all.filter(({ type }) => type === "challenge.close")
      assert.deepStrictEqual(
        closes.map(({ json }) => json["commits"]),
        open.map(() => agents.length)
      )
      const { differences } = yield* Audit.use(({ verifyLog }) => verifyLog)
      assert.deepStrictEqual(differences, [])
    })
  )
})

layer(testServices())("An entry that gets its id first and commits last", (it) => {
  it.effect("An entry that commits late gets its index, however far the outbox was emptied beyond it", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const sequencer = yield* LogSequencer
      const resume = yield* Deferred.make<void>()
      const queued = yield* Deferred.make<void>()
      yield* addPending(5)
      const late = yield* Effect.forkChild(
        sql.withTransaction(
          Effect.gen(function* () {
            yield* sql`insert into log_pending (type, entry) values ('key.rotate', ${Buffer.from('{"n":"late"}')})`
            yield* Deferred.succeed(queued, undefined)
            yield* Deferred.await(resume)
          })
        )
      )
      yield* Deferred.await(queued)
      for (let round = 0; round < 5; round++) {
        yield* addPending(3)
        yield* sequencer.sequence
        yield* sequencer.sequence
      }
      assert.strictEqual((yield* entries).length, 20)
      yield* Deferred.succeed(resume, undefined)
      yield* Fiber.join(late)
      assert.strictEqual(yield* sequencer.sequence, 1)
      assert.deepStrictEqual((yield* entries).at(-1)?.json, { n: "late" })
      yield* sequencer.publish
      yield* oneTree
    })
  )
})
