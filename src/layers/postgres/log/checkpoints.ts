/**
 * Signs checkpoints, and checks the log before. The log's name and keys are kept in the database, so that no setting
 * changes them by accident.
 */
import { DateTime, Duration, Effect, Option, Ref, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { Signed } from "../../../services/LogSequencer.ts"
import { LogSigner, SignerUnusable } from "../../../services/LogSigner.ts"
import type { LogKeys, TreeHead } from "../../../services/LogSigner.ts"
import { Settings } from "../../../services/Settings.ts"
import { BackgroundClient } from "../BackgroundClient.ts"
import { execute, findOne, findOption, orDie, timestamp, transaction } from "../sql.ts"
import { keyRotate } from "./entries.ts"
import { checkpointText } from "../../crypto/signedNote.ts"
import { brokenTree, LogFault, requireTrees } from "./tree.ts"

/** The advisory lock for naming the log and changing its key; any fixed number. */
const keyLock = 4_280_771_003n

const Origin = Schema.Struct({ origin: Schema.String })
const Named = Schema.Struct({ origin: Schema.String, newest: Schema.NullOr(Schema.String) })
const Key = Schema.Struct({ number: Schema.Int, verifier_key: Schema.String })

const refusal = (own: string, newest: string) =>
  new SignerUnusable({
    message: `The log is signed with the key ${newest}, this instance has ${own}: give it the same AUSPEX_LOG_KEY, or, to change the key, set the old one as AUSPEX_LOG_KEY_PREVIOUS.`
  })

const replacedRefusal = (own: string, newest: string) =>
  new SignerUnusable({
    message: `The log is signed with the key ${newest}, which replaced ${own}, the key of this instance: a key that was replaced does not come back. Give this instance the newer key as AUSPEX_LOG_KEY.`
  })

/** The newest key, if this instance has it. */
const requireNewest = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  keys: LogKeys,
  { newest, origin }: { readonly origin: string; readonly newest: string }
) {
  const own = keys.verifierKey(origin)
  if (own === newest) return
  const [known] = yield* orDie(sql`select 1 from log_keys where verifier_key = ${own}`)
  return yield* known === undefined ? refusal(own, newest) : replacedRefusal(own, newest)
})

/**
 * The log's origin. The first start fixes it and the first key. A start with a new key beside the current one changes the
 * key, which is an entry of the log.
 */
const introduce = Effect.fn("LogSequencer.introduce")(function* (
  sql: SqlClient.SqlClient,
  keys: LogKeys,
  proposed: string
) {
  const now = yield* DateTime.now
  const named = yield* findOption(Named)(sql`
    select origin, (select verifier_key from log_keys order by number desc limit 1) as newest from log_identity`)
  // Most starts change nothing.
  const isSettled = ({ newest, origin }: typeof Named.Type) =>
    newest !== null && !Option.contains(keys.previousVerifierKey(origin), newest)
  if (Option.exists(named, isSettled)) return Option.getOrThrow(named).origin
  const originRow = findOne(Origin)
  const keyRow = findOption(Key)
  const changes = Effect.gen(function* () {
    yield* execute(sql`select pg_advisory_xact_lock(${keyLock})`)
    yield* execute(sql`
      insert into log_identity (origin, created_at) values (${proposed}, ${timestamp(now)}) on conflict do nothing`)
    const { origin } = yield* originRow(sql`select origin from log_identity`)
    const newest = yield* keyRow(sql`
      select number, verifier_key from log_keys order by number desc limit 1`)
    const own = keys.verifierKey(origin)
    const add = (number: number) =>
      execute(sql`
        insert into log_keys (number, verifier_key, added_at) values (${number}, ${own}, ${timestamp(now)})`)
    if (Option.isNone(newest)) {
      yield* add(1)
      return origin
    }
    const { number, verifier_key } = newest.value
    const replaces = Option.contains(keys.previousVerifierKey(origin), verifier_key)
    const [known] = yield* orDie(sql`select 1 from log_keys where verifier_key = ${own}`)
    // A replaced key never signs again: readers trust the newest.
    if (replaces && known === undefined) {
      yield* add(number + 1)
      yield* execute(sql`
        insert into log_pending (type, entry) values ('key.rotate', ${keyRotate({ old: verifier_key, new: own })})`)
    }
    return origin
  })
  return yield* transaction(sql)(changes)
})

const Heads = Schema.Struct({
  size: Schema.Int,
  root: Schema.Uint8Array,
  fault: Schema.NullOr(Schema.String),
  newest_key: Schema.String,
  published_size: Schema.NullOr(Schema.Int),
  published_root: Schema.NullOr(Schema.Uint8Array)
})
type Heads = typeof Heads.Type

const sameBytes = (one: Uint8Array, other: Uint8Array) => Buffer.compare(one, other) === 0

/** The age from which checkpoints are thinned out. */
const memory = Duration.days(1)

export const makeCheckpoints = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { client: background } = yield* BackgroundClient
  const signer = yield* LogSigner
  const settings = yield* Settings
  const headsRow = findOne(Heads)
  const keptRow = findOption(Schema.Struct({ is_kept: Schema.Boolean }))
  /** Present once the log was found in order. */
  const origin = yield* Ref.make(Option.none<string>())

  const heads = headsRow(sql`
    select s.size::float8 as size, s.root, s.fault,
           (select verifier_key from log_keys order by number desc limit 1) as newest_key,
           c.size::float8 as published_size, c.root as published_root
      from log_state s
      left join lateral (select size, root from log_checkpoints order by size desc limit 1) c on true`)

  /** Compares the stored tree with itself and with all that was signed, as far as the database and this instance know. */
  const examine = Effect.fnUntraced(function* (
    found: Heads,
    { origin, signed }: { readonly origin: string; readonly signed: Option.Option<TreeHead> }
  ) {
    const { published_root, published_size, root, size } = found
    if (Option.isSome(signed)) {
      if (signed.value.origin !== origin) {
        return yield* new SignerUnusable({
          message: `This data directory belongs to the log ${signed.value.origin}, the database to ${origin}: each needs one of its own.`
        })
      }
    }
    const published = Option.map(Option.fromNullishOr(published_root), (root) => ({
      size: published_size ?? 0,
      root
    }))
    const isSigned = Option.exists(published, (head) =>
      Option.exists(signed, (last) => last.size === head.size && sameBytes(last.root, head.root))
    )
    // The log must begin with the tree that was signed.
    const heads = [...Option.toArray(signed), ...(isSigned ? [] : Option.toArray(published))]
    const gone = heads.find((head) => head.size > size)
    if (gone !== undefined) {
      return yield* new LogFault({
        message: `The log has ${size} entries, but ${gone.size} were signed: an older state of the database was restored, or entries are gone.`
      })
    }
    // The newest checkpoint is never deleted; a new one would hide that.
    if (Option.isSome(signed) && Option.isNone(published)) {
      return yield* new LogFault({
        message: `${signed.value.size} entries were signed, and no checkpoint is kept: all of them are gone.`
      })
    }
    yield* requireTrees(background, [
      ...heads.map((head) => ({
        ...head,
        otherwise: `The first ${head.size} entries of the log do not have the root that was signed for them.`
      })),
      { size, root, otherwise: brokenTree(size) }
    ])
  })

  /** Names the log if it has no name yet, and examines it. Once it is in order, only the origin is read. */
  const verify = Effect.gen(function* () {
    const verified = yield* Ref.get(origin)
    if (Option.isSome(verified)) return verified.value
    const keys = yield* signer.keys
    const name = yield* introduce(sql, keys, settings.logOrigin)
    // Read before the heads: another process with this directory may be signing, and the log is never behind what was
    // signed earlier.
    const signed = yield* signer.lastSigned
    const found = yield* heads
    if (found.fault !== null) return yield* new LogFault({ message: found.fault })
    yield* requireNewest(sql, keys, { origin: name, newest: found.newest_key })
    yield* examine(found, { origin: name, signed })
    yield* Ref.set(origin, Option.some(name))
    return name
  })

  /** Signs the current tree, or fails by the fault that forbids it. */
  const publish = Effect.gen(function* () {
    const name = yield* verify
    const signed = yield* signer.lastSigned
    const found = yield* heads
    if (found.fault !== null) return yield* new LogFault({ message: found.fault })
    const keys = yield* signer.keys
    yield* requireNewest(sql, keys, { origin: name, newest: found.newest_key })
    const isPublished =
      found.published_size === found.size &&
      found.published_root !== null &&
      sameBytes(found.published_root, found.root)
    if (found.size === 0 || isPublished) return
    yield* examine(found, { origin: name, signed })
    const head = { origin: name, size: found.size, root: found.root }
    const text = checkpointText(head)
    const note = `${text}\n${keys.sign(name, text)}`
    const now = yield* DateTime.now
    const kept = execute(sql`
      insert into log_checkpoints (size, root, note, signed_at)
      select ${BigInt(head.size)}::int8, ${head.root}, ${note}, ${timestamp(now)}
       where not exists (select 1 from log_checkpoints where size > ${BigInt(head.size)})
      on conflict do nothing`)
    if (found.published_size === null && Option.isNone(signed)) {
      // The first checkpoint is stored first: in the file alone, after a crash, it would look like one that was deleted.
      return yield* Effect.uninterruptible(Effect.andThen(kept, signer.rememberSigned(head)))
    }
    // It is published once it is in the file. The file alone has it only if this commit fails.
    yield* transaction(sql)(Effect.andThen(kept, signer.rememberSigned(head)))
  }).pipe(Effect.tapError(() => Ref.set(origin, Option.none())))

  const signed = Effect.gen(function* () {
    const head = yield* signer.lastSigned
    if (Option.isNone(head)) return Option.none<Signed>()
    const { origin, size } = head.value
    // `examine` reports what was signed for another log.
    const kept = yield* keptRow(sql`
      select exists (select from log_checkpoints where size >= ${BigInt(size)}::int8) as is_kept
        from log_identity where origin = ${origin}`)
    return Option.map(kept, ({ is_kept }): Signed => ({ ...head.value, isKept: is_kept }))
  })

  /**
   * Thins out checkpoints older than a day to one an hour: one with a time stamp if there is one, else one with
   * cosignatures, else the first. It also keeps the newest, the newest with cosignatures, and all with time stamps.
   */
  const trim = Effect.gen(function* () {
    const now = yield* DateTime.now
    const until = DateTime.startOf(DateTime.subtractDuration(now, memory), "hour")
    yield* execute(sql`
      with old as (
        select c.size,
               row_number() over (
                 partition by date_trunc('hour', c.signed_at, 'UTC')
                 order by c.time_stamp is null, w.size is null, c.size) as place
          from log_checkpoints c
          left join (select distinct size from log_cosignatures) w on w.size = c.size
         where c.signed_at < ${timestamp(until)}
      )
      delete from log_checkpoints c using old
       where c.size = old.size and old.place > 1
         and c.time_stamp is null
         and c.size < (select max(size) from log_checkpoints)
         and c.size is distinct from (select max(size) from log_cosignatures)`)
  })

  return { publish, signed, trim, verify }
})
