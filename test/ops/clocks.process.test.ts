/** A jobs instance whose clock is wrong, from the start on and while it runs, on a database whose clock is right. */
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Duration, Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { oneIn } from "../support/breadth.ts"
import { countOf, freshDatabase, rowsOf } from "../support/database.ts"
import { newChallenge, newMacro, newPriceEvent } from "../support/challenges.ts"
import { freePort, replicaEnvironment, startAuspex, statusOf, until } from "../support/process.ts"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { servicesOn } from "../support/services.ts"

const tables = ["idempotency_keys", "sign_in_links", "mails", "notices", "job_runs"]

/** Rows that an hour or 40 days would delete. */
const perishable = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const now = DateTime.toDateUtc(yield* DateTime.now)
  yield* sql`
    insert into idempotency_keys (key, fingerprint, status, answer, expires_at)
    values ('key', sha256('a'), 200, '', ${now}::timestamptz + interval '30 minutes')`
  yield* sql`
    insert into sign_in_links (token_hash, email, return_to, created_at, expires_at)
    values (sha256('a'), 'ada@example.org', '', ${now}, ${now}::timestamptz + interval '10 minutes')`
  yield* sql`
    insert into mails (id, kind, recipient, created_at, expires_at, due_at, sent_at)
    values (uuidv7(), 'claim', 'ada@example.org', ${now}, ${now}, ${now}, ${now})`
})

const counts = Effect.forEach(tables, (table) =>
  countOf((sql) => sql`select count(*)::int as count from ${sql(table)}`)
)

const ended = rowsOf(
  Schema.Struct({ id: Schema.String }),
  (sql) => sql`
    select id::text from challenges where closed_at is not null or cancelled_at is not null or resolved_at is not null`
)

/** The number of a job's runs with this outcome, by the metrics of the instance. */
const runsOf = (operations: string, job: string, outcome: string) =>
  Effect.promise(async () => {
    const text = await (await fetch(`${operations}/metrics`)).text()
    const line = text
      .split("\n")
      .find(
        (each) =>
          each.startsWith("auspex_job_runs_total") &&
          each.includes(`job="${job}"`) &&
          each.includes(`outcome="${outcome}"`)
      )
    return Number(line?.split(" ").at(-1) ?? 0)
  })

const provided = <A, E>(test: Effect.Effect<A, E, Effect.Services<typeof NodeServices.layer>>) =>
  Effect.provide(test, NodeServices.layer)

const wrongClocks: ReadonlyArray<readonly [name: string, ahead: Duration.Duration]> = [
  ["1 hour ahead", Duration.hours(1)],
  ["40 days ahead", Duration.days(40)],
  ["40 days behind", Duration.days(-40)]
]

describe.concurrent("A jobs instance", () => {
  it.live.each(oneIn(wrongClocks.length, wrongClocks))(
    "A jobs instance whose clock is %s ends no challenge and deletes no row",
    ([, ahead]) =>
      Effect.gen(function* () {
        const url = yield* freshDatabase
        yield* Effect.gen(function* () {
          yield* newChallenge({ deadline: DateTime.add(yield* DateTime.now, { minutes: 30 }) })
          yield* newMacro()
          yield* newPriceEvent({ kind: "threshold" })
          yield* perishable
          const before = yield* counts
          const port = yield* freePort
          const auspex = yield* startAuspex({
            environment: replicaEnvironment(url, {
              AUSPEX_ROLES: "jobs",
              AUSPEX_JOB_INTERVAL: "100 millis",
              AUSPEX_SCHEDULES: "off",
              AUSPEX_PRACTICE: "off",
              AUSPEX_OPS_PORT: String(port),
              NODE_OPTIONS: `--import ${new URL("../support/movedDate.ts", import.meta.url).href}`,
              TEST_CLOCK_AHEAD: String(Duration.toMillis(ahead))
            })
          })
          const operations = `http://127.0.0.1:${port}`
          const ready = (status: number) =>
            until(
              `ready is ${status}`,
              Effect.map(statusOf(`${operations}/health/ready`), (found) => found === status)
            )
          /** Each job is refused a few more times, and nothing has ended or gone. */
          const doesNothing = Effect.gen(function* () {
            yield* ready(503)
            const refused = Effect.forEach(["settlement", "checkpoints"], (job) =>
              runsOf(operations, job, "refused")
            )
            const begun = yield* refused
            yield* until(
              "runs are refused",
              Effect.map(refused, (all) => all.every((count, index) => count > (begun[index] ?? 0) + 2))
            )
            assert.deepStrictEqual(yield* ended, [])
            const left = yield* counts
            for (const [index, table] of tables.entries()) {
              assert.isAtLeast(left[index] ?? 0, before[index] ?? 0, table)
            }
          })
          yield* doesNothing
          assert.strictEqual(yield* runsOf(operations, "settlement", "done"), 0)
          assert.deepStrictEqual(yield* counts, before)
          yield* auspex.signal("SIGUSR2")
          yield* ready(200)
          yield* until(
            "settlement runs",
            Effect.map(runsOf(operations, "settlement", "done"), (count) => count > 0)
          )
          yield* auspex.signal("SIGUSR2")
          yield* doesNothing
          assert.strictEqual(
            yield* countOf(
              (sql) =>
                sql`select count(*)::int as count from job_runs where at > clock_timestamp() + interval '1 minute'`
            ),
            0
          )
          assert.include(auspex.stdout(), "this clock and the database server's disagree")
        }).pipe(Effect.provide(servicesOn(url)))
      }).pipe(Effect.scoped, provided)
  )
})
