/** Sign-in at an OpenID Connect provider by `openid-client`, which makes every check of the protocol. */
import { Data, DateTime, Duration, Effect, Layer, Option, Predicate, Redacted, Schema } from "effect"
import * as openid from "openid-client"
import { IdentityProvider, ProviderUnavailable, SignInRejected } from "../../services/Operators.ts"
import type { Identity } from "../../services/Operators.ts"
import { Settings } from "../../services/Settings.ts"

export interface ProviderSettings {
  readonly issuer: URL
  readonly clientId: string
  /** None for a public client, which PKCE alone protects. */
  readonly clientSecret: Option.Option<Redacted.Redacted>
}

/** How long a person may take at the provider. */
const signInTtl = Duration.minutes(10)
const requestTimeoutSeconds = 5

/** What the browser keeps. It is its own: whoever changes it only spoils a sign-in of theirs. */
const PendingSignIn = Schema.fromJsonString(
  Schema.Struct({
    state: Schema.String,
    nonce: Schema.String,
    verifier: Schema.String,
    returnTo: Schema.String,
    expiresAt: Schema.DateTimeUtcFromString
  })
)

/** Failures that are the provider's or the network's, by the library's codes. */
const providerFaults: ReadonlySet<unknown> = new Set([
  undefined,
  "OAUTH_TIMEOUT",
  "OAUTH_ABORT",
  "OAUTH_RESPONSE_IS_NOT_CONFORM",
  "OAUTH_RESPONSE_IS_NOT_JSON",
  "OAUTH_PARSE_ERROR",
  "OAUTH_KEY_SELECTION_FAILED",
  "OAUTH_UNSUPPORTED_OPERATION",
  "OAUTH_MISSING_SERVER_METADATA",
  "OAUTH_INVALID_SERVER_METADATA"
])

const unavailable = () =>
  new ProviderUnavailable({
    detail: "The identity provider cannot be reached just now: try again shortly, or sign in by e-mail."
  })

const rejected = (detail: string) => new SignInRejected({ detail })

/** The provider's refusal of us, or of the code we were given. */
const ofTokenEndpoint = (error: openid.ResponseBodyError) =>
  error.error === "invalid_grant"
    ? rejected("This sign-in was already finished, or took too long: begin again.")
    : unavailable()

const ofCallback = (error: openid.AuthorizationResponseError) =>
  error.error === "access_denied"
    ? rejected("The sign-in was cancelled at the identity provider.")
    : rejected("The identity provider did not sign you in: begin again, or sign in by e-mail.")

const failureOf = (error: unknown): ProviderUnavailable | SignInRejected => {
  if (error instanceof openid.AuthorizationResponseError) return ofCallback(error)
  if (error instanceof openid.ResponseBodyError) return ofTokenEndpoint(error)
  if (error instanceof openid.ClientError && providerFaults.has(error.code)) return unavailable()
  // A connection that failed is fetch's own error; the library's complaints of what it was given have a code.
  if (error instanceof TypeError && !Predicate.hasProperty(error, "code")) return unavailable()
  return rejected("The identity provider's answer does not belong to a sign-in of this browser: begin again.")
}

class StepFailed extends Data.TaggedError("StepFailed")<{ readonly cause: unknown }> {}

/** Runs a step of the library. Its errors carry codes and tokens, so only what went wrong is logged, not with what. */
const step = <A>(run: () => Promise<A>) =>
  Effect.tryPromise({ try: run, catch: (cause) => new StepFailed({ cause }) }).pipe(
    Effect.tapError(({ cause }) =>
      Effect.logWarning("sign-in at the identity provider failed").pipe(
        Effect.annotateLogs({
          reason: cause instanceof Error ? cause.message : String(cause),
          ...(cause instanceof openid.ClientError && { code: cause.code ?? "none" }),
          ...(cause instanceof openid.ResponseBodyError && { error: cause.error })
        })
      )
    ),
    Effect.mapError(({ cause }) => failureOf(cause))
  )

/** Basic, which OAuth asks every provider to take, unless this one says that it does not. */
const clientAuthentication = ({ clientSecret }: ProviderSettings): openid.ClientAuth => {
  if (Option.isNone(clientSecret)) return openid.None()
  const secret = Redacted.value(clientSecret.value)
  const basic = openid.ClientSecretBasic(secret)
  const post = openid.ClientSecretPost(secret)
  return (server, ...rest) => {
    const taken = server.token_endpoint_auth_methods_supported ?? ["client_secret_basic"]
    return (taken.includes("client_secret_basic") ? basic : post)(server, ...rest)
  }
}

const make = Effect.fnUntraced(function* (settings: ProviderSettings) {
  const { baseUrl } = yield* Settings
  const redirectUri = `${baseUrl}/sign-in/oidc/callback`

  // At the first sign-in rather than at the start, which must not depend on somebody else's server.
  const [configuration, forget] = yield* Effect.cachedInvalidateWithTTL(
    step(() =>
      openid.discovery(settings.issuer, settings.clientId, undefined, clientAuthentication(settings), {
        timeout: requestTimeoutSeconds,
        // The settings take http on loopback only.
        execute: settings.issuer.protocol === "http:" ? [openid.allowInsecureRequests] : []
      })
    ),
    "1 hour"
  )
  const discovered = Effect.tapError(configuration, () => forget)

  const begin: IdentityProvider["Service"]["begin"] = Effect.fn("IdentityProvider.begin")(function* ({
    returnTo
  }) {
    const config = yield* discovered
    const state = openid.randomState()
    const nonce = openid.randomNonce()
    const verifier = openid.randomPKCECodeVerifier()
    const challenge = yield* Effect.promise(() => openid.calculatePKCECodeChallenge(verifier))
    const redirectTo = openid.buildAuthorizationUrl(config, {
      redirect_uri: redirectUri,
      scope: "openid email",
      code_challenge: challenge,
      code_challenge_method: "S256",
      state,
      nonce
    })
    const expiresAt = DateTime.addDuration(yield* DateTime.now, signInTtl)
    const pending = yield* Effect.orDie(
      Schema.encodeEffect(PendingSignIn)({ state, nonce, verifier, returnTo, expiresAt })
    )
    return { redirectTo: redirectTo.href, pending: Buffer.from(pending).toString("base64url"), expiresAt }
  })

  /** Many providers tell the address only when asked with the access token. */
  const emailOf = Effect.fnUntraced(function* (
    config: openid.Configuration,
    tokens: openid.TokenEndpointResponse,
    claims: openid.IDToken
  ) {
    const hasEmail = claims["email"] !== undefined || config.serverMetadata().userinfo_endpoint === undefined
    const about = hasEmail
      ? claims
      : yield* step(() => openid.fetchUserInfo(config, tokens.access_token, claims.sub))
    const { email, email_verified } = about
    return typeof email === "string" && email_verified === true ? email : null
  })

  const finish: IdentityProvider["Service"]["finish"] = Effect.fn("IdentityProvider.finish")(function* ({
    answer,
    pending
  }) {
    const begun = yield* Schema.decodeEffect(PendingSignIn)(
      Buffer.from(pending, "base64url").toString()
    ).pipe(Effect.mapError(() => rejected("This sign-in was not begun in this browser: begin again.")))
    if (DateTime.isLessThanOrEqualTo(begun.expiresAt, yield* DateTime.now)) {
      return yield* rejected("This sign-in took longer than ten minutes: begin again.")
    }
    const config = yield* discovered
    // The library takes the redirect URI from here: it must be the configured one, whatever Host the request named.
    const cameBackTo = new URL(`${redirectUri}?${answer.toString()}`)
    const tokens = yield* step(() =>
      openid.authorizationCodeGrant(config, cameBackTo, {
        pkceCodeVerifier: begun.verifier,
        expectedState: begun.state,
        expectedNonce: begun.nonce,
        idTokenExpected: true
      })
    )
    const claims = tokens.claims()
    if (claims === undefined) return yield* unavailable()
    const identity: Identity = {
      issuer: claims.iss,
      subject: claims.sub,
      email: yield* emailOf(config, tokens, claims)
    }
    return { identity, returnTo: begun.returnTo }
  })

  return IdentityProvider.of({ name: Option.some(settings.issuer.host), begin, finish })
})

const notConfigured = Effect.fail(rejected("This service offers no identity provider: sign in by e-mail."))

const none = IdentityProvider.of({
  name: Option.none(),
  begin: () => notConfigured,
  finish: () => notConfigured
})

/** With no settings, a provider that offers nothing and refuses everything. */
export const layer = (settings: Option.Option<ProviderSettings>) =>
  Layer.effect(IdentityProvider, Option.match(settings, { onNone: () => Effect.succeed(none), onSome: make }))
