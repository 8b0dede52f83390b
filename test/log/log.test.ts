/** The calls about single records of the public log, as clients make them. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { claimedAgent } from "../support/agents.ts"
import { freshWeek, newChallenge, predict } from "../support/challenges.ts"
import { completeLog } from "../support/logbook.ts"
import { checkedProof } from "../support/log/proofFile.ts"
import { get, testServer } from "../support/server.ts"

const committed = Effect.gen(function* () {
  yield* freshWeek
  const challenge = yield* newChallenge()
  const { answer } = yield* predict(yield* claimedAgent(), challenge)
  return { challenge, commit: answer.receipt?.commit ?? "none" }
})

layer(testServer())("The public log over HTTP", (it) => {
  it.effect("answers what is not published yet with 409, and says when to ask again", () =>
    Effect.gen(function* () {
      const { commit } = yield* committed
      for (const path of ["proof", "entries"]) {
        const answer = yield* get(`/api/v1/log/${path}/${commit}`)
        assert.deepStrictEqual([answer.status, answer.json["code"]], [409, "not_sequenced"])
        assert.deepStrictEqual([answer.headers.get("retry-after"), answer.json["retry_after"]], ["1", 1])
        assert.strictEqual(answer.headers.get("cache-control"), "no-store")
      }
    })
  )

  it.effect("has proofs as text files named after their commits, which verify with the key at /log/key", () =>
    Effect.gen(function* () {
      const { commit } = yield* committed
      yield* completeLog
      const answer = yield* get(`/api/v1/log/proof/${commit.toUpperCase()}`)
      assert.strictEqual(answer.status, 200)
      assert.strictEqual(answer.headers.get("content-type"), "text/plain; charset=utf-8")
      assert.strictEqual(
        answer.headers.get("content-disposition"),
        `attachment; filename="${commit}.tlog-proof"`
      )
      assert.strictEqual(answer.headers.get("access-control-allow-origin"), "*")
      const { text } = yield* get("/log/key")
      const { index } = checkedProof(answer.text, text.trimEnd())
      const entry = yield* get(`/api/v1/log/entries/${commit}`)
      assert.strictEqual(entry.json["leaf_index"], index)
    })
  )

  it.effect("answers a proof that has not changed with 304", () =>
    Effect.gen(function* () {
      const { commit } = yield* committed
      yield* completeLog
      const path = `/api/v1/log/proof/${commit}`
      const etag = (yield* get(path)).headers.get("etag") ?? "none"
      assert.strictEqual((yield* get(path, { headers: { "if-none-match": etag } })).status, 304)
      yield* committed
      yield* completeLog
      assert.strictEqual((yield* get(path, { headers: { "if-none-match": etag } })).status, 200)
    })
  )

  it.effect("finds no settlement of a challenge that is open, or does not exist", () =>
    Effect.gen(function* () {
      const { challenge } = yield* committed
      for (const id of [challenge.id, "0190f000-0000-7000-8000-000000000000", "nothing"]) {
        const answer = yield* get(`/api/v1/log/settlement/${id}`)
        assert.deepStrictEqual([answer.status, answer.json["code"]], [404, "not_found"])
      }
    })
  )

  it.effect("answers an unknown commit with 404, and tells a malformed one what a commit looks like", () =>
    Effect.gen(function* () {
      for (const path of ["entries", "proof"]) {
        const unknown = yield* get(`/api/v1/log/${path}/${"ab".repeat(32)}`)
        assert.deepStrictEqual([unknown.status, unknown.json["code"]], [404, "not_found"])
        for (const malformed of ["ab", "ab".repeat(33), "zz".repeat(32), "%00"]) {
          const answer = yield* get(`/api/v1/log/${path}/${malformed}`)
          assert.strictEqual(answer.status, 404)
          assert.include(answer.json["detail"], "64 hexadecimal digits")
        }
      }
    })
  )
})
