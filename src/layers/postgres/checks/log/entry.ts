/** A stored entry, in the log or pending, and its comparison with what it records. */
import { BigDecimal, Option, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { canonicalJson } from "../../../crypto/canonicalJson.ts"
import { EntryType } from "../../log/entries.ts"
import type { Findings } from "./findings.ts"

export type Members = Readonly<Record<string, unknown>>

/** Columns of a row that an audit reads: index and bytes of an entry, and a time; null if there is none. */
export const Index = Schema.NullOr(Schema.Finite)
export const Entry = Schema.NullOr(Schema.Uint8Array)
export const At = Schema.NullOr(Schema.String)

export const StoredEntry = Schema.Struct({
  index: Index,
  type: Schema.String,
  challenge_id: Schema.NullOr(Schema.String),
  version: Schema.NullOr(Schema.Int),
  commit: Schema.NullOr(Schema.String),
  commit_index: Schema.NullOr(Schema.Finite),
  entry: Schema.Uint8Array
})
export type StoredEntry = typeof StoredEntry.Type

export const entryColumns = (sql: SqlClient.SqlClient) => sql`
  type, challenge_id::text, version, encode(commit, 'hex') as commit, commit_index::float8 as commit_index, entry`

export const placeOf = (index: number | null): string =>
  index === null ? "its pending entry" : `entry ${index}`

const utf8 = new TextDecoder("utf-8", { fatal: true })

/** The members of an entry; `undefined` when its bytes are not the canonical JSON of an object. */
export const membersOf = (entry: Uint8Array): Members | undefined => {
  try {
    const text = utf8.decode(entry)
    const value: unknown = JSON.parse(text)
    if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined
    return canonicalJson(value) === text ? Object.fromEntries(Object.entries(value)) : undefined
  } catch {
    return undefined
  }
}

/** The version of types recorded once of a challenge is 1; types without a challenge have none. */
const versionOf = (type: unknown, members: Members): unknown => {
  switch (type) {
    case "challenge.create":
    case "challenge.close":
    case "void":
      return 1
    case "settlement":
    case "amendment":
      return members["version"]
    default:
      return null
  }
}

const known: ReadonlySet<unknown> = new Set(EntryType.literals)

/** Compares the columns of a stored entry with its bytes. */
export const checkColumns = (findings: Findings, stored: StoredEntry): Members | undefined => {
  const what = stored.index === null ? `a pending entry (${stored.type})` : `entry ${stored.index}`
  const members = membersOf(stored.entry)
  if (members === undefined) {
    findings.add(`${what}: its bytes are not canonical JSON`)
    return undefined
  }
  const type = members["type"]
  if (!known.has(type)) findings.add(`${what}: ${type} is not a type of entry`)
  const recorded = {
    type,
    challenge_id: members["challenge_id"] ?? null,
    version: versionOf(type, members),
    commit: members["c"] ?? null,
    commit_index: members["commit_index"] ?? null
  }
  for (const name of ["type", "challenge_id", "version", "commit", "commit_index"] as const) {
    if (recorded[name] !== stored[name]) findings.add(`${what}: its column ${name} is not what its bytes say`)
  }
  return members
}

/** The columns behind a member, where they have other names. */
const stored: Readonly<Record<string, string>> = {
  amended_at: "settled_at",
  asset: "target",
  at: "key_set_at",
  frozen_sha256: "question or resolution criteria",
  observation: "close_price or actual_value",
  key_sha256: "secret_hash, public_key or jwks_url",
  name_sha256: "name",
  owner_sha256: "owner_id",
  reason_sha256: "cancel_reason or reason",
  registered_at: "created_at",
  voided_at: "cancelled_at",
  root: "scores (their root)",
  "pool.root": "stakes and rewards of the pool (their root)",
  scores: "number of scores"
}

/** Checks that columns are null that only rows of another form have. */
export const checkEmpty = <Row>(
  findings: Findings,
  what: string,
  row: Row,
  columns: ReadonlyArray<keyof Row & string>
): void => {
  for (const name of columns) {
    if (row[name] !== null) findings.add(`${what}: ${name} is set, but a row of this form has none`)
  }
}

const isSame = (one: unknown, other: unknown): boolean =>
  one === other || (Array.isArray(one) && Array.isArray(other) && canonicalJson(one) === canonicalJson(other))

/** Flattens the members of a pool, so that each is named. */
const flat = ({ pool, ...members }: Members): Members =>
  typeof pool === "object" && pool !== null
    ? {
        ...members,
        ...Object.fromEntries(Object.entries(pool).map(([name, value]) => [`pool.${name}`, value]))
      }
    : { ...members, ...(pool === undefined ? {} : { pool }) }

/** Compares the bytes of an entry with those composed from the rows. If they differ, names every member that differs. */
export const compare = (
  findings: Findings,
  what: string,
  { entry, index }: { readonly entry: Uint8Array; readonly index: number | null },
  composed: Uint8Array
): void => {
  if (Buffer.compare(entry, composed) === 0) return
  const recorded = membersOf(entry)
  // `checkColumns` reports bytes that are not canonical JSON.
  if (recorded === undefined) return
  const [members, wanted] = [flat(recorded), flat(membersOf(composed) ?? {})]
  const names = new Set([...Object.keys(wanted), ...Object.keys(members)])
  for (const name of names) {
    if (!isSame(members[name], wanted[name])) {
      findings.add(`${what}: ${stored[name] ?? name} is not what ${placeOf(index)} recorded`)
    }
  }
}

/**
 * Formats a time as entries do, years after 9999 with a sign and six digits. Digits beyond milliseconds, which no entry has,
 * stay, so that the comparison shows them.
 */
export const moment = (sql: SqlClient.SqlClient, column: string) =>
  sql.literal(`
    to_char(${column} at time zone 'UTC',
            case when ${column} < '10000-01-01T00:00:00Z' then 'YYYY' else '"+0"YYYY' end || '-MM-DD"T"HH24:MI:SS.') ||
    case when ${column} = date_trunc('milliseconds', ${column}) then to_char(${column}, 'MS') else to_char(${column}, 'US') end
    || 'Z'`)

/** True if two texts are the same number. */
export const isSameDecimal = (one: string | null, other: string): boolean => {
  if (one === null) return false
  if (one === other) return true
  const [first, second] = [BigDecimal.fromString(one), BigDecimal.fromString(other)]
  return Option.isSome(first) && Option.isSome(second) && BigDecimal.Equivalence(first.value, second.value)
}

/** The number that an agent sent for this stored decimal; the text itself if no double has exactly this value. */
export const sentNumber = (decimal: string): number | string => {
  const value = Number(decimal)
  return isSameDecimal(decimal, String(value)) ? value : decimal
}
