/** An instance whose clock and its database's differ: it runs no job, and what it does anyhow is bound by the database's clock. */
import { assert, layer } from "@effect/vitest"
import { DateTime, Duration, Effect, Schema } from "effect"
import type { Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql"
import { TestClock } from "effect/testing"
import { poll, singletonCron } from "../../src/jobs/scheduler.ts"
import { GatewayBilling } from "../../src/services/GatewayBilling.ts"
import { Health } from "../../src/services/Health.ts"
import { Idempotency } from "../../src/services/Idempotency.ts"
import { JobRuns } from "../../src/services/JobRuns.ts"
import { LogSequencer } from "../../src/services/LogSequencer.ts"
import { Mailer } from "../../src/services/Mailer.ts"
import { Notices } from "../../src/services/Notices.ts"
import { Operators } from "../../src/services/Operators.ts"
import { Practice } from "../../src/services/Practice.ts"
import { RateLimiter } from "../../src/services/RateLimiter.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import { Skill } from "../../src/services/Skill.ts"
import { Tokens } from "../../src/services/Tokens.ts"
import { Webhooks } from "../../src/services/Webhooks.ts"
import { address, claimedAgent, someOperator } from "../support/agents.ts"
import {
  freshWeek,
  importQuotes,
  moveTo,
  newChallenge,
  newMacro,
  newPriceEvent,
  plus,
  predict
} from "../support/challenges.ts"
import { asOwner, countOf, rowsOf } from "../support/database.ts"
import { withDatabaseAt } from "../support/databaseTime.ts"
import { testServices } from "../support/services.ts"

type Services = Layer.Success<ReturnType<typeof testServices>>

/** What is deleted in time. */
interface Kept {
  readonly what: string
  readonly table: string
  /** Writes a row that is needed now. */
  readonly given: Effect.Effect<unknown, unknown, Services>
  /** The work that deletes it one day. */
  readonly work: Effect.Effect<unknown, unknown, Services>
  /** Rows that each run of the work adds. */
  readonly grows?: number
}

const settle = Scoring.use((scoring) => scoring.settleDue)

const written = (
  statement: (sql: SqlClient.SqlClient, now: Date) => Effect.Effect<unknown, SqlError.SqlError>
) =>
  Effect.gen(function* () {
    yield* statement(yield* SqlClient.SqlClient, DateTime.toDateUtc(yield* DateTime.now))
  })

const sequence = LogSequencer.use((sequencer) => Effect.andThen(sequencer.sequence, sequencer.publish))

const kept: ReadonlyArray<Kept> = [
  {
    what: "windows of limits",
    table: "limit_windows",
    given: RateLimiter.use((limiter) => Effect.orDie(limiter.consume("comments", "somebody"))),
    work: RateLimiter.use((limiter) => limiter.trim)
  },
  {
    what: "assertions that were used",
    table: "used_assertions",
    given: Effect.flatMap(claimedAgent(), (id) =>
      written(
        (sql, now) => sql`
          insert into used_assertions (agent_id, jti, expires_at)
          values (${id}::uuid, 'once', ${now}::timestamptz + interval '1 minute')`
      )
    ),
    work: Tokens.use((tokens) => tokens.trim)
  },
  {
    what: "answers to idempotency keys",
    table: "idempotency_keys",
    given: written(
      (sql, now) => sql`
        insert into idempotency_keys (key, fingerprint, status, answer, expires_at)
        values ('key', sha256('a'), 200, '', ${now}::timestamptz + interval '1 minute')`
    ),
    work: Idempotency.use((idempotency) => idempotency.trim)
  },
  {
    what: "sessions of owners",
    table: "operator_sessions",
    given: Effect.flatMap(someOperator, (id) =>
      written(
        (sql, now) => sql`
          insert into operator_sessions (secret_hash, operator_id, created_at, last_used_at, expires_at)
          values (sha256('a'), ${id}::uuid, ${now}, ${now}, ${now}::timestamptz + interval '1 minute')`
      )
    ),
    work: Operators.use((operators) => operators.trim)
  },
  {
    what: "sign-in links",
    table: "sign_in_links",
    given: written(
      (sql, now) => sql`
        insert into sign_in_links (token_hash, email, return_to, created_at, expires_at)
        values (sha256('a'), 'ada@example.org', '', ${now}, ${now}::timestamptz + interval '10 minutes')`
    ),
    work: Operators.use((operators) => operators.trim)
  },
  {
    what: "ticks of jobs",
    table: "job_runs",
    given: JobRuns.use((runs) => runs.claim("settlement", Duration.seconds(15))),
    work: JobRuns.use((runs) => runs.forget(Duration.minutes(1)))
  },
  {
    what: "mails",
    table: "mails",
    given: Effect.flatMap(DateTime.now, (now) =>
      Mailer.use((mailer) =>
        Effect.andThen(
          mailer.enqueue({
            kind: "claim",
            to: address("ada@example.org"),
            subject: "Hello",
            text: "A link\n",
            expiresAt: plus(now, "2 days")
          }),
          mailer.drain
        )
      )
    ),
    work: Mailer.use((mailer) => mailer.trim)
  },
  {
    what: "notices",
    table: "notices",
    given: Effect.andThen(
      newChallenge(),
      Notices.use((notices) => notices.advance)
    ),
    work: Notices.use((notices) => notices.trim)
  },
  {
    what: "questions to practise on",
    table: "practice_questions",
    given: Practice.use((practice) => practice.makeDue),
    work: Practice.use((practice) => practice.trim)
  },
  {
    what: "deliveries to webhooks",
    table: "webhook_deliveries",
    given: Effect.flatMap(claimedAgent(), (id) =>
      written((sql, now) =>
        Effect.andThen(
          sql`
            insert into webhooks (id, agent_id, url, types, secret, since, created_at)
            values (${id}::uuid, ${id}::uuid, 'https://example.org/', '{event.published}', '', 0, ${now})`,
          sql`
            insert into webhook_deliveries (webhook_id, notice_id, type, payload, created_at)
            values (${id}::uuid, ${id}::uuid, 'event.published', '{}', ${now})`
        )
      )
    ),
    work: Webhooks.use((webhooks) => webhooks.trim)
  },
  {
    what: "what is to be revealed",
    table: "log_reveals",
    given: Effect.flatMap(newChallenge({ deadline: DateTime.makeUnsafe("2999-01-01T00:00:00Z") }), ({ id }) =>
      written(
        (sql, now) => sql`
          insert into log_reveals (challenge_id, due_at) values (${id}::uuid, ${now}::timestamptz + interval '1 minute')`
      )
    ),
    work: LogSequencer.use((sequencer) => sequencer.revealDue)
  },
  {
    what: "checkpoints",
    table: "log_checkpoints",
    given: Effect.replicateEffect(Effect.andThen(newChallenge(), sequence), 3, { discard: true }),
    work: Effect.andThen(
      Effect.andThen(newChallenge(), sequence),
      LogSequencer.use((sequencer) => sequencer.trim)
    ),
    grows: 1
  }
]

/** All that tells whether a challenge has ended, and what waits for its place in the log. */
const states = Effect.all([
  rowsOf(
    Schema.Struct({
      id: Schema.String,
      closed_at: Schema.NullOr(Schema.DateTimeUtcFromDate),
      cancelled_at: Schema.NullOr(Schema.DateTimeUtcFromDate),
      resolved_at: Schema.NullOr(Schema.DateTimeUtcFromDate)
    }),
    (sql) => sql`select id::text, closed_at, cancelled_at, resolved_at from challenges order by id`
  ),
  countOf((sql) => sql`select count(*)::int as count from log_pending`)
])

const failureTag = <A, E extends { readonly _tag: string }, R>(attempt: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(attempt), ({ _tag }) => _tag)

const ahead = ["3 seconds", "1 hour", "8 days", "40 days", "800 days"] as const

layer(testServices())("While a clock is ahead of the database's", (it) => {
  it.effect.each(kept)("no row of $table is deleted: $what", ({ given, grows = 0, table, work }) =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      yield* given
      const count = countOf((sql) => sql`select count(*)::int as count from ${sql(table)}`)
      let before = yield* count
      assert.isAbove(before, 0)
      for (const each of ahead) {
        yield* moveTo(plus(now, each))
        yield* withDatabaseAt(now)(work)
        before += grows
        assert.strictEqual(yield* count, before)
      }
      // In its time it is.
      yield* work
      assert.isBelow(yield* count, before + grows)
    })
  )

  it.effect("no challenge is closed, cancelled or voided, by the job or by hand", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      yield* settle
      yield* newChallenge()
      const macro = yield* newMacro()
      const event = yield* newPriceEvent({ kind: "threshold" })
      const before = yield* states
      const scoring = yield* Scoring
      for (const each of ["61 minutes", ...ahead.slice(1)] as const) {
        yield* moveTo(plus(now, each))
        yield* Effect.gen(function* () {
          const { cancelled, closed, resolved } = yield* settle
          assert.deepStrictEqual({ cancelled, closed, resolved }, { cancelled: [], closed: 0, resolved: [] })
          const tags = [
            yield* failureTag(scoring.voidMacro(macro.id, "no")),
            yield* failureTag(scoring.voidPriceEvent(event.id, "no")),
            yield* failureTag(scoring.resolveMacro(macro.id, 3.1))
          ]
          assert.deepStrictEqual([...new Set(tags)], ["ChallengeState"])
        }).pipe(withDatabaseAt(now))
        assert.deepStrictEqual(yield* states, before)
      }
    })
  )

  it.effect(
    "challenges close when the database's clock says so, at its time, and wait for what they wait for",
    () =>
      Effect.gen(function* () {
        const now = yield* freshWeek
        yield* settle
        const challenges: ReadonlyArray<string> = [
          yield* newChallenge(),
          yield* newMacro({ period: "2026-04" }),
          yield* newPriceEvent({ kind: "threshold" })
        ].map(({ id }) => id)
        const moment = plus(now, "2 hours")
        yield* moveTo(plus(now, "800 days"))
        yield* withDatabaseAt(moment)(settle)
        const [rows] = yield* states
        for (const { cancelled_at, closed_at } of rows.filter(({ id }) => challenges.includes(id))) {
          assert.deepStrictEqual([closed_at, cancelled_at], [moment, null])
        }
        const { cancelled } = yield* settle
        assert.sameMembers([...cancelled], [...challenges])
      })
  )

  it.effect("no settlement counts under a day that has not come", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const agent = yield* claimedAgent()
      const settled = Effect.fnUntraced(function* (deadline: DateTime.Utc) {
        const challenge = yield* newChallenge({ deadline })
        yield* predict(agent, challenge)
        return challenge
      })
      const first = yield* settled(plus(now, "1 hour"))
      const second = yield* settled(plus(now, "26 hours"))
      yield* importQuotes("GC", [[plus(now, "1 hour"), 105]])
      const day = (challenge: { readonly id: string }) =>
        rowsOf(
          Schema.Struct({ day: Schema.String, settled_at: Schema.DateTimeUtcFromDate }),
          (sql) => sql`
            select day::text, settled_at from settlements where challenge_id = ${challenge.id}::uuid`
        )
      const moment = plus(now, "2 hours")
      yield* moveTo(plus(now, "40 days"))
      yield* Effect.andThen(
        settle,
        Skill.use((skill) => skill.countDue)
      ).pipe(withDatabaseAt(moment))
      assert.deepStrictEqual(yield* day(first), [
        { day: DateTime.formatIsoDateUtc(moment), settled_at: moment }
      ])
      assert.strictEqual(
        yield* countOf(
          (sql) => sql`
            select count(*)::int as count from skill_days where day >= ${DateTime.formatIsoDateUtc(moment)}::date`
        ),
        0
      )
      // Not even after one that an earlier version wrote.
      const sql = yield* SqlClient.SqlClient
      yield* asOwner(
        Effect.gen(function* () {
          yield* sql`alter table settlements disable trigger user`
          yield* sql`update settlements set day = day + 40 where challenge_id = ${first.id}::uuid`
          yield* sql`alter table settlements enable trigger user`
        })
      )
      yield* importQuotes("GC", [[plus(now, "26 hours"), 105]])
      const later = plus(now, "27 hours")
      yield* withDatabaseAt(later)(settle)
      assert.deepStrictEqual(
        (yield* day(second)).map(({ day }) => day),
        [DateTime.formatIsoDateUtc(later)]
      )
    })
  )

  it.effect("no mail is given up whose link still lives", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const mailer = yield* Mailer
      yield* mailer.enqueue({
        kind: "sign_in",
        to: address("ada@example.org"),
        subject: "Sign in",
        text: "A link\n",
        expiresAt: plus(now, "10 minutes")
      })
      yield* moveTo(plus(now, "40 days"))
      const { failed, sent } = yield* withDatabaseAt(now)(mailer.drain)
      assert.deepStrictEqual([sent, failed], [1, 0])
    })
  )

  it.effect("no reservation of a call under way is released", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      yield* moveTo(plus(now, "40 days"))
      assert.strictEqual(yield* withDatabaseAt(now)(GatewayBilling.use((billing) => billing.sweep)), 0)
    })
  )
})

const hour = Duration.hours(1)

layer(testServices())("A tick", (it) => {
  const claim = (job: string) => JobRuns.use((runs) => runs.claim(job, hour))
  const ticks = countOf((sql) => sql`select count(*)::int as count from job_runs`)

  it.effect.each([-3_456_000, -3600, -2.001, 2.001, 3, 3600, 3_456_000])(
    "is refused to a clock that is %d s off, and claimed when its time comes",
    (seconds) =>
      Effect.gen(function* () {
        const now = yield* freshWeek
        const before = yield* ticks
        const job = `job ${seconds}`
        const there = DateTime.subtract(now, { milliseconds: seconds * 1000 })
        assert.strictEqual(yield* withDatabaseAt(there)(claim(job)), "refused")
        assert.strictEqual(yield* ticks, before)
        assert.strictEqual(yield* claim(job), "claimed")
        assert.strictEqual(yield* claim(job), "taken")
      })
  )

  it.effect.each([-2, -0.5, 0, 1.999, 2])("is claimed by a clock that is %d s off", (seconds) =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const there = DateTime.subtract(now, { milliseconds: seconds * 1000 })
      assert.strictEqual(yield* withDatabaseAt(there)(claim("settlement")), "claimed")
    })
  )

  it.effect("that a wrong clock claimed ahead of its time is forgotten, so that the job runs", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const later = plus(now, "40 days")
      yield* written(
        (sql) => sql`insert into job_runs (job, at) values ('digests', ${DateTime.toDateUtc(later)})`
      )
      yield* claim("settlement")
      yield* JobRuns.use((runs) => runs.forget(Duration.days(7)))
      assert.strictEqual(yield* claim("settlement"), "taken")
      yield* moveTo(later)
      assert.strictEqual(yield* claim("digests"), "claimed")
    })
  )
})

layer(testServices())("Jobs", (it) => {
  it.effect.each([
    ["ahead from the start on", 3600],
    ["behind from the start on", -3600],
    ["a little too far ahead", 2.5]
  ] as const)("do nothing while the clock is %s, and run once it is right", ([, seconds]) =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const { measureClockDrift } = yield* Health
      let polled = 0
      let ran = 0
      // A statement of ours comes back after theirs.
      const settled = countOf((sql) => sql`select count(*)::int as count from job_runs`)
      const there = DateTime.subtract(now, { milliseconds: seconds * 1000 })
      const jobs = Effect.all([
        Effect.forkScoped(
          poll(
            "poll",
            Duration.millis(500),
            Effect.sync(() => (polled += 1))
          )
        ),
        Effect.forkScoped(
          singletonCron(
            `cron ${seconds}`,
            Duration.seconds(5),
            Effect.sync(() => (ran += 1))
          )
        )
      ])
      yield* Effect.gen(function* () {
        yield* measureClockDrift
        yield* jobs
        yield* Effect.replicateEffect(Effect.andThen(TestClock.adjust("1 millis"), settled), 5)
        assert.deepStrictEqual([polled, ran], [0, 0])
      }).pipe(withDatabaseAt(there), Effect.scoped)
      yield* measureClockDrift
      yield* jobs
      yield* Effect.andThen(TestClock.adjust("500 millis"), settled).pipe(
        Effect.repeat({ until: () => polled > 0 && ran > 0 })
      )
    })
  )
})

layer(testServices())("The database's clock", (it) => {
  it.effect("is replaced by the owner of the schema alone, and read by the role that runs", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const replaced = sql`
        create or replace function database_time() returns timestamptz language sql return 'epoch'::timestamptz`
      const { reason } = yield* Effect.flip(replaced)
      assert.match(String(reason.cause), /permission denied|must be owner/)
      yield* sql`select database_time()`
    })
  )
})
