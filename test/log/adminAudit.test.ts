/** The record of administrators' calls is one chain of hashes, whose head is in the public log. */
import { assert, describe, layer } from "@effect/vitest"
import { DateTime, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { Statement } from "effect/sql"
import * as Jobs from "../../src/jobs/Jobs.ts"
import { findAll, findOne } from "../../src/layers/postgres/sql.ts"
import { AdminAudit } from "../../src/services/AdminAudit.ts"
import { Audit } from "../../src/services/Audit.ts"
import { LogSequencer } from "../../src/services/LogSequencer.ts"
import { asOwner } from "../support/database.ts"
import { freshWeek, moveTo, plus } from "../support/challenges.ts"
import { testServices } from "../support/services.ts"

const call = Effect.fnUntraced(function* (body: string) {
  const audit = yield* AdminAudit
  const id = yield* audit.begin({ action: "changeOwner", path: "/owners/1", requestId: "r", body })
  yield* audit.complete(id, 200)
  return id
})

const logHead = AdminAudit.use((audit) => audit.logHead)
const differences = Effect.map(
  Audit.use(({ verifyLog }) => verifyLog),
  (report) => report.differences
)

const Head = Schema.Struct({ at: Schema.String, count: Schema.Int, head: Schema.String, type: Schema.String })

/** The heads that wait or are in the log, in order. */
const logged = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* findAll(Schema.Struct({ entry: Schema.fromJsonString(Head) }))(sql`
    select convert_from(entry, 'UTF8') as entry from log_entries where type = 'admin.audit'
    union all
    select convert_from(entry, 'UTF8') from log_pending where type = 'admin.audit'`)
  return rows.map(({ entry }) => entry).toSorted((one, other) => one.count - other.count)
})

const sequenced = LogSequencer.use((sequencer) => sequencer.sequence)

/** Makes changes that no trigger and no constraint hinders. */
const unhindered = Effect.fnUntraced(function* (changes: ReadonlyArray<Statement.Statement<object>>) {
  const sql = yield* SqlClient.SqlClient
  const tables = ["audit_log", "audit_outcomes", "audit_chain", "audit_head"]
  for (const table of tables) yield* sql`alter table ${sql(table)} disable trigger user`
  yield* sql`alter table audit_outcomes drop constraint if exists audit_outcomes_entry_id_fkey`
  for (const change of changes) yield* change
  for (const table of tables) yield* sql`alter table ${sql(table)} enable trigger user`
}, asOwner)

layer(testServices())("The administrators' chain and the jobs", (it) => {
  it.effect("The jobs log the head of the administrators' chain from their start on", () =>
    Effect.gen(function* () {
      yield* freshWeek
      yield* call("before")
      yield* Layer.build(Jobs.layer)
      // Time stands still; the database does not.
      const heads = yield* Effect.repeat(logged, { until: (all) => all.length > 0 })
      assert.deepStrictEqual(
        heads.map(({ count }) => count),
        [2]
      )
    })
  )
})

layer(testServices())("The head of the administrators' chain", (it) => {
  it.effect("The head of the chain goes into the log when there is something new, and at no other time", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      yield* logHead
      assert.deepStrictEqual(yield* logged, [])
      yield* call("one")
      yield* logHead
      yield* logHead
      yield* sequenced
      yield* logHead
      const [first, ...more] = yield* logged
      assert.deepStrictEqual(more, [])
      assert.deepInclude(first, { count: 2, type: "admin.audit", at: DateTime.formatIso(monday) })
      yield* moveTo(plus(monday, "1 hour"))
      yield* call("two")
      // Replicas that ask at once find one new head between them.
      yield* Effect.all([logHead, logHead, logHead], { concurrency: "unbounded" })
      assert.deepStrictEqual(
        (yield* logged).map(({ count }) => count),
        [2, 4]
      )
      assert.deepStrictEqual(yield* differences, [])
    })
  )

  it.effect("The chain has every call and every end once, however many are recorded at once", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* Effect.forEach(Array.from({ length: 40 }), (_, n) => call(`at once ${n}`), {
        concurrency: "unbounded"
      })
      const counts = yield* findOne(
        Schema.Struct({ rows: Schema.Int, links: Schema.Int, last: Schema.Int })
      )(sql`
        select (select count(*)::int from audit_log) + (select count(*)::int from audit_outcomes) as rows,
               (select count(*)::int from audit_chain) as links, (select count::int from audit_head) as last`)
      assert.deepStrictEqual([counts.links, counts.last], [counts.rows, counts.rows])
      assert.deepStrictEqual(yield* differences, [])
    })
  )
})

describe("The audit of the administrators' record", () => {
  /** A world of three calls, whose first two are in the log. */
  const names = (
    what: string,
    change: (
      sql: SqlClient.SqlClient,
      ids: { readonly first: string; readonly second: string; readonly third: string }
    ) => ReadonlyArray<Statement.Statement<object>>,
    finding: (ids: { readonly first: string; readonly second: string }) => string
  ) =>
    layer(testServices())(what, (it) => {
      it.effect("The audit of the log names the changed record of administrators, and nothing before", () =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          yield* freshWeek
          const first = yield* call("first")
          const second = yield* call("second 涨")
          yield* logHead
          yield* sequenced
          const third = yield* call("third")
          assert.deepStrictEqual(yield* differences, [])
          yield* unhindered(change(sql, { first, second, third }))
          assert.include((yield* differences).join("\n"), finding({ first, second }))
        })
      )
    })

  names(
    "A call that was changed",
    (sql, { first }) => [sql`update audit_log set body = 'other' where id = ${first}::uuid`],
    ({ first }) => `audit_log, ${first}: it is not what link 1 of audit_chain recorded`
  )
  names(
    "A time that was changed by a microsecond",
    (sql, { first }) => [
      sql`update audit_log set at = at + interval '1 microsecond' where id = ${first}::uuid`
    ],
    ({ first }) => `audit_log, ${first}: it is not what link 1 of audit_chain recorded`
  )
  names(
    "Text that was moved from one field to the next",
    (sql, { first }) => [
      sql`update audit_log set path = path || 'r', request_id = '' where id = ${first}::uuid`
    ],
    ({ first }) => `audit_log, ${first}: it is not what link 1 of audit_chain recorded`
  )
  names(
    "An end that was changed",
    (sql, { second }) => [sql`update audit_outcomes set status = 500 where entry_id = ${second}::uuid`],
    ({ second }) => `audit_outcomes, ${second}: it is not what link 4 of audit_chain recorded`
  )
  names(
    "A call that was removed",
    (sql, { second }) => [sql`delete from audit_log where id = ${second}::uuid`],
    ({ second }) => `audit_log, ${second}: link 3 of audit_chain records it, but it is missing`
  )
  names(
    "A call that was removed with its links",
    (sql, { second }) => [
      sql`delete from audit_log where id = ${second}::uuid`,
      sql`delete from audit_outcomes where entry_id = ${second}::uuid`,
      sql`delete from audit_chain where entry_id = ${second}::uuid`
    ],
    () => "audit_chain: link 3 is missing"
  )
  names(
    "A call that was put in",
    (sql, { first }) => [
      sql`
        insert into audit_log (id, at, action, path, request_id, body)
        select '0190f000-0000-7000-8000-00000000000a', at, action, path, request_id, body
          from audit_log where id = ${first}::uuid`
    ],
    () => "audit_log, 0190f000-0000-7000-8000-00000000000a: audit_chain has no link for it"
  )
  names(
    "A chain that ends earlier than the log says",
    (sql, { second, third }) => [
      sql`delete from audit_outcomes where entry_id = any(${[second, third]}::uuid[])`,
      sql`delete from audit_log where id = any(${[second, third]}::uuid[])`,
      sql`delete from audit_chain where number > 2`,
      sql`
        update audit_head set count = 2, logged = 2, hash = (select hash from audit_chain where number = 2)`
    ],
    () => "records 4 links of the audit log, but audit_chain has no link 4"
  )
  names(
    "A chain that was made anew, whole and without a flaw",
    (sql, { first }) => [
      sql`update audit_log set body = 'other' where id = ${first}::uuid`,
      sql`alter table audit_chain add column fields text[]`,
      sql`
        update audit_chain c
           set fields = coalesce(
                 (select array['call', l.id::text, (extract(epoch from l.at) * 1000000)::bigint::text, l.action, l.path,
                               l.request_id, l.body]
                    from audit_log l where c.kind = 'call' and l.id = c.entry_id),
                 (select array['outcome', o.entry_id::text, o.status::text]
                    from audit_outcomes o where o.entry_id = c.entry_id))`,
      sql`
        with recursive made as (
          select 0::bigint as number, decode(repeat('00', 32), 'hex') as hash
          union all
          select c.number, audit_hash(m.hash, c.fields) from made m join audit_chain c on c.number = m.number + 1
        )
        update audit_chain c set hash = m.hash from made m where m.number = c.number`,
      sql`update audit_head set hash = (select hash from audit_chain order by number desc limit 1)`
    ],
    () => "records the first 4 links of the audit log, but audit_chain has others"
  )
})
