/** The calls about single records of the public log, as clients make them. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { LogSequencer } from "../../src/services/LogSequencer.ts"
import { claimedAgent } from "../support/agents.ts"
import {
  answerPriceEvent,
  forecast,
  freshWeek,
  newChallenge,
  newMacro,
  newPriceEvent,
  predict
} from "../support/challenges.ts"
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
  it.effect("Unpublished entries are answered with 409, which says when to ask again", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const agent = yield* claimedAgent()
      const session = yield* newChallenge()
      const close = { predicted_value: 3120, predicted_std: 20 }
      const value = { predicted_value: 3.1, predicted_std: 0.1 }
      const macro = yield* newMacro()
      const sent = [
        yield* predict(agent, session),
        yield* predict(agent, session, { is_revision: true, confidence: 0.9 }),
        yield* forecast(agent, macro, value),
        yield* forecast(agent, macro, { ...value, predicted_value: 3.2 }),
        yield* answerPriceEvent(agent, yield* newPriceEvent({ kind: "numeric_close" }), close),
        yield* answerPriceEvent(agent, yield* newPriceEvent({ kind: "count_days" }), value),
        yield* answerPriceEvent(agent, yield* newPriceEvent({ kind: "threshold" }), {
          direction: "bullish",
          confidence: 0.5
        }),
        yield* answerPriceEvent(agent, yield* newPriceEvent({ kind: "barrier" }), {
          direction: "bearish",
          confidence: 0.5
        })
      ]
      const commits = sent.map(({ answer }) => answer.receipt?.commit ?? "none")
      const look = Effect.fnUntraced(function* (path: "proof" | "entries", wanted: 200 | 409) {
        for (const commit of [...commits, ...commits.map((each) => each.toUpperCase())]) {
          const answer = yield* get(`/api/v1/log/${path}/${commit}`)
          assert.strictEqual(answer.status, wanted, `${path} of ${commit}`)
          if (wanted === 200) continue
          assert.strictEqual(answer.json["code"], "not_sequenced")
          assert.deepStrictEqual([answer.headers.get("retry-after"), answer.json["retry_after"]], ["1", 1])
          assert.strictEqual(answer.headers.get("cache-control"), "no-store")
        }
      })
      yield* look("proof", 409)
      yield* look("entries", 409)
      yield* LogSequencer.use((sequencer) => sequencer.sequence)
      yield* look("entries", 200)
      yield* look("proof", 409)
      yield* completeLog
      yield* look("entries", 200)
      yield* look("proof", 200)
    })
  )

  it.effect("Proofs are text files named after their commits, which verify with the key at /log/key", () =>
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

  it.effect("A proof that has not changed is answered with 304", () =>
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

  it.effect("A challenge that is open, or does not exist, has no settlement to find", () =>
    Effect.gen(function* () {
      const { challenge } = yield* committed
      for (const id of [challenge.id, "0190f000-0000-7000-8000-000000000000", "nothing"]) {
        const answer = yield* get(`/api/v1/log/settlement/${id}`)
        assert.deepStrictEqual([answer.status, answer.json["code"]], [404, "not_found"])
      }
    })
  )

  it.effect("An unknown commit is a 404, and a malformed one reads what a commit looks like", () =>
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
