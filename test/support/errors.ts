/** Rejections by the database itself, without the services: the constraint, or the message. */
import { Effect, Predicate } from "effect"
import { SqlClient } from "effect/sql"
import type { Statement } from "effect/sql"
import { asOwner } from "./database.ts"

const textMember = (value: unknown, name: string): string =>
  Predicate.hasProperty(value, name) && typeof value[name] === "string" ? value[name] : ""

/** The constraint that rejects the statement even for the owner of its tables, or PostgreSQL's message. */
export const refusal = (statement: (sql: SqlClient.SqlClient) => Statement.Statement<object>) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) => Effect.flip(asOwner(statement(sql)))).pipe(
    Effect.map(({ reason }) => textMember(reason.cause, "constraint") || textMember(reason.cause, "message"))
  )

/** A copy of the first row of a table in which these columns have other values. */
export const copied =
  (table: string, where: string, changes: Readonly<Record<string, string>>) => (sql: SqlClient.SqlClient) => {
    const values = Object.entries(changes).flatMap(([name, value]) => [`'${name}'`, value])
    return sql`
      insert into ${sql(table)}
      select (jsonb_populate_record(t, jsonb_build_object(${sql.literal(values.join(", "))}))).*
        from ${sql(table)} t where ${sql.literal(where)} limit 1`
  }
