/** Texts of statements: that forgetting them has not come to nothing unnoticed, and changes nothing that is sent. */
import { assert, layer } from "@effect/vitest"
import { Effect, Predicate } from "effect"
import { SqlClient } from "effect/sql"
import { Pipelined } from "../../src/layers/postgres/Database.ts"
import { forgetTexts } from "../../src/layers/postgres/statementTexts.ts"
import { database } from "../support/database.ts"

const compilerOf = (statement: unknown) =>
  Predicate.hasProperty(statement, "compiler") && Predicate.hasProperty(statement.compiler, "statementCache")
    ? statement.compiler.statementCache
    : undefined

layer(database)("texts of statements", (it) => {
  it.effect("the clients are such whose texts are forgotten, and those of the service are", () =>
    Effect.gen(function* () {
      for (const sql of [yield* SqlClient.SqlClient, yield* Pipelined]) {
        assert.isDefined(compilerOf(sql`select 1`))
        assert.notInstanceOf(compilerOf(sql`select 1`), WeakMap)
        assert.isTrue(yield* forgetTexts(sql))
      }
    })
  )

  it.effect(
    "statements that are sent in turn, with and without transforming, keep their own text and values",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const one = sql`select ${1}::int as one`
        const two = sql`select ${2}::int as two, ${"2"}::text as again`
        for (let turn = 0; turn < 3; turn++) {
          assert.deepStrictEqual(yield* one, [{ one: 1 }])
          assert.deepStrictEqual(yield* two.withoutTransform, [{ two: 2, again: "2" }])
          assert.deepStrictEqual(yield* two, [{ two: 2, again: "2" }])
          assert.deepStrictEqual(yield* one.values, [[1]])
        }
        assert.deepStrictEqual(one.compile(), ["select $1::int as one", [1]])
      })
  )
})
