/** Names the right path for the id of another type of challenge. The path of directional ones accepts predictions of every type. */
import { Effect, Layer } from "effect"
import { HttpRouter } from "effect/http"
import { Arenas } from "../../services/Arenas.ts"
import { InvalidRequest, NotFound } from "../../services/domain/errors.ts"
import { knownPath } from "../routes.ts"
import { ChallengePath } from "../api/middleware.ts"

const pathsOfType = {
  directional: "/api/v1/eval/challenges/",
  macro: "/api/v1/eval/macro/challenges/",
  price_event: "/api/v1/eval/price-events/challenges/"
}
const parameter = ":challenge_id"
const takesEveryType = `${pathsOfType.directional}${parameter}/predict`

export const layer = Layer.effect(
  ChallengePath,
  Effect.gen(function* () {
    const arenas = yield* Arenas

    const hintFor = Effect.fnUntraced(function* (path: string, method: string) {
      const { challenge_id: id = "" } = yield* HttpRouter.params
      const type = yield* arenas.typeOf(id)
      const [before = "", action = ""] = path.split(parameter)
      if (pathsOfType[type] === before) return undefined
      const right = `${pathsOfType[type]}${id}${action}`
      const what = `${id} is a ${type.replace("_", "-")} challenge`
      if (knownPath(right)?.methods.has(method) === true) return `${what}: ${method} ${right}`
      return action === "/stake"
        ? `${what}: only macro challenges have a pool.`
        : `${what}, which takes no ${action.slice(1)}.`
    })

    return ChallengePath.of((httpEffect, { endpoint }) =>
      endpoint.path.includes(parameter) && endpoint.path !== takesEveryType
        ? Effect.tapError(httpEffect, (error) => {
            const isAboutIt = error instanceof NotFound || error instanceof InvalidRequest
            if (!isAboutIt || error.hint !== undefined) return Effect.void
            return hintFor(endpoint.path, endpoint.method).pipe(
              Effect.tap((hint) => Effect.sync(() => hint !== undefined && Object.assign(error, { hint }))),
              Effect.ignore
            )
          })
        : httpEffect
    )
  })
)
