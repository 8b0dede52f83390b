/** SQL of the levels that a question names, in rows of challenges `c` and of their settlements `s`. */
import type { SqlClient } from "effect/sql"
import { levelNames } from "../../scoring/kinds/facts.ts"
import type { LevelName, Levels } from "../../scoring/kinds/facts.ts"

const levelsBy = (sql: SqlClient.SqlClient, columnOf: (name: LevelName) => string) =>
  sql.literal(levelNames.map((name) => `${columnOf(name)} as ${name}`).join(", "))

/** Selects the levels as exact decimals, as PostgreSQL prints them. */
export const exactLevels = (sql: SqlClient.SqlClient, alias: "c" | "s" = "c") =>
  levelsBy(sql, (name) => `trim_scale(${alias}.${name})::text`)

/** Selects the levels as doubles. */
export const shownLevels = (sql: SqlClient.SqlClient, alias: "c" | "s" = "c") =>
  levelsBy(sql, (name) => `${alias}.${name}::float8`)

/** The names of the columns, and the values of a row that is inserted. */
export const levelColumns = (sql: SqlClient.SqlClient) => sql.literal(levelNames.join(", "))
export const levelValues = (sql: SqlClient.SqlClient, levels: Levels<string | null>) =>
  sql.csv(levelNames.map((name) => sql`${levels[name]}::numeric`))
