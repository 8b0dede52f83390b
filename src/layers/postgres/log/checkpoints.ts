/** Checks the log, then signs and publishes a checkpoint of it. */
import { DateTime, Duration, Effect, Option, Ref, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { Seen } from "../../../services/LogSequencer.ts"
import { LogSigner } from "../../../services/LogSigner.ts"
import type { Checkpoint } from "../../../services/LogSigner.ts"
import { Settings } from "../../../services/Settings.ts"
import { BackgroundClient } from "../BackgroundClient.ts"
import { boundTime, execute, findOption, timestamp, transaction } from "../sql.ts"
import { checkpointText } from "../../crypto/signedNote.ts"
import { introduce, requireNewest } from "./identity.ts"
import { examine, originOf, publishedIn } from "./signerState.ts"
import type { makeSignerState } from "./signerState.ts"
import { namesOf, serverOf, readLogState } from "./logState.ts"
import { LogFault } from "./tree.ts"

/** The age from which checkpoints are thinned out. */
const age = Duration.days(1)

const sameBytes = (one: Uint8Array, other: Uint8Array) => Buffer.compare(one, other) === 0

export const makeCheckpoints = Effect.fnUntraced(function* (
  signerState: Effect.Success<typeof makeSignerState>
) {
  const sql = yield* SqlClient.SqlClient
  const { client: background } = yield* BackgroundClient
  const signer = yield* LogSigner
  const settings = yield* Settings
  const keptRow = findOption(Schema.Struct({ is_kept: Schema.Boolean }))
  const storedRow = findOption(Schema.Struct({ size: Schema.Int }))
  /** The log's name, once it has been read. */
  const known = yield* Ref.make(Option.none<string>())

  /** The log's name. Names the log if it has none; a known name is not read again. */
  const named = Effect.gen(function* () {
    const before = yield* Ref.get(known)
    if (Option.isSome(before)) return before.value
    const name = yield* introduce(sql, yield* signer.keys, settings.logOrigin)
    yield* Ref.set(known, Option.some(name))
    return name
  })

  /** The log as it stands, if this instance may sign it. */
  const signable = Effect.fnUntraced(
    function* (authorized: typeof signerState.authorize) {
      const name = yield* named
      const found = yield* authorized
      if (found.fault !== null) return yield* new LogFault({ message: found.fault })
      const keys = yield* signer.keys
      // A verifier key contains the log's name, so a renamed log has a new key.
      const origin = originOf(found) ?? name
      if (origin !== name) yield* introduce(sql, keys, settings.logOrigin)
      const { newest_key } = origin === name ? found : yield* readLogState(sql)
      yield* requireNewest(sql, keys, { origin, newest: newest_key })
      yield* Ref.set(known, Option.some(origin))
      return { found, origin }
    },
    Effect.tapError(() => Ref.set(known, Option.none()))
  )

  /** A start does not wait for observers: the first pass asks them. */
  const verify = Effect.asVoid(signable(signerState.authorizeAlone))

  /**
   * Reads the log again and waits until all that it read is durable: on disk, and on a synchronous standby if there is one.
   * A row whose wait for the standby was cancelled is visible earlier than that. The message written after the reads makes
   * this commit wait, whatever `synchronous_commit` a role or database sets. (`remote_apply` waits for more.)
   */
  const durable = Effect.fnUntraced(function* (seen: ReadonlyArray<Checkpoint>) {
    yield* execute(background`
      select set_config('synchronous_commit', 'on', true)
       where current_setting('synchronous_commit') <> 'remote_apply'`)
    const found = yield* readLogState(background)
    if (found.fault !== null) return yield* new LogFault({ message: found.fault })
    yield* examine(background, found, seen)
    yield* execute(
      background`select pg_logical_emit_message(true, 'auspex', 'the log is signed up to here')::text`
    )
    return found
  }, transaction(background))

  /** Signs the current tree, or fails with the reason that forbids it. */
  const publish = Effect.gen(function* () {
    const { found: first, origin } = yield* signable(signerState.authorize)
    const isPublished = Option.exists(
      publishedIn(first),
      ({ root, size }) => size === first.size && sameBytes(root, first.root)
    )
    if (first.size === 0 || isPublished || first.size <= first.renamed_at) return
    const seen = yield* signerState.ownCheckpoint
    const found = yield* durable(Option.toArray(seen))
    if (found.server !== first.server || originOf(found) !== origin) return
    const head = { origin, size: found.size, root: found.root }
    const text = checkpointText(head)
    const keys = yield* signer.keys
    const note = `${text}
${keys.sign(origin, text)}`
    const now = yield* DateTime.now
    /** Publishes the checkpoint unless a larger one exists or fault, name or server have changed since the tree was read. */
    const stored = storedRow(sql`
      insert into log_checkpoints (size, root, note, signed_at)
      select ${BigInt(head.size)}::int8, ${head.root}, ${note}, ${timestamp(now)}
       where not exists (select 1 from log_checkpoints where size > ${BigInt(head.size)})
         and exists (select 1 from log_state where fault is null)
         and ${origin} = (select origin from ${namesOf(sql)} n order by number desc limit 1)
         and ${found.server} = ${serverOf(sql)}
      on conflict do nothing
      returning size::float8 as size`)
    const recordSigned = Option.match({
      onNone: () => Effect.void,
      onSome: () => signerState.recordSigned({ ...head, note })
    })
    if (found.checkpoint === null && Option.isNone(seen)) {
      // The first checkpoint goes to the database first: after a crash, one in the file alone would look like a deleted one.
      return yield* Effect.uninterruptible(Effect.flatMap(stored, recordSigned))
    }
    // The transaction commits, and so publishes, after the file has the checkpoint; if the commit fails, only the file has it.
    yield* transaction(sql)(Effect.flatMap(stored, recordSigned))
  })

  const seen = Effect.gen(function* () {
    const head = yield* signerState.ownCheckpoint
    if (Option.isNone(head)) return Option.none<Seen>()
    const { origin, size } = head.value
    // A checkpoint of another log, or of an earlier name of this one, does not count.
    const kept = yield* keptRow(sql`
      select exists (select from log_checkpoints where size >= ${BigInt(size)}::int8) as is_kept
        from ${namesOf(sql)} n
       where origin = ${origin} and number = (select max(number) from ${namesOf(sql)} m)`)
    return Option.map(kept, ({ is_kept }): Seen => ({ ...head.value, isKept: is_kept }))
  })

  /**
   * Thins out checkpoints older than a day to one an hour: one with a time stamp if there is one, else one with
   * cosignatures, else the first. The newest, the newest with cosignatures and all with time stamps stay as well.
   */
  const trim = Effect.gen(function* () {
    const now = yield* DateTime.now
    yield* execute(sql`
      with old as (
        select c.size,
               row_number() over (
                 partition by date_trunc('hour', c.signed_at, 'UTC')
                 order by c.time_stamp is null, w.size is null, c.size) as place
          from log_checkpoints c
          left join (select distinct size from log_cosignatures) w on w.size = c.size
         where c.signed_at < date_trunc('hour', ${boundTime(sql, now, age)}, 'UTC')
      )
      delete from log_checkpoints c using old
       where c.size = old.size and old.place > 1
         and c.time_stamp is null
         and c.size < (select max(size) from log_checkpoints)
         and c.size is distinct from (select max(size) from log_cosignatures)`)
  })

  return { publish, seen, trim, verify }
})
