/** When a route is left alone, and when it is not. */
import { assert, describe, it } from "@effect/vitest"
import { Redacted } from "effect"
import { makeCooldown } from "../../../src/layers/gateway/cooldown.ts"
import type { RouteSetting } from "../../../src/layers/gateway/configuration.ts"

const route: RouteSetting = {
  provider: {
    name: "north",
    style: "openai",
    baseUrl: new URL("https://north.example"),
    apiKey: Redacted.make("key"),
    translates: true,
    connectTimeout: 1,
    firstByteTimeout: 1,
    idleTimeout: 1,
    responseTimeout: 1
  },
  model: "swift-1",
  priority: 1,
  weight: 1
}

describe("A route cools down", () => {
  it("after three failures in a row, for 30 s or what Retry-After said; then one trial decides", () => {
    for (const [said, millis] of [
      [undefined, 30_000],
      [7000, 7000]
    ] as const) {
      const cooldown = makeCooldown()
      for (let failure = 0; failure < 3; failure++) {
        assert.isFalse(cooldown.isCooling(route, 0))
        cooldown.failed(route, 0, said)
      }
      assert.isTrue(cooldown.isCooling(route, millis - 1))
      assert.isFalse(cooldown.isCooling(route, millis))
      cooldown.begin(route, millis)
      assert.isTrue(cooldown.isCooling(route, millis))
      cooldown.succeeded(route)
      assert.isFalse(cooldown.isCooling(route, millis))
    }
  })

  it("not after failures with an answer between them", () => {
    const cooldown = makeCooldown()
    for (const failed of [true, true, false, true, true]) {
      if (failed) cooldown.failed(route, 0, undefined)
      else cooldown.succeeded(route)
    }
    assert.isFalse(cooldown.isCooling(route, 0))
  })
})
