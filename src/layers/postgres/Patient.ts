/** Long work in the database that users must not notice: on connections of its own, at a low priority where that can be had. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Option } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql"
import { givingWay } from "./givingWay.ts"
import { transaction } from "./query.ts"

export class Patient extends Context.Service<
  Patient,
  {
    /**
     * A transaction that may take minutes. All statements of the ordinary client within it are of it; no other
     * transaction may be begun within it. Within a transaction of the ordinary client it is part of that one.
     */
    readonly transaction: <A, E, R>(
      work: Effect.Effect<A, E, R>
    ) => Effect.Effect<A, Exclude<E, SqlError.SqlError>, R>
  }
>()("auspex/layers/postgres/Patient") {}

/** Settlements take turns, so more would only wait. */
const connections = 2

const make = Effect.fnUntraced(function* (connection: PgClient.PgPoolConfig) {
  const sql = yield* SqlClient.SqlClient
  const client = yield* PgClient.make({ ...connection, maxConnections: connections })
  const giveWay = givingWay(client, "settlement")

  return Patient.of({
    transaction: (work) =>
      Effect.flatMap(Effect.serviceOption(sql.transactionService), (outer) =>
        Option.isSome(outer)
          ? transaction(sql)(work)
          : transaction(client)(
              Effect.flatMap(Effect.serviceOption(client.transactionService), (own) =>
                Effect.andThen(
                  giveWay,
                  Effect.provideService(work, sql.transactionService, Option.getOrThrow(own))
                )
              )
            )
      )
  })
})

/** Beside the ordinary client of the same database. */
export const layer = (connection: PgClient.PgPoolConfig) =>
  Layer.effect(Patient, make(connection)).pipe(Layer.provide(Reactivity.layer))
