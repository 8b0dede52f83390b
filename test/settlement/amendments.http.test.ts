/** Amendments through HTTP: rejection by the name of the field, permission, and the answer with all versions. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { verify } from "../../src/scoring/verifier/verify.ts"
import { onboard } from "../support/agents.ts"
import { completeLog } from "../support/logbook.ts"
import { get, member, post, testServer } from "../support/server.ts"
import { settledFixture } from "../support/settledFixture.ts"
import { testAdminToken } from "../support/settings.ts"
import { textOf } from "../support/visitor.ts"

const admin = { token: testAdminToken }
const pathOf = (id: string) => `/api/v1/admin/challenges/${id}/amend`
const jsonType = { "content-type": "application/json" }

layer(testServer())("POST /admin/challenges/{id}/amend", (it) => {
  it.effect("An invalid amendment is rejected by the name of the field", () =>
    Effect.gen(function* () {
      const { challenge } = yield* settledFixture()
      for (const [body, field] of [
        ['{"close_price":98}', "reason"],
        ['{"close_price":98,"reason":""}', "reason"],
        [`{"close_price":98,"reason":"${"x".repeat(1001)}"}`, "reason"],
        ['{"close_price":98,"reason":"a\\u0000b"}', "reason"],
        ['{"close_price":"98","reason":"why"}', "close_price"],
        ['{"close_price":null,"reason":"why"}', "close_price"],
        ['{"close_price":1e999,"reason":"why"}', "close_price"],
        ['{"close_price":1.1e15,"reason":"why"}', "close_price"],
        ['{"reason":"why"}', "close_price"],
        ['{"actual_value":3,"reason":"why"}', "actual_value"],
        ['{"close_price":98,"actual_value":3,"reason":"why"}', "actual_value"]
      ] as const) {
        const answer = yield* post(pathOf(challenge.id), { ...admin, body, headers: jsonType })
        assert.strictEqual(answer.status, 400, body)
        assert.strictEqual(member(answer.json, "errors", 0, "path"), field, body)
      }
      const results = yield* get(`/api/v1/eval/challenges/${challenge.id}/results`)
      assert.strictEqual(member(results.json, "settlement", "amended"), false)
    })
  )

  it.effect("Only administrators amend, and only challenges that exist and are settled", () =>
    Effect.gen(function* () {
      const { challenge } = yield* settledFixture()
      const { token } = yield* onboard()
      const json = { close_price: 98, reason: "why" }
      assert.strictEqual((yield* post(pathOf(challenge.id), { json })).status, 401)
      assert.strictEqual((yield* post(pathOf(challenge.id), { token, json })).status, 401)
      const unknown = yield* post(pathOf("0190f000-0000-7000-8000-000000000000"), { ...admin, json })
      assert.deepStrictEqual([unknown.status, member(unknown.json, "code")], [404, "not_found"])
      const same = yield* post(pathOf(challenge.id), { ...admin, json: { ...json, close_price: 102 } })
      assert.deepStrictEqual([same.status, member(same.json, "code")], [400, "challenge_state"])
    })
  )

  it.effect("An amendment answers all versions of the settlement, and everybody reads them with proofs", () =>
    Effect.gen(function* () {
      const { ada, challenge, keys } = yield* settledFixture()
      const json = { close_price: 98, reason: "The exchange <corrected> it." }
      const answer = yield* post(pathOf(challenge.id), { ...admin, json })
      assert.strictEqual(answer.status, 200)
      assert.strictEqual(member(answer.json, "settlement", "version"), 2)
      assert.strictEqual(member(answer.json, "versions", 1, "reason"), json.reason)
      const again = yield* post(pathOf(challenge.id), { ...admin, json })
      assert.deepStrictEqual([again.status, again.json], [200, answer.json])
      const logged = yield* get("/api/v1/admin/audit", admin)
      assert.strictEqual(member(logged.json, "items", 0, "action"), "amendChallenge")
      yield* completeLog

      const results = yield* get(`/api/v1/eval/challenges/${challenge.id}/results`)
      assert.deepStrictEqual(member(results.json, "settlement"), member(answer.json, "settlement"))
      const page = textOf(yield* get(`/challenges/${challenge.id}`))
      assert.include(page, "Amended: an administrator has corrected what it was decided by.")
      assert.match(page, /Version 2 ▼ Down, by 98 .*The exchange <corrected> it\. Version 1 ▲ Up, by 102/)
      assert.match(page, /Settled entry \d+ .*Amended, version 2 entry \d+/)
      const card = textOf(yield* get(`/agents/${ada}`))
      assert.match(card, /Amended ▲ Up 93\.8 % ▼ Down 6\.3 /)

      const proofOf = Effect.fnUntraced(function* (path: string) {
        const { text } = yield* get(path)
        const verification = yield* Effect.promise(() => verify({ proof: text, keys }))
        assert.isTrue(verification.holds, path)
        return new Map(verification.statement?.facts)
      })
      const newest = yield* proofOf(`/api/v1/log/settlement/${challenge.id}`)
      assert.deepStrictEqual(
        [newest.get("Version"), newest.get("Closing price"), newest.get("Result")],
        ["2", "98", "bearish"]
      )
      for (const [index, price] of ["102", "98"].entries()) {
        const place = String(member(results.json, "versions", index, "leaf_index"))
        assert.strictEqual((yield* proofOf(`/api/v1/log/proof/entry/${place}`)).get("Closing price"), price)
      }
    })
  )
})
