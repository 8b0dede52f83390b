/** Operators as tests need them. */
import { randomUUID } from "node:crypto"
import { DateTime, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { emailAddressOf } from "../../src/services/domain/emails.ts"
import type { EmailAddress } from "../../src/services/domain/emails.ts"
import { OperatorId } from "../../src/services/domain/ids.ts"

/** The one who owns what some test needs to be owned by anybody. */
const somebody = OperatorId.make("0190f000-0000-7000-8000-00000000000f")

/** Somebody's account, made when it is first asked for. */
export const someOperator = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const now = yield* DateTime.now
  yield* sql`
    insert into operators (id, created_at) values (${somebody}::uuid, ${DateTime.toDateUtc(now)})
    on conflict do nothing`
  return somebody
})

/** One who owns nothing yet. */
export const anotherOperator = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const now = yield* DateTime.now
  const id = OperatorId.make(randomUUID())
  yield* sql`insert into operators (id, created_at) values (${id}::uuid, ${DateTime.toDateUtc(now)})`
  return id
})

/** An address that must be one. */
export const address = (text: string): EmailAddress => {
  const parsed = emailAddressOf(text)
  if (parsed._tag === "None") throw new Error(`${text} is no e-mail address`)
  return parsed.value
}
