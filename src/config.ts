/**
 * Every setting: its name in the environment, what it takes, its default and its meaning. A wrong value stops the start
 * with one line that names the setting. `docs/configuration.md` is made from this table (`npm run docs:configuration`).
 */
import type { KeyObject } from "node:crypto"
import { Config, Data, Effect, Option, Redacted } from "effect"
import type { LogLevel } from "effect"
import { attestationSettings } from "./attestationSettings.ts"
import { identitySettings } from "./identitySettings.ts"
import { defaultOrigin, logSettings } from "./logSettings.ts"
import { openIdOf, openIdSettings } from "./openIdSettings.ts"
import type { OpenIdSettings } from "./openIdSettings.ts"
import { paperSettings } from "./paperSettings.ts"
import type { Sender } from "./services/MailTransport.ts"
import type { Settings, Site } from "./services/Settings.ts"
import {
  duration,
  durationOrOff,
  integer,
  limit,
  oneOf,
  parseNetworks,
  plain,
  ratio,
  secret,
  webBase,
  words
} from "./settingKinds.ts"
import type { Setting } from "./settingKinds.ts"

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
const logLevels: ReadonlyArray<LogLevel.LogLevel> = ["Fatal", "Error", "Warn", "Info", "Debug", "Trace"]

const databaseUrl: Setting<Redacted.Redacted> = {
  name: "DATABASE_URL",
  defaultText: null,
  takes: "postgres://user:password@host:port/database",
  meaning: "A PostgreSQL 18 to use; without it one is embedded and kept in the data directory.",
  secret: true,
  parse: (text) =>
    /^postgres(ql)?:\/\/./.test(text) && URL.canParse(text) ? Option.some(Redacted.make(text)) : Option.none()
}

/** Every setting there is. */
export const settings = {
  databaseUrl,
  host: words("AUSPEX_HOST", "127.0.0.1", "an address to listen on", "The address to listen on."),
  port: integer("AUSPEX_PORT", "8080", "The port to listen on.", [1, 65_535]),
  baseUrl: plain({
    name: "AUSPEX_BASE_URL",
    defaultText: null,
    takes: "an http or https URL (default: http://HOST:PORT)",
    meaning: "Where the service is reached from outside; every link is built from it.",
    parse: webBase
  }),
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
    16,
    "The administrators' bearer token. Created at the first start without DATABASE_URL."
  ),
  tokenTtl: duration("AUSPEX_TOKEN_TTL", "60 minutes", "How long an access token is valid."),
  claimLinkTtl: duration("AUSPEX_CLAIM_LINK_TTL", "48 hours", "How long a claim link is valid."),
  provisionalGrace: duration(
    "AUSPEX_PROVISIONAL_GRACE",
    "7 days",
    "For how long after registration an unclaimed agent is issued tokens."
  ),
  provisionalPredictionLimit: integer(
    "AUSPEX_PROVISIONAL_PREDICTION_LIMIT",
    "10",
    "Challenges an unclaimed agent may predict, over all types.",
    [0, 1_000_000]
  ),
  ...openIdSettings,
  ...identitySettings,
  ...attestationSettings,
  ...logSettings,
  registrationAttempts: integer(
    "AUSPEX_REGISTRATION_ATTEMPTS",
    "5",
    "Attempts at the registration challenge.",
    [1, 1000]
  ),
  jobInterval: duration(
    "AUSPEX_JOB_INTERVAL",
    "15 seconds",
    "How often due challenges are closed and settled, and grace windows looked at."
  ),
  closePriceWithin: duration(
    "AUSPEX_CLOSE_PRICE_WITHIN",
    "24 hours",
    "How long after resolve_at a first price still counts as the closing price; frozen into new challenges."
  ),
  directionalCancelAfter: duration(
    "AUSPEX_DIRECTIONAL_CANCEL_AFTER",
    "7 days",
    "How long a directional challenge waits for a closing price before it is cancelled; frozen into new challenges."
  ),
  macroVoidAfter: duration(
    "AUSPEX_MACRO_VOID_AFTER",
    "60 days",
    "How long after release_at a macro challenge waits for its value before it is void; frozen into new challenges."
  ),
  closeGrace: duration(
    "AUSPEX_CLOSE_GRACE",
    "1 second",
    "How long after a deadline submissions stamped before it are still let in, if settlement is not due."
  ),
  ...paperSettings,
  rankMinCount: integer(
    "AUSPEX_RANK_MIN_COUNT",
    "30",
    "Scored predictions an official rank needs.",
    [1, 1_000_000]
  ),
  largestBatch: integer(
    "AUSPEX_LARGEST_BATCH",
    "500",
    "How many submissions that arrive together are written by one statement.",
    [1, 1000]
  ),
  publicCache: durationOrOff(
    "AUSPEX_PUBLIC_CACHE",
    "1 second",
    "How long the leaderboard, the catalog and event lists are kept before they are made anew."
  ),
  limitPredictions: limit("AUSPEX_LIMIT_PREDICTIONS", "60/minute", "Submitted predictions, per agent."),
  limitTokens: limit("AUSPEX_LIMIT_TOKENS", "20/minute", "Issued tokens, per agent."),
  limitTokenFailures: limit("AUSPEX_LIMIT_TOKEN_FAILURES", "60/minute", "Refused credentials, per address."),
  limitRegistrations: limit("AUSPEX_LIMIT_REGISTRATIONS", "20/hour", "Registrations, per address."),
  limitReads: limit(
    "AUSPEX_LIMIT_READS",
    "600/minute",
    "Reads, and writes without a limit of their own, per address."
  ),
  limitLogReads: limit(
    "AUSPEX_LIMIT_LOG_READS",
    "6000/minute",
    "Checkpoints, tiles and entry bundles of the public log, per address: a mirror reads all of them."
  ),
  trustedProxies: plain({
    name: "AUSPEX_TRUSTED_PROXIES",
    defaultText: "",
    takes: "addresses and CIDR blocks with commas",
    meaning: "Proxies whose X-Forwarded-For names the address that limits count by.",
    parse: parseNetworks
  }),
  logFormat: plain<"json" | "pretty">({
    name: "AUSPEX_LOG_FORMAT",
    defaultText: null,
    takes: "json | pretty (default: pretty on a terminal, else json)",
    meaning: "How log lines look.",
    parse: (text) => (text === "json" || text === "pretty" ? Option.some(text) : Option.none())
  }),
  logLevel: oneOf(
    "AUSPEX_LOG_LEVEL",
    logLevels,
    "Info",
    "What is logged; Debug has a line for every request."
  ),
  otlpEndpoint: plain({
    name: "OTEL_EXPORTER_OTLP_ENDPOINT",
    defaultText: null,
    takes: "an http or https URL",
    meaning: "An OpenTelemetry collector (OTLP over HTTP) for traces, metrics and logs.",
    parse: webBase
  }),
  traceRatio: ratio(
    "OTEL_TRACES_SAMPLER_ARG",
    "0.01",
    "The share of requests whose spans are built and sent to the collector."
  )
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
  readonly host: string
  readonly port: number
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
  /** All of `Settings` but what is only known once the server and the secrets are there. */
  readonly rules: Omit<Settings["Service"], "tokenSecret" | "adminToken">
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
  return {
    databaseUrl: yield* given(settings.databaseUrl),
    host,
    port,
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
      agentsPerOperator: yield* orDefault(settings.agentsPerOperator),
      signInLinkTtl: yield* orDefault(settings.signInLinkTtl),
      sessionIdle: yield* orDefault(settings.sessionIdle),
      sessionTtl: yield* orDefault(settings.sessionTtl),
      provisionalGrace: yield* orDefault(settings.provisionalGrace),
      provisionalPredictionLimit: yield* orDefault(settings.provisionalPredictionLimit),
      registrationAttempts: yield* orDefault(settings.registrationAttempts),
      jobInterval: yield* orDefault(settings.jobInterval),
      closePriceWithin: yield* orDefault(settings.closePriceWithin),
      directionalCancelAfter: yield* orDefault(settings.directionalCancelAfter),
      macroVoidAfter: yield* orDefault(settings.macroVoidAfter),
      closeGrace: yield* orDefault(settings.closeGrace),
      paperSignalSpacing: yield* orDefault(settings.paperSignalSpacing),
      paperPriceWithin: yield* orDefault(settings.paperPriceWithin),
      rankMinCount: yield* orDefault(settings.rankMinCount),
      publicCache: yield* orDefault(settings.publicCache),
      largestBatch: yield* orDefault(settings.largestBatch),
      logWitnesses: yield* orDefault(settings.logWitnesses),
      logTimeStampUrl: yield* given(settings.logTimeStampUrl),
      limits: {
        predictions: yield* orDefault(settings.limitPredictions),
        tokens: yield* orDefault(settings.limitTokens),
        token_failures: yield* orDefault(settings.limitTokenFailures),
        registrations: yield* orDefault(settings.limitRegistrations),
        claim_refresh: yield* orDefault(settings.limitClaimRefresh),
        claim_mails: yield* orDefault(settings.limitClaimMails),
        reminder_mails: yield* orDefault(settings.limitReminderMails),
        sign_in_mails: yield* orDefault(settings.limitSignInMails),
        sign_ins: yield* orDefault(settings.limitSignIns),
        reads: yield* orDefault(settings.limitReads),
        log_reads: yield* orDefault(settings.limitLogReads)
      },
      traceRatio: Option.isNone(otlpEndpoint) ? 0 : traceRatio,
      trustedProxies: yield* orDefault(settings.trustedProxies)
    }
  }
})
