/**
 * Signing in at an OpenID Connect provider: authorization code flow with PKCE, state and nonce. What a sign-in needs
 * between its two halves is kept by the browser that began it, so any replica can finish it and no other browser can.
 */
import { Context } from "effect"
import type { DateTime, Effect, Option } from "effect"
import { apiError } from "./errors.ts"

/** Who the provider says this is. Accounts are keyed on issuer and subject, which never change hands. */
export interface Identity {
  readonly issuer: string
  readonly subject: string
  /** Only when the provider says that it verified the address. */
  readonly email: string | null
}

/** 503: the provider cannot be reached, or answers what is not OpenID Connect. */
export class ProviderUnavailable extends apiError(
  "ProviderUnavailable",
  503,
  "identity_provider_unavailable"
) {}

/** 400: the sign-in was refused, cancelled, begun in another browser or too long ago, or replayed. */
export class SignInRefused extends apiError("SignInRefused", 400, "sign_in_refused") {}

export class IdentityProvider extends Context.Service<
  IdentityProvider,
  {
    /** What people know the provider by; none when no provider is configured, and then every sign-in is refused. */
    readonly name: Option.Option<string>
    /** Begins a sign-in: where to send the browser, and what it has to keep until it comes back, or it is too late. */
    readonly begin: (options: {
      readonly returnTo: string
    }) => Effect.Effect<
      { readonly redirectTo: string; readonly kept: string; readonly expiresAt: DateTime.Utc },
      ProviderUnavailable | SignInRefused
    >
    /** Finishes it: `answer` is what the browser came back with, `kept` is as `begin` gave it. */
    readonly finish: (options: {
      readonly answer: URLSearchParams
      readonly kept: string
    }) => Effect.Effect<
      { readonly identity: Identity; readonly returnTo: string },
      ProviderUnavailable | SignInRefused
    >
  }
>()("auspex/services/IdentityProvider") {}
