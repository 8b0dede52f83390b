/**
 * The connection on which entries get their place in the log. It is one of its own because it gives way: a pass comes once
 * a second or oftener and writes for a thousand predictions, and those that are being made meanwhile must not wait for it.
 */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer } from "effect"
import { Reactivity } from "effect/reactivity"
import type { SqlClient } from "effect/sql"
import { lowering } from "../givingWay.ts"
import type { ServerProcess } from "../givingWay.ts"

export class LogConnection extends Context.Service<
  LogConnection,
  {
    readonly client: SqlClient.SqlClient
    /** The server process of this connection gives way from then on. */
    readonly giveWay: (server: typeof ServerProcess.Type) => Effect.Effect<void>
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
      (client) => LogConnection.of({ client, giveWay: lowering("the public log") })
    )
  ).pipe(Layer.provide(Reactivity.layer))
