import { Effect } from "effect"
import { OpenApi } from "effect/http-api"
import { Gateway } from "../../services/Gateway.ts"
import { Settings } from "../../services/Settings.ts"
import { Targets } from "../../services/Targets.ts"
import { published } from "../api/document.ts"
import { readCalls } from "./calls.ts"
import { skill } from "./skill.ts"

/** The guide for agents as this instance writes it, Markdown. */
export const makeGuide = Effect.gen(function* () {
  const settings = yield* Settings
  const gateway = yield* Gateway
  const targets = yield* Targets
  // @effect-diagnostics-next-line returnEffectInGen:off -- made once, run at each reading
  return Effect.gen(function* () {
    const { categories } = yield* targets.catalog
    const models = yield* gateway.models
    return skill(settings, readCalls(OpenApi.fromApi(published(settings))), {
      targets: categories.flatMap((category) => category.targets),
      hasGateway: models.length > 0
    })
  })
})
