/** Notifications of PostgreSQL to this instance (`listen`), by a separate connection. A pooler may lose notifications. */
import { Context, Effect, Queue } from "effect"
import type { Scope } from "effect"
import type { SqlError } from "effect/sql"
import type { Connect } from "./connection.ts"

export class Notifications extends Context.Service<
  Notifications,
  {
    /** Listens to a channel. The inner effect waits for a notification since its last run, and fails when the connection ends. */
    readonly listen: (
      channel: string
    ) => Effect.Effect<Effect.Effect<void, SqlError.SqlError>, SqlError.SqlError, Scope.Scope>
  }
>()("auspex/layers/postgres/Notifications") {}

export const make = (connect: Connect) =>
  Notifications.of({
    listen: (channel) =>
      connect.pipe(
        Effect.flatMap(({ connection, socket }) =>
          Effect.tap(connection.listen(channel), () =>
            // The socket is destroyed, since a silent server would not answer a regular end.
            Effect.addFinalizer(() => Effect.sync(() => socket.destroy()))
          )
        ),
        Effect.map((notified) => Effect.asVoid(Queue.takeAll(notified)))
      )
  })
