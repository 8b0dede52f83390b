/** Who may call a model, and what is answered to others. */
import { ByteSize, Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { Gateway } from "../services/Gateway.ts"
import type { CallError, ErrorAnswer } from "../services/Gateway.ts"
import { GatewayKeys } from "../services/GatewayKeys.ts"
import type { KeyHolder } from "../services/GatewayKeys.ts"
import { Limits } from "../services/Limits.ts"
import { countedRequest } from "./CurrentRequest.ts"

export const maxBody = ByteSize.mebibytes(10)

type Headers = Readonly<Record<string, string | undefined>>

/** Reading and parsing so much costs as much as asking the database a question. */
const largeBody = 64 * 1024

/** A body that comes in chunks may be as long as any. */
const mayBeLarge = (headers: Headers): boolean =>
  headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > largeBody

/** Errors that are found by parsing the body. */
const parsedInVain: ReadonlySet<CallError["_tag"]> = new Set(["BadCall", "UnknownModel", "CreditTooLow"])

/** What is asked of every call before its body is read: its key, the limits, and for a large body credit. */
export const makeAdmission = Effect.gen(function* () {
  const gateway = yield* Gateway
  const keys = yield* GatewayKeys
  const limits = yield* Limits

  const count = ({ agentId, keyId }: KeyHolder) =>
    Effect.andThen(limits.take("gateway_calls", keyId), limits.take("gateway_agent_calls", agentId))

  /** Whose request it is, which counts. One with a key that is refused counts by its address, at the edge. */
  const identify = Effect.fnUntraced(function* (credential: string) {
    const holder = yield* keys.authenticate(credential)
    yield* countedRequest
    yield* count(holder)
    return holder
  })

  /** The same for a call, which is paid. */
  const admit = (credential: string, headers: Headers) =>
    Effect.tap(identify(credential), (holder) =>
      mayBeLarge(headers) ? gateway.checkCredit(holder) : Effect.void
    )

  /** A large body that was parsed in vain counts once more. */
  const countAgain = (holder: KeyHolder, body: Uint8Array, error: CallError): Effect.Effect<void> =>
    body.length > largeBody && parsedInVain.has(error._tag) ? Effect.ignore(count(holder)) : Effect.void

  return { identify, admit, countAgain }
})

const noVersions = {}

export const versionHeaders = (headers: Headers): Readonly<Record<string, string>> => {
  const version = headers["anthropic-version"]
  const beta = headers["anthropic-beta"]
  if (version === undefined && beta === undefined) return noVersions
  return {
    ...(typeof version === "string" && { "anthropic-version": version }),
    ...(typeof beta === "string" && { "anthropic-beta": beta })
  }
}

export const responseOf = ({ body, headers, status }: ErrorAnswer) =>
  HttpServerResponse.text(body, { status, headers, contentType: headers["content-type"] })
