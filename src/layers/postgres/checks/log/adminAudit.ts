/** Recomputes the chain of the audit log from its rows, and compares it with the stored links and the heads in the log. */
import { createHash } from "node:crypto"
import { Effect, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { maxDifferences } from "../../../../services/Audit.ts"
import { findAll, findOption, rowsOf } from "../../sql.ts"
import { eachPage } from "./findings.ts"
import type { Findings } from "./findings.ts"

/** The page is small, since a row may have 16 000 characters. */
const pageSize = 256

const Link = Schema.Struct({
  number: Schema.Finite,
  kind: Schema.Literals(["call", "outcome"]),
  entry_id: Schema.String,
  hash: Schema.String,
  /** The hashed fields of the row; null if the row is missing. */
  fields: Schema.NullOr(Schema.Array(Schema.NullOr(Schema.String)))
})

const Head = Schema.Struct({ count: Schema.Finite, hash: Schema.String })
const Known = Schema.Struct({ number: Schema.Finite, hash: Schema.NullOr(Schema.String) })
const Unchained = Schema.Struct({ what: Schema.String, count: Schema.Int })

const tables = { call: "audit_log", outcome: "audit_outcomes" }

/** The hash before the first link. */
const start = "00".repeat(32)

const framed = (field: string | null) => (field === null ? "-" : `${Buffer.byteLength(field)}:${field}`)

const linkHash = (previous: string, fields: ReadonlyArray<string | null>): string =>
  createHash("sha256")
    .update("auspex/audit/v1\0")
    .update(previous, "hex")
    .update(fields.map(framed).join(""))
    .digest("hex")

/** The members of an entry `admin.audit`. */
export interface LoggedHead {
  readonly place: string
  readonly count: unknown
  readonly head: unknown
}

/** Compares the heads in a page of entries with the chain. */
export const auditLoggedHeads = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  findings: Findings,
  heads: ReadonlyArray<LoggedHead>
) {
  if (heads.length === 0) return
  const counts = heads.map(({ count }) => (Number.isSafeInteger(count) ? Number(count) : 0))
  const known = yield* findAll(Known)(sql`
    select w.number::float8 as number, encode(c.hash, 'hex') as hash
      from ${rowsOf(sql, "w", counts, {
        number: ["int8", (count) => BigInt(count)]
      })}
      left join audit_chain c on c.number = w.number
     order by w.position`)
  for (const [turn, { count, head, place }] of heads.entries()) {
    const hash = known[turn]?.hash ?? null
    if (hash === null) {
      findings.add(
        `${place} records ${String(count)} links of the audit log, but audit_chain has no link ${String(count)}`
      )
    } else if (hash !== head) {
      findings.add(
        `${place} records the first ${String(count)} links of the audit log, but audit_chain has others`
      )
    }
  }
})

export const auditAdminAudit = Effect.fnUntraced(function* (findings: Findings) {
  const sql = yield* SqlClient.SqlClient
  const links = findAll(Link)
  const unchained = findAll(Unchained)
  let last = { number: 0, hash: start }

  yield* eachPage(
    pageSize,
    (after: typeof Link.Type | undefined) =>
      links(sql`
        select c.number::float8 as number, c.kind, c.entry_id::text, encode(c.hash, 'hex') as hash,
               case
                 when l.id is not null then
                   array['call', l.id::text, (extract(epoch from l.at) * 1000000)::bigint::text, l.action, l.path,
                         l.request_id, l.body]
                 when o.entry_id is not null then array['outcome', o.entry_id::text, o.status::text]
               end as fields
          from (select * from audit_chain where number > ${BigInt(after?.number ?? 0)}::int8
                 order by number limit ${pageSize}) c
          left join audit_log l on c.kind = 'call' and l.id = c.entry_id
          left join audit_outcomes o on c.kind = 'outcome' and o.entry_id = c.entry_id
         order by c.number`),
    (page) =>
      Effect.sync(() => {
        for (const { entry_id, fields, hash, kind, number } of page) {
          const what = `${tables[kind]}, ${entry_id}`
          const isNext = number === last.number + 1
          if (!isNext) findings.add(`audit_chain: link ${last.number + 1} is missing`)
          if (fields === null)
            findings.add(`${what}: link ${number} of audit_chain records it, but it is missing`)
          else if (isNext && linkHash(last.hash, fields) !== hash) {
            findings.add(`${what}: it is not what link ${number} of audit_chain recorded`)
          }
          last = { number, hash }
        }
      })
  )
  const head = yield* findOption(Head)(
    sql`select count::float8 as count, encode(hash, 'hex') as hash from audit_head`
  )
  if (Option.isNone(head)) findings.add("audit_head: it has no row")
  else if (head.value.count !== last.number || head.value.hash !== last.hash) {
    findings.add(`audit_head: it is not the last link of audit_chain, which is ${last.number}`)
  }
  for (const [kind, table, key] of [
    ["call", "audit_log", "id"],
    ["outcome", "audit_outcomes", "entry_id"]
  ] as const) {
    const rows = yield* unchained(sql`
      select ${`${table}, `}::text || t.${sql(key)} || ': audit_chain has no link for it' as what,
             (count(*) over ())::int as count
        from ${sql(table)} t
       where not exists (select from audit_chain c where c.kind = ${kind}::text and c.entry_id = t.${sql(key)})
       order by t.${sql(key)} limit ${maxDifferences}`)
    findings.addFirst(
      rows.map(({ what }) => what),
      rows[0]?.count ?? 0
    )
  }
})
