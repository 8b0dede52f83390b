/** As ledger.test.ts, ten times as many. */
import { layer } from "@effect/vitest"
import { Effect } from "effect"
import { gatewayServer } from "../support/gateway.ts"
import { agreed } from "../support/gatewayAgreement.ts"
import { play, playModels } from "../support/gatewayWorkload.ts"

layer(gatewayServer(playModels, {}, "usual"))("usage and the ledger", (it) => {
  it.effect("agree to the micro-credit after 10 000 mixed calls with 10 % faults", () =>
    Effect.flatMap(play(10_000), agreed)
  )
})
