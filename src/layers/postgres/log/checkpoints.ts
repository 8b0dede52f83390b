/** Signs checkpoints, and checks the log before. */
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
import { examine, originOf, publishedIn } from "./memory.ts"
import type { makeMemory } from "./memory.ts"
import { namesOf, serverOf, standingOf } from "./standing.ts"
import { LogFault } from "./tree.ts"

/** The age from which checkpoints are thinned out. */
const age = Duration.days(1)

const sameBytes = (one: Uint8Array, other: Uint8Array) => Buffer.compare(one, other) === 0

export const makeCheckpoints = Effect.fnUntraced(function* (memory: Effect.Success<typeof makeMemory>) {
  const sql = yield* SqlClient.SqlClient
  const { client: background } = yield* BackgroundClient
  const signer = yield* LogSigner
  const settings = yield* Settings
  const keptRow = findOption(Schema.Struct({ is_kept: Schema.Boolean }))
  const storedRow = findOption(Schema.Struct({ size: Schema.Int }))
  /** The name that the log was found to have. */
  const known = yield* Ref.make(Option.none<string>())

  /** Names the log if it has no name yet. Once it has, nothing is read. */
  const named = Effect.gen(function* () {
    const before = yield* Ref.get(known)
    if (Option.isSome(before)) return before.value
    const name = yield* introduce(sql, yield* signer.keys, settings.logOrigin)
    yield* Ref.set(known, Option.some(name))
    return name
  })

  /** The log as it stands, if this instance may sign it. */
  const signable = Effect.fnUntraced(
    function* (standing: typeof memory.keep) {
      const name = yield* named
      const found = yield* standing
      if (found.fault !== null) return yield* new LogFault({ message: found.fault })
      const keys = yield* signer.keys
      // Under a new name the key has a new one, too.
      const origin = originOf(found) ?? name
      if (origin !== name) yield* introduce(sql, keys, settings.logOrigin)
      const { newest_key } = origin === name ? found : yield* standingOf(sql)
      yield* requireNewest(sql, keys, { origin, newest: newest_key })
      yield* Ref.set(known, Option.some(origin))
      return { found, origin }
    },
    Effect.tapError(() => Ref.set(known, Option.none()))
  )

  /** Others are asked by the first pass, so that a start does not wait for them. */
  const verify = Effect.asVoid(signable(memory.lookAlone))

  /**
   * The log again, once it is where commits are kept: on the disk, and on a synchronous standby where there is one. A row
   * is seen before that when the wait for the standby is broken off. The message that is written after all that was read
   * has its commit wait, whatever a role or database has `synchronous_commit` set to. (`remote_apply` waits for more.)
   */
  const durable = Effect.fnUntraced(function* (seen: ReadonlyArray<Checkpoint>) {
    yield* execute(background`
      select set_config('synchronous_commit', 'on', true)
       where current_setting('synchronous_commit') <> 'remote_apply'`)
    const found = yield* standingOf(background)
    if (found.fault !== null) return yield* new LogFault({ message: found.fault })
    yield* examine(background, found, seen)
    yield* execute(
      background`select pg_logical_emit_message(true, 'auspex', 'the log is signed up to here')::text`
    )
    return found
  }, transaction(background))

  /** Signs the current tree, or fails by what forbids it. */
  const publish = Effect.gen(function* () {
    const { found: first, origin } = yield* signable(memory.keep)
    const isPublished = Option.exists(
      publishedIn(first),
      ({ root, size }) => size === first.size && sameBytes(root, first.root)
    )
    if (first.size === 0 || isPublished || first.size <= first.renamed_at) return
    const seen = yield* memory.remembered
    const found = yield* durable(Option.toArray(seen))
    if (found.server !== first.server || originOf(found) !== origin) return
    const head = { origin, size: found.size, root: found.root }
    const text = checkpointText(head)
    const keys = yield* signer.keys
    const note = `${text}
${keys.sign(origin, text)}`
    const now = yield* DateTime.now
    /** Shown to nobody where a larger one is there, or where anything is not as it was when the tree was read. */
    const stored = storedRow(sql`
      insert into log_checkpoints (size, root, note, signed_at)
      select ${BigInt(head.size)}::int8, ${head.root}, ${note}, ${timestamp(now)}
       where not exists (select 1 from log_checkpoints where size > ${BigInt(head.size)})
         and exists (select 1 from log_state where fault is null)
         and ${origin} = (select origin from ${namesOf(sql)} n order by number desc limit 1)
         and ${found.server} = ${serverOf(sql)}
      on conflict do nothing
      returning size::float8 as size`)
    const remember = Option.match({
      onNone: () => Effect.void,
      onSome: () => memory.rememberSigned({ ...head, note })
    })
    if (found.checkpoint === null && Option.isNone(seen)) {
      // The first checkpoint is stored first: in the file alone, after a crash, it would look like one that was deleted.
      return yield* Effect.uninterruptible(Effect.flatMap(stored, remember))
    }
    // It is published once it is in the file. The file alone has it only if this commit fails.
    yield* transaction(sql)(Effect.flatMap(stored, remember))
  })

  const seen = Effect.gen(function* () {
    const head = yield* memory.remembered
    if (Option.isNone(head)) return Option.none<Seen>()
    const { origin, size } = head.value
    // What was seen of another log, or under an earlier name, is not of this one.
    const kept = yield* keptRow(sql`
      select exists (select from log_checkpoints where size >= ${BigInt(size)}::int8) as is_kept
        from ${namesOf(sql)} n
       where origin = ${origin} and number = (select max(number) from ${namesOf(sql)} m)`)
    return Option.map(kept, ({ is_kept }): Seen => ({ ...head.value, isKept: is_kept }))
  })

  /**
   * Thins out checkpoints older than a day to one an hour: one with a time stamp if there is one, else one with
   * cosignatures, else the first. It also keeps the newest, the newest with cosignatures, and all with time stamps.
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
