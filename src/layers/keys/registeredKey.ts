/** What a registration says about the agent's key: exactly one of `public_key` and `jwks_url`, or neither. */
import { Result } from "effect"
import { InvalidRequest } from "../../services/errors.ts"
import type { Registration } from "../../services/Registry.ts"
import { jwksUrlFault } from "./jwksUrl.ts"
import { fromPem } from "./publicKeys.ts"

interface RegisteredKey {
  readonly public_key: string | null
  readonly jwks_url: string | null
}

const wrong = (...errors: ReadonlyArray<{ readonly path: string; readonly message: string }>) =>
  Result.fail(
    new InvalidRequest({
      detail: errors.map(({ path, message }) => `${path}: ${message}`).join("; "),
      errors
    })
  )

export const registeredKey = (
  sent: Registration,
  allow: { readonly ownMachine: boolean }
): Result.Result<RegisteredKey, InvalidRequest> => {
  const { auth_method = "client_credentials", jwks_url, public_key } = sent
  const given = Object.entries({ public_key, jwks_url }).filter(([, value]) => value !== undefined)
  if (auth_method === "client_credentials") {
    const message = "Expected only with auth_method private_key_jwt"
    return given.length === 0
      ? Result.succeed({ public_key: null, jwks_url: null })
      : wrong(...given.map(([path]) => ({ path, message })))
  }
  if (given.length !== 1) {
    const message = "Expected exactly one of public_key and jwks_url with auth_method private_key_jwt"
    return wrong({ path: "public_key", message }, { path: "jwks_url", message })
  }
  if (public_key !== undefined) {
    const key = fromPem(public_key)
    return Result.isSuccess(key)
      ? // As the key is always written, whatever the white space it came with.
        Result.succeed({
          public_key: key.success.export({ format: "pem", type: "spki" }).toString(),
          jwks_url: null
        })
      : wrong({ path: "public_key", message: key.failure })
  }
  const url = jwks_url ?? ""
  const message = jwksUrlFault(url, allow)
  return message === undefined
    ? Result.succeed({ public_key: null, jwks_url: url })
    : wrong({ path: "jwks_url", message })
}
