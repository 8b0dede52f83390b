/** Amendments through HTTP: rejection by field or code, and the answer with all versions. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { verify } from "../../src/scoring/verifier/verify.ts"
import { completeLog } from "../support/logbook.ts"
import { get, member, post, testServer, wrongFields } from "../support/server.ts"
import { settledFixture } from "../support/settledFixture.ts"
import { testAdminToken } from "../support/settings.ts"
import { textOf } from "../support/visitor.ts"

const admin = { token: testAdminToken }
const pathOf = (id: string) => `/api/v1/admin/challenges/${id}/amend`

layer(testServer())("POST /admin/challenges/{id}/amend", (it) => {
  it.effect("An amendment that is wrong, of nothing or of no change is rejected by field or code", () =>
    Effect.gen(function* () {
      const { challenge } = yield* settledFixture()
      const amended = (json: unknown, id: string = challenge.id) => post(pathOf(id), { ...admin, json })
      for (const [json, fields] of [
        [{ close_price: "98", reason: "" }, ["close_price", "reason"]],
        [{ close_price: 1.1e15, reason: "why" }, ["close_price"]],
        [{ close_price: 98, actual_value: 3, reason: "why" }, ["actual_value"]]
      ] as const) {
        const answer = yield* amended(json)
        assert.deepStrictEqual([answer.status, wrongFields(answer)], [400, fields])
      }
      const json = { close_price: 102, reason: "why" }
      const unknown = yield* amended(json, "0190f000-0000-7000-8000-000000000000")
      assert.deepStrictEqual([unknown.status, unknown.json["code"]], [404, "not_found"])
      const same = yield* amended(json)
      assert.deepStrictEqual([same.status, same.json["code"]], [400, "challenge_state"])
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
