/** The public log: the audit that compares it with what is stored. */
import { Clock, Console, Effect, Schedule } from "effect"
import { Command } from "effect/cli"
import { CommandFailed } from "../client/connection.ts"
import { printable, record } from "../client/table.ts"
import { Session } from "./session.ts"

/** On stderr, so that stdout holds only the result. */
const progress = Effect.gen(function* () {
  const begun = yield* Clock.currentTimeMillis
  const told = Effect.gen(function* () {
    const seconds = Math.round(((yield* Clock.currentTimeMillis) - begun) / 1000)
    yield* Console.error(`comparing: ${seconds} s so far (a million entries take one to two minutes)`)
  })
  yield* Effect.sleep("5 seconds")
  yield* Effect.repeat(told, Schedule.spaced("10 seconds"))
})

const auditLog = Command.make(
  "audit",
  {},
  Effect.fn("log.audit")(function* () {
    const session = yield* Session
    const client = yield* session.administrator
    const report = yield* Effect.raceFirst(client.admin.auditLog(), Effect.andThen(progress, Effect.never))
    yield* session.show(report, (found) =>
      [
        record([
          ["entries", found.entries],
          ["waiting for an index", found.waiting],
          ["checkpoints", found.checkpoints],
          ["challenges", found.challenges],
          ["predictions", found.predictions],
          ["settlements", found.settlements],
          ["scores", found.scores],
          ["agents", found.agents],
          ["seconds", found.seconds.toFixed(1)],
          ["differences", found.difference_count]
        ]),
        ...found.differences.map((difference) => `  ${printable(difference)}`),
        ...(found.difference_count > found.differences.length
          ? [`  and ${found.difference_count - found.differences.length} more`]
          : [])
      ].join("\n")
    )
    if (report.difference_count > 0) {
      return yield* new CommandFailed({
        message:
          "The public log and what is stored differ: see above. The log is not signed any more until an audit finds nothing."
      })
    }
  })
).pipe(
  Command.withDescription(
    "Compare the whole log with everything that is stored; exits with 1 when something differs"
  )
)

export const log = Command.make("log").pipe(
  Command.withSubcommands([auditLog]),
  Command.withDescription("The public log of the track record")
)
