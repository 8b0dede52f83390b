/** Connections whose server processes give way to all others, where that can be had. */
import { Effect, Schema } from "effect"
import { SqlSchema } from "effect/sql"
import type { SqlClient, SqlError } from "effect/sql"
import * as serverPriority from "../node/serverPriority.ts"

const ServerProcess = Schema.Struct({ pid: Schema.Int, clientPort: Schema.NullOr(Schema.Int) })

/**
 * Lowers the priority of the server process behind the connection that it is run on. A connection may be a new one at any
 * time, and lowering what is low costs nothing: it is run before each piece of work. Where the priority cannot be lowered
 * it says once whose work is at the usual one.
 */
export const givingWay = (
  client: SqlClient.SqlClient,
  whose: string
): Effect.Effect<void, SqlError.SqlError> => {
  let isTold = false
  const ownProcess = SqlSchema.findOne({
    Request: Schema.Void,
    Result: ServerProcess,
    execute: () => client`select pg_backend_pid() as pid, inet_client_port() as "clientPort"`
  })
  return ownProcess().pipe(
    Effect.flatMap(serverPriority.lower),
    Effect.catchTags({
      NoSuchElementError: Effect.die,
      SchemaError: Effect.die,
      PriorityKept: ({ reason }) => {
        if (isTold) return Effect.void
        isTold = true
        return Effect.logInfo(`${whose} runs at the usual priority of PostgreSQL`).pipe(
          Effect.annotateLogs({ reason })
        )
      }
    })
  )
}
