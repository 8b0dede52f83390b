/** Connections whose server processes give way to all others, where that can be had. */
import { Effect, Schema } from "effect"
import { SqlSchema } from "effect/sql"
import type { SqlClient, SqlError } from "effect/sql"
import * as serverPriority from "../node/serverPriority.ts"

/** What a statement tells of the server process that it runs in, by `ownProcess`. */
export const ServerProcess = Schema.Struct({ pid: Schema.Int, clientPort: Schema.NullOr(Schema.Int) })

/** Two columns of any statement. */
export const ownProcess = `pg_backend_pid() as pid, inet_client_port() as "clientPort"`

/**
 * Lowers the priority of a server process. A connection may be a new one at any time, and lowering what is low costs
 * nothing: it is done for each piece of work. Where the priority cannot be lowered it says once whose work is at the usual
 * one.
 */
export const lowering = (whose: string): ((server: typeof ServerProcess.Type) => Effect.Effect<void>) => {
  let isTold = false
  return (server) =>
    Effect.catchTag(serverPriority.lower(server), "PriorityKept", ({ reason }) => {
      if (isTold) return Effect.void
      isTold = true
      return Effect.logInfo(`${whose} runs at the usual priority of PostgreSQL`).pipe(
        Effect.annotateLogs({ reason })
      )
    })
}

/** Lowers the priority of the server process behind the connection that it is run on. */
export const givingWay = (
  client: SqlClient.SqlClient,
  whose: string
): Effect.Effect<void, SqlError.SqlError> => {
  const found = SqlSchema.findOne({
    Request: Schema.Void,
    Result: ServerProcess,
    execute: () => client`select ${client.literal(ownProcess)}`
  })
  return found().pipe(
    Effect.catchTags({ NoSuchElementError: Effect.die, SchemaError: Effect.die }),
    Effect.flatMap(lowering(whose))
  )
}
