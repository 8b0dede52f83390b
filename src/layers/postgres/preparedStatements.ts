/**
 * The client keeps what a connection has prepared in a `Map`, by its text, in the order of its last use: with each use it takes the
 * entry out and puts it in again, by a text of some kilobytes that was made for this use. A `Map` of V8 that is full goes on in
 * another table, and the one it leaves still holds these texts and points to the next: once one of them is old, those of all
 * uses since stay until all memory is collected. They were half of what outlived two small collections (docs/performance.md).
 *
 * Here an entry goes back by the text that it was first put in by. Nothing else changes: neither what is found nor what is given up first.
 */
import type { PgClient } from "@effect/sql-pg"
import { Effect, Predicate } from "effect"

interface Prepared {
  readonly key: string
}

/** What the client keeps of a connection, as it does in the version that we pin; it says nothing of it in its types. */
interface PreparedStatements {
  readonly statements: Map<string, Prepared>
  get(sql: string, types: ReadonlyArray<number>): Prepared
  trim(kept: Prepared): void
}

const isPreparedStatements = (value: unknown): value is PreparedStatements =>
  Predicate.hasProperty(value, "statements") &&
  value.statements instanceof Map &&
  Predicate.hasProperty(value, "get") &&
  Predicate.hasProperty(value, "trim")

/** What all connections share: they are of one class, which cannot be imported. */
const sharedBy = (connection: unknown): PreparedStatements | undefined => {
  const kept = ["connection", "base", "prepared"].reduce<unknown>(
    (of, name) => (Predicate.hasProperty(of, name) ? of[name] : undefined),
    connection
  )
  return isPreparedStatements(kept) ? Object.getPrototypeOf(kept) : undefined
}

const mended = new WeakSet<PreparedStatements>()

/** For all connections of this process. Whether it is so: another version of the client may have need of nothing. */
export const keepTexts = (client: PgClient.PgClient) =>
  Effect.scoped(
    Effect.map(client.reserve, (connection) => {
      const shared = sharedBy(connection)
      if (shared === undefined) return false
      if (mended.has(shared)) return true
      mended.add(shared)
      const { get } = shared
      shared.get = function (this: PreparedStatements, sql, types) {
        const found = this.statements.get(types.length === 0 ? sql : `${sql}\u0000${types.join(",")}`)
        if (found === undefined) return get.call(this, sql, types)
        this.statements.delete(found.key)
        this.statements.set(found.key, found)
        this.trim(found)
        return found
      }
      return true
    })
  )
