/** Keeps secrets out of logs, traces and the audit log. */
import { Layer } from "effect"
import { UrlParams } from "effect/http"
import { secretPrefix } from "../services/domain/ids.ts"

/** The pattern matches the beginning of a secret, too. */
const ownSecrets = new RegExp(`${secretPrefix}[\\w-]+`, "g")

/** Replaces secrets that this service makes. */
export const withoutOwnSecrets = (text: string): string => text.replaceAll(ownSecrets, "aus_$1_<redacted>")

/** JWTs, such as access tokens and assertions, which have no prefix of ours. */
const signedTokens = /\beyJ[\w-]+(?:\.[\w-]+)*/g

/** User name and password in a URL. */
const urlCredentials = /\/\/[^/\s@]*@/g

/** Replaces secrets in a value that is returned to its sender and may be logged there. */
export const withoutSecretValues = (text: string): string =>
  withoutOwnSecrets(text).replaceAll(signedTokens, "<redacted>").replaceAll(urlCredentials, "//<redacted>@")

/** Names of members and parameters that may hold a secret. */
export const secretName = /token|secret|password|assertion|code|sig|key/i

/** Members that hold a secret of any form. */
const secretMembers = /"(client_secret|access_token|client_assertion|api_key)"\s*:\s*"(?:[^"\\]|\\.)*"/g

const redacted = (text: string): string =>
  withoutOwnSecrets(text.replaceAll(secretMembers, '"$1":"<redacted>"'))

/** A secret in a path may be percent-encoded. */
const decoded = (text: string): string => {
  if (!text.includes("%")) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

export const redactSecrets = (text: string): string => {
  const plain = decoded(text)
  const safe = redacted(plain)
  // A path without secrets stays as it was sent.
  return safe === plain ? redacted(text) : safe
}

/** Spans redact these query parameters. */
export const layer = Layer.succeed(UrlParams.CurrentRedactedNames, [secretName])
