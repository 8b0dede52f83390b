/**
 * Composes the bytes of every type of entry of the log (docs/log-entries.md): canonical JSON, composed once and stored.
 * Hashes are lower-case hexadecimal, times UTC with milliseconds, decimals the text of PostgreSQL's `trim_scale`. Personal
 * text appears as its SHA-256 only. Triggers of the table `agents` write the entries of agents.
 */
import { createHash } from "node:crypto"
import { DateTime, Schema, Struct } from "effect"
import type { TermsRow } from "../../../scoring/kinds/kind.ts"
import { loggedTerms } from "../../../scoring/kinds/kinds.ts"
import { canonicalJson } from "../../crypto/canonicalJson.ts"
import { levelNames } from "../../../scoring/kinds/facts.ts"
import type { Levels } from "../../../scoring/kinds/facts.ts"

export const EntryType = Schema.Literals([
  "challenge.create",
  "prediction.commit",
  "challenge.close",
  "prediction.reveal",
  "settlement",
  "amendment",
  "void",
  "key.rotate",
  "agent.register",
  "agent.claim",
  "agent.key",
  "admin.audit",
  "log.continue"
])
export type EntryType = typeof EntryType.Type

/** A time, or the text of a column, in which an audit sees digits beyond milliseconds. */
export type Instant = DateTime.Utc | string

/** The bytes of an entry. */
export const encode = (type: EntryType, members: Readonly<Record<string, unknown>>): Uint8Array =>
  Buffer.from(canonicalJson({ ...members, type }))

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex")
const hexOrNull = (bytes: Uint8Array | null): string | null => (bytes === null ? null : hex(bytes))
const iso = (at: Instant): string => (typeof at === "string" ? at : DateTime.formatIso(at))
const sha256 = (text: string): string => createHash("sha256").update(text, "utf8").digest("hex")

interface CreatedColumns<Time extends Instant> {
  readonly challenge_id: string
  readonly challenge_type: string
  readonly asset: string
  readonly kind: string
  readonly event_id: string | null
  readonly question: string
  readonly resolution_criteria: string | null
  readonly resolution_criteria_zh: string | null
  readonly created_at: Time
  readonly deadline: Time
  readonly resolve_at: Time
  readonly close_price_until: Time
  readonly cancel_at: Time
}

/** A challenge with the terms of its kind. */
export type CreatedChallenge<Time extends Instant = DateTime.Utc> = CreatedColumns<Time> &
  Omit<TermsRow, "scale" | "window_from"> & { readonly window_from: Time | null }

/** The terms that a challenge settles by. An entry older than a rule has no member for it. */
const termsOf = (challenge: CreatedChallenge<Instant>) => {
  const { always, since } = loggedTerms(challenge.kind, challenge.challenge_type, challenge)
  const names = [...always, ...since.filter((name) => challenge[name] !== null)]
  const terms = Object.fromEntries(names.map((name) => [name, challenge[name]]))
  if (challenge.challenge_type === "directional") {
    return { ...terms, close_price_until: iso(challenge.close_price_until) }
  }
  return challenge.window_from === null ? terms : { ...terms, window_from: iso(challenge.window_from) }
}

const createdMembers = (challenge: CreatedChallenge<Instant>) => ({
  ...termsOf(challenge),
  asset: challenge.asset,
  cancel_at: iso(challenge.cancel_at),
  challenge_id: challenge.challenge_id,
  challenge_type: challenge.challenge_type,
  created_at: iso(challenge.created_at),
  deadline: iso(challenge.deadline),
  event_id: challenge.event_id,
  frozen_sha256: sha256(
    canonicalJson({
      question: challenge.question,
      resolution_criteria: challenge.resolution_criteria,
      resolution_criteria_zh: challenge.resolution_criteria_zh
    })
  ),
  kind: challenge.kind,
  resolve_at: iso(challenge.resolve_at),
  scoring_version: 1,
  source: null
})

/** The frozen challenge. Its price may come from any source; the settlement names the source. */
export const challengeCreate = (challenge: CreatedChallenge<Instant>): Uint8Array =>
  encode("challenge.create", createdMembers(challenge))

/** A sealed prediction: agent and values stay hidden until the reveal. The statement that records predictions writes the same bytes. */
export const predictionCommit = (prediction: {
  readonly challenge_id: string
  readonly commit: Uint8Array
}): Uint8Array =>
  encode("prediction.commit", { c: hex(prediction.commit), challenge_id: prediction.challenge_id })

export interface ClosedChallenge {
  readonly challenge_id: string
  readonly closed_at: DateTime.Utc
  /** The number of commits of the challenge before this entry. */
  readonly commits: number
  /** The index of the last commit. */
  readonly last_index: number | null
  /** RFC 6962 root over the commits in the order of their indices; a leaf's data is the commit's 32 bytes. */
  readonly root: Uint8Array
}

/** The end of predictions: no commit of the challenge comes after this entry. */
export const challengeClose = (closed: ClosedChallenge): Uint8Array =>
  encode("challenge.close", {
    challenge_id: closed.challenge_id,
    closed_at: iso(closed.closed_at),
    commits: closed.commits,
    last_index: closed.last_index,
    root: hex(closed.root)
  })

/** Opens the commit at `commit_index`; `body` is the hashed text. */
export const predictionReveal = (revealed: {
  readonly commit_index: number
  readonly body: string
  readonly salt: Uint8Array
}): Uint8Array =>
  encode("prediction.reveal", {
    body: revealed.body,
    commit_index: revealed.commit_index,
    salt: hex(revealed.salt)
  })

/** The settlement of a credit pool. Amounts are decimal numbers of credits. */
export interface SettledPool {
  readonly outcome: string
  /** The bin that holds the value; null where there is no value. */
  readonly winning_bin: number | null
  readonly reward_pool: string
  readonly staked: string
  readonly stakes: number
  readonly paid: string
  /** RFC 6962 root over a leaf of every stake, in the order of the agents' ids. */
  readonly root: Uint8Array
}

/** The member `pool` of an entry, which a challenge without a pool does not have. */
const poolMember = (pool: SettledPool | null) =>
  pool === null ? {} : { pool: { ...pool, root: hex(pool.root) } }

/** The columns that every version of a settlement has. */
interface SettlementVersion<Time extends Instant = DateTime.Utc> extends Levels<string | null> {
  readonly challenge_id: string
  readonly version: number
  /** The result is null for numeric questions. */
  readonly result: string | null
  readonly open_price: string | null
  readonly dead_zone_pct: string | null
  /** The closing price, the published value, the count, or the price nearest to a barrier's level. */
  readonly observation: string
  /** The scale of numeric scores. */
  readonly reference_scale: string | null
  readonly source: string
  readonly observed_at: Time
  readonly fetched_at: Time
  /** SHA-256 of the source's answer, if it is kept. */
  readonly raw_sha256: Uint8Array | null
  readonly settled_at: Time
  readonly scores: number
  /** RFC 6962 root over a leaf of every score, in the order of the agents' ids. */
  readonly root: Uint8Array
}

/** The values that decided a settlement together with the observation. */
const measureOf = (settled: SettlementVersion<Instant>) => {
  const { dead_zone_pct, open_price, reference_scale } = settled
  if (reference_scale !== null) return { reference_scale }
  const named = levelNames.filter((name) => settled[name] !== null)
  return named.length === 0 ? { dead_zone_pct, open_price } : Struct.pick(settled, named)
}

const settledMembers = (settled: SettlementVersion<Instant>) => ({
  ...measureOf(settled),
  challenge_id: settled.challenge_id,
  fetched_at: iso(settled.fetched_at),
  observation: settled.observation,
  observed_at: iso(settled.observed_at),
  raw_sha256: hexOrNull(settled.raw_sha256),
  result: settled.result,
  root: hex(settled.root),
  scores: settled.scores,
  source: settled.source,
  version: settled.version
})

/** The first version, with which credit moves. */
export interface Settled<Time extends Instant = DateTime.Utc> extends SettlementVersion<Time> {
  readonly pool: SettledPool | null
}

/** The settlement of a challenge with the root over its scores. */
export const settlement = (settled: Settled<Instant>): Uint8Array =>
  encode("settlement", {
    ...settledMembers(settled),
    ...poolMember(settled.pool),
    settled_at: iso(settled.settled_at)
  })

/** A later version of a settlement; its `settled_at` is the time of the amendment. */
export interface Amended<Time extends Instant = DateTime.Utc> extends SettlementVersion<Time> {
  readonly previous_version: number
  readonly reason: string
}

/** The amendment of a settlement by an administrator, with the root over the new scores. */
export const amendment = (amended: Amended<Instant>): Uint8Array =>
  encode("amendment", {
    ...settledMembers(amended),
    amended_at: iso(amended.settled_at),
    previous_version: amended.previous_version,
    reason_sha256: sha256(amended.reason)
  })

export interface Voided<Time extends Instant = DateTime.Utc> {
  readonly challenge_id: string
  readonly voided_at: Time
  readonly reason: string
  readonly pool: SettledPool | null
}

/** The cancellation of a challenge, which then scores nobody. */
export const voided = (challenge: Voided<Instant>): Uint8Array =>
  encode("void", {
    challenge_id: challenge.challenge_id,
    ...poolMember(challenge.pool),
    reason_sha256: sha256(challenge.reason),
    voided_at: iso(challenge.voided_at)
  })

/** A change of the log's key: both members are verifier keys. */
export const keyRotate = (keys: { readonly old: string; readonly new: string }): Uint8Array =>
  encode("key.rotate", { new: keys.new, old: keys.old })

/** The length of the audit log and the hash of its last link; the calls of administrators stay private. */
export const adminAudit = (audit: {
  readonly count: number
  readonly head: Uint8Array
  readonly at: DateTime.Utc
}): Uint8Array => encode("admin.audit", { at: iso(audit.at), count: audit.count, head: hex(audit.head) })

export interface Continued<Time extends Instant = DateTime.Utc> {
  readonly number: number
  readonly origin: string
  /** Size and root of the log at the time of the continuation. */
  readonly size: number
  readonly root: Uint8Array
  /** The largest checkpoint that was seen and is lost; the log has another name since. */
  readonly lost_size: number | null
  readonly lost_root: Uint8Array | null
  readonly reason: string
  readonly continued_at: Time
}

/** A continuation: an administrator lets the log go on after a failover or restore, or on instances without signer state. */
export const logContinue = (continued: Continued<Instant>): Uint8Array =>
  encode("log.continue", {
    continued_at: iso(continued.continued_at),
    lost_root: hexOrNull(continued.lost_root),
    lost_size: continued.lost_size,
    number: continued.number,
    origin: continued.origin,
    reason_sha256: sha256(continued.reason),
    root: hex(continued.root),
    size: continued.size
  })
