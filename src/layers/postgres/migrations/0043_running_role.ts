import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { one } from "../query.ts"

/** What triggers do that the role which runs may not do itself, and locks on records that it may not change. */
export const runningRole = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { schema } = yield* one(Schema.Struct({ schema: Schema.String }))(
    sql`select quote_ident(current_schema()) as schema`
  )
  // As the owner of the tables; found where they are, and nowhere that somebody else may write to.
  const asOwner = sql.literal(`security definer set search_path = ${schema}, pg_temp`)

  // Payments of one purchase take turns.
  yield* sql`
    create function purchase_held(purchase uuid) returns setof purchases language sql ${asOwner} as $$
      select * from purchases where id = purchase for no key update
    $$`
  // Decisions about one price take turns.
  yield* sql`
    create function price_held(quarantined uuid) returns setof price_points language sql ${asOwner} as $$
      select p.* from price_points p join price_quarantine q using (source, asset, interval, time)
       where q.id = quarantined and p.revision = 0
         for update of p
    $$`

  for (const name of [
    "account_opened",
    "pool_account_opened",
    "transfers_applied",
    "audit_log_chained",
    "audit_outcomes_chained"
  ]) {
    yield* sql`alter function ${sql(name)}() ${asOwner}`
  }
})
