/** Terms that differ as doubles and become equal with 15 digits are refused by name; ties with a meaning are taken. */
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect } from "effect"
import { AgentId } from "../../src/services/domain/ids.ts"
import { Targets } from "../../src/services/Targets.ts"
import { onboardClaimed } from "../support/agents.ts"
import { freshWeek, newMacro, newPriceEvent, plus } from "../support/challenges.ts"
import { post, send, testServer, wrongFields } from "../support/server.ts"
import { testAdminToken } from "../support/settings.ts"

const environment = {
  AUSPEX_LIMIT_PREDICTIONS: "10000/minute",
  AUSPEX_LIMIT_REFUSED_WRITES: "10000/minute"
}

const right: ReadonlyArray<ReadonlyArray<number>> = [
  [3, 3.1],
  [-0.1, 0, 0.1],
  [0.3, 0.300000000000001],
  [-1e15, 1e15],
  [1e-12, 2e-12],
  [99.9, 100, 100.1],
  [123456.789012345, 123456.789012346],
  [-3, -2.999999999]
]

const wrong: ReadonlyArray<ReadonlyArray<number>> = [
  [0.3, 0.1 + 0.2],
  [0.1 + 0.2, 0.3],
  [1, 1],
  [0, -0],
  [-0, 0],
  [1, 1 + Number.EPSILON],
  [2, 3, 3.0000000000000004],
  [3.1, 3],
  [1, 2, 1.9],
  [100, 100.00000000000001],
  [-1.0000000000000002, -1],
  [0.7, 0.1 * 7],
  [4.35, 435 / 100 + 1e-15],
  [1e14, 1e14 + 0.015625],
  [999999999999999, 999999999999999.1],
  [1e-12, 1.0000000000000002e-12]
]

const deadZones: ReadonlyArray<readonly [number, boolean]> = [
  [0, true],
  [-0, true],
  [1e-9, true],
  [0.3, true],
  [0.1 + 0.2, true],
  [99, true],
  [99.9999999, true],
  [99.9999999999999, true],
  [99.99999999999996, false],
  [99.99999999999999, false],
  [100 - 1.5e-14, false],
  [100, false],
  [100.00000000000001, false],
  [1e3, false],
  [-1e-9, false],
  [-0.3, false]
]

layer(testServer({ environment }))("Frozen terms", (it) => {
  const admin = (method: "POST" | "PUT" | "PATCH", path: string, json: object) =>
    send(method, `/api/v1/admin/${path}`, { token: testAdminToken, json })
  const iso = (at: DateTime.Utc) => DateTime.formatIso(at)

  it.effect("Edges that would become equal are refused, in challenges and in the calendar", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const [deadline, release_at] = [iso(plus(monday, "1 hour")), iso(plus(monday, "2 hours"))]
      for (const [edges, isRight] of [
        ...right.map((each) => [each, true] as const),
        ...wrong.map((each) => [each, false] as const)
      ]) {
        const terms = {
          asset: "CPI",
          deadline,
          release_at,
          reference_scale: 0.1,
          bin_edges: edges,
          reward_pool: 0
        }
        const made = yield* admin("POST", "macro/challenges", { ...terms, period: "2026-03" })
        const planned = yield* admin("PUT", "release-calendar", {
          releases: [{ ...terms, period: "2026-04" }]
        })
        assert.deepStrictEqual([made.status, planned.status], isRight ? [201, 200] : [400, 400], edges.join())
        if (isRight) continue
        assert.deepStrictEqual(wrongFields(made), ["bin_edges"])
        assert.deepStrictEqual(wrongFields(planned), ["releases.0.bin_edges"])
      }
    })
  )

  it.effect("A dead zone stays below one hundred, in challenges and on targets", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const deadline = iso(plus(monday, "1 hour"))
      for (const [dead_zone_pct, isRight] of deadZones) {
        const terms = { asset: "GC", deadline, resolve_at: deadline, open_price: 100, dead_zone_pct }
        const made = yield* admin("POST", "challenges", terms)
        const changed = yield* admin("PATCH", "targets/GC", { dead_zone_pct })
        assert.deepStrictEqual(
          [made.status, changed.status],
          isRight ? [201, 200] : [400, 400],
          String(dead_zone_pct)
        )
        if (isRight) continue
        assert.deepStrictEqual(
          [wrongFields(made), wrongFields(changed)],
          [["dead_zone_pct"], ["dead_zone_pct"]]
        )
      }
    })
  )
})

const ps = [0.1, 0.25, 0.5, 0.75, 0.9]

const quantilesOf = (values: ReadonlyArray<number>) =>
  values.map((value, index) => ({ p: ps[index] ?? 0.95, value }))

/** Quantiles of outcomes in steps, as UNRATE in tenths or days that closed up. */
const tied: ReadonlyArray<ReadonlyArray<number>> = [
  [4, 4, 4.1, 4.1, 4.2],
  [3, 3, 3, 3, 4],
  [2, 3, 3, 3, 3],
  [0, 0, 1, 2, 2],
  [0, 0, 0, 0, 7],
  [1, 2, 2, 2, 3],
  [3.9, 4, 4, 4.1, 4.2],
  [0, -0, 1, 1, 1],
  [0, 1, 1, 5, 5],
  [6, 6, 6, 7, 7],
  [2, 2, 5, 5, 5],
  [0, 3, 4, 4, 7]
]

/** Quantiles that no rounding makes. */
const never: ReadonlyArray<ReadonlyArray<number>> = [
  [3, 3, 3, 3, 3],
  [0, 0, 0, 0, 0],
  [3, 2, 3, 4, 5],
  [1, 2, 3, 4, 3.9999],
  [5, 4, 3, 2, 1]
]

layer(testServer({ environment }))("Quantiles that tie", (it) => {
  it.effect("Quantiles that tie are taken where outcomes come in steps, and refused by name elsewhere", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const { agentId, token } = yield* onboardClaimed()
      yield* Targets.use((targets) => targets.subscribe(AgentId.make(agentId), "ETH"))
      const series = yield* newMacro()
      const count = yield* newPriceEvent({ kind: "count_days" })
      const close = yield* newPriceEvent({ kind: "numeric_close" })
      const answer = (id: string, values: ReadonlyArray<number>) =>
        post(`/api/v1/eval/challenges/${id}/predict`, { token, json: { quantiles: quantilesOf(values) } })
      for (const values of tied) {
        for (const { id } of [series, count]) {
          const { status, text } = yield* answer(id, values)
          assert.include([200, 201], status, `${values.join()}: ${text}`)
        }
        const refused = yield* answer(close.id, values)
        assert.strictEqual(refused.status, 400, values.join())
        assert.match(String(wrongFields(refused)[0]), /^quantiles/)
      }
      for (const values of never) {
        for (const { id } of [series, count, close]) {
          const refused = yield* answer(id, values)
          assert.strictEqual(refused.status, 400, values.join())
          assert.match(String(wrongFields(refused)[0]), /^quantiles/)
        }
      }
      assert.include([200, 201], (yield* answer(close.id, [1, 2, 3, 4, 5])).status)
    })
  )
})
