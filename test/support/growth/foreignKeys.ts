/** Foreign keys are looked up row by row when rows are written, and by one join when they are added. */
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"

const ForeignKeys = Schema.Array(
  Schema.Struct({ table: Schema.String, name: Schema.String, definition: Schema.String })
)

/** Writes rows without foreign keys, then adds them again, all of them checked. */
export const checkedAtTheEnd = <A, E, R>(
  writing: Effect.Effect<A, E, R>,
  adding: <B, F, S>(effect: Effect.Effect<B, F, S>) => Effect.Effect<void, F, S>
) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const keys = yield* Schema.decodeUnknownEffect(ForeignKeys)(
      yield* sql`
        select conrelid::regclass::text as table, conname as name, pg_get_constraintdef(oid) as definition
          from pg_constraint where contype = 'f' and connamespace = 'public'::regnamespace
         order by conrelid::regclass::text, conname`
    )
    yield* Effect.forEach(
      keys,
      ({ name, table }) => sql`alter table ${sql(table)} drop constraint ${sql(name)}`
    )
    yield* writing
    yield* adding(
      Effect.forEach(
        keys,
        ({ definition, name, table }) =>
          sql`alter table ${sql(table)} add constraint ${sql(name)} ${sql.literal(definition)}`
      )
    )
  })
