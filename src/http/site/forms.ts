/** Forms as browsers post them. */
import { Effect } from "effect"
import { HttpServerRequest } from "effect/http"
import { InvalidRequest } from "../../services/errors.ts"
import { smallBody } from "../middleware/annotations.ts"
import { bodyText } from "../middleware/requestBody.ts"

const formType = "application/x-www-form-urlencoded"

/** The fields of a form, each of which may come once. */
export const readForm = Effect.gen(function* () {
  const request = yield* HttpServerRequest.HttpServerRequest
  const fields = new URLSearchParams(yield* bodyText(request, [formType], smallBody))
  const seen = new Set<string>()
  for (const name of fields.keys()) {
    if (seen.has(name)) return yield* InvalidRequest.of(name.slice(0, 200), "Expected this field once.")
    seen.add(name)
  }
  return fields
})
