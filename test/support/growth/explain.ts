/** The execution of a recorded statement under the generic plan that the service's sessions use. */
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { plannerSettings } from "../../../src/layers/postgres/Database.ts"
import { typeOf, valueOf } from "./statements.ts"
import type { Recorded } from "./statements.ts"

/** The parts of a plan's node that we read; the rest stays in the text. */
export interface PlanNode {
  readonly "Node Type": string
  readonly "Relation Name"?: string | undefined
  /** The rows of each of its loops. */
  readonly "Actual Rows": number
  readonly "Actual Loops": number
  readonly "Rows Removed by Filter"?: number | undefined
  readonly "Shared Hit Blocks"?: number | undefined
  readonly "Shared Read Blocks"?: number | undefined
  readonly Plans?: ReadonlyArray<PlanNode> | undefined
}

const optional = <S extends Schema.Constraint>(schema: S) => Schema.optional(schema)
const Node: Schema.Codec<PlanNode> = Schema.Struct({
  "Node Type": Schema.String,
  "Relation Name": optional(Schema.String),
  "Actual Rows": Schema.Finite,
  "Actual Loops": Schema.Finite,
  "Rows Removed by Filter": optional(Schema.Finite),
  "Shared Hit Blocks": optional(Schema.Int),
  "Shared Read Blocks": optional(Schema.Int),
  Plans: optional(Schema.Array(Schema.suspend((): Schema.Codec<PlanNode> => Node)))
})

const Explained = Schema.Tuple([
  Schema.Struct({
    "QUERY PLAN": Schema.Tuple([Schema.Struct({ Plan: Node, "Execution Time": Schema.Finite })])
  })
])
const PlanLines = Schema.Array(Schema.Struct({ "QUERY PLAN": Schema.String }))

const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`

const elementOf = (value: unknown): string => {
  if (value === null || value === undefined) return "null"
  return JSON.stringify(value instanceof Date ? value.toISOString() : String(value))
}

const literalOf = (value: unknown): string => {
  if (value === null || value === undefined) return "null"
  if (value instanceof Date) return quoted(value.toISOString())
  if (Array.isArray(value)) return quoted(`{${value.map(elementOf).join(",")}}`)
  return typeof value === "string" ? quoted(value) : String(value)
}

/** Types as sql-pg sends them: PostgreSQL infers a type that is not given. */
const sentType = (param: unknown): string => {
  const known = typeOf(param)
  if (known !== undefined) return known
  if (typeof param === "number") return Number.isInteger(param) ? "int4" : "float8"
  if (typeof param === "bigint") return "int8"
  if (param instanceof Date) return "timestamptz"
  return Array.isArray(param) ? "text[]" : "unknown"
}

/** Prepares the statement in the transaction and explains it by `execute`, since only that uses the generic plan. */
const prepared = <A, E, R>(
  { params, text }: Recorded,
  use: (execute: string) => Effect.Effect<A, E, R>,
  own: Readonly<Record<string, string>> = {}
) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const types = params.length === 0 ? "" : `(${params.map(sentType).join(", ")})`
    const values =
      params.length === 0 ? "" : `(${params.map((param) => literalOf(valueOf(param))).join(", ")})`
    return yield* sql.withTransaction(
      Effect.gen(function* () {
        for (const [name, value] of Object.entries({ ...plannerSettings, ...own })) {
          yield* sql`select set_config(${name}, ${value}, true)`
        }
        yield* sql.unsafe(`prepare explained ${types} as ${text}`).unprepared
        const result = yield* use(`execute explained ${values}`)
        yield* sql`deallocate explained`.unprepared
        return result
      })
    )
  })

export interface Execution {
  readonly millis: number
  /** The number of pages of tables and indexes that were read. */
  readonly pages: number
  readonly plan: PlanNode
}

/** Runs the statement this often, with the settings of its own transaction. */
export const executions = (recorded: Recorded, times: number, own: Readonly<Record<string, string>> = {}) =>
  prepared(
    recorded,
    (execute) =>
      Effect.replicateEffect(
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const rows = yield* sql.unsafe(`explain (analyze, buffers, timing off, format json) ${execute}`)
            .unprepared
          const [
            {
              "QUERY PLAN": [explained]
            }
          ] = yield* Schema.decodeUnknownEffect(Explained)(rows)
          const plan = explained.Plan
          const execution: Execution = {
            millis: explained["Execution Time"],
            pages: (plan["Shared Hit Blocks"] ?? 0) + (plan["Shared Read Blocks"] ?? 0),
            plan
          }
          return execution
        }),
        times
      ),
    own
  )

/** The plan with its execution, for people. */
export const planText = (recorded: Recorded) =>
  prepared(recorded, (execute) =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const rows = yield* sql.unsafe(`explain (analyze, buffers, timing off, summary off) ${execute}`)
        .unprepared
      const lines = yield* Schema.decodeUnknownEffect(PlanLines)(rows)
      return lines.map((line) => line["QUERY PLAN"]).join("\n")
    })
  )

/** The node and all nodes below it. */
export const nodesOf = (node: PlanNode): ReadonlyArray<PlanNode> => [
  node,
  ...(node.Plans ?? []).flatMap(nodesOf)
]
