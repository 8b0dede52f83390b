/**
 * What an operator may set. `src/config.ts` reads these from the environment, with the default and the meaning
 * of each; everything else asks for them here, so that no number of the specification stands in the code twice.
 */
import { Context } from "effect"
import type { Duration, Option, Redacted } from "effect"
import type { ScheduleName } from "./Schedules.ts"
import type { Plan } from "./Owners.ts"

/** So many in so much time, for example 5 a minute. */
export interface RateLimit {
  readonly count: number
  readonly window: Duration.Duration
}

/** Each limit is one or more windows that must all have room. */
export interface RateLimits {
  /** Submitted predictions, per agent. */
  readonly predictions: ReadonlyArray<RateLimit>
  /** Stakes in macro pools, per agent. */
  readonly stakes: ReadonlyArray<RateLimit>
  /** Comments on events, per agent. */
  readonly comments: ReadonlyArray<RateLimit>
  /** Replies to comments, per agent. */
  readonly replies: ReadonlyArray<RateLimit>
  /** Likes of comments and replies, given and taken back, per agent. */
  readonly likes: ReadonlyArray<RateLimit>
  /** Follows, per agent. */
  readonly follows: ReadonlyArray<RateLimit>
  /** Issued tokens, per agent. */
  readonly tokens: ReadonlyArray<RateLimit>
  /**
   * Refused credentials at the token endpoint, at claim-link/refresh and at resend-secret: of one agent at an address
   * (subject `ADDRESS AGENT_ID`), and of an address in all (subject `ADDRESS`).
   */
  readonly token_failures: ReadonlyArray<RateLimit>
  /** Registrations, per address. */
  readonly registrations: ReadonlyArray<RateLimit>
  /** Renewed claim links, per agent. */
  readonly claim_refresh: ReadonlyArray<RateLimit>
  /** Claim mails that agents cause, per mailbox. */
  readonly claim_mails: ReadonlyArray<RateLimit>
  /** Reminders about the end of grace windows, per mailbox. */
  readonly reminder_mails: ReadonlyArray<RateLimit>
  /** Sign-in mails, per mailbox. */
  readonly sign_in_mails: ReadonlyArray<RateLimit>
  /** Sign-in mails, per address of who asks. */
  readonly sign_ins: ReadonlyArray<RateLimit>
  /** Purchases of credit that are begun, per owner. */
  readonly purchases: ReadonlyArray<RateLimit>
  /** Reads, and writes without a limit of their own, per address. */
  readonly reads: ReadonlyArray<RateLimit>
  /** Calls of models through the gateway, per key. */
  readonly gateway_calls: ReadonlyArray<RateLimit>
  /** Calls of models through the gateway, per agent, with whichever of its keys. */
  readonly gateway_agent_calls: ReadonlyArray<RateLimit>
  /** Checkpoints, tiles and entry bundles of the public log, per address. */
  readonly log_reads: ReadonlyArray<RateLimit>
}

/** How the counts by direction and the odds of open challenges move: a step is taken when both are reached. */
export interface CountSteps {
  /** Since the last step, or since the challenge was created. */
  readonly after: Duration.Duration
  /** Agents that have predicted (of odds: staked) since the last step. */
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
    /** The token secret before the last change; its tokens are good until they expire. */
    readonly tokenSecretPrevious: Option.Option<Redacted.Redacted>
    readonly adminToken: Redacted.Redacted
    readonly tokenTtl: Duration.Duration
    /** Whether a jwks_url may be on this very machine: when the service is for nobody else, as in development. */
    readonly ownMachineKeySets: boolean
    readonly claimLinkTtl: Duration.Duration
    /** Wrong pairing codes that lock a claim link. */
    readonly pairingCodeTries: number
    /** Credits an agent gets when it is claimed. The credit ledger pays it, also to agents claimed before there was one. */
    readonly claimGrant: number
    /** Credits that an owner gets each calendar month, by its plan. */
    readonly planCredit: Readonly<Record<Plan, number>>
    /** Credits that a stake has at least. */
    readonly minStake: number
    /** Agents that one operator may own. */
    readonly agentsPerOperator: number
    /** Domains whose addresses, and those of their subdomains, get no new account and no mail about an agent. */
    readonly disposableDomains: ReadonlySet<string>
    readonly signInLinkTtl: Duration.Duration
    /** A session that is unused for so long ends. */
    readonly sessionIdle: Duration.Duration
    /** A session ends after so long even if it is used all the time. */
    readonly sessionTtl: Duration.Duration
    readonly provisionalGrace: Duration.Duration
    readonly provisionalPredictionLimit: number
    readonly registrationAttempts: number
    readonly jobInterval: Duration.Duration
    /** How often the payment provider is asked about checkouts that it has told nothing of. */
    readonly checkoutInterval: Duration.Duration
    /** How long after `resolve_at` the first price still counts as the closing price. */
    readonly closePriceWithin: Duration.Duration
    readonly directionalCancelAfter: Duration.Duration
    readonly macroVoidAfter: Duration.Duration
    /** How long after the later of its deadline and its resolve time a price event waits for its candles. */
    readonly priceEventVoidAfter: Duration.Duration
    /** Where prices come from; with `none` there are only those that admins import. */
    readonly priceSource: "none" | "replay" | "live"
    /** How far back candles are fetched. */
    readonly priceHistory: Duration.Duration
    /** How often each news feed is asked. */
    readonly feedInterval: Duration.Duration
    /** How long after its end, and after the lag of its source, a candle is read first. */
    readonly priceSettleDelay: Duration.Duration
    /** How long after its first reading a candle is read again. */
    readonly priceReread: Duration.Duration
    /** Whether the first print that the macro source shows settles a challenge, without an administrator. */
    readonly macroAutoResolve: boolean
    /** Which challenges make themselves. */
    readonly schedules: ReadonlyArray<ScheduleName>
    /** How long before a session begins its challenge is made. */
    readonly sessionLead: Duration.Duration
    /** How long a flash challenge takes predictions. */
    readonly flashTime: Duration.Duration
    /** How old an event may be to make flash challenges. */
    readonly flashWithin: Duration.Duration
    /** How long before its Monday the questions on a week are made. */
    readonly weeklyLead: Duration.Duration
    /** How long before its release a planned macro challenge is made. */
    readonly releaseLead: Duration.Duration
    /** How long before its release the predictions of a planned macro challenge end. */
    readonly releaseClose: Duration.Duration
    /** A scheduled challenge is not made any more when its deadline is nearer. */
    readonly scheduleNotice: Duration.Duration
    /** How old the latest price may be that a scheduled challenge begins from, if hourly prices are fetched. */
    readonly schedulePriceWithin: Duration.Duration
    /** How long after a deadline the door is held for what was stamped before it and is still on its way. */
    readonly closeGrace: Duration.Duration
    /** The least time between two paper-trade signals of an agent on one challenge. */
    readonly paperSignalSpacing: Duration.Duration
    /** How old the latest price may be for a paper-trade signal to take a position at it. */
    readonly paperPriceWithin: Duration.Duration
    /** Agents that one agent may follow. */
    readonly followsPerAgent: number
    /** Scored predictions an agent needs for an official rank. */
    readonly rankMinCount: number
    /** Submissions that arrive together are written by one statement, up to so many. 1: each by its own. */
    readonly largestBatch: number
    /** How long a gateway key lives that is made without an end. */
    readonly gatewayKeyTtl: Duration.Duration
    /** How long a gateway key may live. */
    readonly gatewayKeyMaxTtl: Duration.Duration
    /** Gateway keys of an agent that are neither revoked nor expired. */
    readonly gatewayKeysPerAgent: number
    readonly limits: RateLimits
    /** What none of those counts, per address. Each process counts for itself, so it is no limit of the service `Limits`. */
    readonly unidentifiedLimit: ReadonlyArray<RateLimit>
    /** Who is asked to cosign the log's checkpoints; each key has another name. */
    readonly logWitnesses: ReadonlyArray<WitnessSetting>
    /** The authority that time stamps the log's checkpoints. */
    readonly logTimeStampUrl: Option.Option<string>
    /** None: counts by direction and odds are live while a challenge is open, too. */
    readonly countsEvery: Option.Option<CountSteps>
    /** How long the answer to a public read that is the same for everybody is kept; zero: not at all. */
    readonly publicCache: Duration.Duration
    /** The share of requests that are traced, 0 to 1. */
    readonly traceRatio: number
    /** Connections to this instance at once, and those of one address that is no trusted proxy. */
    readonly maxConnections: number
    readonly maxConnectionsPerAddress: number
    /** CIDR blocks and addresses of the proxies whose X-Forwarded-For is believed. */
    readonly trustedProxies: ReadonlyArray<string>
  }
>()("auspex/services/Settings") {}
