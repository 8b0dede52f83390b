/** Where clients put the key of the gateway: those of one style in Authorization, older ones of the other in x-api-key. */
import { Effect } from "effect"
import type { HttpServerRequest } from "effect/http"
import { InvalidGatewayKey } from "../services/GatewayKeys.ts"

/** The one credential that was sent; undefined: none was. */
export const gatewayCredential = ({
  headers
}: Pick<HttpServerRequest.HttpServerRequest, "headers">): Effect.Effect<
  string | undefined,
  InvalidGatewayKey
> => {
  const bearer = /^bearer +(\S+)$/i.exec(headers["authorization"] ?? "")?.[1]
  const named = headers["x-api-key"]
  if (bearer !== undefined && named !== undefined && bearer !== named) {
    return Effect.fail(
      new InvalidGatewayKey({
        detail: "Authorization and x-api-key hold two different keys: send one of them."
      })
    )
  }
  return Effect.succeed(bearer ?? named)
}
