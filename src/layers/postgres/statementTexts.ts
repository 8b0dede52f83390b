/**
 * Effect's compiler of statements remembers the text and the values of each by the statement itself, in a `WeakMap`. For
 * V8's small collections such a map holds its values although nobody has their keys any more, so the text of every
 * statement, some kilobytes each, was copied by the next one, which takes as long as what it copies. They were two thirds
 * of what outlived a small collection (docs/performance.md).
 *
 * A statement is made, compiled and sent, once. So the compiler keeps the last one only. Clients that send a few statements
 * a second (settlements, the log's) are left as they are.
 */
import { Effect, Predicate } from "effect"
import type { SqlClient } from "effect/sql"

/** What the compiler remembers, as it does in the version that we pin; it says nothing of it in its types. */
interface Compiler {
  statementCache: Remembered
  statementCacheNoTransform: Remembered
}

interface Remembered {
  get(statement: object): unknown
  set(statement: object, compiled: unknown): unknown
}

const isRemembered = (value: unknown): value is Remembered =>
  Predicate.hasProperty(value, "get") && Predicate.hasProperty(value, "set")

const isCompiler = (value: unknown): value is Compiler =>
  Predicate.hasProperty(value, "statementCache") &&
  isRemembered(value.statementCache) &&
  Predicate.hasProperty(value, "statementCacheNoTransform") &&
  isRemembered(value.statementCacheNoTransform)

const theLast = (): Remembered => {
  let last: { readonly statement: object; readonly compiled: unknown } | undefined
  return {
    get: (statement) => (last?.statement === statement ? last.compiled : undefined),
    set: (statement, compiled) => {
      last = { statement, compiled }
    }
  }
}

/** For all statements of this client. Whether it is so: another version of the library may have need of nothing. */
export const forgetTexts = (sql: SqlClient.SqlClient) =>
  Effect.sync(() => {
    const statement: unknown = sql`select 1`
    const compiler = Predicate.hasProperty(statement, "compiler") ? statement.compiler : undefined
    if (!isCompiler(compiler)) return false
    compiler.statementCache = theLast()
    compiler.statementCacheNoTransform = theLast()
    return true
  })
