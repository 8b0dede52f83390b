/** Asks the payment provider for what its messages did not tell. */
import { Effect, Layer } from "effect"
import { Payments } from "../services/Payments.ts"
import { Settings } from "../services/Settings.ts"
import { singletonCron } from "./schedule.ts"

const start = Effect.gen(function* () {
  const settings = yield* Settings
  const payments = yield* Payments
  yield* Effect.forkScoped(singletonCron("checkouts", settings.checkoutInterval, payments.followUp))
})

/** For instances with the role `jobs`, if something is sold. */
export const layer = Layer.effectDiscard(start)
