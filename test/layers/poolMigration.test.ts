/** Databases that had macro challenges before there were pools. */
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect, Layer, Schema } from "effect"
import { Migrator, SqlClient } from "effect/sql"
import * as Database from "../../src/layers/postgres/Database.ts"
import { services } from "../../src/layers/postgres/layer.ts"
import { migrations } from "../../src/layers/postgres/migrations/index.ts"
import { Arenas } from "../../src/services/Arenas.ts"
import { Credits } from "../../src/services/Credits.ts"
import { firstPage, instant, millisBefore, moveTo, rowsOf } from "../support/builders.ts"
import { emptyDatabase, poolOn } from "../support/database.ts"
import { credits, stateOf } from "../support/ledger.ts"
import { logSigner } from "../support/logSigner.ts"
import { mailbox } from "../support/mailbox.ts"
import { agentsApart, creditFor, forecastsOn, stakeOn } from "../support/pools.ts"
import { settings } from "../support/settings.ts"

const migrateTo0014 = Migrator.make({})({
  loader: Migrator.fromRecord(
    Object.fromEntries(Object.entries(migrations).filter(([name]) => name < "0015"))
  )
})

const deadline = instant("2026-03-02T12:00:00Z")
const idOf = (n: number) => `0190c000-0000-7000-8000-00000000000${n}`
const [resolved, voided, closed, open, unfunded] = [1, 2, 3, 4, 5].map(idOf)

const late = idOf(6)

const challenge = Effect.fnUntraced(function* (
  id: string,
  ended: { readonly closed?: boolean; readonly resolved?: boolean; readonly cancelled?: boolean },
  rewardPool = 1_000_000_001n
) {
  const sql = yield* SqlClient.SqlClient
  const at = DateTime.toDateUtc(deadline)
  yield* sql`
    insert into challenges
      (id, type, kind, target, question, created_at, deadline, resolve_at, close_price_until, cancel_at,
       resolution_criteria, resolution_criteria_zh, period, bin_edges, reference_scale, reward_pool, closed_at,
       resolved_at, cancelled_at, cancel_reason)
    values (${id}::uuid, 'macro', 'macro', 'CPI', 'How much?', ${at}::timestamptz - interval '1 day', ${at}, ${at},
            ${at}::timestamptz + interval '60 days', ${at}::timestamptz + interval '60 days', 'criteria', 'criteria',
            '2026-03', '{3,3.1}', 0.12, ${rewardPool}, ${ended.closed === true ? at : null},
            ${ended.resolved === true ? at : null}, ${ended.cancelled === true ? at : null},
            ${ended.cancelled === true ? "never published" : null})`
  if (ended.resolved === true) {
    yield* sql`
      insert into settlements
        (challenge_id, version, actual_value, reference_scale, source, observed_at, fetched_at, settled_at, day)
      values (${id}::uuid, 1, 3.2, 0.12, 'admin', ${at}, ${at}, ${at}, '2026-03-02')`
  }
})

describe("A database from before there were pools", () => {
  it.effect("has pools for the challenges that are under way, and none for those that have ended", () =>
    Effect.gen(function* () {
      const url = yield* emptyDatabase
      const built = services.pipe(
        Layer.provideMerge(Layer.mergeAll(poolOn(url), settings(), mailbox, logSigner()))
      )
      yield* moveTo(deadline)
      yield* Effect.gen(function* () {
        yield* migrateTo0014
        yield* challenge(resolved ?? "", { closed: true, resolved: true })
        yield* challenge(voided ?? "", { cancelled: true })
        yield* challenge(closed ?? "", { closed: true })
        yield* challenge(open ?? "", {})
        yield* challenge(unfunded ?? "", {}, 0n)
        yield* Database.migrate("global")
      }).pipe(Effect.provide(poolOn(url)))
      yield* Effect.gen(function* () {
        const pools = yield* rowsOf(
          Schema.Struct({ id: Schema.String, posted: Schema.BigInt }),
          (sql) => sql`select challenge_id::text as id, posted from accounts where kind = 'pool' order by 1`
        )
        assert.deepStrictEqual(pools, [
          { id: idOf(1), posted: 0n },
          { id: idOf(2), posted: 0n },
          { id: idOf(3), posted: 1_250_000_002n },
          { id: idOf(4), posted: 1_250_000_002n },
          { id: idOf(5), posted: 0n }
        ])
        const differences = Effect.map(
          Credits.use((service) => service.check),
          (checked) => checked.differences
        )
        assert.deepStrictEqual(yield* differences, [])
        yield* Arenas.use(({ macro }) => macro.resolve(closed ?? "", 3.05))
        yield* Arenas.use(({ macro }) => macro.void(open ?? "", "never published"))
        assert.deepStrictEqual(yield* stateOf("treasury"), { posted: 0n, held: 0n })
        const poolOf = (id: string | undefined) =>
          Effect.map(
            Arenas.use((arenas) => arenas.results(id ?? "", firstPage)),
            ({ pool }) => pool
          )
        // Made by a replica that still runs the program from before: nobody has funded its pool.
        yield* challenge(late, { closed: true })
        yield* moveTo(millisBefore(deadline, 1))
        const [winner] = yield* agentsApart(1)
        assert(winner !== undefined)
        yield* creditFor([winner])
        yield* forecastsOn({ id: late }, [{ agentId: winner, value: 3.05, std: 0.1 }])
        yield* stakeOn({ id: late }, [{ agentId: winner, bin: 1, amount: credits(100) }])
        yield* moveTo(deadline)
        yield* Arenas.use(({ macro }) => macro.resolve(late, 3.05))
        assert.deepStrictEqual(yield* stateOf(`agent:${winner}`), { posted: credits(2000) + 1n, held: 0n })
        assert.isNull(yield* poolOf(resolved))
        assert.isNull(yield* poolOf(voided))
        assert.deepInclude(yield* poolOf(closed), {
          outcome: "void",
          winning_bin: 1,
          reward_pool: credits(1000) + 1n
        })
        assert.deepInclude(yield* poolOf(open), { outcome: "void", winning_bin: null })
        assert.deepStrictEqual(yield* differences, [])
      }).pipe(Effect.provide(built))
    })
  )
})
