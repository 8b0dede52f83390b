/** When a route is skipped, and when it is not. */
import { assert, describe, it } from "@effect/vitest"
import { makeCircuitBreaker } from "../../src/layers/gateway/circuitBreaker.ts"
import type { RouteSetting } from "../../src/layers/gateway/configuration.ts"
import { testProvider } from "../support/upstream.ts"

const route: RouteSetting = {
  provider: testProvider(1),
  model: "swift-1",
  priority: 1,
  weight: 1
}

describe("A route cools down", () => {
  it("after three failures in a row, for 30 s or what Retry-After said; then one probe decides", () => {
    for (const [said, millis] of [
      [undefined, 30_000],
      [7000, 7000]
    ] as const) {
      const circuitBreaker = makeCircuitBreaker()
      for (let failure = 0; failure < 3; failure++) {
        assert.isFalse(circuitBreaker.isOpen(route, 0))
        circuitBreaker.failed(route, 0, said)
      }
      assert.isTrue(circuitBreaker.isOpen(route, millis - 1))
      assert.isFalse(circuitBreaker.isOpen(route, millis))
      circuitBreaker.begin(route, millis)
      assert.isTrue(circuitBreaker.isOpen(route, millis))
      circuitBreaker.succeeded(route)
      assert.isFalse(circuitBreaker.isOpen(route, millis))
    }
  })

  it("not after failures with an answer between them", () => {
    const circuitBreaker = makeCircuitBreaker()
    for (const failed of [true, true, false, true, true]) {
      if (failed) circuitBreaker.failed(route, 0, undefined)
      else circuitBreaker.succeeded(route)
    }
    assert.isFalse(circuitBreaker.isOpen(route, 0))
  })
})
