/**
 * The settings of an operator. The table in `src/config.ts` has the name, the default and the meaning of each; all other code reads
 * them here, so that no number of the specification stands in the code twice.
 */
import { Context } from "effect"
import type { Duration, Option, Redacted } from "effect"
import type { ScheduleName } from "./Schedules.ts"
import type { MoreAsset } from "./Targets.ts"
import type { planCoefficients } from "../scoring/pools.ts"

/** A number of uses in a time, for example 5 a minute. */
export interface RateLimit {
  readonly count: number
  readonly window: Duration.Duration
}

/** Each limit is one or more windows that must all have room. */
export interface RateLimits {
  readonly predictions: ReadonlyArray<RateLimit>
  readonly stakes: ReadonlyArray<RateLimit>
  readonly comments: ReadonlyArray<RateLimit>
  readonly replies: ReadonlyArray<RateLimit>
  readonly likes: ReadonlyArray<RateLimit>
  readonly follows: ReadonlyArray<RateLimit>
  /** The limit on an agent's rejected writes. */
  readonly refused_writes: ReadonlyArray<RateLimit>
  readonly tokens: ReadonlyArray<RateLimit>
  /**
   * The limits on rejected credentials at the token endpoint, at claim-link/refresh and at resend-secret: for one agent at an address
   * (subject `ADDRESS AGENT_ID`), and for an address in total (subject `ADDRESS`).
   */
  readonly token_failures: ReadonlyArray<RateLimit>
  readonly registrations: ReadonlyArray<RateLimit>
  readonly claim_refresh: ReadonlyArray<RateLimit>
  readonly claim_mails: ReadonlyArray<RateLimit>
  readonly reminder_mails: ReadonlyArray<RateLimit>
  readonly alert_mails: ReadonlyArray<RateLimit>
  readonly sign_in_mails: ReadonlyArray<RateLimit>
  readonly sign_ins: ReadonlyArray<RateLimit>
  readonly purchases: ReadonlyArray<RateLimit>
  readonly reads: ReadonlyArray<RateLimit>
  readonly gateway_calls: ReadonlyArray<RateLimit>
  readonly gateway_agent_calls: ReadonlyArray<RateLimit>
  readonly log_reads: ReadonlyArray<RateLimit>
}

/** The steps of public counts by direction and odds of open challenges: a step is taken when both conditions are met. */
export interface CountSteps {
  /** The time since the last step, or since the challenge was created. */
  readonly after: Duration.Duration
  /** The number of claimed owners that have predicted (for odds: of agents that have staked) since the last step. */
  readonly answers: number
}

export type LimitName = keyof RateLimits

/** A witness of the log: its address, and the key of its cosignatures. */
export interface WitnessSetting {
  /** The submission prefix, without a trailing slash. */
  readonly url: string
  readonly verifierKey: string
}

/** An exchange by its name in ccxt, and the currency of its prices. */
export interface ExchangeSetting {
  readonly exchange: string
  readonly quote: string
}

export type Site = "global" | "cn"

/** The operator's legal texts. */
export const legalNames = ["terms", "privacy", "imprint"] as const
export type LegalName = (typeof legalNames)[number]

export class Settings extends Context.Service<
  Settings,
  {
    readonly site: Site
    /** The name of the public log at its first start; afterwards the database knows it. */
    readonly logOrigin: string
    /** The base URL, without a trailing slash. Every link that leaves the service is built from it, never from a Host header. */
    readonly baseUrl: string
    /** The secret of 32 bytes or more that signs tokens, and keys the values derived from it. */
    readonly tokenSecret: Redacted.Redacted
    readonly tokenSecretPrevious: Option.Option<Redacted.Redacted>
    readonly adminToken: Redacted.Redacted
    /** The previous token, accepted while it is being changed. */
    readonly adminTokenPrevious: Option.Option<Redacted.Redacted>
    readonly tokenTtl: Duration.Duration
    /** True if a jwks_url may be on this very machine: if the service has no other users, as in development. */
    readonly ownMachineUrls: boolean
    readonly claimLinkTtl: Duration.Duration
    readonly pairingCodeTries: number
    readonly claimGrant: number
    readonly planCredit: Readonly<Record<keyof typeof planCoefficients, number>>
    readonly minStake: number
    readonly agentsPerOperator: number
    /** Domains whose addresses, and those of their subdomains, get no new account and no mail about an agent. */
    readonly disposableDomains: ReadonlySet<string>
    /** The texts in Markdown. */
    readonly legalTexts: Readonly<Partial<Record<LegalName, string>>>
    readonly signInLinkTtl: Duration.Duration
    readonly sessionIdle: Duration.Duration
    readonly sessionTtl: Duration.Duration
    readonly provisionalGrace: Duration.Duration
    readonly provisionalPredictionLimit: number
    /** The maximum numbers of revisions of a prediction, and of bytes of an agent's answers and posts on a day (UTC). */
    readonly revisions: number
    readonly provisionalRevisions: number
    readonly answerBytes: number
    readonly provisionalAnswerBytes: number
    readonly registrationAttempts: number
    readonly jobInterval: Duration.Duration
    readonly checkoutInterval: Duration.Duration
    readonly closePriceWithin: Duration.Duration
    readonly directionalCancelAfter: Duration.Duration
    readonly macroVoidAfter: Duration.Duration
    readonly priceEventVoidAfter: Duration.Duration
    /** The source of prices; with `none` there are only imported ones. */
    readonly priceSource: "none" | "replay" | "live"
    readonly priceHistory: Duration.Duration
    readonly feedInterval: Duration.Duration
    readonly priceSettleDelay: Duration.Duration
    readonly priceReread: Duration.Duration
    readonly macroAutoResolve: boolean
    readonly schedules: ReadonlyArray<ScheduleName>
    /** Crypto assets beside those of the interface. */
    readonly moreAssets: ReadonlyArray<MoreAsset>
    readonly sessionLead: Duration.Duration
    readonly flashTime: Duration.Duration
    readonly flashWithin: Duration.Duration
    readonly weeklyLead: Duration.Duration
    readonly releaseLead: Duration.Duration
    readonly releaseClose: Duration.Duration
    readonly scheduleNotice: Duration.Duration
    readonly schedulePriceWithin: Duration.Duration
    readonly closeGrace: Duration.Duration
    readonly paperSignalSpacing: Duration.Duration
    readonly paperPriceWithin: Duration.Duration
    readonly followsPerAgent: number
    readonly poolOwnerRule: boolean
    readonly practice: boolean
    /** True if agents of the instance itself answer every question (ReferenceAgents). */
    readonly references: boolean
    readonly rankMinCount: number
    readonly rankMinDays: number
    /** The maximum number of concurrent submissions that one statement writes; with 1, each has its own. */
    readonly maxBatch: number
    /** The limit of an instance: streams, and requests that wait for a notice. */
    readonly maxWaitingReaders: number
    readonly noticeRetention: Duration.Duration
    /** The maximum number of webhooks that an owner and its agents have together. */
    readonly maxWebhooks: number
    readonly gatewayKeyTtl: Duration.Duration
    readonly gatewayKeyMaxTtl: Duration.Duration
    readonly gatewayKeysPerAgent: number
    readonly limits: RateLimits
    /**
     * The limit per address on requests that no other limit counts. Each process counts for itself, so it is no limit of the service
     * `RateLimiter`.
     */
    readonly unidentifiedLimit: ReadonlyArray<RateLimit>
    /** The witnesses that cosign the log's checkpoints; each key has another name. */
    readonly logWitnesses: ReadonlyArray<WitnessSetting>
    readonly logTimeStampUrl: Option.Option<string>
    /** If none, counts by direction are live while a challenge is open, too. */
    readonly countsEvery: Option.Option<CountSteps>
    /** The same steps for odds. */
    readonly oddsEvery: Option.Option<CountSteps>
    /** The time for which the answer to a public read is cached; zero turns this off. */
    readonly publicCache: Duration.Duration
    readonly traceRatio: number
    readonly maxConnections: number
    readonly maxConnectionsPerAddress: number
    /** CIDR blocks and addresses of the proxies whose X-Forwarded-For is trusted. */
    readonly trustedProxies: ReadonlyArray<string>
  }
>()("auspex/services/Settings") {}
