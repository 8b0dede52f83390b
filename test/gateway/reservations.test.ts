/** Reservations of the gateway are found by their keys, whatever PostgreSQL knew about their table when it made its plan. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { spender } from "../support/gateway.ts"
import { testServices } from "../support/services.ts"
import { asOwner, countOf } from "../support/database.ts"

const insert = (key: string, agent: string, from: number, to: number) =>
  SqlClient.SqlClient.use(
    (sql) => sql`
      insert into gateway_reservations (call_id, key_id, agent_id, request_id, model, style, stream, amount, created_at, alive_at)
      select ('0190fd00-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, ${key}::uuid, ${agent}::uuid, 'r', 'm', 'openai',
             false, 1, to_timestamp(0), to_timestamp(0)
        from generate_series(${from}::int, ${to}::int) as n`
  )

const end = (call: number) =>
  countOf(
    (sql) => sql`
      select count(*)::int as count
        from close_reservations(array[('0190fd00-0000-7000-8000-' || lpad(${call}::text, 12, '0'))::uuid])`
  )

/** The number in this transaction so far. */
const readFromEndToEnd = countOf(
  (sql) => sql`
    select seq_tup_read::int as count from pg_stat_xact_user_tables where relname = 'gateway_reservations'`
)

layer(testServices())("Ending a reservation", (it) => {
  it.effect("The end of a reservation reads no other one, even if its plan was made without rows", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { agentId, keyId } = yield* spender(0)
      yield* asOwner(sql`analyze gateway_reservations`)
      const { ended, read } = yield* sql.withTransaction(
        Effect.gen(function* () {
          const before = yield* end(1)
          yield* insert(keyId, agentId, 1, 5000)
          return { ended: [before, yield* end(7), yield* end(4321)], read: yield* readFromEndToEnd }
        })
      )
      assert.deepStrictEqual(ended, [0, 1, 1])
      assert.strictEqual(read, 0)
    })
  )
})
