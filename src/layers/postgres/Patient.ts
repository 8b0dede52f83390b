/** Long work in the database that users must not notice: on connections of its own, at a low priority where that can be had. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Option, Schema } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient, SqlSchema } from "effect/sql"
import type { SqlError } from "effect/sql"
import * as serverPriority from "../node/serverPriority.ts"

export class Patient extends Context.Service<
  Patient,
  {
    /**
     * A transaction that may take minutes. All statements of the ordinary client within it are of it; no other
     * transaction may be begun within it. Within a transaction of the ordinary client it is part of that one.
     */
    readonly transaction: <A, E, R>(
      work: Effect.Effect<A, E, R>
    ) => Effect.Effect<A, E | SqlError.SqlError, R>
  }
>()("auspex/layers/postgres/Patient") {}

/** Settlements take turns, so more would only wait. */
const connections = 2

const ServerProcess = Schema.Struct({ pid: Schema.Int, clientPort: Schema.NullOr(Schema.Int) })

const make = Effect.fnUntraced(function* (connection: PgClient.PgPoolConfig) {
  const sql = yield* SqlClient.SqlClient
  const client = yield* PgClient.make({ ...connection, maxConnections: connections })
  let isTold = false

  const ownProcess = SqlSchema.findOne({
    Request: Schema.Void,
    Result: ServerProcess,
    execute: () => client`select pg_backend_pid() as pid, inet_client_port() as "clientPort"`
  })

  /** At each transaction: a connection may be a new one, and lowering what is low costs nothing. */
  const giveWay = ownProcess().pipe(
    Effect.flatMap(serverPriority.lower),
    Effect.catchTags({
      NoSuchElementError: Effect.die,
      SchemaError: Effect.die,
      PriorityKept: ({ reason }) => {
        if (isTold) return Effect.void
        isTold = true
        return Effect.logInfo("settlements run at the usual priority of PostgreSQL").pipe(
          Effect.annotateLogs({ reason })
        )
      }
    })
  )

  return Patient.of({
    transaction: (work) =>
      Effect.flatMap(Effect.serviceOption(sql.transactionService), (outer) =>
        Option.isSome(outer)
          ? sql.withTransaction(work)
          : client.withTransaction(
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
