/** Reads cost as much as tables are long: each has a short time, few are made at once, and nobody else is slowed. */
import { assert, layer } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { onboardClaimed } from "../support/agents.ts"
import { newMacro } from "../support/challenges.ts"
import { times } from "../support/concurrently.ts"
import { anotherPool, asOwner, countOf } from "../support/database.ts"
import { newEvent } from "../support/discussion.ts"
import { publicFixture } from "../support/publicFixture.ts"
import { get, post, testServer } from "../support/server.ts"
import type { Answer } from "../support/server.ts"

/** Makes calls of `test_pause` take this long, once a transaction: beyond its limit, within other statements' limit. */
const pausing = (seconds: number) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql`
      create function test_pause() returns boolean language plpgsql as ${sql.literal(`$$
        begin
          if current_setting('test.paused', true) is distinct from 'yes' then
            perform set_config('test.paused', 'yes', true);
            perform pg_sleep(${seconds});
          end if;
          return true;
        end $$`)}`
  )

const slowBoards = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* publicFixture
  yield* asOwner(
    Effect.gen(function* () {
      yield* sql`update agents set model_provider = 'Acme' where reference is null`
      yield* sql`
        insert into agent_skill
          (board, agent_id, last_day, answered, skill_sum, peer_count, peer_sum, days, score_sum, deviation, weight, weighted,
           penalty, log_wealth, volume, verified)
        select board, agent_id, last_day, scored, 0.1, scored, 0.1, 1, 0.1, 0.1, 0.7, 0.4, 0.1, 0.1, scored, true from agent_stats`
      yield* sql`
        insert into agent_skill_months
          (board, month, agent_id, answered, skill_sum, peer_count, peer_sum, days, score_sum, deviation, weight, weighted,
           penalty, log_wealth)
        select board, '2026-03-01', agent_id, answered, skill_sum, peer_count, peer_sum, days, score_sum, deviation, weight,
               weighted, penalty, log_wealth
          from agent_skill`
      yield* sql`
        insert into boards (board, agents, updated_at)
        select 'skill ' || board, count(*), max(last_day) from agent_skill group by board on conflict do nothing`
      yield* pausing(1.6)
      for (const table of ["agent_stats", "agent_skill", "agent_skill_months"]) {
        yield* sql`alter table ${sql(table)} enable row level security`
        yield* sql`create policy slow on ${sql(table)} using (test_pause())`
      }
    })
  )
})

/** Words with "tarry" in them are compared slowly. */
const slowWords = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* publicFixture
  yield* asOwner(
    Effect.andThen(
      pausing(0.8),
      sql`
        create or replace function search_text(text text) returns text language plpgsql immutable as $$
          begin
            if text ilike '%tarry%' then perform test_pause(); end if;
            return lower(text);
          end $$`
    )
  )
})

const isRefused = ({ headers, status }: Answer): boolean =>
  status === 503 && headers.get("retry-after") === "1"

/** The most sleepers at once while the work is done. */
const sleepersDuring = <A, E, R>(work: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const running = yield* Effect.forkChild(work)
    let max = 0
    while (running.pollUnsafe() === undefined) {
      const sleepers = yield* countOf(
        (sql) => sql`
          select count(*)::int as count from pg_stat_activity
           where wait_event = 'PgSleep' and datname = current_database()`
      ).pipe(Effect.provide(anotherPool))
      max = Math.max(max, sleepers)
    }
    return { max, result: yield* Fiber.join(running) }
  })

/** Sends all paths at once, and beside them everybody else's reads, which are answered first. */
const beside = Effect.fnUntraced(function* (paths: ReadonlyArray<string>) {
  const { token } = yield* onboardClaimed()
  const { id } = yield* newMacro({ period: "2026-11" })
  const all = Effect.forEach(paths, (path) => get(path), { concurrency: "unbounded" })
  const { max, result } = yield* sleepersDuring(
    Effect.gen(function* () {
      const slow = yield* Effect.forkChild(all)
      const json = { predicted_value: 3.1, predicted_std: 0.1 }
      const others = [
        yield* get("/health/ready"),
        yield* get("/api/v1/eval/challenges"),
        yield* get("/api/v1/public/target-catalog"),
        yield* post(`/api/v1/eval/challenges/${id}/predict`, { token, json }),
        yield* get("/api/v1/agent/predictions", { token })
      ]
      assert.deepStrictEqual(
        others.map(({ status }) => status),
        [200, 200, 200, 201, 200]
      )
      return yield* Fiber.join(slow)
    })
  )
  assert.isAtMost(max, 2)
  for (const answer of result) assert.isTrue(isRefused(answer), answer.text)
})

layer(testServer())("A leaderboard that takes longer than a second", (it) => {
  it.effect("A leaderboard of many rows that takes too long is 503, which says when to try again", () =>
    Effect.gen(function* () {
      yield* slowBoards
      const [acme, months] = ["provider=Acme", "since=2026-01"]
      const paths = [
        acme,
        "provider=ACME&limit=1",
        `${acme}&order=average&category=commodities`,
        `${acme}&order=skill`,
        `${acme}&order=peer&category=commodities`,
        months,
        `${months}&order=peer`,
        `${months}&category=commodities`,
        `${months}&${acme}`
      ].map((query) => `/api/v1/eval/leaderboard?${query}`)
      const pages = [acme, `${months}&lang=zh`].map((query) => `/leaderboard?${query}`)
      const check = Effect.fnUntraced(function* (path: string) {
        const answer = yield* get(path)
        assert.isTrue(isRefused(answer), `${path} ${answer.text}`)
        if (path.startsWith("/api")) {
          assert.deepStrictEqual([answer.json["code"], answer.json["retry_after"]], ["unavailable", 1])
        }
      })
      yield* Effect.forEach([...paths, ...pages], check, { concurrency: 2 })
      // Only a page of a kept leaderboard is read.
      assert.strictEqual((yield* get("/api/v1/eval/leaderboard?order=skill")).status, 200)
    })
  )

  it.effect("A slow leaderboard slows nobody else, and few are made at once: the others are refused", () =>
    beside([
      ...times(15, () => "/api/v1/eval/leaderboard?since=2026-01"),
      ...times(15, () => "/leaderboard?provider=Acme")
    ])
  )
})

layer(testServer())("A search that takes longer than half a second", (it) => {
  it.effect("A search that takes too long is 503, which says when to try again; others succeed", () =>
    Effect.gen(function* () {
      yield* slowWords
      yield* newEvent({ title: "OPEC cuts its output again" })
      const slow = ["tarry", "Tarrying", "gold tarry", "tarry on the way", "opec+tarry"]
      const answers = yield* Effect.forEach(slow, (words) => get(`/search?q=${encodeURIComponent(words)}`), {
        concurrency: 2
      })
      for (const answer of answers) assert.isTrue(isRefused(answer), answer.text)
      for (const words of ["opec", "OUTPUT again", "gold"]) {
        assert.strictEqual((yield* get(`/search?q=${encodeURIComponent(words)}`)).status, 200, words)
      }
    })
  )

  it.effect("A slow search slows nobody else, and few are made at once: the others are refused", () =>
    beside(times(30, (index) => `/search?q=tarry${index}`))
  )
})

layer(testServer({ environment: { AUSPEX_PUBLIC_CACHE: "5 seconds" } }))("The results of a search", (it) => {
  it.effect("A search's results are kept by its words, however they are written, and made anew in time", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const world = yield* publicFixture
      const named = (name: string | null) =>
        asOwner(sql`update agents set model_name = ${name} where id = ${world.first}::uuid`)
      const isFound = (query: string) =>
        Effect.map(get(`/search?${query}`), ({ text }) => text.includes("First Light"))
      yield* named("Zephyr Ångström")
      assert.isTrue(yield* isFound(`q=${encodeURIComponent("Zephyr Ångström")}`))
      assert.isTrue(yield* isFound("q=Zephyr"))
      yield* named(null)
      const same = ["zephyr", " Zephyr", "ZEPHYR", "(zephyr)", "zephyr?", "«Zephyr»", "zephyr ångström"]
      for (const words of [...same, "ZEPHYR   ÅNGSTRÖM", "Zephyr, Ångström!"]) {
        assert.isTrue(yield* isFound(`q=${encodeURIComponent(words)}`), words)
      }
      assert.isTrue(yield* isFound("q=zephyr&lang=zh"))
      for (const words of ["zephy", "zephyr x", "ephyr", "ångström zephyr"]) {
        assert.isFalse(yield* isFound(`q=${encodeURIComponent(words)}`), words)
      }
      yield* TestClock.adjust("5 seconds")
      assert.isFalse(yield* isFound("q=zephyr"))
    })
  )
})
