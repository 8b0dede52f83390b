/** What the database itself refuses of the archive, which is read-only for ever, and of virtual positions. */
import { assert, layer } from "@effect/vitest"
import { Effect, Predicate } from "effect"
import { SqlClient } from "effect/sql"
import type { Statement } from "effect/sql"
import { Archive } from "../../src/services/Archive.ts"
import {
  claimedAgent,
  freshWeek,
  importQuotes,
  instant,
  moveTo,
  newChallenge,
  plus,
  predict
} from "../support/builders.ts"
import { testServices } from "../support/services.ts"
import { asOwner } from "../support/database.ts"

const textMember = (value: unknown, name: string): string =>
  Predicate.hasProperty(value, name) && typeof value[name] === "string" ? value[name] : ""

/** The constraint that refuses the statement even to the owner of its tables, or what PostgreSQL says. */
const refusal = (statement: (sql: SqlClient.SqlClient) => Statement.Statement<object>) =>
  SqlClient.SqlClient.use((sql) => Effect.flip(asOwner(statement(sql)))).pipe(
    Effect.map(({ reason }) => textMember(reason.cause, "constraint") || textMember(reason.cause, "message"))
  )

const ended = instant("2026-01-02T00:00:00Z")

const archived = Effect.gen(function* () {
  yield* freshWeek
  return yield* Archive.use((archive) =>
    archive.import({
      slug: "cup",
      title: "Cup",
      ended_at: ended,
      challenges: [
        { question: "First?", deadline: ended, resolved_at: ended, result: "yes" },
        { question: "Second?", deadline: ended, resolved_at: ended, result: "no" }
      ]
    })
  )
})

/** A copy of the tournament's last challenge in which these columns have other values. */
const another = (changes: Readonly<Record<string, string>>) => (sql: SqlClient.SqlClient) => {
  const values = Object.entries(changes).flatMap(([name, value]) => [`'${name}'`, value])
  return sql`
    insert into archived_challenges
    select (jsonb_populate_record(c, jsonb_build_object(${sql.literal(values.join(", "))}))).*
      from archived_challenges c where position = 2`
}

layer(testServices())("an archived tournament in the database", (it) => {
  it.effect.each([
    [
      "has as many challenges as it was imported with",
      { position: "3" },
      "archived_challenges_imported_together"
    ],
    [
      "has no other number of them",
      { position: "3", challenge_count: "3" },
      "archived_challenges_tournament"
    ],
    ["has each of them once", { position: "1" }, "archived_challenges_pkey"],
    ["has none before the first", { position: "0" }, "archived_challenges_position"],
    ["has challenges that ended", { result: "null" }, "archived_challenges_one_end"],
    ["has challenges that ended once", { void_reason: "'x'" }, "archived_challenges_one_end"],
    ["has none decided before its deadline", { resolved_at: "'2025-01-01'" }, "archived_challenges_times"],
    ["has none opened at its deadline", { opened_at: "'2026-01-02Z'" }, "archived_challenges_times"],
    ["has lists of outcomes", { outcomes: "'{}'::jsonb" }, "archived_challenges_outcomes"]
  ] as const)("%s", ([, changes, constraint]) =>
    Effect.gen(function* () {
      yield* archived
      assert.strictEqual(yield* refusal(another(changes)), constraint)
    })
  )

  it.effect("is neither changed nor removed", () =>
    Effect.gen(function* () {
      yield* archived
      const refused = (operation: string) => `archived_tournaments is append-only: ${operation} refused`
      for (const column of ["title", "ended_at", "challenge_count", "digest"]) {
        const changed = yield* refusal(
          (sql) => sql`update archived_tournaments set ${sql(column)} = ${sql(column)}`
        )
        assert.strictEqual(changed, refused("update"), column)
      }
      assert.strictEqual(yield* refusal((sql) => sql`delete from archived_tournaments`), refused("delete"))
      assert.include(yield* refusal((sql) => sql`truncate archived_tournaments`), "cannot truncate")
      assert.include(yield* refusal((sql) => sql`truncate archived_tournaments cascade`), "append-only")
    })
  )

  it.effect.each([
    ["is over", "'2999-01-01'", "1", "archived_tournaments_over"],
    ["has challenges", "'2026-01-01'", "0", "archived_tournaments_some"]
  ] as const)("%s", ([, end, count, constraint]) =>
    Effect.gen(function* () {
      yield* archived
      const refused = yield* refusal(
        (sql) => sql`
          insert into archived_tournaments (slug, title, ended_at, archived_at, challenge_count, digest)
          select 'other', title, ${sql.literal(end)}, archived_at, ${sql.literal(count)}, digest
            from archived_tournaments`
      )
      assert.strictEqual(refused, constraint)
    })
  )
})

layer(testServices())("a virtual position in the database", (it) => {
  it.effect.each([
    ["has the whole of its entry", "null, 100, entry_source, entry_observed_at", "paper_signals_whole_entry"],
    [
      "has an entry above zero",
      "entry_fetched_at, 0, entry_source, entry_observed_at",
      "paper_signals_entry_price"
    ],
    [
      "has an entry that is a number",
      "entry_fetched_at, 'NaN', entry_source, entry_observed_at",
      "paper_signals_entry_price"
    ]
  ] as const)("%s", ([, entry, constraint]) =>
    Effect.gen(function* () {
      const deadline = plus(yield* freshWeek, "1 hour")
      const challenge = yield* newChallenge({ deadline, resolve_at: plus(deadline, "1 day") })
      yield* importQuotes("GC", [[deadline, 100]])
      yield* moveTo(deadline)
      yield* predict(yield* claimedAgent(), challenge)
      const refused = yield* refusal(
        (sql) => sql`
          insert into paper_signals
            (id, challenge_id, agent_id, direction, confidence, received_at, entry_fetched_at, entry_price, entry_source,
             entry_observed_at)
          select gen_random_uuid(), challenge_id, agent_id, direction, confidence, received_at, ${sql.literal(entry)}
            from paper_signals where challenge_id = ${challenge.id}::uuid`
      )
      assert.strictEqual(refused, constraint)
    })
  )

  it.effect("is not taken of a macro series", () =>
    Effect.gen(function* () {
      assert.strictEqual(
        yield* refusal((sql) => sql`update targets set simulates_positions = true where key = 'CPI'`),
        "targets_positions_of_assets"
      )
    })
  )
})
