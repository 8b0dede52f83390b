/** Compares agents with the log: registration, owner, and credentials. */
import { createHash } from "node:crypto"
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { maxDifferences } from "../../../../services/Audit.ts"
import { findAll, whenGiven } from "../../sql.ts"
import { encode } from "../../log/entries.ts"
import { At, Entry, Index, compare, membersOf, moment } from "./entry.ts"
import { addFound, eachPage } from "./findings.ts"
import type { Findings } from "./findings.ts"

const pageSize = 4096

const Row = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  auth_method: Schema.String,
  secret: Schema.String,
  public_key: Schema.NullOr(Schema.String),
  jwks_url: Schema.NullOr(Schema.String),
  created_at: Schema.String,
  claimed_at: At,
  owner_id: Schema.NullOr(Schema.String),
  key_set_at: At,
  registered: Index,
  registered_entry: Entry,
  claimed: Index,
  claimed_entry: Entry,
  keyed: Index,
  keyed_entry: Entry
})
type Row = typeof Row.Type

/** SHA-256 of texts with a zero byte between them; the triggers compute the same (`log_hash`). */
const hashOf = (...parts: ReadonlyArray<string>): string =>
  createHash("sha256").update(parts.join("\0"), "utf8").digest("hex")

const keyOf = ({ auth_method, id, jwks_url, public_key, secret }: Row): string =>
  hashOf("auspex/agent-key/v1", id, auth_method, secret, public_key ?? "", jwks_url ?? "")

export const auditAgents = Effect.fnUntraced(function* (findings: Findings) {
  const sql = yield* SqlClient.SqlClient
  const rows = findAll(Row)
  let count = 0

  /** Joins the newest entry of a type of agent `a`, in the log or pending. Each limit keeps its part an index probe. */
  const newest = (alias: string, type: string) => {
    const entries = (table: string, place: string, order: string) =>
      sql.literal(`
        (select ${place} as index, entry from ${table}
          where log_entry_agent(entry) = a.id::text and type = '${type}' order by ${order} desc limit 1)`)
    return sql`
      left join lateral (
        select index, entry
          from (${entries("log_entries", "index::float8", "index")}
                union all
                ${entries("log_pending", "null::float8", "id")}) e
         order by index desc nulls first limit 1) ${sql.literal(alias)} on true`
  }

  const read = (after: Row | undefined) =>
    rows(sql`
      select a.id::text, a.name, a.auth_method, encode(a.secret_hash, 'hex') as secret, a.public_key, a.jwks_url,
             ${moment(sql, "a.created_at")} as created_at, ${moment(sql, "a.claimed_at")} as claimed_at,
             a.owner_id::text, ${moment(sql, "a.key_set_at")} as key_set_at,
             r.index as registered, r.entry as registered_entry, c.index as claimed, c.entry as claimed_entry,
             k.index as keyed, k.entry as keyed_entry
        from (select * from agents ${whenGiven(sql, after, (last) => sql`where id > ${last.id}::uuid`)}
               order by id limit ${pageSize}) a
        ${newest("r", "agent.register")} ${newest("c", "agent.claim")} ${newest("k", "agent.key")}
       order by a.id`)

  const checkPage = (page: ReadonlyArray<Row>) =>
    Effect.sync(() => {
      for (const row of page) {
        count += 1
        const what = `agent ${row.id}`
        const { claimed_entry, keyed_entry, registered_entry } = row
        if (registered_entry === null) {
          findings.add(`${what}: its registration is not in the log`)
        } else {
          compare(
            findings,
            what,
            { index: row.registered, entry: registered_entry },
            encode("agent.register", {
              agent_id: row.id,
              auth_method: row.auth_method,
              // The row has the newest key only; without it, the registered key cannot be recomputed.
              key_sha256: keyed_entry === null ? keyOf(row) : membersOf(registered_entry)?.["key_sha256"],
              name_sha256: hashOf("auspex/agent-name/v1", row.name),
              registered_at: row.created_at
            })
          )
        }
        if (keyed_entry !== null) {
          compare(
            findings,
            what,
            { index: row.keyed, entry: keyed_entry },
            encode("agent.key", { agent_id: row.id, at: row.key_set_at, key_sha256: keyOf(row) })
          )
        } else if (row.key_set_at !== null) {
          findings.add(`${what}: key_set_at is set, but no entry records it`)
        }
        if (claimed_entry !== null) {
          compare(
            findings,
            what,
            { index: row.claimed, entry: claimed_entry },
            encode("agent.claim", {
              agent_id: row.id,
              claimed_at: row.claimed_at,
              owner_sha256:
                row.owner_id === null ? null : hashOf("auspex/agent-owner/v1", row.id, row.owner_id)
            })
          )
        } else if (row.claimed_at !== null || row.owner_id !== null) {
          findings.add(`${what}: its claim (claimed_at, owner_id) is not in the log`)
        }
      }
    })

  yield* eachPage(pageSize, read, checkPage)

  const found = addFound(findings)
  const types = sql`type in ('agent.register', 'agent.claim', 'agent.key')`
  const recorded = sql`(
    select index, null::int8 as id, type, log_entry_agent(entry) as agent from log_entries where ${types}
     union all
    select null, id, type, log_entry_agent(entry) from log_pending where ${types})`
  yield* found(sql`
    select coalesce('entry ' || index, 'a pending entry') || ': there is no agent ' || agent as what,
           (count(*) over ())::int as count
      from ${recorded} r
     where not exists (select from agents a where a.id::text = r.agent)
     order by index limit ${maxDifferences}`)
  yield* found(sql`
    select 'agent ' || agent || ': ' || type || ' is recorded ' || count(*) || ' times' as what,
           (count(*) over ())::int as count
      from ${recorded} r
     where type <> 'agent.key'
     group by agent, type having count(*) > 1
     order by agent, type limit ${maxDifferences}`)
  return count
})
