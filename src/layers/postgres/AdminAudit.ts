import { DateTime, Effect, Layer, Option, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { AdminAudit, AuditEntry } from "../../services/AdminAudit.ts"
import { Cursors } from "../../services/domain/paging.ts"
import { adminAudit } from "./log/entries.ts"
import { execute, findAll, findOption, whenGiven, isoTimestamp, timestamp, transaction } from "./sql.ts"

/** The maximum length of a stored body. A whole request for credit fits, which the audit of the ledger reads. */
const maxBody = 16_000

const Head = Schema.Struct({ count: Schema.Int, hash: Schema.Uint8Array })

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const pages = (yield* Cursors).listById("audit")
  const random = yield* SecureRandom.SecureRandom
  const entries = findAll(AuditEntry)
  const headRow = findOption(Head)

  const begin: AdminAudit["Service"]["begin"] = Effect.fn("AdminAudit.begin")(function* (call) {
    const id = yield* random.uuidV7()
    const now = yield* DateTime.now
    yield* execute(sql`
      insert into audit_log (id, at, action, path, request_id, body)
      values (${id}, ${timestamp(now)}, ${call.action}, ${call.path}, ${call.requestId},
              ${call.body.slice(0, maxBody)})`)
    return id
  })

  const complete: AdminAudit["Service"]["complete"] = Effect.fn("AdminAudit.complete")(
    function* (id, status) {
      yield* execute(sql`insert into audit_outcomes (entry_id, status) values (${id}::uuid, ${status})`)
    }
  )

  const logHead: AdminAudit["Service"]["logHead"] = transaction(sql)(
    Effect.gen(function* () {
      const now = yield* DateTime.now
      // A concurrent call waits for this row and finds nothing new.
      const head = yield* headRow(sql`
          update audit_head set logged = count where logged < count returning count::float8 as count, hash`)
      if (Option.isNone(head)) return
      const { count, hash } = head.value
      yield* execute(sql`
          insert into log_pending (type, entry) values ('admin.audit', ${adminAudit({ count, head: hash, at: now })})`)
    })
  ).pipe(Effect.withSpan("AdminAudit.logHead"))

  const list: AdminAudit["Service"]["list"] = Effect.fn("AdminAudit.list")(function* (page) {
    const { after, toPage, limit } = yield* pages.decode(page)
    const rows = yield* entries(sql`
      select id::text, ${isoTimestamp(sql, "at")} as at, action, path, request_id, body,
             audit_outcomes.status
        from audit_log
        left join audit_outcomes on audit_outcomes.entry_id = audit_log.id
       ${whenGiven(sql, after, (last) => sql`where id < ${last}::uuid`)}
       -- This names the column, since the selected text "id" has no index.
       order by audit_log.id desc
       limit ${limit}`)
    return toPage(rows, (last) => last.id)
  })

  return AdminAudit.of({ begin, complete, logHead, list })
})

export const layer = Layer.effect(AdminAudit, make)
