/** The migrated database that every test database is copied from. */
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import type { RunningPostgres } from "../../src/layers/embedded/EmbeddedPostgres.ts"
import * as Database from "../../src/layers/postgres/Database.ts"
import { followingTestClock } from "./databaseTime.ts"

/** Makes the template in a new cluster. */
export const makeTemplate = (name: string) =>
  Effect.fnUntraced(function* ({ ownerUrl, url }: RunningPostgres) {
    const create = SqlClient.SqlClient.use((sql) => sql`create database ${sql(name)}`)
    yield* Effect.provide(create, Database.client(ownerUrl))
    const template = new URL(Redacted.value(ownerUrl))
    template.pathname = `/${name}`
    const templateUrl = Redacted.make(template.href)
    yield* Database.migrate({
      url: templateUrl,
      site: "global",
      runsAs: new URL(Redacted.value(url)).username
    })
    yield* Effect.provide(followingTestClock, Database.client(templateUrl))
  })
