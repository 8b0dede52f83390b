/** Bodies of calls as a provider of the other style gets them. */
import { Result } from "effect"
import { admit } from "../../src/layers/gateway/callBody.ts"
import { requestBody } from "../../src/layers/gateway/relay.ts"
import type { Rejected } from "../../src/layers/gateway/types.ts"
import type { Endpoint, Style } from "../../src/services/Gateway.ts"
import { testTarget } from "./upstream.ts"

export const user = { role: "user", content: "hi" } as const

/** The minimum members of each kind of call, and the style of the provider that it is translated for. */
const kinds = {
  chat: { body: { model: "swift-1", messages: [user] }, style: "anthropic" },
  messages: { body: { model: "swift-1", max_tokens: 100, messages: [user] }, style: "openai" },
  responses: { body: { model: "swift-1", input: "hi" }, style: "openai" }
} as const satisfies { readonly [kind in Endpoint]?: { readonly body: object; readonly style: Style } }

/** A body with these members, as the provider gets it, or its fault. */
export const translateRequest = (
  kind: keyof typeof kinds,
  members: object
): Result.Result<unknown, Rejected> => {
  const { body, style } = kinds[kind]
  const sent = Buffer.from(JSON.stringify({ ...body, ...members }))
  return Result.flatMap(admit(kind, sent), (admitted) => {
    const target = { ...testTarget(style, "swift-1-0613"), maxOutputTokens: 8192 }
    return Result.map(requestBody(admitted, target), (given): unknown =>
      JSON.parse(typeof given === "string" ? given : Buffer.from(given).toString())
    )
  })
}
