/** Where clients put the key of the gateway: those of one style in Authorization, older ones of the other in x-api-key. */
import { Effect, Result } from "effect"
import type { HttpServerRequest } from "effect/http"
import { InvalidGatewayKey } from "../services/GatewayKeys.ts"

type Headers = Readonly<Record<string, string | ReadonlyArray<string> | undefined>>

/** The one credential that was sent; undefined: none was. */
export const sentCredential = (headers: Headers): Result.Result<string | undefined, InvalidGatewayKey> => {
  const bearer = /^bearer +(\S+)$/i.exec(headers["authorization"]?.toString() ?? "")?.[1]
  const named = headers["x-api-key"]?.toString()
  return bearer !== undefined && named !== undefined && bearer !== named
    ? Result.fail(
        new InvalidGatewayKey({
          detail: "Authorization and x-api-key hold two different keys: send one of them."
        })
      )
    : Result.succeed(bearer ?? named)
}

export const gatewayCredential = ({ headers }: Pick<HttpServerRequest.HttpServerRequest, "headers">) =>
  Effect.fromResult(sentCredential(headers))

const keyPrefix = "aus_gw_"

/** Where an access token serves as well. */
export const isGatewayKey = (credential: string): boolean => credential.startsWith(keyPrefix)

/** Of a credential that is no gateway key, and was refused as an access token: it may have been meant as either. */
export const neitherDetail = (refusal: string): string =>
  `Expected a gateway key (${keyPrefix}...) or an access token. ${refusal}`
