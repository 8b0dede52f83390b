/** Connections for settlement and the public log, apart from the pool that serves requests. */
import { Context, Effect, Option, Semaphore } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import type { Pooled } from "./PooledClient.ts"
import { transaction } from "./sql.ts"

export class BackgroundClient extends Context.Service<
  BackgroundClient,
  {
    readonly client: SqlClient.SqlClient
    /** True while all its connections are in use. */
    readonly isBusy: Effect.Effect<boolean>
    /**
     * Runs a transaction that may take minutes. All statements of the ordinary client within it are part of it, and no other
     * transaction may begin within it. Within a transaction of the ordinary client it joins that one.
     */
    readonly transaction: <A, E, R>(
      work: Effect.Effect<A, E, R>
    ) => Effect.Effect<A, Exclude<E, SqlError.SqlError>, R>
  }
>()("auspex/layers/postgres/BackgroundClient") {}

/** Makes the background client with this many connections beside the ordinary ones. */
export const make = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  { client, isBusy }: Pooled,
  connections: number
) {
  /** Long transactions take turns, so that one connection stays free for the log. */
  const turns = yield* Semaphore.make(connections - 1)

  const own = <A, E, R>(work: Effect.Effect<A, E, R>) =>
    Effect.flatMap(Effect.serviceOption(client.transactionService), (current) =>
      Effect.provideService(work, sql.transactionService, Option.getOrThrow(current))
    )

  return BackgroundClient.of({
    client,
    isBusy,
    transaction: (work) =>
      Effect.flatMap(Effect.serviceOption(sql.transactionService), (outer) =>
        Option.isSome(outer) ? transaction(sql)(work) : turns.withPermit(transaction(client)(own(work)))
      )
  })
})
