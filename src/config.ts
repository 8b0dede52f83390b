/**
 * Every setting: its name in the environment, what it takes, its default and its meaning. A wrong value stops the start
 * with one line that names the setting. `docs/configuration.md` is made from this table (`npm run docs:configuration`).
 */
import type { KeyObject } from "node:crypto"
import { Config, Data, Duration, Effect, Option, Redacted } from "effect"
import type { LogLevel } from "effect"
import { attestationSettings } from "./attestationSettings.ts"
import { databaseSettings } from "./databaseSettings.ts"
import { feedSettings } from "./feedSettings.ts"
import { creditSettings } from "./creditSettings.ts"
import { gatewaySettings } from "./gatewaySettings.ts"
import { identitySettings } from "./identitySettings.ts"
import type { DomainList } from "./identitySettings.ts"
import { limitSettings } from "./limitSettings.ts"
import { listenSettings } from "./listenSettings.ts"
import { defaultOrigin, logSettings } from "./logSettings.ts"
import { openIdOf, openIdSettings } from "./openIdSettings.ts"
import type { OpenIdSettings } from "./openIdSettings.ts"
import { paperSettings } from "./paperSettings.ts"
import { paymentSettings, stripeOf } from "./paymentSettings.ts"
import type { StripeSettings } from "./paymentSettings.ts"
import { priceCompositionOf, priceSettings } from "./priceSettings.ts"
import type { PriceComposition } from "./priceSettings.ts"
import { scheduleSettings, schedulesOf } from "./scheduleSettings.ts"
import type { Sender } from "./services/MailTransport.ts"
import type { Settings, Site } from "./services/Settings.ts"
import { duration, durationOrOff, integer, oneOf, plain, secret, words } from "./settingKinds.ts"
import type { Setting } from "./settingKinds.ts"
import { settlementSettings } from "./settlementSettings.ts"
import { socialSettings } from "./socialSettings.ts"
import { telemetrySettings } from "./telemetrySettings.ts"

/** A setting cannot be used as it is; the message is all an operator needs. */
export class SettingError extends Data.TaggedError("SettingError")<{ readonly message: string }> {}

const roles = ["api", "jobs"] as const
export type Role = (typeof roles)[number]

const parseRoles = (text: string): Option.Option<ReadonlyArray<Role>> => {
  const asked = text.split(",").map((word) => word.trim())
  const known = roles.filter((role) => asked.includes(role))
  return known.length === asked.length ? Option.some(known) : Option.none()
}

const sites: ReadonlyArray<Site> = ["global", "cn"]

/** Every setting there is. */
export const settings = {
  ...databaseSettings,
  ...listenSettings,
  site: oneOf(
    "AUSPEX_SITE",
    sites,
    "global",
    "The site this instance serves; each has a database of its own."
  ),
  dataDir: words(
    "AUSPEX_DATA_DIR",
    ".auspex",
    "a directory",
    "Where the embedded database, the created secrets and, without AUSPEX_SMTP_URL, the outbox are kept."
  ),
  roles: plain({
    name: "AUSPEX_ROLES",
    defaultText: "api,jobs",
    takes: "api, jobs, or both with a comma",
    meaning: "What this instance does: serve HTTP requests, run scheduled jobs.",
    parse: parseRoles
  }),
  tokenSecret: secret(
    "AUSPEX_TOKEN_SECRET",
    32,
    "Signs access tokens; all sites share it. Created at the first start without DATABASE_URL."
  ),
  tokenSecretPrevious: secret(
    "AUSPEX_TOKEN_SECRET_PREVIOUS",
    32,
    "The token secret before a change: its tokens are good until they expire, at most AUSPEX_TOKEN_TTL after the start."
  ),
  adminToken: secret(
    "AUSPEX_ADMIN_TOKEN",
    32,
    "The administrators' bearer token. Created at the first start without DATABASE_URL."
  ),
  tokenTtl: duration("AUSPEX_TOKEN_TTL", "60 minutes", "How long an access token is valid."),
  ...openIdSettings,
  ...identitySettings,
  ...creditSettings,
  ...paymentSettings,
  ...attestationSettings,
  ...logSettings,
  ...priceSettings,
  ...feedSettings,
  ...scheduleSettings,
  jobInterval: duration(
    "AUSPEX_JOB_INTERVAL",
    "15 seconds",
    "How often due challenges are closed and settled, and grace windows looked at."
  ),
  ...settlementSettings,
  ...paperSettings,
  ...socialSettings,
  ...gatewaySettings,
  largestBatch: integer(
    "AUSPEX_LARGEST_BATCH",
    "500",
    "How many submissions that arrive together are written by one statement.",
    [1, 1000]
  ),
  publicCache: durationOrOff(
    "AUSPEX_PUBLIC_CACHE",
    "1 second",
    "How long results, the leaderboard, the catalog, event lists and pages are kept before they are made anew."
  ),
  ...limitSettings,
  ...telemetrySettings
} satisfies Record<string, Setting<unknown>>

const parsed = <A>(setting: Setting<A>, text: string): Effect.Effect<A, SettingError> =>
  Effect.fromOption(setting.parse(text)).pipe(
    Effect.mapError(
      () =>
        new SettingError({
          message: setting.secret
            ? `${setting.name} cannot be used: expected ${setting.takes}.`
            : `${setting.name}=${JSON.stringify(text)} cannot be used: expected ${setting.takes}.`
        })
    )
  )

/** The value that is set; an empty one counts as absent. */
const given = <A>(setting: Setting<A>): Effect.Effect<Option.Option<A>, SettingError> =>
  Effect.gen(function* () {
    const text = yield* Config.option(Config.String(setting.name))
    if (Option.isNone(text) || text.value === "") return Option.none()
    return Option.some(yield* parsed(setting, text.value))
  }).pipe(
    Effect.catchTag("ConfigError", () => new SettingError({ message: `${setting.name} cannot be read.` }))
  )

const orDefault = <A>(setting: Setting<A>): Effect.Effect<A, SettingError> =>
  Effect.flatMap(
    given(setting),
    Option.match({ onNone: () => parsed(setting, setting.defaultText ?? ""), onSome: Effect.succeed })
  )

/** Whether only this machine can reach what listens there, or is reached by that name. */
const isLoopback = (host: string): boolean => /^(localhost|127(\.\d{1,3}){3}|::1|\[::1\])$/.test(host)

/** What the composition root needs besides `Settings`. */
export interface Composition {
  readonly databaseUrl: Option.Option<Redacted.Redacted>
  readonly migrationUrl: Option.Option<Redacted.Redacted>
  readonly host: string
  readonly port: number
  /** Where metrics and health are served; no port: nowhere. */
  readonly operations: { readonly host: string; readonly port: Option.Option<number> }
  readonly dataDir: string
  readonly roles: ReadonlyArray<Role>
  readonly tokenSecret: Option.Option<Redacted.Redacted>
  readonly adminToken: Option.Option<Redacted.Redacted>
  readonly smtpUrl: Option.Option<Redacted.Redacted>
  readonly mailFrom: Option.Option<Sender>
  readonly logKey: Option.Option<KeyObject>
  readonly logKeyPrevious: Option.Option<KeyObject>
  readonly logFormat: Option.Option<"json" | "pretty">
  readonly logLevel: LogLevel.LogLevel
  readonly otlpEndpoint: Option.Option<string>
  readonly openId: Option.Option<OpenIdSettings>
  readonly stripe: Option.Option<StripeSettings>
  readonly prices: PriceComposition
  readonly eventFeeds: Option.Option<string>
  /** The file that says which models there are and who serves them. */
  readonly gatewayConfig: Option.Option<string>
  readonly disposableDomains: DomainList
  /** All of `Settings` but what is only known once the server, the secrets and the files are there. */
  readonly rules: Omit<Settings["Service"], "tokenSecret" | "adminToken" | "disposableDomains">
}

/** Reads every setting from the environment. */
export const load: Effect.Effect<Composition, SettingError> = Effect.gen(function* () {
  const host = yield* orDefault(settings.host)
  const port = yield* orDefault(settings.port)
  const publicBase = Option.getOrElse(
    yield* given(settings.baseUrl),
    () => `http://${host.includes(":") ? `[${host}]` : host}:${port}`
  )
  const site = yield* orDefault(settings.site)
  const logOrigin = yield* given(settings.logOrigin)
  const otlpEndpoint = yield* given(settings.otlpEndpoint)
  const traceRatio = yield* orDefault(settings.traceRatio)
  const priceSource = yield* orDefault(settings.priceSource)
  const macroAutoResolve = yield* orDefault(settings.macroAutoResolve)
  const gatewayKeyTtl = yield* orDefault(settings.gatewayKeyTtl)
  const gatewayKeyMaxTtl = yield* orDefault(settings.gatewayKeyMaxTtl)
  if (Duration.isGreaterThan(gatewayKeyTtl, gatewayKeyMaxTtl)) {
    return yield* new SettingError({
      message: `${settings.gatewayKeyTtl.name} cannot be used: expected at most ${settings.gatewayKeyMaxTtl.name}.`
    })
  }
  return {
    databaseUrl: yield* given(settings.databaseUrl),
    migrationUrl: yield* given(settings.migrationUrl),
    host,
    port,
    operations: { host: yield* orDefault(settings.opsHost), port: yield* orDefault(settings.opsPort) },
    dataDir: yield* orDefault(settings.dataDir),
    roles: yield* orDefault(settings.roles),
    tokenSecret: yield* given(settings.tokenSecret),
    adminToken: yield* given(settings.adminToken),
    smtpUrl: yield* given(settings.smtpUrl),
    mailFrom: yield* given(settings.mailFrom),
    logKey: yield* given(settings.logKey),
    logKeyPrevious: yield* given(settings.logKeyPrevious),
    logFormat: yield* given(settings.logFormat),
    logLevel: yield* orDefault(settings.logLevel),
    otlpEndpoint,
    openId: yield* Effect.fromResult(
      openIdOf({
        issuer: yield* given(settings.oidcIssuer),
        clientId: yield* given(settings.oidcClientId),
        clientSecret: yield* given(settings.oidcClientSecret)
      })
    ).pipe(Effect.mapError((message) => new SettingError({ message }))),
    stripe: yield* Effect.fromResult(
      stripeOf({
        secretKey: yield* given(settings.stripeSecretKey),
        webhookSecret: yield* given(settings.stripeWebhookSecret),
        packages: yield* given(settings.creditPackages),
        api: yield* orDefault(settings.stripeApi),
        checkout: yield* orDefault(settings.stripeCheckout)
      })
    ).pipe(Effect.mapError((message) => new SettingError({ message }))),
    prices: yield* Effect.fromResult(
      priceCompositionOf({
        source: priceSource,
        replayDir: yield* given(settings.priceReplayDir),
        exchanges: yield* orDefault(settings.priceExchanges),
        fredApiKey: yield* given(settings.fredApiKey),
        autoResolve: macroAutoResolve
      })
    ).pipe(Effect.mapError((message) => new SettingError({ message }))),
    eventFeeds: yield* given(settings.eventFeeds),
    gatewayConfig: yield* given(settings.gatewayConfig),
    disposableDomains: yield* orDefault(settings.disposableDomains),
    rules: {
      site,
      logOrigin: Option.getOrElse(logOrigin, () => defaultOrigin(publicBase, site)),
      baseUrl: publicBase,
      tokenSecretPrevious: yield* given(settings.tokenSecretPrevious),
      ownMachineKeySets: isLoopback(host) && isLoopback(new URL(publicBase).hostname),
      tokenTtl: yield* orDefault(settings.tokenTtl),
      claimLinkTtl: yield* orDefault(settings.claimLinkTtl),
      pairingCodeTries: yield* orDefault(settings.pairingCodeTries),
      claimGrant: yield* orDefault(settings.claimGrant),
      planCredit: {
        free: yield* orDefault(settings.planCreditFree),
        pro: yield* orDefault(settings.planCreditPro),
        team: yield* orDefault(settings.planCreditTeam)
      },
      minStake: yield* orDefault(settings.minStake),
      agentsPerOperator: yield* orDefault(settings.agentsPerOperator),
      signInLinkTtl: yield* orDefault(settings.signInLinkTtl),
      sessionIdle: yield* orDefault(settings.sessionIdle),
      sessionTtl: yield* orDefault(settings.sessionTtl),
      provisionalGrace: yield* orDefault(settings.provisionalGrace),
      provisionalPredictionLimit: yield* orDefault(settings.provisionalPredictionLimit),
      registrationAttempts: yield* orDefault(settings.registrationAttempts),
      jobInterval: yield* orDefault(settings.jobInterval),
      checkoutInterval: yield* orDefault(settings.checkoutInterval),
      closePriceWithin: yield* orDefault(settings.closePriceWithin),
      directionalCancelAfter: yield* orDefault(settings.directionalCancelAfter),
      macroVoidAfter: yield* orDefault(settings.macroVoidAfter),
      priceEventVoidAfter: yield* orDefault(settings.priceEventVoidAfter),
      priceSource,
      priceHistory: yield* orDefault(settings.priceHistory),
      feedInterval: yield* orDefault(settings.feedInterval),
      priceSettleDelay: yield* orDefault(settings.priceSettleDelay),
      priceReread: yield* orDefault(settings.priceReread),
      macroAutoResolve: macroAutoResolve === "on",
      schedules: schedulesOf(yield* given(settings.schedules), priceSource),
      sessionLead: yield* orDefault(settings.sessionLead),
      flashTime: yield* orDefault(settings.flashTime),
      flashWithin: yield* orDefault(settings.flashWithin),
      weeklyLead: yield* orDefault(settings.weeklyLead),
      releaseLead: yield* orDefault(settings.releaseLead),
      releaseClose: yield* orDefault(settings.releaseClose),
      scheduleNotice: yield* orDefault(settings.scheduleNotice),
      schedulePriceWithin: yield* orDefault(settings.schedulePriceWithin),
      closeGrace: yield* orDefault(settings.closeGrace),
      paperSignalSpacing: yield* orDefault(settings.paperSignalSpacing),
      paperPriceWithin: yield* orDefault(settings.paperPriceWithin),
      followsPerAgent: yield* orDefault(settings.followsPerAgent),
      rankMinCount: yield* orDefault(settings.rankMinCount),
      countsEvery: yield* orDefault(settings.countsEvery),
      publicCache: yield* orDefault(settings.publicCache),
      largestBatch: yield* orDefault(settings.largestBatch),
      logWitnesses: yield* orDefault(settings.logWitnesses),
      logTimeStampUrl: yield* given(settings.logTimeStampUrl),
      gatewayKeyTtl,
      gatewayKeyMaxTtl,
      gatewayKeysPerAgent: yield* orDefault(settings.gatewayKeysPerAgent),
      limits: {
        predictions: yield* orDefault(settings.limitPredictions),
        stakes: yield* orDefault(settings.limitStakes),
        comments: yield* orDefault(settings.limitComments),
        replies: yield* orDefault(settings.limitReplies),
        likes: yield* orDefault(settings.limitLikes),
        follows: yield* orDefault(settings.limitFollows),
        tokens: yield* orDefault(settings.limitTokens),
        token_failures: yield* orDefault(settings.limitTokenFailures),
        registrations: yield* orDefault(settings.limitRegistrations),
        claim_refresh: yield* orDefault(settings.limitClaimRefresh),
        claim_mails: yield* orDefault(settings.limitClaimMails),
        reminder_mails: yield* orDefault(settings.limitReminderMails),
        sign_in_mails: yield* orDefault(settings.limitSignInMails),
        sign_ins: yield* orDefault(settings.limitSignIns),
        gateway_calls: yield* orDefault(settings.limitGatewayCalls),
        gateway_agent_calls: yield* orDefault(settings.limitGatewayAgentCalls),
        purchases: yield* orDefault(settings.limitPurchases),
        reads: yield* orDefault(settings.limitReads),
        log_reads: yield* orDefault(settings.limitLogReads)
      },
      unidentifiedLimit: yield* orDefault(settings.limitUnidentified),
      traceRatio: Option.isNone(otlpEndpoint) ? 0 : traceRatio,
      maxConnections: yield* orDefault(settings.maxConnections),
      maxConnectionsPerAddress: yield* orDefault(settings.maxConnectionsPerAddress),
      trustedProxies: yield* orDefault(settings.trustedProxies)
    }
  }
})
