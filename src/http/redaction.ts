/** Keeps out of logs, traces and the audit log what only its owner may know. */
import { Layer } from "effect"
import { UrlParams } from "effect/http"
import { withoutPrefixed } from "../services/ownSecrets.ts"

/** Members that hold a secret, whatever it looks like. */
const secretMembers = /"(client_secret|access_token|client_assertion|api_key)"\s*:\s*"(?:[^"\\]|\\.)*"/g

const redacted = (text: string): string =>
  withoutPrefixed(text.replaceAll(secretMembers, '"$1":"<redacted>"'))

/** A secret in a path works percent-encoded, too. */
const decoded = (text: string): string => {
  if (!text.includes("%")) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

export const withoutSecrets = (text: string): string => {
  const plain = decoded(text)
  const shown = redacted(plain)
  // What hides nothing stays as it was sent.
  return shown === plain ? redacted(text) : shown
}

/** Query parameters are redacted in spans by their names. */
export const layer = Layer.succeed(UrlParams.CurrentRedactedNames, [
  /token|secret|password|assertion|code|sig|key/i
])
