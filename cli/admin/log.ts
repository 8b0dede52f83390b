/** The public log: the audit that compares it with the database, and the continuation that lets it go on. */
import { Clock, Console, Effect, Option, Schedule } from "effect"
import { Command, Flag } from "effect/cli"
import { CommandFailed } from "../client/connection.ts"
import { printable, record } from "../client/table.ts"
import { Session } from "./session.ts"

/** Progress goes to stderr, so that stdout has only the result. */
const progress = Effect.gen(function* () {
  const begun = yield* Clock.currentTimeMillis
  const report = Effect.gen(function* () {
    const seconds = Math.round(((yield* Clock.currentTimeMillis) - begun) / 1000)
    yield* Console.error(`comparing: ${seconds} s so far (a million entries take one to two minutes)`)
  })
  yield* Effect.sleep("5 seconds")
  yield* Effect.repeat(report, Schedule.spaced("10 seconds"))
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
).pipe(Command.withDescription("Compare the whole log with the database; exits with 1 if something differs"))

const continueLog = Command.make(
  "continue",
  {
    reason: Flag.String("reason").pipe(
      Flag.withDescription("The reason, for the audit log; the public log has its hash")
    ),
    origin: Flag.String("origin").pipe(
      Flag.withDescription("Another name for the log, if signed entries are lost for good"),
      Flag.optional
    )
  },
  Effect.fn("log.continue")(function* ({ origin, reason }) {
    const session = yield* Session
    const client = yield* session.administrator
    const continuation = yield* client.admin.continueLog({
      payload: {
        reason,
        ...Option.match(origin, { onNone: () => ({}), onSome: (name) => ({ origin: name }) })
      }
    })
    yield* session.show(continuation, ({ fault, in_force_at, lost_size, number, origin: name, size }) =>
      [
        record([
          ["continuation", number],
          ["name of the log", name],
          ["entries", size],
          ...(lost_size === null ? [] : ([["largest lost checkpoint", lost_size]] as const)),
          ["in force from", in_force_at]
        ]),
        ...(fault === null
          ? []
          : [`The log goes on once an audit (log audit) finds nothing wrong: ${printable(fault)}`])
      ].join("\n")
    )
  })
).pipe(
  Command.withDescription(
    "Let the log go on after a failover or a restore, or on a new instance: declares that nobody was shown a newer checkpoint than the log's"
  )
)

export const log = Command.make("log").pipe(
  Command.withSubcommands([auditLog, continueLog]),
  Command.withDescription("The public log of the track record")
)
