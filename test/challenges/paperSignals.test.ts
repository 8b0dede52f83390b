/** Virtual positions as agents see them over HTTP. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { onboard } from "../support/agents.ts"
import { freshWeek, importQuotes, moveTo, newChallenge, plus } from "../support/challenges.ts"
import { get, member, post, testServer } from "../support/server.ts"
import { testAdminToken } from "../support/settings.ts"

layer(testServer())("Paper trading over HTTP", (it) => {
  it.effect("An agent sees at what prices its own positions were entered and left, and what they made", () =>
    Effect.gen(function* () {
      const deadline = plus(yield* freshWeek, "20 minutes")
      const resolveAt = plus(deadline, "20 minutes")
      const { id } = yield* newChallenge({ asset: "ES", deadline, resolve_at: resolveAt })
      const [ada, grace] = [yield* onboard(), yield* onboard()]
      yield* importQuotes("ES", [
        [deadline, 5000],
        [resolveAt, 5050]
      ])
      yield* moveTo(plus(deadline, "1 minute"))
      const path = `/api/v1/eval/challenges/${id}`
      const late = yield* post(`${path}/predict`, {
        token: ada.token,
        json: { direction: "bearish", confidence: 0.3 }
      })
      assert.strictEqual(late.status, 201)
      assert.isFalse(late.json["counts_for_score"])
      assert.strictEqual(
        late.json["note"],
        "The deadline of this challenge has passed: recorded as a paper-trade signal only. It takes a virtual position at 5000."
      )
      const position = (token: string) =>
        Effect.map(get(`${path}/paper-signals`, { token }), ({ json }) =>
          member(json, "items", 0, "position")
        )
      assert.strictEqual(member(yield* position(ada.token), "status"), "open")
      assert.isUndefined(yield* position(grace.token))
      assert.strictEqual((yield* get(`${path}/paper-signals`)).status, 401)

      yield* moveTo(plus(resolveAt, "1 minute"))
      yield* post("/api/v1/admin/settle", { token: testAdminToken })
      assert.deepStrictEqual(yield* position(ada.token), {
        status: "closed",
        size: -0.3,
        entry_price: 5000,
        entry_observed_at: "2026-03-02T00:20:00.000Z",
        entry_source: "admin quote",
        exit_price: 5050,
        exit_observed_at: "2026-03-02T00:40:00.000Z",
        exit_source: "admin quote",
        pnl_pct: -0.3
      })
      // A signal scores nobody, and the public results show none.
      assert.deepStrictEqual((yield* get(`${path}/results`)).json["predictions"], [])
    })
  )
})
