/** The log as mirrors, monitors and verifiers fetch it: paths, headers, and a whole copy of it. */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import {
  isSignedBy,
  parseCheckpointText,
  parseNote,
  parseVerifierKey
} from "../../src/layers/crypto/signedNote.ts"
import { Rfc6962Tree } from "../support/log/rfc6962.ts"
import { entryAt, makeEntries, publish, syntheticKey } from "../support/log/syntheticLog.ts"
import { get, metrics, send, TestServer, testServer } from "../support/server.ts"

/** 273 full tiles and one of 112, as in the example of the specification. */
const size = 70_000
/** The number of entries that are sequenced and not published yet. */
const unpublished = 300

const makeLog = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const tree = yield* makeEntries(size + unpublished)
  yield* sql`insert into log_keys (number, verifier_key, added_at) values (1, ${syntheticKey}, to_timestamp(0))`
  yield* publish(tree, 1000)
  return { tree, note: yield* publish(tree, size) }
})

class Log extends Context.Service<Log, Effect.Success<typeof makeLog>>()("auspex/test/Log") {}

const bytesOf = Effect.fnUntraced(function* (path: string, headers: Readonly<Record<string, string>> = {}) {
  const { url } = yield* TestServer
  return yield* Effect.promise(async (signal) => {
    const response = await fetch(url + path, { headers, signal })
    return { response, status: response.status, bytes: Buffer.from(await response.arrayBuffer()) }
  })
})

/** The path of tile `n`, which has this many of its 256. */
const tilePath = (level: number | "entries", n: number, width: number) => {
  const groups =
    String(n)
      .padStart(Math.ceil(String(n).length / 3) * 3, "0")
      .match(/\d{3}/g) ?? []
  const index = groups.map((group, at) => (at === groups.length - 1 ? group : `x${group}`)).join("/")
  return `/log/tile/${level}/${index}${width === 256 ? "" : `.p/${width}`}`
}

/** All tiles of a level, or all bundles, of a tree with this number of hashes there. */
const tilePaths = (level: number | "entries", hashes: number) =>
  Array.from({ length: Math.ceil(hashes / 256) }, (_, n) =>
    tilePath(level, n, Math.min(256, hashes - n * 256))
  )

const download = (paths: ReadonlyArray<string>) =>
  Effect.forEach(
    paths,
    (path) =>
      Effect.map(bytesOf(path), ({ bytes, status }) => {
        assert.strictEqual(status, 200, path)
        return bytes
      }),
    { concurrency: 8 }
  )

const entriesOf = (bundle: Buffer): ReadonlyArray<Buffer> => {
  const entries: Array<Buffer> = []
  for (let at = 0; at < bundle.length; at += 2 + bundle.readUInt16BE(at)) {
    entries.push(bundle.subarray(at + 2, at + 2 + bundle.readUInt16BE(at)))
  }
  return entries
}

const published = Effect.gen(function* () {
  const { text } = yield* get("/log/checkpoint")
  const key = Option.getOrThrow(parseVerifierKey((yield* get("/log/key")).text.trimEnd()))
  const note = Option.getOrThrow(parseNote(text))
  assert.isTrue(isSignedBy(note, key))
  return Option.getOrThrow(parseCheckpointText(note.text))
})

const server = testServer()
const logServer = Layer.effect(Log, makeLog).pipe(Layer.provideMerge(server))

layer(logServer)("The log below /log", (it) => {
  it.effect("A mirror of the entries alone has the root of the checkpoint", () =>
    Effect.gen(function* () {
      const head = yield* published
      const bundles = yield* download(tilePaths("entries", head.size))
      const mirror = new Rfc6962Tree(bundles.flatMap(entriesOf))
      assert.lengthOf(mirror.entries, size)
      assert.strictEqual(String(mirror.entries[69_999]), entryAt(69_999))
      assert.deepStrictEqual(mirror.root(0, head.size), Buffer.from(head.root))
    })
  )

  it.effect("The tiles of every level are the hashes of the tree", () =>
    Effect.gen(function* () {
      const { tree } = yield* Log
      for (const level of [0, 1, 2]) {
        const hashes = Math.floor(size / 256 ** level)
        const tiles = Buffer.concat(yield* download(tilePaths(level, hashes)))
        const expected = Array.from({ length: hashes }, (_, n) =>
          tree.root(n * 256 ** level, (n + 1) * 256 ** level)
        )
        assert.isTrue(tiles.equals(Buffer.concat(expected)), `level ${level}`)
      }
      assert.strictEqual((yield* bytesOf("/log/tile/3/000.p/1")).status, 404)
    })
  )

  it.effect("A tile of any width is the beginning of the full one", () =>
    Effect.gen(function* () {
      for (const kind of ["0", "1", "entries"]) {
        const full = (yield* bytesOf(`/log/tile/${kind}/000`)).bytes
        for (const width of [1, 2, 128, 255]) {
          const part = yield* bytesOf(`/log/tile/${kind}/000.p/${width}`)
          assert.strictEqual(part.status, 200)
          assert.isTrue(full.subarray(0, part.bytes.length).equals(part.bytes))
          if (kind !== "entries") assert.lengthOf(part.bytes, 32 * width)
        }
      }
    })
  )

  it.effect("The log shows nothing beyond the newest published checkpoint, also if it is sequenced", () =>
    Effect.gen(function* () {
      for (const path of [
        tilePath(0, 273, 113),
        tilePath(0, 273, 256),
        tilePath("entries", 273, 113),
        tilePath("entries", 273, 256),
        tilePath("entries", 274, 1),
        tilePath(1, 1, 18),
        tilePath(2, 0, 2),
        tilePath(2, 0, 256),
        tilePath(6, 0, 1),
        tilePath(63, 999_999_999_999_999, 256),
        tilePath("entries", 999_999_999_999_999, 256)
      ]) {
        const answer = yield* get(path)
        assert.deepStrictEqual([answer.status, answer.json["code"]], [404, "not_found"], path)
        assert.strictEqual(answer.headers.get("cache-control"), "no-store")
      }
      for (const path of [tilePath(0, 273, 112), tilePath("entries", 273, 112), tilePath(1, 1, 17)]) {
        assert.strictEqual((yield* bytesOf(path)).status, 200, path)
      }
    })
  )

  it.effect("Tiles and entries never change and may be kept for ever", () =>
    Effect.gen(function* () {
      for (const path of [
        "/log/tile/0/000",
        "/log/tile/0/000?anything",
        "/log/tile/1/001.p/3",
        "/log/tile/entries/000"
      ]) {
        const { response } = yield* bytesOf(path)
        assert.strictEqual(response.headers.get("content-type"), "application/octet-stream")
        assert.strictEqual(response.headers.get("cache-control"), "public, max-age=31536000, immutable")
        assert.strictEqual(response.headers.get("access-control-allow-origin"), "*")
        assert.isNotNull(response.headers.get("x-request-id"))
      }
    })
  )

  it.effect("The checkpoint is text, is not kept, and has the signatures of witnesses under its own", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { note } = yield* Log
      const before = yield* get("/log/checkpoint")
      assert.strictEqual(before.text, note)
      assert.strictEqual(before.headers.get("content-type"), "text/plain; charset=utf-8")
      assert.strictEqual(before.headers.get("cache-control"), "no-store")
      assert.strictEqual(before.headers.get("access-control-allow-origin"), "*")
      yield* sql`
        insert into log_cosignatures (size, witness, line, cosigned_at)
        values (${size}, 'b.example', '— b.example AAAA', to_timestamp(1)),
               (${size}, 'a.example', E'— a.example AAAA\n', to_timestamp(2)),
               (1000, 'a.example', '— a.example BBBB', to_timestamp(0))`
      const after = yield* get("/log/checkpoint")
      assert.strictEqual(after.text, `${note}— b.example AAAA\n— a.example AAAA\n`)
    })
  )

  it.effect("The answer of /log/key is the verifier keys, the newest first", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { headers, text } = yield* get("/log/key")
      assert.strictEqual(text, `${syntheticKey}\n`)
      assert.strictEqual(headers.get("content-type"), "text/plain; charset=utf-8")
      yield* sql`insert into log_keys (number, verifier_key, added_at) values (2, 'another', to_timestamp(1))`
      assert.strictEqual((yield* get("/log/key")).text, `another\n${syntheticKey}\n`)
    })
  )

  it.effect("Entries are compressed for clients that take that", () =>
    Effect.gen(function* () {
      const path = tilePath("entries", 0, 256)
      const plain = yield* bytesOf(path, { "accept-encoding": "identity" })
      assert.isNull(plain.response.headers.get("content-encoding"))
      const zipped = yield* bytesOf(path, { "accept-encoding": "gzip" })
      assert.strictEqual(zipped.response.headers.get("content-encoding"), "gzip")
      assert.strictEqual(zipped.response.headers.get("vary"), "Accept-Encoding")
      assert.isTrue(zipped.bytes.equals(plain.bytes))
      const hashes = yield* bytesOf(tilePath(0, 0, 256), { "accept-encoding": "gzip" })
      assert.isNull(hashes.response.headers.get("content-encoding"))
    })
  )

  it.effect("Tiles take GET, HEAD and OPTIONS, and nothing else", () =>
    Effect.gen(function* () {
      const paths = ["/log/checkpoint", "/log/key", tilePath(0, 0, 256), tilePath("entries", 273, 112)]
      for (const path of paths) {
        const head = yield* send("HEAD", path)
        assert.deepStrictEqual([head.status, head.text], [200, ""], path)
        const options = yield* send("OPTIONS", path)
        assert.deepStrictEqual([options.status, options.headers.get("allow")], [204, "GET, HEAD"], path)
        for (const method of ["POST", "PUT", "PATCH", "DELETE"]) {
          const refused = yield* send(method, path)
          assert.deepStrictEqual([refused.status, refused.headers.get("allow")], [405, "GET, HEAD"], path)
        }
      }
    })
  )

  it.effect("A path that is no tile's is nothing's, whatever the method", () =>
    Effect.gen(function* () {
      for (const path of [
        "/log/tile",
        "/log/tile/0/0",
        "/log/tile/0/x000/000",
        "/log/tile/64/000",
        "/log/tile/0/000.p/256",
        "/log/tile/0/000.p/0",
        "/log/tile/0/000/",
        "/log/tile/0/%30%30%30",
        "/log/tile/entries/000.p/07",
        "/log/checkpoints"
      ]) {
        for (const method of ["GET", "HEAD", "OPTIONS", "POST"]) {
          assert.strictEqual((yield* send(method, path)).status, 404, `${method} ${path}`)
        }
        assert.strictEqual((yield* get(path)).json["code"], "not_found")
      }
    })
  )

  it.effect("Requests are measured by their route, not by the tile", () =>
    Effect.gen(function* () {
      yield* bytesOf(tilePath(0, 5, 256))
      const text = yield* metrics
      assert.include(text, 'route="/log/tile/*"')
      assert.notInclude(text, "/log/tile/0")
    })
  )
})

layer(testServer())("An empty log", (it) => {
  it.effect("An empty log has no checkpoint, no key and no tiles, and says what makes the first ones", () =>
    Effect.gen(function* () {
      for (const [path, made] of [
        ["/log/checkpoint", /its first entry, .* the role jobs runs/],
        ["/log/key", /the role jobs first starts/]
      ] as const) {
        const answer = yield* get(path)
        assert.deepStrictEqual([answer.status, answer.json["code"]], [404, "log_empty"])
        assert.match(String(answer.json["detail"]), made)
        assert.strictEqual(answer.headers.get("cache-control"), "no-store")
      }
      assert.strictEqual((yield* get("/log/tile/0/000.p/1")).status, 404)
      assert.strictEqual((yield* get("/log/tile/entries/000.p/1")).status, 404)
    })
  )
})

layer(testServer({ environment: { AUSPEX_LIMIT_LOG_READS: "3/minute", AUSPEX_LIMIT_READS: "1/minute" } }))(
  "Reads of the log",
  (it) => {
    it.effect("Reads of the log have a limit of their own, by address", () =>
      Effect.gen(function* () {
        for (const path of ["/log/key", "/log/checkpoint", "/log/tile/0/000"]) {
          assert.notStrictEqual((yield* get(path)).status, 429)
        }
        // A path that is no tile's is refused before it is counted.
        assert.strictEqual((yield* get("/log/tile/0/0")).status, 404)
        for (const path of ["/log/key", "/log/checkpoint", "/log/tile/0/000"]) {
          const refused = yield* get(path)
          assert.deepStrictEqual([refused.status, refused.json["code"]], [429, "rate_limited"])
          assert.strictEqual(refused.headers.get("retry-after"), String(refused.json["retry_after"]))
        }
        assert.strictEqual((yield* get("/api/v1/events")).status, 200)
      })
    )
  }
)
