/** Sign-in at an OpenID Connect provider with `openid-client`, which makes every check of the protocol. */
import { Data, DateTime, Duration, Effect, Layer, Option, Predicate, Redacted, Schema } from "effect"
import * as openid from "openid-client"
import { IdentityProvider, ProviderUnavailable, SignInRejected } from "../../services/Operators.ts"
import type { Identity } from "../../services/Operators.ts"
import { Settings } from "../../services/Settings.ts"

export interface ProviderSettings {
  readonly issuer: URL
  readonly clientId: string
  /** The secret is absent for a public client. */
  readonly clientSecret: Option.Option<Redacted.Redacted>
}

/** A sign-in at the provider may take this long. */
const signInTtl = Duration.minutes(10)
const requestTimeoutSeconds = 5

/** The state in the browser's cookie. A user who changes it only breaks their own sign-in. */
const PendingSignIn = Schema.fromJsonString(
  Schema.Struct({
    state: Schema.String,
    nonce: Schema.String,
    verifier: Schema.String,
    returnTo: Schema.String,
    expiresAt: Schema.DateTimeUtcFromString
  })
)

/** The library's codes for failures of the provider or the network. */
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

/** The provider rejects our client, or the code. */
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
  // A failed connection is fetch's own error; the library's errors about its arguments have a code.
  if (error instanceof TypeError && !Predicate.hasProperty(error, "code")) return unavailable()
  return rejected("The identity provider's answer does not belong to a sign-in of this browser: begin again.")
}

class StepFailed extends Data.TaggedError("StepFailed")<{ readonly cause: unknown }> {}

/** Runs a step of the library. Its errors contain codes and tokens, so the log has only their kind. */
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

/** Basic authentication, which OAuth requires of every provider, unless its metadata excludes it. */
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

  // Discovery waits for the first sign-in: the start must not depend on another server.
  const [configuration, forget] = yield* Effect.cachedInvalidateWithTTL(
    step(() =>
      openid.discovery(settings.issuer, settings.clientId, undefined, clientAuthentication(settings), {
        timeout: requestTimeoutSeconds,
        execute: [
          // With TLS alone, anything between us and the provider could write an ID token.
          openid.enableNonRepudiationChecks,
          // The setting allows http on loopback only.
          ...(settings.issuer.protocol === "http:" ? [openid.allowInsecureRequests] : [])
        ]
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

  /** Many providers give the e-mail address only at the userinfo endpoint. */
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
    // Cognito and Apple write the boolean as text.
    const isVerified = email_verified === true || email_verified === "true"
    return typeof email === "string" && isVerified ? email : null
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
    // The library takes the redirect URI from this URL: it must be the configured one, whatever the Host header says.
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

/** Without settings the provider is not offered and rejects every sign-in. */
export const layer = (settings: Option.Option<ProviderSettings>) =>
  Layer.effect(IdentityProvider, Option.match(settings, { onNone: () => Effect.succeed(none), onSome: make }))
