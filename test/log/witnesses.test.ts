/** Witnesses as c2sp.org/tlog-witness has them: the requests to them, their answers, and every way to fail. */
import { assert, describe, layer } from "@effect/vitest"
import { Context, DateTime, Effect, Fiber, Layer, Option, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { makePost } from "../../src/layers/witness/boundedPost.ts"
import * as WitnessesLayer from "../../src/layers/postgres/log/Witnesses.ts"
import { parseNote, parseVerifierKey } from "../../src/layers/crypto/signedNote.ts"
import { addCheckpoint } from "../../src/layers/witness/cosignature.ts"
import { LogSequencer } from "../../src/services/LogSequencer.ts"
import { Witnesses } from "../../src/services/Witnesses.ts"
import { TransparencyLog } from "../../src/services/TransparencyLog.ts"
import { fakeServer } from "../support/log/fakeServer.ts"
import type { Behaviour } from "../support/log/fakeServer.ts"
import { Rfc6962Tree } from "../support/log/rfc6962.ts"
import { makeEntries, publish, signedHead, syntheticKey } from "../support/log/syntheticLog.ts"
import { isCosignedBy, makeWitness } from "../support/log/witness.ts"
import type { Witness } from "../support/log/witness.ts"
import { telemetryRecorder, TelemetryRecorder } from "../support/telemetryRecorder.ts"
import { testServices } from "../support/services.ts"
import { settings } from "../support/settings.ts"
import { asOwner, rowsOf } from "../support/database.ts"
import { withDatabaseAt } from "../support/databaseTime.ts"

class FakeWitnesses extends Context.Service<
  FakeWitnesses,
  { readonly first: Witness; readonly second: Witness; readonly tree: Rfc6962Tree }
>()("auspex/test/FakeWitnesses") {}

/** Two witnesses that know the log, and the services that know them. The log has entries, and no checkpoint yet. */
const world = Layer.unwrap(
  Effect.gen(function* () {
    const first = yield* makeWitness("witness.test/w1", [syntheticKey])
    const second = yield* makeWitness("witness.test/w2", [syntheticKey])
    const environment = { AUSPEX_LOG_WITNESSES: `${first.setting}, ${second.setting}` }
    const replica = Layer.fresh(WitnessesLayer.layer).pipe(Layer.provide(settings(environment)))
    const witnesses = Effect.map(makeEntries(800), (tree) => ({ first, second, tree }))
    return Layer.effect(FakeWitnesses, witnesses).pipe(
      Layer.provideMerge(testServices(environment)),
      Layer.provideMerge(Layer.succeed(Replica, replica))
    )
  })
).pipe(Layer.provideMerge(telemetryRecorder))

/** Another instance that shares the database. */
class Replica extends Context.Service<
  Replica,
  Layer.Layer<Witnesses, never, LogSequencer | SecureRandom.SecureRandom | SqlClient.SqlClient>
>()("auspex/test/Replica") {}

/** Nobody has been asked yet, and nothing is published. */
const afresh = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { first, second, tree } = yield* FakeWitnesses
  for (const witness of [first, second]) {
    witness.behave()
    witness.heads.clear()
    witness.forget()
  }
  yield* asOwner(sql`delete from log_checkpoints`)
  yield* asOwner(sql`delete from log_witnesses`)
  const { lines } = yield* TelemetryRecorder
  const before = lines.length
  const logged = () => lines.slice(before).filter((line) => line.includes("attest"))
  return { first, second, tree, logged }
})

/** Asks the first witness, as its job does every second. */
const ask = Witnesses.use(({ all }) => all[0]?.ask ?? Effect.die("no witness"))
const askAll = Witnesses.use(({ all }) =>
  Effect.forEach(all, (each) => each.ask, { concurrency: "unbounded", discard: true })
)

const served = TransparencyLog.use((log) => log.checkpoint)

const kept = rowsOf(
  Schema.Struct({ size: Schema.Int, witness: Schema.String }),
  (sql) => sql`select size::int, witness from log_cosignatures order by size, witness`
)

const stateOfFirst = Effect.map(
  rowsOf(
    Schema.Struct({ size: Schema.Int, failures: Schema.Int, failure: Schema.NullOr(Schema.String) }),
    (sql) => sql`select size::int, failures, failure from log_witnesses where witness = 'witness.test/w1'`
  ),
  ([state]) => state
)

/** The lines of a request before its checkpoint. */
const headOf = (body: Buffer) => body.toString("utf8").split("\n\n")[0]?.split("\n") ?? []

const linesUnder = (note: string) => {
  const { text } = Option.getOrThrow(parseNote(note))
  return { text, lines: note.slice(text.length + 1).split(/(?<=\n)/) }
}

const answering =
  (
    status: number,
    body: string | Uint8Array = "",
    headers: Readonly<Record<string, string>> = {}
  ): Behaviour =>
  () =>
    Promise.resolve({ status, body, headers })

const sizeAnswer = (size: number | string) =>
  answering(409, `${size}\n`, { "content-type": "text/x.tlog.size" })

/** The answer to a checkpoint that this makes of the right line. */
const insteadOf =
  (made: (line: string) => string): Behaviour =>
  async (_, work) => {
    const reply = await work()
    return reply.status === 200 ? { status: 200, body: made(String(reply.body)) } : reply
  }

const changedByte = (line: string): string => {
  const [dash, name, encoded = ""] = line.trimEnd().split(" ")
  const bytes = Buffer.from(encoded, "base64")
  bytes.writeUInt8(bytes.readUInt8(40) ^ 1, 40)
  return `${dash} ${name} ${bytes.toString("base64")}\n`
}

/** A cosignature of this witness, by its own key, of something else or at another time. */
const cosigning =
  (witness: Witness, change: (text: string) => string, seconds?: number): Behaviour =>
  ({ body }) => {
    const text = Option.getOrThrow(parseNote(body.toString("utf8").split("\n\n").slice(1).join("\n\n"))).text
    return Promise.resolve({ status: 200, body: witness.cosign(change(text), seconds) })
  }

const faults: ReadonlyArray<
  readonly [what: string, reason: RegExp, behaviour: (witness: Witness) => Behaviour]
> = [
  ["refuses our key", /^it answered 403$/, () => answering(403)],
  ["does not know the log", /^it answered 404$/, () => answering(404)],
  ["finds the log inconsistent", /^it answered 422$/, () => answering(422)],
  ["wants fewer requests", /^it answered 429$/, () => answering(429)],
  ["is broken", /^it answered 500$/, () => answering(500, "x".repeat(1_000_000))],
  ["sends us elsewhere", /^it answered 307$/, () => answering(307, "", { location: "http://127.0.0.1:1/" })],
  ["says nothing", /broke off|something else/, () => answering(200)],
  ["answers rubbish", /something else than signature lines/, () => answering(200, "<html>\n\u0000</html>\n")],
  [
    "answers bytes that are no text",
    /something else/,
    () => answering(200, Buffer.from([0xff, 0xfe, 0, 10]))
  ],
  ["answers 10 MB", /too large/, () => answering(200, "— x AAAA\n".repeat(1_100_000))],
  ["signs wrongly", /does not verify/, () => insteadOf(changedByte)],
  [
    "signs with too few bytes",
    /does not verify/,
    () =>
      insteadOf(
        (line) =>
          `${line.split(" ").slice(0, 2).join(" ")} ${Buffer.from((line.split(" ")[2] ?? "").trim(), "base64")
            .subarray(0, 40)
            .toString("base64")}\n`
      )
  ],
  [
    "cosigns rightly and wrongly at once",
    /does not verify/,
    () => insteadOf((line) => line + changedByte(line))
  ],
  [
    "cosigns another checkpoint",
    /does not verify/,
    (witness) => cosigning(witness, (text) => text.replace(/\n\d+\n/, "\n9\n"))
  ],
  [
    "cosigns another log",
    /does not verify/,
    (witness) => cosigning(witness, (text) => text.replace("synthetic", "other"))
  ],
  ["cosigns the future", /clock is ahead/, (witness) => cosigning(witness, (text) => text, 4_000_000_000)],
  [
    "cosigns after the end of time",
    /does not verify|clock is ahead/,
    (witness) => cosigning(witness, (text) => text, 2 ** 62)
  ],
  [
    "signs with another key",
    /no cosignature of its key/,
    () => insteadOf((line) => line.replace(/ (\S+)\n$/, (_, encoded: string) => ` AAAA${encoded.slice(4)}\n`))
  ],
  [
    "signs under another name",
    /no cosignature of its key/,
    () => insteadOf((line) => line.replace("w1", "w9"))
  ],
  ["moves the text", /something else/, () => insteadOf((line) => `${line}\n${line}`)],
  ["says 409 and nothing else", /^it answered 409$/, () => answering(409, "7\n")],
  ["says 409 with no size", /^it answered 409$/, () => sizeAnswer("many")],
  ["says 409 with a size that no number holds", /^it answered 409$/, () => sizeAnswer("9007199254740993")],
  ["says 409 with the size that it was told", /^it answered 409: it has another tree/, () => sizeAnswer(0)],
  ["says 409 with another size each time", /^it answered 409: it has another tree/, () => sizeAnswer(3)],
  ["has seen a larger tree", /cosigned a larger tree/, () => sizeAnswer(11)]
]

layer(world)("Witnesses of the log", (it) => {
  describe("A witness", () => {
    it.effect("A witness cosigns the newest checkpoint, which is then served with its line", () =>
      Effect.gen(function* () {
        const { first, tree } = yield* afresh
        const note = yield* publish(tree, 10)
        yield* ask
        const { lines, text } = linesUnder(yield* served)
        assert.lengthOf(lines, 2)
        assert.isTrue(isCosignedBy(first.verifierKey, text, lines[1] ?? ""))
        const [request] = first.requests
        assert.strictEqual(request?.path, "/add-checkpoint")
        assert.strictEqual(request?.body.toString("utf8"), `old 0\n\n${note}`)
        assert.notProperty(request?.headers ?? {}, "traceparent")
      })
    )

    it.effect("A witness is shown, from the tree it cosigned last, that the log has only grown", () =>
      Effect.gen(function* () {
        const { first, tree } = yield* afresh
        const sizes = [1, 2, 3, 7, 8, 255, 256, 257, 511, 512, 700, 800]
        for (const size of sizes) {
          yield* publish(tree, size)
          yield* ask
        }
        assert.deepStrictEqual(
          first.requests.map(({ body }) => headOf(body)[0]),
          [0, ...sizes.slice(0, -1)].map((size) => `old ${size}`)
        )
        assert.deepStrictEqual(
          (yield* kept).map(({ size }) => size),
          sizes
        )
      })
    )

    it.effect("A witness is asked once about a checkpoint, and only about the newest", () =>
      Effect.gen(function* () {
        const { first, tree } = yield* afresh
        yield* ask
        assert.lengthOf(first.requests, 0)
        for (const size of [10, 20, 40]) yield* publish(tree, size)
        yield* ask
        yield* ask
        assert.lengthOf(first.requests, 1)
        assert.deepStrictEqual(yield* kept, [{ size: 40, witness: "witness.test/w1" }])
      })
    )

    it.effect.each(["1 hour", "40 days"] as const)(
      "A witness is not put off by a clock that is %s ahead, whether it answers or fails",
      (ahead) =>
        Effect.gen(function* () {
          const { first, tree } = yield* afresh
          const now = yield* DateTime.now
          const due = rowsOf(
            Schema.Struct({ due_at: Schema.DateTimeUtcFromDate }),
            (sql) => sql`select due_at from log_witnesses where witness = 'witness.test/w1'`
          )
          for (const [size, behaviour] of [
            [10, undefined],
            [20, answering(500)]
          ] as const) {
            first.behave(behaviour)
            yield* publish(tree, size)
            yield* TestClock.setTime(DateTime.toEpochMillis(DateTime.addDuration(now, ahead)))
            yield* withDatabaseAt(now)(ask)
            const [row] = yield* due
            assert.isAtMost(DateTime.toEpochMillis(row?.due_at ?? now) - DateTime.toEpochMillis(now), 600_000)
          }
          assert.lengthOf(first.requests, 2)
        })
    )

    it.effect("A witness is asked by one replica at a time, and then about the newest checkpoint", () =>
      Effect.gen(function* () {
        const { first, tree } = yield* afresh
        yield* publish(tree, 10)
        const replica = Effect.provide(ask, yield* Replica)
        const release: { now?: () => void } = {}
        first.behave(async (_, work) => {
          await new Promise<void>((resolve) => {
            release.now = resolve
          })
          return work()
        })
        const asking = yield* Effect.forkChild(ask)
        yield* first.received(1)
        for (const size of [20, 30]) {
          yield* publish(tree, size)
          yield* Effect.all([replica, ask], { concurrency: 2 })
        }
        assert.lengthOf(first.requests, 1)
        first.behave()
        release.now?.()
        yield* Fiber.join(asking)
        yield* Effect.all([replica, ask], { concurrency: 2 })
        assert.lengthOf(first.requests, 2)
        assert.deepStrictEqual(
          (yield* kept).map(({ size }) => size),
          [10, 30]
        )
      })
    )

    it.effect("A witness is another replica's to ask when its holder has died, after a minute", () =>
      Effect.gen(function* () {
        const { first, tree } = yield* afresh
        yield* publish(tree, 10)
        first.behave(() => new Promise(() => {}))
        const dying = yield* Effect.forkChild(ask)
        yield* first.received(1)
        yield* Fiber.interrupt(dying)
        first.behave()
        yield* ask
        assert.lengthOf(first.requests, 1)
        yield* TestClock.adjust("1 minute")
        yield* ask
        assert.lengthOf(yield* kept, 1)
      })
    )
  })

  describe("A witness that remembers another tree", () => {
    it.effect("A witness is asked again from its own tree: restored from a backup, or replaced", () =>
      Effect.gen(function* () {
        const { first, tree } = yield* afresh
        for (const size of [10, 20]) {
          yield* publish(tree, size)
          yield* ask
        }
        first.heads.set("auspex.test/log/synthetic", { size: 10, root: tree.root(0, 10).toString("base64") })
        yield* publish(tree, 30)
        yield* ask
        first.heads.clear()
        yield* publish(tree, 40)
        yield* ask
        assert.deepStrictEqual(
          first.requests.map(({ body }) => headOf(body)[0]),
          ["old 0", "old 10", "old 20", "old 10", "old 30", "old 0"]
        )
        assert.lengthOf(yield* kept, 4)
      })
    )

    it.effect("A witness cosigns again what it cosigned before its answer was lost", () =>
      Effect.gen(function* () {
        const { first, tree } = yield* afresh
        yield* publish(tree, 10)
        first.behave(async (_, work) => {
          await work()
          return { status: 502 }
        })
        yield* ask
        assert.lengthOf(yield* kept, 0)
        first.behave()
        yield* TestClock.adjust("5 seconds")
        yield* ask
        assert.deepStrictEqual(
          first.requests.map(({ body }) => headOf(body)),
          [["old 0"], ["old 0"], ["old 10"]]
        )
        assert.lengthOf(yield* kept, 1)
      })
    )
  })

  describe("A witness that fails", () => {
    it.effect.each(faults)(
      "A witness's failure keeps nothing, is logged once, and is asked about again later: %s",
      ([, reason, behaviour]) =>
        Effect.gen(function* () {
          const { first, logged, tree } = yield* afresh
          yield* publish(tree, 10)
          first.behave(behaviour(first))
          for (const pause of [5, 10, 20]) {
            yield* ask
            yield* TestClock.adjust(`${pause} seconds`)
          }
          const state = yield* stateOfFirst
          assert.match(state?.failure ?? "", reason)
          assert.deepInclude(state, { size: 0, failures: 3 })
          assert.lengthOf(yield* kept, 0)
          assert.lengthOf(logged(), 1)
          assert.lengthOf(linesUnder(yield* served).lines, 1)
          first.behave()
          yield* ask
          assert.deepStrictEqual(yield* stateOfFirst, { size: 10, failures: 0, failure: null })
          assert.lengthOf(yield* kept, 1)
          assert.lengthOf(logged(), 2)
        })
    )

    it.effect("A witness that never answers is given ten seconds", () =>
      Effect.gen(function* () {
        const { first, tree } = yield* afresh
        yield* publish(tree, 10)
        first.behave(() => new Promise(() => {}))
        const asking = yield* Effect.forkChild(ask)
        yield* first.received(1)
        yield* TestClock.adjust("10 seconds")
        yield* Fiber.join(asking)
        assert.strictEqual((yield* stateOfFirst)?.failure, "it took longer than 10 s")
      })
    )

    it.effect("A witness that redirects us elsewhere has no request sent there", () =>
      Effect.gen(function* () {
        const { first, tree } = yield* afresh
        const elsewhere = yield* fakeServer(() => Promise.resolve({ status: 200 }))
        yield* publish(tree, 10)
        for (const status of [301, 302, 303, 307, 308]) {
          first.behave(answering(status, "", { location: `${elsewhere.url}/add-checkpoint` }))
          yield* ask
          yield* TestClock.adjust("10 minutes")
        }
        assert.lengthOf(first.requests, 5)
        assert.lengthOf(elsewhere.requests, 0)
      })
    )

    it.effect(
      "A failing witness is asked after 5 s, 10 s and so on up to 10 min, or when it asks for later",
      () =>
        Effect.gen(function* () {
          const { first, tree } = yield* afresh
          yield* publish(tree, 10)
          first.behave(answering(503))
          const attempts: Array<number> = []
          for (let second = 0; second <= 2600; second += 5) {
            const before = first.requests.length
            yield* ask
            if (first.requests.length > before) attempts.push(second)
            yield* TestClock.adjust("5 seconds")
          }
          assert.deepStrictEqual(attempts, [0, 5, 15, 35, 75, 155, 315, 635, 1235, 1835, 2435])
          first.behave(answering(429, "", { "retry-after": "1800" }))
          yield* TestClock.adjust("10 minutes")
          yield* ask
          const times = first.requests.length
          yield* TestClock.adjust("29 minutes")
          yield* ask
          assert.lengthOf(first.requests, times)
          yield* TestClock.adjust("1 minute")
          yield* ask
          assert.lengthOf(first.requests, times + 1)
        })
    )

    it.effect("A dead witness does not keep the other from cosigning", () =>
      Effect.gen(function* () {
        const { first, second, tree } = yield* afresh
        first.behave(() => new Promise(() => {}))
        yield* publish(tree, 10)
        const [one, other] = yield* Effect.forEach(
          yield* Witnesses.use(({ all }) => Effect.succeed(all)),
          (each) => Effect.forkChild(each.ask)
        )
        yield* first.received(1)
        if (other !== undefined) yield* Fiber.join(other)
        yield* publish(tree, 20)
        yield* askAll
        assert.lengthOf(first.requests, 1)
        const { lines, text } = linesUnder(yield* served)
        assert.isTrue(isCosignedBy(second.verifierKey, text, lines[1] ?? ""))
        assert.deepStrictEqual(
          (yield* kept).map(({ size, witness }) => [size, witness]),
          [
            [10, "witness.test/w2"],
            [20, "witness.test/w2"]
          ]
        )
        if (one !== undefined) yield* Fiber.interrupt(one)
      })
    )
  })

  describe("Cosignatures", () => {
    it.effect("Cosignatures of keys that are not known are passed over", () =>
      Effect.gen(function* () {
        const { first, second, tree } = yield* afresh
        yield* publish(tree, 10)
        first.behave(
          insteadOf((line) => `${second.cosign("another text\n")}— a.example ${"A".repeat(5000)}\n${line}`)
        )
        yield* ask
        const { lines, text } = linesUnder(yield* served)
        assert.lengthOf(lines, 2)
        assert.isTrue(isCosignedBy(first.verifierKey, text, lines[1] ?? ""))
      })
    )

    it.effect("Cosignatures go with a thinned-out checkpoint, and a missing one takes none", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { first, tree } = yield* afresh
        yield* publish(tree, 10)
        yield* ask
        yield* publish(tree, 20)
        let thinned: Promise<unknown> | undefined
        const context = yield* Effect.context<never>()
        first.behave(async (_, work) => {
          thinned = Effect.runPromiseWith(context)(sql`delete from log_checkpoints`)
          await thinned
          return work()
        })
        yield* ask
        assert.lengthOf(yield* kept, 0)
        assert.deepInclude(yield* stateOfFirst, { size: 20, failure: null })
      })
    )
  })

  describe("A fork", () => {
    it.effect("A fork is refused by a witness that has seen the log, whatever it is told of old trees", () =>
      Effect.gen(function* () {
        const { first, tree } = yield* afresh
        const post = yield* makePost
        yield* publish(tree, 10)
        yield* ask
        const other = new Rfc6962Tree(
          tree.entries.map((entry, index) => (index === 4 ? Buffer.from("{}") : entry))
        )
        const verifier = Option.getOrThrow(parseVerifierKey(first.verifierKey))
        const submit = (oldSize: number, size: number, proof: ReadonlyArray<Uint8Array>) => {
          const { note, text } = signedHead(other, size)
          return addCheckpoint(
            post,
            { submissionPrefix: first.url, verifier },
            { oldSize, proof, note, text }
          ).pipe(Effect.match({ onFailure: ({ reason }) => reason, onSuccess: (answer) => answer._tag }))
        }
        assert.strictEqual(yield* submit(0, 20, []), "OldSize")
        assert.strictEqual(yield* submit(10, 10, []), "it answered 409")
        assert.strictEqual(yield* submit(10, 20, []), "it answered 422")
        const proof = [
          other.root(8, 10),
          other.root(10, 12),
          other.root(12, 16),
          other.root(0, 8),
          other.root(16, 20)
        ]
        assert.strictEqual(yield* submit(10, 20, proof), "it answered 422")
        assert.deepInclude(first.heads.get("auspex.test/log/synthetic"), { size: 10 })
      })
    )
  })
})
