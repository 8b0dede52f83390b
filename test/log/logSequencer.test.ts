import { assert, layer } from "@effect/vitest"
import { DateTime, Deferred, Effect, Exit, Fiber, Option, Ref, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { isSignedBy, parseNote, parseVerifierKey } from "../../src/layers/crypto/signedNote.ts"
import { Health } from "../../src/services/Health.ts"
import { LogSequencer, maxPerPass } from "../../src/services/LogSequencer.ts"
import type { Checkpoint } from "../../src/services/LogSigner.ts"
import { TransparencyLog } from "../../src/services/TransparencyLog.ts"
import { claimedAgent } from "../support/agents.ts"
import { freshWeek, instant, moveTo, newChallenge, plus, predict } from "../support/challenges.ts"
import {
  addPending,
  anotherSequencer,
  checkpoints,
  entries,
  logState,
  oneTree,
  tampering
} from "../support/logbook.ts"
import { otherLogKey, testLogKey, used } from "../support/logSigner.ts"
import { testServices } from "../support/services.ts"
import { asOwner, rowsOf } from "../support/database.ts"

const keys = rowsOf(
  Schema.Struct({ verifier_key: Schema.String }),
  (sql) => sql`select verifier_key from log_keys order by number`
).pipe(Effect.map((rows) => rows.map((row) => row.verifier_key)))

const logCheck = Effect.gen(function* () {
  // A fault is told for a second.
  yield* TestClock.adjust("1 second")
  const { checks, status } = yield* Health.use((health) => health.readiness)
  return { status, log: checks.find(({ name }) => name === "log") }
})

const pass = (sequencer: LogSequencer["Service"]) => Effect.andThen(sequencer.sequence, sequencer.publish)

const signers = (note: string, verifierKeys: ReadonlyArray<string>) =>
  verifierKeys.filter((key) =>
    isSignedBy(Option.getOrThrow(parseNote(note)), Option.getOrThrow(parseVerifierKey(key)))
  )

const newest = Effect.map(checkpoints, (all) => {
  const last = all.at(-1)
  assert(last !== undefined)
  return last
})

layer(testServices({ AUSPEX_BASE_URL: "https://arena.example:8443" }))("The sequencer of the log", (it) => {
  it.effect("The sequencer names the log and its key at the first start, whatever later settings say", () =>
    Effect.gen(function* () {
      const sequencer = yield* LogSequencer
      assert.isTrue(Option.isNone(yield* sequencer.verifierKey))
      yield* sequencer.verifyAtStart
      const [key] = yield* keys
      assert.match(String(key), /^arena\.example\/log\/global\+[0-9a-f]{8}\+[A-Za-z0-9+/]{44}$/)
      const again = yield* anotherSequencer()
      yield* again.verifyAtStart
      assert.deepStrictEqual(yield* again.verifierKey, Option.fromUndefinedOr(key))
      assert.deepStrictEqual(yield* keys, [key])
      assert.isNull(yield* again.fault)
    })
  )

  it.effect("The sequencer signs nothing before there is something to sign, and nothing twice", () =>
    Effect.gen(function* () {
      const sequencer = yield* LogSequencer
      yield* sequencer.publish
      assert.deepStrictEqual(yield* checkpoints, [])
      yield* addPending(3)
      yield* pass(sequencer)
      yield* pass(yield* anotherSequencer())
      assert.deepStrictEqual(
        (yield* checkpoints).map(({ size }) => size),
        [3]
      )
      yield* oneTree
    })
  )

  it.effect("The sequencer starts without waiting for another replica that sequences for long", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const [held, free] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const sequencing = yield* Effect.forkChild(
        sql.withTransaction(
          Effect.gen(function* () {
            yield* sql`select 1 from log_state for update`
            yield* Deferred.succeed(held, undefined)
            yield* Deferred.await(free)
          })
        )
      )
      yield* Deferred.await(held)
      const starting = yield* anotherSequencer()
      yield* starting.verifyAtStart
      assert.isNull(yield* starting.fault)
      yield* Deferred.succeed(free, undefined)
      yield* Fiber.join(sequencing)
    })
  )

  it.effect("The sequencer of a replica with another key does not sign, and says so; the others go on", () =>
    Effect.gen(function* () {
      const stranger = yield* anotherSequencer({ key: otherLogKey })
      yield* addPending(2)
      yield* stranger.verifyAtStart
      yield* pass(stranger)
      assert.match(
        String(yield* stranger.fault),
        /signed with the key .* this instance has .*AUSPEX_LOG_KEY_PREVIOUS/
      )
      assert.strictEqual((yield* newest).size, 3)
      assert.isNull((yield* logState).fault)
      const sequencer = yield* LogSequencer
      yield* pass(sequencer)
      assert.isNull(yield* sequencer.fault)
      assert.strictEqual((yield* newest).size, 5)
      yield* oneTree
    })
  )

  it.effect("The sequencer signs with a new key beside the old one, which becomes the log's own", () =>
    Effect.gen(function* () {
      const old = yield* LogSequencer
      const [before] = yield* keys
      const rotated = yield* anotherSequencer({ key: otherLogKey, previous: testLogKey })
      yield* rotated.verifyAtStart
      yield* pass(rotated)
      const [, after] = yield* keys
      assert.deepStrictEqual((yield* entries).at(-1)?.json, {
        type: "key.rotate",
        old: String(before),
        new: String(after)
      })
      assert.deepStrictEqual(signers((yield* newest).note, yield* keys), [before, after].map(String))
      // A replica that has not restarted yet leaves the signing to those that have.
      yield* addPending(1)
      yield* pass(old)
      assert.match(
        String(yield* old.fault),
        /which replaced .*, the key of this instance: .* does not come back/
      )
      yield* pass(rotated)
      assert.strictEqual((yield* newest).size, yield* oneTree)
      // Another start changes nothing; without the old key only the new one signs.
      const later = yield* anotherSequencer({ key: otherLogKey })
      yield* later.verifyAtStart
      yield* addPending(1)
      yield* pass(later)
      assert.deepStrictEqual(signers((yield* newest).note, yield* keys), [String(after)])
      assert.strictEqual((yield* keys).length, 2)
      // A replaced key does not come back.
      const back = yield* anotherSequencer({ key: testLogKey, previous: otherLogKey })
      yield* back.verifyAtStart
      assert.match(String(yield* back.fault), /does not come back/)
      assert.strictEqual((yield* keys).length, 2)
      yield* oneTree
    })
  )
})

const faulty = testServices()

layer(faulty)("A log with a fault", (it) => {
  /** A sequencer that has signed some entries, and its state. */
  const grown = Effect.gen(function* () {
    const state = yield* Ref.make(Option.some(used))
    const sequencer = yield* anotherSequencer({ state })
    yield* addPending(300)
    yield* pass(sequencer)
    assert.isNull(yield* sequencer.fault)
    /** Changes the checkpoint in the sequencer's state. */
    const remembers = (change: (seen: Checkpoint) => Checkpoint) =>
      Ref.update(
        state,
        Option.map((known) => ({ ...known, checkpoint: Option.map(known.checkpoint, change) }))
      )
    return { sequencer, state, remembers }
  })

  /** The database is in another state. */
  const cleared = Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`update log_state set fault = null`
    yield* asOwner(sql`alter table log_lost_heads disable trigger user`)
    yield* asOwner(sql`delete from log_lost_heads`)
    yield* asOwner(sql`alter table log_lost_heads enable trigger user`)
  })

  /** The fault is said, it stays, nothing is signed or added, and everything else goes on. */
  const refuses = Effect.fnUntraced(function* (sequencer: LogSequencer["Service"], why: RegExp) {
    const before = yield* checkpoints
    const { size } = yield* logState
    assert.match(String(yield* sequencer.fault), why)
    assert.match(String((yield* logState).fault), why)
    const { log, status } = yield* logCheck
    assert.strictEqual(status, "ready")
    assert.strictEqual(log?.ok, false)
    assert.match(String(log?.reason), why)
    yield* freshWeek
    const challenge = yield* newChallenge()
    yield* predict(yield* claimedAgent(), challenge)
    for (const each of [sequencer, yield* LogSequencer]) yield* pass(each)
    assert.deepStrictEqual(yield* checkpoints, before)
    const after = yield* logState
    assert.strictEqual(after.size, size)
    assert.isAbove(after.pending, 0)
    yield* cleared
  })

  it.effect("A log is not signed where its database was restored from an older backup", () =>
    Effect.gen(function* () {
      const { sequencer, state, remembers } = yield* grown
      const { size } = yield* logState
      yield* remembers((head) => ({ ...head, size: size + 5 }))
      const restarted = yield* anotherSequencer({ state })
      yield* restarted.verifyAtStart
      yield* refuses(restarted, /has \d+ entries, but \d+ were signed/)
      // An audit finds nothing wrong in the database, but more than that was signed.
      yield* restarted.publish
      yield* refuses(restarted, /has \d+ entries, but \d+ were signed/)
      yield* Ref.set(state, Option.some(used))
      yield* pass(restarted)
      assert.isNull(yield* restarted.fault)
      assert.strictEqual((yield* newest).size, yield* oneTree)
      assert.isNull(yield* sequencer.fault)
    })
  )

  it.effect("A log is not signed where a restored database has grown again, into another tree", () =>
    Effect.gen(function* () {
      const { state, remembers } = yield* grown
      yield* addPending(10)
      yield* pass(yield* LogSequencer)
      yield* remembers((head) => ({ ...head, root: Buffer.alloc(32, 7) }))
      const restarted = yield* anotherSequencer({ state })
      yield* restarted.publish
      yield* refuses(restarted, /do not have the root that was signed/)
    })
  )

  it.effect("A changed entry of the last tile is found at the start, and before anything is signed", () =>
    Effect.gen(function* () {
      const { sequencer } = yield* grown
      const sql = yield* SqlClient.SqlClient
      const { size } = yield* logState
      const change = sql`
        update log_entries set entry = set_byte(entry, 0, get_byte(entry, 0) # 1) where index = ${BigInt(size - 1)}`
      yield* tampering(change)
      const restarted = yield* anotherSequencer()
      yield* restarted.verifyAtStart
      yield* refuses(restarted, /do not have the root that was signed|has another root/)
      yield* addPending(1)
      yield* sequencer.sequence
      yield* sequencer.publish
      yield* refuses(sequencer, /do not have the root that was signed|has another root/)
      yield* tampering(change)
      yield* pass(sequencer)
      yield* oneTree
    })
  )

  it.effect("A changed or missing node is found at the start, and before anything is signed", () =>
    Effect.gen(function* () {
      yield* grown
      const sql = yield* SqlClient.SqlClient
      const [node] = yield* sql`select * from log_nodes where level = 1 order by n desc limit 1`.values
      assert(node !== undefined)
      yield* tampering(
        sql`update log_nodes set hash = sha256(hash) where level = 1 and n = ${String(node[1])}::int8`
      )
      const restarted = yield* anotherSequencer()
      yield* restarted.verifyAtStart
      yield* refuses(restarted, /do not have the root that was signed/)
      yield* tampering(sql`delete from log_nodes where level = 1 and n = ${String(node[1])}::int8`)
      // A sequencer that has not seen the tree before does not build on a wrong one either.
      const fresh = yield* anotherSequencer()
      assert.strictEqual(yield* fresh.sequence, 0)
      yield* refuses(fresh, /do not have the root that was signed/)
      const hash = node[2]
      assert(hash instanceof Uint8Array)
      yield* tampering(
        sql`insert into log_nodes (level, n, hash) values (1, ${String(node[1])}::int8, ${hash})`
      )
      yield* pass(yield* anotherSequencer())
      assert.strictEqual((yield* newest).size, yield* oneTree)
    })
  )

  it.effect("A checkpoint that cannot be remembered is not published", () =>
    Effect.gen(function* () {
      const { sequencer } = yield* grown
      const before = yield* checkpoints
      yield* addPending(1)
      const failing = yield* anotherSequencer({ saveFailure: "the disk is full" })
      yield* pass(failing)
      assert.match(String(yield* failing.fault), /the disk is full/)
      assert.deepStrictEqual(yield* checkpoints, before)
      assert.isNull((yield* logState).fault)
      yield* pass(sequencer)
      assert.strictEqual((yield* checkpoints).length, before.length + 1)
    })
  )

  it.effect("A log is at no fault when another process signs into its directory during the start", () =>
    Effect.gen(function* () {
      const { sequencer, state } = yield* grown
      const sql = yield* SqlClient.SqlClient
      const signsMeanwhile = Effect.andThen(addPending(2), pass(sequencer)).pipe(
        Effect.provideService(SqlClient.SqlClient, sql),
        Effect.orDie
      )
      const starting = yield* anotherSequencer({
        state,
        beforeReading: yield* Effect.cached(signsMeanwhile)
      })
      yield* starting.verifyAtStart
      assert.isNull(yield* starting.fault)
      assert.isNull((yield* logState).fault)
      assert.strictEqual((yield* newest).size, yield* oneTree)
    })
  )

  it.effect("A log is not signed where the data directory is another log's", () =>
    Effect.gen(function* () {
      const { state, remembers } = yield* grown
      yield* remembers((head) => ({ ...head, origin: "elsewhere.example/log/global" }))
      const restarted = yield* anotherSequencer({ state })
      yield* restarted.verifyAtStart
      assert.match(String(yield* restarted.fault), /belongs to the log elsewhere\.example\/log\/global/)
      assert.isNull((yield* logState).fault)
    })
  )
})

layer(testServices())("A log that nobody keeps", (it) => {
  const reason = Effect.map(logCheck, ({ log }) => log?.reason ?? null)
  const stalled = TransparencyLog.use((log) => log.stalled)

  it.effect("A log that nobody keeps is reported once an entry has waited for a minute without a place", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const sequencer = yield* LogSequencer
      yield* pass(sequencer)
      assert.isNull(yield* reason)
      yield* addPending(1)
      assert.isNull(yield* reason)
      // Each look takes a second.
      yield* TestClock.adjust("58 seconds")
      assert.isNull(yield* reason)
      assert.isFalse(yield* stalled)
      assert.match(String(yield* reason), /has waited for its place in the log for 60 s/)
      assert.strictEqual((yield* logCheck).status, "ready")
      assert.isTrue(yield* stalled)
      // A log that grows is kept, however much waits.
      yield* addPending(maxPerPass)
      yield* pass(sequencer)
      assert.isNull(yield* reason)
      assert.isFalse(yield* stalled)
      yield* pass(sequencer)
      yield* TestClock.adjust("1 hour")
      assert.isNull(yield* reason)
    })
  )

  it.effect("A log that nobody keeps says why its passes fail, and no longer once one succeeds", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const sequencer = yield* LogSequencer
      yield* addPending(1)
      yield* asOwner(sql`alter table log_pending rename column entry to another`)
      for (const _ of [1, 2]) assert.isTrue(Exit.isFailure(yield* Effect.exit(sequencer.sequence)))
      assert.isNull(yield* reason)
      assert.isTrue(Exit.isFailure(yield* Effect.exit(sequencer.sequence)))
      assert.match(
        String(yield* reason),
        /^The last 3 passes to give entries their place failed: column "entry" does not exist$/
      )
      yield* asOwner(sql`alter table log_pending rename column another to entry`)
      yield* pass(sequencer)
      assert.isNull(yield* reason)
    })
  )
})

layer(testServices())("Old checkpoints", (it) => {
  it.effect(
    "Of an hour a day ago one checkpoint stays: one with a time stamp first, then one with cosignatures",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const sequencer = yield* LogSequencer
        const noon = instant("2026-05-01T12:00:00Z")
        /** Sizes 1 to 40, one every quarter of an hour, so four an hour. */
        for (let size = 1; size <= 40; size++) {
          yield* moveTo(plus(noon, `${(size - 1) * 15} minutes`))
          yield* addPending(1)
          yield* pass(sequencer)
        }
        const cosigned = (size: number) => sql`
        insert into log_cosignatures (size, witness, line, cosigned_at)
        values (${size}, 'w.example', 'line', ${DateTime.toDateUtc(noon)})`
        for (const size of [3, 4, 7, 11, 12]) yield* cosigned(size)
        yield* sql`update log_checkpoints set time_stamp = '\\x00' where size = 8`
        const sizes = Effect.map(checkpoints, (all) => all.map(({ size }) => size))
        yield* sequencer.trim
        assert.strictEqual((yield* sizes).length, 40)
        // 24 hours after 15:20: the hours from 12 to 15 are over a day ago, that of 15 not wholly.
        yield* moveTo(plus(noon, { hours: 27, minutes: 20 }))
        yield* sequencer.trim
        assert.deepStrictEqual(yield* sizes, [
          3,
          8,
          11,
          12,
          ...Array.from({ length: 28 }, (_, index) => index + 13)
        ])
        yield* TestClock.adjust("30 days")
        yield* sequencer.trim
        yield* sequencer.trim
        assert.deepStrictEqual(yield* sizes, [3, 8, 11, 12, 13, 17, 21, 25, 29, 33, 37, 40])
        yield* oneTree
      })
  )
})
