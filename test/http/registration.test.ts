import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { onboard, openChallenge } from "../support/agents.ts"
import { get, testServer } from "../support/server.ts"

layer(testServer())("x", (it) => {
  it.effect("a", () =>
    Effect.gen(function* () {
      const ada = yield* onboard()
      const me = yield* get("/api/v1/agent/profile/self", { token: ada.token })
      console.log(me.status, me.json, Object.fromEntries(me.headers))
      console.log(yield* openChallenge())
    })
  )
})
