/** Limits of gateway keys by day, week and month beside the one of all time: counted, shown, reset, and mailed to owners. */
import { assert, layer } from "@effect/vitest"
import { Clock, Context, DateTime, Effect, Layer, Random, Result } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import * as Billing from "../../src/layers/postgres/gateway/GatewayBilling.ts"
import { GatewayAlerts } from "../../src/services/GatewayAlerts.ts"
import { GatewayBilling } from "../../src/services/GatewayBilling.ts"
import type { OpenCall } from "../../src/services/GatewayBilling.ts"
import { GatewayKeys } from "../../src/services/GatewayKeys.ts"
import type { GatewayKeyChange, LimitPeriod } from "../../src/services/GatewayKeys.ts"
import { Notices } from "../../src/services/Notices.ts"
import { Mailer } from "../../src/services/Mailer.ts"
import type { AgentId } from "../../src/services/domain/ids.ts"
import { times } from "../support/concurrently.ts"
import { answeredCall, chat, gatewayServer, spender } from "../support/gateway.ts"
import { Mailbox } from "../support/mailbox.ts"
import { get } from "../support/server.ts"
import { testServices } from "../support/services.ts"

const credits = (amount: number) => BigInt(Math.round(amount * 1_000_000))

/** An answer has 9 tokens and costs 9 credits; `max_tokens` are reserved. */
const models = [
  { name: "dear", price: [0, 1] as const, routes: [{ provider: "north" as const, model: "plain" }] }
]
const call = { model: "dear", max_tokens: 10 }

const limitsOf = (key: string) =>
  Effect.map(get("/api/v1/llm/keys/self", { token: key }), ({ json }) => json["limits"])

layer(gatewayServer(models, {}, "usual"))("A limit of a key", (it) => {
  it.effect("A limit by day is of the UTC day: an uncovered call is 402 with its name, until midnight", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.UTC(2026, 2, 31, 23, 50))
      const { key } = yield* spender(1000, { daily_limit: credits(20) })
      assert.strictEqual((yield* chat(key, call)).status, 200)
      assert.strictEqual((yield* chat(key, call)).headers.get("x-auspex-credit-left"), "2")
      const refused = yield* chat(key, call)
      assert.deepStrictEqual([refused.status, refused.json["code"]], [402, "insufficient_credit"])
      assert.strictEqual(
        refused.json["detail"],
        "The call may cost up to 10 credits, and the key's daily_limit leaves 2: lower max_tokens to 2, or use a key with a higher daily_limit, or wait until it begins anew at 00:00 UTC."
      )
      assert.deepStrictEqual(yield* limitsOf(key), [
        { period: "day", limit: 20, spent: 18, reserved: 0, left: 2, resets_at: "2026-04-01T00:00:00.000Z" }
      ])
      yield* TestClock.adjust("10 minutes")
      assert.deepStrictEqual(yield* limitsOf(key), [
        { period: "day", limit: 20, spent: 0, reserved: 0, left: 20, resets_at: "2026-04-02T00:00:00.000Z" }
      ])
      assert.strictEqual((yield* chat(key, call)).status, 200)
    })
  )

  it.effect("A limit by week begins on Monday, by month on the first, and each call counts in all", () =>
    Effect.gen(function* () {
      // The day is a Tuesday.
      yield* TestClock.setTime(Date.UTC(2026, 2, 31, 12))
      const limits = { credit_limit: credits(99), weekly_limit: credits(30), monthly_limit: credits(15) }
      const { key } = yield* spender(1000, limits)
      assert.strictEqual((yield* chat(key, call)).status, 200)
      const { json } = yield* chat(key, call)
      assert.include(String(json["detail"]), "the key's monthly_limit leaves 6")
      yield* TestClock.adjust("12 hours")
      assert.strictEqual((yield* chat(key, call)).status, 200)
      assert.deepStrictEqual(yield* limitsOf(key), [
        { period: "total", limit: 99, spent: 18, reserved: 0, left: 81, resets_at: null },
        {
          period: "week",
          limit: 30,
          spent: 18,
          reserved: 0,
          left: 12,
          resets_at: "2026-04-06T00:00:00.000Z"
        },
        {
          period: "month",
          limit: 15,
          spent: 9,
          reserved: 0,
          left: 6,
          resets_at: "2026-05-01T00:00:00.000Z"
        }
      ])
    })
  )

  it.effect("A limit shows the reservations of calls under way, and frees what they do not cost", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.UTC(2026, 4, 5))
      const { agentId, key, keyId } = yield* spender(1000, { daily_limit: credits(20) })
      const billing = yield* GatewayBilling
      const open = yield* openCall({ agentId, keyId }, 1, credits(15))
      assert.strictEqual(yield* billing.reserve(open), credits(5))
      const reserved = { period: "day", limit: 20, reserved: 15, spent: 0, left: 5 }
      const resets_at = "2026-05-06T00:00:00.000Z"
      assert.deepStrictEqual(yield* limitsOf(key), [{ ...reserved, resets_at }])
      const refused = yield* chat(key, call)
      assert.deepStrictEqual([refused.status, refused.json["code"]], [402, "credit_in_flight"])
      const settled = yield* billing.settle(answeredCall(open, { cost: credits(4) }))
      assert.deepStrictEqual(settled, { charged: credits(4), left: credits(16) })
      assert.deepStrictEqual(yield* limitsOf(key), [
        { period: "day", limit: 20, spent: 4, reserved: 0, left: 16, resets_at }
      ])
    })
  )

  it.effect("A call counts on the day on which it began, even if it ends on another", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.UTC(2026, 5, 9, 23, 59))
      const { agentId, key, keyId } = yield* spender(1000, {
        daily_limit: credits(20),
        monthly_limit: credits(50)
      })
      const billing = yield* GatewayBilling
      const open = yield* openCall({ agentId, keyId }, 2, credits(15))
      yield* billing.reserve(open)
      yield* TestClock.adjust("2 minutes")
      assert.strictEqual((yield* chat(key, call)).status, 200)
      yield* billing.settle(answeredCall(open, { cost: credits(12) }))
      assert.deepStrictEqual(yield* limitsOf(key), [
        { period: "day", limit: 20, spent: 9, reserved: 0, left: 11, resets_at: "2026-06-11T00:00:00.000Z" },
        {
          period: "month",
          limit: 50,
          spent: 21,
          reserved: 0,
          left: 29,
          resets_at: "2026-07-01T00:00:00.000Z"
        }
      ])
    })
  )

  it.effect("A limit that is set later counts the period's charges, and calls under way", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.UTC(2026, 6, 1, 12))
      const { agentId, key, keyId } = yield* spender(1000)
      const [billing, keys] = [yield* GatewayBilling, yield* GatewayKeys]
      assert.strictEqual((yield* chat(key, call)).status, 200)
      yield* TestClock.adjust("1 day")
      assert.strictEqual((yield* chat(key, call)).status, 200)
      const open = yield* openCall({ agentId, keyId }, 3, credits(5))
      yield* billing.reserve(open)
      const change = (fields: GatewayKeyChange) => keys.update({ kind: "agent", id: agentId }, keyId, fields)
      const tooLow = yield* Effect.flip(change({ credit_limit: credits(22) }))
      assert.include(
        tooLow.detail,
        "credit_limit: Expected at least 23: the key has spent 18, and calls under way have reserved 5"
      )
      yield* change({ credit_limit: credits(100), daily_limit: credits(10) })
      const total = { period: "total", limit: 100, reserved: 5, spent: 18, left: 77, resets_at: null }
      const resets_at = "2026-07-03T00:00:00.000Z"
      assert.deepStrictEqual(yield* limitsOf(key), [
        total,
        { period: "day", limit: 10, spent: 9, reserved: 5, left: 0, resets_at }
      ])
      assert.strictEqual((yield* chat(key, call)).status, 402)
      yield* billing.settle(answeredCall(open, { cost: 0n }))
      yield* change({ daily_limit: null })
      assert.deepStrictEqual(yield* limitsOf(key), [{ ...total, reserved: 0, left: 82 }])
      assert.strictEqual((yield* chat(key, call)).status, 200)
    })
  )
})

const callIds = (number: number) => `0190f000-0000-7000-8000-${String(number).padStart(12, "0")}`

const openCall = (holder: OpenCall["holder"], number: number, reserved: bigint): Effect.Effect<OpenCall> =>
  Effect.map(Clock.currentTimeMillis, (createdAt) => ({
    callId: callIds(number),
    holder,
    requestId: `call ${number}`,
    model: "dear",
    style: "openai",
    stream: false,
    reserved,
    createdAt
  }))

const own = (agentId: AgentId) => ({ kind: "agent", id: agentId }) as const

layer(testServices())("Limits of a key", (it) => {
  it.effect("Concurrent calls on two instances never overspend limits, whatever they cost and last", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.UTC(2026, 7, 28))
      const max = { total: credits(400), day: credits(40), week: credits(90), month: credits(150) }
      const { agentId, keyId } = yield* spender(100_000, {
        credit_limit: max.total,
        daily_limit: max.day,
        weekly_limit: max.week,
        monthly_limit: max.month
      })
      const here = yield* GatewayBilling
      const there = Context.get(yield* Layer.build(Layer.fresh(Billing.layer)), GatewayBilling)
      const sql = yield* SqlClient.SqlClient
      const charged = new Map<string, bigint>()
      const periodsOf = (at: DateTime.Utc): ReadonlyArray<readonly [LimitPeriod, string]> => {
        const begins = (unit: "day" | "week" | "month") =>
          DateTime.formatIso(DateTime.startOf(at, unit, { weekStartsOn: 1 }))
        return [
          ["total", "total"],
          ["day", `day ${begins("day")}`],
          ["week", `week ${begins("week")}`],
          ["month", `month ${begins("month")}`]
        ]
      }
      let open: ReadonlyArray<{ readonly call: OpenCall; readonly at: DateTime.Utc }> = []
      let numbers = 1000
      let refused = 0
      for (let round = 0; round < 40; round++) {
        const now = yield* DateTime.now
        const calls = yield* Effect.forEach(
          times(6, () => numbers++),
          (number) =>
            Effect.flatMap(Random.nextIntBetween(1, 12_000_000), (amount) =>
              openCall({ agentId, keyId }, number, BigInt(amount))
            )
        )
        const results = yield* Effect.forEach(
          calls,
          (each, index) => Effect.result((index % 2 === 0 ? here : there).reserve(each)),
          { concurrency: "unbounded" }
        )
        refused += results.filter(Result.isFailure).length
        const begun = calls.filter((_, index) => {
          const result = results[index]
          return result !== undefined && Result.isSuccess(result)
        })
        const all = [...open, ...begun.map((each) => ({ call: each, at: now }))]
        // About half of the calls end now, at any cost up to their reservation.
        const ends = yield* Effect.forEach(all, () => Random.nextBoolean)
        const ended = all.filter((_, index) => ends[index])
        open = all.filter((_, index) => !ends[index])
        yield* Effect.forEach(
          ended,
          Effect.fnUntraced(function* ({ at, call: each }, index) {
            const cost = BigInt(yield* Random.nextIntBetween(0, Number(each.reserved) + 1))
            yield* (index % 2 === 0 ? there : here).settle(answeredCall(each, { cost }))
            for (const [, name] of periodsOf(at)) charged.set(name, (charged.get(name) ?? 0n) + cost)
          }),
          { concurrency: "unbounded" }
        )
        const { limits } = yield* GatewayKeys.use((keys) => keys.find(own(agentId), keyId))
        for (const [period, name] of periodsOf(now)) {
          const held = open
            .filter(({ at }) => periodsOf(at).some(([, each]) => each === name))
            .reduce((sum, { call: each }) => sum + each.reserved, 0n)
          const spent = charged.get(name) ?? 0n
          assert.isAtMost(Number(spent + held), Number(max[period]), `${name}, round ${round}`)
          const shown = limits.find((each) => each.period === period)
          assert.deepStrictEqual([shown?.spent, shown?.reserved], [spent, held], `${name}, round ${round}`)
        }
        yield* TestClock.adjust(`${yield* Random.nextIntBetween(0, 16)} hours`)
      }
      assert.isAbove(refused, 20)
      const [row] =
        yield* sql`select spent + held <= credit_limit as ok from gateway_keys where id = ${keyId}::uuid`
      assert.deepStrictEqual(row, { ok: true })
    }).pipe(Random.withSeed("limits of a key"))
  )

  it.effect("Counters stay exact while limits are set and removed during calls", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.UTC(2026, 8, 1))
      const { agentId, keyId } = yield* spender(100_000)
      const [billing, keys] = [yield* GatewayBilling, yield* GatewayKeys]
      const finished = Effect.fnUntraced(function* (number: number) {
        const open = yield* openCall({ agentId, keyId }, number, credits(1))
        yield* billing.reserve(open)
        yield* billing.settle(answeredCall(open, { cost: credits(0.5) }))
      })
      const changes = times(20, (index) =>
        keys.update(own(agentId), keyId, { daily_limit: index % 2 === 0 ? credits(10_000) : null })
      )
      yield* Effect.all(
        [
          Effect.forEach(
            times(120, (index) => 5000 + index),
            finished,
            { concurrency: 8 }
          ),
          Effect.all(changes)
        ],
        { concurrency: "unbounded" }
      )
      yield* keys.update(own(agentId), keyId, { daily_limit: credits(10_000) })
      // The counters are not computed anew: they come from concurrent calls and changes.
      const open = yield* openCall({ agentId, keyId }, 5999, credits(1))
      yield* billing.reserve(open)
      const { limits } = yield* keys.find(own(agentId), keyId)
      assert.deepStrictEqual(
        limits.map(({ reserved, spent }) => [spent, reserved]),
        [[credits(60), credits(1)]]
      )
    })
  )
})

layer(testServices())("The owner of a key", (it) => {
  const spend = Effect.fnUntraced(function* (
    { agentId, keyId }: OpenCall["holder"],
    number: number,
    reserved: number,
    cost: number
  ) {
    const billing = yield* GatewayBilling
    const open = yield* openCall({ agentId, keyId }, number, credits(reserved))
    const result = yield* Effect.result(billing.reserve(open))
    if (Result.isSuccess(result)) yield* billing.settle(answeredCall(open, { cost: credits(cost) }))
    return Result.isSuccess(result)
  })

  /** The subjects of new mails. */
  const mailed = Effect.gen(function* () {
    const { delivered } = yield* Mailbox
    const before = delivered.length
    yield* GatewayAlerts.use((alerts) => alerts.sendDue)
    yield* Mailer.use((mailer) => mailer.drain)
    return delivered.slice(before).map(({ subject }) => subject)
  })

  const owned = Effect.fnUntraced(function* (address: string, key: Parameters<typeof spender>[1]) {
    const sql = yield* SqlClient.SqlClient
    const made = yield* spender(1000, { name: "night shift", ...key })
    yield* sql`
      update operators set email = ${address}, mailbox = ${address}
       where id = (select owner_id from agents where id = ${made.agentId}::uuid)`
    return made
  })

  const nearly = "80 % spent of the limit of your key night shift"
  const spent = "Spent: the limit of your key night shift"

  it.effect("An owner gets one mail at 80 % of a limit and one when all is spent, in each period", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.UTC(2026, 9, 5))
      const holder = yield* owned("ada@example.org", { daily_limit: credits(10) })
      yield* spend(holder, 1, 7.9, 7.9)
      assert.deepStrictEqual(yield* mailed, [])
      yield* spend(holder, 2, 0.2, 0.2)
      assert.deepStrictEqual(yield* mailed, [nearly])
      yield* spend(holder, 3, 0.2, 0.2)
      assert.deepStrictEqual(yield* mailed, [])
      yield* spend(holder, 4, 1.7, 1.7)
      assert.deepStrictEqual(yield* mailed, [spent])
      assert.isFalse(yield* spend(holder, 5, 1, 1))
      assert.deepStrictEqual(yield* mailed, [])
      const { advance, read } = yield* Notices
      yield* advance
      const told = yield* read(holder.agentId, { after: undefined, types: ["credit.low"], limit: 10 })
      assert.deepStrictEqual<unknown>(
        told.notices.map(({ notice }) => [notice.subject, notice.data]),
        [80, 100].map((percent) => [{ key_id: holder.keyId }, { period: "day", limit: 10, percent }])
      )
      yield* TestClock.adjust("1 day")
      yield* spend(holder, 6, 9, 9)
      assert.deepStrictEqual(yield* mailed, [nearly])
    })
  )

  it.effect("An owner learns that a limit is spent as soon as it refuses a call for good", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.UTC(2026, 9, 5))
      const holder = yield* owned("bob@example.org", { credit_limit: credits(10) })
      const billing = yield* GatewayBilling
      yield* spend(holder, 11, 8.5, 8.5)
      const open = yield* openCall(holder, 12, credits(1))
      yield* billing.reserve(open)
      assert.isFalse(yield* spend(holder, 13, 1, 1))
      assert.deepStrictEqual(yield* mailed, [nearly])
      yield* billing.settle(answeredCall(open, { cost: 0n }))
      assert.isFalse(yield* spend(holder, 14, 2, 2))
      assert.isFalse(yield* spend(holder, 15, 2, 2))
      assert.deepStrictEqual(yield* mailed, [spent])
      // A higher limit counts as another one.
      const keys = yield* GatewayKeys
      yield* keys.update(own(holder.agentId), holder.keyId, { credit_limit: credits(11) })
      yield* spend(holder, 16, 1.5, 1.5)
      assert.deepStrictEqual(yield* mailed, [nearly])
    })
  )

  it.effect("An owner gets one mail of calls that pass both marks, however many instances look", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.UTC(2026, 9, 5))
      const holder = yield* owned("eve@example.org", { weekly_limit: credits(10) })
      yield* Effect.forEach(
        times(10, (index) => 21 + index),
        (number) => spend(holder, number, 1, 1),
        {
          concurrency: "unbounded"
        }
      )
      const alerts = yield* GatewayAlerts
      const sent = yield* Effect.all(
        times(4, () => alerts.sendDue),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(
        sent.reduce((sum, count) => sum + count, 0),
        1
      )
      assert.deepStrictEqual(yield* mailed, [spent])
      const sql = yield* SqlClient.SqlClient
      assert.strictEqual((yield* sql`select 1 from gateway_alerts where told_at is null`).length, 0)
    })
  )
})
