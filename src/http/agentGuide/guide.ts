import { Effect } from "effect"
import { OpenApi } from "effect/http-api"
import { Gateway } from "../../services/Gateway.ts"
import { Settings } from "../../services/Settings.ts"
import { Targets } from "../../services/Targets.ts"
import { published } from "../api/document.ts"
import { readCalls } from "./calls.ts"
import { callsPage, skill } from "./skill.ts"

/** The guide for agents and its page of all calls, as Markdown, for this instance. */
export const makeGuide = Effect.gen(function* () {
  const settings = yield* Settings
  const gateway = yield* Gateway
  const targets = yield* Targets
  // The calls of the API do not change while the instance runs.
  const readOnce = yield* Effect.cached(Effect.sync(() => readCalls(OpenApi.fromApi(published(settings)))))
  const written = (page: typeof skill) =>
    Effect.gen(function* () {
      const { categories } = yield* targets.catalog
      const models = yield* gateway.models
      return page(settings, yield* readOnce, {
        targets: categories.flatMap((category) => category.targets),
        hasGateway: models.length > 0
      })
    })
  return { guide: written(skill), calls: written(callsPage) }
})
