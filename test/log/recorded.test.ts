/** An entry is in the outbox of the log with the record that it is about, or neither is. */
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { predictionCommit } from "../../src/layers/postgres/log/entries.ts"
import { leafHash, rootOf } from "../../src/layers/postgres/log/frontier.ts"
import { arrayParam } from "../../src/layers/postgres/sql.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import { claimedAgent, claimedAgents } from "../support/agents.ts"
import {
  freshWeek,
  importQuotes,
  moveTo,
  newChallenge,
  plus,
  predict,
  settleDue
} from "../support/challenges.ts"
import { rowsOf } from "../support/database.ts"
import { testServices } from "../support/services.ts"

const Waiting = Schema.Struct({
  type: Schema.String,
  version: Schema.NullOr(Schema.Int),
  closed_at: Schema.NullOr(Schema.DateTimeUtcFromDate),
  entry: Schema.NullOr(Schema.fromJsonString(Schema.Record(Schema.String, Schema.Json)))
})

/** The entries of this challenge that wait for the log, in order. */
const waiting = (challenge: { readonly id: string }) =>
  rowsOf(
    Waiting,
    (sql) => sql`
      select type, version, closed_at, convert_from(entry, 'UTF8') as entry
        from log_pending where challenge_id = ${challenge.id}::uuid order by id`
  )

const typesOf = (challenge: { readonly id: string }) =>
  Effect.map(waiting(challenge), (rows) => rows.map(({ type }) => type))

const Uuid = Schema.String.check(Schema.isUUID())
const Commits = Schema.Array(Schema.Tuple([Uuid, Schema.Uint8Array]))

layer(testServices())("The statement that records predictions", (it) => {
  it.effect.prop("The record statement writes the canonical bytes of all commits", [Commits], ([commits]) =>
    Effect.gen(function* () {
      const stored = yield* rowsOf(
        Schema.Struct({ entry: Schema.Uint8Array }),
        (sql) => sql`
          select log_commit_entry(challenge_id, commit) as entry
            from unnest(${arrayParam(
              "uuid",
              commits.map(([id]) => id)
            )}, ${arrayParam(
              "bytea",
              commits.map(([, commit]) => commit)
            )}) with ordinality as w (challenge_id, commit, position)
           order by position`
      )
      assert.deepStrictEqual(
        stored.map(({ entry }) => Buffer.from(entry).toString()),
        commits.map(([id, commit]) =>
          Buffer.from(predictionCommit({ challenge_id: id.toLowerCase(), commit })).toString()
        )
      )
    })
  )

  it.effect("The record statement adds each prediction and revision once, with its receipt's commit", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const [agent, other] = [yield* claimedAgent(), yield* claimedAgent()]
      const challenge = yield* newChallenge()
      const receipts = [
        yield* predict(agent, challenge),
        yield* predict(other, challenge),
        yield* predict(agent, challenge, { is_revision: true, direction: "bearish" })
      ]
      const [, ...commits] = yield* waiting(challenge)
      assert.deepStrictEqual(
        commits.map(({ entry }) => entry),
        receipts.map(({ answer }) => ({
          c: answer.receipt?.commit ?? null,
          challenge_id: challenge.id,
          type: "prediction.commit"
        }))
      )
    })
  )

  it.effect("The record statement adds nothing for a refused prediction", () =>
    Effect.gen(function* () {
      const deadline = plus(yield* freshWeek, "1 hour")
      const agent = yield* claimedAgent()
      const challenge = yield* newChallenge({ deadline })
      yield* predict(agent, challenge)
      yield* Effect.flip(predict(agent, challenge))
      yield* moveTo(deadline)
      yield* predict(yield* claimedAgent(), challenge)
      assert.deepStrictEqual(yield* typesOf(challenge), ["challenge.create", "prediction.commit"])
    })
  )

  it.effect("The record statement's entry goes with the prediction when its transaction is rolled back", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const sql = yield* SqlClient.SqlClient
      const agent = yield* claimedAgent()
      const challenge = yield* newChallenge()
      yield* predict(agent, challenge).pipe(
        Effect.andThen(Effect.fail("no")),
        sql.withTransaction,
        Effect.flip
      )
      assert.deepStrictEqual(yield* typesOf(challenge), ["challenge.create"])
    })
  )
})

layer(testServices())("A challenge in the outbox", (it) => {
  it.effect("A challenge enters the outbox with its terms, as exact decimals, when it is created", () =>
    Effect.gen(function* () {
      const created = yield* freshWeek
      const challenge = yield* newChallenge({ open_price: 0.1 + 0.2, dead_zone_pct: 0.0000001 })
      const [row, ...more] = yield* waiting(challenge)
      assert.lengthOf(more, 0)
      assert.deepStrictEqual(
        [row?.type, row?.version, row?.entry?.open_price, row?.entry?.dead_zone_pct],
        ["challenge.create", 1, "0.3", "0.0000001"]
      )
      assert.strictEqual(row?.entry?.created_at, DateTime.formatIso(created))
    })
  )

  it.effect("A challenge enters the outbox once when it closes, and its close has no bytes yet", () =>
    Effect.gen(function* () {
      const deadline = plus(yield* freshWeek, "1 hour")
      const challenge = yield* newChallenge({ deadline })
      yield* moveTo(plus(deadline, "1 minute"))
      yield* Effect.all([settleDue, settleDue, settleDue], { concurrency: "unbounded" })
      const [, close, ...more] = yield* waiting(challenge)
      assert.lengthOf(more, 0)
      assert.deepStrictEqual(
        [close?.type, close?.entry, close?.closed_at],
        ["challenge.close", null, plus(deadline, "1 minute")]
      )
    })
  )

  it.effect("A settled challenge enters the outbox with the root over its scores by agent", () =>
    Effect.gen(function* () {
      const deadline = plus(yield* freshWeek, "1 hour")
      const agents = yield* claimedAgents(5)
      const challenge = yield* newChallenge({ deadline })
      const confidences = [0.5, 0.1, 1, 0.123456789, 0]
      yield* Effect.forEach(agents, (agent, index) =>
        predict(agent, challenge, { confidence: confidences[index] ?? 0 })
      )
      const observed = plus(deadline, "5 minutes")
      yield* moveTo(plus(deadline, "10 minutes"))
      yield* importQuotes("GC", [[observed, 102.5]])
      const fetched = plus(deadline, "10 minutes")
      yield* moveTo(plus(deadline, "20 minutes"))
      yield* settleDue
      yield* settleDue
      const row = (yield* waiting(challenge)).at(-1)
      const scores = ["75", "55", "100", "56.17283945", "50"]
      const leaves = agents
        .map((agent, index) => [agent, scores[index]] as const)
        .toSorted(([one], [other]) => (one < other ? -1 : 1))
        .map(([agent, score]) => leafHash(Buffer.from(`{"agent_id":"${agent}","score":"${score}"}`)))
      assert.deepStrictEqual(row?.entry, {
        challenge_id: challenge.id,
        dead_zone_pct: "1",
        fetched_at: DateTime.formatIso(fetched),
        observation: "102.5",
        observed_at: DateTime.formatIso(observed),
        open_price: "100",
        raw_sha256: null,
        result: "bullish",
        root: rootOf(leaves).toString("hex"),
        scores: 5,
        settled_at: DateTime.formatIso(plus(deadline, "20 minutes")),
        source: "admin quote",
        type: "settlement",
        version: 1
      })
      assert.deepStrictEqual(
        (yield* typesOf(challenge)).filter((type) => type !== "prediction.commit"),
        ["challenge.create", "challenge.close", "settlement"]
      )
    })
  )

  it.effect("A challenge that is settled without predictions has the root of no scores", () =>
    Effect.gen(function* () {
      const deadline = plus(yield* freshWeek, "1 hour")
      const challenge = yield* newChallenge({ deadline })
      yield* moveTo(deadline)
      yield* importQuotes("GC", [[deadline, 100]])
      yield* settleDue
      const entry = (yield* waiting(challenge)).at(-1)?.entry
      assert.deepStrictEqual([entry?.scores, entry?.root], [0, rootOf([]).toString("hex")])
    })
  )

  it.effect("A challenge enters the outbox closed and then void when cancelled while open, and once", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const challenge = yield* newChallenge()
      const cancel = Scoring.use((scoring) =>
        scoring.void("directional", challenge.id.toUpperCase(), "a secret reason")
      )
      yield* cancel
      yield* Effect.flip(cancel)
      const [, close, ended, ...more] = yield* waiting(challenge)
      assert.lengthOf(more, 0)
      assert.deepStrictEqual([close?.type, close?.closed_at], ["challenge.close", now])
      assert.strictEqual(ended?.entry?.challenge_id, challenge.id)
      assert.strictEqual(ended?.entry?.type, "void")
      assert.notInclude(JSON.stringify(ended?.entry), "secret")
    })
  )

  it.effect("A challenge enters the outbox only as void when it is cancelled after its close", () =>
    Effect.gen(function* () {
      const deadline = plus(yield* freshWeek, "1 hour")
      const challenge = yield* newChallenge({ deadline })
      yield* moveTo(plus(deadline, "1 minute"))
      yield* settleDue
      yield* Scoring.use((scoring) => scoring.void("directional", challenge.id, "why"))
      assert.deepStrictEqual(yield* typesOf(challenge), ["challenge.create", "challenge.close", "void"])
    })
  )

  it.effect("A challenge enters the outbox as void when no price ever came", () =>
    Effect.gen(function* () {
      const deadline = plus(yield* freshWeek, "1 hour")
      const challenge = yield* newChallenge({ deadline })
      yield* moveTo(plus(deadline, "8 days"))
      yield* settleDue
      yield* settleDue
      assert.deepStrictEqual(yield* typesOf(challenge), ["challenge.create", "challenge.close", "void"])
    })
  )
})

layer(testServices())("The root that PostgreSQL computes", (it) => {
  const rootBySql = (leaves: Uint8Array) =>
    Effect.map(
      rowsOf(Schema.Struct({ root: Schema.Uint8Array }), (sql) => sql`select merkle_root(${leaves}) as root`),
      ([row]) => Buffer.from(row?.root ?? []).toString("hex")
    )

  it.effect("The root that PostgreSQL computes is that of the definition, for any number of leaves", () =>
    Effect.gen(function* () {
      const leaves = Array.from({ length: 140 }, (_, index) => leafHash(Buffer.from(`leaf ${index}`)))
      for (let count = 0; count <= leaves.length; count++) {
        const some = leaves.slice(0, count)
        assert.strictEqual(yield* rootBySql(Buffer.concat(some)), rootOf(some).toString("hex"), `${count}`)
      }
    })
  )

  it.effect("The root is not computed of bytes that are no leaf hashes", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const error = yield* Effect.flip(sql`select merkle_root(${new Uint8Array(33)})`)
      assert.include(String(error.reason.cause), "leaf hashes are 32 bytes each")
    })
  )
})
