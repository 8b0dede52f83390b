/**
 * The bytes of every type of entry of the log (docs/log-entries.md): canonical JSON, made once and then
 * stored, never made again from what a database thinks they say. Hashes are lower-case hexadecimal, times UTC with
 * milliseconds, decimals the text of PostgreSQL's `trim_scale`. Personal text is not in them, only its SHA-256. Those of
 * agents are made by triggers of the table `agents`.
 */
import { createHash } from "node:crypto"
import { DateTime, Schema } from "effect"
import { canonicalJson } from "../../crypto/canonicalJson.ts"

/** What is recorded. */
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
  "admin.audit"
])
export type EntryType = typeof EntryType.Type

const encode = (type: EntryType, members: Readonly<Record<string, unknown>>): Uint8Array =>
  Buffer.from(canonicalJson({ ...members, type }))

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex")
const hexOrNull = (bytes: Uint8Array | null): string | null => (bytes === null ? null : hex(bytes))
const isoOrNull = (at: DateTime.Utc | null): string | null => (at === null ? null : DateTime.formatIso(at))
const sha256 = (text: string): string => createHash("sha256").update(text, "utf8").digest("hex")

export interface CreatedChallenge {
  readonly challenge_id: string
  readonly challenge_type: "directional" | "macro" | "price_event"
  readonly asset: string
  readonly kind: string
  readonly event_id: string | null
  readonly question: string
  readonly resolution_criteria: string | null
  readonly resolution_criteria_zh: string | null
  readonly created_at: DateTime.Utc
  readonly deadline: DateTime.Utc
  readonly resolve_at: DateTime.Utc
  readonly close_price_until: DateTime.Utc
  readonly cancel_at: DateTime.Utc
  /** Of directional challenges. */
  readonly open_price: string | null
  readonly dead_zone_pct: string | null
  /** Of macro challenges, whose `resolve_at` is when the figure is to be released. */
  readonly period: string | null
  readonly unit: string | null
  readonly bin_edges: ReadonlyArray<string> | null
  readonly reference_scale: string | null
  readonly decimal_step: string | null
  /** Credits. */
  readonly reward_pool: string | null
  /** Of price events: of yes-or-no questions, and of barriers. Numeric ones have a reference scale. */
  readonly level: string | null
  readonly window_from: DateTime.Utc | null
}

/** What a challenge of each type settles by. */
const termsOf = (challenge: CreatedChallenge) => {
  switch (challenge.challenge_type) {
    case "directional":
      return {
        close_price_until: DateTime.formatIso(challenge.close_price_until),
        dead_zone_pct: challenge.dead_zone_pct,
        open_price: challenge.open_price
      }
    case "macro":
      return {
        bin_edges: challenge.bin_edges,
        decimal_step: challenge.decimal_step,
        period: challenge.period,
        reference_scale: challenge.reference_scale,
        reward_pool: challenge.reward_pool,
        unit: challenge.unit
      }
    case "price_event":
      return {
        decimal_step: challenge.decimal_step,
        level: challenge.level,
        reference_scale: challenge.reference_scale,
        window_from: isoOrNull(challenge.window_from)
      }
  }
}

const createdMembers = (challenge: CreatedChallenge) => ({
  ...termsOf(challenge),
  asset: challenge.asset,
  cancel_at: DateTime.formatIso(challenge.cancel_at),
  challenge_id: challenge.challenge_id,
  challenge_type: challenge.challenge_type,
  created_at: DateTime.formatIso(challenge.created_at),
  deadline: DateTime.formatIso(challenge.deadline),
  event_id: challenge.event_id,
  frozen_sha256: sha256(
    canonicalJson({
      question: challenge.question,
      resolution_criteria: challenge.resolution_criteria,
      resolution_criteria_zh: challenge.resolution_criteria_zh
    })
  ),
  kind: challenge.kind,
  resolve_at: DateTime.formatIso(challenge.resolve_at),
  scoring_version: 1,
  source: null
})

/** A challenge, as it is frozen. Its price may come from any source; the settlement says which it was. */
export const challengeCreate = (challenge: CreatedChallenge): Uint8Array =>
  encode("challenge.create", createdMembers(challenge))

/** That somebody predicted: who and what stays hidden until the reveal. The statement that records predictions writes the same bytes. */
export const predictionCommit = (prediction: {
  readonly challenge_id: string
  readonly commit: Uint8Array
}): Uint8Array =>
  encode("prediction.commit", { c: hex(prediction.commit), challenge_id: prediction.challenge_id })

export interface ClosedChallenge {
  readonly challenge_id: string
  readonly closed_at: DateTime.Utc
  /** How many commits of the challenge stand before this entry. */
  readonly commits: number
  /** The index of the last of them. */
  readonly last_index: number | null
  /** RFC 6962 root over the commits in the order of their indices; a leaf's data is the commit's 32 bytes. */
  readonly root: Uint8Array
}

/** No prediction of the challenge comes after this one. */
export const challengeClose = (closed: ClosedChallenge): Uint8Array =>
  encode("challenge.close", {
    challenge_id: closed.challenge_id,
    closed_at: DateTime.formatIso(closed.closed_at),
    commits: closed.commits,
    last_index: closed.last_index,
    root: hex(closed.root)
  })

/** What was committed to at `commit_index`; `body` is the very text that was hashed. */
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

/** What came of the credit pool of a macro challenge. Amounts are credits, as decimals. */
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

/** Challenges without a pool have no such member. */
const poolMember = (pool: SettledPool | null) =>
  pool === null ? {} : { pool: { ...pool, root: hex(pool.root) } }

/** What every version of a settlement has. */
interface SettlementVersion {
  readonly challenge_id: string
  readonly version: number
  /** Null of numeric questions. */
  readonly result: string | null
  readonly open_price: string | null
  readonly dead_zone_pct: string | null
  /** The closing price, the value that was published, the count, or, of a barrier, the price nearest to its level. */
  readonly observation: string
  /** What numeric forecasts were scored with. */
  readonly reference_scale: string | null
  /** Of yes-or-no questions. */
  readonly level: string | null
  readonly source: string
  readonly observed_at: DateTime.Utc
  readonly fetched_at: DateTime.Utc
  /** SHA-256 of what the source answered, if that is kept. */
  readonly raw_sha256: Uint8Array | null
  readonly settled_at: DateTime.Utc
  readonly scores: number
  /** RFC 6962 root over `scoreLeaf` of every score, in the order of the agents' ids. */
  readonly root: Uint8Array
}

/** What a settlement was decided by, beside what was observed. */
const measureOf = ({ dead_zone_pct, level, open_price, reference_scale }: SettlementVersion) => {
  if (reference_scale !== null) return { reference_scale }
  return level === null ? { dead_zone_pct, open_price } : { level }
}

const settledMembers = (settled: SettlementVersion) => ({
  ...measureOf(settled),
  challenge_id: settled.challenge_id,
  fetched_at: DateTime.formatIso(settled.fetched_at),
  observation: settled.observation,
  observed_at: DateTime.formatIso(settled.observed_at),
  raw_sha256: hexOrNull(settled.raw_sha256),
  result: settled.result,
  root: hex(settled.root),
  scores: settled.scores,
  source: settled.source,
  version: settled.version
})

/** The first version, with which credit moves. */
export interface Settled extends SettlementVersion {
  readonly pool: SettledPool | null
}

/** How a challenge was settled, and the scores that it gave. */
export const settlement = (settled: Settled): Uint8Array =>
  encode("settlement", {
    ...settledMembers(settled),
    ...poolMember(settled.pool),
    settled_at: DateTime.formatIso(settled.settled_at)
  })

/** A later version of a settlement, whose `settled_at` is when it was made. */
export interface Amended extends SettlementVersion {
  readonly previous_version: number
  readonly reason: string
}

/** By what an administrator replaced a settlement, and the scores that its predictions have from then on. */
export const amendment = (amended: Amended): Uint8Array =>
  encode("amendment", {
    ...settledMembers(amended),
    amended_at: DateTime.formatIso(amended.settled_at),
    previous_version: amended.previous_version,
    reason_sha256: sha256(amended.reason)
  })

export interface Voided {
  readonly challenge_id: string
  readonly voided_at: DateTime.Utc
  readonly reason: string
  readonly pool: SettledPool | null
}

/** A cancelled challenge: nobody is scored by it. */
export const voided = (challenge: Voided): Uint8Array =>
  encode("void", {
    challenge_id: challenge.challenge_id,
    ...poolMember(challenge.pool),
    reason_sha256: sha256(challenge.reason),
    voided_at: DateTime.formatIso(challenge.voided_at)
  })

/** The key that signs from here on, and the one that signed before; both as verifier keys. */
export const keyRotate = (keys: { readonly old: string; readonly new: string }): Uint8Array =>
  encode("key.rotate", { new: keys.new, old: keys.old })

/** How many links the chain of administrators' calls had by then, and the hash of the last: the calls themselves stay inside. */
export const adminAudit = (audit: {
  readonly count: number
  readonly head: Uint8Array
  readonly at: DateTime.Utc
}): Uint8Array =>
  encode("admin.audit", { at: DateTime.formatIso(audit.at), count: audit.count, head: hex(audit.head) })
