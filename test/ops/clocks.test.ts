/** An instance whose clock and its database's differ runs no job, and its other work is bound by the database's clock. */
import { assert, layer } from "@effect/vitest"
import { Clock, DateTime, Duration, Effect, Schema } from "effect"
import type { Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError, Statement } from "effect/sql"
import { TestClock } from "effect/testing"
import { poll, singletonCron } from "../../src/jobs/scheduler.ts"
import { Claims } from "../../src/services/Claims.ts"
import { Credits } from "../../src/services/Credits.ts"
import { GatewayBilling } from "../../src/services/GatewayBilling.ts"
import { Health } from "../../src/services/Health.ts"
import { Idempotency } from "../../src/services/Idempotency.ts"
import { Instances } from "../../src/services/Instances.ts"
import { JobRuns } from "../../src/services/JobRuns.ts"
import { LogSequencer } from "../../src/services/LogSequencer.ts"
import { Mailer } from "../../src/services/Mailer.ts"
import { Notices } from "../../src/services/Notices.ts"
import { Operators } from "../../src/services/Operators.ts"
import { OwnerMails } from "../../src/services/OwnerMails.ts"
import { Practice } from "../../src/services/Practice.ts"
import { OwedUses, RateLimiter } from "../../src/services/RateLimiter.ts"
import { Registry } from "../../src/services/Registry.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import { Skill } from "../../src/services/Skill.ts"
import { Tokens } from "../../src/services/Tokens.ts"
import { Webhooks } from "../../src/services/Webhooks.ts"
import { address, anotherOperator, claimedAgent, provisionalAgent, someOperator } from "../support/agents.ts"
import {
  freshWeek,
  importQuotes,
  instant,
  moveTo,
  newChallenge,
  newMacro,
  newPriceEvent,
  plus,
  predict,
  settleDue
} from "../support/challenges.ts"
import { credits } from "../support/credit.ts"
import { asOwner, countOf, rowsOf } from "../support/database.ts"
import { withDatabaseAt } from "../support/databaseTime.ts"
import { comment, newEvent } from "../support/discussion.ts"
import { spender } from "../support/gateway.ts"
import { testServices } from "../support/services.ts"

type Services = Layer.Success<ReturnType<typeof testServices>>

/** Rows that are deleted in time. */
interface Kept {
  readonly what: string
  readonly table: string
  /** Writes a row that is needed now. */
  readonly given: Effect.Effect<unknown, unknown, Services>
  /** The work that deletes the row one day. */
  readonly work: Effect.Effect<unknown, unknown, Services>
  /** Rows that each run of the work adds. */
  readonly grows?: number
}

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

const reserved = Effect.fnUntraced(function* (
  { agentId, keyId }: Effect.Success<ReturnType<typeof spender>>,
  callId: string
) {
  const createdAt = DateTime.toEpochMillis(yield* DateTime.now)
  yield* GatewayBilling.use((billing) =>
    billing.reserve({
      callId,
      holder: { keyId, agentId },
      requestId: "r",
      model: "m",
      style: "openai",
      stream: false,
      reserved: credits(1),
      createdAt
    })
  )
})

/** Work that is done once, when its time has come. */
interface Once extends Omit<Kept, "table" | "grows"> {
  /** The rows that show whether it was done. */
  readonly state: (sql: SqlClient.SqlClient) => Statement.Statement<object>
}

const done: ReadonlyArray<Once> = [
  {
    what: "the reservation of a call under way is released",
    given: Effect.gen(function* () {
      yield* reserved(yield* spender(10), "0190f000-0000-7000-8000-00000000ca11")
    }),
    work: GatewayBilling.use((billing) => billing.sweep),
    state: (sql) => sql`select call_id::text from gateway_reservations`
  },
  {
    what: "the credit of a plan is paid for a month to come",
    given: Effect.gen(function* () {
      const owner = yield* anotherOperator
      yield* Operators.use((operators) => operators.changeOwner(owner, { plan: "pro" }))
      yield* Credits.use(({ payPlans }) => payPlans)
    }),
    work: Credits.use(({ payPlans }) => payPlans),
    state: (sql) => sql`select id::text, credited_month::text, credited::text from operators order by id`
  },
  {
    what: "a digest is made of a week that is not over",
    given: Effect.gen(function* () {
      const owner = yield* anotherOperator
      yield* OwnerMails.use((mails) => mails.choose(owner, ["digest"]))
    }),
    work: OwnerMails.use(({ sendDigests }) => sendDigests),
    state: (sql) => sql`select id::text, digest_day::text from operators order by id`
  },
  {
    what: "the grace of an unclaimed agent ends or is said to end",
    given: Effect.gen(function* () {
      const registry = yield* Registry
      yield* provisionalAgent("Quiet")
      const { agent_id } = yield* registry.register({ name: "Loud", operator_contact: "ada@example.org" })
      yield* written(
        (sql, now) => sql`update agents set challenge_passed_at = ${now} where id = ${agent_id}::uuid`
      )
    }),
    work: Claims.use(({ remindDue }) => remindDue),
    state: (sql) => sql`select id::text, grace_notices, issuance_paused_at from agents order by id`
  },
  {
    what: "the webhook of an agent that may still be claimed ends",
    given: Effect.flatMap(provisionalAgent("Hooked"), (id) =>
      written(
        (sql, now) => sql`
          insert into webhooks (id, agent_id, url, types, secret, since, created_at)
          values (${id}::uuid, ${id}::uuid, 'https://example.org/', '{event.published}', '', 0, ${now})`
      )
    ),
    work: Webhooks.use((webhooks) => webhooks.trim),
    state: (sql) => sql`select id::text, disabled_at, disabled_reason from webhooks order by id`
  },
  {
    what: "an instance that has just been seen is forgotten",
    given: Instances.use((instances) =>
      instances.beat({ id: "0190f000-0000-7000-8000-0000000000aa", name: "a", roles: ["api"], version: "0" })
    ),
    work: Instances.use((instances) => instances.trim),
    state: (sql) => sql`select id::text from instances order by id`
  }
]

/** Moments that would keep an agent, an owner or a mail waiting. */
interface Dated {
  readonly what: string
  /** Prepares the rows, and answers the act on them. */
  readonly act: Effect.Effect<Effect.Effect<unknown, unknown, Services>, unknown, Services>
  /** The latest moment that the act has written. */
  readonly latest: (sql: SqlClient.SqlClient) => Statement.Statement<object>
}

const hookOfAgent = Effect.gen(function* () {
  const by = { kind: "agent", id: yield* claimedAgent() } as const
  const { webhook_id } = yield* Webhooks.use((webhooks) =>
    webhooks.create(by, { url: "https://hooks.example.com/arena", types: ["event.published"] })
  )
  return { by, webhook_id }
})

const dated: ReadonlyArray<Dated> = [
  {
    what: "the day of bytes stored by a comment",
    act: Effect.map(Effect.all([claimedAgent(), newEvent()]), ([agent, event]) => comment(agent, event)),
    latest: (sql) => sql`select max(day)::timestamptz as at from agent_bytes`
  },
  {
    what: "the day of bytes stored by an answer",
    act: Effect.map(
      Effect.all([claimedAgent(), newChallenge({ deadline: instant("2999-01-01T00:00:00Z") })]),
      ([agent, challenge]) => predict(agent, challenge)
    ),
    latest: (sql) => sql`select max(day)::timestamptz as at from agent_bytes`
  },
  {
    what: "the day of bytes stored by a paper-trade signal",
    act: Effect.map(Effect.all([claimedAgent(), newChallenge(), DateTime.now]), ([agent, challenge, now]) =>
      predict(agent, challenge, {}, plus(now, "40 days"))
    ),
    latest: (sql) => sql`select max(day)::timestamptz as at from agent_bytes`
  },
  {
    what: "requests of a window",
    act: Effect.succeed(RateLimiter.use((limiter) => limiter.consume("tokens", "somebody"))),
    latest: (sql) => sql`select to_timestamp(max(t) / 1000.0) as at from limit_windows, unnest(times) as t`
  },
  {
    what: "accepted writes of a window",
    act: Effect.map(Effect.all([claimedAgent(), newEvent()]), ([agent, event]) =>
      comment(agent, event).pipe(Effect.provideService(OwedUses, [["comments", agent]]))
    ),
    latest: (sql) => sql`select to_timestamp(max(t) / 1000.0) as at from limit_windows, unnest(times) as t`
  },
  {
    what: "the day that a gateway key is charged on",
    act: Effect.map(spender(10, { daily_limit: credits(10) }), (holder) =>
      reserved(holder, "0190f000-0000-7000-8000-00000000ca12")
    ),
    latest: (sql) => sql`select max(counted_on)::timestamptz as at from gateway_keys`
  },
  {
    what: "a mail that is due",
    act: Effect.map(DateTime.now, (now) =>
      Mailer.use((mailer) =>
        mailer.enqueue({
          kind: "sign_in",
          to: address("ada@example.org"),
          subject: "Sign in",
          text: "A link\n",
          expiresAt: plus(now, "10 minutes")
        })
      )
    ),
    latest: (sql) => sql`select max(due_at) as at from mails`
  },
  {
    what: "a test of a webhook",
    act: Effect.map(hookOfAgent, ({ by, webhook_id }) =>
      Webhooks.use((webhooks) => webhooks.test(by, webhook_id))
    ),
    latest: (sql) => sql`select max(due_at) as at from webhook_deliveries`
  }
]

/** All that tells whether a challenge has ended, and all entries that wait for the log. */
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

layer(testServices({ AUSPEX_PLAN_CREDIT_PRO: "100" }))("A clock ahead of the database's", (it) => {
  it.effect.each(kept)("A clock ahead deletes no row of $table: $what", ({ given, grows = 0, table, work }) =>
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
      // The work deletes it in its time.
      yield* work
      assert.isBelow(yield* count, before + grows)
    })
  )

  it.effect.each(done)("A clock ahead does not do this before its time: $what", ({ given, state, work }) =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      yield* given
      const found = rowsOf(Schema.Unknown, state)
      const before = yield* found
      assert.isNotEmpty(before)
      for (const each of ahead) {
        yield* moveTo(plus(now, each))
        yield* withDatabaseAt(now)(work)
        assert.deepStrictEqual(yield* found, before)
      }
      // The work does it in its time.
      yield* work
      assert.notDeepEqual(yield* found, before)
    })
  )

  it.effect.each(dated)("A clock ahead dates nothing in a time to come: $what", ({ act, latest }) =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const acting = yield* act
      yield* moveTo(plus(now, "40 days"))
      yield* withDatabaseAt(now)(acting)
      const [{ at } = assert.fail("it wrote nothing")] = yield* rowsOf(
        Schema.Struct({ at: Schema.DateTimeUtcFromDate }),
        latest
      )
      assert.isAtMost(DateTime.toEpochMillis(at), DateTime.toEpochMillis(now))
      assert.isAtLeast(DateTime.toEpochMillis(at), DateTime.toEpochMillis(DateTime.startOf(now, "day")))
    })
  )

  it.effect("A clock ahead closes, cancels and voids no challenge, by the job or by hand", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      yield* settleDue
      yield* newChallenge()
      const macro = yield* newMacro()
      const event = yield* newPriceEvent({ kind: "threshold" })
      const before = yield* states
      const scoring = yield* Scoring
      for (const each of ["61 minutes", ...ahead.slice(1)] as const) {
        yield* moveTo(plus(now, each))
        yield* Effect.gen(function* () {
          const { cancelled, closed, resolved } = yield* settleDue
          assert.deepStrictEqual({ cancelled, closed, resolved }, { cancelled: [], closed: 0, resolved: [] })
          const tags = [
            yield* failureTag(scoring.void("macro", macro.id, "no")),
            yield* failureTag(scoring.void("price_event", event.id, "no")),
            yield* failureTag(scoring.resolveMacro(macro.id, 3.1))
          ]
          assert.deepStrictEqual([...new Set(tags)], ["ChallengeState"])
        }).pipe(withDatabaseAt(now))
        assert.deepStrictEqual(yield* states, before)
      }
    })
  )

  it.effect("Challenges close at the database's time, and wait for what they wait for", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      yield* settleDue
      const challenges: ReadonlyArray<string> = [
        yield* newChallenge(),
        yield* newMacro({ period: "2026-04" }),
        yield* newPriceEvent({ kind: "threshold" })
      ].map(({ id }) => id)
      const moment = plus(now, "2 hours")
      yield* moveTo(plus(now, "800 days"))
      yield* withDatabaseAt(moment)(settleDue)
      const [rows] = yield* states
      for (const { cancelled_at, closed_at } of rows.filter(({ id }) => challenges.includes(id))) {
        assert.deepStrictEqual([closed_at, cancelled_at], [moment, null])
      }
      const { cancelled } = yield* settleDue
      assert.sameMembers([...cancelled], [...challenges])
    })
  )

  it.effect("A clock ahead lets no settlement count under a day that has not come", () =>
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
        settleDue,
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
      // The same holds after a settlement that an earlier version dated ahead.
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
      yield* withDatabaseAt(later)(settleDue)
      assert.deepStrictEqual(
        (yield* day(second)).map(({ day }) => day),
        [DateTime.formatIsoDateUtc(later)]
      )
    })
  )

  it.effect("A clock ahead gives up no mail whose link still lives", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const mailer = yield* Mailer
      yield* mailer.drain
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

  it.effect("A challenge is created at the database's time, by the schedule and by hand", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const made = rowsOf(
        Schema.Struct({ type: Schema.String, created_at: Schema.DateTimeUtcFromDate }),
        (sql) => sql`
          select type, created_at from challenges where created_at >= ${DateTime.toDateUtc(now)} order by type`
      )
      yield* moveTo(plus(now, "10 minutes"))
      yield* Effect.all([
        newChallenge(),
        newMacro({ period: "2031-04" }),
        newPriceEvent({ kind: "threshold" })
      ]).pipe(withDatabaseAt(now))
      assert.deepStrictEqual(
        yield* made,
        ["directional", "macro", "price_event"].map((type) => ({ type, created_at: now }))
      )
    })
  )

  it.effect.each([
    ["15 seconds", "NotRecordedInTime"],
    ["10 minutes", "NotRecordedInTime"],
    ["40 days", "NotRecordedInTime"]
  ] as const)(
    "No prediction is recorded %s after a deadline, whatever its stamp, also before a job closes",
    ([late, expected]) =>
      Effect.gen(function* () {
        const now = yield* freshWeek
        const agent = yield* claimedAgent()
        const deadline = plus(now, "1 hour")
        const challenge = yield* newChallenge({ deadline })
        const recorded = predict(agent, challenge, {}, now)
        const there = plus(deadline, late)
        assert.strictEqual(yield* failureTag(withDatabaseAt(there)(recorded)), expected)
        const { answer } = yield* withDatabaseAt(plus(deadline, "14 seconds"))(recorded)
        assert.isNotNull(answer.receipt)
      })
  )
})

const hour = Duration.hours(1)

layer(testServices())("A tick", (it) => {
  const claim = (job: string) => JobRuns.use((runs) => runs.claim(job, hour))
  const ticks = countOf((sql) => sql`select count(*)::int as count from job_runs`)

  it.effect.each([-3_456_000, -3600, -2.001, 2.001, 3, 3600, 3_456_000])(
    "A tick is refused to a clock that is %d s off, and claimed when its time comes",
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

  it.effect.each([-2, -0.5, 0, 1.999, 2])("A tick is claimed by a clock that is %d s off", (seconds) =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const there = DateTime.subtract(now, { milliseconds: seconds * 1000 })
      assert.strictEqual(yield* withDatabaseAt(there)(claim("settlement")), "claimed")
    })
  )

  it.effect("A tick that a wrong clock claimed ahead of its time is forgotten, so that the job runs", () =>
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
  ] as const)("Jobs do nothing while the clock is %s, and run once it is right", ([, seconds]) =>
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
  it.effect.each([-2.001, -600, 600, 3_456_000])(
    "A request's time is the database's once this clock was set %d s ahead, though both agreed",
    (seconds) =>
      Effect.gen(function* () {
        const now = yield* freshWeek
        const { measureClockDrift, receiptTime } = yield* Health
        yield* measureClockDrift
        assert.deepStrictEqual(yield* receiptTime, now)
        const clock = yield* Clock.Clock
        const set: Clock.Clock = {
          ...clock,
          currentTimeMillis: Effect.map(clock.currentTimeMillis, (millis) => millis + seconds * 1000),
          currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe() + seconds * 1000
        }
        const stamp = receiptTime.pipe(Effect.provideService(Clock.Clock, set), withDatabaseAt(now))
        assert.deepStrictEqual(yield* stamp, now)
      })
  )

  it.effect("The database's clock is replaced by the owner of the schema alone", () =>
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
