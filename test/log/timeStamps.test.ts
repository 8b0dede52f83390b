/** RFC 3161 time stamps of checkpoints, from an authority that is OpenSSL, and checked as anybody would. */
import { execFile, spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { readFile, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { AsnConvert, OctetString } from "@peculiar/asn1-schema"
import { PKIStatus, PKIStatusInfo, TimeStampReq, TimeStampResp } from "@peculiar/asn1-tsp"
import { assert, describe, it as plainIt, layer } from "@effect/vitest"
import { Context, DateTime, Effect, Fiber, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { nonceOf, timeStampFault, timeStampQuery } from "../../src/layers/witness/timeStamp.ts"
import { LogSequencer } from "../../src/services/LogSequencer.ts"
import { Witnesses } from "../../src/services/Witnesses.ts"
import { TransparencyLog } from "../../src/services/TransparencyLog.ts"
import type { Behaviour, ReceivedRequest, FakeServer, Reply } from "../support/log/fakeServer.ts"
import type { Rfc6962Tree } from "../support/log/rfc6962.ts"
import { makeEntries, publish } from "../support/log/syntheticLog.ts"
import { telemetryRecorder, TelemetryRecorder } from "../support/telemetryRecorder.ts"
import { get, TestServer, testServer, wrongFields } from "../support/server.ts"
import { testServices } from "../support/services.ts"
import { asOwner, rowsOf } from "../support/database.ts"
import { fakeServer } from "../support/log/fakeServer.ts"

/** A time stamp authority: `openssl ts -reply` behind HTTP, under a root of its own in a temporary folder. */
const hasOpenssl = spawnSync("openssl", ["version"]).status === 0
if (!hasOpenssl) process.emitWarning("openssl is missing: tests of RFC 3161 time stamps are skipped")

const run = promisify(execFile)

const configuration = `
[ tsa ]
default_tsa = authority
[ authority ]
serial = ./serial
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256
ess_cert_id_chain = no
[ req ]
distinguished_name = name
[ name ]
[ root ]
basicConstraints = critical,CA:true
keyUsage = critical,keyCertSign
[ stamping ]
extendedKeyUsage = critical,timeStamping
`

const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]

/** A folder with a root, and a certificate for time stamps under it. */
const makeFolder = Effect.fnUntraced(function* () {
  const folder = yield* Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "auspex-tsa-"))),
    (made) => Effect.sync(() => rmSync(made, { recursive: true }))
  )
  writeFileSync(join(folder, "openssl.cnf"), configuration)
  writeFileSync(join(folder, "serial"), "01\n")
  const openssl = (...args: ReadonlyArray<string>) =>
    Effect.promise(() => run("openssl", args, { cwd: folder }))
  const configured = ["-config", "openssl.cnf"]
  yield* openssl(
    "req",
    "-x509",
    ...newKey,
    "-keyout",
    "root.key",
    "-out",
    "root.pem",
    "-subj",
    "/CN=Root",
    "-days",
    "2",
    ...configured,
    "-extensions",
    "root"
  )
  yield* openssl("req", ...newKey, "-keyout", "tsa.key", "-out", "tsa.csr", "-subj", "/CN=TSA", ...configured)
  yield* openssl(
    "x509",
    "-req",
    "-in",
    "tsa.csr",
    "-CA",
    "root.pem",
    "-CAkey",
    "root.key",
    "-CAcreateserial",
    "-out",
    "tsa.pem",
    "-days",
    "2",
    "-extfile",
    "openssl.cnf",
    "-extensions",
    "stamping"
  )
  return folder
})

interface TimeStampAuthority extends FakeServer {
  /** The output of `openssl ts -verify` for a reply and the text that it should stamp. */
  readonly check: (reply: Uint8Array, stamped: string) => Effect.Effect<string>
}

const makeTimeStampAuthority = Effect.fnUntraced(function* () {
  const folder = yield* makeFolder()
  const at = (name: string) => join(folder, name)
  const work = async ({ body, headers }: ReceivedRequest): Promise<Reply> => {
    if (headers["content-type"] !== "application/timestamp-query") return { status: 415 }
    await writeFile(at("query.tsq"), body)
    const signer = ["-signer", "tsa.pem", "-inkey", "tsa.key", "-config", "openssl.cnf"]
    await run("openssl", ["ts", "-reply", "-queryfile", "query.tsq", ...signer, "-out", "reply.tsr"], {
      cwd: folder
    })
    return {
      status: 200,
      headers: { "content-type": "application/timestamp-reply" },
      body: await readFile(at("reply.tsr"))
    }
  }
  const server = yield* fakeServer(work)
  const check = (reply: Uint8Array, stamped: string) =>
    Effect.promise(async () => {
      await writeFile(at("checked.tsr"), reply)
      await writeFile(at("checked.txt"), stamped)
      const command = ["ts", "-verify", "-in", "checked.tsr", "-data", "checked.txt", "-CAfile", "root.pem"]
      return run("openssl", command, { cwd: folder }).then(
        ({ stdout }) => stdout.trim(),
        () => "Verification: FAILED"
      )
    })
  const authority: TimeStampAuthority = { ...server, check }
  return authority
})

class World extends Context.Service<
  World,
  { readonly authority: TimeStampAuthority; readonly tree: Rfc6962Tree }
>()("auspex/test/World") {}

/** A server whose log has entries and no checkpoint yet, and the authority that it asks. */
const world = Layer.unwrap(
  Effect.gen(function* () {
    const authority = yield* makeTimeStampAuthority()
    const made = Effect.map(makeEntries(50), (tree) => ({ authority, tree }))
    return Layer.effect(World, made).pipe(
      Layer.provideMerge(testServer({ environment: { AUSPEX_TSA_URL: `${authority.url}/tsr?policy=1` } }))
    )
  })
).pipe(Layer.provideMerge(telemetryRecorder))

/** Nothing has been stamped or published yet. */
const afresh = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { authority, tree } = yield* World
  authority.behave()
  authority.forget()
  yield* asOwner(sql`delete from log_checkpoints`)
  yield* asOwner(sql`delete from log_witnesses`)
  const { lines } = yield* TelemetryRecorder
  const before = lines.length
  const logged = () => lines.slice(before).filter((line) => line.includes("attest"))
  return { authority, logged, tree }
})

const stamp = Witnesses.use((witnesses) => witnesses.stamp)

const stateOf = Effect.map(
  rowsOf(
    Schema.Struct({ size: Schema.Int, failures: Schema.Int, failure: Schema.NullOr(Schema.String) }),
    (sql) => sql`select size::int, failures, failure from log_witnesses`
  ),
  ([state]) => state
)

const bytesOf = Effect.fnUntraced(function* (path: string) {
  const { url } = yield* TestServer
  return yield* Effect.promise(async () => {
    const response = await fetch(url + path)
    return { headers: response.headers, bytes: new Uint8Array(await response.arrayBuffer()) }
  })
})

const answering =
  (status: number, body: string | Uint8Array, contentType = "application/timestamp-reply"): Behaviour =>
  () =>
    Promise.resolve({
      status,
      body,
      headers: { "content-type": contentType, location: "http://127.0.0.1:1/" }
    })

/** A right answer to another question. */
const answeringTo =
  (change: (request: TimeStampReq) => void): Behaviour =>
  (received, work) => {
    const request = AsnConvert.parse(received.body, TimeStampReq)
    change(request)
    return work({ ...received, body: Buffer.from(AsnConvert.serialize(request)) })
  }

/** The authority's answer, changed. */
const spoiling =
  (change: (reply: Buffer) => Uint8Array): Behaviour =>
  async (_, work) => {
    const reply = await work()
    return { ...reply, body: change(Buffer.from(reply.body ?? "")) }
  }

const refusal = Buffer.from(
  AsnConvert.serialize(new TimeStampResp({ status: new PKIStatusInfo({ status: PKIStatus.rejection }) }))
)
const emptyGrant = Buffer.from(
  AsnConvert.serialize(new TimeStampResp({ status: new PKIStatusInfo({ status: PKIStatus.granted }) }))
)

const faults: ReadonlyArray<readonly [what: string, reason: RegExp, behaviour: Behaviour]> = [
  ["is broken", /^it answered 500$/, answering(500, "")],
  ["sends us elsewhere", /^it answered 302$/, answering(302, "")],
  ["answers a page", /something else than a time stamp/, answering(200, "<html>", "text/html")],
  ["answers rubbish", /something else than a time stamp/, answering(200, "rubbish")],
  ["answers nothing", /broke off|something else than a time stamp/, answering(200, "")],
  ["answers deep nesting", /something else than a time stamp/, answering(200, Buffer.alloc(60_000, 0x30))],
  [
    "answers half of it",
    /something else than a time stamp/,
    spoiling((reply) => reply.subarray(0, reply.length / 2))
  ],
  ["answers 10 MB", /too large/, answering(200, Buffer.alloc(10_000_000))],
  ["refuses", /^it refused with status 2$/, answering(200, refusal)],
  ["grants nothing", /has no time stamp/, answering(200, emptyGrant)],
  [
    "stamps something else",
    /is of something else/,
    answeringTo(({ messageImprint }) => {
      messageImprint.hashedMessage = new OctetString(new Uint8Array(32))
    })
  ],
  [
    "repeats an older answer",
    /answer to another request/,
    answeringTo((request) => {
      request.nonce = Uint8Array.of(1, 2, 3).buffer
    })
  ],
  [
    "leaves out the nonce",
    /answer to another request/,
    answeringTo((request) => {
      delete request.nonce
    })
  ],
  [
    "leaves out its certificate",
    /without the certificate/,
    answeringTo((request) => {
      request.certReq = false
    })
  ]
]

describe.skipIf(!hasOpenssl)("Time stamps with OpenSSL", () => {
  layer(world)("A time stamp", (it) => {
    it.effect("A time stamp of the newest checkpoint is served, and verifies with openssl ts -verify", () =>
      Effect.gen(function* () {
        const { authority, tree } = yield* afresh
        yield* publish(tree, 5)
        yield* publish(tree, 10)
        yield* stamp
        assert.strictEqual(authority.requests[0]?.path, "/tsr?policy=1")
        assert.strictEqual((yield* get("/log/timestamps")).text, "10\n")
        const reply = yield* bytesOf("/log/timestamp/10")
        assert.strictEqual(reply.headers.get("content-type"), "application/timestamp-reply")
        assert.include(reply.headers.get("cache-control"), "immutable")
        const text = yield* get("/log/timestamp/10/text")
        assert.match(text.headers.get("content-type") ?? "", /^text\/plain/)
        const note = yield* TransparencyLog.use((log) => log.checkpoint)
        assert.strictEqual(text.text, `${note.split("\n").slice(0, 3).join("\n")}\n`)
        assert.strictEqual(yield* authority.check(reply.bytes, text.text), "Verification: OK")
        const other = text.text.replace("\n10\n", "\n11\n")
        assert.strictEqual(yield* authority.check(reply.bytes, other), "Verification: FAILED")
      })
    )

    it.effect("A time stamp is asked for once an hour, when the log has grown", () =>
      Effect.gen(function* () {
        const { authority, tree } = yield* afresh
        yield* stamp
        assert.lengthOf(authority.requests, 0)
        for (const size of [10, 20]) {
          yield* publish(tree, size)
          yield* stamp
          yield* TestClock.adjust("59 minutes")
          yield* stamp
          yield* TestClock.adjust("1 minute")
        }
        assert.lengthOf(authority.requests, 2)
        for (let hour = 0; hour < 3; hour++) {
          yield* stamp
          yield* TestClock.adjust("1 hour")
        }
        assert.lengthOf(authority.requests, 2)
        assert.strictEqual((yield* get("/log/timestamps")).text, "20\n10\n")
      })
    )

    it.effect("A time stamp has a nonce of its own, and brings the certificate along", () =>
      Effect.gen(function* () {
        const { authority, tree } = yield* afresh
        for (const size of [10, 20]) {
          yield* publish(tree, size)
          yield* stamp
          yield* TestClock.adjust("1 hour")
        }
        const requests = authority.requests.map(({ body }) => AsnConvert.parse(body, TimeStampReq))
        const nonces = requests.map(({ nonce = new ArrayBuffer(0) }) => Buffer.from(nonce).toString("hex"))
        assert.strictEqual(new Set(nonces).size, 2)
        for (const nonce of nonces) assert.lengthOf(nonce, 32)
        assert.deepStrictEqual(
          requests.map(({ certReq }) => certReq),
          [true, true]
        )
      })
    )

    it.effect("A time stamp stays, however many checkpoints are thinned out around it", () =>
      Effect.gen(function* () {
        const { tree } = yield* afresh
        for (const size of [10, 20]) {
          yield* publish(tree, size)
          yield* stamp
          yield* TestClock.adjust("1 hour")
        }
        const sql = yield* SqlClient.SqlClient
        // Both were signed in one hour, as when the log paused before the second was stamped.
        yield* asOwner(
          sql`update log_checkpoints set signed_at = ${DateTime.toDateUtc(DateTime.makeUnsafe(0))}`
        )
        yield* publish(tree, 30)
        yield* TestClock.adjust("3 days")
        yield* LogSequencer.use((sequencer) => sequencer.trim)
        assert.strictEqual((yield* get("/log/timestamps")).text, "20\n10\n")
      })
    )

    it.effect("A missing time stamp is a 404, and a list goes on before a size", () =>
      Effect.gen(function* () {
        const { tree } = yield* afresh
        for (const size of [10, 20, 30]) {
          yield* publish(tree, size)
          yield* stamp
          yield* TestClock.adjust("1 hour")
        }
        assert.strictEqual((yield* get("/log/timestamps?before=30")).text, "20\n10\n")
        assert.strictEqual((yield* get("/log/timestamps?before=10")).text, "")
        for (const before of ["x", "0", "-1", "1.5", "", "99999999999999999999"]) {
          const refused = yield* get(`/log/timestamps?before=${before}`)
          assert.deepStrictEqual([refused.status, refused.json["code"]], [400, "invalid_request"])
          assert.deepStrictEqual(wrongFields(refused), ["before"])
        }
        yield* publish(tree, 40)
        for (const size of ["40", "11", "010", "x", "99999999999999999999"]) {
          for (const path of [`/log/timestamp/${size}`, `/log/timestamp/${size}/text`]) {
            const absent = yield* get(path)
            assert.deepStrictEqual([absent.status, absent.json["code"]], [404, "not_found"], path)
          }
        }
      })
    )
  })

  layer(world)("A time stamp authority that fails", (it) => {
    it.effect.each(faults)(
      "An authority's failure keeps nothing, is logged once, and is asked about again later: %s",
      ([, reason, behaviour]) =>
        Effect.gen(function* () {
          const { authority, logged, tree } = yield* afresh
          yield* publish(tree, 10)
          authority.behave(behaviour)
          for (const pause of [5, 10, 20]) {
            yield* stamp
            yield* TestClock.adjust(`${pause} seconds`)
          }
          const state = yield* stateOf
          assert.match(state?.failure ?? "", reason)
          assert.deepInclude(state, { size: 0, failures: 3 })
          assert.lengthOf(authority.requests, 3)
          assert.strictEqual((yield* get("/log/timestamps")).text, "")
          assert.lengthOf(logged(), 1)
          authority.behave()
          yield* stamp
          assert.deepStrictEqual(yield* stateOf, { size: 10, failures: 0, failure: null })
          assert.strictEqual((yield* get("/log/timestamps")).text, "10\n")
        })
    )

    it.effect("A time stamp authority that never answers is given twenty seconds", () =>
      Effect.gen(function* () {
        const { authority, tree } = yield* afresh
        yield* publish(tree, 10)
        authority.behave(() => new Promise(() => {}))
        const asking = yield* Effect.forkChild(stamp)
        yield* authority.received(1)
        yield* TestClock.adjust("20 seconds")
        yield* Fiber.join(asking)
        assert.strictEqual((yield* stateOf)?.failure, "it took longer than 20 s")
      })
    )
  })
})

layer(testServices())("A log without an authority", (it) => {
  it.effect("A log without an authority asks nobody, and has no time stamps", () =>
    Effect.gen(function* () {
      yield* publish(yield* makeEntries(10), 10)
      yield* stamp
      assert.isUndefined(yield* stateOf)
      assert.deepStrictEqual(yield* Witnesses.use((witnesses) => witnesses.timeStamped(Option.none())), [])
    })
  )
})

describe("A nonce", () => {
  plainIt("A nonce is the same bytes after it has travelled, whatever the random bytes", () => {
    for (const first of [0x00, 0x3f, 0x40, 0x7f, 0x80, 0xff]) {
      const nonce = nonceOf(Uint8Array.of(first, 0, 0xff, 0x80))
      const query = AsnConvert.parse(timeStampQuery({ hash: new Uint8Array(32), nonce }), TimeStampReq)
      assert.deepStrictEqual(new Uint8Array(query.nonce ?? new ArrayBuffer(0)), nonce)
    }
  })

  plainIt("A nonce of an answer that is no time stamp is of no interest", () => {
    const question = { hash: new Uint8Array(32), nonce: nonceOf(new Uint8Array(16)) }
    for (const reply of [new Uint8Array(0), emptyGrant, refusal]) {
      assert.isTrue(Option.isSome(timeStampFault(reply, question)))
    }
  })
})
