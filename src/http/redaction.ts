/** Keeps out of logs, traces and the audit log what only its owner may know. */
import { Layer } from "effect"
import { UrlParams } from "effect/http"
import { secretPrefix } from "../services/domain/ids.ts"

/** Also what is only the beginning of a secret. */
const ownSecrets = new RegExp(`${secretPrefix}[\\w-]+`, "g")

/** Without the secrets that this service makes. */
export const withoutOwnSecrets = (text: string): string => text.replaceAll(ownSecrets, "aus_$1_<redacted>")

/** Members that hold a secret, whatever it looks like. */
const secretMembers = /"(client_secret|access_token|client_assertion|api_key)"\s*:\s*"(?:[^"\\]|\\.)*"/g

const redacted = (text: string): string =>
  withoutOwnSecrets(text.replaceAll(secretMembers, '"$1":"<redacted>"'))

/** A secret in a path works percent-encoded, too. */
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
  // What hides nothing stays as it was sent.
  return safe === plain ? redacted(text) : safe
}

/** Query parameters are redacted in spans by their names. */
export const layer = Layer.succeed(UrlParams.CurrentRedactedNames, [
  /token|secret|password|assertion|code|sig|key/i
])
