/** The audit of the public log names whatever was changed behind the back of the service, and nothing else. */
import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { FastCheck } from "effect/testing"
import { SqlClient } from "effect/sql"
import { many } from "../../../src/layers/postgres/query.ts"
import { LogAudit } from "../../../src/services/LogAudit.ts"
import { loggedWorld } from "../../support/loggedWorld.ts"
import { testServices } from "../../support/services.ts"
import { columnsOf, restored, tamper, unguarded } from "../../support/tampering.ts"
import type { Column } from "../../support/tampering.ts"

const tables = [
  "challenges",
  "predictions",
  "prediction_counts",
  "settlements",
  "prediction_scores",
  "log_entries",
  "log_pending",
  "log_nodes",
  "log_checkpoints",
  "log_state",
  "log_reveals",
  "log_identity",
  "log_keys"
] as const

/** What no entry records, and why. */
const unrecorded: Readonly<Record<string, string>> = {
  "predictions.id": "an address of the API, which the sealed body does not have",
  "prediction_counts.shard": "only the sum of all shards is shown",
  "log_pending.id": "the order of what waits is not fixed before it has an index",
  "log_checkpoints.signed_at": "the note has no time; time stamps and cosignatures have",
  "log_checkpoints.time_stamp": "checked by whoever relies on it, with the certificate of its authority",
  "log_state.singleton": "there is one row",
  "log_state.fault": "what the audit itself writes",
  "log_identity.singleton": "there is one row",
  "log_identity.created_at": "of the first start",
  "log_keys.added_at": "the entry of a key says where in the log it took over"
}

/** Where the first row of a table is not the one to look at. */
const telling: Readonly<Record<string, string>> = {
  "challenges.cancel_reason": "cancelled_at is not null",
  "challenges.cancelled_at": "cancelled_at is not null",
  "challenges.closed_at": "closed_at is not null",
  "challenges.resolved_at": "resolved_at is not null",
  "log_pending.closed_at": "type = 'challenge.create'",
  "log_entries.commit": "type = 'prediction.commit'",
  "log_entries.commit_index": "type = 'prediction.reveal'",
  "log_entries.version": "type = 'settlement'"
}

const aliases: Readonly<Record<string, string>> = {
  "challenges.question": "question or resolution criteria",
  "challenges.resolution_criteria": "question or resolution criteria",
  "challenges.resolution_criteria_zh": "question or resolution criteria",
  "challenges.type": "challenge_type",
  "predictions.salt": "salt and body",
  "predictions.body": "salt and body",
  "predictions.commit": "salt and body"
}

const text = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value))

/** How a line names a row, and what of it. */
const naming = ({ column, table }: Column, row: Readonly<Record<string, unknown>>): ReadonlyArray<string> => {
  const of = (name: string) => text(row[name])
  const what = aliases[`${table}.${column}`] ?? column
  const isKey = ["id", "challenge_id", "agent_id", "revision", "version"].includes(column)
  switch (table) {
    case "challenges":
      return [`challenge ${of("id")}`, ...(isKey ? [] : [what])]
    case "predictions":
      return column === "agent_id" || column === "challenge_id" || column === "revision"
        ? [what, "sealed body"]
        : [
            `prediction of agent ${of("agent_id")} on challenge ${of("challenge_id")}, revision ${of("revision")}`,
            what
          ]
    case "prediction_counts":
      return [`challenge ${of("challenge_id")}`, "prediction_counts"]
    case "settlements":
      return [`challenge ${of("challenge_id")}`, ...(isKey ? [] : [what])]
    case "prediction_scores":
      return isKey
        ? [`settlement of challenge ${of("challenge_id")}, version ${of("version")}`]
        : [`score of agent ${of("agent_id")}`, of("challenge_id"), what]
    case "log_entries":
      return column === "index" || column === "entry"
        ? [`entry ${of("index")}`]
        : [`entry ${of("index")}`, what]
    case "log_pending":
      return ["waiting entry|waits|not in the log"]
    case "log_nodes":
      return ["log_nodes"]
    case "log_checkpoints":
      return [`checkpoint of size`]
    case "log_state":
      return ["log_state", what]
    case "log_reveals":
      return ["log_reveals|log does not reveal"]
    case "log_identity":
      return ["checkpoint of size", "origin"]
    default:
      return ["log_keys|key"]
  }
}

const holds = (line: string, wanted: string) => wanted.split("|").some((each) => line.includes(each))

const differences = Effect.map(
  LogAudit.use(({ audit }) => audit),
  (report) => report.differences
)

/** The world is made once; each test changes it and puts it back. */
const prepared = Effect.gen(function* () {
  const world = yield* loggedWorld
  const report = yield* LogAudit.use(({ audit }) => audit)
  assert.deepStrictEqual(report.differences, [])
  assert.isAbove(report.entries, 256)
  assert.isAbove(report.waiting, 0)
  assert.isAbove(report.checkpoints, 2)
  assert.strictEqual(report.challenges, 5)
  assert.strictEqual(report.settlements, 2)
  assert.strictEqual(report.scores, 9)
  yield* unguarded(tables)
  return world
})

layer(testServices())("the audit of the public log", (it) => {
  it.effect(
    "names every column that was changed, and nothing once it is as it was",
    () =>
      Effect.gen(function* () {
        yield* prepared
        const columns = yield* columnsOf(tables)
        const unnamed: Array<string> = []
        for (const column of columns) {
          const name = `${column.table}.${column.column}`
          if (name in unrecorded) continue
          const row = yield* tamper(column, telling[name] ?? "true")
          const found = yield* differences
          const wanted = naming(column, row)
          if (!found.some((line) => wanted.every((each) => holds(line, each)))) {
            unnamed.push(`${name}: ${wanted.join(", ")} in\n    ${found.join("\n    ")}`)
          }
          yield* restored(column.table)
          assert.deepStrictEqual(yield* differences, [], `${name} as it was`)
        }
        assert.deepStrictEqual(unnamed, [])
        // What is excused still is a column.
        const all = new Set(columns.map(({ column, table }) => `${table}.${column}`))
        assert.deepStrictEqual(
          Object.keys(unrecorded).filter((name) => !all.has(name)),
          []
        )
      }),
    120_000
  )
})
