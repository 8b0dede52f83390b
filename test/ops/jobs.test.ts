/** Jobs of several steps: a step that fails is told, and starves none of the others. */
import { assert, describe, it, layer } from "@effect/vitest"
import { DateTime, Effect, Exit, Layer } from "effect"
import { SqlClient } from "effect/sql"
import * as Jobs from "../../src/jobs/Jobs.ts"
import { inSteps } from "../../src/jobs/scheduler.ts"
import { freshWeek, plus } from "../support/challenges.ts"
import { asOwner, countOf } from "../support/database.ts"
import { testServices } from "../support/services.ts"

describe("A job of several steps", () => {
  it.effect.each(["first", "second", "third", "first, third", "first, second, third"])(
    "A job runs every step once where %s fails, and has failed then",
    (failing) =>
      Effect.gen(function* () {
        const ran: Array<string> = []
        const step = (name: string) =>
          Effect.andThen(
            Effect.sync(() => ran.push(name)),
            failing.includes(name) ? Effect.die(new Error("no")) : Effect.void
          )
        const exit = yield* Effect.exit(
          inSteps({ first: step("first"), second: step("second"), third: step("third") })
        )
        assert.deepStrictEqual(ran, ["first", "second", "third"])
        assert.isTrue(Exit.isFailure(exit))
        assert.include(String(exit), `steps failed: ${failing}`)
      })
  )

  it.effect("A job succeeds where each step does, and stops where it is interrupted", () =>
    Effect.gen(function* () {
      const ran: Array<string> = []
      yield* inSteps({ first: Effect.void, second: Effect.sync(() => ran.push("second")) })
      const exit = yield* Effect.exit(
        inSteps({ third: Effect.interrupt, fourth: Effect.sync(() => ran.push("fourth")) })
      )
      assert.isTrue(Exit.hasInterrupts(exit))
      assert.deepStrictEqual(ran, ["second"])
    })
  )
})

layer(testServices())("Housekeeping", (it) => {
  it.effect("Housekeeping forgets old mails where the first of its steps fails at every run", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      yield* asOwner(SqlClient.SqlClient.use((sql) => sql`alter table limit_windows rename to elsewhere`))
      const old = DateTime.toDateUtc(plus(now, "-8 days"))
      yield* SqlClient.SqlClient.use(
        (sql) => sql`
          insert into mails (id, kind, recipient, created_at, expires_at, due_at, sent_at)
          values (uuidv7(), 'claim', 'ada@example.org', ${old}, ${old}, ${old}, ${old})`
      )
      const mails = countOf((sql) => sql`select count(*)::int as count from mails`)
      assert.strictEqual(yield* mails, 1)
      yield* Layer.build(Jobs.layer)
      // Time stands still; the database does not.
      yield* Effect.repeat(mails, { until: (count) => count === 0 })
    })
  )
})
