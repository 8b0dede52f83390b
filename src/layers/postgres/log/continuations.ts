/** Records the continuations of administrators. A log that has lost signed entries goes on under another name. */
import { DateTime, Effect, Option } from "effect"
import { SqlClient } from "effect/sql"
import { InvalidRequest } from "../../../services/domain/errors.ts"
import { LogLost, LogUnnamed, resumeDelay } from "../../../services/LogSequencer.ts"
import type { Continuation } from "../../../services/LogSequencer.ts"
import { LogSigner } from "../../../services/LogSigner.ts"
import { execute, timestamp, transaction } from "../sql.ts"
import { keyLock } from "./identity.ts"
import { logContinue } from "./entries.ts"
import { originOf } from "./signerState.ts"
import { readLogState } from "./logState.ts"
import type { LogState } from "./logState.ts"
import { isPart } from "./tree.ts"

const lostUnder = (origin: string, { size }: LogState, lost: number) =>
  new LogLost({
    detail: `A checkpoint of ${lost} entries was signed and seen, and the log of ${size} entries does not begin with it: whoever holds it could never be shown that the log ${origin} only grew. Restore a state of the database that has them, or let the log go on under another name (origin).`
  })

/** The fault of a log that was renamed. */
const unaudited = "The log has another name, and goes on once an audit finds nothing wrong."

export const makeContinue = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const signer = yield* LogSigner

  const resume = Effect.fnUntraced(function* (request: {
    readonly reason: string
    readonly origin: Option.Option<string>
  }) {
    const state = yield* Effect.orElseSucceed(signer.state, () => Option.none())
    const known = Option.match(state, { onNone: () => 0, onSome: ({ continuation }) => continuation })
    const changes = Effect.gen(function* () {
      const now = yield* DateTime.now
      yield* execute(sql`select pg_advisory_xact_lock(${keyLock})`)
      // The lock keeps the log from growing, so no checkpoint under its old name gets larger than this size.
      yield* execute(sql`select from log_state for update`)
      const found = yield* readLogState(sql)
      const before = originOf(found)
      if (before === undefined) {
        return yield* new LogUnnamed({
          detail: "The log has not begun: no instance with the role jobs was started."
        })
      }
      const renamed = Option.filter(request.origin, (name) => name !== before)
      if (Option.exists(renamed, (name) => found.names.includes(name))) {
        return yield* InvalidRequest.of("origin", "expected a name that the log has not had before")
      }
      const heads = found.lost.toSorted((one, other) => other.size - one.size)
      const lost = yield* Effect.findFirst(heads, (head) =>
        Effect.map(isPart(sql, head), (isThere) => !isThere)
      )
      if (Option.isSome(lost) && Option.isNone(renamed)) {
        return yield* lostUnder(before, found, lost.value.size)
      }
      const head = Option.getOrNull(lost)
      const continued = {
        number: Math.max(found.continuation?.number ?? 0, known) + 1,
        origin: Option.getOrElse(renamed, () => before),
        size: found.size,
        root: found.root,
        lost_size: head?.size ?? null,
        lost_root: head?.root ?? null,
        reason: request.reason,
        continued_at: now
      }
      yield* execute(sql`
        insert into log_continuations (number, server, origin, size, root, lost_size, lost_root, reason, continued_at)
        values (${continued.number}, ${found.server}, ${continued.origin}, ${BigInt(found.size)}, ${found.root},
                ${head === null ? null : BigInt(head.size)}, ${head?.root ?? null}, ${request.reason}, ${timestamp(now)})`)
      yield* execute(
        sql`insert into log_pending (type, entry) values ('log.continue', ${logContinue(continued)})`
      )
      const fault = Option.isSome(renamed) ? (found.fault ?? unaudited) : found.fault
      if (Option.isSome(renamed)) {
        yield* execute(sql`update log_state set fault = ${fault}`)
        // Witnesses have never seen a log of this name, so they start from size 0.
        yield* execute(sql`
          update log_witnesses set size = 0, due_at = ${timestamp(now)}, failures = 0, failure = null`)
      }
      const continuation: Continuation = {
        number: continued.number,
        origin: continued.origin,
        size: found.size,
        lost_size: continued.lost_size,
        continued_at: DateTime.formatIso(now),
        in_force_at: DateTime.formatIso(DateTime.addDuration(now, resumeDelay)),
        fault
      }
      return continuation
    })
    return yield* transaction(sql)(changes)
  })

  return { resume }
})
