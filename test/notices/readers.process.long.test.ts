/** Readers of every kind under load, with instances killed and PostgreSQL restarted, and the notices that each gets in the end. */
import { join } from "node:path"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Console, Duration, Effect, Random, Schema } from "effect"
import { SqlClient } from "effect/sql"
import * as EmbeddedPostgres from "../../src/layers/embedded/EmbeddedPostgres.ts"
import { noticeTypes } from "../../src/services/Notices.ts"
import { seedOfRun } from "../support/breadth.ts"
import { makeQuery } from "../support/faults/database.ts"
import { room } from "../support/faults/oneMachine.ts"
import { makeAgents, makeDueChallenge, makePrices, secret } from "../support/faults/population.ts"
import { keep } from "../support/faults/processes.ts"
import { readAll, startPolling, startReceiving, startStreaming } from "../support/noticeReaders.ts"
import type { Told } from "../support/noticeReaders.ts"
import {
  cleared,
  freePort,
  replicaEnvironment,
  temporaryDirectory,
  until,
  whenReady
} from "../support/process.ts"
import { testAdminToken } from "../support/settings.ts"

const span = Duration.minutes(2)
/** The load goes on until this many events are published, however slow the machine is. */
const enough = 60
/** The number of readers of each kind: long polls, streams and webhooks of agents, streams and polls of public notices. */
const each = 40

const posted = (url: string, token: string | null, body: unknown) =>
  Effect.tryPromise(async (signal): Promise<unknown> => {
    const response = await fetch(url, {
      method: "POST",
      signal,
      headers: {
        "content-type": "application/json",
        ...(token !== null && { authorization: `Bearer ${token}` })
      },
      body: JSON.stringify(body)
    })
    const answer: unknown = await response.json()
    if (response.status >= 300)
      throw new Error(`${url} answered ${response.status} ${JSON.stringify(answer)}`)
    return answer
  })

const Token = Schema.Struct({ access_token: Schema.String })
const Start = Schema.Struct({ next_cursor: Schema.String })

describe("Readers cut off again and again while instances and PostgreSQL are killed", () => {
  it.live("Readers of every kind are told every notice once, in order, and none is missing", () =>
    Effect.gen(function* () {
      const dataDir = join(yield* temporaryDirectory, "postgres")
      yield* cleared(dataDir)
      const postgres = yield* EmbeddedPostgres.start({ dataDir, settings: { fsync: "off" } })
      const environment = replicaEnvironment(postgres.ownerUrl, {
        ...room,
        AUSPEX_LIMIT_UNIDENTIFIED: "1000000/minute",
        AUSPEX_LIMIT_COMMENTS: "1000000/minute",
        AUSPEX_LIMIT_TOKEN_FAILURES: "1000000/minute"
      })
      const query = makeQuery(Effect.succeed(postgres.ownerUrl))
      const one = yield* keep({ environment, port: yield* freePort })
      yield* whenReady(one.current())
      const other = yield* keep({ environment, port: yield* freePort })
      yield* whenReady(other.current())
      const instance = Effect.map(Random.nextBoolean, (first) => (first ? one : other).current().url)

      // These agents predict the challenges that settle, too.
      const agents = [
        ...(yield* query(makeAgents("voter", 2 * each))),
        // An owner and its agents may have 20 webhooks.
        ...(yield* query(makeAgents("hooked", each / 2))),
        ...(yield* query(makeAgents("also hooked", each / 2)))
      ]
      yield* query(makePrices(Duration.sum(span, Duration.minutes(2))))
      const tokens = yield* Effect.forEach(
        agents,
        (agent_id) =>
          Effect.flatMap(instance, (url) =>
            posted(`${url}/api/v1/agent/auth/token`, null, {
              grant_type: "client_credentials",
              agent_id,
              client_secret: secret
            })
          ).pipe(Effect.flatMap(Schema.decodeUnknownEffect(Token))),
        { concurrency: 8 }
      )
      const startOf = Effect.fnUntraced(function* (token: string | null) {
        const url = `${yield* instance}/api/v1/${token === null ? "public" : "agent"}/notices`
        const answer = yield* Effect.tryPromise((signal) =>
          fetch(url, { signal, headers: token === null ? {} : { authorization: `Bearer ${token}` } }).then(
            (response): Promise<unknown> => response.json()
          )
        )
        return (yield* Schema.decodeUnknownEffect(Start)(answer)).next_cursor
      })
      const own = yield* Effect.forEach(
        agents,
        (agentId, index) => {
          const token = tokens[index]?.access_token ?? ""
          return Effect.map(startOf(token), (start) => ({ agentId, token, instance, start }))
        },
        { concurrency: 8 }
      )
      const everybody = { agentId: null, token: null, instance, start: yield* startOf(null) }
      const receiver = yield* startReceiving(seedOfRun)
      const hooked = own.slice(2 * each)
      yield* Effect.forEach(
        hooked,
        ({ agentId, token }) =>
          Effect.flatMap(instance, (url) =>
            posted(`${url}/api/v1/agent/webhooks`, token, {
              url: receiver.urlOf(agentId),
              types: noticeTypes
            })
          ),
        { concurrency: 8 }
      )
      const readers: ReadonlyArray<Told> = [
        ...(yield* Effect.forEach(own.slice(0, each), startPolling)),
        ...(yield* Effect.forEach(own.slice(each, 2 * each), startStreaming)),
        ...(yield* Effect.replicateEffect(startStreaming(everybody), each)),
        ...(yield* Effect.replicateEffect(startPolling(everybody), each)),
        ...hooked.map(({ agentId }) => receiver.of(agentId))
      ]

      const began = yield* Clock.currentTimeMillis
      let confirmed = 0
      const lasting = Effect.map(
        Clock.currentTimeMillis,
        (now) => now - began < Duration.toMillis(span) || confirmed < enough
      )
      /** Repeats a load, successful or not: the database decides. */
      const again = (load: Effect.Effect<unknown, unknown>, pause: Duration.Input) =>
        Effect.gen(function* () {
          while (yield* lasting) {
            yield* Effect.timeoutOption(load, "5 seconds").pipe(Effect.ignore)
            yield* Effect.sleep(pause)
          }
        })
      let events = 0
      const publish = Effect.gen(function* () {
        events += 1
        yield* posted(`${yield* instance}/api/v1/admin/events`, testAdminToken, {
          events: [{ event_id: `event-${events}`, title: `Event ${events}` }]
        })
        confirmed += 1
      })
      const mention = Effect.gen(function* () {
        const drawn = yield* Effect.replicateEffect(Random.nextIntBetween(0, agents.length), 10)
        const mentions = drawn.map((index) => `@${agents[index]}`).join(" ")
        yield* posted(`${yield* instance}/api/v1/agent/comments`, tokens[0]?.access_token ?? "", {
          news_id: "event-1",
          content: `What do you say? ${mentions}`
        })
      })
      const ready = Effect.suspend(() => Effect.all([whenReady(one.current()), whenReady(other.current())]))
      const killPostgres = Effect.sync(() => process.kill(postgres.pid, "SIGKILL"))
      const faults: ReadonlyArray<Effect.Effect<unknown>> = [
        one.end("SIGKILL"),
        killPostgres,
        other.end("SIGKILL"),
        killPostgres,
        one.end("SIGTERM")
      ]
      const pause = Duration.times(span, 1 / (faults.length + 1))
      yield* Effect.all(
        [
          again(publish, "50 millis"),
          again(mention, "200 millis"),
          again(query(makeDueChallenge), "2 seconds"),
          // An instance that starts while PostgreSQL is away ends, and would have to be started again.
          Effect.forEach(faults, (strike) =>
            Effect.andThen(Effect.delay(strike, pause), Effect.andThen(Effect.sleep("500 millis"), ready))
          )
        ],
        { concurrency: "unbounded", discard: true }
      )

      const Left = Schema.Struct({ settled: Schema.Boolean })
      yield* until(
        "everything that fell due is settled, and has its place",
        query(
          Effect.gen(function* () {
            const sql = yield* SqlClient.SqlClient
            const [row] = yield* sql`
              select not exists (select from challenges where resolved_at is null)
                 and not exists (select from notices where seq is null) as settled`
            return (yield* Schema.decodeUnknownEffect(Left)(row)).settled
          })
        ).pipe(Effect.orElseSucceed(() => false))
      )
      const truth = new Map<string | null, ReadonlyArray<string>>()
      for (const reading of [...own, everybody]) truth.set(reading.agentId, yield* readAll(reading))
      const isTold = ({ agentId, ids }: Told) => ids().length >= (truth.get(agentId)?.length ?? 0)
      yield* until(
        "everybody is told everything",
        Effect.sync(() => readers.every(isTold))
      ).pipe(Effect.ignore)
      const published = truth.get(null) ?? []
      yield* Console.log(
        `${readers.length} readers, ${published.length} public notices, up to ${Math.max(...[...truth.values()].map((ids) => ids.length))} for one; all were told after ${(yield* Clock.currentTimeMillis) - began} ms`
      )
      assert.isAtLeast(published.length, enough)
      const wrong = readers.flatMap(({ agentId, ids, kind }) => {
        const expected = truth.get(agentId) ?? []
        const got = ids()
        // A repeated delivery comes after others.
        const inOrder = kind === "webhook" ? expected.filter((id) => got.includes(id)) : got
        const missing = expected.filter((id) => !got.includes(id))
        return got.length === expected.length && inOrder.every((id, index) => id === expected[index])
          ? []
          : [{ kind, agentId, told: got.length, expected: expected.length, missing: missing.slice(0, 5) }]
      })
      assert.deepStrictEqual(wrong, [])
      const [inDatabase] = yield* query(
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          return (yield* sql`select id::text from notices where agent_id is null order by seq`.values).map(
            ([id]) => String(id)
          )
        }).pipe(Effect.map((ids) => [ids]))
      )
      assert.deepStrictEqual(published, inDatabase)
      assert.deepStrictEqual([...(yield* one.deaths), ...(yield* other.deaths)], [])
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )
})
