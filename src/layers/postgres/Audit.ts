import { DateTime, Effect, Layer, Option } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { Audit, AuditEntry } from "../../services/Audit.ts"
import { Cursors, cutPage, invalidCursor } from "../../services/paging.ts"
import { at, many, run } from "./query.ts"
import { iso } from "./wire.ts"

const longestBody = 4000

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const idCursor = (yield* Cursors).ids("audit")
  const random = yield* SecureRandom.SecureRandom
  const entries = many(AuditEntry)

  const record: Audit["Service"]["record"] = Effect.fn("Audit.record")(function* (entry) {
    const id = yield* random.uuidV7()
    const now = yield* DateTime.now
    yield* run(sql`
      insert into audit_log (id, at, action, path, request_id, body, status)
      values (${id}, ${at(now)}, ${entry.action}, ${entry.path}, ${entry.requestId},
              ${entry.body.slice(0, longestBody)}, ${entry.status})`)
  })

  const list: Audit["Service"]["list"] = Effect.fn("Audit.list")(function* (page) {
    const after = Option.getOrNull(idCursor.decode(page.cursor))
    if (after === null) return yield* invalidCursor()
    const rows = yield* entries(sql`
      select id::text, ${iso(sql, "at")} as at, action, path, request_id, body, status
        from audit_log
       ${after === undefined ? sql`` : sql`where id < ${after}::uuid`}
       -- By the column: "id" alone would be the text that is selected, which no index has.
       order by audit_log.id desc
       limit ${page.limit + 1}`)
    return cutPage(rows, page.limit, (last) => idCursor.encode(last.id))
  })

  return Audit.of({ record, list })
})

export const layer = Layer.effect(Audit, make)
