/**
 * Every setting: its name in the environment, its values, its default and its meaning. A wrong value stops the start with
 * one line that names the setting. `npm run docs:configuration` makes `docs/configuration.md` from this table.
 */
import type { KeyObject } from "node:crypto"
import { Config, ConfigProvider, Data, Duration, Effect, Option, Redacted, Struct } from "effect"
import type { LogLevel } from "effect"
import { parseLogKey } from "./layers/node/logKeys.ts"
import { isKeyName } from "./layers/crypto/signedNote.ts"
import type { ProviderSettings } from "./layers/openid/IdentityProvider.ts"
import type { StripeSettings } from "./layers/stripe/PaymentProvider.ts"
import { parseExchanges } from "./layers/prices/exchanges.ts"
import { parseWitnesses } from "./layers/witness/cosignature.ts"
import { parseAuthorityUrl } from "./layers/witness/timeStamp.ts"
import { parseNetworks } from "./http/CurrentRequest.ts"
import { domainsIn } from "./services/domain/emails.ts"
import { nearest } from "./services/domain/nearest.ts"
import { senderOf } from "./services/Mailer.ts"
import { creditPackagesOf } from "./services/Payments.ts"
import { scheduleNames } from "./services/Schedules.ts"
import type { ScheduleName } from "./services/Schedules.ts"
import type { CountSteps, LimitName, RateLimit, Settings, Site } from "./services/Settings.ts"
import { parseMoreAssets } from "./services/Targets.ts"

/** Domains, or the path of a file with them; a path contains a slash. */
type DomainList = { readonly domains: ReadonlySet<string> } | { readonly path: string }
const sites: ReadonlyArray<Site> = ["global", "cn"]
const roles = ["api", "jobs"] as const
const priceSources = ["none", "replay", "live"] as const
const logLevels: ReadonlyArray<LogLevel.LogLevel> = ["Fatal", "Error", "Warn", "Info", "Debug", "Trace"]

/** All settings except the rate limits. */
export const settings = {
  // The database, and the addresses of the instance.

  databaseUrl: postgresUrl(
    "DATABASE_URL",
    "Your PostgreSQL 18, as the running role; without it one is embedded."
  ),
  migrationUrl: postgresUrl(
    "AUSPEX_MIGRATION_URL",
    "The same database, as the role that owns its tables and migrates them; else DATABASE_URL does."
  ),
  migrates: onOff(
    "AUSPEX_MIGRATE",
    "on",
    "Whether a start migrates the database. With off it does not start before `npm run migrate` has (docs/upgrading.md)."
  ),
  databaseConnections: integer(
    "AUSPEX_DATABASE_CONNECTIONS",
    "18",
    [2, 1000],
    "Connections to PostgreSQL, at most, that serve requests."
  ),
  databaseBackgroundConnections: integer(
    "AUSPEX_DATABASE_BACKGROUND_CONNECTIONS",
    "2",
    [2, 100],
    "Connections to PostgreSQL, at most, for settlements and the log, beside those."
  ),
  databaseSettings: oneOf(
    "AUSPEX_DATABASE_SETTINGS",
    "connection",
    ["connection", "role"],
    "The source of session settings: each connection, or, behind PgBouncer, the role."
  ),
  host: words("AUSPEX_HOST", "127.0.0.1", "an address to listen on", "The address to listen on."),
  port: integer("AUSPEX_PORT", "8080", [1, 65_535], "The port to listen on."),
  baseUrl: optional({
    name: "AUSPEX_BASE_URL",
    takes: "an http or https URL (default: http://HOST:PORT)",
    meaning: "The address from outside, for all links.",
    parse: parseWebBase
  }),
  opsHost: words(
    "AUSPEX_OPS_HOST",
    "127.0.0.1",
    "an address to listen on",
    "The address of metrics and health."
  ),
  opsPort: required<Option.Option<number>>({
    name: "AUSPEX_OPS_PORT",
    defaultText: "9464",
    takes: "a whole number from 0 to 65535 (0: any free port), or off",
    meaning: "The port of metrics and health. Not set and taken: a free one.",
    parse: (text) =>
      text === "off" ? Option.some(Option.none()) : Option.map(parseInteger(text, [0, 65_535]), Option.some)
  }),
  site: oneOf(
    "AUSPEX_SITE",
    "global",
    sites,
    "The site this instance serves; each has a database of its own."
  ),
  dataDir: words(
    "AUSPEX_DATA_DIR",
    ".auspex",
    "a directory",
    "Holds the embedded database, created secrets and, without AUSPEX_SMTP_URL, the outbox."
  ),
  roles: required({
    name: "AUSPEX_ROLES",
    defaultText: "api,jobs",
    takes: "api, jobs, or both with a comma",
    meaning: "Whether the instance serves HTTP requests, runs scheduled jobs, or both.",
    parse: (text) => parseSome(text, roles)
  }),
  drainDelay: optional({
    name: "AUSPEX_DRAIN_DELAY",
    takes: 'a duration such as "5 seconds", or "off" (default: 5 seconds with DATABASE_URL, else off)',
    meaning:
      "Time in which a stopping instance still serves while it is not ready, so that balancers notice.",
    parse: parseDurationOrOff
  }),
  maxConnections: integer(
    "AUSPEX_MAX_CONNECTIONS",
    "10000",
    [1, 1_000_000],
    "Connections at once; keep it below the limit of open files."
  ),
  maxConnectionsPerAddress: integer(
    "AUSPEX_MAX_CONNECTIONS_PER_ADDRESS",
    "512",
    [1, 1_000_000],
    "Connections at once of one address, or network of IPv6 (/64); AUSPEX_TRUSTED_PROXIES may have more."
  ),
  trustedProxies: required({
    name: "AUSPEX_TRUSTED_PROXIES",
    defaultText: "",
    takes: "addresses and CIDR blocks with commas",
    meaning: "Proxies whose X-Forwarded-For (for limits by address) and traceparent are believed.",
    parse: parseNetworks
  }),
  publicCache: durationOrOff("AUSPEX_PUBLIC_CACHE", "1 second", "Lifetime of public answers and pages."),

  // Secrets and tokens.

  tokenSecret: secret(
    "AUSPEX_TOKEN_SECRET",
    32,
    "Signs access tokens; all sites share it. Created at the first start without DATABASE_URL."
  ),
  tokenSecretPrevious: secret(
    "AUSPEX_TOKEN_SECRET_PREVIOUS",
    32,
    "The token secret before a change: its tokens are good for at most AUSPEX_TOKEN_TTL after the start."
  ),
  adminToken: secret(
    "AUSPEX_ADMIN_TOKEN",
    32,
    "The administrators' bearer token. Created at the first start without DATABASE_URL."
  ),
  adminTokenPrevious: secret(
    "AUSPEX_ADMIN_TOKEN_PREVIOUS",
    32,
    "The administrators' token before a change, good as long as this is set."
  ),
  tokenTtl: duration("AUSPEX_TOKEN_TTL", "60 minutes", "Lifetime of an access token."),

  // The identity provider for operators.

  oidcIssuer: optional({
    name: "AUSPEX_OIDC_ISSUER",
    takes: "an https URL (http on loopback)",
    meaning:
      "An OpenID Connect provider that operators may sign in at (redirect URI BASE_URL/sign-in/oidc/callback).",
    parse: parseIssuer
  }),
  oidcClientId: optional({
    name: "AUSPEX_OIDC_CLIENT_ID",
    takes: "a client id",
    meaning: "This service's name at the identity provider.",
    parse: Option.some
  }),
  oidcClientSecret: secret(
    "AUSPEX_OIDC_CLIENT_SECRET",
    1,
    "The service's secret at the identity provider; a public client has none."
  ),

  // Registration, claims and operators.

  claimLinkTtl: duration("AUSPEX_CLAIM_LINK_TTL", "48 hours", "Lifetime of a claim link."),
  provisionalGrace: duration(
    "AUSPEX_PROVISIONAL_GRACE",
    "7 days",
    "Time after registration in which an unclaimed agent gets tokens."
  ),
  provisionalPredictionLimit: integer(
    "AUSPEX_PROVISIONAL_PREDICTION_LIMIT",
    "10",
    [0, 1_000_000],
    "Challenges an unclaimed agent may predict, over all types."
  ),
  revisions: integer("AUSPEX_REVISIONS", "50", [0, 1e6], "Revisions of an agent on a challenge, at most."),
  provisionalRevisions: integer("AUSPEX_PROVISIONAL_REVISIONS", "5", [0, 1e6], "The same while unclaimed."),
  answerBytes: integer(
    "AUSPEX_ANSWER_BYTES",
    "20000000",
    [1e5, 2e9],
    "Bytes of an agent's answers and posts on a day (UTC)."
  ),
  provisionalAnswerBytes: integer(
    "AUSPEX_PROVISIONAL_ANSWER_BYTES",
    "1000000",
    [1e5, 2e9],
    "While unclaimed."
  ),
  registrationAttempts: integer(
    "AUSPEX_REGISTRATION_ATTEMPTS",
    "5",
    [1, 1000],
    "Attempts at the registration challenge."
  ),
  registrationBank: optional({
    name: "AUSPEX_REGISTRATION_BANK",
    takes: "a YAML file",
    meaning: "Events of the registration challenge (docs/operations.md), in place of the public bank.",
    parse: Option.some
  }),
  registrationJudgeModel: optional({
    name: "AUSPEX_REGISTRATION_JUDGE_MODEL",
    takes: "a model of AUSPEX_GATEWAY_CONFIG",
    meaning: "Judges registration challenges (docs/operations.md); else, and while it fails, rules do.",
    parse: Option.some
  }),
  disposableDomains: required<DomainList>({
    name: "AUSPEX_DISPOSABLE_DOMAINS",
    defaultText: "",
    takes: "domains with commas, or the path (with a / in it) of a file with one a line",
    meaning:
      "Mail domains that, with their subdomains, get no new account and no mail about an agent. Read at the start.",
    parse: (text) =>
      text.includes("/")
        ? Option.some({ path: text })
        : Option.map(domainsIn(text), (domains) => ({ domains }))
  }),
  pairingCodeTries: integer(
    "AUSPEX_PAIRING_CODE_TRIES",
    "5",
    [1, 100],
    "Wrong pairing codes that lock a claim link until it is renewed."
  ),
  agentsPerOperator: integer("AUSPEX_AGENTS_PER_OPERATOR", "50", [1, 1000], "Agents one operator may own."),
  signInLinkTtl: duration("AUSPEX_SIGN_IN_LINK_TTL", "10 minutes", "Lifetime of the link of a sign-in mail."),
  sessionIdle: duration("AUSPEX_SESSION_IDLE", "12 hours", "Lifetime of an operator's unused session."),
  sessionTtl: duration("AUSPEX_SESSION_TTL", "7 days", "Maximum lifetime of an operator's session."),

  // Mail.

  smtpUrl: optional({
    name: "AUSPEX_SMTP_URL",
    takes: "smtp://user:password@host:port, or smtps:// for TLS from the first byte",
    meaning: "The mail server; without it each mail is a file in `AUSPEX_DATA_DIR/outbox`.",
    secret: true,
    parse: (text) => parseSecretUrl(text, /^smtps?:\/\/[^/?#]+\/?$/)
  }),
  mailFrom: optional({
    name: "AUSPEX_MAIL_FROM",
    takes: "an e-mail address, or Name <address> (default: Auspex <auspex@the host of AUSPEX_BASE_URL>)",
    meaning: "The sender of mails.",
    parse: senderOf
  }),

  // Credit and its purchase.

  claimGrant: integer(
    "AUSPEX_CLAIM_GRANT",
    "500",
    [0, 1_000_000],
    "Credits an agent gets when it is claimed."
  ),
  minStake: integer("AUSPEX_MIN_STAKE", "50", [1, 10_000_000], "Minimum credits of a stake in a macro pool."),
  planCreditFree: planCredit("AUSPEX_PLAN_CREDIT_FREE", "free"),
  planCreditPro: planCredit("AUSPEX_PLAN_CREDIT_PRO", "pro"),
  planCreditTeam: planCredit("AUSPEX_PLAN_CREDIT_TEAM", "team"),
  stripeSecretKey: pastedSecret(
    "AUSPEX_STRIPE_SECRET_KEY",
    "Lets owners buy credit by Stripe Checkout: a secret key, best one restricted to writing Checkout Sessions."
  ),
  stripeWebhookSecret: pastedSecret(
    "AUSPEX_STRIPE_WEBHOOK_SECRET",
    "Verifies Stripe's messages to BASE_URL/api/v1/stripe/webhook."
  ),
  creditPackages: optional({
    name: "AUSPEX_CREDIT_PACKAGES",
    takes: 'credits and prices such as "500 for 5 eur, 2200 for 20 eur", at most 12',
    meaning: "What owners can buy; nothing has a price unless you set it.",
    parse: creditPackagesOf
  }),
  stripeApi: required({
    name: "AUSPEX_STRIPE_API",
    defaultText: "https://api.stripe.com",
    takes: "an https URL without a path (http on loopback)",
    meaning: "Stripe's API; another one for tests.",
    parse: parseOrigin
  }),
  stripeCheckout: required({
    name: "AUSPEX_STRIPE_CHECKOUT",
    defaultText: "https://checkout.stripe.com",
    takes: "an https URL without a path (http on loopback)",
    meaning: "The payment page: your custom domain for Checkout, if you have one.",
    parse: parseOrigin
  }),
  checkoutInterval: duration(
    "AUSPEX_STRIPE_ASK_INTERVAL",
    "5 minutes",
    "Interval of asking Stripe about checkouts older than ten minutes without a message of their end."
  ),

  // The public log, its observers and witnesses.

  logWitnesses: required({
    name: "AUSPEX_LOG_WITNESSES",
    defaultText: "",
    takes: "pairs of submission prefix and verifier key (cosignature/v1, type 04), with commas between them",
    meaning:
      "Witnesses that cosign checkpoints of the log, for example `https://witness.example w1+...+...`.",
    parse: parseWitnesses
  }),
  logTimeStampUrl: optional({
    name: "AUSPEX_TSA_URL",
    takes: "an http or https URL",
    meaning: "An RFC 3161 time stamp authority that stamps the newest checkpoint of the log once an hour.",
    parse: parseAuthorityUrl
  }),
  logOrigin: optional<string>({
    name: "AUSPEX_LOG_ORIGIN",
    takes:
      "a name without spaces and plus signs (default: the host name of AUSPEX_BASE_URL, /log/ and the site)",
    meaning: "The name of the public log, which the first start fixes in the database.",
    // A cosignature cannot contain a longer name.
    parse: (text) => (isKeyName(text) && Buffer.byteLength(text) <= 255 ? Option.some(text) : Option.none())
  }),
  logKey: logKey(
    "AUSPEX_LOG_KEY",
    "Signs the public log, the same on all replicas that run jobs; without it the file log-key of the data directory does."
  ),
  logKeyPrevious: logKey(
    "AUSPEX_LOG_KEY_PREVIOUS",
    "The log's key before a change: it signs beside the new one while it is set."
  ),

  // Prices, macro values and events.

  priceSource: oneOf(
    "AUSPEX_PRICE_SOURCE",
    "none",
    priceSources,
    "The source of prices: administrators, recorded files, or exchanges and data vendors."
  ),
  priceReplayDir: optional({
    name: "AUSPEX_PRICE_REPLAY_DIR",
    takes: "a directory",
    meaning:
      "Files `ASSET-1h-*.csv` (time,open,high,low,close) and `ASSET-1d-*.csv` (date,close) for AUSPEX_PRICE_SOURCE=replay.",
    parse: Option.some
  }),
  priceExchanges: required({
    name: "AUSPEX_PRICE_EXCHANGES",
    defaultText: "coinbaseexchange,kraken",
    takes: "names of exchanges in ccxt with commas, each with :QUOTE if its prices are not in USD",
    meaning:
      "Spot exchanges of BTC and ETH for AUSPEX_PRICE_SOURCE=live; the next one fills the gaps of the one before.",
    parse: parseExchanges
  }),
  moreAssets: optional({
    name: "AUSPEX_MORE_ASSETS",
    takes: "KEY:Name with commas",
    meaning: "More crypto assets with prices at the exchanges; once added they stay.",
    parse: parseMoreAssets
  }),
  priceHistory: duration(
    "AUSPEX_PRICE_HISTORY",
    "63 days",
    "Age of the first candles fetched: reference scales need 60 days."
  ),
  priceSettleDelay: duration(
    "AUSPEX_PRICE_SETTLE_DELAY",
    "1 minute",
    "Time from a candle's end to its first reading."
  ),
  priceReread: duration(
    "AUSPEX_PRICE_REREAD",
    "2 minutes",
    "Time to its second reading; it is a price when both agree."
  ),
  fredApiKey: secret(
    "AUSPEX_FRED_API_KEY",
    1,
    "A key of FRED (Federal Reserve Bank of St. Louis), the source of first prints."
  ),
  macroAutoResolve: onOff(
    "AUSPEX_MACRO_AUTO_RESOLVE",
    "off",
    "Whether FRED's first print settles a macro challenge; else an administrator decides."
  ),
  eventFeeds: optional({
    name: "AUSPEX_EVENT_FEEDS",
    takes: "a YAML file",
    meaning: "News feeds (RSS, Atom, JSON Feed) of events (docs/operations.md).",
    parse: Option.some
  }),
  feedInterval: duration("AUSPEX_FEED_INTERVAL", "5 minutes", "Interval of reading each feed."),

  // Scheduled challenges.

  schedules: optional({
    name: "AUSPEX_SCHEDULES",
    takes: `off, or some of ${scheduleNames.join(", ")} with commas (default: all of them, if there is a price source)`,
    meaning: "Challenges made without an administrator (docs/operations.md).",
    parse: (text) =>
      text === "off" ? Option.some<ReadonlyArray<ScheduleName>>([]) : parseSome(text, scheduleNames)
  }),
  sessionLead: required({
    name: "AUSPEX_SESSION_LEAD",
    defaultText: "2 hours",
    takes: 'a duration of at most "3 days": nothing is asked while a contract ends, and one does each month',
    meaning: "Time from the making of a session's challenge to the session.",
    parse: (text) =>
      Option.filter(parseDuration(text), (lead) => Duration.isLessThanOrEqualTo(lead, Duration.days(3)))
  }),
  flashTime: duration(
    "AUSPEX_FLASH_TIME",
    "15 minutes",
    "Time in which a flash challenge takes predictions."
  ),
  flashWithin: duration("AUSPEX_FLASH_WITHIN", "1 hour", "Maximum age of an event for flash challenges."),
  weeklyLead: duration(
    "AUSPEX_WEEKLY_LEAD",
    "24 hours",
    "Time from the making of a week's questions to their deadline, a Monday."
  ),
  releaseLead: duration(
    "AUSPEX_RELEASE_LEAD",
    "14 days",
    "Time from the making of a planned macro challenge to its release."
  ),
  releaseClose: duration(
    "AUSPEX_RELEASE_CLOSE",
    "1 hour",
    "Time from the deadline of a planned macro challenge to its release, unless the calendar says."
  ),
  scheduleNotice: duration(
    "AUSPEX_SCHEDULE_NOTICE",
    "10 minutes",
    "Minimum time left to its deadline when a scheduled challenge is made."
  ),
  schedulePriceWithin: duration(
    "AUSPEX_SCHEDULE_PRICE_WITHIN",
    "3 hours",
    "Maximum age of the first price of a scheduled challenge, with hourly prices; others may be of the last close."
  ),

  practice: onOff("AUSPEX_PRACTICE", "on", "Whether there are practice questions."),

  references: onOff("AUSPEX_REFERENCES", "on", "Whether agents of the instance itself answer each question."),

  // Closing, settling and ranking.

  jobInterval: duration("AUSPEX_JOB_INTERVAL", "15 seconds", "Interval of closing and settling challenges."),
  countsEvery: required({
    name: "AUSPEX_COUNTS_EVERY",
    defaultText: "15 minutes,10",
    takes: 'a duration and a number such as "15 minutes,10", or "off"',
    meaning:
      "When counts by direction of an open challenge move: after this time, and answers of so many more claimed owners. With off they are live, and reveal single answers.",
    parse: parseCountSteps
  }),
  oddsEvery: required({
    name: "AUSPEX_ODDS_EVERY",
    defaultText: "off",
    takes: 'a duration and a number such as "15 minutes,10", or "off"',
    meaning: "The same for the odds of an open pool, after so many more stakes.",
    parse: parseCountSteps
  }),
  closePriceWithin: duration(
    "AUSPEX_CLOSE_PRICE_WITHIN",
    "24 hours",
    "Time after resolve_at in which a first price is the closing price; frozen into new challenges."
  ),
  directionalCancelAfter: duration(
    "AUSPEX_DIRECTIONAL_CANCEL_AFTER",
    "7 days",
    "Time in which a directional challenge waits for a closing price; frozen into new challenges."
  ),
  macroVoidAfter: duration(
    "AUSPEX_MACRO_VOID_AFTER",
    "60 days",
    "Time after release_at in which a macro challenge waits for its value; frozen into new challenges."
  ),
  priceEventVoidAfter: duration(
    "AUSPEX_PRICE_EVENT_VOID_AFTER",
    "72 hours",
    "Time after deadline and resolve_at in which a price event waits for its candles; frozen into new ones."
  ),
  closeGrace: duration(
    "AUSPEX_CLOSE_GRACE",
    "15 seconds",
    "Time after its deadline in which a challenge still records predictions received before."
  ),
  poolOwnerRule: onOff(
    "AUSPEX_POOL_OWNER_RULE",
    "off",
    "Whether the agents of one owner count as one in the 50 % rule and rewards of credit pools; frozen into new pools."
  ),
  rankMinCount: integer(
    "AUSPEX_RANK_MIN_COUNT",
    "30",
    [1, 1_000_000],
    "Scored predictions from which an agent is established, and by average has a rank on pages."
  ),
  rankMinDays: integer("AUSPEX_RANK_MIN_DAYS", "30", [1, 10_000], "Days with answers for a rank by skill."),
  maxBatch: integer(
    "AUSPEX_LARGEST_BATCH",
    "500",
    [1, 1000],
    "Maximum of submissions that one statement writes."
  ),
  paperSignalSpacing: duration(
    "AUSPEX_PAPER_SIGNAL_SPACING",
    "60 seconds",
    "Minimum time between an agent's paper-trade signals on one challenge."
  ),
  paperPriceWithin: duration(
    "AUSPEX_PAPER_PRICE_WITHIN",
    "4 days",
    "Maximum age of the price at which a paper-trade signal takes a virtual position."
  ),
  followsPerAgent: integer(
    "AUSPEX_FOLLOWS_PER_AGENT",
    "5000",
    [1, 1_000_000],
    "Agents that one agent may follow."
  ),
  maxWaitingReaders: integer(
    "AUSPEX_MAX_WAITING_READERS",
    "5000",
    [0, 1_000_000],
    "Readers that wait for notices on an instance at once; keep it below AUSPEX_MAX_CONNECTIONS."
  ),
  noticeRetention: duration(
    "AUSPEX_NOTICE_RETENTION",
    "30 days",
    "Lifetime of notices: older cursors have expired."
  ),
  maxWebhooks: integer("AUSPEX_MAX_WEBHOOKS", "20", [1, 1000], "Webhooks of an owner and its agents."),

  // The gateway to language models.

  gatewayConfig: optional({
    name: "AUSPEX_GATEWAY_CONFIG",
    takes: "the path of a YAML file",
    meaning:
      "Models, prices and providers (docs/operations.md); read again at SIGHUP. Without it there is no gateway.",
    parse: Option.some
  }),
  gatewayKeyTtl: duration(
    "AUSPEX_GATEWAY_KEY_TTL",
    "90 days",
    "Lifetime of a gateway key without an `expires_at`."
  ),
  gatewayKeyMaxTtl: duration(
    "AUSPEX_GATEWAY_KEY_MAX_TTL",
    "366 days",
    "Maximum lifetime of a new gateway key."
  ),
  gatewayKeysPerAgent: integer(
    "AUSPEX_GATEWAY_KEYS_PER_AGENT",
    "20",
    [1, 10_000],
    "Live gateway keys of an agent: neither revoked nor expired."
  ),

  // Log lines, traces and metrics.

  logFormat: optional<"json" | "pretty">({
    name: "AUSPEX_LOG_FORMAT",
    takes: "json | pretty (default: pretty on a terminal, else json)",
    meaning: "The format of log lines.",
    parse: (text) => parseOneOf(text, ["json", "pretty"])
  }),
  logLevel: oneOf(
    "AUSPEX_LOG_LEVEL",
    "Info",
    logLevels,
    "The minimum level; Debug has a line for every request."
  ),
  otlpEndpoint: optional({
    name: "OTEL_EXPORTER_OTLP_ENDPOINT",
    takes: "an http or https URL",
    meaning: "An OpenTelemetry collector (OTLP over HTTP) for traces, metrics and logs.",
    parse: parseWebBase
  }),
  traceRatio: required<number>({
    name: "OTEL_TRACES_SAMPLER_ARG",
    defaultText: "0.01",
    takes: "a number from 0 to 1",
    meaning: "The share of requests that are traced.",
    parse: (text) => (/^(0(\.\d+)?|1(\.0+)?)$/.test(text) ? Option.some(Number(text)) : Option.none())
  })
} satisfies Record<string, Setting<unknown>>

/** Rate limits. */
export const rateLimits = {
  predictions: limit("AUSPEX_LIMIT_PREDICTIONS", "60/minute", "Accepted predictions, per agent."),
  stakes: limit("AUSPEX_LIMIT_STAKES", "5/minute,50/day", "Accepted stakes, per agent."),
  comments: limit("AUSPEX_LIMIT_COMMENTS", "5/minute", "Accepted comments on events, per agent."),
  replies: limit("AUSPEX_LIMIT_REPLIES", "10/minute", "Accepted replies to comments, per agent."),
  likes: limit("AUSPEX_LIMIT_LIKES", "30/minute", "Accepted likes of comments and replies, per agent."),
  follows: limit("AUSPEX_LIMIT_FOLLOWS", "20/minute", "Accepted follows, per agent."),
  refused_writes: limit(
    "AUSPEX_LIMIT_REFUSED_WRITES",
    "120/minute",
    "Refused writes (4xx), per agent: at the limit, all its writes are 429."
  ),
  tokens: limit("AUSPEX_LIMIT_TOKENS", "20/minute", "Issued tokens, per agent."),
  token_failures: limit(
    "AUSPEX_LIMIT_TOKEN_FAILURES",
    "60/minute",
    "Refused credentials and malformed requests for tokens, per address, and per agent at an address (then the agent's right ones, too)."
  ),
  registrations: limit("AUSPEX_LIMIT_REGISTRATIONS", "20/hour", "Registrations, per address."),
  claim_refresh: limit("AUSPEX_LIMIT_CLAIM_REFRESH", "5/hour,20/day", "Renewed claim links, per agent."),
  claim_mails: limit("AUSPEX_LIMIT_CLAIM_MAILS", "3/day", "Claim mails that agents cause, per mailbox."),
  reminder_mails: limit(
    "AUSPEX_LIMIT_REMINDER_MAILS",
    "20/day",
    "Reminders about the end of grace windows, per mailbox."
  ),
  alert_mails: limit(
    "AUSPEX_LIMIT_ALERT_MAILS",
    "20/day",
    "Alerts of spent limits of gateway keys, per mailbox."
  ),
  sign_in_mails: limit("AUSPEX_LIMIT_SIGN_IN_MAILS", "5/hour", "Sign-in mails, per mailbox."),
  sign_ins: limit("AUSPEX_LIMIT_SIGN_INS", "20/hour", "Sign-in mails asked for, per address."),
  purchases: limit("AUSPEX_LIMIT_PURCHASES", "10/hour", "Purchases begun, per owner."),
  gateway_calls: limit("AUSPEX_LIMIT_GATEWAY_CALLS", "60/minute", "Calls of models, per gateway key."),
  gateway_agent_calls: limit(
    "AUSPEX_LIMIT_GATEWAY_AGENT_CALLS",
    "300/minute",
    "Calls of models, per agent, with all its gateway keys."
  ),
  reads: limit(
    "AUSPEX_LIMIT_READS",
    "600/minute",
    "Reads, and writes without a limit of their own, per address."
  ),
  log_reads: limit(
    "AUSPEX_LIMIT_LOG_READS",
    "6000/minute",
    "Checkpoints, tiles and entry bundles of the public log, per address."
  ),
  unidentified: limit(
    "AUSPEX_LIMIT_UNIDENTIFIED",
    "600/minute",
    "Requests that no other limit counts (documents, unknown paths, health, refused tokens and keys), per address, in each process."
  )
} satisfies Record<LimitName | "unidentified", Setting<unknown>>

/** A setting has an unusable value; the message is meant for the operator. */
export class SettingError extends Data.TaggedError("SettingError")<{ readonly message: string }> {}

/** The values of the composition root: `rules` for the service `Settings`, and all settings. */
export type Composition = Effect.Success<typeof load>

/** Reads every setting from the environment. */
export const load = Effect.gen(function* () {
  yield* rejectUnknown
  const values = yield* Effect.all(Struct.map(settings, read))
  const { unidentified, ...limits } = yield* Effect.all(Struct.map(rateLimits, read))
  const contradiction = contradictionIn(values)
  if (contradiction !== undefined) return yield* new SettingError({ message: contradiction })
  const { host, otlpEndpoint, priceSource, site } = values
  const baseUrl = Option.getOrElse(
    values.baseUrl,
    () => `http://${host.includes(":") ? `[${host}]` : host}:${values.port}`
  )
  /** All of `Settings`, except the values that are known only once the server, the secrets and the files exist. */
  const rules: Omit<Settings["Service"], "tokenSecret" | "adminToken" | "disposableDomains" | "legalTexts"> =
    {
      ...values,
      baseUrl,
      logOrigin: Option.getOrElse(values.logOrigin, () => defaultOrigin(baseUrl, site)),
      ownMachineUrls: isLoopback(host) && isLoopback(new URL(baseUrl).hostname),
      planCredit: {
        free: values.planCreditFree,
        pro: values.planCreditPro,
        team: values.planCreditTeam
      },
      moreAssets: Option.getOrElse(values.moreAssets, () => []),
      schedules: Option.getOrElse(values.schedules, () => (priceSource === "none" ? [] : scheduleNames)),
      traceRatio: Option.isNone(otlpEndpoint) ? 0 : values.traceRatio,
      unidentifiedLimit: unidentified,
      limits
    }
  return {
    ...values,
    operations: { host: values.opsHost, port: values.opsPort },
    isOpsPortSet: (yield* Config.String("AUSPEX_OPS_PORT").pipe(Config.withDefault(""), Effect.orDie)) !== "",
    database: {
      connections: values.databaseConnections,
      backgroundConnections: values.databaseBackgroundConnections,
      settingsFrom: values.databaseSettings
    },
    drainDelay: Option.getOrElse(values.drainDelay, () =>
      // An instance with its own database stands behind no balancer.
      Option.isSome(values.databaseUrl) ? Duration.seconds(5) : Duration.zero
    ),
    replayDir: Option.getOrElse(values.priceReplayDir, () => ""),
    openId: openIdOf(values),
    stripe: stripeOf(values),
    rules
  }
})

/** The default name of a log: the host of the service, without its port, and the site. */
export const defaultOrigin = (baseUrl: string, site: string): string =>
  `${new URL(baseUrl).hostname}/log/${site}`

/** All settings, in the order of the documentation. */
export const allSettings: ReadonlyArray<Setting<unknown>> = [
  ...Object.values(settings),
  ...Object.values(rateLimits)
]

type Values = {
  readonly [Key in keyof typeof settings]: (typeof settings)[Key] extends Setting<infer A> ? A : never
}

const openIdOf = ({ oidcClientId, oidcClientSecret, oidcIssuer }: Values): Option.Option<ProviderSettings> =>
  Option.map(Option.all({ issuer: oidcIssuer, clientId: oidcClientId }), (client) => ({
    ...client,
    clientSecret: oidcClientSecret
  }))

const stripeOf = (values: Values): Option.Option<StripeSettings> =>
  Option.map(
    Option.all({
      secretKey: values.stripeSecretKey,
      webhookSecret: values.stripeWebhookSecret,
      packages: values.creditPackages
    }),
    (account) => ({ ...account, api: values.stripeApi, checkoutOrigin: values.stripeCheckout.origin })
  )

/** The contradiction between settings that are each valid. */
const contradictionIn = (values: Values): string | undefined => {
  if (Duration.isGreaterThan(values.gatewayKeyTtl, values.gatewayKeyMaxTtl)) {
    return "AUSPEX_GATEWAY_KEY_TTL cannot be used: expected at most AUSPEX_GATEWAY_KEY_MAX_TTL."
  }
  const isPooled = Option.isSome(values.databaseUrl) && !values.roles.includes("jobs")
  if (values.databaseSettings === "role" && !isPooled) {
    return "AUSPEX_DATABASE_SETTINGS=role needs DATABASE_URL and AUSPEX_ROLES=api: jobs connect to PostgreSQL itself."
  }
  if (Option.isSome(values.oidcIssuer) && Option.isNone(values.oidcClientId)) {
    return "AUSPEX_OIDC_CLIENT_ID must be set when AUSPEX_OIDC_ISSUER is."
  }
  const isClient = Option.isSome(values.oidcClientId) || Option.isSome(values.oidcClientSecret)
  if (Option.isNone(values.oidcIssuer) && isClient) {
    return "AUSPEX_OIDC_ISSUER must be set when another AUSPEX_OIDC setting is."
  }
  if (Option.isSome(values.registrationJudgeModel) && Option.isNone(values.gatewayConfig)) {
    return "AUSPEX_GATEWAY_CONFIG must be set when AUSPEX_REGISTRATION_JUDGE_MODEL is."
  }
  const payments: ReadonlyArray<readonly [string, Option.Option<unknown>]> = [
    ["AUSPEX_STRIPE_SECRET_KEY", values.stripeSecretKey],
    ["AUSPEX_STRIPE_WEBHOOK_SECRET", values.stripeWebhookSecret],
    ["AUSPEX_CREDIT_PACKAGES", values.creditPackages]
  ]
  const missing = payments.filter(([, value]) => Option.isNone(value)).map(([name]) => name)
  if (missing.length > 0 && missing.length < payments.length) {
    return `${missing.join(" and ")} must be set when the other settings of payments are.`
  }
  if (!values.migrates && Option.isNone(values.databaseUrl)) {
    return "DATABASE_URL must be set when AUSPEX_MIGRATE is off: the start migrates the embedded database."
  }
  if (values.priceSource === "replay" && Option.isNone(values.priceReplayDir)) {
    return "AUSPEX_PRICE_REPLAY_DIR must be set when AUSPEX_PRICE_SOURCE is replay."
  }
  return values.macroAutoResolve && Option.isNone(values.fredApiKey)
    ? "AUSPEX_FRED_API_KEY must be set when AUSPEX_MACRO_AUTO_RESOLVE is on."
    : undefined
}

interface Setting<A> {
  readonly name: string
  /** The default as text of the environment; `null` when an absent setting has a meaning of its own. */
  readonly defaultText: string | null
  /** The form of a value, for errors and the documentation. */
  readonly takes: string
  readonly meaning: string
  readonly secret: boolean
  /** A setting without a default also accepts the empty text, which counts as absent. */
  readonly parse: (text: string) => Option.Option<A>
}

interface Read extends Struct.Lambda {
  <A>(setting: Setting<A>): Effect.Effect<A, SettingError>
  readonly "~lambda.out": this["~lambda.in"] extends Setting<infer A> ? Effect.Effect<A, SettingError> : never
}

/** All names in the environment that begin with this path. */
const namesFrom = (
  provider: ConfigProvider.ConfigProvider,
  path: ReadonlyArray<string>
): Effect.Effect<ReadonlyArray<string>, ConfigProvider.SourceError> =>
  Effect.flatMap(provider.load(path), (node) => {
    const own = node?.value === undefined ? [] : [path.join("_")]
    return node?._tag === "Record"
      ? Effect.map(
          Effect.forEach(node.keys, (key) => namesFrom(provider, [...path, key])),
          (below) => [...own, ...below.flat()]
        )
      : Effect.succeed(own)
  })

/** A misspelt setting stops the start; any other unknown name is logged. */
const rejectUnknown = Effect.gen(function* () {
  const known = allSettings.map(({ name }) => name)
  const names = yield* Effect.orDie(namesFrom(yield* ConfigProvider.ConfigProvider, ["AUSPEX"]))
  for (const name of names.filter((each) => !known.includes(each))) {
    const meant = nearest(name, known)
    if (meant !== undefined) {
      return yield* new SettingError({
        message: `${name} is no setting: did you mean ${meant}? docs/configuration.md has them all.`
      })
    }
    // Kubernetes sets such names for services whose names begin with auspex-.
    yield* Effect.logWarning(`${name} is no setting, and is ignored`)
  }
})

/** The value of a setting; an empty one counts as absent. */
const read = Struct.lambda<Read>((setting) =>
  Effect.gen(function* () {
    const { defaultText, name, parse, secret, takes } = setting
    const text = yield* Effect.mapError(
      Config.String(name).pipe(Config.withDefault("")),
      () => new SettingError({ message: `${name} cannot be read.` })
    )
    const value = parse(text === "" ? (defaultText ?? "") : text)
    if (Option.isSome(value)) return value.value
    const what = secret ? name : `${name}=${JSON.stringify(text)}`
    return yield* new SettingError({ message: `${what} cannot be used: expected ${takes}.` })
  })
)

// The rest are functions, not constants, because the tables above use them before their definition.

function required<A>(setting: Omit<Setting<A>, "secret">): Setting<A> {
  return { ...setting, secret: false }
}

function optional<A>(
  setting: Omit<Setting<A>, "defaultText" | "secret"> & { readonly secret?: boolean }
): Setting<Option.Option<A>> {
  return {
    ...setting,
    defaultText: null,
    secret: setting.secret ?? false,
    parse: (text) => (text === "" ? Option.some(Option.none()) : Option.map(setting.parse(text), Option.some))
  }
}

function words(name: string, defaultText: string, takes: string, meaning: string) {
  return required({ name, defaultText, takes, meaning, parse: Option.some })
}

function integer(name: string, defaultText: string, range: readonly [number, number], meaning: string) {
  return required({
    name,
    defaultText,
    takes: `a whole number from ${range[0]} to ${range[1]}`,
    meaning,
    parse: (text) => parseInteger(text, range)
  })
}

function planCredit(name: string, plan: string) {
  return integer(
    name,
    "0",
    [0, 1_000_000],
    `Credits of an owner on the ${plan} plan each calendar month (UTC).`
  )
}

function duration(name: string, defaultText: string, meaning: string) {
  const takes = 'a duration such as "15 seconds", "60 minutes" or "7 days"'
  return required({ name, defaultText, takes, meaning, parse: parseDuration })
}

/** A duration; `off` means zero. */
function durationOrOff(name: string, defaultText: string, meaning: string) {
  return required({
    name,
    defaultText,
    takes: 'a duration such as "1 second", or "off"',
    meaning,
    parse: parseDurationOrOff
  })
}

function parseDurationOrOff(text: string): Option.Option<Duration.Duration> {
  return text === "off" ? Option.some(Duration.zero) : parseDuration(text)
}

function limit(name: string, defaultText: string, meaning: string) {
  const takes = 'a limit such as "60/minute" or "5/minute,50/day"'
  return required({ name, defaultText, takes, meaning, parse: parseLimits })
}

function oneOf<const Value extends string>(
  name: string,
  defaultText: Value,
  values: ReadonlyArray<Value>,
  meaning: string
) {
  const takes = values.join(" | ")
  return required({ name, defaultText, takes, meaning, parse: (text) => parseOneOf(text, values) })
}

function onOff(name: string, defaultText: "on" | "off", meaning: string) {
  return required({ name, defaultText, takes: "off | on", meaning, parse: parseSwitch })
}

function secret(name: string, minBytes: number, meaning: string) {
  return optional({
    name,
    takes: minBytes === 1 ? "a secret" : `${minBytes} bytes or more`,
    meaning,
    secret: true,
    parse: (text) => (Buffer.byteLength(text) >= minBytes ? Option.some(Redacted.make(text)) : Option.none())
  })
}

/** A secret as copied from a provider, without surrounding space. */
function pastedSecret(name: string, meaning: string) {
  return optional({
    name,
    takes: "8 bytes or more",
    meaning,
    secret: true,
    parse: (text) =>
      /^[\x21-\x7e]{8,}$/.test(text.trim()) ? Option.some(Redacted.make(text.trim())) : Option.none()
  })
}

function postgresUrl(name: string, meaning: string) {
  return optional({
    name,
    takes: "postgres://user:password@host:port/database",
    meaning,
    secret: true,
    // The URL may name several hosts, so Node cannot parse it; `databaseUrl.ts` reports its problems.
    parse: (text) => Option.liftPredicate(Redacted.make(text), () => /^postgres(ql)?:\/\/./.test(text))
  })
}

function logKey(name: string, meaning: string): Setting<Option.Option<KeyObject>> {
  return optional({
    name,
    takes: "an Ed25519 private key in PKCS#8, as PEM or its base64 on one line",
    meaning,
    secret: true,
    parse: parseLogKey
  })
}

function parseOneOf<Value extends string>(text: string, values: ReadonlyArray<Value>): Option.Option<Value> {
  return Option.fromUndefinedOr(values.find((value) => value === text))
}

/** The listed values, each once, in the order of `values`. */
function parseSome<Value extends string>(
  text: string,
  values: ReadonlyArray<Value>
): Option.Option<ReadonlyArray<Value>> {
  const words = text.split(",").map((word) => word.trim())
  const known = values.filter((value) => words.includes(value))
  return known.length === words.length ? Option.some(known) : Option.none()
}

function parseSwitch(text: string): Option.Option<boolean> {
  return text === "on" || text === "off" ? Option.some(text === "on") : Option.none()
}

function parseInteger(text: string, [min, max]: readonly [number, number]): Option.Option<number> {
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN
  return value >= min && value <= max ? Option.some(value) : Option.none()
}

function parseDuration(text: string): Option.Option<Duration.Duration> {
  const shape = /^(\d+(?:\.\d+)?) (milli|second|minute|hour|day|week)s?$/.exec(text)
  if (shape === null) return Option.none()
  const unit = { milli: 1, second: 1e3, minute: 6e4, hour: 36e5, day: 864e5, week: 6048e5 }
  const millis =
    Number(shape[1]) * (Object.entries(unit).find(([name]) => name === shape[2])?.[1] ?? Number.NaN)
  return millis > 0 ? Option.some(Duration.millis(millis)) : Option.none()
}

/** A duration and a number that must both be reached, or `off`. */
function parseCountSteps(text: string): Option.Option<Option.Option<CountSteps>> {
  if (text === "off") return Option.some(Option.none())
  const shape = /^([^,]+),\s*([1-9]\d{0,8})$/.exec(text)
  return Option.map(parseDuration(shape?.[1] ?? ""), (after) =>
    Option.some({ after, answers: Number(shape?.[2]) })
  )
}

function parseLimits(text: string): Option.Option<ReadonlyArray<RateLimit>> {
  return Option.all(
    text.split(",").map((part): Option.Option<RateLimit> => {
      const shape = /^\s*([1-9]\d{0,8})\s*\/\s*(second|minute|hour|day)\s*$/.exec(part)
      return Option.map(parseDuration(`1 ${shape?.[2]}`), (window) => ({ count: Number(shape?.[1]), window }))
    })
  )
}

/** Only this machine can reach the host. */
function isLoopback(host: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|::1|\[::1\])$/.test(host)
}

function parseUrl(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined
}

function parseSecretUrl(text: string, shape: RegExp): Option.Option<Redacted.Redacted> {
  return shape.test(text) && URL.canParse(text) ? Option.some(Redacted.make(text)) : Option.none()
}

/** An address to which secrets and codes are sent: https, except on this machine. */
function parseSecureUrl(text: string): Option.Option<URL> {
  return Option.filter(
    Option.fromUndefinedOr(parseUrl(text)),
    ({ hostname, protocol }) => protocol === "https:" || (protocol === "http:" && isLoopback(hostname))
  )
}

function parseIssuer(text: string): Option.Option<URL> {
  return Option.filter(
    parseSecureUrl(text),
    ({ hash, search, username }) => search === "" && hash === "" && username === ""
  )
}

/** An address without a path. */
function parseOrigin(text: string): Option.Option<URL> {
  return Option.filter(parseSecureUrl(text), ({ href, origin }) => href === `${origin}/`)
}

function parseWebBase(text: string): Option.Option<string> {
  const url = parseUrl(text)
  const isUsable =
    (url?.protocol === "http:" || url?.protocol === "https:") && url.search === "" && url.hash === ""
  return isUsable ? Option.some(text.replace(/\/+$/, "")) : Option.none()
}
