/**
 * What an operator may set. The table in `src/config.ts` has the name, the default and the meaning of each; everything
 * else asks for them here, so that no number of the specification stands in the code twice.
 */
import { Context } from "effect"
import type { Duration, Option, Redacted } from "effect"
import type { ScheduleName } from "./Schedules.ts"
import type { MoreAsset } from "./Targets.ts"
import type { planCoefficients } from "../scoring/pools.ts"

/** So many in so much time, for example 5 a minute. */
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
  /** Of an agent: whatever it was refused. */
  readonly refused_writes: ReadonlyArray<RateLimit>
  readonly tokens: ReadonlyArray<RateLimit>
  /**
   * Refused credentials at the token endpoint, at claim-link/refresh and at resend-secret: of one agent at an address
   * (subject `ADDRESS AGENT_ID`), and of an address in all (subject `ADDRESS`).
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

/** How counts by direction or odds of open challenges move: a step is taken when both are reached. */
export interface CountSteps {
  /** Since the last step, or since the challenge was created. */
  readonly after: Duration.Duration
  /** Claimed owners that have predicted (of odds: agents that have staked) since the last step. */
  readonly answers: number
}

export type LimitName = keyof RateLimits

/** A witness of the log: where it is asked, and what its cosignatures are checked with. */
export interface WitnessSetting {
  /** The submission prefix, without a trailing slash. */
  readonly url: string
  readonly verifierKey: string
}

/** An exchange by the name that ccxt has for it, and the currency of its prices. */
export interface ExchangeSetting {
  readonly exchange: string
  readonly quote: string
}

export type Site = "global" | "cn"

/** What an operator has to say to people, beside what the service does. */
export const legalNames = ["terms", "privacy", "imprint"] as const
export type LegalName = (typeof legalNames)[number]

export class Settings extends Context.Service<
  Settings,
  {
    readonly site: Site
    /** What the public log is named, if this is its first start; later the database knows. */
    readonly logOrigin: string
    /** Without a trailing slash. Every link that leaves the service is built from it, never from a Host header. */
    readonly baseUrl: string
    /** 32 bytes or more; signs tokens, and keys what is derived from it. */
    readonly tokenSecret: Redacted.Redacted
    readonly tokenSecretPrevious: Option.Option<Redacted.Redacted>
    readonly adminToken: Redacted.Redacted
    /** Accepted beside it while it is changed. */
    readonly adminTokenPrevious: Option.Option<Redacted.Redacted>
    readonly tokenTtl: Duration.Duration
    /** Whether a jwks_url may be on this very machine: when the service is for nobody else, as in development. */
    readonly ownMachineUrls: boolean
    readonly claimLinkTtl: Duration.Duration
    readonly pairingCodeTries: number
    readonly claimGrant: number
    readonly planCredit: Readonly<Record<keyof typeof planCoefficients, number>>
    readonly minStake: number
    readonly agentsPerOperator: number
    /** Domains whose addresses, and those of their subdomains, get no new account and no mail about an agent. */
    readonly disposableDomains: ReadonlySet<string>
    /** Markdown. */
    readonly legalTexts: Readonly<Partial<Record<LegalName, string>>>
    readonly signInLinkTtl: Duration.Duration
    readonly sessionIdle: Duration.Duration
    readonly sessionTtl: Duration.Duration
    readonly provisionalGrace: Duration.Duration
    readonly provisionalPredictionLimit: number
    /** How often an agent may revise a prediction, and how many bytes its answers and posts have on a day (UTC). */
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
    /** Where prices come from; with `none` there are only those that admins import. */
    readonly priceSource: "none" | "replay" | "live"
    readonly priceHistory: Duration.Duration
    readonly feedInterval: Duration.Duration
    readonly priceSettleDelay: Duration.Duration
    readonly priceReread: Duration.Duration
    readonly macroAutoResolve: boolean
    /** Which challenges make themselves. */
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
    /** Whether there are practice questions. */
    readonly practice: boolean
    /** Whether agents of the instance itself answer every question (ReferenceAgents). */
    readonly references: boolean
    readonly rankMinCount: number
    readonly rankMinDays: number
    /** Submissions that arrive together are written by one statement, up to so many. 1: each by its own. */
    readonly maxBatch: number
    /** Of an instance: streams, and requests that wait for a notice. */
    readonly maxWaitingReaders: number
    readonly noticeRetention: Duration.Duration
    /** Of an agent, and of an owner. */
    readonly maxWebhooks: number
    readonly gatewayKeyTtl: Duration.Duration
    readonly gatewayKeyMaxTtl: Duration.Duration
    readonly gatewayKeysPerAgent: number
    readonly limits: RateLimits
    /** What none of those counts, per address. Each process counts for itself, so it is no limit of the service `RateLimiter`. */
    readonly unidentifiedLimit: ReadonlyArray<RateLimit>
    /** Who is asked to cosign the log's checkpoints; each key has another name. */
    readonly logWitnesses: ReadonlyArray<WitnessSetting>
    readonly logTimeStampUrl: Option.Option<string>
    /** None: counts by direction are live while a challenge is open, too. */
    readonly countsEvery: Option.Option<CountSteps>
    /** The same of odds. */
    readonly oddsEvery: Option.Option<CountSteps>
    /** How long the answer to a public read that is the same for everybody is kept; zero: not at all. */
    readonly publicCache: Duration.Duration
    readonly traceRatio: number
    readonly maxConnections: number
    readonly maxConnectionsPerAddress: number
    /** CIDR blocks and addresses of the proxies whose X-Forwarded-For is believed. */
    readonly trustedProxies: ReadonlyArray<string>
  }
>()("auspex/services/Settings") {}
