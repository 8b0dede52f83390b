/**
 * The connection on which entries get their place in the log. It is one of its own because it gives way: a pass comes once
 * a second or oftener and writes for a thousand predictions, and those that are being made meanwhile must not wait for it.
 */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer } from "effect"
import { Reactivity } from "effect/reactivity"
import type { SqlClient, SqlError } from "effect/sql"
import { givingWay } from "../givingWay.ts"

export class LogConnection extends Context.Service<
  LogConnection,
  {
    readonly client: SqlClient.SqlClient
    /** Before a pass: its server process gives way from then on. */
    readonly giveWay: Effect.Effect<void, SqlError.SqlError>
  }
>()("auspex/layers/postgres/LogConnection") {}

const parameters = {
  /** Where everybody wants the processors, a pass that gives way may take much longer than it does by itself. */
  statement_timeout: "30000",
  /**
   * What waits is found by its key: a plan that was made while there were few predictions, and is kept, would read all of
   * them at each pass. What has no index, as the one row of the state, is read whole all the same.
   */
  enable_seqscan: "off"
}

/** Beside the ordinary client of the same database. */
export const layer = (connection: PgClient.PgPoolConfig) =>
  Layer.effect(
    LogConnection,
    Effect.map(
      PgClient.make({
        ...connection,
        maxConnections: 1,
        startupParameters: { ...connection.startupParameters, ...parameters }
      }),
      (client) => LogConnection.of({ client, giveWay: givingWay(client, "the public log") })
    )
  ).pipe(Layer.provide(Reactivity.layer))
