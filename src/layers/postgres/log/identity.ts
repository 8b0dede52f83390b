/** The log's name and keys. The database keeps them, so that no setting changes them by accident. */
import { DateTime, Effect, Option, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { SignerUnusable } from "../../../services/LogSigner.ts"
import type { LogKeys } from "../../../services/LogSigner.ts"
import { execute, findOne, findOption, orDie, timestamp, transaction } from "../sql.ts"
import { keyRotate } from "./entries.ts"
import { namesOf } from "./logState.ts"

/** The advisory lock for naming the log, changing its key, and letting it go on; any fixed number. */
export const keyLock = 4_280_771_003n

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

/** Fails if the log has a key and this instance does not have the newest one. */
export const requireNewest = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  keys: LogKeys,
  { newest, origin }: { readonly origin: string; readonly newest: string | null }
) {
  const own = keys.verifierKey(origin)
  if (newest === null || own === newest) return
  const [known] = yield* orDie(sql`select 1 from log_keys where verifier_key = ${own}`)
  return yield* known === undefined ? refusal(own, newest) : replacedRefusal(own, newest)
})

/** The log's name in a verifier key. */
export const nameIn = (verifierKey: string): string => verifierKey.split("+", 1)[0] ?? ""

/** True if this instance's key may replace the newest one: a new key set beside it, or the same key under a new name. */
export const follows = (
  keys: LogKeys,
  { newest, origin }: { readonly origin: string; readonly newest: string }
) => {
  const name = nameIn(newest)
  return (
    Option.contains(keys.previousVerifierKey(origin), newest) ||
    (name !== origin && keys.verifierKey(name) === newest)
  )
}

/**
 * Reads the log's name (origin). The first start fixes the name and the first key. A start with a new key beside the current
 * one, or under a new name, changes the key and logs the change.
 */
export const introduce = Effect.fn("LogSequencer.introduce")(function* (
  sql: SqlClient.SqlClient,
  keys: LogKeys,
  proposed: string
) {
  const now = yield* DateTime.now
  const origin = sql`(select origin from ${namesOf(sql)} n order by number desc limit 1)`
  const named = yield* findOption(Named)(sql`
    select ${origin} as origin, (select verifier_key from log_keys order by number desc limit 1) as newest
      from log_identity`)
  // Most starts change nothing.
  const isSettled = ({ newest, origin }: typeof Named.Type) =>
    newest !== null && !follows(keys, { newest, origin })
  if (Option.exists(named, isSettled)) return Option.getOrThrow(named).origin
  const originRow = findOne(Origin)
  const keyRow = findOption(Key)
  const changes = Effect.gen(function* () {
    yield* execute(sql`select pg_advisory_xact_lock(${keyLock})`)
    yield* execute(sql`
      insert into log_identity (origin, created_at) values (${proposed}, ${timestamp(now)}) on conflict do nothing`)
    const { origin: present } = yield* originRow(sql`select ${origin} as origin`)
    const newest = yield* keyRow(sql`
      select number, verifier_key from log_keys order by number desc limit 1`)
    const own = keys.verifierKey(present)
    const add = (number: number) =>
      execute(sql`
        insert into log_keys (number, verifier_key, added_at) values (${number}, ${own}, ${timestamp(now)})`)
    if (Option.isNone(newest)) {
      yield* add(1)
      return present
    }
    const { number, verifier_key } = newest.value
    const [known] = yield* orDie(sql`select 1 from log_keys where verifier_key = ${own}`)
    // A replaced key never signs again: readers trust the newest.
    if (follows(keys, { newest: verifier_key, origin: present }) && known === undefined) {
      yield* add(number + 1)
      yield* execute(sql`
        insert into log_pending (type, entry) values ('key.rotate', ${keyRotate({ old: verifier_key, new: own })})`)
    }
    return present
  })
  return yield* transaction(sql)(changes)
})
