/** What must hold after any play of calls. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { Credits } from "../../src/services/Credits.ts"
import type { Played } from "./gatewayWorkload.ts"

/** Usage, its totals, the balance and the ledger say the same, to the micro-credit. */
export const agreed = Effect.fnUntraced(function* (played: Played) {
  const { calls, computed, held, items, listed, spent, totals } = played
  assert.strictEqual(items.length, calls)
  assert.strictEqual(new Set(items.map(({ request_id }) => request_id)).size, calls)
  assert.strictEqual(held, 0n)
  assert.strictEqual(listed, computed)
  assert.strictEqual(spent, listed)
  assert.strictEqual(BigInt(Math.round(totals.cost * 1_000_000)), listed)
  assert.strictEqual(totals.calls, calls)
  assert.strictEqual(totals.failed_calls, items.filter(({ error }) => error !== null).length)
  for (const item of items) {
    const isFree = item.error !== null && item.error !== "client_left"
    if (isFree) assert.strictEqual(item.cost, 0, item.error ?? "")
    else assert.isAbove(item.cost, 0)
  }
  const { differences, gateway_revenue } = yield* Credits.use(({ check }) => check)
  assert.deepStrictEqual(differences, [])
  assert.strictEqual(gateway_revenue, listed)
})
