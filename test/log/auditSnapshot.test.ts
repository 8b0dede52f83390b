/** An audit says what follows from its snapshot: neither more than that, nor less. */
import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { SqlClient } from "effect/sql"
import { Audit } from "../../src/services/Audit.ts"
import { isFull } from "../support/breadth.ts"
import { claimedAgent } from "../support/agents.ts"
import { freshWeek, instant, newChallenge, predict } from "../support/challenges.ts"
import { completeLog, logState } from "../support/logbook.ts"
import { loggedFixture } from "../support/loggedFixture.ts"
import { testServices } from "../support/services.ts"
import { asOwner, countOf } from "../support/database.ts"
import { withoutTriggers } from "../support/tampering.ts"

const audited = Audit.use(({ verifyLog }) => verifyLog)

/** Counts waiters of this database alone: locks of other tests' databases are in the same view. */
const waiters = countOf(
  (sql) => sql`
    select count(*)::int as count from pg_locks
     where not granted and database = (select oid from pg_database where datname = current_database())`
)

const longWaiters = countOf(
  (sql) => sql`
    select count(*)::int as count from pg_locks
     where not granted and clock_timestamp() - waitstart > interval '4.5 seconds'`
)

layer(testServices())("An audit of the public log", (it) => {
  it.effect("An audit does not clear a fault that was found after its snapshot", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* loggedFixture
      const [held, free] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const elsewhere = yield* Effect.forkChild(
        asOwner(
          Effect.gen(function* () {
            yield* sql`lock table log_cosignatures in access exclusive mode`
            yield* Deferred.succeed(held, undefined)
            yield* Deferred.await(free)
            yield* sql`update log_state set fault = 'found meanwhile'`
          })
        )
      )
      yield* Deferred.await(held)
      const audit = yield* Effect.forkChild(audited)
      while ((yield* waiters) === 0);
      yield* Deferred.succeed(free, undefined)
      yield* Fiber.join(elsewhere)
      assert.deepStrictEqual((yield* Fiber.join(audit)).differences, [])
      assert.strictEqual((yield* logState).fault, "found meanwhile")
      yield* audited
      assert.isNull((yield* logState).fault)
    })
  )

  it.effect("An audit takes times after the year 9999 for what they are", () =>
    Effect.gen(function* () {
      yield* freshWeek
      yield* newChallenge({ deadline: instant("9999-12-31T23:00:00Z") })
      yield* completeLog
      assert.deepStrictEqual((yield* audited).differences, [])
    })
  )

  // The test lasts as long as a statement may.
  it.effect.runIf(isFull)("An audit records its finding however long a sequencer holds the log's state", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const change = sql`
        update log_pending set entry = convert_to('{"c":1}', 'UTF8') where type = 'challenge.create'`
      yield* predict(yield* claimedAgent(), yield* newChallenge())
      yield* withoutTriggers(["log_pending"], change)
      const [held, free] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const sequencing = yield* Effect.forkChild(
        sql.withTransaction(
          Effect.gen(function* () {
            yield* sql`set local idle_in_transaction_session_timeout = 0`
            yield* sql`select 1 from log_state for update`
            yield* Deferred.succeed(held, undefined)
            yield* Deferred.await(free)
          })
        )
      )
      yield* Deferred.await(held)
      const audit = yield* Effect.forkChild(audited)
      // Any other statement waits for at most four seconds.
      while ((yield* longWaiters) === 0) yield* sql`select pg_sleep(0.1)`
      assert.isUndefined(audit.pollUnsafe())
      yield* Deferred.succeed(free, undefined)
      yield* Fiber.join(sequencing)
      assert.isAbove((yield* Fiber.join(audit)).difference_count, 0)
      assert.match(String((yield* logState).fault), /an audit found/)
    })
  )
})
