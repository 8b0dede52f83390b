/** Compressed answers: which they are, who gets them, and which answers never are. */
import { request } from "node:http"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { onboard, signInFrom } from "../support/agents.ts"
import { openChallenge } from "../support/challenges.ts"
import { withoutCoding } from "../support/codings.ts"
import { get, post, TestServer, testServer } from "../support/server.ts"
import { makeVisitor } from "../support/visitor.ts"

interface Raw {
  readonly status: number
  readonly headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>
  readonly body: Buffer
}

/** An answer as it is on the wire: fetch would undo its coding. */
const raw = Effect.fnUntraced(function* (
  path: string,
  headers: Readonly<Record<string, string>>,
  method = "GET"
) {
  const { url } = yield* TestServer
  return yield* Effect.promise(
    () =>
      new Promise<Raw>((resolve, reject) => {
        const sent = request(`${url}${path}`, { method, headers }, (response) => {
          const parts: Array<Buffer> = []
          response.on("data", (part: Buffer) => parts.push(part))
          response.on("end", () =>
            resolve({
              status: response.statusCode ?? 0,
              headers: response.headers,
              body: Buffer.concat(parts)
            })
          )
        })
        sent.on("error", reject)
        sent.end()
      })
  )
})

const challenges = "/api/v1/eval/challenges"
const active = "/api/v1/eval/challenges/active"

layer(testServer())("Compression", (it) => {
  it.effect("Public reads, pages and reads of agents are sent in the coding that is asked for", () =>
    Effect.gen(function* () {
      const { token } = yield* onboard()
      yield* openChallenge({ asset: "GC" })
      yield* post("/api/v1/agent/prediction-scope/GC", { token })
      yield* Effect.forEach([1, 2], () => openChallenge({ asset: "GC" }))
      const authorization = `Bearer ${token}`
      for (const path of [challenges, active, "/api/v1/public/target-catalog", "/challenges", "/skill.md"]) {
        const plain = yield* raw(path, { authorization })
        assert.isUndefined(plain.headers["content-encoding"], path)
        assert.strictEqual(plain.headers["vary"], "accept-encoding", path)
        for (const coding of ["br", "gzip", "zstd"]) {
          const answer = yield* raw(path, { authorization, "accept-encoding": coding })
          assert.strictEqual(answer.headers["content-encoding"], coding, path)
          assert.strictEqual(answer.headers["vary"], "accept-encoding", path)
          assert.strictEqual(answer.headers["content-type"], plain.headers["content-type"], path)
          assert.strictEqual(answer.headers["content-length"], String(answer.body.byteLength), path)
          assert.isBelow(answer.body.byteLength, plain.body.byteLength / 2, path)
          assert.strictEqual(withoutCoding(answer.body, coding).toString(), plain.body.toString(), path)
          const head = yield* raw(path, { authorization, "accept-encoding": coding }, "HEAD")
          assert.strictEqual(head.headers["content-length"], answer.headers["content-length"], path)
          assert.strictEqual(head.body.byteLength, 0)
        }
      }
    })
  )

  it.effect("Each form of a public read has a tag of its own, by which it is known again", () =>
    Effect.gen(function* () {
      yield* Effect.forEach([1, 2, 3], () => openChallenge({ asset: "ES" }))
      const tags = new Set<string>()
      for (const coding of ["identity", "br", "gzip", "zstd"]) {
        const { headers } = yield* raw(challenges, { "accept-encoding": coding })
        const etag = String(headers["etag"])
        tags.add(etag)
        const known = yield* raw(challenges, { "accept-encoding": coding, "if-none-match": etag })
        assert.deepStrictEqual([known.status, known.body.byteLength], [304, 0])
        assert.strictEqual(known.headers["etag"], etag)
        assert.strictEqual(known.headers["vary"], "accept-encoding")
        const other = yield* raw(challenges, {
          "accept-encoding": coding === "gzip" ? "br" : "gzip",
          "if-none-match": etag
        })
        assert.strictEqual(other.status, 200)
      }
      assert.strictEqual(tags.size, 4)
    })
  )

  it.effect("A short answer, an error and a log tile are sent as they are", () =>
    Effect.gen(function* () {
      for (const path of ["/api/v1/eval/btc/context", "/api/v1/nothing", "/log/key", "/health/live"]) {
        const { headers } = yield* raw(path, { "accept-encoding": "gzip" })
        assert.isUndefined(headers["content-encoding"], path)
      }
    })
  )

  it.effect("An answer with a secret, or with the secret of a form, is never compressed", () =>
    Effect.gen(function* () {
      const name = "a".repeat(80)
      const bio = "b".repeat(2000)
      const options = { headers: { "accept-encoding": "br, gzip, zstd" } }
      const registered = yield* post("/api/v1/agent/registry/register", { ...options, json: { name, bio } })
      assert.strictEqual(registered.status, 201)
      assert.isAbove(registered.text.length, 1024)
      assert.isNull(registered.headers.get("content-encoding"))
      assert.isNull((yield* get("/sign-in", options)).headers.get("content-encoding"))
      const visitor = makeVisitor()
      yield* signInFrom(visitor, "/sign-in", "ada@example.org")
      const account = yield* visitor.open("/account")
      assert.isAbove(account.text.length, 1024)
      assert.isNull(account.headers.get("content-encoding"))
    })
  )
})
