/** Forms as browsers post them. */
import { Effect } from "effect"
import { HttpServerRequest } from "effect/http"
import { InvalidRequest } from "../../services/errors.ts"
import { LargestBody } from "../middleware/annotations.ts"
import { bodyText } from "../middleware/requestBody.ts"

const formType = "application/x-www-form-urlencoded"

/** The fields of a form, each of which may come once. */
export const readForm = Effect.gen(function* () {
  const request = yield* HttpServerRequest.HttpServerRequest
  const fields = new URLSearchParams(yield* bodyText(request, [formType], yield* LargestBody))
  const names = [...fields.keys()]
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) return yield* InvalidRequest.of(twice.slice(0, 200), "Expected this field once.")
  return fields
})
