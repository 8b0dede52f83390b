import { readFileSync } from "node:fs"
import { getPriority } from "node:os"
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as serverPriority from "../../src/layers/node/serverPriority.ts"
import { Patient } from "../../src/layers/postgres/Patient.ts"
import { asOwner, database } from "../support/database.ts"

const ownServer = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql`select pg_backend_pid(), inet_client_port()`.values
  return { pid: Number(row?.[0]), clientPort: Number(row?.[1]) }
})

const readOr = (path: string, otherwise: string) => {
  try {
    return readFileSync(path, "utf8")
  } catch {
    return otherwise
  }
}

layer(database)("a patient transaction", (it) => {
  it.effect("is one that all statements within it are of", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const patient = yield* Patient
      yield* asOwner(
        Effect.andThen(
          sql`create table patience (turn int primary key)`,
          sql`grant select, insert on patience to public`
        )
      )
      const first = yield* patient.transaction(
        Effect.andThen(sql`insert into patience values (1)`, ownServer)
      )
      assert.notStrictEqual(first.pid, (yield* ownServer).pid)
      const error = yield* patient
        .transaction(Effect.andThen(sql`insert into patience values (2)`, Effect.fail("no more")))
        .pipe(Effect.flip)
      assert.strictEqual(error, "no more")
      const both = yield* patient.transaction(Effect.all([ownServer, ownServer]))
      assert.deepStrictEqual(both[0], both[1])
      assert.deepStrictEqual(yield* sql`select turn from patience`.values, [[1]])
    })
  )

  it.effect("is part of an ordinary one that it is begun within", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const patient = yield* Patient
      const [outer, inner] = yield* sql.withTransaction(
        Effect.all([ownServer, patient.transaction(ownServer)])
      )
      assert.deepStrictEqual(inner, outer)
    })
  )

  it.effect.runIf(process.platform === "linux")("gives way to all others, which keep their priority", () =>
    Effect.gen(function* () {
      const patient = yield* Patient
      const { pid } = yield* patient.transaction(ownServer)
      assert.strictEqual(getPriority(pid), serverPriority.lowered)
      const group = readOr(`/proc/${pid}/autogroup`, "")
      if (group !== "") assert.match(group, new RegExp(` nice ${serverPriority.lowered}$`, "m"))
      assert.strictEqual(getPriority((yield* ownServer).pid), 0)
    })
  )
})

describe("a server process", () => {
  it.effect("that does not serve this connection keeps its priority", () =>
    Effect.gen(function* () {
      const before = getPriority(process.pid)
      for (const stranger of [
        { pid: process.pid, clientPort: 40_000 },
        { pid: process.pid, clientPort: null }
      ]) {
        const kept = yield* Effect.flip(serverPriority.lower(stranger))
        assert.strictEqual(kept._tag, "PriorityKept")
      }
      assert.strictEqual(getPriority(process.pid), before)
    })
  )
})
