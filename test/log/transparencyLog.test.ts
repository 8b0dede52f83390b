/** Strangers' answers about single records: their place in the log, and the proof of it. */
import { createHash } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { Arenas } from "../../src/services/Arenas.ts"
import { LogSequencer } from "../../src/services/LogSequencer.ts"
import type { NotFound } from "../../src/services/domain/errors.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import type { NotSequenced } from "../../src/services/TransparencyLog.ts"
import { TransparencyLog } from "../../src/services/TransparencyLog.ts"
import { claimedAgent, claimedAgents } from "../support/agents.ts"
import {
  freshWeek,
  importQuotes,
  millisBefore,
  moveTo,
  newChallenge,
  plus,
  predict,
  resultsOf,
  settleDue
} from "../support/challenges.ts"
import { firstPage } from "../support/paging.ts"
import { checkedProof } from "../support/log/proofFile.ts"
import { addPending, completeLog } from "../support/logbook.ts"
import { testServices } from "../support/services.ts"
import { asOwner } from "../support/database.ts"
import { withoutTriggers } from "../support/tampering.ts"

const sequence = LogSequencer.use((sequencer) => sequencer.sequence)
const publish = LogSequencer.use((sequencer) => sequencer.publish)
const entryOf = (commit: string) => TransparencyLog.use((log) => log.entryOf(commit))
const proofOf = (commit: string) => TransparencyLog.use((log) => log.proofOf(commit))
const looks: ReadonlyArray<
  (commit: string) => Effect.Effect<unknown, NotFound | NotSequenced, TransparencyLog>
> = [entryOf, proofOf]
const settlementProof = (id: string) => TransparencyLog.use((log) => log.settlementProof(id))

/** The proof, checked with the log's own key. */
const checked = Effect.fnUntraced(function* (text: string) {
  const [key] = yield* TransparencyLog.use((log) => log.verifierKeys)
  return checkedProof(text, key ?? "none")
})

const receiptOf = Effect.fnUntraced(function* (predicted: ReturnType<typeof predict>) {
  const { answer } = yield* predicted
  assert(answer.receipt !== null)
  return answer.receipt
})

const json = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Record(Schema.String, Schema.Json)))

layer(testServices())("A prediction", (it) => {
  it.effect("A prediction is 409 at both addresses until sequenced, and its proof until published", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const challenge = yield* newChallenge()
      const { commit, leaf_index } = yield* receiptOf(predict(yield* claimedAgent(), challenge))
      assert.isNull(leaf_index)

      for (const look of looks) {
        const waiting = yield* Effect.flip(look(commit))
        assert.deepInclude(waiting, { _tag: "NotSequenced", code: "not_sequenced", retry_after: 1 })
      }

      yield* sequence
      const placed = yield* entryOf(commit)
      // The making of the challenge, and the agent's registration and claim come first.
      assert.strictEqual(placed.leaf_index, 3)
      assert.deepStrictEqual(json(placed.entry), {
        c: commit,
        challenge_id: challenge.id,
        type: "prediction.commit"
      })
      assert.strictEqual((yield* Effect.flip(proofOf(commit)))._tag, "NotSequenced")

      yield* publish
      const { entry, index, size } = yield* checked(yield* proofOf(commit))
      assert.deepStrictEqual([entry, index, size], [placed.entry, 3, 4])
    })
  )

  it.effect("A prediction is found by its commit in either case, and by nothing else", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const { commit } = yield* receiptOf(predict(yield* claimedAgent(), yield* newChallenge()))
      assert.strictEqual((yield* Effect.flip(entryOf(commit.toUpperCase())))._tag, "NotSequenced")
      yield* completeLog
      assert.strictEqual((yield* entryOf(commit.toUpperCase())).commit, commit)
      for (const look of looks) {
        for (const unknown of ["0".repeat(64), commit.slice(1), `${commit}0`, commit.replace(/./, "g"), ""]) {
          assert.strictEqual((yield* Effect.flip(look(unknown)))._tag, "NotFound", unknown)
        }
        assert.include((yield* Effect.flip(look("x"))).detail, "64 hexadecimal digits")
      }
    })
  )

  it.effect("A prediction is proved with its salt and body from the deadline on, and before it without", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const challenge = yield* newChallenge()
      const [first, second] = yield* claimedAgents(2)
      assert(first !== undefined && second !== undefined)
      const { commit, salt, body } = yield* receiptOf(predict(first, challenge))
      const revision = yield* receiptOf(predict(first, challenge, { is_revision: true, confidence: 0.9 }))
      const other = yield* receiptOf(predict(second, challenge))
      yield* completeLog

      yield* moveTo(millisBefore(plus(monday, "1 hour"), 1))
      yield* settleDue
      yield* completeLog
      const before = yield* checked(yield* proofOf(commit))
      assert.notProperty(before, "salt")
      assert.notProperty(before, "body")
      assert.notInclude(yield* proofOf(commit), Buffer.from(salt).toString("base64").slice(0, 20))

      yield* moveTo(plus(monday, "2 hours"))
      yield* settleDue
      yield* completeLog
      for (const receipt of [{ commit, salt, body }, revision, other]) {
        const proof = yield* checked(yield* proofOf(receipt.commit))
        assert.deepInclude(proof, { salt: receipt.salt, body: receipt.body })
        const opened = createHash("sha256")
          .update("auspex/commit/v1\0")
          .update(Buffer.from(proof.salt ?? "", "hex"))
          .update(proof.body ?? "")
          .digest("hex")
        assert.strictEqual(json(proof.entry)["c"], opened)
      }
    })
  )

  it.effect("A prediction has its index in the receipts of its own agent, and in the results", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const agent = yield* claimedAgent()
      const challenge = yield* newChallenge()
      const { commit } = yield* receiptOf(predict(agent, challenge))
      const own = Arenas.use((arenas) => arenas.ownPredictions(agent, firstPage))
      const results = resultsOf(challenge)
      assert.isNull((yield* own).items[0]?.receipt.leaf_index)
      yield* completeLog
      const { leaf_index } = yield* entryOf(commit)
      assert.isNumber(leaf_index)
      assert.deepInclude((yield* own).items[0]?.receipt, { commit, leaf_index })
      yield* moveTo(plus(monday, "1 hour"))
      assert.deepInclude((yield* results).predictions[0], { commit, leaf_index })
    })
  )

  it.effect("A prediction is proved in the newest cosigned tree that has it, else in the newest", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* freshWeek
      const challenge = yield* newChallenge()
      const [first, second] = yield* claimedAgents(2)
      assert(first !== undefined && second !== undefined)
      const early = yield* receiptOf(predict(first, challenge))
      yield* completeLog
      const { size } = yield* checked(yield* proofOf(early.commit))
      const line = "\u2014 witness.example AAAAAAAAAAAAAAAA"
      yield* sql`
        insert into log_cosignatures (size, witness, line, cosigned_at)
        values (${BigInt(size)}::int8, 'witness.example', ${line}, to_timestamp(0))`
      const late = yield* receiptOf(predict(second, challenge))
      yield* completeLog

      const cosigned = yield* checked(yield* proofOf(early.commit))
      assert.strictEqual(cosigned.size, size)
      assert.lengthOf(cosigned.note.signatures, 2)
      assert.isTrue((yield* proofOf(early.commit)).endsWith(`${line}\n`))
      const newest = yield* checked(yield* proofOf(late.commit))
      assert.strictEqual(newest.size, size + 1)
      assert.lengthOf(newest.note.signatures, 1)
    })
  )
})

layer(testServices())("The end of a challenge", (it) => {
  it.effect("The end of a challenge is proved by its settlement, once that is in the log", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const challenge = yield* newChallenge()
      const results = resultsOf(challenge)
      yield* predict(yield* claimedAgent(), challenge)
      yield* completeLog
      const open = yield* Effect.flip(settlementProof(challenge.id))
      assert.deepInclude(open, {
        _tag: "NotFound",
        detail: "The challenge is neither settled nor cancelled yet."
      })
      assert.isNull((yield* results).log.settlement_proof)

      yield* moveTo(plus(monday, "2 hours"))
      yield* importQuotes("GC", [[plus(monday, "1 hour"), 105]])
      yield* settleDue
      assert.strictEqual((yield* Effect.flip(settlementProof(challenge.id)))._tag, "NotSequenced")
      // An entry that cannot be proved yet has no address: it would answer 409.
      assert.isNull((yield* results).log.settlement_proof)
      yield* sequence
      assert.isNull((yield* results).log.settlement_proof)
      yield* completeLog
      assert.isTrue((yield* results).log.settlement_proof?.endsWith(`/api/v1/log/settlement/${challenge.id}`))
      const { entry } = yield* checked(yield* settlementProof(challenge.id.toUpperCase()))
      assert.deepInclude(json(entry), {
        type: "settlement",
        challenge_id: challenge.id,
        version: 1,
        result: "bullish",
        observation: "105"
      })
    })
  )

  it.effect("The end of a challenge is proved by the entry that it is void, when it was cancelled", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const challenge = yield* newChallenge()
      yield* Scoring.use((scoring) => scoring.void("directional", challenge.id, "why"))
      assert.strictEqual((yield* Effect.flip(settlementProof(challenge.id)))._tag, "NotSequenced")
      yield* completeLog
      const { entry } = yield* checked(yield* settlementProof(challenge.id))
      assert.deepInclude(json(entry), { type: "void", challenge_id: challenge.id })
      const { log } = yield* resultsOf(challenge)
      assert.isNotNull(log.settlement_proof)
    })
  )

  it.effect("The end of a challenge that does not exist is not found", () =>
    Effect.gen(function* () {
      for (const id of ["0190f000-0000-7000-8000-000000000000", "nothing"]) {
        assert.strictEqual((yield* Effect.flip(settlementProof(id)))._tag, "NotFound")
      }
    })
  )
})

layer(testServices())("A log that lacks a part of itself", (it) => {
  it.effect("A log that lacks a part of itself fails loudly rather than serving another tree", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* freshWeek
      const challenge = yield* newChallenge()
      const { commit } = yield* receiptOf(predict(yield* claimedAgent(), challenge))
      yield* completeLog
      yield* asOwner(sql`alter table log_entries disable trigger log_entries_append_only`)
      yield* asOwner(sql`delete from log_entries where index = 0`)
      const log = yield* TransparencyLog
      const reads: ReadonlyArray<Effect.Effect<unknown, unknown>> = [
        log.hashTile(0, 0, 2),
        log.entryBundle(0, 2),
        log.proofOf(commit)
      ]
      for (const read of reads) {
        const exit = yield* Effect.exit(read)
        assert.include(String(exit), "the log lacks a part of its")
      }
    })
  )
})

layer(testServices())("A commit that is looked up", (it) => {
  it.effect("A commit is found however much waits after it, and one that nobody made is unknown", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* freshWeek
      const challenge = yield* newChallenge()
      const { commit } = yield* receiptOf(predict(yield* claimedAgent(), challenge))
      yield* addPending(20_000)
      const unknown = "0".repeat(64)
      for (const look of looks) {
        assert.deepInclude(yield* Effect.flip(look(commit)), { _tag: "NotSequenced", retry_after: 1 })
        assert.strictEqual((yield* Effect.flip(look(unknown)))._tag, "NotFound")
      }
      yield* withoutTriggers(["log_pending"], sql`delete from log_pending where type = 'key.rotate'`)
      yield* completeLog
      assert.strictEqual((yield* entryOf(commit)).leaf_index, 3)
    })
  )
})

layer(testServices())("A log that stands still", (it) => {
  it.effect("A log that stands still asks nobody to come back every second", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* freshWeek
      yield* completeLog
      const { commit } = yield* receiptOf(predict(yield* claimedAgent(), yield* newChallenge()))
      assert.deepInclude(yield* Effect.flip(proofOf(commit)), { retry_after: 1 })
      yield* sql`update log_state set fault = 'found'`
      const refused = yield* Effect.flip(proofOf(commit))
      assert.deepInclude(refused, { _tag: "NotSequenced", retry_after: 300 })
      assert.include(refused.detail, "stands still")
      yield* sql`update log_state set fault = null`
      yield* completeLog
      assert.include(yield* proofOf(commit), "c2sp.org/tlog-proof@v1")
    })
  )
})
