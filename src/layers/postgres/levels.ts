/** SQL of the levels that a question names, in rows of challenges `c` and of their settlements `s`. */
import type { SqlClient, Statement } from "effect/sql"
import { levelNames } from "../../scoring/kinds/facts.ts"
import type { LevelName, Levels } from "../../scoring/kinds/facts.ts"
import { exact } from "./sql.ts"

const levelsBy = (sql: SqlClient.SqlClient, columnOf: (name: LevelName) => Statement.Fragment) =>
  sql.csv(levelNames.map((name) => sql`${columnOf(name)} as ${sql.literal(name)}`))

/** Selects the levels as exact decimals, as PostgreSQL prints them. */
export const exactLevels = (sql: SqlClient.SqlClient, alias: "c" | "s" = "c") =>
  levelsBy(sql, (name) => exact(sql, `${alias}.${name}`))

/** Selects the levels as doubles. */
export const shownLevels = (sql: SqlClient.SqlClient, alias: "c" | "s" = "c") =>
  levelsBy(sql, (name) => sql.literal(`${alias}.${name}::float8`))

/** The names of the columns, and the values of a row that is inserted. */
export const levelColumns = (sql: SqlClient.SqlClient) => sql.literal(levelNames.join(", "))
export const levelValues = (sql: SqlClient.SqlClient, levels: Levels<string | null>) =>
  sql.csv(levelNames.map((name) => sql`${levels[name]}::numeric`))
