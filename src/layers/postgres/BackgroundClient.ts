/** Two connections for settlement and the public log, apart from the pool that serves requests. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Option, Semaphore } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql"
import { transaction } from "./sql.ts"

export class BackgroundClient extends Context.Service<
  BackgroundClient,
  {
    readonly client: SqlClient.SqlClient
    /**
     * A transaction that may take minutes. All statements of the ordinary client within it are part of it; no other
     * transaction may be begun within it. Begun within a transaction of the ordinary client it is part of that one.
     */
    readonly transaction: <A, E, R>(
      work: Effect.Effect<A, E, R>
    ) => Effect.Effect<A, Exclude<E, SqlError.SqlError>, R>
  }
>()("auspex/layers/postgres/BackgroundClient") {}

const connections = 2

const make = Effect.fnUntraced(function* (connection: PgClient.PgPoolConfig) {
  const sql = yield* SqlClient.SqlClient
  const client = yield* PgClient.make({ ...connection, maxConnections: connections })
  /** Long transactions take turns, so that one connection stays free for the log. */
  const turns = yield* Semaphore.make(connections - 1)

  const own = <A, E, R>(work: Effect.Effect<A, E, R>) =>
    Effect.flatMap(Effect.serviceOption(client.transactionService), (current) =>
      Effect.provideService(work, sql.transactionService, Option.getOrThrow(current))
    )

  return BackgroundClient.of({
    client,
    transaction: (work) =>
      Effect.flatMap(Effect.serviceOption(sql.transactionService), (outer) =>
        Option.isSome(outer) ? transaction(sql)(work) : turns.withPermit(transaction(client)(own(work)))
      )
  })
})

/** The background client beside the ordinary one. */
export const layer = (connection: PgClient.PgPoolConfig) =>
  Layer.effect(BackgroundClient, make(connection)).pipe(Layer.provide(Reactivity.layer))
