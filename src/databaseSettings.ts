/** Where the database is, and as whom. */
import { Option, Redacted } from "effect"
import type { Setting } from "./settingKinds.ts"

const postgresUrl = (name: string, meaning: string): Setting<Redacted.Redacted> => ({
  name,
  defaultText: null,
  takes: "postgres://user:password@host:port/database",
  meaning,
  secret: true,
  parse: (text) =>
    /^postgres(ql)?:\/\/./.test(text) && URL.canParse(text) ? Option.some(Redacted.make(text)) : Option.none()
})

export const databaseSettings = {
  databaseUrl: postgresUrl(
    "DATABASE_URL",
    "A PostgreSQL 18 to use, as the role that runs; without it one is embedded and kept in the data directory."
  ),
  migrationUrl: postgresUrl(
    "AUSPEX_MIGRATION_URL",
    "The same database as the role that owns its tables, which migrates them at the start; without it DATABASE_URL does."
  )
}
