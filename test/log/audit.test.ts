/** The audit of the public log names every change that was made behind the back of the service, and nothing else. */
import { generateKeyPairSync, sign } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Effect, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { Statement } from "effect/sql"
import {
  keyId,
  parseNote,
  rawPublicKey,
  signatureLine,
  verifierKey
} from "../../src/layers/crypto/signedNote.ts"
import { Findings } from "../../src/layers/postgres/checks/log/findings.ts"
import { auditTree } from "../../src/layers/postgres/checks/log/tree.ts"
import { findOne } from "../../src/layers/postgres/sql.ts"
import { cosignatureType, cosignedMessage } from "../../src/layers/witness/cosignature.ts"
import { Amendments } from "../../src/services/Amendments.ts"
import { Audit } from "../../src/services/Audit.ts"
import { LogSequencer } from "../../src/services/LogSequencer.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import { breadth, oneIn } from "../support/breadth.ts"
import { claimedAgents } from "../support/agents.ts"
import { freshWeek, moveTo, newChallenge, plus, predict } from "../support/challenges.ts"
import { loggedFixture, sequenceAll } from "../support/loggedFixture.ts"
import { testServices } from "../support/services.ts"
import {
  addAnother,
  columnsOf,
  deleteOne,
  restored,
  tamper,
  unconstrained,
  unguarded,
  withoutTriggers
} from "../support/tampering.ts"
import type { Column } from "../support/tampering.ts"
import { asOwner } from "../support/database.ts"

const tables = [
  "challenges",
  "predictions",
  "prediction_counts",
  "settlements",
  "prediction_scores",
  "stakes",
  "pool_bins",
  "pool_settlements",
  "pool_rewards",
  "log_entries",
  "log_pending",
  "log_nodes",
  "log_checkpoints",
  "log_cosignatures",
  "log_state",
  "log_reveals",
  "log_identity",
  "log_keys"
] as const

/** Columns that no entry records, and why. */
const unrecorded: Readonly<Record<string, string>> = {
  "predictions.id": "an address of the API, which the sealed body does not have",
  "prediction_counts.shard": "only the sum of all shards is shown",
  "stakes.id": "an address of the API",
  "stakes.position": "the check of the ledger replays the stakes of a pool in their order",
  "stakes.predicted_value": "what counts is the bin that it lies in",
  "stakes.received_at": "what counts is that it lies before the deadline",
  "challenges.volatility": "the check of figures computes it again from prices",
  "challenges.odds": "the same",
  "challenges.reference_loss": "the same",
  "prediction_scores.reference_skill": "the same, from the answers and the steps of the reference",
  "prediction_scores.bounded_skill": "the same",
  "prediction_scores.probability": "the same, from the answer",
  "log_pending.id": "the order of what waits is not fixed before it has an index",
  "log_checkpoints.signed_at": "the note has no time; time stamps and cosignatures have",
  "log_checkpoints.time_stamp": "checked by whoever relies on it, with the certificate of its authority",
  "log_state.singleton": "there is one row",
  "log_state.fault": "what the audit itself writes",
  "log_identity.singleton": "there is one row",
  "log_identity.created_at": "of the first start",
  "log_keys.added_at": "the entry of a key says where in the log it took over"
}

/** Columns of an agent that no entry records: none says whose it is; the check of the ledger compares claim_grant. */
const unrecordedOfAgents = new Set(
  `type bio languages model_provider model_name model_version model_capability_tag operator_contact hosting_mode
   policy_profile owner_org disclosure_level default_spaces requested_scopes webhook_scope provisional_until challenge_passed_at
   first_token_at token_epoch suspended_at prediction_limit predictions_used grace_notices issuance_paused_at
   credit_arena_enabled claim_grant held_name held_fold reference`.split(/\s+/)
)

/** Tables whose first row is not the one to look at. */
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

/** The rows of amendments, of either type. */
const amended = ["actual_value is null", "actual_value is not null"].flatMap((form) =>
  ["settlements", "prediction_scores"].map((table): readonly [table: string, where: string] => [
    table,
    `version = 2 and challenge_id in (select challenge_id from settlements where version = 2 and ${form})`
  ])
)

/** The rows of a question's terms, by its form, and of its outcome. */
const rowsOfQuestions = (which: string): Readonly<Record<string, string>> => ({
  challenges: which,
  ...Object.fromEntries(
    ["predictions", "prediction_scores", "settlements"].map((table) => [
      table,
      `challenge_id in (select id from challenges where ${which} and resolved_at is not null)`
    ])
  )
})

const aliases: Readonly<Record<string, string>> = {
  "challenges.question": "question or resolution criteria",
  "challenges.resolution_criteria": "question or resolution criteria",
  "challenges.resolution_criteria_zh": "question or resolution criteria",
  "challenges.type": "challenge_type",
  "predictions.salt": "salt and body",
  "predictions.body": "salt and body",
  "predictions.commit": "salt and body",
  "agents.secret_hash": "secret_hash, public_key or jwks_url",
  "agents.public_key": "secret_hash, public_key or jwks_url",
  "agents.jwks_url": "secret_hash, public_key or jwks_url"
}

const text = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value))

/** The name of a row in a line, and the name of its column. */
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
    case "stakes":
      if (column === "agent_id") return [of("challenge_id"), "its agent has not predicted"]
      if (column === "amount") return [`pool of challenge ${of("challenge_id")}`, "staked"]
      return [`stake of agent ${of("agent_id")} in the pool`, ...(isKey ? [] : [what])]
    case "pool_bins":
      return [`pool of challenge ${of("challenge_id")}`, "pool_bins"]
    case "pool_settlements":
      return isKey
        ? [`challenge ${of("challenge_id")}`, "pool.outcome"]
        : [`pool of challenge ${of("challenge_id")}: ${what} is not`]
    case "pool_rewards":
      return isKey
        ? [`stake of agent ${of("agent_id")} in the pool`, "has no reward"]
        : [`stake of agent ${of("agent_id")} in the pool of challenge ${of("challenge_id")}`, what]
    case "agents":
      return column === "id" ? [`there is no agent ${of("id")}`] : [`agent ${of("id")}: `, what]
    case "log_entries":
      return column === "index" || column === "entry"
        ? [`entry ${of("index")}`]
        : [`entry ${of("index")}`, what]
    case "log_pending":
      return ["pending entry|not in the log"]
    case "log_nodes":
      return ["log_nodes"]
    case "log_checkpoints":
      return [`checkpoint of size`]
    case "log_cosignatures":
      return [`cosignature of`]
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
  Audit.use(({ verifyLog }) => verifyLog),
  (report) => report.differences
)

const witness = { name: "witness.example/w", key: generateKeyPairSync("ed25519").privateKey }

/** Stands for a witness that was asked to cosign the newest checkpoint. */
const cosigned = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const newest = yield* findOne(Schema.Struct({ size: Schema.Int, note: Schema.String }))(sql`
    select size::float8 as size, note from log_checkpoints order by size desc limit 1`)
  const { text } = Option.getOrThrow(parseNote(newest.note))
  const seconds = 1_800_000_000n
  const time = Buffer.alloc(8)
  time.writeBigUInt64BE(seconds)
  const signature = Buffer.concat([time, sign(null, cosignedMessage(seconds, text), witness.key)])
  const id = keyId(witness.name, cosignatureType, rawPublicKey(witness.key))
  yield* sql`
    insert into log_cosignatures (size, witness, line, cosigned_at)
    values (${BigInt(newest.size)}::int8, ${witness.name}, ${signatureLine(witness.name, id, signature)},
            to_timestamp(${Number(seconds)}::float8))`
})

/** The world is made once; each test changes it and puts it back. */
const prepared = Effect.gen(function* () {
  const world = yield* loggedFixture
  // This amendment waits for its place; that of the other challenge does not.
  yield* Amendments.use((amendments) =>
    amendments.amend(world.macro.id, { actual_value: 3, reason: "the office corrected it" })
  )
  yield* cosigned
  const report = yield* Audit.use(({ verifyLog }) => verifyLog)
  assert.deepStrictEqual(report.differences, [])
  assert.isAbove(report.entries, 256)
  assert.isAbove(report.waiting, 0)
  assert.isAbove(report.checkpoints, 2)
  assert.strictEqual(report.challenges, 12)
  assert.strictEqual(report.pools, 2)
  assert.strictEqual(report.settlements, 7)
  assert.strictEqual(report.scores, 25)
  yield* unguarded(tables)
  return world
})

/** A deleted row, and the line that misses it. A checkpoint has none: old ones are thinned out. */
const deleted: ReadonlyArray<readonly [table: string, where: string, expected: string]> = [
  ["challenges", "cancelled_at is not null", "there is no challenge"],
  ["challenges", "cancelled_at is null and resolved_at is null", "there is no challenge"],
  ["predictions", "revision = 0", "there is no prediction with its commit"],
  ["predictions", "revision = 21", "there is no prediction with its commit"],
  ["prediction_counts", "true", "prediction_counts"],
  ["settlements", "version = 1", "there is no settlement of challenge"],
  ["settlements", "version = 2", "there is no settlement of challenge"],
  ["prediction_scores", "true", "number of scores is not what entry"],
  ["stakes", "true", "pool_bins"],
  ["pool_bins", "true", "pool_bins"],
  ["pool_settlements", "outcome = 'paid'", "pool.paid is not what entry"],
  ["pool_settlements", "outcome = 'void'", "pool.paid is not what entry"],
  ["pool_rewards", "true", "has no reward"],
  ["log_entries", "type = 'prediction.commit'", "is missing"],
  ["log_entries", "index = (select max(index) from log_entries)", "log_state: its size"],
  ["log_pending", "type = 'challenge.create'", "its creation is not in the log"],
  ["log_nodes", "true", "the hash of entries 0 to 255 is missing"],
  ["log_state", "true", "log_state: it has no row"],
  ["log_reveals", "true", "no pending entry does"],
  ["log_identity", "true", "the origin of this log"],
  ["log_keys", "true", "no key of this log signed its note"]
]

const anotherId = "gen_random_uuid()"

/** A row that nobody recorded, and the line that names it. */
const added: ReadonlyArray<
  readonly [table: string, where: string, different: Readonly<Record<string, string>>, expected: string]
> = [
  [
    "challenges",
    "cancelled_at is null and closed_at is null",
    { id: anotherId },
    "its creation is not in the log"
  ],
  ["predictions", "true", { agent_id: anotherId }, "agent_id is not what its sealed body says"],
  [
    "predictions",
    "true",
    { id: anotherId, revision: "99", commit: "sha256('x')" },
    "its commit is not in the log"
  ],
  ["prediction_counts", "true", { shard: "-1" }, "prediction_counts"],
  ["settlements", "version = 2", { version: "3", previous_version: "2" }, "version 3: it is not in the log"],
  ["prediction_scores", "true", { agent_id: anotherId }, "number of scores is not what entry"],
  ["prediction_scores", "true", { version: "7" }, "there is no such settlement"],
  ["stakes", "true", { agent_id: anotherId, id: anotherId, position: "99" }, "pool_bins"],
  ["pool_bins", "true", { bin: "99" }, "bin 99 of the pool"],
  [
    "pool_settlements",
    "true",
    { challenge_id: "(select id from challenges where closed_at is null and type = 'macro')" },
    "its challenge has not ended"
  ],
  ["pool_rewards", "true", { agent_id: anotherId }, "there is no such stake"],
  [
    "log_entries",
    "type = 'prediction.commit'",
    { index: "100000", commit: "sha256('x')" },
    "is missing: entry 100000"
  ],
  ["log_entries", "type = 'settlement'", { index: "-1", version: "2" }, "has an index that no entry has"],
  [
    "log_entries",
    "type = 'settlement'",
    { index: "100000", version: "2" },
    "there is no settlement of challenge"
  ],
  [
    "log_entries",
    "type = 'amendment'",
    { index: "100000", version: "3" },
    "there is no settlement of challenge"
  ],
  [
    "log_pending",
    "type = 'prediction.commit'",
    {
      id: "100000",
      commit: "(select commit from log_entries where type = 'prediction.commit' order by index limit 1)"
    },
    "a pending entry (prediction.commit) is in the log as entry"
  ],
  ["log_pending", "type = 'challenge.create'", { id: "100000" }, "is pending 2 times"],
  [
    "log_pending",
    "type = 'challenge.create'",
    { id: "100000", type: "'prediction.commit'", commit: "sha256('x')" },
    "there is no prediction"
  ],
  [
    "log_pending",
    "type = 'challenge.create'",
    { id: "100000", type: "'challenge.close'", closed_at: "'2026-03-02T00:00:00Z'", entry: "null" },
    "is not closed"
  ],
  ["log_pending", "type = 'challenge.create'", { id: "100000", type: "'void'" }, "is not cancelled"],
  ["log_nodes", "true", { n: "7" }, "the log has no entries for such a hash"],
  ["log_nodes", "true", { level: "2", n: "0" }, "the log has no entries for such a hash"],
  ["log_checkpoints", "true", { size: "3" }, "checkpoint of size 3"],
  ["log_checkpoints", "true", { size: "100000" }, "checkpoint of size 100000: the log has"],
  [
    "log_reveals",
    "true",
    { challenge_id: "(select challenge_id from settlements limit 1)" },
    "log_reveals says that it is not"
  ],
  ["log_keys", "true", { number: "2", verifier_key: "verifier_key || '='" }, "does not hold a verifier key"]
]

const witnessKey = verifierKey(witness.name, rawPublicKey(witness.key), cosignatureType)

layer(testServices({ AUSPEX_LOG_WITNESSES: `https://witness.example ${witnessKey}` }))(
  "The audit of the public log",
  (it) => {
    it.effect("The audit names every column that was changed, and nothing once it is as it was", () =>
      Effect.gen(function* () {
        yield* prepared
        const columns = yield* columnsOf(tables)
        const unnamed: Array<string> = []
        for (const column of oneIn(12, columns)) {
          const name = `${column.table}.${column.column}`
          if (name in unrecorded) continue
          const row = yield* tamper(column, telling[name] ?? "true")
          const found = yield* differences
          const wanted = naming(column, row)
          if (!found.some((line) => wanted.every((each) => holds(line, each)))) {
            unnamed.push(`${name}: ${wanted.join(", ")} in\n    ${found.join("\n    ")}`)
          }
          yield* restored(column.table)
        }
        assert.deepStrictEqual(unnamed, [])
        assert.deepStrictEqual(yield* differences, [])
        // An excused column still is a column.
        const all = new Set(columns.map(({ column, table }) => `${table}.${column}`))
        assert.deepStrictEqual(
          Object.keys(unrecorded).filter((name) => !all.has(name)),
          []
        )
      })
    )

    it.effect.each([
      ["a macro challenge", rowsOfQuestions("type = 'macro'")],
      ["a yes-or-no price event", rowsOfQuestions("type = 'price_event' and level is not null")]
    ] as const)(
      "The audit names every column of %s that was changed, of its predictions, scores and settlement",
      ([, rows]) =>
        Effect.gen(function* () {
          const unnamed: Array<string> = []
          for (const column of oneIn(12, yield* columnsOf(Object.keys(rows)))) {
            const name = `${column.table}.${column.column}`
            // A challenge's end is the same for every type.
            if (name in unrecorded || name in telling) continue
            const row = yield* tamper(column, rows[column.table] ?? "false")
            const found = yield* differences
            const wanted = naming(column, row)
            if (!found.some((line) => wanted.every((each) => holds(line, each)))) {
              unnamed.push(`${name}: ${wanted.join(", ")} in\n    ${found.join("\n    ")}`)
            }
            yield* restored(column.table)
          }
          assert.deepStrictEqual(unnamed, [])
        })
    )

    it.effect("The audit names every changed column of an amendment, and of the scores that it gave", () =>
      Effect.gen(function* () {
        const unnamed: Array<string> = []
        for (const [table, where] of amended) {
          for (const column of oneIn(12, yield* columnsOf([table]))) {
            if (`${table}.${column.column}` in unrecorded) continue
            const row = yield* tamper(column, where)
            const found = yield* differences
            const wanted = naming(column, row)
            if (!found.some((line) => wanted.every((each) => holds(line, each)))) {
              unnamed.push(`${table}.${column.column}: ${wanted.join(", ")} in\n    ${found.join("\n    ")}`)
            }
            yield* restored(table)
          }
        }
        assert.deepStrictEqual(unnamed, [])
      })
    )

    it.effect("The audit names every changed column of an agent that says whose a record is", () =>
      Effect.gen(function* () {
        yield* unconstrained(["agents"])
        const columns = yield* columnsOf(["agents"])
        const unnamed: Array<string> = []
        for (const column of oneIn(4, columns)) {
          if (unrecordedOfAgents.has(column.column)) continue
          const row = yield* withoutTriggers(["agents"], tamper(column, "true"))
          const found = yield* differences
          const wanted = naming(column, row)
          if (!found.some((line) => wanted.every((each) => holds(line, each)))) {
            unnamed.push(`agents.${column.column}: ${wanted.join(", ")} in\n    ${found.join("\n    ")}`)
          }
          yield* withoutTriggers(["agents"], restored("agents"))
        }
        assert.deepStrictEqual(unnamed, [])
        assert.deepStrictEqual(yield* differences, [])
        const all = new Set(columns.map(({ column }) => column))
        assert.deepStrictEqual(
          [...unrecordedOfAgents].filter((name) => !all.has(name)),
          []
        )
      })
    )

    it.effect("The audit names rows that are gone, and rows that nobody recorded", () =>
      Effect.gen(function* () {
        const unnamed: Array<string> = []
        const look = Effect.fnUntraced(function* (name: string, table: string, expected: string) {
          const found = yield* differences
          if (!found.some((line) => line.includes(expected)))
            unnamed.push(`${name}: ${expected} in\n    ${found.join("\n    ")}`)
          yield* restored(table)
        })
        for (const [table, where, expected] of oneIn(7, deleted)) {
          yield* deleteOne(table, where)
          yield* look(`${table} without a row`, table, expected)
        }
        for (const [table, where, different, expected] of oneIn(7, added)) {
          yield* addAnother(table, where, different)
          yield* look(`${table} with another row`, table, expected)
        }
        assert.deepStrictEqual(unnamed, [])
        assert.deepStrictEqual(yield* differences, [])
      })
    )

    it.effect.each([2, 7])("The audit looks at every signed head and kept hash, %i at a time", (pageSize) =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { heads, hashes } = yield* findOne(
          Schema.Struct({ heads: Schema.Array(Schema.Finite), hashes: Schema.Array(Schema.Finite) })
        )(sql`
          select (select array_agg(size::float8 order by size) from log_checkpoints) as heads,
                 (select array_agg(n::float8 order by n) from log_nodes where level = 1) as hashes`)
        const found = Effect.gen(function* () {
          const findings = new Findings()
          yield* auditTree(findings, [], pageSize)
          return findings.lines
        })
        assert.deepStrictEqual(yield* found, [])
        for (const size of oneIn(3, heads)) {
          yield* asOwner(
            sql`update log_checkpoints set root = sha256(root) where size = ${BigInt(size)}::int8`
          )
          const lines = yield* found
          assert.strictEqual(lines.length, 1, lines.join("\n"))
          assert.include(lines[0], `checkpoint of size ${size}: its root`)
          yield* restored("log_checkpoints")
        }
        for (const n of oneIn(3, hashes)) {
          yield* asOwner(
            sql`update log_nodes set hash = sha256(hash) where level = 1 and n = ${BigInt(n)}::int8`
          )
          const lines = yield* found
          assert.isTrue(
            lines.some((line) => line.includes(`level 1, n ${n})`)),
            lines.join("\n")
          )
          yield* restored("log_nodes")
        }
      })
    )

    it.effect("The audit says of a close whose bytes name no challenge that they do not, not undefined", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* asOwner(sql`
          update log_entries
             set entry = convert_to(replace(convert_from(entry, 'UTF8'), '"challenge_id"', '"challenge_ie"'), 'UTF8')
           where index = (select min(index) from log_entries where type = 'challenge.close')`)
        const found = yield* differences
        const text = found.join("\n")
        assert.match(text, /^entry \d+ closes a challenge, but does not name it$/m)
        assert.match(text, /^entry \d+: its column challenge_id is not what its bytes say$/m)
        assert.notInclude(text, "undefined")
        yield* restored("log_entries")
      })
    )

    it.effect("The audit names each prediction that stands after the close of its challenge", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* asOwner(sql`
          update log_entries set index = -1
           where index = (select min(index) from log_entries where type = 'challenge.close')`)
        const found = yield* differences
        assert.match(
          found.join("\n"),
          /^prediction of agent .+, revision 0: entry \d+ is after its challenge's close in entry -1$/m
        )
        yield* restored("log_entries")
      })
    )

    it.effect("The audit names a prediction that neither is in the log nor waits", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* asOwner(sql`delete from log_pending where type = 'prediction.commit'`)
        const found = yield* differences
        assert.isTrue(
          found.some((line) => line.endsWith("its commit is not in the log")),
          found.join("\n")
        )
        yield* restored("log_pending")
        assert.deepStrictEqual(yield* differences, [])
      })
    )

    it.effect.prop(
      "The audit finds any byte of any record that is changed",
      [
        Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 })),
        Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 }))
      ],
      ([place, row]) =>
        Effect.gen(function* () {
          const columns = (yield* columnsOf(tables)).filter(
            ({ column, table }) => !(`${table}.${column}` in unrecorded)
          )
          const column = columns[place % columns.length]
          assert(column !== undefined)
          const { table } = column
          yield* tamper(
            column,
            `t.ctid = (select ctid from ${table} order by ctid offset ${row} % (select count(*) from ${table}) limit 1)`
          )
          assert.isAbove((yield* differences).length, 0, `${table}.${column.column} of row ${row}`)
          yield* restored(table)
          assert.deepStrictEqual(yield* differences, [])
        }),
      { arbitrary: { runs: breadth(2, 20) } }
    )

    it.effect(
      "The audit compares waiting reveals with their predictions, and reads the outbox once for it",
      () =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const sequencer = yield* LogSequencer
          const monday = yield* freshWeek
          const challenge = yield* newChallenge({ deadline: plus(monday, "1 hour") })
          for (const agent of yield* claimedAgents(2)) yield* predict(agent, challenge)
          yield* sequenceAll
          yield* moveTo(plus(monday, "2 hours"))
          yield* Scoring.use((scoring) => scoring.settleDue)
          yield* sequenceAll
          assert.strictEqual(yield* sequencer.revealDue, 2)
          assert.deepStrictEqual(yield* differences, [])
          const told = Effect.fnUntraced(function* (set: Statement.Statement<object>, expected: string) {
            yield* asOwner(sql`create table kept as select * from log_pending`)
            yield* asOwner(set)
            const found = yield* differences
            assert.isTrue(
              found.some((line) => line.includes(expected)),
              found.join("\n")
            )
            yield* asOwner(sql`truncate log_pending`)
            yield* asOwner(sql`insert into log_pending overriding system value select * from kept`)
            yield* asOwner(sql`drop table kept`)
          })
          const reveal = sql`type = 'prediction.reveal'`
          const replaced = (from: string, to: string) => sql`
          update log_pending set entry = convert_to(replace(convert_from(entry, 'UTF8'), ${from}, ${to}), 'UTF8')
           where ${reveal}`
          yield* told(replaced('"salt":"', '"salt":"00'), "salt is not what its pending entry recorded")
          yield* told(replaced("bullish", "bearish"), "body is not what its pending entry recorded")
          yield* told(replaced("agent_id", "agent"), "its body is that of no prediction")
          yield* told(replaced('revision\\":0', 'revision\\":1'), "its body is that of no prediction")
          yield* told(sql`delete from log_pending where ${reveal}`, "no pending entry does")
          yield* sequenceAll
          assert.deepStrictEqual(yield* differences, [])
        })
    )
  }
)
