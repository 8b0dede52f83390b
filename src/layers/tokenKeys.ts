/**
 * The keys that access tokens are signed and verified with. After a change of the token secret the previous one is still
 * verified for as long as its tokens live, counted from the start of this process; the `kid` tells which one is meant.
 */
import { Clock, Duration, Effect, Option, Redacted } from "effect"
import type { Settings } from "../services/Settings.ts"
import { headerOf, verifier } from "./accessTokens.ts"

const bytesOf = (secret: Redacted.Redacted): Uint8Array => new TextEncoder().encode(Redacted.value(secret))

/** The header of every token that a key signs is the same text. */
const headerText = (key: Uint8Array): string =>
  Buffer.from(JSON.stringify(headerOf(key))).toString("base64url")

/** What the access tokens begin with that this platform has signed. */
export const tokenHeaders = (
  settings: Pick<Settings["Service"], "tokenSecret" | "tokenSecretPrevious">
): ReadonlyArray<string> =>
  [settings.tokenSecret, ...Option.toArray(settings.tokenSecretPrevious)].map((secret) =>
    headerText(bytesOf(secret))
  )

export const make = Effect.fnUntraced(function* (
  settings: Pick<Settings["Service"], "tokenSecret" | "tokenSecretPrevious" | "tokenTtl">
) {
  const key = bytesOf(settings.tokenSecret)
  const verifyCurrent = verifier(key)
  const previousUntil = (yield* Clock.currentTimeMillis) + Duration.toMillis(settings.tokenTtl)
  const previous = Option.map(Option.map(settings.tokenSecretPrevious, bytesOf), (old) => ({
    prefix: `${headerText(old)}.`,
    verify: verifier(old)
  }))

  /** A verified payload, or `undefined` when neither key signed the token, to the last bit. `now` in milliseconds. */
  const verify = (token: string, now: number): unknown => {
    if (Option.isNone(previous) || !token.startsWith(previous.value.prefix)) return verifyCurrent(token)
    return now < previousUntil ? previous.value.verify(token) : undefined
  }

  return { key, header: headerOf(key), verify }
})
