/** Statements that a connection has prepared: which stay, and that keeping their texts has not come to nothing unnoticed. */
import { PgClient } from "@effect/sql-pg"
import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Reactivity } from "effect/reactivity"
import { keepTexts } from "../../src/layers/postgres/preparedStatements.ts"
import { freshDatabase, realTime } from "../support/database.ts"

/** A client of one connection that keeps three statements. */
const narrow = Effect.gen(function* () {
  const client = yield* PgClient.make({
    url: yield* freshDatabase,
    maxConnections: 1,
    preparedStatementCacheSize: 3
  })
  return { client, isKept: yield* keepTexts(client) }
}).pipe(Effect.provide(Layer.mergeAll(Reactivity.layer, realTime)))

it.effect("the client is one whose texts are kept", () =>
  Effect.gen(function* () {
    assert.isTrue((yield* narrow).isKept)
  })
)

it.effect("what was used last stays prepared, and each keeps its plan", () =>
  Effect.gen(function* () {
    const { client } = yield* narrow
    const ask = (number: 1 | 2 | 3) =>
      client.unsafe(
        ["select $1::int as one", "select $1::int as two", "select $1::int as three"][number - 1] ?? "",
        [number]
      )
    assert.deepStrictEqual(yield* ask(1), [{ one: 1 }])
    assert.deepStrictEqual(yield* ask(2), [{ two: 2 }])
    assert.deepStrictEqual(yield* ask(1), [{ one: 1 }])
    assert.deepStrictEqual(yield* ask(3), [{ three: 3 }])
    const prepared = client`
      select statement, (generic_plans + custom_plans)::int as uses from pg_prepared_statements
       where statement like 'select $1::int%' order by statement`
    // The question itself is the third.
    assert.deepStrictEqual(yield* prepared, [
      { statement: "select $1::int as one", uses: 2 },
      { statement: "select $1::int as three", uses: 1 }
    ])
  })
)
