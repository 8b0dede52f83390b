/**
 * The log never forks after a failover or a restore: what instances remember of it, when they wait for an
 * administrator, and how a log goes on that has lost signed entries.
 */
import { assert, describe, layer } from "@effect/vitest"
import { Context, Effect, Layer, Option, Ref, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { admin } from "../../cli/admin/command.ts"
import { checkpointText, parseCheckpoint } from "../../src/layers/crypto/signedNote.ts"
import { logKeys, parseLogKey } from "../../src/layers/node/logKeys.ts"
import * as WitnessesLayer from "../../src/layers/postgres/log/Witnesses.ts"
import * as ObserversLayer from "../../src/layers/witness/LogObservers.ts"
import { Health } from "../../src/services/Health.ts"
import { Audit } from "../../src/services/Audit.ts"
import { LogObservers } from "../../src/services/LogObservers.ts"
import type { ObservedHead } from "../../src/services/LogObservers.ts"
import { LogSequencer } from "../../src/services/LogSequencer.ts"
import { LogSigner } from "../../src/services/LogSigner.ts"
import type { Checkpoint, SignerState } from "../../src/services/LogSigner.ts"
import { TransparencyLog } from "../../src/services/TransparencyLog.ts"
import { Witnesses } from "../../src/services/Witnesses.ts"
import { freshWeek, newChallenge } from "../support/challenges.ts"
import { runCommand } from "../support/commands.ts"
import { rowsOf } from "../support/database.ts"
import { fakeServer } from "../support/log/fakeServer.ts"
import { makeWitness } from "../support/log/witness.ts"
import { anotherSequencer, checkpoints, entries, logState, oneTree } from "../support/logbook.ts"
import { otherLogKey, testLogKey, used } from "../support/logSigner.ts"
import { TestServer, get, member, post, testServer } from "../support/server.ts"
import { testServices } from "../support/services.ts"
import { settings, testAdminToken } from "../support/settings.ts"

type Instance = LogSequencer["Service"]

const nothing = Option.none<SignerState>()

/** An instance with the signer state that it starts with. */
const instance = Effect.fnUntraced(function* (
  initial: Option.Option<SignerState>,
  observed?: (newest: Option.Option<string>) => Effect.Effect<ReadonlyArray<ObservedHead>>
) {
  const state = yield* Ref.make(initial)
  const start = anotherSequencer({ state, ...(observed !== undefined && { observed }) })
  return { state, start, sequencer: yield* start }
})

const seenBy = (state: Ref.Ref<Option.Option<SignerState>>) =>
  Effect.map(Ref.get(state), (known) =>
    Option.getOrNull(
      Option.map(
        Option.flatMap(known, ({ checkpoint }) => checkpoint),
        ({ size }) => size
      )
    )
  )

const pass = (sequencer: Instance) => Effect.andThen(sequencer.sequence, sequencer.publish)

/** Makes entries that wait for their place in the log. */
const something = (count = 1) => Effect.replicateEffect(newChallenge(), count, { discard: true })

const newestSize = Effect.map(checkpoints, (all) => all.at(-1)?.size ?? 0)

const resume = (sequencer: Instance, reason = "a failover", origin = Option.none<string>()) =>
  sequencer.continue({ reason, origin })

/** A log of some entries, all of them signed. */
const grown = Effect.gen(function* () {
  yield* freshWeek
  yield* something(3)
  const { state, sequencer } = yield* instance(Option.some(used))
  yield* pass(sequencer)
  const { size } = yield* logState
  assert.strictEqual(yield* seenBy(state), size)
  return { state, sequencer, size }
})

const keys = logKeys(Option.getOrThrow(parseLogKey(testLogKey)), Option.none())

/** A checkpoint that was signed and that the database does not have. */
const signed = Effect.fnUntraced(function* (size: number, root: Uint8Array = Buffer.alloc(32, size)) {
  const { origin } = Option.getOrThrow(parseCheckpoint((yield* checkpoints).at(-1)?.note ?? ""))
  const text = checkpointText({ origin, size, root })
  const checkpoint: Checkpoint = { origin, size, root, note: `${text}\n${keys.sign(origin, text)}` }
  return checkpoint
})

/** The sequencer adds nothing to the log and signs nothing, and says why. */
const waits = Effect.fnUntraced(function* (sequencer: Instance, why: RegExp) {
  const before = [(yield* logState).size, yield* newestSize]
  yield* something()
  yield* pass(sequencer)
  assert.match((yield* sequencer.fault) ?? "it does not wait", why)
  assert.deepStrictEqual([(yield* logState).size, yield* newestSize], before)
})

/** The sequencer takes up whatever waits, and signs it. */
const keeps = Effect.fnUntraced(function* (sequencer: Instance) {
  yield* something()
  yield* pass(sequencer)
  assert.isNull(yield* sequencer.fault)
  const { pending, size } = yield* logState
  assert.strictEqual(pending, 0)
  assert.strictEqual(yield* newestSize, size)
  yield* oneTree
})

const audited = Audit.use(({ verifyLog }) => Effect.map(verifyLog, ({ differences }) => differences))

const continued = Effect.map(entries, (all) =>
  all.filter(({ type }) => type === "log.continue").map(({ json }) => json)
)

layer(testServices())("An instance that remembers nothing of the log", (it) => {
  it.effect("An instance keeps a log from its very first start on, whatever others sign meanwhile", () =>
    Effect.gen(function* () {
      const [one, other] = [yield* instance(nothing), yield* instance(nothing)]
      for (const { sequencer } of [one, other]) {
        yield* sequencer.verifyAtStart
        assert.isNull(yield* sequencer.fault)
      }
      yield* keeps(one.sequencer)
      yield* keeps(other.sequencer)
      assert.strictEqual(yield* seenBy(one.state), 1)
      yield* keeps(one.sequencer)
      assert.strictEqual(yield* seenBy(one.state), 3)
    })
  )

  it.effect("An instance without memory waits beside a signed log, while those that remember it go on", () =>
    Effect.gen(function* () {
      const { sequencer } = yield* grown
      const fresh = yield* instance(nothing)
      yield* fresh.sequencer.verifyAtStart
      const why =
        /The log was signed before this instance had a memory of it .* `npm run admin -- log continue`/
      yield* waits(fresh.sequencer, why)
      const restarted = yield* fresh.start
      yield* waits(restarted, why)
      // An instance without a part in the log remembers what it sees of it.
      yield* keeps(sequencer)
      yield* pass(restarted)
      assert.strictEqual(yield* seenBy(fresh.state), yield* newestSize)
      assert.isNull((yield* logState).fault)
    })
  )

  it.effect("An instance with another key says so first, for no continuation gives it the log's", () =>
    Effect.gen(function* () {
      yield* grown
      const state = yield* Ref.make(nothing)
      const stranger = yield* anotherSequencer({ state, key: otherLogKey })
      const wrongKey = /^The log is signed with the key .*, this instance has .*AUSPEX_LOG_KEY/
      yield* stranger.verifyAtStart
      assert.match(String(yield* stranger.fault), wrongKey)
      yield* waits(stranger, wrongKey)
      assert.isTrue(Option.isNone(yield* stranger.verifierKey))
      const { sequencer } = yield* instance(nothing)
      yield* waits(sequencer, /had a memory of it/)
      assert.isTrue(Option.isSome(yield* sequencer.verifierKey))
    })
  )

  it.effect("An instance goes on twenty seconds after a continuation, which is an entry of the log", () =>
    Effect.gen(function* () {
      const { sequencer, size } = yield* grown
      const fresh = yield* instance(nothing)
      yield* waits(fresh.sequencer, /had a memory of it/)
      const before = yield* continued
      const continuation = yield* resume(sequencer, "a second replica for jobs")
      assert.deepInclude(continuation, { number: before.length + 1, size, lost_size: null, fault: null })
      yield* waits(fresh.sequencer, /which is in force from/)
      yield* TestClock.adjust("19999 millis")
      yield* waits(fresh.sequencer, /which is in force from/)
      yield* TestClock.adjust("1 millis")
      yield* keeps(fresh.sequencer)
      const restarted = yield* fresh.start
      yield* keeps(restarted)
      const [entry] = (yield* continued).slice(before.length)
      assert.deepInclude(entry, { type: "log.continue", number: continuation.number, size, lost_size: null })
      assert.notInclude(JSON.stringify(entry), "replica")
      assert.deepStrictEqual(yield* audited, [])
      // A continuation from before an instance came does not count for it.
      const later = yield* instance(nothing)
      yield* waits(later.sequencer, /had a memory of it/)
      yield* pass(sequencer)
    })
  )
})

layer(testServices())("An instance that kept the log on another server", (it) => {
  /** An instance that remembers the log as it is, from the server before. */
  const survivor = Effect.fnUntraced(function* (known: Partial<SignerState> = {}) {
    const { state } = yield* grown
    return yield* instance(
      Option.map(yield* Ref.get(state), (each) => ({ ...each, server: Option.some("7/1/5"), ...known }))
    )
  })

  it.effect(
    "An instance on another server waits, and adds nothing, until an administrator lets it go on",
    () =>
      Effect.gen(function* () {
        const { state, sequencer, start } = yield* survivor()
        yield* sequencer.verifyAtStart
        yield* waits(
          sequencer,
          /on another server than before, or on one that was promoted, restored or copied/
        )
        const { log, status } = yield* Effect.gen(function* () {
          yield* TestClock.adjust("1 second")
          const { checks, status } = yield* Health.use((health) => health.readiness)
          return { status, log: checks.find(({ name }) => name === "log") }
        })
        assert.deepStrictEqual([status, log?.ok], ["ready", true])
        yield* resume(sequencer)
        yield* TestClock.adjust("20 seconds")
        yield* keeps(sequencer)
        yield* keeps(yield* start)
        assert.match(Option.getOrThrow(Option.getOrThrow(yield* Ref.get(state)).server), /^\d+\/1\/\d+$/)
      })
  )

  it.effect("An instance goes on by itself where the continuation came while it was away", () =>
    Effect.gen(function* () {
      const { start } = yield* survivor()
      yield* resume(yield* LogSequencer)
      yield* TestClock.adjust("20 seconds")
      yield* keeps(yield* start)
    })
  )

  it.effect("An instance is not let on by a continuation from before it kept the log there", () =>
    Effect.gen(function* () {
      const { number } = yield* resume(yield* LogSequencer)
      yield* TestClock.adjust("1 minute")
      const { sequencer } = yield* survivor({ continuation: number })
      yield* waits(sequencer, /on another server than before/)
      assert.strictEqual((yield* resume(sequencer)).number, number + 1)
      yield* TestClock.adjust("20 seconds")
      yield* keeps(sequencer)
    })
  )

  it.effect("An instance that keeps no log says so, too, and remembers what it sees all the same", () =>
    Effect.gen(function* () {
      const { state, sequencer } = yield* survivor()
      yield* keeps(yield* LogSequencer)
      yield* sequencer.watch
      assert.match((yield* sequencer.fault) ?? "", /on another server than before/)
      assert.strictEqual(yield* seenBy(state), yield* newestSize)
      yield* resume(sequencer)
      yield* TestClock.adjust("20 seconds")
      yield* sequencer.watch
      assert.isNull(yield* sequencer.fault)
      // An instance that never kept the log has nothing to wait for.
      const fresh = yield* instance(nothing)
      yield* fresh.sequencer.watch
      assert.isNull(yield* fresh.sequencer.fault)
      assert.strictEqual(yield* seenBy(fresh.state), yield* newestSize)
    })
  )
})

layer(testServices())("The heads that an instance shows", (it) => {
  it.effect("An instance remembers a head before it shows it, and never shows a smaller one", () =>
    Effect.gen(function* () {
      const { sequencer } = yield* grown
      const { state, sequencer: shows } = yield* instance(Option.some(used))
      const [note = ""] = (yield* checkpoints).map((each) => each.note)
      assert.strictEqual(yield* shows.recordShown(note), note)
      assert.strictEqual(yield* seenBy(state), yield* newestSize)
      yield* keeps(sequencer)
      const later = (yield* checkpoints).at(-1)?.note ?? ""
      assert.strictEqual(yield* shows.recordShown(later), later)
      assert.strictEqual(yield* shows.recordShown(note), later)
    })
  )

  it.effect("An instance shows a head also where it cannot be kept, and says so", () =>
    Effect.gen(function* () {
      yield* grown
      const failing = yield* anotherSequencer({ saveFailure: "the disk is full" })
      const note = (yield* checkpoints).at(-1)?.note ?? ""
      assert.strictEqual(yield* failing.recordShown(note), note)
      assert.match((yield* failing.fault) ?? "", /the disk is full/)
    })
  )

  it.effect(
    "An instance remembers every head that leaves it: checkpoint, proofs, requests to witnesses",
    () =>
      Effect.gen(function* () {
        const { sequencer } = yield* grown
        const remembered = Effect.flatMap(LogSigner, ({ state }) => state).pipe(
          Effect.map((known) => Option.flatMap(known, ({ checkpoint }) => checkpoint)),
          Effect.map((seen) => Option.getOrNull(Option.map(seen, ({ size }) => size)))
        )
        const [key = ""] = yield* TransparencyLog.use((log) => log.verifierKeys)
        const witness = yield* makeWitness("witness.test/w1", [key])
        const witnesses = yield* Layer.build(
          Layer.fresh(WitnessesLayer.layer).pipe(
            Layer.provide(settings({ AUSPEX_LOG_WITNESSES: witness.setting }))
          )
        ).pipe(Effect.map((built) => Context.get(built, Witnesses)))
        for (const shown of [
          TransparencyLog.use((log) => log.checkpoint),
          TransparencyLog.use((log) => log.proofAt("0")),
          Effect.forEach(witnesses.all, ({ ask }) => ask)
        ]) {
          yield* keeps(sequencer)
          assert.notStrictEqual(yield* remembered, yield* newestSize)
          yield* shown
          assert.strictEqual(yield* remembered, yield* newestSize)
        }
        assert.strictEqual(witness.requests.length, 1)
      })
  )
})

describe("A checkpoint that was signed and seen, and is lost", () => {
  /** A checkpoint of more entries than the log has. */
  const loss = Effect.gen(function* () {
    const { size } = yield* grown
    const checkpoint = yield* signed(size + 7)
    return { size, checkpoint, remembers: Option.some({ ...used, checkpoint: Option.some(checkpoint) }) }
  })

  layer(testServices())("A loss that an instance knows that keeps no log", (it) => {
    it.effect("A lost checkpoint stops the log for all and is named, and no administrator waives it", () =>
      Effect.gen(function* () {
        const { checkpoint, remembers, size } = yield* loss
        const { sequencer } = yield* instance(remembers)
        const keeper = yield* LogSequencer
        yield* sequencer.watch
        const why = new RegExp(`The log has ${size} entries, but ${checkpoint.size} were signed`)
        assert.match((yield* logState).fault ?? "", why)
        yield* waits(keeper, why)
        // An instance that is asked for the checkpoint shows what it has seen.
        const note = (yield* checkpoints).at(-1)?.note ?? ""
        assert.strictEqual(yield* sequencer.recordShown(note), checkpoint.note)

        const refusal = yield* Effect.flip(resume(keeper))
        assert.strictEqual(refusal._tag, "LogLost")
        assert.include(refusal.detail, `A checkpoint of ${checkpoint.size} entries was signed and seen`)
        assert.deepStrictEqual(yield* continued, [])

        // An instance that has not seen it finds it, too, and its audit does not lift the fault.
        const line = `checkpoint of size ${checkpoint.size}, which was seen (log_lost_heads): the log has only ${size} entries`
        assert.deepStrictEqual(yield* audited, [
          line,
          `checkpoint of size ${checkpoint.size}, which was seen (log_lost_heads): neither it nor a later one is kept (log_checkpoints)`
        ])
        assert.include((yield* logState).fault ?? "", line)
        const sql = yield* SqlClient.SqlClient
        yield* sql`update log_state set fault = null`
        yield* waits(yield* anotherSequencer(), why)
        assert.isNotNull((yield* logState).fault)
      })
    )
  })

  layer(testServices())("A loss that an instance finds after a continuation", (it) => {
    it.effect("A lost checkpoint that comes within twenty seconds keeps an instance from going on", () =>
      Effect.gen(function* () {
        const { remembers } = yield* loss
        const fresh = yield* instance(nothing)
        yield* waits(fresh.sequencer, /had a memory of it/)
        yield* resume(yield* LogSequencer)
        yield* (yield* instance(remembers)).sequencer.watch
        yield* TestClock.adjust("20 seconds")
        yield* waits(fresh.sequencer, /but \d+ were signed/)
      })
    )
  })

  layer(testServices())("A loss that ends the log under its name", (it) => {
    it.effect("A log that lost a checkpoint goes on by another name, if an audit finds the rest right", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { checkpoint, remembers, size } = yield* loss
        const { state, sequencer } = yield* instance(remembers)
        const keeper = yield* LogSequencer
        yield* pass(sequencer)
        const rename = (origin: string) => resume(keeper, "a disk was lost", Option.some(origin))
        // The log's own name is no other name.
        assert.strictEqual((yield* Effect.flip(rename(checkpoint.origin)))._tag, "LogLost")
        const name = "arena.example/log/second"
        const continuation = yield* rename(name)
        assert.deepInclude(continuation, { origin: name, size, lost_size: checkpoint.size })
        yield* TestClock.adjust("20 seconds")
        yield* waits(sequencer, /but \d+ were signed|once an audit finds nothing/)
        assert.deepStrictEqual(yield* audited, [])
        assert.isNull((yield* logState).fault)

        yield* pass(sequencer)
        yield* pass(sequencer)
        assert.isNull(yield* sequencer.fault)
        const newest = (yield* checkpoints).at(-1)
        assert.strictEqual(parseCheckpoint(newest?.note ?? "").pipe(Option.getOrThrow).origin, name)
        assert.strictEqual(yield* seenBy(state), newest?.size)
        // The tree is the one that was left, under a head that says what is gone.
        const [entry] = yield* continued
        assert.deepInclude(entry, {
          origin: name,
          size,
          lost_size: checkpoint.size,
          lost_root: Buffer.from(checkpoint.root).toString("hex")
        })
        const verifierKeys = yield* TransparencyLog.use((log) => log.verifierKeys)
        assert.deepStrictEqual(
          (yield* entries).filter(({ json }) => json["new"] !== undefined).map(({ json }) => json),
          [{ type: "key.rotate", new: verifierKeys[0] ?? "", old: verifierKeys[1] ?? "" }]
        )
        assert.isTrue((yield* TransparencyLog.use((log) => log.checkpoint)).startsWith(`${name}\n`))
        assert.deepStrictEqual(yield* audited, [])

        // Other instances follow, also those that had seen the lost entries; and the first name is gone for good.
        yield* sql`update log_state set fault = null`
        const { sequencer: other } = yield* instance(remembers)
        yield* something()
        yield* pass(other)
        assert.isNull(yield* other.fault)
        assert.strictEqual(yield* newestSize, (yield* logState).size)
        assert.strictEqual((yield* Effect.flip(rename(checkpoint.origin)))._tag, "InvalidRequest")
        assert.deepInclude(yield* rename(name), { origin: name, lost_size: null, fault: null })
        assert.deepStrictEqual(yield* audited, [])
      })
    )
  })
})

const sizeOf = (newest: Option.Option<string>) =>
  Option.getOrThrow(Option.flatMap(newest, parseCheckpoint)).size

describe("Others that have seen more of the log", () => {
  layer(testServices())("A signed checkpoint of others", (it) => {
    const claiming = (observed: ReadonlyArray<ObservedHead>) => () => Effect.succeed(observed)

    it.effect("A signed checkpoint of others stops the log, only by the log's own key and name", () =>
      Effect.gen(function* () {
        const { size } = yield* grown
        const { note, origin, root } = yield* signed(size + 1)
        const text = checkpointText({ origin, size: size + 1, root })
        const others = logKeys(Option.getOrThrow(parseLogKey(otherLogKey)), Option.none())
        const elsewhere = checkpointText({ origin: "elsewhere.example", size: size + 1, root })
        const worthless = [
          "<html></html>",
          text,
          `${text}\n${others.sign(origin, text)}`,
          `${elsewhere}\n${keys.sign("elsewhere.example", elsewhere)}`,
          note.replace(`\n${size + 1}\n`, `\n${size + 2}\n`)
        ].map((each) => ({ by: "somebody", note: each }))
        yield* keeps((yield* instance(Option.some(used), claiming(worthless))).sequencer)
        const [known = ""] = (yield* checkpoints).map((each) => each.note)
        yield* keeps((yield* instance(Option.some(used), claiming([{ by: "us", note: known }]))).sequencer)

        const lost = yield* signed((yield* logState).size + 9)
        const { sequencer } = yield* instance(Option.some(used), claiming([{ by: "us", note: lost.note }]))
        yield* waits(sequencer, /but \d+ were signed/)
        assert.strictEqual((yield* Effect.flip(resume(sequencer)))._tag, "LogLost")
      })
    )
  })

  layer(testServices())("A new database under the same name and key", (it) => {
    it.effect("A signed checkpoint of others keeps a new database from being a log at all", () =>
      Effect.gen(function* () {
        yield* freshWeek
        yield* something()
        const origin = "127.0.0.1/log/global"
        const text = checkpointText({ origin, size: 20, root: Buffer.alloc(32, 1) })
        const note = `${text}\n${keys.sign(origin, text)}`
        const { sequencer } = yield* instance(nothing, () => Effect.succeed([{ by: "us", note }]))
        yield* sequencer.verifyAtStart
        yield* waits(sequencer, /has 0 entries, but 20 were signed/)
      })
    )
  })

  layer(testServices())("An unproven claim of others", (it) => {
    it.effect("An instance waits after an unproven claim, until an administrator lets it go on", () =>
      Effect.gen(function* () {
        const { sequencer: remembering, size } = yield* grown
        const queries = yield* Ref.make(0)
        const { sequencer, start } = yield* instance(Option.some(used), () =>
          Effect.as(
            Ref.update(queries, (times) => times + 1),
            [{ by: "witness.test/w1", size: size + 100 }]
          )
        )
        yield* sequencer.verifyAtStart
        assert.strictEqual(yield* Ref.get(queries), 0)
        yield* waits(
          sequencer,
          /^witness\.test\/w1 has attested \d+ entries, and the log has \d+: this instance/
        )
        yield* pass(sequencer)
        assert.strictEqual(yield* Ref.get(queries), 1)
        yield* keeps(remembering)
        yield* resume(sequencer)
        yield* TestClock.adjust("20 seconds")
        yield* keeps(sequencer)
        assert.strictEqual(yield* Ref.get(queries), 1)
        // A new start asks again.
        yield* waits(yield* start, /has attested/)
      })
    )

    it.effect("An unproven claim means nothing once the log is as large, but stops it for another tree", () =>
      Effect.gen(function* () {
        const { sequencer: remembering } = yield* grown
        yield* something()
        const meanwhile = yield* instance(Option.some(used), (newest) =>
          Effect.as(pass(remembering), [{ by: "witness.test/w1", size: sizeOf(newest) + 1 }])
        )
        yield* keeps(meanwhile.sequencer)
        const { sequencer } = yield* instance(Option.some(used), (newest) =>
          Effect.succeed([{ by: "witness.test/w1", size: sizeOf(newest) }])
        )
        yield* waits(sequencer, /has attested another tree of \d+ entries/)
      })
    )
  })
})

layer(testServices())("Requests to others for what they have seen", (it) => {
  it.effect("An instance reads a public checkpoint, and a size from witnesses with a later tree", () =>
    Effect.gen(function* () {
      yield* grown
      const note = (yield* checkpoints).at(-1)?.note ?? ""
      const [key = ""] = yield* TransparencyLog.use((log) => log.verifierKeys)
      const site = yield* fakeServer(({ path }) =>
        Promise.resolve(path === "/log/checkpoint" ? { status: 200, body: note } : { status: 404 })
      )
      const behind = yield* makeWitness("witness.test/w1", [key])
      const ahead = yield* makeWitness("witness.test/w2", [key])
      const away = yield* makeWitness("witness.test/w3", [key])
      const { origin, root, size } = Option.getOrThrow(parseCheckpoint(note))
      ahead.heads.set(origin, { size: size + 5, root: "" })
      away.behave(() => Promise.resolve({ status: 503 }))
      const observers = (environment: Readonly<Record<string, string>>) =>
        Layer.build(Layer.fresh(ObserversLayer.layer).pipe(Layer.provide(settings(environment)))).pipe(
          Effect.map((built) => Context.get(built, LogObservers))
        )
      const AUSPEX_LOG_WITNESSES = [behind, ahead, away].map((each) => each.setting).join(", ")
      const observing = yield* observers({ AUSPEX_BASE_URL: site.url, AUSPEX_LOG_WITNESSES })
      const told = [
        { by: `${site.url}/log/checkpoint`, note },
        { by: "witness.test/w2", size: size + 5 }
      ]
      assert.deepStrictEqual(yield* observing.ask(Option.some(note)), told)
      // A witness that has attested the very same says nothing of it; one with another tree of the size does.
      behind.heads.set(origin, { size, root: Buffer.from(root).toString("base64") })
      assert.deepStrictEqual(yield* observing.ask(Option.some(note)), told)
      behind.heads.set(origin, { size, root: "another" })
      assert.deepStrictEqual((yield* observing.ask(Option.some(note)))[1], { by: "witness.test/w1", size })
      site.behave(() => Promise.resolve({ status: 404, body: "{}" }))
      const nobody = yield* observers({ AUSPEX_BASE_URL: "http://127.0.0.1:1" })
      assert.deepStrictEqual(yield* nobody.ask(Option.some(note)), [])
      // Where nothing has been signed yet there is nothing to show to witnesses.
      site.behave()
      assert.deepStrictEqual(yield* observing.ask(Option.none()), told.slice(0, 1))
    })
  )
})

const Row = Schema.Struct({ action: Schema.String, body: Schema.String })

layer(testServer())("The command log continue", (it) => {
  const run = Effect.fnUntraced(function* (...args: ReadonlyArray<string>) {
    const { url } = yield* TestServer
    return yield* runCommand(admin, args, { AUSPEX_BASE_URL: url, AUSPEX_ADMIN_TOKEN: testAdminToken })
  })

  it.effect(
    "The command log continue says what goes on and from when, and the audit log has its reason",
    () =>
      Effect.gen(function* () {
        const early = yield* run("log", "continue", "--reason", "too early")
        assert.isFalse(early.ok)
        assert.include(early.err, "The log has not begun")
        yield* grown
        const ran = yield* run("log", "continue", "--reason", "switched over to db2")
        assert.isTrue(ran.ok, ran.err)
        assert.match(ran.out, /^continuation +1$/m)
        assert.match(ran.out, /^entries +3$/m)
        assert.match(ran.out, /^in force from +\d{4}-.*Z$/m)
        const [call] = yield* rowsOf(
          Row,
          (sql) => sql`select action, body from audit_log order by id desc limit 1`
        )
        assert.strictEqual(call?.action, "continueLog")
        assert.include(call?.body, "switched over to db2")
      })
  )

  it.effect("The command log continue refuses by 409 after a loss, and takes another name for the log", () =>
    Effect.gen(function* () {
      const lost = yield* signed((yield* logState).size + 3)
      const { sequencer } = yield* instance(Option.some({ ...used, checkpoint: Option.some(lost) }))
      yield* sequencer.watch
      const path = "/api/v1/admin/log/continue"
      const refused = yield* post(path, { token: testAdminToken, json: { reason: "go" } })
      assert.deepStrictEqual([refused.status, refused.json["code"]], [409, "log_lost"])
      for (const origin of ["with a space", "plus+sign", "", "x".repeat(256)]) {
        const wrong = yield* post(path, { token: testAdminToken, json: { reason: "go", origin } })
        assert.deepStrictEqual([wrong.status, member(wrong.json, "errors", 0, "path")], [400, "origin"])
      }
      const ran = yield* run("log", "continue", "--reason", "lost", "--origin", "arena.example/log/b")
      assert.isTrue(ran.ok, ran.err)
      assert.match(ran.out, /^name of the log +arena\.example\/log\/b$/m)
      assert.match(ran.out, /^largest lost checkpoint +\d+$/m)
      assert.match(ran.out, /once an audit \(log audit\) finds nothing wrong: The log has \d+ entries/)
      assert.strictEqual((yield* get("/log/checkpoint")).status, 200)
    })
  )
})
