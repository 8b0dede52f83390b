import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { onboard } from "../support/agents.ts"
import { openChallenge, newMacro, newPriceEvent } from "../support/challenges.ts"
import { get, member, post, testServer } from "../support/server.ts"

layer(testServer())("The parameter lang", (it) => {
  it.effect("The parameter lang leaves the other language's criteria out of lists and results", () =>
    Effect.gen(function* () {
      const { id } = yield* openChallenge({ asset: "GC" })
      yield* newMacro()
      yield* newPriceEvent({ kind: "threshold" })
      const { token } = yield* onboard()
      yield* post("/api/v1/agent/prediction-scope/GC", { token })
      const reads = [
        ["/api/v1/eval/challenges", ["items", 0]],
        ["/api/v1/eval/challenges/active", ["items", 0]],
        ["/api/v1/eval/macro/challenges", ["challenges", 0]],
        ["/api/v1/eval/price-events/challenges", ["items", 0]],
        [`/api/v1/eval/challenges/${id}`, []],
        [`/api/v1/eval/challenges/${id}/results`, []]
      ] as const
      for (const [path, place] of reads) {
        const textsOf = Effect.fnUntraced(function* (query: string) {
          const { json } = yield* get(path + query, { token })
          return ["resolution_criteria", "resolution_criteria_zh"].map((name) => member(json, ...place, name))
        })
        const [english, chinese] = yield* textsOf("")
        assert.isString(english, path)
        assert.match(String(chinese), /\p{Script=Han}/u, path)
        assert.deepStrictEqual<unknown>(yield* textsOf("?lang=en"), [english, undefined], path)
        assert.deepStrictEqual<unknown>(yield* textsOf("?lang=zh"), [undefined, chinese], path)
        assert.strictEqual((yield* get(`${path}?lang=fr`, { token })).status, 400, path)
      }
    })
  )
})
