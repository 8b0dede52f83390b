/** The database itself refuses changes to records, and records that cannot be true, whoever asks. */
import { assert, layer } from "@effect/vitest"
import { Effect, Exit, Predicate } from "effect"
import { SqlClient } from "effect/sql"
import type { Statement } from "effect/sql"
import { Archive } from "../../src/services/Archive.ts"
import { AdminAudit } from "../../src/services/AdminAudit.ts"
import { LogSequencer } from "../../src/services/LogSequencer.ts"
import type { AgentId } from "../../src/services/domain/ids.ts"
import { Registry } from "../../src/services/Registry.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import { claimedAgent, someOperator } from "../support/agents.ts"
import {
  forecast,
  freshWeek,
  importQuotes,
  instant,
  moveTo,
  newChallenge,
  newMacro,
  plus,
  predict
} from "../support/challenges.ts"
import { oneIn } from "../support/breadth.ts"
import { credits, payClaimGrants, stakeOn } from "../support/credit.ts"
import { asOwner, countOf } from "../support/database.ts"
import { comment, newEvent } from "../support/discussion.ts"
import { testServices } from "../support/services.ts"

const textMember = (value: unknown, name: string): string =>
  Predicate.hasProperty(value, name) && typeof value[name] === "string" ? value[name] : ""

/** PostgreSQL's reason to refuse the statement even to the owner of its tables: the constraint's name, or the message. */
const refusal = (statement: (sql: SqlClient.SqlClient) => Statement.Statement<object>) =>
  SqlClient.SqlClient.use((sql) => Effect.flip(asOwner(statement(sql)))).pipe(
    Effect.map(({ reason }) => textMember(reason.cause, "constraint") || textMember(reason.cause, "message"))
  )

const wrongAnswer = {
  event_summary: "?",
  market_impact: {
    affected_assets: [],
    direction: "mixed" as const,
    magnitude: "low" as const,
    reasoning: "?"
  },
  trading_implications: { short_term: "?", medium_term: "?" },
  confidence: 0,
  related_events: []
}

/** Entries enough for the log to have a node above them. */
const fullTile = SqlClient.SqlClient.use(
  (sql) => sql`
    insert into log_pending (type, entry)
    select 'key.rotate', convert_to('{}', 'UTF8') from generate_series(1, 256)`
)

/** Rows as the jobs that ask price sources write them. */
const fetched = SqlClient.SqlClient.use((sql) =>
  Effect.andThen(
    sql`
      insert into price_readings (source, asset, interval, time, open, high, low, close, fetched_at, payload_hash)
      values ('test', 'GC', '1h', '2026-01-01T00:00:00Z', 1, 1, 1, 1, '2026-01-01T01:00:00Z', sha256(''))
      on conflict do nothing`,
    sql`
      insert into macro_proposals (challenge_id, value, source, observation, released_on, fetched_at, payload_hash)
      select id, 1, 'test', '2026-01-01', '2026-02-01', '2026-02-01T13:00:00Z', sha256('') from challenges limit 1
      on conflict do nothing`
  )
)
/** Rows as a schedule writes them beside a challenge that it makes. */
const scheduled = SqlClient.SqlClient.use(
  (sql) => sql`
    insert into scheduled_challenges (schedule, target, period, challenge_id, made_at)
    select 'session', target, '2026-01-05', id, created_at from challenges where type = 'directional' limit 1
    on conflict do nothing`
)

/** The record of a purchase that was paid. */
const bought = SqlClient.SqlClient.use((sql) =>
  Effect.gen(function* () {
    const id = "0190f000-0000-7000-8000-0000000000aa"
    const time = "1970-01-01T00:00:00Z"
    yield* sql`
      insert into purchases (id, owner_id, key, credits, amount, currency, created_at)
      values (${id}::uuid, ${yield* someOperator}::uuid, 'k', 1, 1, 'eur', ${time}::timestamptz) on conflict do nothing`
    yield* sql`
      insert into checkout_sessions (purchase_id, session_id, url, created_at)
      values (${id}::uuid, 'cs_1', 'https://checkout.example', ${time}::timestamptz) on conflict do nothing`
    yield* sql`
      insert into payment_events (event_id, kind, purchase_id, outcome, happened_at, received_at)
      values ('evt_1', 'paid', ${id}::uuid, 'credited', ${time}::timestamptz, ${time}::timestamptz) on conflict do nothing`
    yield* sql`
      insert into payments (purchase_id, session_id, event_id, paid_at)
      values (${id}::uuid, 'cs_1', 'evt_1', ${time}::timestamptz) on conflict do nothing`
  })
)

/** The record of a call of a model. */
const called = Effect.fnUntraced(function* (agentId: AgentId) {
  const sql = yield* SqlClient.SqlClient
  const id = "0190f000-0000-7000-8000-0000000000ab"
  yield* sql`
    insert into gateway_keys (id, agent_id, owner_id, name, prefix, key_hash, created_at)
    select ${id}::uuid, id, owner_id, 'k', 'aus_gw_k', sha256('k'), created_at from agents where id = ${agentId}::uuid
    on conflict do nothing`
  yield* sql`
    insert into gateway_calls (id, agent_id, owner_id, key_id, request_id, model, style, stream, prompt_tokens,
                               completion_tokens, cost, status, latency_ms, attempts, estimated, created_at)
    select ${id}::uuid, agent_id, owner_id, id, 'r', 'swift-1', 'openai', false, 1, 1, 0, 200, 1, 1, false, created_at
      from gateway_keys where id = ${id}::uuid
    on conflict do nothing`
})

const over = {
  slug: "over",
  title: "Over",
  ended_at: instant("2026-01-02T00:00:00Z"),
  challenges: [{ question: "?", deadline: instant("2026-01-01T00:00:00Z"), result: "yes" }]
}

/** Every kind of record, made by the services: a settled challenge with a prediction, a signal and prices. */
const records = Effect.gen(function* () {
  const deadline = plus(yield* freshWeek, "1 hour")
  const registry = yield* Registry
  const agent = yield* claimedAgent()
  const registered = yield* registry.register({ name: "attempting" })
  yield* registry.submit(registered.challenge_id, wrongAnswer)
  const challenge = yield* newChallenge({ deadline })
  yield* predict(agent, challenge)
  yield* moveTo(deadline)
  yield* predict(agent, challenge)
  yield* importQuotes("GC", [[deadline, 102]])
  yield* Scoring.use((scoring) => scoring.settleDue)
  yield* fullTile
  yield* LogSequencer.use(({ publish, sequence }) => Effect.andThen(sequence, publish))
  yield* AdminAudit.use((audit) =>
    audit
      .begin({ action: "test", path: "/", requestId: "r", body: "{}" })
      .pipe(Effect.flatMap((id) => audit.complete(id, 200)))
  )
  yield* payClaimGrants
  const pool = yield* newMacro({ deadline: plus(deadline, "1 hour") })
  yield* forecast(agent, pool)
  yield* stakeOn(pool, [{ agentId: agent, bin: 2, amount: credits(50) }])
  yield* moveTo(plus(deadline, "1 hour"))
  yield* Scoring.use((scoring) => scoring.resolveMacro(pool.id, 3.1))
  yield* moveTo(deadline)
  yield* fetched
  yield* Archive.use((archive) => archive.import(over))
  yield* scheduled
  yield* comment(agent, yield* newEvent())
  yield* bought
  yield* called(agent)
  return { agent, challenge, deadline }
})

const appendOnly = [
  ["predictions", "direction"],
  ["prediction_scores", "score"],
  ["settlements", "result"],
  ["price_points", "close"],
  ["price_readings", "close"],
  ["macro_proposals", "value"],
  ["paper_signals", "direction"],
  ["registration_attempts", "passed"],
  ["audit_log", "action"],
  ["audit_outcomes", "status"],
  ["log_entries", "entry"],
  ["log_nodes", "hash"],
  ["log_keys", "verifier_key"],
  ["transfers", "amount"],
  ["stakes", "amount"],
  ["pool_settlements", "paid"],
  ["pool_rewards", "reward"],
  ["archived_challenges", "result"],
  ["scheduled_challenges", "period"],
  ["comments", "content"],
  ["purchases", "credits"],
  ["checkout_sessions", "url"],
  ["payment_events", "outcome"],
  ["payments", "paid_at"],
  ["gateway_calls", "cost"]
] as const

layer(testServices())("An append-only record", (it) => {
  it.effect("A record of any table refuses update, delete and truncate", () =>
    Effect.gen(function* () {
      yield* records
      for (const [table, column] of oneIn(3, appendOnly)) {
        const rows = countOf((sql) => sql`select count(*)::int as count from ${sql(table)}`)
        const before = yield* rows
        assert.isAtLeast(before, 1, table)
        const refused = (operation: string) => `${table} is append-only: ${operation} refused`
        assert.strictEqual(
          yield* refusal((sql) => sql`update ${sql(table)} set ${sql(column)} = ${sql(column)}`),
          refused("update")
        )
        assert.strictEqual(yield* refusal((sql) => sql`delete from ${sql(table)}`), refused("delete"))
        // The first guard in its way refuses it: a table that refers to it, or its trigger.
        assert.match(
          yield* refusal((sql) => sql`truncate ${sql(table)}`),
          /truncate refused$|^cannot truncate a table referenced/,
          table
        )
        assert.strictEqual(yield* refusal((sql) => sql`truncate ${sql(table)} cascade`), refused("truncate"))
        assert.strictEqual(yield* rows, before, table)
      }
    })
  )

  it.effect("A prediction is replaced by no upsert", () =>
    Effect.gen(function* () {
      yield* records
      const replaced = yield* refusal(
        (sql) => sql`
          insert into predictions select * from predictions
          on conflict on constraint predictions_one_per_agent_and_challenge do update set confidence = 1`
      )
      assert.strictEqual(replaced, "predictions is append-only: update refused")
    })
  )

  it.effect("A challenge or an agent is neither deleted nor truncated", () =>
    Effect.gen(function* () {
      yield* records
      assert.include(yield* refusal((sql) => sql`delete from challenges`), "append-only")
      assert.include(yield* refusal((sql) => sql`truncate challenges cascade`), "append-only")
      assert.include(yield* refusal((sql) => sql`truncate agents cascade`), "append-only")
      assert.strictEqual(
        yield* refusal((sql) => sql`delete from agents`),
        "agents is append-only: delete refused"
      )
    })
  )
})

layer(testServices())("The log in the database", (it) => {
  it.effect("The log keeps its name and its state, and the state only grows", () =>
    Effect.gen(function* () {
      yield* records
      const refused = (table: string, operation: string) => `${table} is append-only: ${operation} refused`
      for (const table of ["log_identity", "log_state"]) {
        assert.strictEqual(yield* refusal((sql) => sql`delete from ${sql(table)}`), refused(table, "delete"))
        assert.strictEqual(yield* refusal((sql) => sql`truncate ${sql(table)}`), refused(table, "truncate"))
      }
      assert.strictEqual(
        yield* refusal((sql) => sql`update log_identity set origin = origin`),
        refused("log_identity", "update")
      )
      for (const change of ["size = size - 1", "root = sha256(root)", "size = 0, root = sha256('')"]) {
        const changed = yield* refusal((sql) => sql`update log_state set ${sql.literal(change)}`)
        assert.strictEqual(changed, "the log only grows", change)
      }
    })
  )

  it.effect("The log has nothing twice: no prediction, reveal, making, end, or version of a settlement", () =>
    Effect.gen(function* () {
      yield* records
      assert.strictEqual(
        yield* refusal(
          (sql) => sql`
            insert into log_entries (index, entry, type, challenge_id, version)
            select 1000000, '{}'::bytea, type, challenge_id, version from log_entries where version is not null limit 1`
        ),
        "log_entries_of_challenge"
      )
      const commit = (index: number) => (sql: SqlClient.SqlClient) =>
        sql`
        insert into log_entries (index, type, commit, entry) values (${index}, 'prediction.commit', '\\x01', '{}'::bytea)`
      yield* SqlClient.SqlClient.use(commit(3_000_000))
      assert.strictEqual(yield* refusal(commit(3_000_001)), "log_entries_commit")
      const reveal = (index: number) => (sql: SqlClient.SqlClient) =>
        sql`
        insert into log_entries (index, type, commit_index, entry) values (${index}, 'prediction.reveal', 1, '{}'::bytea)`
      yield* SqlClient.SqlClient.use(reveal(2_000_000))
      assert.strictEqual(yield* refusal(reveal(2_000_001)), "log_entries_reveal")
    })
  )

  it.effect("An entry leaves the outbox only into the log, and nobody changes one that is pending", () =>
    Effect.gen(function* () {
      yield* records
      yield* SqlClient.SqlClient.use(
        (sql) =>
          sql`insert into log_pending (type, entry) values ('key.rotate', convert_to('{"n":0}', 'UTF8'))`
      )
      assert.strictEqual(
        yield* refusal((sql) => sql`delete from log_pending`),
        "entries leave the outbox into the log only"
      )
      yield* SqlClient.SqlClient.use(
        (sql) => sql`
          insert into log_entries (index, type, entry)
          select 4000000, type, entry from log_pending where entry = convert_to('{"n":0}', 'UTF8')`
      )
      assert.strictEqual(
        yield* refusal((sql) => sql`delete from log_pending where entry = convert_to('{"n":0}', 'UTF8')`),
        "entries leave the outbox into the log only",
        "a copy beyond the end of the log is not in the log"
      )
      assert.strictEqual(
        yield* refusal((sql) => sql`update log_pending set entry = convert_to('{"n":1}', 'UTF8')`),
        "log_pending is append-only: update refused"
      )
      assert.strictEqual(
        yield* refusal((sql) => sql`truncate log_pending`),
        "log_pending is append-only: truncate refused"
      )
    })
  )
})

layer(testServices())("A challenge in the database", (it) => {
  const frozen = "challenges are frozen at creation and ended once"

  it.effect.each([
    ["id", "gen_random_uuid()"],
    ["kind", "'flash'"],
    ["target", "'ES'"],
    ["event_id", "null"],
    ["question", "'another'"],
    ["created_at", "created_at + interval '1 hour'"],
    ["deadline", "deadline - interval '1 minute'"],
    ["resolve_at", "resolve_at + interval '1 hour'"],
    ["close_price_until", "close_price_until + interval '1 hour'"],
    ["cancel_at", "cancel_at + interval '1 hour'"],
    ["open_price", "open_price + 0.000001"],
    ["dead_zone_pct", "dead_zone_pct + 0.1"],
    ["resolution_criteria", "resolution_criteria || ' '"],
    ["resolution_criteria_zh", "resolution_criteria_zh || ' '"]
  ] as const)("A challenge has a frozen %s", ([column, value]) =>
    Effect.gen(function* () {
      yield* freshWeek
      const challenge = yield* newChallenge()
      yield* SqlClient.SqlClient.use(
        (sql) => sql`
          insert into events (id, title, published_at, spaces, assets, created_at, updated_at)
          values ('e', 'e', '2026-01-01', '{}', '{}', '2026-01-01', '2026-01-01') on conflict do nothing`
      )
      const changed = column === "event_id" ? "'e'" : value
      assert.strictEqual(
        yield* refusal(
          (sql) => sql`
            update challenges set ${sql(column)} = ${sql.literal(changed)} where id = ${challenge.id}::uuid`
        ),
        frozen
      )
    })
  )

  it.effect("A challenge keeps its end: nothing reopens, resolves again or revives it", () =>
    Effect.gen(function* () {
      const { challenge } = yield* records
      const cancelled = yield* newChallenge()
      yield* Scoring.use((scoring) => scoring.void("directional", cancelled.id, "why"))
      for (const column of ["closed_at", "resolved_at"]) {
        for (const value of ["null", `${column} + interval '1 second'`]) {
          const changed = yield* refusal(
            (sql) => sql`
              update challenges set ${sql(column)} = ${sql.literal(value)} where id = ${challenge.id}::uuid`
          )
          assert.strictEqual(changed, frozen, `${column} = ${value}`)
        }
      }
      for (const value of ["cancelled_at = null, cancel_reason = null", "cancel_reason = 'another'"]) {
        const changed = yield* refusal(
          (sql) => sql`update challenges set ${sql.literal(value)} where id = ${cancelled.id}::uuid`
        )
        assert.strictEqual(changed, frozen, value)
      }
    })
  )

  it.effect(
    "A challenge closes at its deadline or later, resolves when closed, and is not cancelled, too",
    () =>
      Effect.gen(function* () {
        const { challenge: resolved } = yield* records
        const challenge = yield* newChallenge()
        const update = (id: string, change: string) =>
          refusal((sql) => sql`update challenges set ${sql.literal(change)} where id = ${id}::uuid`)
        assert.strictEqual(
          yield* update(challenge.id, "closed_at = deadline - interval '1 millisecond'"),
          "challenges_closed_after_deadline"
        )
        assert.strictEqual(
          yield* update(challenge.id, "resolved_at = resolve_at"),
          "challenges_resolved_when_closed"
        )
        assert.strictEqual(
          yield* update(resolved.id, "cancelled_at = resolve_at, cancel_reason = 'why'"),
          "challenges_one_end"
        )
        assert.strictEqual(
          yield* update(challenge.id, "cancelled_at = resolve_at"),
          "challenges_cancelled_with_reason"
        )
      })
  )
})

layer(testServices())("An amendment in the database", (it) => {
  it.effect("An amendment follows the version before it, on the same day, with a reason", () =>
    Effect.gen(function* () {
      const { challenge } = yield* records
      const again = (version: number, previous: string, changes: { day?: string; reason?: string } = {}) =>
        refusal(
          (sql) => sql`
            insert into settlements
              (challenge_id, version, previous_version, result, open_price, close_price, dead_zone_pct, source,
               observed_at, fetched_at, settled_at, day, reason)
            select challenge_id, ${version}, ${sql.literal(previous)}, result, open_price, close_price, dead_zone_pct,
                   source, observed_at, fetched_at, settled_at, ${sql.literal(changes.day ?? "day")},
                   ${sql.literal(changes.reason ?? "'why'")}
              from settlements where challenge_id = ${challenge.id}::uuid`
        )
      assert.strictEqual(yield* again(3, "2"), "settlements_amend_on_their_day")
      assert.strictEqual(yield* again(2, "1", { day: "day + 1" }), "settlements_amend_on_their_day")
      for (const previous of ["null::int", "2"]) {
        assert.strictEqual(yield* again(2, previous), "settlements_versions_follow")
      }
      assert.strictEqual(yield* again(2, "1", { reason: "null" }), "settlements_amendments_have_reason")
    })
  )
})

layer(testServices())("A prediction in the database", (it) => {
  /** A prediction of another agent: a copy of a valid one with these changes. */
  const forged = Effect.fnUntraced(function* (
    changes: Partial<Record<"received_at" | "deadline" | "body" | "salt" | "commit" | "confidence", string>>
  ) {
    const sql = yield* SqlClient.SqlClient
    const challenge = yield* newChallenge()
    yield* predict(yield* claimedAgent(), challenge)
    const forger = yield* claimedAgent()
    const value = (column: keyof typeof changes) => sql.literal(changes[column] ?? column)
    return sql`
      insert into predictions
        (challenge_id, agent_id, revision, id, direction, confidence, received_at, deadline, salt, body, commit)
      select challenge_id, ${forger}::uuid, 0, id, direction, ${value("confidence")}, ${value("received_at")},
             ${value("deadline")}, ${value("salt")}, ${value("body")}, ${value("commit")}
        from predictions where challenge_id = ${challenge.id}::uuid`
  })

  it.effect.each([
    ["is stamped before its deadline", { received_at: "deadline" }, "predictions_before_deadline"],
    [
      "has the deadline of its challenge",
      { deadline: "deadline + interval '1 day'", received_at: "deadline" },
      "predictions_challenge"
    ],
    ["has the commit of its body", { body: "body || ' '::bytea" }, "predictions_commit"],
    ["has the commit of its salt", { salt: "sha256(salt)" }, "predictions_commit"],
    ["has no other commit", { commit: "sha256(commit)" }, "predictions_commit"],
    ["has a salt of 32 bytes", { salt: "substring(salt from 2)" }, "predictions_salt"],
    ["has a confidence of at most 1", { confidence: "1.0000000001" }, "predictions_confidence"],
    ["has a confidence of at least 0", { confidence: "-0.0000000001" }, "predictions_confidence"]
  ] as const)("A prediction %s", ([, changes, constraint]) =>
    Effect.gen(function* () {
      yield* freshWeek
      const insert = yield* forged(changes)
      const refused = yield* refusal(() => insert)
      // A changed salt also breaks the commit; either guard will do.
      assert.include([constraint, "predictions_commit"], refused)
      if (constraint !== "predictions_salt") assert.strictEqual(refused, constraint)
    })
  )

  it.effect("A prediction is let in unforged: only the changes of the tests above are refused", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const insert = yield* forged({})
      yield* insert
    })
  )

  it.effect("A prediction is one per agent, challenge and revision", () =>
    Effect.gen(function* () {
      yield* freshWeek
      yield* predict(yield* claimedAgent(), yield* newChallenge())
      assert.strictEqual(
        yield* refusal((sql) => sql`insert into predictions select * from predictions limit 1`),
        "predictions_one_per_agent_and_challenge"
      )
    })
  )
})

layer(testServices())("An agent in the database", (it) => {
  it.effect("An agent uses no more predictions than it was promised while provisional", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const { agent_id } = yield* Registry.use((registry) => registry.register({ name: "a" }))
      const change = (set: string) =>
        refusal((sql) => sql`update agents set ${sql.literal(set)} where id = ${agent_id}::uuid`)
      assert.strictEqual(yield* change("predictions_used = prediction_limit + 1"), "agents_provisional_limit")
      const owner = yield* someOperator
      const claimed = `claimed_at = created_at, owner_id = '${owner}'`
      assert.strictEqual(yield* change(claimed), "agents_claimed_without_limit")
      assert.strictEqual(
        yield* change("claimed_at = created_at, prediction_limit = null"),
        "agents_claimed_by_owner"
      )
    })
  )

  it.effect("An agent is claimed once: neither its owner nor the moment changes, nor does a claim end", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { agent_id } = yield* Registry.use((registry) => registry.register({ name: "a" }))
      const owner = yield* someOperator
      const change = (set: string) =>
        asOwner(sql`update agents set ${sql.literal(set)} where id = ${agent_id}::uuid`)
      yield* change(`claimed_at = created_at, owner_id = '${owner}', prediction_limit = null`)
      for (const tampering of [
        "claimed_at = null, owner_id = null",
        "claimed_at = claimed_at + interval '1 day'"
      ]) {
        assert.isTrue(Exit.isFailure(yield* Effect.exit(change(tampering))), tampering)
      }
      yield* change("claimed_at = claimed_at, bio = 'x'")
    })
  )
})
