/** Rules by which a route is skipped. */
import { assert, describe, it } from "@effect/vitest"
import { makeCircuitBreaker } from "../../src/layers/gateway/circuitBreaker.ts"
import type { RouteSetting } from "../../src/layers/gateway/configuration.ts"
import { testProvider, testTimeouts } from "../support/upstream.ts"

const route: RouteSetting = {
  provider: testProvider,
  model: "swift-1",
  cost: undefined,
  priority: 1,
  weight: 1,
  timeouts: testTimeouts(1)
}
const failed = (retryAfterMillis: number | undefined) => ({ isLimit: false, retryAfterMillis })

describe("The circuit breaker of a route", () => {
  it("A route cools down after three failures in a row, for 30 s or the Retry-After; then one probe decides", () => {
    for (const [retryAfter, millis] of [
      [undefined, 30_000],
      [7000, 7000]
    ] as const) {
      const circuitBreaker = makeCircuitBreaker()
      for (let failure = 0; failure < 3; failure++) {
        assert.isFalse(circuitBreaker.isOpen(route, 0))
        circuitBreaker.failed(route, 0, failed(retryAfter))
      }
      assert.isTrue(circuitBreaker.isOpen(route, millis - 1))
      assert.isFalse(circuitBreaker.isOpen(route, millis))
      circuitBreaker.begin(route, millis)
      assert.isTrue(circuitBreaker.isOpen(route, millis))
      circuitBreaker.succeeded(route, millis)
      assert.isFalse(circuitBreaker.isOpen(route, millis))
    }
  })

  it("A route with an answer between its failures does not cool down", () => {
    const circuitBreaker = makeCircuitBreaker()
    for (const isFailure of [true, true, false, true, true]) {
      if (isFailure) circuitBreaker.failed(route, 0, failed(undefined))
      else circuitBreaker.succeeded(route, 0)
    }
    assert.isFalse(circuitBreaker.isOpen(route, 0))
  })

  it("A route whose limit is reached cools down at once for its Retry-After", () => {
    const circuitBreaker = makeCircuitBreaker()
    circuitBreaker.failed(route, 0, { isLimit: true, retryAfterMillis: 60_000 })
    assert.isTrue(circuitBreaker.isOpen(route, 59_999))
    // A shorter wait from another call does not end the cooldown.
    circuitBreaker.failed(route, 1000, { isLimit: true, retryAfterMillis: 1000 })
    assert.isTrue(circuitBreaker.isOpen(route, 59_999))
    assert.isFalse(circuitBreaker.isOpen(route, 60_000))
  })

  it("A route cools down for the whole time, even if a call that began before succeeds", () => {
    const circuitBreaker = makeCircuitBreaker()
    circuitBreaker.failed(route, 1000, { isLimit: true, retryAfterMillis: 60_000 })
    circuitBreaker.succeeded(route, 999)
    assert.isTrue(circuitBreaker.isOpen(route, 2000))
    circuitBreaker.succeeded(route, 1000)
    assert.isFalse(circuitBreaker.isOpen(route, 2000))
  })
})
