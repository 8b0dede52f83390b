/** The settings of the identity provider that operators may sign in at; part of the table in `src/config.ts`. */
import { Option, Result } from "effect"
import type { Redacted } from "effect"
import { plain, secret, words } from "./settingKinds.ts"
import type { Setting } from "./settingKinds.ts"

/** What is needed of a provider. */
export interface OpenIdSettings {
  readonly issuer: URL
  readonly clientId: string
  readonly clientSecret: Option.Option<Redacted.Redacted>
}

/** Secrets and codes are exchanged there: https, but for a provider on this machine. */
const issuerUrl = (text: string): Option.Option<URL> => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || url.search !== "" || url.hash !== "" || url.username !== "") return Option.none()
  const isLoopback = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname)
  return url.protocol === "https:" || (url.protocol === "http:" && isLoopback)
    ? Option.some(url)
    : Option.none()
}

export const openIdSettings = {
  oidcIssuer: plain({
    name: "AUSPEX_OIDC_ISSUER",
    defaultText: null,
    takes: "an https URL (http on loopback)",
    meaning:
      "An OpenID Connect provider that operators may sign in at; the redirect URI is BASE_URL/sign-in/oidc/callback.",
    parse: issuerUrl
  }),
  oidcClientId: words(
    "AUSPEX_OIDC_CLIENT_ID",
    null,
    "a client id",
    "What the identity provider knows this service by."
  ),
  oidcClientSecret: secret(
    "AUSPEX_OIDC_CLIENT_SECRET",
    1,
    "The service's secret at the identity provider; a public client has none."
  )
} satisfies Record<string, Setting<unknown>>

/** All that belongs together, or what is missing. */
export const openIdOf = (given: {
  readonly issuer: Option.Option<URL>
  readonly clientId: Option.Option<string>
  readonly clientSecret: Option.Option<Redacted.Redacted>
}): Result.Result<Option.Option<OpenIdSettings>, string> => {
  const { clientId, clientSecret, issuer } = given
  if (Option.isSome(issuer) && Option.isSome(clientId)) {
    return Result.succeed(Option.some({ issuer: issuer.value, clientId: clientId.value, clientSecret }))
  }
  if (Option.isSome(issuer)) {
    return Result.fail("AUSPEX_OIDC_CLIENT_ID must be set when AUSPEX_OIDC_ISSUER is.")
  }
  return Option.isSome(clientId) || Option.isSome(clientSecret)
    ? Result.fail("AUSPEX_OIDC_ISSUER must be set when another AUSPEX_OIDC setting is.")
    : Result.succeed(Option.none())
}
