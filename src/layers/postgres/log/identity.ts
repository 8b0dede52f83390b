/** The name of the log and the keys that sign it, both kept in the database: no setting changes them by accident. */
import { DateTime, Effect, Option, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { SignerUnusable } from "../../../services/LogSigner.ts"
import type { LogKeys } from "../../../services/LogSigner.ts"
import { execute, findOne, findOption, orDie, timestamp, transaction } from "../sql.ts"
import { keyRotate } from "./entries.ts"

/** Any fixed number: whoever holds this advisory lock names the log, or changes its key. */
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

/** The key that signs, if it is that of this instance. */
export const requireNewest = Effect.fnUntraced(function* (
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
 * The log's origin. The first start fixes it, and its first key; a start with a new key beside the one that signs so
 * far changes the key, which is an entry of the log itself.
 */
export const introduce = Effect.fn("LogSequencer.introduce")(function* (
  sql: SqlClient.SqlClient,
  keys: LogKeys,
  proposed: string
) {
  const now = yield* DateTime.now
  const named = yield* findOption(Named)(sql`
    select origin, (select verifier_key from log_keys order by number desc limit 1) as newest from log_identity`)
  // Most starts have nothing to change.
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
    // A key that was replaced stays so: whoever trusts the newest must not see an older one come back.
    if (replaces && known === undefined) {
      yield* add(number + 1)
      yield* execute(sql`
        insert into log_pending (type, entry) values ('key.rotate', ${keyRotate({ old: verifier_key, new: own })})`)
    }
    return origin
  })
  return yield* transaction(sql)(changes)
})
